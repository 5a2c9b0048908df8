"""Runs that are still to be computed, in batches of a few seconds for the background runner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dlsched.domain.policy import ListRule
from dlsched.domain.scenario import Scenario
from dlsched.policies import registry
from dlsched.studies.design.run import VariantTask
from dlsched.studies.estimate import estimate_run

if TYPE_CHECKING:
    from dlsched.store import Store

BATCH_S = 4.0
"""Seconds of work in a batch: what is lost at most when work is stopped, against the way to a worker and back."""
MOST_BATCHES = 400
LEAST_EACH = 8
"""Batches for each worker, so that none is idle for long while the last ones are computed."""
FIXED_S = 0.01
FAST_S_PER_JOB, PLAIN_S_PER_JOB = 1.5e-5, 3e-4
"""CPU seconds a job of a list policy in compiled code (0.013 s with 1,000 jobs), and in the general engine (0.16 s for
FIFO, 0.34 s for EASY backfill)."""
FAST_SLICED_S_PER_JOB, PLAIN_SLICED_S_PER_JOB = 2e-4, 5e-3
"""The same of one that decides again at intervals (LAS: 0.2 s and 4.8 s)."""
NOT_FAST = ("failures", "failure_at", "restart_s", "cancel_share", "horizon_s", "mishaps")
"""Changes after which the general engine runs the jobs."""


def run_seconds(tasks: Mapping[str, VariantTask], scenario: Scenario, store: Store | None = None) -> dict[str, float]:
    """Return about how many seconds each of these runs takes, by key; rough.

    Of list policies from the number of jobs, of others from earlier runs of the policy in the store.
    """
    policies = dict.fromkeys(task.policy for task in tasks.values())
    both = {policy: usual_seconds(scenario, policy, store) for policy in policies}
    return {key: both[task.policy][any(task.changes.get(name) for name in NOT_FAST)] for key, task in tasks.items()}


def usual_seconds(scenario: Scenario, policy: str, store: Store | None = None) -> tuple[float, float]:
    """Return the seconds of a run as the scenario is, and of one that the general engine has to do."""
    spec, jobs = registry.find(policy), len(scenario.workload)
    rule = None if spec.clairvoyant else spec.build(spec.parse({})).kernel_rule
    if not isinstance(rule, ListRule):
        seconds = estimate_run(scenario, policy, store).seconds
        return seconds, seconds
    is_sliced = rule.quantum_s is not None
    fast = FIXED_S + jobs * (FAST_SLICED_S_PER_JOB if is_sliced else FAST_S_PER_JOB)
    plain = FIXED_S + jobs * (PLAIN_SLICED_S_PER_JOB if is_sliced else PLAIN_S_PER_JOB)
    options = scenario.options
    is_plain = options.restart_s > 0 or options.horizon_s is not None or options.cancel_share > 0
    is_plain = is_plain or bool(scenario.cluster.absences) or scenario.cluster.rents
    return (plain if is_plain else fast), plain


def batches(missing: Sequence[str], seconds: Mapping[str, float], workers: int) -> list[list[str]]:
    """Return the keys of ``missing`` runs in batches of about :data:`BATCH_S` seconds, in their order.

    ``seconds`` of a run by key. Each worker gets several batches, and there are never more than
    :data:`MOST_BATCHES`: their list is looked through at every glance at the progress.
    """
    total_s = sum(seconds[key] for key in missing)
    share_s = min(BATCH_S, total_s / (LEAST_EACH * workers))
    limit_s = max(share_s, total_s / MOST_BATCHES)
    made: list[list[str]] = []
    held_s = 0.0
    for key in missing:
        each_s = seconds[key]
        # Half a run more or less: batches come out as large as asked on average.
        if not made or held_s + each_s / 2 > limit_s * len(made):
            made.append([])
        made[-1].append(key)
        held_s += each_s
    return made
