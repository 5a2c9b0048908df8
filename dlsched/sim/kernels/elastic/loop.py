"""The event loop of an elastic run, compiled: completions, arrivals, then one decision.

Only :func:`advance` is kept in the cache of compiled code, see :mod:`dlsched.domain.fingerprint`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import from_dtype, njit, types

from dlsched.domain import plan, policy
from dlsched.domain.fingerprint import fingerprint
from dlsched.domain.policy import EventKind
from dlsched.policies.elastic_queueing import kernels as decisions
from dlsched.policies.elastic_queueing.kernels.allot import allot, tuple_types
from dlsched.policies.elastic_queueing.kernels.compiled import OPTIONS, compiled
from dlsched.policies.elastic_queueing.kernels.tables import QUEUES, Answer, Jobs, Queues, Rule
from dlsched.sim import log
from dlsched.sim.kernels import instants, placing, tables
from dlsched.sim.kernels.elastic.anywhere import ACTIVE, hand_out_anywhere
from dlsched.sim.kernels.elastic.lines import call_up, chunk_needed, set_aside
from dlsched.sim.kernels.elastic.log_writer import (
    ENDED,
    PIECES,
    SHARES,
    WAITS,
    believed_left,
    change,
    complete,
    explain,
    give_back,
)
from dlsched.sim.kernels.elastic.tables import JOB, PIECE, Count, Lines, Run, Spots
from dlsched.sim.kernels.instants import instant_s
from dlsched.sim.kernels.tables import Outcome

SUBMITTED, DECISIONS, CAPACITY = int(Count.SUBMITTED), int(Count.DECISIONS), int(Count.CAPACITY)
_COMPLETION, _ARRIVAL = int(EventKind.COMPLETION), int(EventKind.ARRIVAL)
_MORE, _DONE, _FULL = int(Outcome.MORE), int(Outcome.DONE), int(Outcome.FULL)


@compiled
def _first_due(run: Run) -> float:
    """Return when the next event is due, infinity = never."""
    first = np.inf
    if run.counts[SUBMITTED] < len(run.jobs):
        first = run.jobs[run.counts[SUBMITTED]].submit_s
    for k in range(run.counts[ACTIVE]):
        first = min(first, run.jobs[run.active[k]].finish_s)
    return first


@compiled
def _step(run: Run, first: float) -> None:
    """Handle the instant that begins at ``first`` (:mod:`dlsched.sim.event_queue`); its time is the latest event's."""
    until, unfinished, need = first + instant_s(first), run.lines.unfinished, run.lines.need
    now, cause, kept = first, 0, 0
    for k in range(run.counts[ACTIVE]):
        row = run.active[k]
        if run.jobs[row].finish_s <= until:
            now = max(now, run.jobs[row].finish_s)
            complete(run, row)
            unfinished[need[run.jobs[row].curve]] -= 1
            cause = _COMPLETION
        else:
            run.active[kept] = row
            kept += 1
    row = run.counts[SUBMITTED]
    while row < len(run.jobs) and run.jobs[row].submit_s <= until:
        now = max(now, run.jobs[row].submit_s)
        run.active[kept] = row
        unfinished[need[run.jobs[row].curve]] += 1
        kept, row = kept + 1, row + 1
        cause |= _ARRIVAL
    chunk = 0.0
    if run.rule.kind == QUEUES:
        chunk = chunk_needed(run)
        kept = call_up(run, kept, chunk)
    run.counts[SUBMITTED], run.counts[ACTIVE], run.clock[0] = row, kept, now
    decision = run.decisions[run.counts[DECISIONS]]
    decision.time_s, decision.cause = now, cause
    run.counts[DECISIONS] += 1
    if kept > 0:
        served = _decide(run, chunk, now)
        if run.spots.placement >= 0:
            hand_out_anywhere(run, served, now)
        else:
            _hand_out(run, now)
            explain(run, kept, now)
        if run.rule.kind == QUEUES:
            set_aside(run)


@compiled
def _decide(run: Run, chunk: float, now: float) -> int:
    """Fill in what each active row gets, in chunks of at least this size; return how many were served."""
    count, ask, answer = run.counts[ACTIVE], run.ask, run.answer
    rule = Rule(run.rule.kind, run.rule.fills, run.rule.blocking, run.rule.gamma, chunk)
    for k in range(count):
        job = run.jobs[run.active[k]]
        ask.curve[k], ask.fixed[k], ask.held[k] = job.curve, job.fixed, job.held
        ask.remaining[k], ask.work[k] = believed_left(run, run.active[k], now), job.believed
        ask.most[k] = run.most[job.curve]
        answer.key[k] = 0.0
        run.queues.chunk[k] = job.chunk
    jobs = Jobs(
        ask.curve[:count],
        ask.remaining[:count],
        ask.work[:count],
        ask.cost[:count],
        ask.most[:count],
        ask.fixed[:count],
        ask.held[:count],
    )
    queues = Queues(run.queues.chunk[:count], run.queues.behind, run.queues.lengths, run.queues.first)
    room = Answer(
        answer.given[:count], answer.order[:count], answer.size[:count], answer.key[:count], answer.heap[:count]
    )
    served = allot(rule, run.curves, jobs, queues, float(run.counts[CAPACITY]), room)
    if run.rule.kind == QUEUES:
        for k in range(count):
            run.jobs[run.active[k]].chunk = run.queues.chunk[k]
    return served


@compiled
def _hand_out(run: Run, now: float) -> None:
    """Carry the answer out: all who shrink give back their last nodes, then who grows gets the first free ones."""
    given = run.answer.given
    for k in range(run.counts[ACTIVE]):
        give_back(run, run.active[k], given[k])
    next_free = 0
    for k in range(run.counts[ACTIVE]):
        if given[k] != run.jobs[run.active[k]].held:
            next_free = change(run, run.active[k], given[k], next_free, now)


@compiled
def _has_room(run: Run) -> bool:
    """Whether the log surely holds what the next instant can bring."""
    num_jobs, most_held = len(run.jobs), 2 * run.counts[CAPACITY]  # jobs and shares that a decision may change
    return (
        run.counts[DECISIONS] < len(run.decisions)
        and run.counts[PIECES] + most_held <= len(run.pieces)
        and run.counts[SHARES] + most_held <= len(run.shares)
        and run.counts[WAITS] + num_jobs <= len(run.waits)
    )


def _sources() -> list[Path]:
    """Return the source files of the loop and of the decisions in it, and of the codes it writes."""
    modules = [Path(str(module.__file__)) for module in (log, plan, policy, instants, placing, tables)]
    return [*Path(__file__).parent.glob("*.py"), *Path(str(decisions.__file__)).parent.glob("*.py"), *modules]


def _run_type() -> Any:
    rule, curves, ask, queues, _, answer = tuple_types()
    ints, floats = types.Array(types.int64, 1, "C"), types.Array(types.float64, 1, "C")
    of_spots = {"placement": types.int64, "failed": types.Array(types.int64, 2, "C")}
    known = {
        "jobs": from_dtype(JOB)[::1],
        "rates": types.Array(types.float64, 2, "C"),
        "ask": ask,
        "queues": queues,
        "answer": answer,
        "rule": rule,
        "curves": curves,
        "spots": types.NamedTuple([of_spots.get(name, ints) for name in Spots._fields], Spots),
        "lines": types.NamedUniTuple(ints, len(Lines._fields), Lines),
        "pieces": from_dtype(PIECE)[::1],
        "decisions": from_dtype(tables.DECISION)[::1],
        "waits": from_dtype(tables.WAIT)[::1],
        "clock": floats,
    }
    return types.NamedTuple([known.get(name, ints) for name in Run._fields], Run)


def _compile(fingerprint: int) -> Callable[[Run, int], int]:
    @njit(types.int64(_run_type(), types.int64), cache=True, **OPTIONS)
    def advance(run: Run, max_instants: int) -> int:
        if fingerprint < 0:
            return _DONE
        for _ in range(max_instants):
            first = _first_due(run)
            if run.counts[ENDED] == len(run.jobs) or first == np.inf:
                return _DONE
            if not _has_room(run):
                return _FULL
            _step(run, first)
        return _MORE

    return advance


advance = _compile(fingerprint(_sources()))
"""``advance(run, max_instants)``: go on with a run; returns an :class:`Outcome`. A run that stands still is done."""
