"""Capacity of every node at every instant, by a sweep over sorted events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from dlsched.domain.cluster import Absence
from dlsched.domain.workload import RESOURCES, Floats, Ints
from dlsched.sim.audit.facts import SAME_NUMBER, Facts, slack_s
from dlsched.sim.audit.findings import Findings, Say

_SHARES_AT_ONCE = 100_000
"""A sweep takes about 300 bytes for each share: long runs are swept a few nodes at a time."""


class NodeSweep(NamedTuple):
    """State of a node from ``time_s`` to ``until_s``, one entry per event, sorted by node and time.

    ``used`` has an entry for each event by resource, of those that some machine limits; ``shares`` counts shares on the
    node; ``away`` says whether it is absent, ``vm`` which type it has (-1 = none).
    """

    node: Ints
    time_s: Floats
    until_s: Floats
    used: dict[int, Floats]
    shares: Ints
    away: Ints
    vm: Ints


def check_capacity(facts: Facts, findings: Findings) -> None:
    """No node holds more than it has at any instant, and nothing runs on a node that is down."""
    shares_of = np.bincount(facts.log.share_node)
    group_of = np.cumsum(shares_of) // _SHARES_AT_ONCE
    for group in np.unique(group_of[shares_of > 0]):
        nodes = np.flatnonzero(group_of == group)
        _check_nodes(facts, _sweep(facts, int(nodes[0]), int(nodes[-1])), findings)


def _check_nodes(facts: Facts, sweep: NodeSweep, findings: Findings) -> None:
    lasting = sweep.until_s - sweep.time_s > slack_s(sweep.time_s)
    gone = lasting & (sweep.shares > 0) & ((sweep.away > 0) | (sweep.vm < 0))
    findings.flag(
        gone, sweep.time_s, lambda e: f"{_who(facts, sweep, e)} on node {sweep.node[e]}, {_why_gone(sweep, e)}"
    )
    capacity = facts.vm_capacity
    limit = capacity + SAME_NUMBER * np.maximum(1.0, np.where(np.isfinite(capacity), capacity, 0.0))
    for r, used in sweep.used.items():
        over = lasting & ~gone & (used > limit[sweep.vm, r])
        findings.flag(over, sweep.time_s, _say_over(facts, sweep, r))


def _say_over(facts: Facts, sweep: NodeSweep, r: int) -> Say:
    return lambda e: (
        f"node {sweep.node[e]} holds {sweep.used[r][e]:.10g} {RESOURCES[r]}, but its capacity is "
        f"{facts.vm_capacity[sweep.vm[e], r]:.10g} ({_who(facts, sweep, e)})"
    )


def _why_gone(sweep: NodeSweep, e: int) -> str:
    return "which is absent" if sweep.away[e] > 0 else "a slot without a VM"


def _who(facts: Facts, sweep: NodeSweep, e: int) -> str:
    """Return the jobs on the node right after an event."""
    log, owner = facts.log, facts.piece_of_share
    here = owner[log.share_node == sweep.node[e]]
    moment = 0.5 * (sweep.time_s[e] + min(sweep.until_s[e], log.end_s))
    running = here[(log.piece_start_s[here] <= moment) & (log.piece_end_s[here] > moment)]
    rows = np.unique(log.piece_row[running])
    return ", ".join(facts.job(int(row)) for row in rows[:4]) + (" and more" if rows.size > 4 else "")


def _sweep(facts: Facts, first: int, last: int) -> NodeSweep:
    """Return the sweep over nodes ``first`` to ``last``."""
    log, cluster = facts.log, facts.scenario.cluster
    mine = np.flatnonzero((log.share_node >= first) & (log.share_node <= last))
    owner = facts.piece_of_share[mine]
    shares = len(mine)
    off_node, off_s, off_change = _absence_events(a for a in facts.absences if first <= a.node <= last)
    lease = np.flatnonzero((log.lease_node >= first) & (log.lease_node <= last) & cluster.free_slots)
    node = np.concatenate(
        [log.share_node[mine], log.share_node[mine], off_node, log.lease_node[lease], log.lease_node[lease]]
    )
    time_s = np.concatenate(
        [log.piece_start_s[owner], log.piece_end_s[owner], off_s, log.lease_start_s[lease], log.lease_end_s[lease]]
    )
    by_time = np.argsort(time_s)
    number = (node - first).astype(np.min_scalar_type(last - first))  # small numbers are sorted in linear time
    order = by_time[np.argsort(number[by_time], kind="stable")]
    node, time_s = node[order], time_s[order]
    begins = np.flatnonzero(np.append(True, node[1:] != node[:-1]))
    events = np.diff(np.append(begins, len(node)))

    def level(change: Floats | Ints, first: int) -> Floats:
        """Return the running sum of the changes of events from ``first`` on; rounding stays on its node."""
        of_event = np.zeros(len(order))
        of_event[first : first + len(change)] = change
        total = np.cumsum(of_event[order])
        return np.asarray(total - np.repeat(np.where(begins > 0, total[begins - 1], 0.0), events))

    limited = np.flatnonzero(np.isfinite(facts.vm_capacity[:-1]).any(axis=0))
    used = {}
    for resource in limited.tolist():
        held = facts.held_of(resource, mine)
        used[resource] = level(np.concatenate([held, -held]), 0)
    here = level(np.repeat([1, -1], shares), 0)
    away = level(off_change, 2 * shares)
    until_s = np.append(np.where(node[1:] == node[:-1], time_s[1:], np.inf), np.inf)
    vm = cluster.nodes.vm[node]
    if cluster.free_slots:
        there = log.lease_vm[lease] + 1
        vm = np.rint(level(np.concatenate([there, -there]), 2 * shares + len(off_node))).astype(np.int64) - 1
    vm = np.where((vm >= 0) & (vm < len(facts.vm_types)), vm, -1)
    return NodeSweep(node, time_s, until_s, used, np.rint(here).astype(np.int64), np.rint(away).astype(np.int64), vm)


def _absence_events(absences: Iterable[Absence]) -> tuple[Ints, Floats, Ints]:
    """Return node, time and +1 or -1 for every start and end of an absence."""
    rows = [(a.node, time_s, sign) for a in absences for time_s, sign in ((a.start_s, 1), (a.until_s, -1))]
    rows = [row for row in rows if np.isfinite(row[1])]
    node, time_s, change = zip(*rows, strict=True) if rows else ((), (), ())
    return np.array(node, dtype=np.int64), np.array(time_s, dtype=float), np.array(change, dtype=np.int64)
