"""From a prepared scenario to the arrays of an elastic run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.cluster import Cluster, VmType
from dlsched.domain.policy import ElasticRule, Policy
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import GPU, RESOURCES, Floats, Ints, Workload
from dlsched.placement.eligibility import features_matter
from dlsched.policies.elastic_queueing.curves import CurveBook
from dlsched.policies.elastic_queueing.kernels.tables import Jobs, answer_for, queues_for
from dlsched.policies.elastic_queueing.rules import kernel_rule, weights_of, widths_of
from dlsched.policies.elastic_queueing.whole_nodes import holds_one_worker
from dlsched.sim.kernels.elastic.tables import JOB, PIECE, Count, Lines, Run, Spots
from dlsched.sim.kernels.tables import DECISION, NOT_SAID, PLACEMENT, WAIT
from dlsched.sim.log import JobStatus
from dlsched.sim.prepare import Prepared
from dlsched.speed import SpeedModel, build_speed

MOST_TRIED = 10_000_000
"""Kinds of jobs times widths: for each pair the loop notes when it failed."""


def eligible(prepared: Prepared, policy: Policy) -> bool:
    """Whether the loop can run this: an elastic rule on owned nodes that are always up, in one queue.

    Either all nodes are equal and hold one worker of any job, or they hold jobs of whole GPUs and nothing else counts,
    with speeds that do not depend on the nodes.

    Not covered: partitions, features, jobs kept off the GPU type, speed models of plug-ins, absences, restart cost,
    cancellations, a horizon and a run that is joined in the middle.
    """
    scenario = prepared.scenario
    return (
        isinstance(policy.kernel_rule, ElasticRule)
        and prepared.underway is None
        and scenario.options.restart_s == 0
        and scenario.speed.is_ours
        and scenario.options.horizon_s is None
        and len(scenario.workload) > 0
        and bool(np.isinf(prepared.truth.cancel_s).all())
        and _lasting_nodes(scenario.cluster)
        and not features_matter(scenario.workload, scenario.cluster)
        and (_one_worker_a_node(scenario.workload, scenario.cluster) or _whole_gpus(scenario))
    )


def _lasting_nodes(cluster: Cluster) -> bool:
    return (
        not cluster.free_slots
        and not cluster.absences
        and cluster.num_nodes > 0
        and not any(pool.partition for pool in cluster.pools)
    )


def _one_worker_a_node(jobs: Workload, cluster: Cluster) -> bool:
    vm: VmType = cluster.vm_types[0]
    return len(cluster.vm_types) == 1 and holds_one_worker(vm, cluster.nodes.capacity[0], jobs, np.arange(len(jobs)))


def _whole_gpus(scenario: Scenario) -> bool:
    """Whether only GPUs count, one a worker, and all nodes run a job equally fast."""
    jobs, cluster, kind = scenario.workload, scenario.cluster, scenario.speed.kind
    of_one_speed = len({vm.speed for vm in cluster.vm_types}) == 1 and kind in ("rigid", "scaling")
    of_one_type = len(cluster.vm_types) == 1 and kind == "table"
    return (
        (of_one_speed or of_one_type)
        and not jobs.has_servers
        and not (jobs.gpu_types is not None and any(jobs.gpu_types))
        and not (jobs.features is not None and any(jobs.features))
        and bool((jobs.demand == np.eye(len(RESOURCES))[GPU]).all())
        and len(_numbers(jobs.workers[:, None])[1]) * cluster.num_gpus <= MOST_TRIED
    )


def new_run(prepared: Prepared, rule: ElasticRule) -> Run:
    """Return the arrays of a run that has not begun."""
    scenario, truth = prepared.scenario, prepared.truth
    is_whole = _one_worker_a_node(scenario.workload, scenario.cluster)
    num_jobs, num_nodes = len(scenario.workload), scenario.cluster.num_nodes
    room = np.ones(num_nodes, dtype=np.int64)
    if not is_whole:
        room = scenario.cluster.nodes.capacity[:, GPU].astype(np.int64)
    capacity = int(room.sum())
    speed = build_speed(scenario.speed, scenario.workload, scenario.cluster.vm_types)
    book = _curve_book(scenario.workload, capacity, rule, speed)
    num_curves = len(book.curves.rate)
    jobs = np.zeros(num_jobs, dtype=JOB)
    jobs["submit_s"], jobs["curve"] = scenario.workload.submit_s, book.of(np.arange(num_jobs))
    jobs["work"], jobs["believed"], jobs["is_bug"] = truth.work, truth.believed_work, truth.is_bug
    jobs["finish_s"], jobs["end_s"] = np.inf, np.nan
    jobs["chunk"] = jobs["piece"] = -1
    jobs["status"], jobs["reason"] = int(JobStatus.UNFINISHED), NOT_SAID
    counts = np.zeros(len(Count), dtype=np.int64)
    counts[Count.CAPACITY] = capacity
    fastest = [int(book.efficient(curve)[-1:].sum()) for curve in range(num_curves)]
    smallest = [int(book.efficient(curve)[:1].sum()) for curve in range(num_curves)]
    chunks = max(1, capacity // rule.chunk) if rule.chunk else 1
    shares = 8 * num_jobs + 2 * capacity
    return Run(
        jobs=jobs,
        rates=_true_rates(jobs["curve"], num_curves, capacity, speed),
        active=np.zeros(num_jobs, dtype=np.int64),
        most=np.full(num_curves, capacity) if is_whole else np.array(fastest, dtype=np.int64),
        room=room,
        free=room.copy(),
        ask=_ask(num_jobs),
        queues=queues_for(np.zeros(num_jobs, dtype=np.int64), chunks),
        answer=answer_for(num_jobs),
        rule=kernel_rule(rule, float(capacity)),
        curves=book.curves,
        pieces=np.zeros(4 * num_jobs + 2 * capacity, dtype=PIECE),
        shares=np.zeros(shares, dtype=np.int64),
        share_workers=np.zeros(shares, dtype=np.int64),
        decisions=np.zeros(2 * num_jobs + 1, dtype=DECISION),
        waits=np.zeros(3 * num_jobs, dtype=WAIT),
        counts=counts,
        clock=np.zeros(1),
        spots=_spots(prepared, jobs["curve"], book, num_nodes if not is_whole else 0),
        lines=_lines(np.array(smallest), num_jobs, chunks),
    )


def _spots(prepared: Prepared, curve: NDArray[np.int64], book: CurveBook, num_nodes: int) -> Spots:
    """Return what nodes that hold several workers need; without nodes, nothing is."""
    workload, placement = prepared.scenario.workload, prepared.scenario.options.placement
    num_jobs = len(workload) if num_nodes else 0
    kind, kinds = _numbers(workload.workers[:num_jobs, None])
    alike, pairs = _numbers(np.stack([kind, curve[:num_jobs]], axis=1))
    efficient = [book.efficient(number) for number in range(len(book.curves.rate))]
    return Spots(
        placement=int(PLACEMENT[placement]) if num_nodes else -1,
        kind=kind,
        alike=alike,
        failed=np.zeros((len(kinds), book.widest + 1), dtype=np.int64),
        closed=np.zeros(len(pairs), dtype=np.int64),
        stamps=np.zeros(2, dtype=np.int64),
        efficient=np.concatenate(efficient).astype(np.int64),
        first=np.cumsum([0, *map(len, efficient)]),
        pick=np.zeros(num_nodes, dtype=np.int64),
        pick_workers=np.zeros(num_nodes, dtype=np.int64),
        width=np.zeros(num_jobs, dtype=np.int64),
        first_share=np.zeros(num_jobs, dtype=np.int64),
        num_shares=np.zeros(num_jobs, dtype=np.int64),
        left=np.zeros(1, dtype=np.int64),
    )


def _lines(smallest: Ints, num_jobs: int, chunks: int) -> Lines:
    needs, need = np.unique(smallest, return_inverse=True)
    left, right = np.full((2, num_jobs), -1)
    return Lines(np.full(chunks, -1), left, right, need, needs, np.zeros(len(needs), dtype=np.int64))


def _numbers(columns: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a number for each row, equal for equal rows, and the different rows."""
    different, number = np.unique(columns, axis=0, return_inverse=True)
    return number.reshape(-1).astype(np.int64), different


def grown(run: Run) -> Run:
    """Return the run with more space for its log."""

    def more(values: NDArray[Any], used: int) -> NDArray[Any]:
        larger = np.zeros(2 * len(values) + len(run.jobs) + 2 * int(run.counts[Count.CAPACITY]), dtype=values.dtype)
        larger[:used] = values[:used]
        return larger

    logs = {"pieces": Count.PIECES, "shares": Count.SHARES, "share_workers": Count.SHARES}
    logs |= {"decisions": Count.DECISIONS, "waits": Count.WAITS}
    changes: dict[str, Any] = {name: more(getattr(run, name), int(run.counts[used])) for name, used in logs.items()}
    return run._replace(**changes)


def _curve_book(jobs: Workload, capacity: int, rule: ElasticRule, speed: SpeedModel) -> CurveBook:
    """Return the curves of all jobs as the policy learns them one by one: each depends on its own job alone."""
    smallest, largest = speed.limits()
    book = CurveBook(widths_of(rule), weights_of(rule))
    book.add(np.arange(len(jobs)), speed.rates, smallest, np.minimum(largest, capacity))
    return book


def _true_rates(curve: NDArray[np.int64], num_curves: int, capacity: int, speed: SpeedModel) -> Floats:
    """Return work per second of each curve on 0 to ``capacity`` workers, as the engine asks."""
    rates = np.zeros((num_curves, capacity + 1))
    numbers, rows = np.unique(curve, return_index=True)
    for number, row in zip(numbers.tolist(), rows.tolist(), strict=True):
        rates[number, 1:] = [speed.rate(row, width, 0, {0}) for width in range(1, capacity + 1)]
    return rates


def _ask(num_jobs: int) -> Jobs:
    curve, most, fixed, held = (np.zeros(num_jobs, dtype=np.int64) for _ in range(4))
    return Jobs(curve, np.zeros(num_jobs), np.zeros(num_jobs), np.ones(num_jobs), most, fixed, held)
