"""Compiled cycles of quota trees with one flavor of one resource."""
