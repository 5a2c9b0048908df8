"""Trace readers, one module a format."""
