"""Everyday policies: first come first served, shortest job, backfill and their kin."""

from dlsched.policies.baselines.specs import BASELINES

__all__ = ["BASELINES"]
