"""The event loop of a compiled run under quotas: all events of an instant, then one decision.

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
from dlsched.policies.queue_tree import flavors, jobs, kernels
from dlsched.sim import log
from dlsched.sim.kernels import compiled as compiling
from dlsched.sim.kernels import instants
from dlsched.sim.kernels import tables as codes
from dlsched.sim.kernels.compiled import COUNTING_NOTHING, compiled, inlined
from dlsched.sim.kernels.instants import instant_s
from dlsched.sim.kernels.preemptive import heap
from dlsched.sim.kernels.queue_tree.decide import decide
from dlsched.sim.kernels.queue_tree.moves import (
    DECISIONS,
    ENDED,
    PIECES,
    RUNNING,
    SHARES,
    SUBMITTED,
    WIDTH,
    complete,
    drop_next_end,
    most_shares,
    next_end_s,
)
from dlsched.sim.kernels.queue_tree.quotas import JOURNAL, next_leave_s
from dlsched.sim.kernels.queue_tree.tables import Count, Run
from dlsched.sim.kernels.rigid import room
from dlsched.sim.kernels.rigid import tables as rigid_tables
from dlsched.sim.kernels.tables import Outcome

_COMPLETION, _ARRIVAL, _TIMER = int(EventKind.COMPLETION), int(EventKind.ARRIVAL), int(EventKind.TIMER)
_MORE, _DONE, _FULL = int(Outcome.MORE), int(Outcome.DONE), int(Outcome.FULL)
_WAITS = int(Count.WAITS)


@compiled
def _step(run: Run, first: float) -> None:
    """Handle the instant that begins at ``first`` (:mod:`dlsched.sim.event_queue`); its time is the latest event's."""
    jobs, counts, clock = run.jobs, run.counts, run.clock
    until, now, cause = first + instant_s(first), max(first, clock[0]), 0
    end_s = next_end_s(run)
    while end_s <= until:
        row = run.ends[0].row
        drop_next_end(run)
        complete(run, row)
        now, cause = max(now, end_s), _COMPLETION
        end_s = next_end_s(run)
    first_arrival = counts[SUBMITTED]
    while counts[SUBMITTED] < len(jobs) and jobs[counts[SUBMITTED]].submit_s <= until:
        now = max(now, jobs[counts[SUBMITTED]].submit_s)
        counts[WIDTH] += most_shares(run, counts[SUBMITTED])
        counts[SUBMITTED] += 1
        cause |= _ARRIVAL
    if clock[1] <= until:
        now = max(now, clock[1])
        cause |= _TIMER
    clock[0] = now
    counts[DECISIONS] += 1
    decision = run.decisions[counts[DECISIONS] - 1]
    decision.time_s, decision.cause = now, cause
    decide(run, now, first_arrival, counts[SUBMITTED])
    clock[1] = max(next_leave_s(run), now + 2 * instant_s(now))  # the next instant that can be told apart


@inlined
def _first_due(run: Run) -> float:
    """Return when the next event is due."""
    first = min(run.clock[1], next_end_s(run))
    if run.counts[SUBMITTED] < len(run.jobs):
        first = min(first, run.jobs[run.counts[SUBMITTED]].submit_s)
    return first


@inlined
def _has_room(run: Run, first: float) -> bool:
    """Whether the log surely holds what the next instant can bring: a job is admitted five times in it at most."""
    counts, until, row = run.counts, first + instant_s(first), run.counts[SUBMITTED]
    width = counts[WIDTH]
    while row < len(run.jobs) and run.jobs[row].submit_s <= until:
        width += most_shares(run, row)
        row += 1
    active = row - counts[ENDED]
    return (
        counts[DECISIONS] < len(run.decisions)
        and counts[PIECES] + counts[RUNNING] <= len(run.pieces)
        and counts[SHARES] + 5 * width <= len(run.shares)
        and counts[_WAITS] + active <= len(run.waits)
        and counts[JOURNAL] + 16 * active <= len(run.journal)
    )


def _sources() -> list[Path]:
    """Return the source files of the kernel, and of the codes it writes."""
    modules = log, plan, policy, rules, instants, compiling, codes, room, rigid_tables, heap, flavors, jobs
    here = [Path(__file__), Path(str(kernels.__file__))]
    return [
        *(path for folder in here for path in folder.parent.glob("*.py")),
        *(Path(str(module.__file__)) for module in modules),
    ]


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
