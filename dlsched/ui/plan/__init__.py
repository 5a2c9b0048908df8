"""Pages that answer what a planner asks: what if, capacity, memo."""
