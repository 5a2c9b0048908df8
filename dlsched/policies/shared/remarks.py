"""What policies of widths say of a scenario that leaves them little to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dlsched.domain.scenario import Scenario

Remark = Callable[[Any, Scenario], str]


def where_widths_are_fixed(could_only: str) -> Remark:
    """Return a remark for scenarios in which every job has one width: the policy could only do this."""

    def remark(params: Any, scenario: Scenario) -> str:
        rigid = scenario.speed.kind == "rigid"
        return f"Every job has a fixed GPU count here: the policy could only {could_only}." if rigid else ""

    return remark
