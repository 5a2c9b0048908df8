"""Everyday policies: first come first served, shortest job, backfill and their kin."""
