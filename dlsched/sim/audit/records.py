"""Rules about leases, decisions and recorded waits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.plan import STATUSES
from dlsched.domain.workload import Floats
from dlsched.sim.audit.facts import Facts, slack_s
from dlsched.sim.audit.findings import Findings

PROOF = 1e-4
"""Objective and bound of an optimal decision are at most PROOF x max(1, |bound|) apart.

Ten times the loosest proof of a family (1e-5, ModelArts), because a decision may be the sum of several proofs, one for
each group of jobs that share machines, and where their bounds are small the limit does not grow with their number.
"""


def check_leases(facts: Facts, findings: Findings) -> None:
    """Leases belong to rented slots or nodes, have a length, do not overlap; those of slots start at a decision."""
    log, cluster = facts.log, facts.scenario.cluster
    node, start_s, end_s = log.lease_node, log.lease_start_s, log.lease_end_s
    if not cluster.free_slots:
        fixed = ~np.isin(node, list(facts.rented))
        findings.flag(fixed, start_s, lambda i: f"node {node[i]} is fixed and cannot be leased")
        vm = cluster.nodes.vm[node]
        findings.flag(
            log.lease_vm != vm,
            start_s,
            lambda i: f"the lease of node {node[i]} is of VM type {log.lease_vm[i]}, but the node is of type {vm[i]}",
        )
    findings.flag(end_s <= start_s, start_s, lambda i: f"the lease of node {node[i]} has no positive length")
    findings.flag(
        (start_s < log.start_s - slack_s(start_s)) | (end_s > log.end_s + slack_s(end_s)),
        start_s,
        lambda i: f"the lease of node {node[i]} until {end_s[i]:.10g} s is outside the run",
    )
    order = np.lexsort((start_s, node))
    overlaps = np.zeros(len(node), dtype=bool)
    early = start_s[order[1:]] < end_s[order[:-1]] - slack_s(start_s[order[1:]])
    overlaps[order[1:]] = early & (node[order[1:]] == node[order[:-1]])
    findings.flag(overlaps, start_s, lambda i: f"the lease of node {node[i]} overlaps the one before it on that node")
    if not cluster.free_slots:
        return
    findings.flag(
        ~_among(start_s, log.decision_s),
        start_s,
        lambda i: f"the lease of node {node[i]} begins without a decision at that time",
    )
    _check_one_lease_each(facts, findings)


def _check_one_lease_each(facts: Facts, findings: Findings) -> None:
    """A change of the VM type ends the pieces on it: no piece outlives the lease it started on."""
    log, owner = facts.log, facts.piece_of_share
    if not log.lease_node.size or not log.share_node.size:
        return
    start_s, end_s = log.piece_start_s[owner], log.piece_end_s[owner]
    lease = facts.lease_at(log.share_node, start_s)
    findings.flag(
        (lease >= 0) & (end_s > log.lease_end_s[lease] + slack_s(end_s)) & (log.lease_end_s[lease] > start_s),
        np.where(lease >= 0, log.lease_end_s[lease], start_s),
        lambda s: f"{facts.piece(owner[s])} outlives the lease of node {log.share_node[s]} it started on",
    )


def check_decisions(facts: Facts, findings: Findings) -> None:
    """Decisions are in order of time and within the run."""
    time_s, log = facts.log.decision_s, facts.log
    findings.flag(
        time_s[1:] < time_s[:-1] - slack_s(time_s[1:]),
        time_s[1:],
        lambda d: f"decision {d + 1} comes after one at {time_s[d]:.10g} s",
    )
    findings.flag(
        (time_s < log.start_s - slack_s(time_s)) | (time_s > log.end_s + slack_s(time_s)),
        time_s,
        lambda d: f"decision {d} is outside the run from {log.start_s:.10g} to {log.end_s:.10g} s",
    )


def check_answers(facts: Facts, findings: Findings) -> None:
    """What a decision says of itself is a known status, with the numbers that the status needs.

    Some policies minimise and some maximise, and the log does not say which, so the side of its bound on which an
    objective lies is not judged.
    """
    time_s, log = facts.log.decision_s, facts.log
    status, objective, bound = log.decision_status, log.decision_objective, log.decision_bound
    has_value, has_both = np.isfinite(objective), np.isfinite(objective) & np.isfinite(bound)
    with np.errstate(over="ignore"):  # two of the largest numbers are infinitely far apart, which is right
        apart = np.abs(np.where(has_both, objective, 0.0) - np.where(has_both, bound, 0.0))
    optimal, feasible, unknown = np.zeros((3, len(status)), dtype=bool)
    said = np.flatnonzero(status != "")  # most policies say nothing, a million times
    optimal[said], feasible[said] = status[said] == "optimal", status[said] == "feasible"
    unknown[said] = ~np.isin(status[said], STATUSES)
    findings.flag(
        unknown,
        time_s,
        lambda d: f"decision {d} has the status {status[d]!r}; known are {', '.join(map(repr, STATUSES))}",
    )
    findings.flag(
        (optimal & ~has_both) | (feasible & ~has_value),
        time_s,
        lambda d: (
            f"decision {d} is called {status[d]} with objective {objective[d]:.10g} and bound {bound[d]:.10g}: "
            f"{'both' if optimal[d] else 'the objective'} must be finite"
        ),
    )
    findings.flag(
        np.isnan(objective) & ~np.isnan(bound) & ~optimal & ~feasible,
        time_s,
        lambda d: f"decision {d} has the bound {bound[d]:.10g} of an objective that is missing",
    )
    findings.flag(
        optimal & (apart > PROOF * np.maximum(1.0, np.abs(bound))),
        time_s,
        lambda d: (
            f"decision {d} is called optimal, but its objective {objective[d]:.10g} and its bound {bound[d]:.10g} are "
            f"{apart[d]:.3g} apart: more than {PROOF:g} of the bound, or of 1"
        ),
    )


def check_waits(facts: Facts, findings: Findings) -> None:
    """A recorded reason belongs to a job that waits then."""
    log, jobs = facts.log, facts.scenario.workload
    row, from_s = log.wait_row, log.wait_from_s
    findings.flag(
        from_s < jobs.submit_s[row] - slack_s(from_s),
        from_s,
        lambda w: f"{facts.job(row[w])} is said to wait before its submission at {jobs.submit_s[row[w]]:.10g} s",
    )
    findings.flag(
        from_s > log.job_end_s[row] + slack_s(from_s),
        from_s,
        lambda w: f"{facts.job(row[w])} is said to wait after its end at {log.job_end_s[row[w]]:.10g} s",
    )
    running = facts.piece_at(row, from_s)
    runs = running >= 0
    if runs.any():  # told at the very instant at which a later pass starts the job, it waited for no time
        runs &= log.piece_end_s[running] > from_s + slack_s(from_s)
        runs &= log.piece_start_s[running] < from_s - slack_s(from_s)
    findings.flag(
        runs,
        from_s,
        lambda w: f"{facts.piece(running[w])} runs while the job is said to wait",
    )


def _among(time_s: Floats, others_s: Floats) -> NDArray[np.bool_]:
    """Return which times are, to within one instant, among others."""
    if not others_s.size:
        return np.zeros(len(time_s), dtype=bool)
    others_s = np.sort(others_s)
    right = np.minimum(np.searchsorted(others_s, time_s), len(others_s) - 1)
    gap_s = np.minimum(np.abs(others_s[right] - time_s), np.abs(others_s[np.maximum(right - 1, 0)] - time_s))
    near: NDArray[np.bool_] = gap_s <= slack_s(time_s)
    return near
