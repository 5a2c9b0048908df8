"""What the pages share: cached loaders, forms, error boxes, background runs."""
