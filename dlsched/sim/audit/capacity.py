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

    ``used`` and ``capacity`` have shape (events, resources); ``shares`` counts shares on the node;
    ``away`` says whether it is absent, ``vm`` which type it has (-1 = none).
    """

    node: Ints
    time_s: Floats
    until_s: Floats
    used: Floats
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
    capacity = facts.vm_capacity[sweep.vm]
    limit = capacity + SAME_NUMBER * np.maximum(1.0, np.where(np.isfinite(capacity), capacity, 0.0))
    for r, resource in enumerate(RESOURCES):
        over = lasting & ~gone & (sweep.used[:, r] > limit[:, r])
        findings.flag(over, sweep.time_s, _say_over(facts, sweep, capacity, r, resource))


def _say_over(facts: Facts, sweep: NodeSweep, capacity: Floats, r: int, resource: str) -> Say:
    return lambda e: (
        f"node {sweep.node[e]} holds {sweep.used[e, r]:.10g} {resource}, but its capacity is {capacity[e, r]:.10g} "
        f"({_who(facts, sweep, e)})"
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
    owner, held = facts.piece_of_share[mine], facts.held(mine)
    shares = len(mine)
    off_node, off_s, off_change = _absence_events(a for a in facts.absences if first <= a.node <= last)
    leased = cluster.free_slots
    lease = np.flatnonzero((log.lease_node >= first) & (log.lease_node <= last) & leased)
    leases = len(lease)
    node = np.concatenate(
        [log.share_node[mine], log.share_node[mine], off_node, log.lease_node[lease], log.lease_node[lease]]
    )
    time_s = np.concatenate(
        [log.piece_start_s[owner], log.piece_end_s[owner], off_s, log.lease_start_s[lease], log.lease_end_s[lease]]
    )
    order = np.lexsort((time_s, node))
    change = np.zeros((len(node), held.shape[1] + 3))
    change[:shares, :-3], change[shares : 2 * shares, :-3] = held, -held
    change[:shares, -3], change[shares : 2 * shares, -3] = 1, -1
    change[2 * shares : 2 * shares + len(off_node), -2] = off_change
    if leases:
        change[-2 * leases : -leases, -1] = log.lease_vm[lease] + 1
        change[-leases:, -1] = -(log.lease_vm[lease] + 1)
    node, time_s = node[order], time_s[order]
    level = _running_sum(change[order], node)
    until_s = np.append(np.where(node[1:] == node[:-1], time_s[1:], np.inf), np.inf)
    vm = np.rint(level[:, -1]).astype(np.int64) - 1 if leased else cluster.nodes.vm[node]
    counts = np.rint(level[:, -3:-1]).astype(np.int64)
    vm = np.where((vm >= 0) & (vm < len(facts.vm_types)), vm, -1)
    return NodeSweep(node, time_s, until_s, level[:, :-3], counts[:, 0], counts[:, 1], vm)


def _running_sum(change: Floats, node: Ints) -> Floats:
    """Return running sums that restart at each node, so that rounding cannot travel far."""
    total = np.cumsum(change, axis=0)
    first = np.flatnonzero(np.append(True, node[1:] != node[:-1]))
    carried = np.where(first[:, None] > 0, total[first - 1], 0.0)
    level: Floats = total - np.repeat(carried, np.diff(np.append(first, len(node))), axis=0)
    return level


def _absence_events(absences: Iterable[Absence]) -> tuple[Ints, Floats, Ints]:
    """Return node, time and +1 or -1 for every start and end of an absence."""
    rows = [(a.node, time_s, sign) for a in absences for time_s, sign in ((a.start_s, 1), (a.until_s, -1))]
    rows = [row for row in rows if np.isfinite(row[1])]
    node, time_s, change = zip(*rows, strict=True) if rows else ((), (), ())
    return np.array(node, dtype=np.int64), np.array(time_s, dtype=float), np.array(change, dtype=np.int64)
