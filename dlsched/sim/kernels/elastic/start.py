"""From a prepared scenario to the arrays of an elastic run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.cluster import Cluster, VmType
from dlsched.domain.policy import ElasticRule, Policy
from dlsched.domain.workload import Floats, Workload
from dlsched.policies.elastic_queueing.curves import CurveBook
from dlsched.policies.elastic_queueing.kernels.tables import Jobs, answer_for, queues_for
from dlsched.policies.elastic_queueing.rules import kernel_rule, weights_of, widths_of
from dlsched.policies.elastic_queueing.whole_nodes import holds_one_worker
from dlsched.sim.kernels.elastic.tables import JOB, PIECE, Count, Run
from dlsched.sim.kernels.tables import DECISION, NOT_SAID, WAIT
from dlsched.sim.log import JobStatus
from dlsched.sim.prepare import Prepared
from dlsched.speed import SpeedModel, build_speed


def eligible(prepared: Prepared, policy: Policy) -> bool:
    """Whether the loop can run this: an elastic rule on equal nodes, always up, that hold one worker of any job.

    Not covered: more than one machine type, partitions, jobs kept off the GPU type, absences, restart cost,
    cancellations and a horizon.
    """
    scenario = prepared.scenario
    return (
        isinstance(policy.kernel_rule, ElasticRule)
        and scenario.options.restart_s == 0
        and scenario.options.horizon_s is None
        and len(scenario.workload) > 0
        and bool(np.isinf(prepared.truth.cancel_s).all())
        and _equal_nodes(scenario.cluster)
        and _one_worker_a_node(scenario.workload, scenario.cluster)
    )


def _equal_nodes(cluster: Cluster) -> bool:
    return (
        not cluster.free_slots
        and not cluster.absences
        and len(cluster.vm_types) == 1
        and cluster.num_nodes > 0
        and not any(pool.partition for pool in cluster.pools)
    )


def _one_worker_a_node(jobs: Workload, cluster: Cluster) -> bool:
    vm: VmType = cluster.vm_types[0]
    return holds_one_worker(vm, cluster.nodes.capacity[0], jobs, np.arange(len(jobs)))


def new_run(prepared: Prepared, rule: ElasticRule) -> Run:
    """Return the arrays of a run that has not begun."""
    scenario, truth = prepared.scenario, prepared.truth
    num_jobs, num_nodes = len(scenario.workload), scenario.cluster.num_nodes
    speed = build_speed(scenario.speed, scenario.workload, scenario.cluster.vm_types)
    book = _curve_book(scenario.workload, num_nodes, rule, speed)
    jobs = np.zeros(num_jobs, dtype=JOB)
    jobs["submit_s"], jobs["curve"] = scenario.workload.submit_s, book.of(np.arange(num_jobs))
    jobs["work"], jobs["believed"], jobs["is_bug"] = truth.work, truth.believed_work, truth.is_bug
    jobs["finish_s"], jobs["end_s"] = np.inf, np.nan
    jobs["chunk"] = jobs["piece"] = -1
    jobs["status"], jobs["reason"] = int(JobStatus.UNFINISHED), NOT_SAID
    return Run(
        jobs=jobs,
        rates=_true_rates(jobs["curve"], len(book.curves.rate), num_nodes, speed),
        active=np.zeros(num_jobs, dtype=np.int64),
        free=np.ones(num_nodes, dtype=np.int64),
        ask=_ask(num_jobs, num_nodes),
        queues=queues_for(np.zeros(num_jobs, dtype=np.int64), max(1, num_nodes // rule.chunk) if rule.chunk else 1),
        answer=answer_for(num_jobs),
        rule=kernel_rule(rule, float(num_nodes)),
        curves=book.curves,
        pieces=np.zeros(4 * num_jobs + num_nodes, dtype=PIECE),
        shares=np.zeros(8 * num_jobs + num_nodes, dtype=np.int64),
        decisions=np.zeros(2 * num_jobs + 1, dtype=DECISION),
        waits=np.zeros(3 * num_jobs, dtype=WAIT),
        counts=np.zeros(len(Count), dtype=np.int64),
        clock=np.zeros(1),
    )


def grown(run: Run) -> Run:
    """Return the run with more space for its log."""

    def more(values: NDArray[Any], used: int) -> NDArray[Any]:
        larger = np.zeros(2 * len(values) + len(run.jobs) + len(run.free), dtype=values.dtype)
        larger[:used] = values[:used]
        return larger

    logs = {"pieces": Count.PIECES, "shares": Count.SHARES, "decisions": Count.DECISIONS, "waits": Count.WAITS}
    changes: dict[str, Any] = {name: more(getattr(run, name), int(run.counts[used])) for name, used in logs.items()}
    return run._replace(**changes)


def _curve_book(jobs: Workload, num_nodes: int, rule: ElasticRule, speed: SpeedModel) -> CurveBook:
    """Return the curves of all jobs as the policy learns them one by one: each depends on its own job alone."""
    smallest, largest = speed.limits()
    book = CurveBook(widths_of(rule), weights_of(rule))
    book.add(np.arange(len(jobs)), speed.rates, smallest, np.minimum(largest, num_nodes))
    return book


def _true_rates(curve: NDArray[np.int64], num_curves: int, num_nodes: int, speed: SpeedModel) -> Floats:
    """Return work per second of each curve on 0 to ``num_nodes`` nodes of the one machine type, as the engine asks."""
    rates = np.zeros((num_curves, num_nodes + 1))
    numbers, rows = np.unique(curve, return_index=True)
    for number, row in zip(numbers.tolist(), rows.tolist(), strict=True):
        rates[number, 1:] = [speed.rate(row, width, 0, {0}) for width in range(1, num_nodes + 1)]
    return rates


def _ask(num_jobs: int, num_nodes: int) -> Jobs:
    ints = [np.zeros(num_jobs, dtype=np.int64) for _ in range(3)]
    most = np.full(num_jobs, num_nodes, dtype=np.int64)
    return Jobs(ints[0], np.zeros(num_jobs), np.zeros(num_jobs), np.ones(num_jobs), most, ints[1], ints[2])
