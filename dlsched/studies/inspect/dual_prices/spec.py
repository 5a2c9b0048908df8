"""Which run is asked about."""

from __future__ import annotations

from dlsched.studies.inspect.re_execute import InspectedRun


class DualPricesSpec(InspectedRun):
    """The run of a policy that books at prices."""

    policies = ("pd-ors", "oasis")
