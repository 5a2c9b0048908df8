"""Which run with quotas is looked into."""

from __future__ import annotations

from dlsched.studies.inspect.re_execute import InspectedRun


class QueuesSpec(InspectedRun):
    """A run of a policy that admits jobs by the quotas of queues."""

    policies = ("queue-tree",)
