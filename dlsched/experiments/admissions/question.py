"""Which intervals of which run are asked for, and the answer."""

from __future__ import annotations

from collections.abc import Callable

from dlsched.domain.scenario import Scenario
from dlsched.experiments.admissions.replay import POLICIES, window
from dlsched.experiments.replayed import AskedDecisions
from dlsched.metrics.admissions import Admission


class Asked(AskedDecisions):
    """Intervals of a run of a policy that admits jobs."""

    policies = POLICIES
    what = "admissions"


def answered(asked: Asked, scenario: Scenario, progress: Callable[[float, str], None] | None = None) -> list[Admission]:
    """Return the intervals asked for; InputError when this is another scenario than the question names."""
    asked.check_scenario(scenario)
    return window(scenario, asked.policy, asked.params, asked.seed, asked.first, asked.last, progress)
