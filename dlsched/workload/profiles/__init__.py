"""Measured run times and throughput: reading, regression, times by GPU type."""
