"""The event loop, compiled: completions, arrivals, alarm, then one decision.

Only :func:`advance` is kept in the cache of compiled code, see :mod:`dlsched.domain.fingerprint`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import from_dtype, njit, types

from dlsched.domain import plan, policy
from dlsched.domain.fingerprint import fingerprint
from dlsched.domain.policy import EventKind
from dlsched.sim import log
from dlsched.sim.kernels import tables
from dlsched.sim.kernels.decide import decide
from dlsched.sim.kernels.instants import instant_s
from dlsched.sim.kernels.log_writer import ENDED, HEAD, RUNNING, TAIL, complete, enqueue, pop_running
from dlsched.sim.kernels.tables import Count, Outcome, Run

compiled = njit(nogil=True)
SUBMITTED, PIECES, SHARES = int(Count.SUBMITTED), int(Count.PIECES), int(Count.SHARES)
DECISIONS, WAITS = int(Count.DECISIONS), int(Count.WAITS)
_COMPLETION, _ARRIVAL, _TIMER = int(EventKind.COMPLETION), int(EventKind.ARRIVAL), int(EventKind.TIMER)
_MORE, _DONE, _FULL = int(Outcome.MORE), int(Outcome.DONE), int(Outcome.FULL)


@compiled
def _first_due(run: Run) -> float:
    """Return when the next event is due."""
    first = run.clock[1]
    if run.counts[SUBMITTED] < len(run.jobs):
        first = min(first, run.jobs[run.counts[SUBMITTED]].submit_s)
    if run.counts[RUNNING] > 0 and not run.rule[0].preemptive:
        return min(first, run.jobs[run.running[0]].finish_s)
    for k in range(run.counts[RUNNING]):
        first = min(first, run.jobs[run.running[k]].finish_s)
    return first


@compiled
def _complete_until(run: Run, until: float, now: float) -> tuple[float, bool]:
    """Complete what finishes up to ``until``; return the latest time and whether there was any."""
    before = run.counts[ENDED]
    if run.rule[0].preemptive:
        kept = 0
        for k in range(run.counts[RUNNING]):
            row = run.running[k]
            if run.jobs[row].finish_s <= until:
                now = max(now, run.jobs[row].finish_s)
                complete(run, row)
            else:
                run.running[kept] = row
                kept += 1
        run.counts[RUNNING] = kept
    else:
        while run.counts[RUNNING] > 0 and run.jobs[run.running[0]].finish_s <= until:
            row = pop_running(run)
            now = max(now, run.jobs[row].finish_s)
            complete(run, row)
    return now, run.counts[ENDED] > before


@compiled
def _step(run: Run) -> None:
    """Handle one instant, see :mod:`dlsched.sim.event_queue`; its time is the latest of its events."""
    first = _first_due(run)
    until = first + instant_s(first)
    now, any_completed = _complete_until(run, until, first)
    cause = _COMPLETION if any_completed else 0
    first_new = run.counts[SUBMITTED]
    row = first_new
    while row < len(run.jobs) and run.jobs[row].submit_s <= until:
        now = max(now, run.jobs[row].submit_s)
        enqueue(run, row)
        row += 1
    run.counts[SUBMITTED] = row
    if row > first_new:
        cause |= _ARRIVAL
    if run.clock[1] <= until:
        now = max(now, run.clock[1])
        cause |= _TIMER
    run.clock[0] = now
    decision = run.decisions[run.counts[DECISIONS]]
    decision.time_s, decision.cause = now, cause
    run.counts[DECISIONS] += 1
    alarm = decide(run, now, first_new, row)
    run.clock[1] = max(alarm, now + 2 * instant_s(now))  # the next instant that can be told apart


@compiled
def _has_room(run: Run, num_gpus: int) -> bool:
    """Whether the log surely holds what the next instant can bring."""
    first = _first_due(run)
    until = first + instant_s(first)
    row = run.counts[SUBMITTED]
    while row < len(run.jobs) and run.jobs[row].submit_s <= until:
        row += 1
    told = run.counts[TAIL] - run.counts[HEAD] + run.counts[RUNNING] + row - run.counts[SUBMITTED] + 2
    return (
        run.counts[DECISIONS] < len(run.decisions)
        and run.counts[PIECES] + 2 * num_gpus <= len(run.pieces)
        and run.counts[SHARES] + num_gpus <= len(run.shares)
        and run.counts[WAITS] + 2 * told <= len(run.waits)
    )


def _sources() -> list[Path]:
    """Return the source files of the kernel, and of the codes it writes."""
    codes = [Path(str(module.__file__)) for module in (log, plan, policy)]
    return [*Path(__file__).parent.glob("*.py"), *codes]


def _run_type() -> Any:
    records = {
        "jobs": tables.JOB,
        "nodes": tables.NODE,
        "sizes": tables.SIZE,
        "pieces": tables.PIECE,
        "shares": tables.SHARE,
        "decisions": tables.DECISION,
        "waits": tables.WAIT,
        "rule": tables.RULE,
    }
    numbers = {"clock": types.float64, "bounds_gpu_s": types.float64}
    kinds = [from_dtype(records[name]) if name in records else numbers.get(name, types.int64) for name in Run._fields]
    return types.NamedTuple([kind[::1] for kind in kinds], Run)


def _compile(fingerprint: int) -> Callable[[Run, int], int]:
    @njit(types.int64(_run_type(), types.int64), cache=True, nogil=True)
    def advance(run: Run, max_instants: int) -> int:
        if fingerprint < 0:
            return _DONE
        num_gpus = 0
        for node in range(len(run.nodes)):
            num_gpus += run.nodes[node].capacity
        for _ in range(max_instants):
            if run.counts[ENDED] == len(run.jobs):
                return _DONE
            if not _has_room(run, num_gpus):
                return _FULL
            _step(run)
        return _MORE

    return advance


advance = _compile(fingerprint(_sources()))
"""``advance(run, max_instants)``: go on with a run; returns an :class:`Outcome`."""
