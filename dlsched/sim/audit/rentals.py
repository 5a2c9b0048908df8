"""Rules about nodes that are rented as jobs need them, worked out again from the leases of the log."""

from __future__ import annotations

import numpy as np

from dlsched.domain.cluster import Scaling
from dlsched.domain.workload import Floats, Ints
from dlsched.sim.audit.facts import Facts, slack_s
from dlsched.sim.audit.findings import Findings


def check_rentals(facts: Facts, findings: Findings) -> None:
    """Nodes are rented for jobs that wait, given back when idle long enough, and taken back when the truth says so.

    The leases themselves must have passed :func:`dlsched.sim.audit.records.check_leases`.
    """
    if not facts.log.lease_node.size or not all(node in facts.rented for node in facts.log.lease_node.tolist()):
        return
    _check_taken_back(facts, findings)
    _check_given_back(facts, findings)
    _check_idle(facts, findings)
    _check_wanted(facts, findings)


def _check_taken_back(facts: Facts, findings: Findings) -> None:
    log, at_s = facts.log, facts.evicted_s
    findings.flag(
        log.lease_end_s > at_s + slack_s(log.lease_end_s),
        log.lease_start_s,
        lambda i: f"{_lease(facts, i)} goes on, though the node is taken back at {at_s[i]:.10g} s",
    )
    in_outage = np.zeros(len(at_s), dtype=bool)
    for lease, node in enumerate(log.lease_node.tolist()):
        from_s = log.lease_start_s[lease]
        in_outage[lease] = any(
            one.start_s <= from_s < one.end_s - slack_s(from_s) for one in facts.rented[node].outages
        )
    findings.flag(
        in_outage, log.lease_start_s, lambda i: f"{_lease(facts, i)} begins in an outage, in which there are none"
    )


def _check_given_back(facts: Facts, findings: Findings) -> None:
    """A lease that ends before the run, and is not taken back, was idle for its timeout, and its pool keeps enough."""
    log = facts.log
    idle_s = log.lease_end_s - _last_busy_s(facts)
    timeout_s = np.array([facts.rented[node].idle_timeout_s for node in log.lease_node.tolist()])
    given_back = log.lease_end_s < log.end_s - slack_s(log.end_s)
    given_back &= log.lease_end_s < facts.evicted_s - slack_s(log.lease_end_s)
    findings.flag(
        given_back & (idle_s < timeout_s - 2 * slack_s(log.lease_end_s)),
        log.lease_end_s,
        lambda i: f"{_lease(facts, i)} is given back after {idle_s[i]:.10g} s without a job, not {timeout_s[i]:.10g} s",
    )
    kept = _leased_at(facts, log.lease_end_s)
    least = np.array([facts.rented[node].min_nodes for node in log.lease_node.tolist()])
    findings.flag(
        given_back & (kept < least),
        log.lease_end_s,
        lambda i: f"{_lease(facts, i)} is given back, which leaves {kept[i]} nodes of its pool, fewer than {least[i]}",
    )


def _check_idle(facts: Facts, findings: Findings) -> None:
    """No node is idle for longer than its timeout, unless for a minimum, or for nodes that boot for the same job.

    Nodes that are requested while nothing runs may all stay until a job starts.
    """
    log = facts.log
    terms = [facts.rented[node] for node in log.lease_node.tolist()]
    starts_s = np.sort(log.lease_start_s)
    last_start_s = starts_s[np.searchsorted(starts_s, log.lease_end_s, side="left") - 1]
    booted_s = last_start_s + max(one.boot_s for one in facts.rented.values())
    kept_s = np.maximum(_last_busy_s(facts), booted_s)
    if len(log.piece_row):
        piece_starts_s, piece_ends_s = np.sort(log.piece_start_s), np.sort(log.piece_end_s)
        after = np.searchsorted(piece_starts_s, last_start_s, side="left")
        none_runs = after == np.searchsorted(piece_ends_s, last_start_s + slack_s(last_start_s), side="right")
        next_s = np.append(piece_starts_s, log.end_s)[after]
        kept_s = np.where(none_runs, np.maximum(kept_s, next_s), kept_s)
    idle_s = log.lease_end_s - kept_s
    most_s = np.array([one.idle_timeout_s for one in terms])
    no_minimum = np.array([one.min_nodes == 0 for one in terms])
    findings.flag(
        no_minimum & (idle_s > most_s + 2 * slack_s(log.lease_end_s)),
        log.lease_end_s,
        lambda i: f"{_lease(facts, i)} has no job in its last {idle_s[i]:.10g} s, more than {most_s[i]:.10g} s",
    )


def _check_wanted(facts: Facts, findings: Findings) -> None:
    """A node is requested for jobs that have waited long enough, or so that its pool has its minimum."""
    log, jobs = facts.log, facts.scenario.workload
    rule = facts.scenario.cluster.scaling or Scaling()
    least = np.array([facts.rented[node].min_nodes for node in log.lease_node.tolist()])
    wanted = _leased_at(facts, log.lease_start_s) <= least
    rows = np.arange(len(jobs))
    for at_s in np.unique(log.lease_start_s[~wanted]):
        slack = 2 * slack_s(at_s)
        runs, since_s = np.zeros(len(rows), dtype=bool), jobs.submit_s
        if len(log.piece_row):  # a job that starts on the node at this very instant, which boots in no time, waited
            piece = facts.piece_at(rows, np.full(len(rows), at_s - slack))
            runs = (piece >= 0) & (log.piece_end_s[piece] > at_s + slack)
            since_s = np.where(piece >= 0, log.piece_end_s[piece], since_s)
        waits = ~runs & (since_s <= at_s - rule.wait_s + slack) & ~(log.job_end_s < at_s - slack)
        enough = waits.sum() >= rule.queue_length or (waits.any() and not runs.any())
        wanted |= enough & (np.abs(log.lease_start_s - at_s) <= slack)
    findings.flag(
        ~wanted,
        log.lease_start_s,
        lambda i: f"{_lease(facts, i)} begins though fewer than {rule.queue_length} jobs have waited {rule.wait_s:g} s",
    )


def _last_busy_s(facts: Facts) -> Floats:
    """Return when the last share of each lease ended, shape (leases,); the end of the boot where there was none."""
    log, owner = facts.log, facts.piece_of_share
    boot_s = np.array([facts.rented[node].boot_s for node in log.lease_node.tolist()])
    busy_s = log.lease_start_s + boot_s
    if log.share_node.size:
        lease = facts.lease_at(log.share_node, log.piece_start_s[owner])
        np.maximum.at(busy_s, lease[lease >= 0], log.piece_end_s[owner][lease >= 0])
    return np.asarray(np.minimum(busy_s, log.lease_end_s))


def _leased_at(facts: Facts, time_s: Floats) -> Ints:
    """Return how many nodes of the same pool each lease is one of right after a time of it, shape (leases,)."""
    log = facts.log
    counts = [pool.count for pool in facts.scenario.cluster.pools]
    pool = np.repeat(np.arange(len(counts)), counts)[log.lease_node]
    found = np.zeros(len(pool), dtype=np.int64)
    for number in np.unique(pool):
        here = np.flatnonzero(pool == number)
        shift = 2 * slack_s(time_s[here])
        begun = np.searchsorted(np.sort(log.lease_start_s[here]), time_s[here] + shift, side="right")
        over = np.searchsorted(np.sort(log.lease_end_s[here]), time_s[here] + shift, side="right")
        found[here] = begun - over
    return found


def _lease(facts: Facts, i: int) -> str:
    log = facts.log
    return f"the lease of node {log.lease_node[i]} from {log.lease_start_s[i]:.10g} to {log.lease_end_s[i]:.10g} s"
