"""From a prepared scenario to the arrays of a run under quotas."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dlsched.domain.policy import EventKind, Policy, QueueTreeRule, ReviewRule
from dlsched.domain.queue_lookup import QueueNames, flavor_nodes
from dlsched.domain.randomness import stream
from dlsched.domain.workload import RESOURCES, Ints
from dlsched.policies.queue_tree.flavors import too_large
from dlsched.policies.queue_tree.jobs import Job, Rules
from dlsched.policies.queue_tree.rows import LAST_PRIORITY, Rows
from dlsched.policies.queue_tree.tree import AMOUNTS_PER_UNIT, Tree
from dlsched.sim.event_queue import EventQueue
from dlsched.sim.kernels import tables as codes
from dlsched.sim.kernels.queue_tree import tables
from dlsched.sim.kernels.queue_tree.tables import LOSES, Count, Run
from dlsched.sim.kernels.rigid.start import Groups, grouped, rigid_on_owned_nodes
from dlsched.sim.kernels.tables import PLACEMENT, Table
from dlsched.sim.log import JobStatus
from dlsched.sim.prepare import Prepared
from dlsched.sim.state import PolicyView
from dlsched.sim.world import World

MOST_PLACES = 1_000_000
"""So many queues times kinds of jobs fit into the tables of who waits."""


def eligible(prepared: Prepared, policy: Policy) -> bool:
    """Whether the loop can run this: Kueue's rules on a tree with one flavor of one resource, on owned nodes.

    Not covered: quotas that change, jobs that may start with fewer workers or are made narrower, nodes after quota,
    absences, cancellations, and runs that are joined in the middle.
    """
    scenario, spec = prepared.scenario, prepared.scenario.queues
    if not isinstance(policy.kernel_rule, QueueTreeRule) or spec is None:
        return False
    if spec.rule != "kueue" or spec.nodes == "after-quota" or spec.changes:
        return False
    jobs, cluster = scenario.workload, scenario.cluster
    if prepared.underway is not None or cluster.absences or np.isfinite(prepared.truth.cancel_s).any():
        return False
    if not rigid_on_owned_nodes(prepared) or (jobs.min_workers is not None and (jobs.min_workers < jobs.workers).any()):
        return False
    from dlsched.policies.queue_tree.fast_cycle import FastCycles  # loads numba

    tree = Tree.of(spec)
    if not FastCycles.can_answer(tree):
        return False
    flavor, resource = tree.keys[0]
    mask = flavor_nodes(spec, cluster.vm_types, cluster.nodes.vm, cluster.nodes.partition)[flavor]
    return (mask is None or bool(mask.all())) and _asks_are_plain(prepared, tree, resource)


def _asks_are_plain(prepared: Prepared, tree: Tree, resource: str) -> bool:
    """Whether each job belongs to a queue, asks for what it has quota of, and is not made narrower to fit."""
    scenario, spec = prepared.scenario, prepared.scenario.queues
    assert spec is not None
    jobs, names = scenario.workload, QueueNames(spec)
    column = getattr(jobs, spec.map)
    queues = {str(name): names.of(str(name)) for name in ([""] if column is None else np.unique(column.astype(str)))}
    if any(queue is None or resource not in tree.group_of[tree.number[queue]] for queue in queues.values()):
        return False
    amounts = np.round(jobs.demand * AMOUNTS_PER_UNIT).astype(np.int64)
    mine = RESOURCES.index(resource)
    others = np.delete(amounts, mine, axis=1)
    if (amounts[:, mine] <= 0).any() or (spec.uncovered == "refuse" and (others > 0).any()):
        return False
    if scenario.options.oversize != "drop":
        most = {name: -1 if queue is None else tree.most[0][tree.number[queue]] for name, queue in queues.items()}
        limits = np.array([most[str(name)] for name in ([""] * len(jobs) if column is None else column)])
        if (amounts[:, mine] * jobs.workers > limits).any():
            return False
    priority = np.zeros(len(jobs)) if jobs.priority is None else jobs.priority
    num_kinds = len(np.unique(np.stack([priority, jobs.workers]), axis=1)[0])
    return len(tree.queues) * num_kinds <= MOST_PLACES


def new_run(prepared: Prepared) -> Run:
    """Return the arrays of a run that has not begun."""
    from dlsched.policies.queue_tree.fast_cycle import FastCycles  # loads numba
    from dlsched.policies.queue_tree.kernels import tables as cycle_tables

    scenario, spec = prepared.scenario, prepared.scenario.queues
    assert spec is not None
    groups, num_jobs = grouped(prepared), len(scenario.workload)
    tree, rules = Tree.of(spec), Rules.of(spec)
    cycles, queueing = FastCycles(tree, rules), _queueing(prepared, groups, tree, rules)
    lanes, num_queues = queueing.lanes, len(tree.queues)
    num_kinds = int(lanes["number"].max()) + 1
    most_held = min(num_jobs, sum(tree.nominal[0]) // int(lanes["amount"].min())) + 1
    jobs = np.zeros(num_jobs, dtype=tables.JOB)
    jobs["submit_s"] = jobs["order_s"] = scenario.workload.submit_s
    jobs["work"], jobs["is_bug"] = prepared.truth.work, prepared.truth.is_bug
    jobs["kind"], jobs["lane"] = groups.kind_of, queueing.lane_of
    jobs["leaving"], jobs["end_s"] = -1, np.nan
    jobs["status"], jobs["reason"] = int(JobStatus.UNFINISHED), codes.NOT_SAID
    preemptors = np.zeros(num_queues, dtype=cycle_tables.WAIT)
    preemptors["row"] = -1
    return Run(
        jobs=jobs,
        kinds=groups.kinds,
        allowed=groups.allowed,
        measures=groups.measures,
        on_node=groups.on_node,
        nodes=groups.nodes,
        queues=groups.queues,
        members=groups.members,
        tree=cycles.nodes,
        rules=cycles.cycle_rules,
        runs=np.zeros(most_held, dtype=cycle_tables.RUN),
        lanes=lanes,
        lane_rows=np.zeros(num_jobs + 1, dtype=np.int64),
        lines=np.zeros((num_queues, num_kinds), dtype=cycle_tables.WAIT),
        lengths=np.zeros(num_queues, dtype=np.int64),
        roots=np.array([tree.root[queue] for queue in tree.queues]),
        parked=np.zeros((num_queues, num_kinds), dtype=np.bool_),
        preemptors=preemptors,
        heads=np.zeros(num_queues, dtype=cycle_tables.WAIT),
        entries=np.zeros(num_queues, dtype=cycle_tables.ENTRY),
        order=np.zeros(num_queues, dtype=np.int64),
        found=np.zeros((num_queues, 2, most_held), dtype=np.int64),
        told=np.zeros((num_queues, 2, most_held), dtype=np.int64),
        stops=np.zeros(most_held, dtype=tables.STOP),
        starved=np.zeros(len(tree.names), dtype=np.uint8),
        leaving=np.zeros(6 * num_jobs + 6, dtype=tables.LEAVING),
        due=np.zeros(num_jobs, dtype=np.int64),
        seen=np.zeros(num_jobs, dtype=np.int64),
        fresh=np.zeros(6 * num_jobs, dtype=np.int64),
        admitted=np.zeros(6 * num_jobs, dtype=np.int64),
        evicted=np.zeros(num_jobs, dtype=np.int64),
        said=np.zeros(num_jobs, dtype=np.int64),
        ends=np.zeros(2 * most_held + 1, dtype=tables.END),
        pieces=np.zeros(2 * num_jobs, dtype=tables.PIECE),
        shares=np.zeros(2 * num_jobs, dtype=codes.SHARE),
        decisions=np.zeros(2 * num_jobs + 2, dtype=codes.DECISION),
        waits=np.zeros(2 * num_jobs, dtype=codes.WAIT),
        journal=np.zeros(4 * num_jobs, dtype=tables.ENTRY),
        counts=np.zeros(len(Count), dtype=np.int64),
        clock=np.array([0.0, np.inf]),
        rule=_rule_table(prepared, groups),
    )


def grown(run: Run) -> Run:
    """Return the run with more space for its log."""
    counts, jobs = run.counts, run.jobs
    to_come = jobs["submit_s"][counts[Count.SUBMITTED] :]
    next_s = max(run.clock[0], to_come[0]) if len(to_come) else run.clock[0]  # the next instant is then at the latest
    soon = jobs["submit_s"] <= next_s + 1.0
    active = int(counts[Count.SUBMITTED] - counts[Count.ENDED]) + int(soon.sum())
    width = int(np.minimum(run.kinds["workers"][jobs["kind"]], len(run.nodes)).sum())
    beyond = {
        "pieces": (Count.PIECES, int(counts[Count.RUNNING])),
        "shares": (Count.SHARES, 5 * width),
        "decisions": (Count.DECISIONS, 1),
        "waits": (Count.WAITS, active),
        "journal": (Count.JOURNAL, 16 * active),
    }
    larger: dict[str, Any] = {}
    for name, (used, more) in beyond.items():
        old, count = getattr(run, name), int(counts[used])
        if count + 2 * more > len(old) // 2:
            larger[name] = np.zeros(2 * len(old) + more, dtype=old.dtype)
            larger[name][:count] = old[:count]
    return run._replace(**larger)


class Queueing(NamedTuple):
    """The lanes of the queues, and the lane of each row."""

    lanes: Table
    lane_of: Ints


def _queueing(prepared: Prepared, groups: Groups, tree: Tree, rules: Rules) -> Queueing:
    """Return the lanes: one for all rows of a queue that are alike to ``dlsched.policies.queue_tree``."""
    scenario, spec = prepared.scenario, prepared.scenario.queues
    assert spec is not None
    workload, resource = scenario.workload, tree.keys[0][1]
    everything = EventQueue(workload.submit_s, ReviewRule())
    everything.submitted = len(workload)
    view = PolicyView(World(prepared, everything), 0.0, EventKind.NONE, stream(scenario.seed, "policy"))
    rows, placer = Rows.of(view, spec, tree), view.placer()
    column = getattr(workload, spec.map)
    name_of = (
        np.zeros(len(workload), np.int64) if column is None else np.unique(column.astype(str), return_inverse=True)[1]
    )
    priority = np.full(len(workload), np.nan) if workload.priority is None else workload.priority
    priority = np.where(np.isnan(priority), LAST_PRIORITY, priority)
    keys = np.stack([name_of, groups.kind_of, np.unique(priority, return_inverse=True)[1]])
    _, first, same = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    alike: list[Job] = []
    number: dict[Any, int] = {}
    lane_of_key = np.zeros(len(first), dtype=np.int64)
    for key, row in enumerate(first.tolist()):
        job = rows.job(view, workload, row, placer)
        assert job is not None  # checked by eligible
        lane_of_key[key] = number.setdefault((job.queue, job.alike), len(number))
        if len(number) > len(alike):
            alike.append(job)
    lanes = np.zeros(len(alike), dtype=tables.LANE)
    place_of = {queue: place for place, queue in enumerate(tree.queues)}
    in_queue = [0] * len(tree.queues)
    for lane, job in zip(lanes, alike, strict=True):
        podset, place = job.podsets[0], place_of[job.queue]
        lane["place"], lane["number"], lane["queue"] = place, in_queue[place], job.queue
        in_queue[place] += 1
        lane["amount"], lane["priority"] = podset.all_of_it[resource], job.priority
        lane["allowed"] = podset.flavors is None or tree.keys[0][0] in podset.flavors
        lane["too_large"] = too_large(tree, job, rules.ignore_uncovered)
    lane_of = lane_of_key[same.ravel()]
    lanes["begin"][1:] = np.cumsum(np.bincount(lane_of, minlength=len(lanes)))[:-1]
    lanes["code"] = codes.NOT_SAID
    return Queueing(lanes, lane_of)


def _rule_table(prepared: Prepared, groups: Groups) -> Table:
    options, spec = prepared.scenario.options, prepared.scenario.queues
    assert spec is not None
    table = np.zeros(1, dtype=tables.RULE)
    table["placement"], table["whole_amounts"] = int(PLACEMENT[options.placement]), groups.whole_amounts
    table["limited"] = groups.limited
    table["restart_s"], table["checkpoint_s"] = options.restart_s, options.checkpoint_s
    table["loses"], table["stop_s"] = int(LOSES[spec.eviction_loses]), spec.stop_s
    table["horizon_s"] = options.horizon_s or np.inf
    return table
