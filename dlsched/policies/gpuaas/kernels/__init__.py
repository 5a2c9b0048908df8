"""Compiled inner loops of the searches: construction, scoring and path relinking on arrays."""
