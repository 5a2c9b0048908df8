"""Compiled parts of Market: cheapest mixtures, the price that clears the pool, packing."""
