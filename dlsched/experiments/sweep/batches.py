"""The runs of a sweep that are still to be computed, in batches of a few seconds for the background runner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dlsched.domain.policy import ListRule
from dlsched.domain.scenario import Scenario
from dlsched.experiments.cases.run import Plan
from dlsched.experiments.estimate import estimate_s
from dlsched.policies import registry

if TYPE_CHECKING:
    from dlsched.store import Store

BATCH_S = 4.0
"""Seconds of work in a batch: what is lost at most when a sweep is stopped, against the way to a worker and back."""
MOST_BATCHES = 400
LEAST_EACH = 8
"""Batches for each worker, so that none is idle for long while the last ones are computed."""
FIXED_S, FAST_S_PER_JOB = 0.01, 1.5e-5
"""CPU seconds of a run of a list policy in compiled code: 0.013 s with 1,000 jobs."""
PLAIN_S_PER_JOB = 3e-4
"""CPU seconds a job of one in the general engine: from 0.16 s (FIFO) to 0.34 s (EASY backfill) with 1,000 jobs."""


def run_seconds(scenario: Scenario, policies: Sequence[str], store: Store | None = None) -> dict[str, float]:
    """Return about how many seconds a run of each policy takes; rough.

    From earlier runs of the policy where it is no list policy, else from the number of jobs.
    """
    return {policy: _run_s(scenario, policy, store) for policy in policies}


def _run_s(scenario: Scenario, policy: str, store: Store | None) -> float:
    spec, jobs = registry.find(policy), len(scenario.workload)
    if spec.clairvoyant or not isinstance(_default_rule(policy), ListRule):
        return estimate_s(scenario, policy, store).seconds
    fast = scenario.options.restart_s == 0 and scenario.speed.kind == "rigid"
    return FIXED_S + jobs * (FAST_S_PER_JOB if fast else PLAIN_S_PER_JOB)


def _default_rule(policy: str) -> object:
    spec = registry.find(policy)
    return spec.build(spec.parse({})).kernel_rule


def batches(plan: Plan, missing: Sequence[str], seconds: Mapping[str, float], workers: int) -> list[list[str]]:
    """Return the keys of ``missing`` runs in batches of about :data:`BATCH_S` seconds, in their order.

    ``seconds`` of a run by policy. Each worker gets several batches, and there are never more than
    :data:`MOST_BATCHES`: their list is looked through at every glance at the progress.
    """
    total_s = sum(seconds[plan.tasks[key].policy] for key in missing)
    share_s = min(BATCH_S, total_s / (LEAST_EACH * workers))
    limit_s = max(share_s, total_s / MOST_BATCHES)
    made: list[list[str]] = []
    held_s = 0.0
    for key in missing:
        each_s = seconds[plan.tasks[key].policy]
        # Half a run more or less: batches come out as large as asked on average.
        if not made or held_s + each_s / 2 > limit_s * len(made):
            made.append([])
        made[-1].append(key)
        held_s += each_s
    return made
