"""Which intervals of which run are asked for."""

from __future__ import annotations

from dlsched.studies.inspect.re_execute import InspectedDecisions


class AdmissionsSpec(InspectedDecisions):
    """Intervals of a run of a policy that admits jobs."""

    policies = ("smd", "esw", "optimus")
    noun = "interval"
