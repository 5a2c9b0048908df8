"""Rules about speed: rates, restarts, lost work, and that all work of a job is accounted for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.journal import Evicted, Loses
from dlsched.domain.workload import Floats
from dlsched.sim.audit.facts import MIXED_VMS, SAME_NUMBER, Facts, slack_s
from dlsched.sim.audit.findings import Findings
from dlsched.sim.log import JobStatus, PieceEnd
from dlsched.speed import SpeedModel

STAYS = (PieceEnd.RESIZED, PieceEnd.MOVED, PieceEnd.VM_CHANGED)
"""After these ends the job goes on at once; after any other it has to start anew."""


def check_rates(facts: Facts, speed: SpeedModel, findings: Findings) -> None:
    """The rate of a piece is the speed model's at this width on its machine types; the slowest counts."""
    log = facts.log
    rate = np.full(len(log.piece_row), np.nan)
    for vm in range(len(facts.vm_types)):
        plain = np.flatnonzero((facts.only_vm == vm) & (log.piece_servers == 0))
        rate[plain] = speed.rates_on(log.piece_row[plain], log.piece_workers[plain], vm)
    for p in np.flatnonzero((facts.only_vm == MIXED_VMS) | (log.piece_servers > 0)):
        row, workers, servers = int(log.piece_row[p]), int(log.piece_workers[p]), int(log.piece_servers[p])
        vms = facts.vm_of_share[log.share_first[p] : log.share_first[p + 1]].tolist()
        if min(vms) >= 0:
            rate[p] = speed.rate(row, workers, servers, set(vms), len(vms))
    findings.flag(
        ~_close(log.piece_rate, rate) & ~np.isnan(rate),
        log.piece_start_s,
        lambda p: (
            f"{facts.piece(p)} has rate {log.piece_rate[p]:.10g}, but the speed model says {rate[p]:.10g} for "
            f"{_gang(facts, p)} on {facts.vms_of(p)}"
        ),
    )


def _gang(facts: Facts, p: int) -> str:
    workers, servers = facts.log.piece_workers[p], facts.log.piece_servers[p]
    return f"{workers} workers" + (f" and {servers} servers" if servers else "")


def check_restarts(facts: Facts, findings: Findings) -> None:
    """Starts, resizes and moves cost what the restart mode says; none is free."""
    log = facts.log
    pause_s, slow_rate = _expected_restart(facts)
    logged_s = log.piece_progress_from_s - log.piece_start_s
    findings.flag(
        np.abs(logged_s - pause_s) > slack_s(log.piece_progress_from_s) + SAME_NUMBER * pause_s,
        log.piece_start_s,
        lambda p: (
            f"{facts.piece(p)} is back at its own rate after {logged_s[p]:.10g} s, but the restart takes "
            f"{pause_s[p]:.10g} s"
        ),
    )
    findings.flag(
        ~_close(log.piece_restart_rate, slow_rate) & (pause_s > 0),
        log.piece_start_s,
        lambda p: (
            f"{facts.piece(p)} has rate {log.piece_restart_rate[p]:.10g} during its restart, but the rule says "
            f"{slow_rate[p]:.10g}"
        ),
    )


def _expected_restart(facts: Facts) -> tuple[Floats, Floats]:
    """Return the length of the restart of each piece, and its rate meanwhile.

    Mode delayed: a restart that is under way goes on through scale-downs and moves, which cost nothing themselves.
    """
    log, options, before = facts.log, facts.scenario.options, facts.previous
    pause_s, slow_rate = np.full(len(before), options.restart_s), np.zeros(len(before))
    if options.restart_mode == "pause" or options.restart_s == 0:
        return pause_s, slow_rate
    goes_on = facts.joined & np.isin(log.piece_end[before], STAYS)
    grows = goes_on & (log.piece_workers > log.piece_workers[before])
    under_way = log.piece_end_s < log.piece_progress_from_s
    rate_at_end = np.where(under_way, log.piece_restart_rate, log.piece_rate)[before]
    slow_rate[grows] = rate_at_end[grows]
    eases = goes_on & ~grows
    left_s = np.maximum(log.piece_progress_from_s[before] - log.piece_start_s, 0.0)
    pause_s[eases] = left_s[eases]
    slow_rate[eases] = np.minimum(rate_at_end, log.piece_rate)[eases]
    return pause_s, slow_rate


def check_lost_work(facts: Facts, findings: Findings) -> None:
    """Work is lost only with a node or by an eviction: what was done since the last checkpoint, or in the piece."""
    log = facts.log
    every_s = facts.scenario.options.checkpoint_s
    loses_all = _evicted(facts, "all")
    can_lose = (log.piece_end == PieceEnd.NODE_LOST) | _evicted(facts, "checkpoint")
    can_lose = (can_lose & (every_s > 0)) | loses_all
    findings.flag(
        (log.piece_lost_work > 0) & ~can_lose,
        log.piece_end_s,
        lambda p: (
            f"{facts.piece(p)} loses {log.piece_lost_work[p]:.10g} of work without a lost node or an eviction, or "
            "without checkpoints"
        ),
    )
    if not can_lose.any():
        return
    # At a checkpoint to within rounding, both "all is saved" and "a whole interval is lost" are right.
    shift_s = slack_s(log.piece_end_s)
    with np.errstate(divide="ignore", invalid="ignore"):
        options = np.column_stack([_since_checkpoint(facts, every_s, s) for s in (0 * shift_s, shift_s, -shift_s)])
        options = np.hstack([np.minimum(options, told[:, None]) for told in _since_notice(facts)])
    options[loses_all] = _done_until(facts, log.piece_end_s)[loses_all, None]
    tolerance = SAME_NUMBER * np.maximum(options[:, 0], 1e-3) + log.piece_rate * shift_s
    wrong = (np.abs(options - log.piece_lost_work[:, None]) > tolerance[:, None]).all(axis=1)
    findings.flag(
        wrong & can_lose,
        log.piece_end_s,
        lambda p: (
            f"{facts.piece(p)} loses {log.piece_lost_work[p]:.10g} of work, "
            f"since {'its start' if loses_all[p] else 'its last checkpoint'} it did {options[p, 0]:.10g}"
        ),
    )


def _evicted(facts: Facts, loses: Loses) -> NDArray[np.bool_]:
    """Return which pieces ended because their job was evicted with this loss of work."""
    log = facts.log
    found = np.zeros(len(log.piece_row), dtype=bool)
    noted = [(entry.row, at_s) for at_s, entry in log.journal if isinstance(entry, Evicted) and entry.loses == loses]
    if not noted:
        return found
    rows, times_s = np.array([row for row, _ in noted]), np.array([at_s for _, at_s in noted])
    # of two pieces of a job that meet at this instant, the one that began before it
    piece = facts.piece_at(rows, np.nextafter(times_s, -np.inf))
    ends_then = (piece >= 0) & (np.abs(log.piece_end_s[piece] - times_s) <= slack_s(times_s))
    ends_then &= log.piece_end[piece] == PieceEnd.PREEMPTED
    found[piece[ends_then]] = True
    return found


def _since_checkpoint(facts: Facts, every_s: float, shift_s: Floats) -> Floats:
    """Return the work of each piece since the last whole multiple of ``every_s`` of its time of progress."""
    log = facts.log
    begin_s = np.where(log.piece_restart_rate > 0, log.piece_start_s, log.piece_progress_from_s)
    ran_s = np.maximum(log.piece_end_s - begin_s, 0.0)
    saved_s = begin_s + np.maximum(np.floor((ran_s + shift_s) / every_s), 0.0) * every_s
    return np.maximum(_done_until(facts, log.piece_end_s) - _done_until(facts, saved_s), 0.0)


def _since_notice(facts: Facts) -> tuple[Floats, Floats]:
    """Return the work of each piece since the first and since the last notice that a node of it is taken back.

    Infinity without a notice. Where nodes of several pools go at one instant, either may be the one that counted.
    """
    log, pieces = facts.log, len(facts.log.piece_row)
    notice_s = np.full(pieces, -np.inf), np.full(pieces, np.inf)
    for node, at_s, told_s in facts.evictions:
        here = facts.piece_of_share[log.share_node == node]
        ends = here[np.abs(log.piece_end_s[here] - at_s) <= slack_s(at_s)]
        told_s = told_s or np.inf
        notice_s[0][ends], notice_s[1][ends] = (
            np.maximum(notice_s[0][ends], told_s),
            np.minimum(notice_s[1][ends], told_s),
        )

    def since(each_s: Floats) -> Floats:
        told = np.isfinite(each_s)
        saved_s = np.maximum(log.piece_end_s - np.where(told, each_s, 0.0), log.piece_start_s)
        return np.where(told, _done_until(facts, log.piece_end_s) - _done_until(facts, saved_s), np.inf)

    return since(notice_s[0]), since(notice_s[1])


def _done_until(facts: Facts, time_s: Floats) -> Floats:
    log = facts.log
    slow_s = np.clip(time_s, log.piece_start_s, log.piece_progress_from_s) - log.piece_start_s
    return log.piece_restart_rate * slow_s + log.piece_rate * np.maximum(time_s - log.piece_progress_from_s, 0.0)


def check_work(facts: Facts, findings: Findings) -> None:
    """Completed and failed jobs did their work exactly; no job did more."""
    log, work = facts.log, facts.truth.work
    done = facts.work_done
    ends_s = np.where(np.isnan(log.job_end_s), log.end_s, log.job_end_s)
    fastest = np.zeros(len(work))
    np.maximum.at(fastest, log.piece_row, log.piece_rate)
    tolerance = SAME_NUMBER * work + np.maximum(fastest, 1.0) * slack_s(ends_s)
    finished = np.isin(log.job_status, (JobStatus.COMPLETED, JobStatus.FAILED))
    findings.flag(
        finished & (np.abs(done - work) > tolerance),
        ends_s,
        lambda row: (
            f"{facts.job(row)} ended as {_status(facts, row)} with {done[row]:.10g} of work done, but its work is "
            f"{work[row]:.10g}"
        ),
    )
    findings.flag(
        ~finished & (done > work + tolerance),
        ends_s,
        lambda row: (
            f"{facts.job(row)} did {done[row]:.10g} of work and is {_status(facts, row)}, but its work is only "
            f"{work[row]:.10g}"
        ),
    )
    findings.flag(
        facts.progress < -SAME_NUMBER * np.maximum(log.piece_lost_work, 1e-3),
        log.piece_end_s,
        lambda p: f"{facts.piece(p)} loses more work than it did",
    )


def _status(facts: Facts, row: int) -> str:
    return JobStatus(int(facts.log.job_status[row])).name.lower()


def _close(logged: Floats, expected: Floats) -> NDArray[np.bool_]:
    return np.abs(logged - expected) <= SAME_NUMBER * np.maximum(np.abs(expected), 1e-9)
