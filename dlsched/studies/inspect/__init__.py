"""Decisions of a stored run, worked out again: look-ahead, admissions, dual prices."""
