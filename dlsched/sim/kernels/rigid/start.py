"""From a prepared scenario to the arrays of a run of rigid jobs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.cluster import Cluster
from dlsched.domain.policy import ListRule, Policy
from dlsched.domain.workload import GPU, Floats, Ints
from dlsched.placement import Site
from dlsched.placement.eligibility import in_partition
from dlsched.placement.rules import ROOM_TOLERANCE
from dlsched.policies.baselines.orders import in_ticks
from dlsched.policies.baselines.state_adapter import NUM_TOLD
from dlsched.policies.shared.queues import queue_of_jobs, queues
from dlsched.sim.capacity import capacity_changes
from dlsched.sim.kernels import tables as codes
from dlsched.sim.kernels.orders import first_keys
from dlsched.sim.kernels.rigid import tables
from dlsched.sim.kernels.rigid.fair_tables import fair_tables, no_shares
from dlsched.sim.kernels.rigid.tables import MANY, MOST_TOLD, NUM_RESOURCES, WAIT, Count, Fit, Rule, Run
from dlsched.sim.kernels.tables import PLACEMENT, Table
from dlsched.sim.log import JobStatus
from dlsched.sim.prepare import Prepared, Underway

NUM_QUANTILES = 16
MOST_BOUNDS = 4_000_000
"""Of conservative backfill on nodes: lengths x measures x nodes, 16 bytes each."""
MOST_SOONEST = 8


def eligible(prepared: Prepared, policy: Policy) -> bool:
    """Whether the loop can run this: a list rule that never stops a job, on owned nodes.

    Not covered: parameter servers, run times by GPU type, and in runs that are joined in the middle what happens to
    nodes and jobs before; jobs that may run in partitions which are queues of their own until such a job comes;
    conservative backfill in a pool in which more than one total counts; shares of nodes that come and go.
    """
    scenario, rule = prepared.scenario, policy.kernel_rule
    return (
        isinstance(rule, ListRule)
        and not rule.preemptive
        and rigid_on_owned_nodes(prepared)
        and (rule.backfill != "conservative" or scenario.options.placement != "pool" or _only_totals_count(prepared))
        and not (rule.fair and scenario.cluster.absences)  # shares are of the nodes that are up
    )


def rigid_on_owned_nodes(prepared: Prepared) -> bool:
    """Whether jobs of fixed width run on owned nodes, and all that happens is known to the loops from the start."""
    scenario = prepared.scenario
    return (
        scenario.speed.kind in ("rigid", "scaling")
        and len(scenario.workload) > 0
        and not scenario.workload.has_servers
        and not scenario.cluster.free_slots
        and nothing_happens_before_it_is_joined(prepared)
        and _lasting_queues(prepared)
    )


def _only_totals_count(prepared: Prepared) -> bool:
    return bool(grouped(prepared).queues["counts_only"].all())


def nothing_happens_before_it_is_joined(prepared: Prepared) -> bool:
    """Whether no node goes away and no job is cancelled before a run is joined, and the run has no horizon."""
    if prepared.underway is None:
        return True
    happens_s = [absence.start_s for absence in prepared.scenario.cluster.absences] + prepared.truth.cancel_s.tolist()
    return prepared.scenario.options.horizon_s is None and min(happens_s) >= prepared.underway.at_s


def _lasting_queues(prepared: Prepared) -> bool:
    """Whether no job joins queues that the nodes alone keep apart."""
    wanted, of_nodes = prepared.scenario.workload.partition, prepared.scenario.cluster.nodes.partition
    if wanted is None:
        return True
    apart = set(queues(of_nodes.tolist()).values())
    return set(queue_of_jobs(wanted, of_nodes).tolist()) <= apart


def new_run(prepared: Prepared, rule: ListRule) -> Run:
    """Return the arrays of a run that has not begun."""
    scenario, truth, groups = prepared.scenario, prepared.truth, grouped(prepared)
    num_jobs, num_queues = len(scenario.workload), len(groups.queues)
    jobs = np.zeros(num_jobs, dtype=tables.JOB)
    jobs["submit_s"], jobs["kind"] = scenario.workload.submit_s, groups.kind_of
    jobs["work"], jobs["is_bug"], jobs["cancel_s"] = truth.work, truth.is_bug, truth.cancel_s
    jobs["believed"] = jobs["believed_in_all"] = truth.believed_work
    jobs["ends_early"] = truth.work < truth.believed_work
    jobs["end_s"], jobs["status"], jobs["reason"] = np.nan, int(JobStatus.UNFINISHED), codes.NOT_SAID
    jobs["key"] = first_keys(prepared, rule)
    fair = fair_tables(prepared, groups.kind_of, groups.kinds, groups.capacity) if rule.fair else no_shares()
    by_kind = _which(rule) != Rule.HEAD_OF_LINE
    lanes, lane_rows = _lanes(jobs, groups.kinds["queue"], num_queues, fair.line_of, by_kind=by_kind)
    of_queue = groups.kinds["queue"][jobs["kind"]]
    groups.queues["end_first"] = np.cumsum([0, *(np.bincount(of_queue, minlength=num_queues) + 1)])[:-1]
    most_shares = np.minimum(scenario.workload.workers, scenario.cluster.num_nodes)
    shares, num_measures = int(most_shares.sum()), len(groups.measures)
    in_a_pool = rule.backfill == "conservative" and scenario.options.placement == "pool"
    on_nodes = rule.backfill == "conservative" and not in_a_pool
    jobs["start_number"] = -1
    slots = 2 * np.bincount(of_queue, most_shares, num_queues).astype(np.int64)
    groups.queues["first_slot"] = len(groups.nodes) + np.cumsum(slots) - slots
    groups.queues["booked_after"] = groups.queues["last_place"] = -1
    rule_table = _rule_table(prepared, rule, groups)
    lengths = _lengths(jobs, rule_table, groups.on_node.size) if on_nodes else np.zeros(1)
    changes = changes_table(scenario.cluster)
    cancels = np.argsort(truth.cancel_s, kind="stable")[: int(np.isfinite(truth.cancel_s).sum())]
    run = Run(
        jobs=jobs,
        kinds=groups.kinds,
        allowed=groups.allowed,
        measures=groups.measures,
        on_node=groups.on_node,
        nodes=groups.nodes,
        lanes=lanes,
        lane_rows=lane_rows,
        tree=np.full(int(2 * lanes["size"].sum()), np.inf),
        queues=groups.queues,
        members=groups.members,
        by_end=np.zeros(num_jobs + num_queues, dtype=np.int64),
        profile=np.zeros(2 + num_jobs if in_a_pool else 1, dtype=tables.MOMENT),
        slots=np.zeros(len(groups.nodes) + 2 * shares if on_nodes else 1, dtype=tables.SLOT),
        room_until=np.full(groups.on_node.shape if on_nodes else (1, 1), -np.inf),
        longest_room=np.full(groups.on_node.shape if on_nodes else (1, 1), -np.inf),
        lengths=lengths,
        bounds=np.zeros((num_measures, len(lengths), len(groups.nodes)) if on_nodes else (1, 1, 1), dtype=tables.BOUND),
        bounded=np.zeros((num_measures, len(lengths)), dtype=tables.BOUNDED),
        first_start=np.zeros((len(groups.kinds), len(lengths)), dtype=tables.FIRST_START),
        windows=np.zeros(len(groups.nodes) if on_nodes else 1, dtype=tables.WINDOW),
        ready=np.full(groups.on_node.shape if on_nodes else (1, 1), np.array((np.inf, -1), dtype=tables.BOUND)),
        order=np.tile(np.arange(len(groups.nodes)), (num_measures if on_nodes else 1, 1)),
        soonest=np.zeros(MOST_SOONEST),
        running=np.zeros(num_jobs + 1, dtype=tables.RUNNING),
        due=np.zeros(num_jobs + 1, dtype=np.int64),
        changes=changes,
        cancels=cancels,
        pieces=np.zeros(num_jobs, dtype=tables.PIECE),
        shares=np.zeros(shares, dtype=codes.SHARE),
        decisions=np.zeros(2 * num_jobs + len(changes) + len(cancels) + 1, dtype=codes.DECISION),
        waits=np.zeros(2 * num_jobs, dtype=WAIT),
        counts=np.zeros(len(Count), dtype=np.int64),
        rule=rule_table,
        fair=fair,
    )
    if prepared.underway is not None:
        _hold(run, prepared.underway)
    run.slots["next"] = -1
    if len(changes):
        run.rule["most_shares"] = 2 * shares  # after a single event, and again when a node has gone at that instant
        run = grown(run)
    return run


def changes_table(cluster: Cluster) -> Table:
    """Return when nodes go away and come back, in the order in which it is handled."""
    changes = capacity_changes(cluster)
    table = np.zeros(len(changes), dtype=tables.CHANGE)
    table["time_s"] = [change.time_s for change in changes]
    table["node"] = [change.absence.node for change in changes]
    table["comes_back"] = [change.comes_back for change in changes]
    return table


def _hold(run: Run, underway: Underway) -> None:
    """Write who holds what when the run is joined; the loop takes it in. ``due`` = their number, then in order."""
    held = sorted(underway.held.items(), key=lambda entry: (entry[1][0], entry[0]))
    run.rule["joined_s"] = underway.at_s
    run.due[: len(held) + 1] = [len(held), *(row for row, _ in held)]
    for row, (start_s, shares) in held:
        first = int(run.counts[Count.SHARES])
        run.shares[first : first + len(shares)] = [(share.node, share.workers) for share in shares]
        run.counts[Count.SHARES] += len(shares)
        job = run.jobs[row]
        job["start_s"], job["first_share"], job["num_shares"] = start_s, first, len(shares)


def grown(run: Run) -> Run:
    """Return the run with more space for its log."""
    told = 2 * MOST_TOLD * len(run.queues) * (2 + int(run.counts[Count.RUNNING])) + len(run.jobs)
    more = {"pieces": len(run.jobs), "shares": int(run.rule["most_shares"][0]), "waits": len(run.waits) + told}
    larger: dict[str, Any] = {
        name: np.resize(getattr(run, name), len(getattr(run, name)) + add) for name, add in more.items()
    }
    return run._replace(**larger)


def _which(rule: ListRule) -> Rule:
    plain = Rule.FAIR if rule.fair else Rule.HEAD_OF_LINE if rule.blocking else Rule.WITH_SKIP
    return {"easy": Rule.EASY, "conservative": Rule.CONSERVATIVE}.get(rule.backfill, plain)


def _rule_table(prepared: Prepared, rule: ListRule, groups: Groups) -> Table:
    which, table, scenario = _which(rule), np.zeros(1, dtype=tables.RULE), prepared.scenario
    table["which"], table["one_by_one"] = int(which), rule.one_by_one
    table["num_told"] = 1 if which == Rule.HEAD_OF_LINE else NUM_TOLD
    table["placement"], table["whole_amounts"] = int(PLACEMENT[scenario.options.placement]), groups.whole_amounts
    table["limited"] = groups.limited
    counts = groups.kinds["binding"].any(axis=0) | np.array(groups.limited)
    table["num_limited"] = 1 + np.flatnonzero(counts).max()
    speeds, options = scenario.cluster.nodes.speed, scenario.options
    table["speed"] = speeds.min() if which == Rule.CONSERVATIVE else speeds.max()
    table["looks_by_kind"] = which != Rule.HEAD_OF_LINE
    table["needs_ends"] = which in (Rule.EASY, Rule.CONSERVATIVE)
    table["by_work_left"] = rule.order in ("work", "remaining")
    table["restart_s"], table["checkpoint_s"], table["joined_s"] = options.restart_s, options.checkpoint_s, np.nan
    table["horizon_s"] = options.horizon_s or np.inf
    return table


def _lengths(jobs: Table, rule: Table, num_bounds: int) -> Floats:
    """Return 0 and quantiles of how long jobs are believed to run, in ticks, ascending; few where bounds take space."""
    ticks = in_ticks(rule["restart_s"] + jobs["believed"] / rule["speed"])
    parts = max(1, min(NUM_QUANTILES, MOST_BOUNDS // num_bounds))
    return np.unique([0.0, *np.quantile(ticks, np.arange(parts) / parts, method="lower")])


def _lanes(jobs: Table, queue_of_kind: Ints, num_queues: int, line_of: Ints, *, by_kind: bool) -> tuple[Table, Ints]:
    """Return the lanes of kinds, queues and lines, if there are any, and their rows; those of kinds may have no tree.

    Tell each job its places in those of kinds and queues.
    """
    num_jobs, num_kinds = len(jobs), len(queue_of_kind)
    kind, order = jobs["kind"], np.argsort(jobs["key"], kind="stable")
    queue = queue_of_kind[kind]
    in_kinds = order[np.argsort(kind[order], kind="stable")]
    by_queue = order[np.argsort(queue[order], kind="stable")]
    by_line = order[np.argsort(line_of[order], kind="stable")] if len(line_of) else line_of
    of_kinds, of_queues = np.bincount(kind, minlength=num_kinds), np.bincount(queue, minlength=num_queues)
    lengths = np.concatenate([of_kinds, of_queues, np.bincount(line_of), [0]])
    lanes = np.zeros(len(lengths), dtype=tables.LANE)
    lanes["first"] = np.cumsum(lengths) - lengths
    lanes["size"] = 2 ** np.ceil(np.log2(np.maximum(lengths, 1))).astype(np.int64)
    lanes["size"][:num_kinds] *= by_kind
    lanes["base"] = np.cumsum(2 * lanes["size"]) - 2 * lanes["size"]
    jobs["in_kind"][in_kinds] = np.arange(num_jobs) - lanes["first"][kind[in_kinds]]
    jobs["place"][by_queue] = np.arange(num_jobs, 2 * num_jobs) - lanes["first"][num_kinds + queue[by_queue]]
    return lanes, np.concatenate([in_kinds, by_queue, by_line])


# ---- kinds, measures and queues ---------------------------------------------------------------------------


class Groups(NamedTuple):
    """What of a run does not depend on its rule; ``kind_of`` (jobs,), ``capacity`` (queues, resources)."""

    kind_of: Ints
    kinds: Table
    allowed: NDArray[np.uint8]
    measures: Table
    on_node: Ints
    nodes: Table
    queues: Table
    members: Ints
    capacity: Floats
    limited: Any
    whole_amounts: bool


def grouped(prepared: Prepared) -> Groups:
    """Return kinds, measures, nodes and queues of a scenario, with all nodes free."""
    scenario = prepared.scenario
    workload, rule = scenario.workload, scenario.options.placement
    site = Site.of(workload, scenario.cluster, rule)
    kind_of, first = _kinds_of(site, workload.workers)
    asks = [site.ask(int(row), int(workload.workers[row])) for row in first]
    nodes = np.zeros(len(site.capacity), dtype=tables.NODE)
    nodes["free"] = nodes["capacity"] = site.capacity
    nodes["is_stale"] = 1
    nodes["speed"] = scenario.cluster.nodes.speed
    everywhere = np.ones(len(nodes), dtype=bool)
    allowed = np.array([everywhere if ask.allowed is None else ask.allowed for ask in asks], dtype=np.uint8)
    kinds = np.zeros(len(asks), dtype=tables.KIND)
    kinds["workers"], kinds["demand"] = [ask.workers for ask in asks], [ask.demand for ask in asks]
    kinds["binding"] = [[resource in ask.binding for resource in range(NUM_RESOURCES)] for ask in asks]
    kinds["outgrows"] = [ask.outgrows for ask in asks]
    kinds["counted"] = np.where(kinds["demand"][:, GPU] > 0, GPU, np.argmax(kinds["demand"] > 0, axis=1))
    kinds["num_up"] = allowed.sum(axis=1)
    kinds["queue"], names = _queues_of(prepared, first)
    for number in range(len(kinds)):
        nodes["queue"][allowed[number] > 0] = kinds["queue"][number]
    num_queues = int(kinds["queue"].max()) + 1
    here = nodes["queue"] == np.arange(num_queues)[:, None]
    kinds["whole_queue"] = (allowed >= here[kinds["queue"]]).all(axis=1)
    measures, on_node = _measures(kinds, allowed, nodes["capacity"], rule)
    queues = np.zeros(num_queues, dtype=tables.QUEUE)
    queues["free"] = [site.capacity[of_queue].sum(axis=0) for of_queue in here]
    queues["first_node"], queues["spare_slot"] = np.cumsum(here.sum(axis=1)) - here.sum(axis=1), -1
    members = _members(queues, kinds["queue"], kinds["queue"][measures["kind"]])
    for queue in range(num_queues):
        mine = kinds[kinds["queue"] == queue]
        one_unit = (mine["binding"].sum(axis=1) == 1).all() and (mine["demand"][mine["binding"] > 0] == 1).all()
        queues["counts_only"][queue] = rule != "best-fit" and one_unit and len(np.unique(mine["measure"])) == 1
    limited = [resource in asks[0].limited for resource in range(NUM_RESOURCES)]
    place, holds = scenario.cluster.nodes.partition, scenario.cluster.nodes.capacity
    in_all = np.array([holds[in_partition(name, place)].sum(axis=0) for name in names])
    return Groups(kind_of, kinds, allowed, measures, on_node, nodes, queues, members, in_all, limited, site.asks.whole)


def _kinds_of(site: Site, workers: Ints) -> tuple[Ints, Ints]:
    """Return the kind of each row, and the first row of each kind: equal width, demand and claim on nodes.

    Kinds are numbered as they come.
    """
    kind = np.zeros(len(workers), dtype=np.int64)
    for column in (workers, *site.asks.jobs.demand.T, np.array(site.asks.claims.of_row)):
        if (column != column[0]).any():
            _, number = np.unique(column, return_inverse=True)
            _, kind = np.unique(kind * (1 + number.max()) + number, return_inverse=True)
    first = np.zeros(1 + kind.max(), dtype=np.int64)
    first[kind[::-1]] = np.arange(len(kind))[::-1]  # the earliest row is written last
    order = np.argsort(first)
    return np.argsort(order)[kind], first[order]


def _queues_of(prepared: Prepared, rows: Ints) -> tuple[Ints, list[str]]:
    """Return the queues of rows, numbered by name, and the names."""
    workload = prepared.scenario.workload
    wanted = np.full(len(rows), "", dtype=object) if workload.partition is None else workload.partition[rows]
    of_row = queue_of_jobs(wanted, prepared.scenario.cluster.nodes.partition)
    names, numbers = np.unique(of_row.astype(str), return_inverse=True)
    return numbers.astype(np.int64), names.tolist()


def _measures(kinds: Table, allowed: NDArray[np.uint8], capacity: Floats, rule: str) -> tuple[Table, Ints]:
    """Return the measures and what they count on empty nodes; tell each kind its own, shared where that can be."""
    number: dict[Any, int] = {}
    measures = np.zeros(len(kinds), dtype=tables.MEASURE)
    for kind, job in enumerate(kinds):
        fit = Fit.ROOM if rule != "best-fit" else Fit.EMPTY if job["outgrows"] else Fit.WHOLE
        asked = job["demand"] * (job["workers"] if fit == Fit.WHOLE else 1)
        job["need"] = 1 if fit == Fit.WHOLE else job["workers"]
        key = (fit, asked.tobytes(), job["binding"].tobytes(), allowed[kind].tobytes())
        if key not in number:
            new = measures[len(number)]
            new["asked"], new["binding"], new["fit"], new["kind"] = asked, job["binding"], int(fit), kind
        job["measure"] = number.setdefault(key, len(number))
    measures = measures[: len(number)].copy()
    on_node = np.zeros((len(measures), len(capacity)), dtype=np.int64)
    for row, measure in zip(on_node, measures, strict=True):
        binds = measure["binding"] > 0
        parts = ((capacity[:, binds] + ROOM_TOLERANCE) / measure["asked"][binds]).min(axis=1)
        row[:] = np.minimum(parts, 1 if measure["fit"] == Fit.WHOLE else MANY).astype(np.int64)
        row *= allowed[measure["kind"]]
    measures["tally"], measures["most_on_node"] = on_node.sum(axis=1), np.maximum(1, on_node.max(axis=1))
    return measures, on_node


def _members(queues: Table, of_kind: Ints, of_measure: Ints) -> Ints:
    """Return kinds by queue, then measures by queue; tell each queue where its own are."""
    ends = np.cumsum(np.bincount(of_kind, minlength=len(queues)))
    queues["first_kind"], queues["past_kind"] = np.concatenate([[0], ends[:-1]]), ends
    ends = len(of_kind) + np.cumsum(np.bincount(of_measure, minlength=len(queues)))
    queues["first_measure"], queues["past_measure"] = np.concatenate([[len(of_kind)], ends[:-1]]), ends
    return np.concatenate([np.argsort(of_kind, kind="stable"), np.argsort(of_measure, kind="stable")])
