"""Intervals of a stored run of SMD, ESW or Optimus, worked out again, with what the others would do beside it."""

from dlsched.studies.inspect.admissions.run import POLICIES, at, window
from dlsched.studies.inspect.admissions.spec import AdmissionsSpec, answered

__all__ = ["POLICIES", "AdmissionsSpec", "answered", "at", "window"]
