"""Intervals of a stored run of SMD, ESW or Optimus, worked out again, with what the others would do beside it."""

from dlsched.studies.inspect.admissions.run import run_admissions
from dlsched.studies.inspect.admissions.spec import AdmissionsSpec

__all__ = ["AdmissionsSpec", "run_admissions"]
