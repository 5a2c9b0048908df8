"""Which decisions of which run are asked for, and the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dlsched.domain.scenario import Scenario
from dlsched.studies.inspect.look_ahead.answer import LookAhead
from dlsched.studies.inspect.look_ahead.run import POLICIES, Known, window
from dlsched.studies.inspect.re_execute import InspectedDecisions


class LookAheadSpec(InspectedDecisions):
    """Decisions of a run of a ModelArts policy."""

    policies = POLICIES
    what = "look-ahead"


read_asked = LookAheadSpec.read


@dataclass(frozen=True, eq=False)
class Subject:
    """What a question is about: the scenario, and what is stored of the run."""

    scenario: Scenario
    known: Known | None = None


def answered(
    asked: LookAheadSpec, subject: Subject, progress: Callable[[float, str], None] | None = None
) -> list[LookAhead]:
    """Return the decisions asked for; InputError when the subject is another scenario than the question names."""
    asked.check_scenario(subject.scenario)
    return window(
        subject.scenario, asked.policy, asked.params, asked.seed, asked.first, asked.last, subject.known, progress
    )
