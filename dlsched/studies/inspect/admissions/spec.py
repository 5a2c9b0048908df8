"""Which intervals of which run are asked for, and the answer."""

from __future__ import annotations

from collections.abc import Callable

from dlsched.domain.scenario import Scenario
from dlsched.studies.inspect.admissions.answer import Admission
from dlsched.studies.inspect.admissions.run import POLICIES, window
from dlsched.studies.inspect.re_execute import InspectedDecisions


class AdmissionsSpec(InspectedDecisions):
    """Intervals of a run of a policy that admits jobs."""

    policies = POLICIES
    what = "admissions"


def answered(
    asked: AdmissionsSpec, scenario: Scenario, progress: Callable[[float, str], None] | None = None
) -> list[Admission]:
    """Return the intervals asked for; InputError when this is another scenario than the question names."""
    asked.check_scenario(scenario)
    return window(scenario, asked.policy, asked.params, asked.seed, asked.first, asked.last, progress)
