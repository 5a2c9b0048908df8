"""From a prepared scenario to the arrays of a run of jobs that may be stopped."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.policy import ListRule, Policy
from dlsched.domain.workload import GPU, Floats, Ints, partition_names
from dlsched.placement.rules import ROOM_TOLERANCE
from dlsched.policies.shared.queues import usable
from dlsched.policies.shared.ranks import next_learning, width_class
from dlsched.sim.engine import IDLE_CALLS
from dlsched.sim.kernels import tables as codes
from dlsched.sim.kernels.orders import EARLY_S, first_keys
from dlsched.sim.kernels.preemptive import tables
from dlsched.sim.kernels.preemptive.tables import Count, Key, Run
from dlsched.sim.kernels.rigid.start import Groups, changes_table, grouped, rigid_on_owned_nodes
from dlsched.sim.kernels.rigid.tables import WAIT
from dlsched.sim.kernels.tables import PLACEMENT, Table
from dlsched.sim.log import JobStatus
from dlsched.sim.prepare import Prepared, Underway


def eligible(prepared: Prepared, policy: Policy) -> bool:
    """Whether the loop can run this: a list rule that stops jobs, on owned nodes.

    Not covered: parameter servers, run times by GPU type, and in runs that are joined in the middle what happens to
    nodes and jobs before; jobs that may run in partitions which are queues of their own until such a job comes.
    """
    rule = policy.kernel_rule
    return isinstance(rule, ListRule) and rule.preemptive and rigid_on_owned_nodes(prepared)


def new_run(prepared: Prepared, rule: ListRule) -> Run:
    """Return the arrays of a run that has not begun."""
    groups, num_jobs = grouped(prepared), len(prepared.scenario.workload)
    jobs, cancel_s = _job_table(prepared, rule, groups), prepared.truth.cancel_s
    num_kinds, num_nodes = len(groups.kinds), len(groups.nodes)
    lanes = _lanes(prepared, groups)
    class_of, of_class = _classes(prepared)
    claims = _claims(groups.allowed, class_of, len(of_class))
    queues = _queues(groups, lanes, class_of, of_class, claims)
    table = _rule_table(prepared, rule, groups)
    bounds_gpu_s = np.array([*rule.thresholds_gpu_s, np.inf])
    ranks = np.arange(len(bounds_gpu_s))[None, :]
    if rule.ranks is not None:
        ranks = rule.ranks(np.zeros((int(jobs["width"].max()) + 1, len(bounds_gpu_s)), dtype=np.int64))
    run = Run(
        jobs=jobs,
        kinds=groups.kinds,
        allowed=groups.allowed,
        measures=groups.measures,
        on_node=groups.on_node,
        changed=np.zeros(num_nodes, dtype=np.int64),
        is_changed=np.zeros(num_nodes, dtype=np.uint8),
        nodes=groups.nodes,
        queues=queues,
        members=groups.members,
        lanes=lanes,
        sorted=np.zeros(num_jobs + 1, dtype=tables.KEYED),
        heap=np.zeros(num_jobs + 1, dtype=tables.KEYED),
        heads=np.zeros(num_kinds + 1, dtype=tables.KEYED),
        runners=np.zeros(num_jobs + 1, dtype=tables.RUNNER),
        selected=np.zeros(num_jobs, dtype=np.int64),
        out=np.zeros(num_jobs, dtype=np.int64),
        fresh=np.zeros(2 * num_jobs, dtype=np.int64),
        ends=np.zeros(num_jobs + 1, dtype=tables.KEYED),
        changes=changes_table(prepared.scenario.cluster),
        cancels=np.argsort(cancel_s, kind="stable")[: int(np.isfinite(cancel_s).sum())],
        class_of=class_of,
        claims=claims,
        of_class=of_class,
        load=np.zeros_like(of_class),
        left=np.zeros_like(of_class),
        kept=np.zeros_like(of_class),
        shut=np.zeros(num_kinds, dtype=np.uint8),
        classes=np.zeros(len(of_class), dtype=np.uint8),
        bounds_gpu_s=bounds_gpu_s,
        ranks=ranks,
        needed=np.zeros_like(ranks),
        pieces=np.zeros(2 * num_jobs, dtype=tables.PIECE),
        shares=np.zeros(2 * num_jobs + int(table["most_shares"][0]), dtype=codes.SHARE),
        decisions=np.zeros(2 * num_jobs + 2, dtype=codes.DECISION),
        waits=np.zeros(2 * num_jobs + 2, dtype=WAIT),
        counts=np.zeros(len(Count), dtype=np.int64),
        clock=np.array([0.0, np.inf, -np.inf]),
        rule=table,
    )
    if prepared.underway is not None:
        _hold(run, prepared.underway)
    return run


def _hold(run: Run, underway: Underway) -> None:
    """Write who holds what when the run is joined; the loop takes it in. ``fresh`` = those that run."""
    run.rule["joined_s"] = underway.at_s
    run.counts[Count.RUNNING] = len(underway.held)
    run.fresh[: len(underway.held)] = list(underway.held)
    for row, (start_s, shares) in underway.held.items():
        first, job = int(run.counts[Count.SHARES]), run.jobs[row]
        run.shares[first : first + len(shares)] = [(share.node, share.workers) for share in shares]
        run.counts[Count.SHARES] += len(shares)
        job["start_s"], job["first_share"], job["num_shares"], job["running"] = start_s, first, len(shares), 1


def grown(run: Run) -> Run:
    """Return the run with more space for its log."""
    counts = run.counts
    active = int(counts[Count.RUNNING] + counts[Count.WAITING])
    beyond = {
        "pieces": (Count.PIECES, active),
        "shares": (Count.SHARES, int(run.rule["most_shares"][0])),
        "decisions": (Count.DECISIONS, 1),
        "waits": (Count.WAITS, 2 * (active + len(run.jobs) - int(counts[Count.SUBMITTED]))),
    }
    changes: dict[str, Any] = {}
    for name, (used, more) in beyond.items():
        old, count = getattr(run, name), int(counts[used])
        if count + 2 * more > len(old) // 2:
            changes[name] = np.zeros(2 * len(old) + more, dtype=old.dtype)
            changes[name][:count] = old[:count]
    return run._replace(**changes)


def learnt(run: Run, rule: ListRule) -> Run:
    """Return the run with ranks from the jobs that have ended, and who waits in their order, if it is time."""
    if rule.ranks is None or run.counts[Count.LEARNT] < run.rule["learn_at"][0]:
        return run
    run.rule["learn_at"] = next_learning(int(run.counts[Count.LEARNT]))
    run.ranks[:] = rule.ranks(run.needed)
    rows = np.flatnonzero(run.jobs["waits"] > 0)
    held = run.jobs["attained"][rows] + run.jobs["gpus"][rows] * EARLY_S
    keys = run.ranks[run.jobs["width"][rows], np.searchsorted(run.bounds_gpu_s, held, side="right")]
    kinds = run.jobs["kind"][rows]
    in_order = np.lexsort((rows, keys, kinds))
    begins = np.searchsorted(kinds[in_order], np.arange(len(run.kinds) + 1))
    run.lanes["first"] = run.lanes["past"] = run.lanes["begin"]
    for kind in np.unique(kinds).tolist():
        mine, lane = in_order[begins[kind] : begins[kind + 1]], run.lanes[kind]
        begin, ahead = int(lane["begin"]), min(len(mine), tables.MOST_SORTED)
        for part, place in ((mine[:ahead], run.sorted), (mine[ahead:], run.heap)):
            place["key"][begin : begin + len(part)] = keys[part]
            place["row"][begin : begin + len(part)] = rows[part]
        lane["past"], lane["in_heap"] = begin + ahead, len(mine) - ahead
    return run


def _job_table(prepared: Prepared, rule: ListRule, groups: Groups) -> NDArray[np.void]:
    workload, truth = prepared.scenario.workload, prepared.truth
    jobs = np.zeros(len(workload), dtype=tables.JOB)
    jobs["submit_s"], jobs["kind"] = workload.submit_s, groups.kind_of
    jobs["gpus"] = workload.workers * workload.demand[:, GPU]
    jobs["work"], jobs["believed"], jobs["is_bug"] = truth.work, truth.believed_work, truth.is_bug
    jobs["cancel_s"], jobs["first_key"] = truth.cancel_s, first_keys(prepared, rule)
    jobs["width"] = 0 if rule.ranks is None else width_class(jobs["gpus"])
    jobs["last_piece"] = -1
    jobs["end_s"], jobs["status"], jobs["reason"] = np.nan, int(JobStatus.UNFINISHED), codes.NOT_SAID
    return jobs


def _lanes(prepared: Prepared, groups: Groups) -> Table:
    """Return the lanes of the kinds, each with as many places as there are jobs of its kind."""
    workload, cluster = prepared.scenario.workload, prepared.scenario.cluster
    lanes = np.zeros(len(groups.kinds), dtype=tables.LANE)
    ends = np.cumsum(np.bincount(groups.kind_of, minlength=len(lanes)))
    lanes["begin"], lanes["end"] = np.concatenate([[0], ends[:-1]]), ends
    lanes["first"] = lanes["past"] = lanes["begin"]
    lanes["told"] = codes.NOT_SAID
    on_nodes = frozenset().union(*map(partition_names, cluster.nodes.partition))
    number: dict[Any, int] = {}
    for kind, row in enumerate(np.unique(groups.kind_of, return_index=True)[1].tolist()):
        said = [
            "" if column is None else str(column[row])
            for column in (workload.partition, workload.gpu_types, workload.features)
        ]
        job = groups.kinds[kind]
        key = (int(job["workers"]), job["demand"].tobytes(), usable(said[0], on_nodes), *said[1:])
        lanes["twin"][kind] = number.setdefault(key, kind)
    return lanes


def _classes(prepared: Prepared) -> tuple[Ints, Floats]:
    """Return a number per node, equal for nodes that every job treats alike, and the capacity of each class."""
    nodes = prepared.scenario.cluster.nodes
    told = zip(nodes.partition, nodes.gpu_type, nodes.features, strict=True)
    class_of = np.unique(np.array(["\n".join(one) for one in told]), return_inverse=True)[1].astype(np.int64)
    of_class = np.zeros((int(class_of.max()) + 1, nodes.capacity.shape[1]))
    np.add.at(of_class, class_of, nodes.capacity)
    return class_of, of_class


def _claims(allowed: NDArray[np.uint8], class_of: Ints, num_classes: int) -> NDArray[np.uint8]:
    """Return which classes each kind may use, shape (kinds, classes)."""
    claims = np.zeros((len(allowed), num_classes), dtype=np.uint8)
    for number in range(num_classes):
        claims[:, number] = allowed[:, class_of == number].any(axis=1)
    return claims


def _queues(groups: Groups, lanes: Table, class_of: Ints, of_class: Floats, claims: NDArray[np.uint8]) -> Table:
    """Return the queues, with all nodes free; tell the lanes how many units a job takes where one total counts."""
    queues = np.zeros(len(groups.queues), dtype=tables.QUEUE)
    capacity = groups.nodes["capacity"]
    for name in ("free", "first_kind", "past_kind", "first_measure", "past_measure"):
        queues[name] = groups.queues[name]
    queue_of = groups.kinds["queue"]
    queues["most_runners"] = np.bincount(queue_of[groups.kind_of], minlength=len(queues))
    queues["first_runner"] = np.cumsum(queues["most_runners"]) - queues["most_runners"]
    need = groups.kinds["demand"] * groups.kinds["workers"][:, None]
    for number, queue in enumerate(queues):
        mine = queue_of == number
        classes = np.flatnonzero(claims[mine].any(axis=0))
        counts = np.flatnonzero((need[mine] > 0).any(axis=0) & np.isfinite(of_class[classes]).all(axis=0))
        if len(classes) == 1 and len(counts) == 1:
            units, there = need[mine, counts[0]], capacity[class_of == classes[0], counts[0]]
            if (units % 1 == 0).all() and (there % 1 == 0).all():
                queue["one_total"], queue["one_class"], queue["counted"] = 1, classes[0], counts[0]
                queue["units_free"], lanes["units"][mine] = there.sum(), units
    return queues


def _rule_table(prepared: Prepared, rule: ListRule, groups: Groups) -> NDArray[np.void]:
    options = prepared.scenario.options
    attained = Key.QUEUE if rule.thresholds_gpu_s else Key.ATTAINED
    key = {"remaining": Key.REMAINING, "attained": attained}.get(rule.order, Key.FIXED)
    table = np.zeros(1, dtype=tables.RULE)
    table["placement"], table["whole_amounts"] = int(PLACEMENT[options.placement]), groups.whole_amounts
    table["limited"] = groups.limited
    table["key"], table["quantum_s"] = int(key), rule.quantum_s or 0.0
    table["checkpoint_s"], table["horizon_s"] = options.checkpoint_s, options.horizon_s or np.inf
    table["most_idle"], table["makes_room"] = IDLE_CALLS, rule.makes_room
    table["restart_s"], table["moves_restart"] = options.restart_s, options.restart_mode == "pause"
    table["learn_at"] = np.iinfo(np.int64).max if rule.ranks is None else 1
    table["most_shares"], table["joined_s"] = _most_shares(prepared, groups), np.nan
    return table


def _most_shares(prepared: Prepared, groups: Groups) -> int:
    """Return how many shares can be held at once at most: those of all jobs, and one for each worker on its node."""
    of_jobs = int(np.minimum(prepared.scenario.workload.workers, len(groups.nodes)).sum())
    most = np.zeros(len(groups.nodes))
    for job, allowed in zip(groups.kinds, groups.allowed, strict=True):
        binds = job["binding"] > 0
        parts = (groups.nodes["capacity"][:, binds] / job["demand"][binds]).min(axis=1)
        most = np.maximum(most, np.floor(parts + ROOM_TOLERANCE) * (allowed > 0))
    return int(min(of_jobs, np.where(np.isfinite(most), most, of_jobs).sum()))
