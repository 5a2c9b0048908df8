"""Runs of PD-ORS and OASiS worked out again: decisions with their prices, and the best in hindsight of tiny cases."""

from dlsched.studies.inspect.dual_prices.hindsight import hindsight, why_not
from dlsched.studies.inspect.dual_prices.run import POLICIES, priced_run
from dlsched.studies.inspect.dual_prices.spec import DualPricesSpec

__all__ = ["POLICIES", "DualPricesSpec", "hindsight", "priced_run", "why_not"]
