"""Run a simulation again up to some of its decisions, and keep what both ModelArts allocators say of each.

The state of a decision is not stored. The simulator is deterministic, so it comes again; where the stored pieces of
the run are at hand, decisions before the first that is wanted take their widths from there instead of solving.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dlsched.domain.errors import InputError
from dlsched.domain.plan import Plan
from dlsched.domain.scenario import Scenario
from dlsched.domain.state import State
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.rolling_horizon.params import AllocatorParams, GreedyParams, OptimalParams
from dlsched.policies.rolling_horizon.policy import (
    Allocator,
    AllocatorPolicy,
    Verdict,
    greedy_policy,
    optimal_policy,
)
from dlsched.policies.rolling_horizon.pool import Pool, held_nodes, workers_of
from dlsched.policies.rolling_horizon.widths import WidthBook
from dlsched.sim.engine import run_engine
from dlsched.sim.prepare import prepare
from dlsched.studies.inspect.look_ahead.answer import LookAhead
from dlsched.studies.inspect.re_execute import EnoughDecisions
from dlsched.studies.simulation import resolve_policy

POLICIES = ("modelarts-optimal", "modelarts-greedy")
SAME_S = 1e-6
"""Times this close are one instant."""
KNOWN = "as stored"


@dataclass(frozen=True, eq=False)
class Known:
    """What is stored of the run: ``times_s`` (D,) of its decisions, and P pieces of jobs with their workers."""

    times_s: Floats
    row: Ints
    workers: Ints
    start_s: Floats
    end_s: Floats

    def number_at(self, now_s: float) -> int:
        """Return the number of the decision at this time, from 1; 0 where there is none."""
        place = int(np.searchsorted(self.times_s, now_s - SAME_S))
        return place + 1 if place < len(self.times_s) and abs(self.times_s[place] - now_s) <= SAME_S else 0

    def held_after(self, now_s: float, rows: Ints) -> Ints:
        """Return the workers of these rows (ascending) just after a time, (len(rows),)."""
        runs = (self.start_s <= now_s + SAME_S) & (self.end_s > now_s + SAME_S) & np.isin(self.row, rows)
        found = np.zeros(len(rows), dtype=np.int64)
        np.add.at(found, np.searchsorted(rows, self.row[runs]), self.workers[runs])
        return found


def known_of(decisions: pd.DataFrame, pieces: pd.DataFrame) -> Known:
    """Return what a stored run says: ``decisions`` of ``decisions_of``, ``pieces`` as metrics.segments_table."""
    return Known(
        decisions["time_s"].to_numpy(float),
        pieces["row"].to_numpy(np.int64),
        pieces["workers"].to_numpy(np.int64),
        pieces["start_s"].to_numpy(float),
        pieces["end_s"].to_numpy(float),
    )


def at(
    scenario: Scenario,
    policy: str,
    params: Mapping[str, Any],
    seed: int,
    number: int,
    known: Known | None = None,
) -> LookAhead:
    """Return one decision of a run, numbered from 1; as :func:`window`, and InputError when the run has fewer."""
    found = window(scenario, policy, params, seed, number, number, known)
    if not found:
        raise InputError("decision", f"the run has fewer than {number}", "Choose an earlier one")
    return found[0]


def window(
    scenario: Scenario,
    policy: str,
    params: Mapping[str, Any],
    seed: int,
    first: int,
    last: int,
    known: Known | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> list[LookAhead]:
    """Return the decisions ``first`` to ``last`` of a run, as many as it has.

    Raises
    ------
    InputError
        If the policy is none of ``POLICIES`` or cannot run the scenario.
    """
    if policy not in POLICIES:
        raise InputError(f"policy {policy!r}", "plans nothing ahead", f"Choose {' or '.join(POLICIES)}")
    spec, values = resolve_policy(scenario, policy, params)
    parsed = spec.parse(values)
    assert isinstance(parsed, AllocatorParams)
    prepared = prepare(scenario, seed)
    names = np.asarray(prepared.scenario.workload.job_id)
    watcher = _Watcher(policy, parsed, first, last, known, names, progress)
    with suppress(EnoughDecisions):
        run_engine(prepared, watcher, seed)
    return watcher.found


class _Watcher:
    """A policy that plans as the one it watches, and notes its decisions."""

    kernel_rule = None

    def __init__(
        self,
        policy: str,
        params: AllocatorParams,
        first: int,
        last: int,
        known: Known | None,
        names: Any,
        progress: Callable[[float, str], None] | None,
    ) -> None:
        shared = {"every_s": params.every_s, "cap": params.cap, "vm_type": params.vm_type}
        best = params if isinstance(params, OptimalParams) else OptimalParams(**shared)
        plain = params if isinstance(params, GreedyParams) else GreedyParams(**shared)
        self._both: tuple[Allocator, Allocator] = optimal_policy(best).allocate, greedy_policy(plain).allocate
        self._follows, self._steps, self._every_s = POLICIES.index(policy), best.steps, params.every_s
        self._first, self._last, self._known, self._names = first, last, known, names
        self._policy = AllocatorPolicy(self._allocate, params)
        self._progress = progress
        self._decided = 0
        self._parts: list[_Part] = []
        self.review = self._policy.review
        self.found: list[LookAhead] = []

    def plan(self, state: State) -> Plan:
        """Return the plan of the watched policy; raise EnoughDecisions after the last decision wanted."""
        self._parts = []
        plan = self._policy.plan(state)
        if self._parts and plan.note:
            self._decided = self._number(state)
            if self._progress is not None:
                self._progress(min(1.0, self._decided / self._last), f"decision {self._decided:,} of {self._last:,}")
            if self._first <= self._decided <= self._last:
                self.found.append(_look_ahead(self._decided, state.now_s, self._every_s, self._parts, plan))
        if self._decided >= self._last:
            raise EnoughDecisions
        return plan

    def _number(self, state: State) -> int:
        return self._decided + 1 if self._known is None else self._known.number_at(state.now_s)

    def _allocate(self, state: State, pool: Pool, book: WidthBook) -> Verdict:
        number = self._number(state)
        if number < self._first:
            self._parts.append(_Part(pool, book, None, None, self._steps, self._names))
            if self._known is None or not number:
                return self._both[self._follows](state, pool, book)
            workers = self._known.held_after(state.now_s, pool.rows)
            return Verdict(pool, workers, None, KNOWN if workers.any() else "")
        both = [allocate(state, pool, book) for allocate in self._both]
        self._parts.append(_Part(pool, book, both[0], both[1], self._steps, self._names))
        return both[self._follows]


@dataclass(frozen=True, eq=False)
class _Part:
    """A decision in one pool: both verdicts, None where it was not wanted."""

    pool: Pool
    book: WidthBook
    best: Verdict | None
    plain: Verdict | None
    steps: int
    names: Any

    def planned(self) -> Ints:
        """Return the workers of every row of the pool at each step of the optimal plan, (rows, T)."""
        assert self.best is not None
        found = np.zeros((len(self.pool.rows), self.steps), dtype=np.int64)
        here = np.searchsorted(self.pool.rows, self.best.pool.rows)
        solution = self.best.solution
        if solution is None or solution.status == "infeasible":
            found[here] = self.best.workers[:, None]
            return found
        for step in range(self.steps):
            found[here, step] = workers_of(self.best.pool, self.book, solution.plan[:, step])
        return found

    def greedy(self) -> Ints:
        """Return the workers that the greedy allocator gives every row of the pool."""
        assert self.plain is not None
        found = np.zeros(len(self.pool.rows), dtype=np.int64)
        found[np.searchsorted(self.pool.rows, self.plain.pool.rows)] = self.plain.workers
        return found

    def got(self, plan: Plan) -> Ints:
        """Return the workers that every row of the pool has when a plan is carried out."""
        held = dict(zip(self.pool.rows.tolist(), self.pool.workers.tolist(), strict=True))
        new = {row: steps[0].workers if steps else 0 for row, steps in plan.allocations.items()}
        return np.array([new.get(row, workers) for row, workers in held.items()], dtype=np.int64)

    def idle(self, workers: Ints) -> int:
        """Return what is left of the pool."""
        return self.pool.nodes - int(held_nodes(_holding(self.pool, workers)).sum())


def _holding(pool: Pool, workers: Ints) -> Pool:
    return Pool(pool.rows, workers, pool.units, pool.most, pool.nodes)


def _look_ahead(number: int, now_s: float, step_s: float, parts: list[_Part], carried_out: Plan) -> LookAhead:
    plans, greedy = [part.planned() for part in parts], [part.greedy() for part in parts]
    idle = [(part.idle(plan[:, 0]), part.idle(other)) for part, plan, other in zip(parts, plans, greedy, strict=True)]
    units = np.concatenate([part.pool.units for part in parts])
    alike = bool((units == units[0]).all())
    row = np.concatenate([part.pool.rows for part in parts])
    held, plan = np.concatenate([part.pool.workers for part in parts]), np.concatenate(plans)
    other, got = np.concatenate(greedy), np.concatenate([part.got(carried_out) for part in parts])
    shown = (held > 0) | plan.any(axis=1) | (other > 0) | (got > 0)
    solutions = [part.best.solution for part in parts if part.best and part.best.solution]
    solved = [solution for solution in solutions if solution.status != "infeasible"]
    statuses = [solution.status for solution in solutions]
    worst = next((status for status in ("infeasible", "feasible", "optimal") if status in statuses), "")
    return LookAhead(
        number=number,
        time_s=float(now_s),
        step_s=float(step_s),
        jobs=tuple(str(name) for name in parts[0].names[row[shown]]),
        row=tuple(row[shown].tolist()),
        held=tuple(held[shown].tolist()),
        plan=tuple(tuple(steps) for steps in plan[shown].tolist()),
        greedy=tuple(other[shown].tolist()),
        objective=float(sum(solution.objective for solution in solved)) if solved else None,
        bound=float(sum(solution.bound for solution in solved)) if solved else None,
        status=worst,
        method=", ".join(dict.fromkeys(solution.method for solution in solutions)),
        reason="; ".join(solution.reason for solution in solutions if solution.reason),
        scenarios=", ".join(dict.fromkeys(part.plain.note for part in parts if part.plain and part.plain.note)),
        idle=(int(sum(a for a, _ in idle) // units[0]), int(sum(b for _, b in idle) // units[0])) if alike else None,
        rest=int((~shown).sum()),
        got=tuple(got[shown].tolist()),
    )
