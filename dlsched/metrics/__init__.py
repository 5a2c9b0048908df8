"""Pure functions from a run log to numbers, series and tables.

Numbers need numpy only; the tables need pandas, so that commands without tables start without it.
"""
