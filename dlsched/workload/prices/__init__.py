"""What machines cost: price lists, files, owned hardware."""
