"""What every page stands in: navigation, session, scenario bar, charts, tables, forms, safe text."""
