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
    log, rule = facts.log, facts.scenario.cluster.scaling or Scaling()
    least = np.array([facts.rented[node].min_nodes for node in log.lease_node.tolist()])
    at_s = log.lease_start_s
    waiting, running = _waiting_at(facts, at_s, rule.wait_s), _running_at(facts, at_s)
    enough = (waiting >= rule.queue_length) | ((waiting > 0) & (running == 0))
    findings.flag(
        (_leased_at(facts, at_s) > least) & ~enough,
        at_s,
        lambda i: f"{_lease(facts, i)} begins though fewer than {rule.queue_length} jobs have waited {rule.wait_s:g} s",
    )


def _waiting_at(facts: Facts, time_s: Floats, wait_s: float) -> Ints:
    """Return how many jobs have waited for so long at each time.

    A job waits from its submission, and from the end of each piece, to the start of its next one or its own end. One
    that starts at that very instant, on a node that boots in no time, waited.
    """
    log, jobs = facts.log, facts.scenario.workload
    row = np.concatenate([np.arange(len(jobs)), log.piece_row])
    start_s = np.concatenate([np.full(len(jobs), -np.inf), log.piece_start_s])
    in_order = np.lexsort((start_s, row))
    row, start_s = row[in_order], start_s[in_order]
    long_enough_s = np.concatenate([jobs.submit_s, log.piece_end_s])[in_order] + wait_s
    next_s = np.append(np.where(row[1:] == row[:-1], start_s[1:], np.inf), np.inf)
    over_s = np.minimum(next_s, np.where(np.isnan(log.job_end_s), np.inf, log.job_end_s)[row])
    counts = over_s >= long_enough_s - 4 * slack_s(long_enough_s)
    return _under_way(long_enough_s[counts], over_s[counts], time_s, 2 * slack_s(time_s))


def _running_at(facts: Facts, time_s: Floats) -> Ints:
    """Return how many jobs run at each time, without those that start or end at that very instant."""
    from_s, to_s = facts.log.piece_start_s, facts.log.piece_end_s
    counts = to_s - from_s > 4 * slack_s(to_s)
    return _under_way(from_s[counts], to_s[counts], time_s, -2 * slack_s(time_s))


def _under_way(from_s: Floats, to_s: Floats, time_s: Floats, slack: Floats | float) -> Ints:
    """Return how many of the spans hold each time, taken as longer by ``slack`` at both ends; below 0 as shorter."""
    begun = np.searchsorted(np.sort(from_s), time_s + slack, side="right")
    return begun - np.searchsorted(np.sort(to_s), time_s - slack, side="right")


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
        after_s = time_s[here] + 2 * slack_s(time_s[here])
        found[here] = _under_way(log.lease_start_s[here], log.lease_end_s[here], after_s, 0.0)
    return found


def _lease(facts: Facts, i: int) -> str:
    log = facts.log
    return f"the lease of node {log.lease_node[i]} from {log.lease_start_s[i]:.10g} to {log.lease_end_s[i]:.10g} s"
