"""Which run is asked about."""

from __future__ import annotations

from dlsched.experiments.prices.replay import POLICIES
from dlsched.experiments.replayed import AskedRun


class Asked(AskedRun):
    """The run of a policy that books at prices."""

    policies = POLICIES
    what = "prices"
