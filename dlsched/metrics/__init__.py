"""Pure functions from a run log to numbers, series and tables."""
