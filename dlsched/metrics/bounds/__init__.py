"""Proven bounds that no policy can pass: on what finishing the jobs costs, and on how well they can be served."""

from dlsched.metrics.bounds.cost import total_cost_bound
from dlsched.metrics.bounds.service import service_bounds

__all__ = ["service_bounds", "total_cost_bound"]
