"""HELL and KNEE: widths and order of jobs from how each speeds up."""

from dlsched.policies.elastic_queueing.specs import ELASTIC

__all__ = ["ELASTIC"]
