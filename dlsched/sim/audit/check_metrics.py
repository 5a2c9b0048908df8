"""An independent recomputation of money, tardiness, utility and times, against what the metrics say."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.cluster import Absence, Cluster, vm_capacity
from dlsched.domain.scenario import Scenario
from dlsched.domain.truth import Truth
from dlsched.domain.workload import RESOURCES, Floats
from dlsched.sim.audit.energy import drawn
from dlsched.sim.audit.facts import SAME_NUMBER, SECONDS_PER_H, Facts, slack_s
from dlsched.sim.audit.findings import Findings, Say
from dlsched.sim.audit.shares import BillSplit, Spans, month_usd, split_bill, useful_unit_s
from dlsched.sim.log import JobStatus, PieceEnd, RunLog

if TYPE_CHECKING:
    import pandas as pd

ONE_INSTANT = 1e-9
SAME_TIME = 1e-12
JUDGED = (
    "job_id",
    "status",
    "completion_s",
    "wait_s",
    "jct_s",
    "tardiness_s",
    "tardiness_usd",
    "utility",
    "cost",
)
"""Columns of the table of jobs that are compared."""
PARTS_OF_BILL = ("idle_cost", "spare_cost", "restart_cost")
"""Differences of sums of up to the whole bill: they are as exact as that bill, not as themselves."""
Number = float | int | None


def check_metrics(
    scenario: Scenario,
    truth: Truth,
    log: RunLog,
    metrics: Mapping[str, Any],
    jobs_table: pd.DataFrame,
    nodes_table: pd.DataFrame,
) -> list[str]:
    """Return which numbers differ from a recomputation by more than 1e-6 relative; empty = none.

    The log must have passed :func:`dlsched.sim.audit.audit`.
    """
    facts, findings = Facts(scenario, truth, log), Findings()
    billed = _spans(facts, _unpaid(scenario.cluster))
    usd = _span_usd(facts, billed)
    split = None if usd is None else split_bill(facts, billed, usd)
    energy = drawn(facts, _up(facts))
    jobs = _job_columns(facts, split) | energy.of_jobs
    numbers = {
        **_counts(facts),
        **_times(jobs),
        **_dues(facts, jobs),
        **_money(facts, jobs, billed, usd, split),
        **_use(facts, billed, usd),
        **energy.metrics,
    }
    rounding_usd = 0.0 if usd is None else ONE_INSTANT * math.fsum(usd) + _within_an_instant_usd(facts)
    rounding = dict.fromkeys(PARTS_OF_BILL, rounding_usd) | {"gpu_hours_idle": _paid_rounding_h(facts, billed)}
    rounding |= energy.rounding
    for key, expected in numbers.items():
        _compare_metric(findings, metrics, key, expected, rounding.get(key, 0.0))
    _compare_bounds(findings, metrics)
    _compare_jobs(findings, facts, jobs_table, jobs, rounding_usd)
    if usd is not None:
        _compare_nodes(findings, facts, nodes_table, billed, usd)
    return findings.messages()


# ---- recomputation ----------------------------------------------------------------------------------


def _counts(facts: Facts) -> dict[str, Number]:
    status, ends = facts.log.job_status, facts.log.piece_end
    by_status = {code.name.lower(): int((status == code).sum()) for code in JobStatus}
    return {
        "jobs": len(facts.scenario.workload),
        **by_status,
        "preemptions": int((ends == PieceEnd.PREEMPTED).sum()),
        "resizes": int((ends == PieceEnd.RESIZED).sum()),
    }


def _job_columns(facts: Facts, split: BillSplit | None) -> dict[str, Floats]:
    """Return wait, turnaround time, tardiness, utility, completion and costs of each job; NaN where it has none."""
    log, jobs = facts.log, facts.scenario.workload
    completion_s = np.where(log.job_status == JobStatus.COMPLETED, log.job_end_s, np.nan)
    tardiness_s, nothing = _tardiness_s(facts), np.full(len(completion_s), np.nan)
    weighed = jobs.due_s is not None and jobs.weight_usd_per_s is not None
    weight = jobs.weight_usd_per_s if jobs.weight_usd_per_s is not None else nothing
    return {
        "completion_s": completion_s,
        "wait_s": log.job_first_start_s - jobs.submit_s,
        "jct_s": completion_s - jobs.submit_s,
        "tardiness_s": tardiness_s,
        "tardiness_usd": np.nan_to_num(tardiness_s * weight) if weighed else nothing,
        "utility": _utility(facts, completion_s),
        "cost": nothing if split is None else split.job_usd,
    }


def _tardiness_s(facts: Facts) -> Floats:
    """Time past due when a job left, or at the end of the run; NaN without a due date and for rejected jobs."""
    log, due_s = facts.log, facts.scenario.workload.due_s
    if due_s is None:
        return np.full(len(log.job_status), np.nan)
    left_s = np.where(np.isnan(log.job_end_s), log.end_s, log.job_end_s)
    over_s = left_s - due_s
    late_s = np.where(over_s > _one_instant(left_s), over_s, 0.0)
    unjudged = np.isnan(due_s) | (log.job_status == JobStatus.REJECTED)
    return np.where(unjudged, np.nan, late_s)


def _utility(facts: Facts, completion_s: Floats) -> Floats:
    """Sigmoid g1 / (1 + exp(g2 (t - g3))) of completed jobs, with exp of negative numbers only."""
    jobs, options = facts.scenario.workload, facts.scenario.options
    if jobs.utility_1 is None or jobs.utility_2 is None or jobs.utility_3 is None:
        return np.full(len(completion_s), np.nan)
    if options.utility_clock == "elapsed":
        clock_s = completion_s - jobs.submit_s
    else:
        last = np.ceil((completion_s - _one_instant(completion_s)) / options.slot_s) - 1.0
        first = np.floor((jobs.submit_s + _one_instant(completion_s)) / options.slot_s)
        clock_s = (last - first) * options.slot_s
    x = jobs.utility_2 * (clock_s / options.utility_unit_s - jobs.utility_3)
    small = np.exp(-np.abs(x))
    return jobs.utility_1 * np.where(x > 0, small, 1.0) / (1.0 + small)


def _one_instant(time_s: Floats) -> Floats:
    return np.maximum(ONE_INSTANT, SAME_TIME * np.abs(time_s))


def _times(jobs: Mapping[str, Floats]) -> dict[str, Number]:
    return {"jct_mean": _mean(jobs["jct_s"]), "wait_mean": _mean(jobs["wait_s"])}


def _mean(values: Floats) -> Number:
    there = values[~np.isnan(values)]
    return math.fsum(there) / there.size if there.size else None


def _dues(facts: Facts, jobs: Mapping[str, Floats]) -> dict[str, Number]:
    tardiness_s = jobs["tardiness_s"]
    judged = ~np.isnan(tardiness_s)
    late = int((tardiness_s[judged] > 0).sum())
    has = bool(judged.any())
    utility = facts.scenario.workload.utility_1
    return {
        "tardiness_total": math.fsum(tardiness_s[judged]) if has else None,
        "tardiness_cost": _tardiness_usd(facts, tardiness_s),
        "late_jobs": late if has else None,
        "late_share": late / int(judged.sum()) if has else None,
        "utility_total": None if utility is None else math.fsum(jobs["utility"][~np.isnan(jobs["utility"])]),
    }


def _tardiness_usd(facts: Facts, tardiness_s: Floats) -> Number:
    jobs = facts.scenario.workload
    if jobs.due_s is None or jobs.weight_usd_per_s is None:
        return None
    usd = tardiness_s * jobs.weight_usd_per_s
    return math.fsum(usd[~np.isnan(usd)])


def _money(
    facts: Facts, jobs: Mapping[str, Floats], billed: Spans, usd: Floats | None, split: BillSplit | None
) -> dict[str, Number]:
    rejected, done = (int((facts.log.job_status == one).sum()) for one in (JobStatus.REJECTED, JobStatus.COMPLETED))
    rejection_usd = rejected * facts.scenario.options.rejection_usd
    late_usd = _tardiness_usd(facts, jobs["tardiness_s"]) or 0.0
    bill = None if usd is None else math.fsum(usd)
    return {
        "vm_cost": bill,
        "usd_per_job": None if bill is None or not done else bill / done,
        "rejection_cost": rejection_usd,
        "total_cost": None if bill is None else bill + late_usd + rejection_usd,
        "idle_cost": None if split is None else split.idle_usd,
        "spare_cost": None if split is None else split.spare_usd,
        "restart_cost": None if split is None else split.restart_usd,
        **_usd_by_kind(facts, billed, usd),
    }


def _usd_by_kind(facts: Facts, billed: Spans, usd: Floats | None) -> dict[str, Number]:
    """Return what owned, reserved, on-demand and spot nodes cost; nothing where all are owned."""
    cluster, at = facts.scenario.cluster, 0
    found: dict[str, Number] = {}
    if all(pool.terms is None for pool in cluster.pools):
        return found
    for pool in cluster.pools:
        mine = (billed.node >= at) & (billed.node < at + pool.count)
        at += pool.count
        key = f"{pool.terms.kind.replace('-', '_') if pool.terms else 'owned'}_cost"
        found[key] = None if usd is None else (found.get(key) or 0.0) + math.fsum(usd[mine])
    return found


def _use(facts: Facts, billed: Spans, usd: Floats | None) -> dict[str, Number]:
    held_s, useful_s = _held_unit_s(facts), useful_unit_s(facts)
    paid_s = _unit_s(facts, billed)
    per_hour = None if usd is None or useful_s <= 0 else math.fsum(usd) / (useful_s / SECONDS_PER_H)
    return {
        "allocation_ratio": _allocation_ratio(facts, held_s),
        "goodput": useful_s / held_s if held_s > 0 else None,
        "gpu_hours_idle": max(paid_s - held_s, 0.0) / SECONDS_PER_H,
        "usd_per_useful_gpu_h": per_hour,
        "used_of_reserved": _used_of_reserved(facts),
        "cost_month": None if usd is None else month_usd(facts, billed, usd),
    }


def _used_of_reserved(facts: Facts) -> Number:
    """Return used over reserved, the pieces' demands counted anew; a resource without a stated total counts nothing."""
    log, jobs, cluster = facts.log, facts.scenario.workload, facts.scenario.cluster
    if not log.piece_blocked.any():
        return None
    stated = {r: sum(vm_capacity(pool.vm)[r] * pool.count for pool in cluster.pools) for r in range(len(RESOURCES))}
    used, reserved = [], []
    for p, (row, workers, servers) in enumerate(zip(log.piece_row, log.piece_workers, log.piece_servers, strict=True)):
        length_s = log.piece_end_s[p] - log.piece_start_s[p]
        for r, total in stated.items():
            if 0 < total < math.inf:
                held = workers * jobs.demand[row, r] + servers * jobs.server_demand[row, r]
                used.append(held / total * length_s)
                reserved.append((held + log.piece_blocked[p, r]) / total * length_s)
    return math.fsum(used) / math.fsum(reserved) if math.fsum(reserved) > 0 else None


def _allocation_ratio(facts: Facts, held_s: float) -> Number:
    up_s = _unit_s(facts, _up(facts))
    return held_s / up_s if up_s > 0 else None


def _up(facts: Facts) -> Spans:
    """Return when nodes are up: not away, and booted where they are rented."""
    there = _spans(facts, facts.scenario.cluster.absences)
    boot_s = np.array([facts.rented[node].boot_s if node in facts.rented else 0.0 for node in there.node.tolist()])
    return there._replace(start_s=np.minimum(there.start_s + boot_s, there.end_s))


def _unit_s(facts: Facts, spans: Spans) -> float:
    return math.fsum(facts.counted_size[spans.vm] * (spans.end_s - spans.start_s))


def _paid_rounding_h(facts: Facts, billed: Spans) -> float:
    """Return by how much a difference of paid and held GPU-hours may be off."""
    return ONE_INSTANT * _unit_s(facts, billed) / SECONDS_PER_H


def _within_an_instant_usd(facts: Facts) -> float:
    """Return what shares of at most two instants cost at most: the lease under them may be that before or after."""
    lasts_s = (facts.log.piece_end_s - facts.log.piece_start_s)[facts.piece_of_share]
    short = lasts_s <= 2 * slack_s(facts.log.end_s)
    return math.fsum(lasts_s[short]) * max(vm.usd_per_h or 0.0 for vm in facts.vm_types) / SECONDS_PER_H


def _held_unit_s(facts: Facts) -> float:
    length_s = (facts.log.piece_end_s - facts.log.piece_start_s)[facts.piece_of_share]
    return math.fsum(facts.counted_held() * length_s)


def _span_usd(facts: Facts, billed: Spans) -> Floats | None:
    """Return the bill of each span; None when a billed node has no price."""
    price = np.array([np.nan if vm.usd_per_h is None else vm.usd_per_h for vm in facts.vm_types])
    hours = (billed.end_s - billed.start_s) / SECONDS_PER_H
    if facts.scenario.options.billing == "hour":
        hours = np.ceil(hours - ONE_INSTANT * np.maximum(1.0, hours))
    usd = np.asarray(hours * price[billed.vm], dtype=np.float64)
    return None if np.isnan(usd).any() else usd


def _spans(facts: Facts, absences: tuple[Absence, ...]) -> Spans:
    """Return the leases, or the window of the run on owned nodes without these absences."""
    log, cluster = facts.log, facts.scenario.cluster
    if cluster.free_slots:
        return Spans(log.lease_node, log.lease_vm, log.lease_start_s, log.lease_end_s)
    away: defaultdict[int, list[Absence]] = defaultdict(list)
    for absence in absences:
        away[absence.node].append(absence)
    always = [node for node in range(cluster.num_nodes) if node not in away and node not in facts.rented]
    rows = [(n, *gap) for n, absent in away.items() for gap in _gaps(log.start_s, log.end_s, absent)]
    rows += [(n, log.start_s, log.end_s) for n in always]
    rows += zip(log.lease_node.tolist(), log.lease_start_s.tolist(), log.lease_end_s.tolist(), strict=True)
    node = np.array([row[0] for row in rows], dtype=np.int64)
    start_s, end_s = (np.array([row[i] for row in rows], dtype=float) for i in (1, 2))
    return Spans(node, cluster.nodes.vm[node], start_s, end_s)


def _unpaid(cluster: Cluster) -> tuple[Absence, ...]:
    """Return the absences that spare the price: not of reserved nodes that fail or are maintained."""
    kinds = [pool.kind for pool in cluster.pools for _ in range(pool.count)]
    return tuple(
        absence
        for absence in cluster.absences
        if not absence.billed
        and not (kinds and kinds[absence.node] == "reserved" and absence.cause not in ("arrives", "leaves"))
    )


def _gaps(start_s: float, end_s: float, absences: list[Absence]) -> list[tuple[float, float]]:
    """Return the parts of a window that no absence covers, by counting absences up and down."""
    changes = [(start_s, 0), (end_s, 0)]
    for absence in absences:
        from_s, to_s = max(absence.start_s, start_s), min(absence.until_s, end_s)
        if to_s > from_s:
            changes += [(from_s, 1), (to_s, -1)]
    changes.sort()
    level = 0
    gaps: list[tuple[float, float]] = []
    for (time_s, step), (next_s, _) in pairwise(changes):
        level += step
        if level == 0 and next_s > time_s:
            gaps.append((gaps.pop()[0] if gaps and gaps[-1][1] == time_s else time_s, next_s))
    return gaps


# ---- comparison -------------------------------------------------------------------------------------


def _compare_metric(
    findings: Findings, metrics: Mapping[str, Any], key: str, expected: Number, rounding: float
) -> None:
    if key not in metrics:
        findings.add(np.nan, f"metric {key} is missing")
        return
    given = metrics[key]
    if not _agree(_float(given), _float(expected), rounding):
        findings.add(np.nan, f"metric {key} is {given}, recomputed from the log it is {expected}")


def _float(value: Number) -> float:
    return math.nan if value is None else float(value)


def _agree(given: Any, expected: Any, rounding: float = 0.0) -> Any:
    most = SAME_NUMBER * np.maximum(np.abs(given), np.abs(expected)) + ONE_INSTANT + rounding
    near = np.abs(given - expected) <= most
    return near | (np.isnan(given) & np.isnan(expected))


def _compare_bounds(findings: Findings, metrics: Mapping[str, Any]) -> None:
    """No number of a run is beyond its lower or upper bound."""
    for key in ("total_cost", "jct_mean", "tardiness_total", "utility_total"):
        bound, value = metrics.get(f"{key}_bound"), metrics.get(key)
        if bound is None or value is None:
            continue
        most = key == "utility_total"
        beyond = value - bound if most else bound - value
        if beyond > SAME_NUMBER * max(abs(bound), abs(value)) + ONE_INSTANT:
            where = "below" if most else "above"
            findings.add(np.nan, f"metric {key}_bound is {bound:.10g}, {where} {key} {value:.10g}")


def _compare_jobs(
    findings: Findings, facts: Facts, table: pd.DataFrame, expected: Mapping[str, Floats], rounding_usd: float
) -> None:
    jobs, log = facts.scenario.workload, facts.log
    if len(table) != len(jobs) or not (table["job_id"] == jobs.job_id).all():
        findings.add(np.nan, f"the jobs table has {len(table)} rows, not the {len(jobs)} jobs of the workload in order")
        return
    when_s = np.where(np.isnan(log.job_end_s), log.end_s, log.job_end_s)
    names = np.array([code.name.lower() for code in JobStatus], dtype=object)[log.job_status]
    status = table["status"]
    findings.flag(
        (status != names).to_numpy(dtype=bool),
        when_s,
        lambda r: f"jobs table, {facts.job(r)}: status {status.iloc[r]}, log {names[r]}",
    )
    for column, ours in expected.items():
        given = table[column].to_numpy(dtype=float)
        # A share of the bill is the difference of two sums of up to the whole bill.
        agrees = _job_agrees(given, ours, when_s)
        if column == "cost":
            agrees |= np.abs(given - ours) <= rounding_usd
        findings.flag(~agrees, when_s, _say(facts, column, given, ours))


def _job_agrees(given: Floats, ours: Floats, when_s: Floats) -> NDArray[np.bool_]:
    """Differences of large times carry the rounding of those times."""
    agrees: NDArray[np.bool_] = np.isnan(given) & np.isnan(ours)
    if not agrees.all():
        rounding = 4 * np.finfo(float).eps * np.maximum(np.abs(when_s), 1.0)
        agrees |= np.abs(given - ours) <= SAME_NUMBER * np.abs(ours) + rounding + ONE_INSTANT
    return agrees


def _say(facts: Facts, column: str, given: Floats, ours: Floats) -> Say:
    return lambda r: f"jobs table, {facts.job(r)}: {column} is {given[r]:.10g}, recomputed {ours[r]:.10g}"


def _compare_nodes(findings: Findings, facts: Facts, table: pd.DataFrame, billed: Spans, usd: Floats) -> None:
    """The nodes table bills each node what it costs; on rented slots, each lease with its machine type."""
    cost, node = table["cost"].to_numpy(dtype=float), table["node"].to_numpy(dtype=np.int64)
    nodes = facts.scenario.cluster.num_nodes
    given = np.bincount(node, weights=cost, minlength=nodes)
    ours = np.bincount(billed.node, weights=usd, minlength=nodes)
    for place in np.flatnonzero(~_agree(given, ours)):
        findings.add(np.nan, f"nodes table, node {place}: cost {given[place]:.10g}, recomputed {ours[place]:.10g}")
    if not facts.scenario.cluster.free_slots:
        return
    if len(table) != len(billed.node):
        findings.add(np.nan, f"the nodes table has {len(table)} rows, but the log has {len(billed.node)} leases")
        return
    theirs = np.lexsort((table["start_s"].to_numpy(dtype=float), node))
    mine = np.lexsort((billed.start_s, billed.node))
    names = np.array([vm.name for vm in facts.vm_types], dtype=object)[billed.vm[mine]]
    wrong = table["vm_type"].to_numpy(dtype=object)[theirs] != names
    wrong |= ~_agree(cost[theirs], usd[mine])
    for column, times_s in (("start_s", billed.start_s), ("end_s", billed.end_s)):
        wrong |= ~_agree(table[column].to_numpy(dtype=float)[theirs], times_s[mine])
    findings.flag(
        wrong,
        billed.start_s[mine],
        lambda i: (
            f"nodes table: the lease of node {billed.node[mine][i]} differs from the log's {names[i]} "
            f"for {usd[mine][i]:.10g}"
        ),
    )
