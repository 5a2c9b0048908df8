"""The event loop of a compiled run of rigid jobs: ends, arrivals, then one decision, or one after each.

Only :func:`advance` is kept in the cache of compiled code, see :mod:`dlsched.domain.fingerprint`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numba import njit

from dlsched.domain import plan, policy
from dlsched.domain.fingerprint import fingerprint
from dlsched.domain.policy import EventKind
from dlsched.placement import rules
from dlsched.policies.baselines import disciplines
from dlsched.sim import log
from dlsched.sim.kernels import cancels, instants
from dlsched.sim.kernels import compiled as compiling
from dlsched.sim.kernels import tables as codes
from dlsched.sim.kernels.cancels import cancels_due
from dlsched.sim.kernels.compiled import COUNTING_NOTHING, compiled, inlined
from dlsched.sim.kernels.instants import instant_s
from dlsched.sim.kernels.rigid.absences import change_capacity
from dlsched.sim.kernels.rigid.decide import decide
from dlsched.sim.kernels.rigid.moves import (
    CANCELS,
    CHANGES,
    ENDED,
    PIECES,
    RUNNING,
    SHARES,
    SUBMITTED,
    WAITS,
    cancel,
    complete,
    enqueue,
    pop_running,
    run_since,
)
from dlsched.sim.kernels.rigid.room import fits
from dlsched.sim.kernels.rigid.tables import Rule, Run
from dlsched.sim.kernels.tables import Outcome
from dlsched.sim.log import JobStatus

_COMPLETION, _ARRIVAL, _TIMER = int(EventKind.COMPLETION), int(EventKind.ARRIVAL), int(EventKind.TIMER)
_CAPACITY, _CANCEL, _UNFINISHED = int(EventKind.CAPACITY), int(EventKind.CANCEL), int(JobStatus.UNFINISHED)
_FAIR = int(Rule.FAIR)
_MORE, _DONE, _FULL = int(Outcome.MORE), int(Outcome.DONE), int(Outcome.FULL)


@compiled
def _step(run: Run, first: float) -> None:
    """Handle the instant that begins at ``first`` (:mod:`dlsched.sim.event_queue`); its time is the latest event's."""
    jobs, counts = run.jobs, run.counts
    until, now, num_due = first + instant_s(first), max(first, run.rule[0].now_s), 0
    joins = run.rule[0].joined_s == first
    missed = _join(run) if joins else 0
    while counts[RUNNING] > 0 and run.running[0].finish_s <= until:
        now = max(now, run.running[0].finish_s)
        run.due[num_due] = pop_running(run.running, counts)
        num_due += 1
    past_new = counts[SUBMITTED]
    while past_new < len(jobs) and jobs[past_new].submit_s <= until:
        now = max(now, jobs[past_new].submit_s)
        past_new += 1
    past_change = counts[CHANGES]
    while past_change < len(run.changes) and run.changes[past_change].time_s <= until:
        now = max(now, run.changes[past_change].time_s)
        past_change += 1
    past_cancel, latest_s = cancels_due(jobs, run.cancels, counts[CANCELS], counts[SUBMITTED], until)
    now = max(now, latest_s)
    run.rule[0].now_s = now
    cause = (_TIMER if joins else 0) | missed
    if run.rule[0].one_by_one:
        _one_by_one(run, now, num_due, past_new)
    else:
        for k in range(num_due):
            complete(run, run.due[k])
            cause |= _COMPLETION
    while counts[CHANGES] < past_change:
        change_capacity(run, counts[CHANGES])
        counts[CHANGES] += 1
        cause |= _CAPACITY
    while counts[SUBMITTED] < past_new:
        enqueue(run, counts[SUBMITTED])
        counts[SUBMITTED] += 1
        cause |= _ARRIVAL
    while counts[CANCELS] < past_cancel:
        row = run.cancels[counts[CANCELS]]
        counts[CANCELS] += 1
        if jobs[row].status == _UNFINISHED:  # it may have ended at this very instant
            cancel(run, row)
            cause |= _CANCEL
    if cause and now >= jobs[0].submit_s:  # nobody is asked before
        decide(run, now, cause, True)


@compiled
def _one_by_one(run: Run, now: float, num_due: int, past_new: int) -> None:
    """Handle arrivals, then ends in order of their starts, with a decision after each.

    A job that ends no sooner than believed has given its nodes back before the first; after an arrival something is
    started only if that job has room.
    """
    jobs, counts = run.jobs, run.counts
    for k in range(1, num_due):
        row, place = run.due[k], k
        while place > 0 and jobs[run.due[place - 1]].start_number > jobs[row].start_number:
            run.due[place] = run.due[place - 1]
            place -= 1
        run.due[place] = row
    for k in range(num_due):
        if not jobs[run.due[k]].ends_early:
            complete(run, run.due[k])
    while counts[SUBMITTED] < past_new:
        row = counts[SUBMITTED]
        enqueue(run, row)
        counts[SUBMITTED] += 1
        decide(run, now, _ARRIVAL, fits(run, jobs[row].kind))
    for k in range(num_due):
        if jobs[run.due[k]].ends_early:
            complete(run, run.due[k])
        decide(run, now, _COMPLETION, True)


@compiled
def _join(run: Run) -> int:
    """Take in the rows that came before the run is joined, some of which run; return the cause they are."""
    jobs, counts, joined_s = run.jobs, run.counts, run.rule[0].joined_s
    run.rule[0].joined_s = np.nan
    num_held = run.due[0]
    for k in range(1, num_held + 1):
        run_since(run, run.due[k], jobs[run.due[k]].start_s)
    before = counts[SUBMITTED]
    while counts[SUBMITTED] < len(jobs):
        row = counts[SUBMITTED]
        if jobs[row].submit_s >= joined_s - instant_s(joined_s):
            break
        if jobs[row].start_number < 0:
            enqueue(run, row)
        counts[SUBMITTED] += 1
    return _ARRIVAL if counts[SUBMITTED] > before else 0


@inlined
def _has_room(run: Run, first: float) -> bool:
    """Whether the log surely holds the next instant. Decisions have their full length, so have the others without
    absences but for why jobs wait.
    """
    jobs, counts, until = run.jobs, run.counts, first + instant_s(first)
    past_new = counts[SUBMITTED]
    while past_new < len(jobs) and jobs[past_new].submit_s <= until:
        past_new += 1
    new = past_new - counts[SUBMITTED]
    decisions = 2 + counts[RUNNING] + new if run.rule[0].one_by_one else 1
    told = 2 * run.rule[0].num_told * len(run.queues)
    if run.rule[0].which == _FAIR:  # tells all that wait, and those that come
        told = counts[SUBMITTED] - counts[ENDED] - counts[RUNNING]
    told = decisions * told + new
    if len(run.changes) > 0:
        told += counts[SUBMITTED] - counts[ENDED] + new  # the stopped
    return (
        counts[WAITS] + told <= len(run.waits)
        and counts[PIECES] + counts[RUNNING] <= len(run.pieces)
        and counts[SHARES] + run.rule[0].most_shares <= len(run.shares)
    )


@inlined
def _first_due(run: Run) -> float:
    """Return when the next event is due; infinity = never. A run that is joined in the middle begins there."""
    jobs, counts, first = run.jobs, run.counts, np.inf
    if not np.isnan(run.rule[0].joined_s):
        return run.rule[0].joined_s
    if counts[SUBMITTED] < len(jobs):
        first = jobs[counts[SUBMITTED]].submit_s
    if counts[RUNNING] > 0:
        first = min(first, run.running[0].finish_s)
    if counts[CHANGES] < len(run.changes):
        first = min(first, run.changes[counts[CHANGES]].time_s)
    while counts[CANCELS] < len(run.cancels) and jobs[run.cancels[counts[CANCELS]]].status != _UNFINISHED:
        counts[CANCELS] += 1
    if counts[CANCELS] < len(run.cancels):
        first = min(first, jobs[run.cancels[counts[CANCELS]]].cancel_s)
    return first


def _sources() -> list[Path]:
    """Return the source files of the kernel, and of the codes it writes."""
    modules = log, plan, policy, rules, disciplines, instants, cancels, compiling, codes
    return [*Path(__file__).parent.glob("*.py"), *(Path(str(module.__file__)) for module in modules)]


def _compile(fingerprint: int) -> Callable[[Run, int], int]:
    @njit(cache=True, **COUNTING_NOTHING)
    def advance(run: Run, max_instants: int) -> int:
        if fingerprint < 0:
            return _DONE
        for _ in range(max_instants):
            if run.counts[ENDED] == len(run.jobs):
                return _DONE
            first = _first_due(run)
            if first == np.inf or first > run.rule[0].horizon_s:
                run.rule[0].stalled = first == np.inf
                return _DONE
            if not _has_room(run, first):
                return _FULL
            _step(run, first)
        return _MORE

    return advance


advance = _compile(fingerprint(_sources()))
"""``advance(run, max_instants)``: go on with a run; returns an :class:`Outcome`."""
