"""Slurm's rules, compiled: priorities, fair share, the main and the backfill pass."""
