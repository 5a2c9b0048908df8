"""Runs of PD-ORS and OASiS worked out again: decisions with their prices, and the best in hindsight of tiny cases."""

from dlsched.experiments.prices.hindsight import hindsight, why_not
from dlsched.experiments.prices.question import Asked
from dlsched.experiments.prices.replay import POLICIES, priced_run

__all__ = ["POLICIES", "Asked", "hindsight", "priced_run", "why_not"]
