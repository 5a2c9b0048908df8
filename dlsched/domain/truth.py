"""What really happens to each job at a seed, and what policies believe."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.randomness import job_uniforms
from dlsched.domain.scenario import Scenario
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats


@dataclass(frozen=True, eq=False)
class Truth:
    """Columns over the rows of the workload.

    ``work`` what the job does before it ends; ``believed_work`` what a policy is told; ``is_bug`` ends as failed, by a
    bug or at its time limit; ``cancel_s`` when the user takes it back (infinity = never). ``seed`` of the draws that
    belong to no job: when spot nodes are taken back (:func:`eviction_after_s`).
    """

    work: Floats
    believed_work: Floats
    is_bug: NDArray[np.bool_]
    cancel_s: Floats
    seed: int = 0


def realise(scenario: Scenario, run_seed: int = 0, run_s: Floats | None = None) -> Truth:
    """Return the truth of a scenario at a run seed; the same for every policy.

    ``run_s`` (jobs,) the seconds each job runs with what it asks for; None if its work is that. A job with a time limit
    is believed to run as long as that, and with ``limits`` = "kill" does no more work than it gets done by then, or by
    the end of the OverTimeLimit of its Slurm, on what it asks for; the estimate error is of jobs without one.
    """
    jobs, options = scenario.workload, scenario.options
    seed = scenario.seed + run_seed
    run_s = jobs.work if run_s is None else run_s
    work, believed, per_s = jobs.work.copy(), jobs.work.copy(), jobs.work / run_s
    is_bug = np.zeros(len(jobs), dtype=bool)
    cancel_s = np.full(len(jobs), np.inf)
    if options.estimate_error > 0:
        draw = job_uniforms(seed, "estimate", jobs.job_id)[:, 0]
        believed *= 1 + options.estimate_error * (2 * draw - 1)
    if jobs.limit_s is not None and options.limits != "ignore":
        believed = np.where(np.isnan(jobs.limit_s), believed, jobs.limit_s * per_s)
    if options.bug_share > 0:
        draws = job_uniforms(seed, "bug", jobs.job_id, 2)
        is_bug = draws[:, 0] < options.bug_share
        work = np.where(is_bug, np.minimum(work, draws[:, 1] * options.bug_within_s * per_s), work)
    if jobs.limit_s is not None and options.limits == "kill":
        partitions = [""] * len(jobs) if jobs.partition is None else jobs.partition
        over_s = 0.0 if scenario.slurm is None else np.array(scenario.slurm.over_times_s(partitions))
        most = np.where(np.isnan(jobs.limit_s), np.inf, (jobs.limit_s + over_s) * per_s)
        is_bug |= work > most
        work = np.minimum(work, most)
    if options.cancel_share > 0:
        draws = job_uniforms(seed, "cancel", jobs.job_id, 2)
        takes_back = draws[:, 0] < options.cancel_share
        cancel_s = np.where(takes_back, jobs.submit_s + 2 * draws[:, 1] * run_s, np.inf)
    if jobs.cancel_after_s is not None:
        cancel_s = np.fmin(cancel_s, jobs.submit_s + jobs.cancel_after_s)
    return Truth(work, believed, is_bug, cancel_s, seed)


def eviction_after_s(seed: int, node: int, lease: int, evictions_per_h: float) -> float:
    """Return how long after its boot a spot node is taken back: exponential, seconds; infinity at rate 0.

    ``lease`` counts the earlier leases of the node that had a length.
    """
    if evictions_per_h <= 0:
        return math.inf
    draw = float(job_uniforms(seed, "eviction", [f"{node}/{lease}"])[0, 0])
    return -math.log(draw) / evictions_per_h * HOUR_S
