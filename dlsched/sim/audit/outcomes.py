"""Rules about jobs and the run as a whole: how jobs end, how pieces end, when the run ends."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.workload import Floats
from dlsched.sim.audit.facts import JOINED_PART, Facts, slack_s
from dlsched.sim.audit.findings import Findings, Say
from dlsched.sim.audit.slurm_limits import all_beyond_limits
from dlsched.sim.log import JobStatus, PieceEnd

LAST_PIECE = {
    JobStatus.COMPLETED: PieceEnd.COMPLETED,
    JobStatus.FAILED: PieceEnd.FAILED,
}
ENDS_OF_JOBS = (PieceEnd.COMPLETED, PieceEnd.CANCELLED, PieceEnd.FAILED, PieceEnd.RUN_ENDED)


def check_jobs(facts: Facts, findings: Findings) -> None:
    """Starts and ends of jobs follow from their pieces and from the truth."""
    _check_first_starts(facts, findings)
    _check_ends(facts, findings)
    _check_against_truth(facts, findings)


def _check_first_starts(facts: Facts, findings: Findings) -> None:
    log = facts.log
    first_s = np.full(len(log.job_status), np.inf)
    np.minimum.at(first_s, log.piece_row, log.piece_start_s)
    ran = np.isfinite(first_s)
    logged_s = log.job_first_start_s
    wrong = np.where(ran, ~(np.abs(logged_s - first_s) <= slack_s(first_s)), ~np.isnan(logged_s))
    findings.flag(
        wrong.astype(bool),
        np.where(ran, first_s, logged_s),
        lambda row: (
            f"{facts.job(row)} has first start {logged_s[row]:.10g} s, its first piece "
            + (f"starts at {first_s[row]:.10g} s" if ran[row] else "does not exist")
        ),
    )


def _check_ends(facts: Facts, findings: Findings) -> None:
    log, jobs = facts.log, facts.scenario.workload
    end_s, last = log.job_end_s, facts.last_piece
    unfinished = log.job_status == JobStatus.UNFINISHED
    when_s = np.where(np.isnan(end_s), log.end_s, end_s)
    findings.flag(
        np.isnan(end_s) != unfinished,
        when_s,
        lambda row: f"{facts.job(row)} is {_status(facts, row)}, but its end is {end_s[row]:.10g} s",
    )
    findings.flag(
        end_s < jobs.submit_s - slack_s(jobs.submit_s),
        when_s,
        lambda row: f"{facts.job(row)} ends before its submission at {jobs.submit_s[row]:.10g} s",
    )
    findings.flag(
        (end_s < log.start_s) | (end_s > log.end_s + slack_s(when_s)),
        when_s,
        lambda row: f"{facts.job(row)} ends outside the run, which ends at {log.end_s:.10g} s",
    )
    for status, piece_end in LAST_PIECE.items() if len(log.piece_row) else ():
        rows = (log.job_status == status) & (last >= 0)
        findings.flag(
            rows & ~(np.abs(log.piece_end_s[last] - end_s) <= slack_s(when_s)),
            when_s,
            lambda row: (
                f"{facts.job(row)} is {_status(facts, row)} at {end_s[row]:.10g} s, but its last piece ends at "
                f"{log.piece_end_s[last[row]]:.10g} s"
            ),
        )
        findings.flag(
            rows & (log.piece_end[last] != piece_end),
            when_s,
            lambda row: (
                f"{facts.job(row)} is {_status(facts, row)}, but its last piece ends as {_end(facts, last[row])}"
            ),
        )


def _check_against_truth(facts: Facts, findings: Findings) -> None:
    log, truth, status = facts.log, facts.truth, facts.log.job_status
    end_s = np.where(np.isnan(log.job_end_s), log.end_s, log.job_end_s)
    for code, is_bug, what in (
        (JobStatus.COMPLETED, True, "completed although it has a bug and must fail"),
        (JobStatus.FAILED, False, "failed although it has no bug"),
    ):
        findings.flag((status == code) & (truth.is_bug == is_bug), end_s, _say(facts, what))
    cancelled = status == JobStatus.CANCELLED
    findings.flag(
        cancelled & ~(np.abs(end_s - truth.cancel_s) <= slack_s(end_s)),
        end_s,
        lambda row: (
            f"{facts.job(row)} is cancelled at {end_s[row]:.10g} s, its user cancels it at {truth.cancel_s[row]:.10g} s"
        ),
    )
    findings.flag(
        ~cancelled & (end_s > truth.cancel_s + slack_s(end_s)),
        np.minimum(truth.cancel_s, end_s),
        lambda row: (
            f"{facts.job(row)} is {_status(facts, row)} although its user cancelled it at {truth.cancel_s[row]:.10g} s"
        ),
    )


def _say(facts: Facts, what: str) -> Say:
    return lambda row: f"{facts.job(row)} {what}"


def check_piece_ends(facts: Facts, findings: Findings) -> None:
    """Why a piece ended agrees with what came after it, with the job and with the nodes."""
    log, after = facts.log, facts.following
    final = np.isin(log.piece_end, ENDS_OF_JOBS)
    findings.flag(
        final & (after >= 0),
        log.piece_end_s,
        lambda p: f"{facts.piece(p)} ends as {_end(facts, p)}, but the job runs again",
    )
    expected = np.array([{PieceEnd.CANCELLED: JobStatus.CANCELLED}.get(e, _job_status(e)) for e in PieceEnd])
    status = expected[log.piece_end]
    findings.flag(
        final & (log.job_status[log.piece_row] != status),
        log.piece_end_s,
        lambda p: f"{facts.piece(p)} ends as {_end(facts, p)}, but the job is {_status(facts, log.piece_row[p])}",
    )
    findings.flag(
        (log.piece_end == PieceEnd.RUN_ENDED) & (np.abs(log.piece_end_s - log.end_s) > slack_s(log.end_s)),
        log.piece_end_s,
        lambda p: f"{facts.piece(p)} ends with the run, which ends at {log.end_s:.10g} s",
    )
    _check_changes(facts, findings)
    _check_lost_nodes(facts, findings)


def _job_status(end: PieceEnd) -> JobStatus:
    return {
        PieceEnd.COMPLETED: JobStatus.COMPLETED,
        PieceEnd.FAILED: JobStatus.FAILED,
    }.get(end, JobStatus.UNFINISHED)


def _check_changes(facts: Facts, findings: Findings) -> None:
    """Resized, moved and VM-changed pieces go on at once, and differ as they say; at the run's end nothing follows."""
    log, after = facts.log, facts.following
    goes_on = (after >= 0) & facts.joined[after]
    same_width = (log.piece_workers == log.piece_workers[after]) & (log.piece_servers == log.piece_servers[after])
    same_shares = facts.same_shares[after]
    at_run_end = (after < 0) & (log.piece_end_s >= log.end_s - slack_s(log.end_s))
    fits: dict[PieceEnd, NDArray[np.bool_]] = {
        PieceEnd.RESIZED: ~same_width,
        PieceEnd.MOVED: same_width & ~same_shares,
        PieceEnd.VM_CHANGED: same_shares & facts.scenario.cluster.free_slots,
    }
    for end, agrees in fits.items():
        findings.flag(
            (log.piece_end == end) & ~(goes_on & agrees) & ~at_run_end,
            log.piece_end_s,
            lambda p: f"{facts.piece(p)} ends as {_end(facts, p)}, but what follows is not that",
        )


def _check_lost_nodes(facts: Facts, findings: Findings) -> None:
    """A piece ends with its node exactly when the node goes; a reservation may take it off just before it does.

    Ends that lie further from it than the engine joins may be an instant of their own.
    """
    log, absences = facts.log, facts.scenario.cluster.absences
    evicted = [(node, at_s) for node, at_s, _ in facts.evictions]
    slack = slack_s(log.piece_end_s)
    apart_s = _apart_from_a_node_that_goes(
        facts, [*((absence.node, absence.start_s) for absence in absences), *evicted]
    )
    planned_s = _apart_from_a_node_that_goes(facts, [(one.node, one.start_s) for one in absences if one.planned])
    as_planned = (planned_s <= slack) & np.isin(log.piece_end, (PieceEnd.PREEMPTED, PieceEnd.OVERRUN))
    lost = log.piece_end == PieceEnd.NODE_LOST
    findings.flag(
        lost & ~(apart_s <= slack),
        log.piece_end_s,
        lambda p: f"{facts.piece(p)} ends as node_lost, but none of its nodes goes away then",
    )
    spared = (apart_s <= JOINED_PART * slack) & ~lost & ~as_planned & ~np.isin(log.piece_end, (*ENDS_OF_JOBS,))
    findings.flag(
        spared,
        log.piece_end_s,
        lambda p: f"{facts.piece(p)} ends as {_end(facts, p)}, but one of its nodes goes away then (node_lost)",
    )


def _apart_from_a_node_that_goes(facts: Facts, gone: Iterable[tuple[int, float]]) -> Floats:
    """Return how far pieces end from when one of their nodes goes away after they began; ``gone`` are nodes and times.

    Infinity where none does.
    """
    log = facts.log
    leaves: dict[int, list[float]] = {}
    for node, at_s in gone:
        leaves.setdefault(node, []).append(at_s)
    apart_s = np.full(len(log.piece_row), np.inf)
    if not leaves:
        return apart_s
    by_node = np.argsort(log.share_node, kind="stable")
    node_of_share, piece = log.share_node[by_node], facts.piece_of_share[by_node]
    for node, times_s in leaves.items():
        here = piece[slice(*np.searchsorted(node_of_share, [node, node + 1]))]
        ends_s, left_s = log.piece_end_s[here], np.array([-np.inf, *sorted(times_s), np.inf])
        behind = np.searchsorted(left_s, ends_s)
        for near_s in (left_s[behind - 1], left_s[behind]):
            near_s = np.where(near_s > log.piece_start_s[here], near_s, np.inf)
            apart_s[here] = np.minimum(apart_s[here], np.abs(near_s - ends_s))
    return apart_s


def check_run(facts: Facts, findings: Findings) -> None:
    """The run begins and ends when it must; jobs are left unfinished only for a reason."""
    log, jobs = facts.log, facts.scenario.workload
    unfinished = np.flatnonzero(log.job_status == JobStatus.UNFINISHED)
    horizon_s = facts.scenario.options.horizon_s
    first_s = min(float(jobs.submit_s[0]), log.end_s) if len(jobs) else log.start_s
    if abs(log.start_s - first_s) > slack_s(first_s):
        findings.add(
            log.start_s, f"the run starts at {log.start_s:.10g} s, but the first submission is at {first_s:.10g} s"
        )
    if horizon_s is not None and log.end_s > horizon_s + slack_s(horizon_s):
        findings.add(log.end_s, f"the run goes on past its horizon of {horizon_s:.10g} s")
    if log.stalled:
        _check_stall(facts, unfinished.size, findings)
    elif unfinished.size:
        if horizon_s is None or log.end_s < horizon_s - slack_s(horizon_s):
            findings.add(
                log.end_s,
                f"the run ended with {_jobs(unfinished.size)} unfinished (first: {facts.job(int(unfinished[0]))}), "
                "though it did not stall and no horizon was reached",
            )
    elif len(jobs) and not np.isnan(log.job_end_s).any():
        last_s = float(log.job_end_s.max())
        if abs(log.end_s - last_s) > slack_s(last_s):
            findings.add(last_s, f"the run ends at {log.end_s:.10g} s, but its last job ends at {last_s:.10g} s")


def _check_stall(facts: Facts, count: int, findings: Findings) -> None:
    log, truth = facts.log, facts.truth
    if count == 0:
        findings.add(log.end_s, "the run says it stalled, but no job is unfinished")
        return
    open_rows = np.flatnonzero(log.job_status == JobStatus.UNFINISHED)
    due_s = _next_due_s(facts, truth.cancel_s[open_rows])
    if due_s < np.inf:
        findings.add(
            log.end_s, f"the run stopped with {_jobs(count)} unfinished, but an event was due at {due_s:.10g} s"
        )
        return
    if all_beyond_limits(facts, open_rows):  # as in Slurm: they wait until somebody raises the limit
        return
    findings.add(
        log.end_s,
        f"the run stopped at {log.end_s:.10g} s with {_jobs(count)} unfinished because no job was running and no "
        f"event was due: the policy started no job. The first is {facts.job(int(open_rows[0]))}",
    )


def _next_due_s(facts: Facts, cancel_s: Floats) -> float:
    """Return when the next arrival, cancellation, capacity change or end of a piece was due after the run's end."""
    log = facts.log
    absences = facts.scenario.cluster.absences
    running_s = log.piece_end_s[log.piece_end == PieceEnd.RUN_ENDED]
    times_s = [*facts.scenario.workload.submit_s, *cancel_s, *running_s]
    times_s += [time_s for a in absences for time_s in (a.start_s, a.until_s)]
    after_s = np.array(times_s)
    after_s = after_s[(after_s > log.end_s + slack_s(log.end_s)) & np.isfinite(after_s)]
    return float(after_s.min(initial=np.inf))


def _jobs(count: int) -> str:
    return f"{count} job" if count == 1 else f"{count} jobs"


def _status(facts: Facts, row: int) -> str:
    return JobStatus(int(facts.log.job_status[row])).name.lower()


def _end(facts: Facts, p: int) -> str:
    return PieceEnd(int(facts.log.piece_end[p])).name.lower()
