"""Whether the numbers of a run keep to the proven bounds."""

from __future__ import annotations

from collections.abc import Mapping

from dlsched.domain.scenario import Scenario
from dlsched.domain.truth import Truth
from dlsched.metrics.summary import summarise
from dlsched.sim.log import RunLog

LOWER = ("total_cost", "jct_mean", "tardiness_total")
UPPER = ("utility_total",)
ROUNDING = 1e-9


def beyond(metrics: Mapping[str, float | int | None]) -> list[str]:
    """Return which numbers are better than their bound by more than rounding, with both."""
    found = []
    for key in (*LOWER, *UPPER):
        value, bound = metrics[key], metrics[f"{key}_bound"]
        if value is None or bound is None:
            continue
        ahead = bound - value if key in LOWER else value - bound
        if ahead > ROUNDING * max(abs(value), abs(bound), 1.0):
            found.append(f"{key} {value!r}, bound {bound!r}")
    return found


def beyond_of(scenario: Scenario, truth: Truth, log: RunLog) -> list[str]:
    """Return the same of a run."""
    return beyond(summarise(scenario, truth, log))
