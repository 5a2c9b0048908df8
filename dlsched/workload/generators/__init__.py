"""Workload generators, one module a paper."""
