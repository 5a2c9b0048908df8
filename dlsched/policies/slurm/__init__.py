"""Slurm: multifactor priorities, the main and the backfill pass, limits and preemption."""

from dlsched.policies.slurm.specs import SLURM

__all__ = ["SLURM"]
