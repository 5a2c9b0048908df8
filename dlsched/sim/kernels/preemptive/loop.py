"""The event loop of a compiled run of jobs that may be stopped: all events of an instant, then one decision.

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
from dlsched.policies.shared import ranks
from dlsched.sim import log
from dlsched.sim.kernels import cancels, instants
from dlsched.sim.kernels import compiled as compiling
from dlsched.sim.kernels import tables as codes
from dlsched.sim.kernels.cancels import cancels_due
from dlsched.sim.kernels.compiled import COUNTING_NOTHING, compiled, inlined, merged
from dlsched.sim.kernels.instants import instant_s
from dlsched.sim.kernels.preemptive.absences import change_capacity
from dlsched.sim.kernels.preemptive.decide import decide
from dlsched.sim.kernels.preemptive.moves import (
    CANCELS,
    CHANGES,
    DECISIONS,
    ENDED,
    IDLE,
    LEARNT,
    PIECES,
    RUNNING,
    SHARES,
    SUBMITTED,
    WAITING,
    WAITS,
    cancel,
    complete,
    drop_next_end,
    enqueue,
    next_end_s,
    run_since,
)
from dlsched.sim.kernels.preemptive.runners import EARLY_S, next_setback_s
from dlsched.sim.kernels.preemptive.tables import Key, Run
from dlsched.sim.kernels.rigid import absences, room
from dlsched.sim.kernels.rigid import tables as rigid_tables
from dlsched.sim.kernels.tables import Outcome
from dlsched.sim.log import JobStatus

_COMPLETION, _ARRIVAL, _TIMER = int(EventKind.COMPLETION), int(EventKind.ARRIVAL), int(EventKind.TIMER)
_CAPACITY, _CANCEL, _UNFINISHED = int(EventKind.CAPACITY), int(EventKind.CANCEL), int(JobStatus.UNFINISHED)
_MORE, _DONE, _FULL = int(Outcome.MORE), int(Outcome.DONE), int(Outcome.FULL)
_QUEUE = int(Key.QUEUE)


@compiled
def _step(run: Run, first: float) -> None:
    """Handle the instant that begins at ``first`` (:mod:`dlsched.sim.event_queue`); its time is the latest event's."""
    jobs, counts, clock = run.jobs, run.counts, run.clock
    until, now, cause = first + instant_s(first), max(first, clock[0]), 0
    past_cancel, latest_s = cancels_due(jobs, run.cancels, counts[CANCELS], counts[SUBMITTED], until)
    now = max(now, latest_s)
    end_s = next_end_s(run)
    while end_s <= until:
        row = run.ends[0].row
        drop_next_end(run)
        complete(run, row)
        now, cause = max(now, end_s), _COMPLETION
        end_s = next_end_s(run)
    clock[2] = until
    while counts[CHANGES] < len(run.changes) and run.changes[counts[CHANGES]].time_s <= until:
        now = max(now, run.changes[counts[CHANGES]].time_s)
        change_capacity(run, counts[CHANGES])
        counts[CHANGES] += 1
        cause |= _CAPACITY
    while counts[SUBMITTED] < len(jobs) and jobs[counts[SUBMITTED]].submit_s <= until:
        row = counts[SUBMITTED]
        now = max(now, jobs[row].submit_s)
        if not jobs[row].running:
            enqueue(run, row)
        counts[SUBMITTED] += 1
        cause |= _ARRIVAL
    while counts[CANCELS] < past_cancel:
        row = run.cancels[counts[CANCELS]]
        counts[CANCELS] += 1
        if jobs[row].status == _UNFINISHED:  # it may have ended at this very instant
            cancel(run, row)
            cause |= _CANCEL
    if clock[1] <= until:
        now = max(now, clock[1])
        cause |= _TIMER
    clock[0] = now
    if cause and now >= jobs[0].submit_s:  # nobody is asked before
        _decide(run, now, cause)


@inlined
def _decide(run: Run, now: float, cause: int) -> None:
    """Decide, log the decision, and set the alarm anew."""
    counts = run.counts
    decision = run.decisions[counts[DECISIONS]]
    decision.time_s, decision.cause = now, cause
    counts[DECISIONS] += 1
    decide(run, now)
    run.clock[1] = max(_alarm(run, now), now + 2 * instant_s(now))  # the next instant that can be told apart
    counts[IDLE] = counts[IDLE] + 1 if cause == _TIMER and counts[RUNNING] == 0 else 0
    if counts[IDLE] >= run.rule[0].most_idle:
        run.clock[1] = np.inf


@merged
def _next_event_s(run: Run) -> float:
    """Return when the next event is due but for the alarm; what came before a run is joined is due then."""
    first = next_end_s(run)
    if run.counts[SUBMITTED] < len(run.jobs):
        first = min(first, max(run.clock[0], run.jobs[run.counts[SUBMITTED]].submit_s))
    if run.counts[CHANGES] < len(run.changes):
        first = min(first, run.changes[run.counts[CHANGES]].time_s)
    while run.counts[CANCELS] < len(run.cancels) and run.jobs[run.cancels[run.counts[CANCELS]]].status != _UNFINISHED:
        run.counts[CANCELS] += 1
    if run.counts[CANCELS] < len(run.cancels):
        first = min(first, run.jobs[run.cancels[run.counts[CANCELS]]].cancel_s)
    return first


@inlined
def _alarm(run: Run, now: float) -> float:
    """Return when to decide again besides the events: only while somebody waits."""
    alarm, quantum_s = np.inf, run.rule[0].quantum_s
    if run.counts[WAITING] > 0:
        if quantum_s > 0:
            alarm = (np.floor((now + EARLY_S) / quantum_s) + 1) * quantum_s
        elif run.rule[0].key == _QUEUE:
            due_s = _next_event_s(run)
            alarm = next_setback_s(run, now, due_s + 2 * instant_s(due_s))  # a later one is set anew at that event
    return alarm


@compiled
def _join(run: Run) -> None:
    """Let the rows that run when the run is joined, noted in ``fresh``, take their nodes; decide at that instant."""
    for k in range(run.counts[RUNNING]):
        row = run.fresh[k]
        queue = run.queues[run.kinds[run.jobs[row].kind].queue]
        run_since(run, row, queue.first_runner + queue.num_runners, run.jobs[row].start_s, run.rule[0].restart_s)
        run.counts[RUNNING] -= 1  # it has been counted
        queue.num_runners += 1
    run.clock[:] = run.rule[0].joined_s
    run.rule[0].joined_s = np.nan


@inlined
def _has_room(run: Run, first: float) -> bool:
    """Whether the log surely holds what the next instant can bring."""
    counts, until, row = run.counts, first + instant_s(first), run.counts[SUBMITTED]
    while row < len(run.jobs) and run.jobs[row].submit_s <= until:
        row += 1
    told = counts[WAITING] + counts[RUNNING] + row - counts[SUBMITTED]
    return (
        counts[DECISIONS] < len(run.decisions)
        and counts[PIECES] + counts[RUNNING] <= len(run.pieces)
        and counts[SHARES] + run.rule[0].most_shares <= len(run.shares)
        and counts[WAITS] + 2 * told <= len(run.waits)
    )


def _sources() -> list[Path]:
    """Return the source files of the kernel, and of the codes it writes."""
    modules = log, plan, policy, rules, instants, cancels, compiling, codes, room, absences, rigid_tables, ranks
    return [*Path(__file__).parent.glob("*.py"), *(Path(str(module.__file__)) for module in modules)]


def _compile(fingerprint: int) -> Callable[[Run, int], int]:
    @njit(cache=True, **COUNTING_NOTHING)
    def advance(run: Run, max_instants: int) -> int:
        if fingerprint < 0:
            return _DONE
        if not np.isnan(run.rule[0].joined_s):
            _join(run)
        for _ in range(max_instants):
            if run.counts[ENDED] == len(run.jobs):
                return _DONE
            first = min(run.clock[1], _next_event_s(run))
            if first == np.inf or first > run.rule[0].horizon_s:
                run.rule[0].stalled = first == np.inf
                return _DONE
            if run.counts[LEARNT] >= run.rule[0].learn_at or not _has_room(run, first):
                return _FULL
            _step(run, first)
        return _MORE

    return advance


advance = _compile(fingerprint(_sources()))
"""``advance(run, max_instants)``: go on with a run; returns an :class:`Outcome`."""
