"""Months ahead with more jobs each, with what is delivered and retired: when a target breaks, when to order."""

from dlsched.studies.growth.run import check, run_growth
from dlsched.studies.growth.spec import GrowthSpec, read_spec

__all__ = ["GrowthSpec", "check", "read_spec", "run_growth"]
