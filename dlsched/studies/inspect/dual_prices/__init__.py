"""Runs of PD-ORS and OASiS worked out again: decisions with their prices, and the best in hindsight of tiny cases."""

from dlsched.studies.inspect.dual_prices.hindsight import run_hindsight, why_not
from dlsched.studies.inspect.dual_prices.run import run_dual_prices
from dlsched.studies.inspect.dual_prices.spec import DualPricesSpec

__all__ = ["DualPricesSpec", "run_dual_prices", "run_hindsight", "why_not"]
