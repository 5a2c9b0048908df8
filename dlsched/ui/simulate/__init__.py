"""Pages that start runs and list them."""
