"""The simulator, its log and the independent audit of that log."""
