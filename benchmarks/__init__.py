"""Measured promises: ``python -m benchmarks`` compares CPU time, memory and growth with their targets."""
