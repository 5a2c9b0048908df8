"""Intervals of a stored run of SMD, ESW or Optimus, worked out again, with what the others would do beside it."""

from dlsched.experiments.admissions.question import Asked, answered
from dlsched.experiments.admissions.replay import POLICIES, at, window

__all__ = ["POLICIES", "Asked", "answered", "at", "window"]
