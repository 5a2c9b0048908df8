"""How long a run will take, roughly, before it is started."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Literal

from dlsched.domain.scenario import Scenario

if TYPE_CHECKING:
    from dlsched.store import Store

LEAST_S = 0.5
S_PER_JOB = 1e-3
"""A careful guess for a policy that was never run here: the general engine on a laptop core."""
LIST_RUN_S = 0.05
"""CPU seconds of a run of 1,000 jobs under a list policy with its audit: a guess before the scenario is known."""
MOST_LARGER = 10
"""Runs of fewer jobs than a tenth say little: most of their time does not grow with the jobs."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds of one run on one core, and what they rest on; always rough."""

    seconds: float
    source: Literal["earlier runs", "number of jobs"]


def estimate_run(scenario: Scenario, policy: str, store: Store | None = None) -> Estimate:
    """Return how long a run may take, from earlier runs of the policy in the store, else from the number of jobs."""
    jobs = len(scenario.workload)
    known = store.past_seconds(policy) if store else []
    past = [wall_s / size for size, wall_s in known if size > 0 and size * MOST_LARGER >= jobs]
    if past:
        return Estimate(max(LEAST_S, jobs * median(past)), "earlier runs")
    return Estimate(max(LEAST_S, jobs * S_PER_JOB), "number of jobs")
