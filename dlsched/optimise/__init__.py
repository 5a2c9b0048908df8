"""Thin wrappers around solvers; every answer has a status and a bound."""
