"""Cleared heaps of ends hold one entry of each running job, so that they never outgrow their arrays."""

from __future__ import annotations

import numpy as np

from dlsched.policies.registry import find
from dlsched.sim.kernels import preemptive, queue_tree
from dlsched.sim.prepare import prepare
from tests.support.quota_scenarios import queues, quota_scenario

THREE = prepare(quota_scenario([(name, "a", 0.0, 1, 50.0, 0.0) for name in "xyz"], queues({"a": 4.0})))
FINISH_S = np.array([10.0, 20.0, 30.0])
ENTRIES = [(10.0, 0), (10.0, 0), (10.0, 0), (15.0, 1)]
"""The first job moved twice and finishes when it would have before; the second one was stopped, the third waits."""


def test_of_jobs_that_are_stopped() -> None:
    from dlsched.sim.kernels.preemptive import moves
    from dlsched.sim.kernels.preemptive.tables import Count

    spec = find("srtf")
    run = preemptive.new_run(THREE, spec.build(spec.parse(None)).kernel_rule)  # type: ignore[arg-type]
    assert len(run.ends) == len(ENTRIES)
    run.jobs["finish_s"], run.jobs["running"] = FINISH_S, (1, 1, 0)
    run.ends[:], run.counts[Count.ENDS] = ENTRIES, len(ENTRIES)
    moves._forget_stale_ends(run)
    assert run.ends[: run.counts[Count.ENDS]].tolist() == [(10.0, 0)]


def test_of_jobs_under_quotas() -> None:
    from dlsched.sim.kernels.queue_tree import moves
    from dlsched.sim.kernels.queue_tree.start import new_run
    from dlsched.sim.kernels.queue_tree.tables import Count, Job

    assert queue_tree.eligible(THREE, find("queue-tree").build(find("queue-tree").parse(None)))
    run = new_run(THREE)
    run.jobs["finish_s"], run.jobs["state"] = FINISH_S, (Job.RUNS, Job.RUNS, Job.WAITS)
    run.ends[: len(ENTRIES)], run.counts[Count.ENDS] = ENTRIES, len(ENTRIES)
    moves._forget_stale_ends(run)
    assert run.ends[: run.counts[Count.ENDS]].tolist() == [(10.0, 0)]
