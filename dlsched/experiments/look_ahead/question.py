"""Which decisions of which run are asked for, and the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dlsched.domain.scenario import Scenario
from dlsched.experiments.look_ahead.replay import POLICIES, Known, window
from dlsched.experiments.replayed import AskedDecisions
from dlsched.metrics.look_ahead import LookAhead


class Asked(AskedDecisions):
    """Decisions of a run of a ModelArts policy."""

    policies = POLICIES
    what = "look-ahead"


read_asked = Asked.read


@dataclass(frozen=True, eq=False)
class Subject:
    """What a question is about: the scenario, and what is stored of the run."""

    scenario: Scenario
    known: Known | None = None


def answered(asked: Asked, subject: Subject, progress: Callable[[float, str], None] | None = None) -> list[LookAhead]:
    """Return the decisions asked for; InputError when the subject is another scenario than the question names."""
    asked.check_scenario(subject.scenario)
    return window(
        subject.scenario, asked.policy, asked.params, asked.seed, asked.first, asked.last, subject.known, progress
    )
