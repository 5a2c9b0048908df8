"""Futures, sweeps, sizing and reproductions of paper figures."""
