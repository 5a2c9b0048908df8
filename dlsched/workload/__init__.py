"""Workloads from files and from generators."""
