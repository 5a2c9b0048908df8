"""Answers about how jobs speed up: throughput, training time, workers and servers."""
