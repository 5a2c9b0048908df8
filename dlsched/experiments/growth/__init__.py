"""Months ahead with more jobs each, with what is delivered and retired: when a target breaks, when to order."""

from dlsched.experiments.growth.question import GrowthSpec, read_spec
from dlsched.experiments.growth.run import check, run_growth

__all__ = ["GrowthSpec", "check", "read_spec", "run_growth"]
