"""A simulation again up to some of its decisions, with what both ModelArts allocators say of each.

Where the stored pieces of the run are at hand, decisions before the first that is wanted take their widths from there
instead of solving.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dlsched.domain.model import FrozenModel
from dlsched.domain.plan import Plan
from dlsched.domain.state import State
from dlsched.domain.workload import Ints, Texts
from dlsched.policies.rolling_horizon.params import AllocatorParams, GreedyParams, OptimalParams
from dlsched.policies.rolling_horizon.policy import AllocatorPolicy, Verdict, greedy_policy, optimal_policy
from dlsched.policies.rolling_horizon.pool import Pool, held_nodes, workers_of
from dlsched.policies.rolling_horizon.widths import WidthBook
from dlsched.studies.inspect.look_ahead.answer import LookAhead, LookAheads
from dlsched.studies.inspect.look_ahead.spec import LookAheadSpec, StoredRun, StoredWidths
from dlsched.studies.inspect.re_execute import DecisionWatcher, re_execute
from dlsched.studies.simulation import Progress


def run_look_ahead(spec: LookAheadSpec, stored: StoredRun, progress: Progress | None = None) -> LookAheads:
    """Return the decisions asked for, as many as the run has.

    Raises
    ------
    InputError
        If this is another scenario than the question names, or the policy cannot run it.
    """
    watcher = re_execute(
        spec, stored.scenario,
        lambda params, prepared: _Watcher(spec, params, stored.widths, prepared.scenario.workload.job_id, progress),
    )  # fmt: skip
    return LookAheads(decisions=tuple(watcher.decisions))


class _Watcher(DecisionWatcher[LookAhead]):
    """Asks both allocators at each decision, and plans as the one of the run."""

    def __init__(
        self, spec: LookAheadSpec, params: FrozenModel, stored: StoredWidths | None, job_ids: Texts,
        progress: Progress | None,
    ) -> None:  # fmt: skip
        assert isinstance(params, AllocatorParams)
        shared = {"every_s": params.every_s, "cap": params.cap, "vm_type": params.vm_type}
        best = params if isinstance(params, OptimalParams) else OptimalParams(**shared)
        plain = params if isinstance(params, GreedyParams) else GreedyParams(**shared)
        self._allocators = optimal_policy(best).allocate, greedy_policy(plain).allocate
        self._followed = spec.policies.index(spec.policy)
        self._steps, self._every_s, self._stored, self._job_ids = best.steps, params.every_s, stored, job_ids
        self._policy = AllocatorPolicy(self._allocate, params)
        self._number = 0
        self._has_allocated = False
        self._parts: list[_Part] = []
        super().__init__(spec, self._policy.review, progress)

    def plan(self, state: State) -> Plan:
        """Return the plan of the watched policy; raise EnoughDecisions after the last decision wanted."""
        self._parts, self._has_allocated = [], False
        plan = self._policy.plan(state)
        if self._has_allocated and plan.note:
            self._number = self._number_at(state.now_s)
            self.keep(self._number, lambda: self._look_ahead(state.now_s, plan))
        return plan

    def _number_at(self, now_s: float) -> int:
        return self._number + 1 if self._stored is None else self._stored.number_at(now_s)

    def _allocate(self, state: State, pool: Pool, book: WidthBook) -> Verdict:
        self._has_allocated = True
        number = self._number_at(state.now_s)
        if number >= self.spec.first:
            best, plain = (allocate(state, pool, book) for allocate in self._allocators)
            self._parts.append(_Part(pool, _widths_planned(pool, book, best, self._steps), best, plain))
            return (best, plain)[self._followed]
        if self._stored is None or not number:
            return self._allocators[self._followed](state, pool, book)
        workers = self._stored.held_after(state.now_s, pool.rows)
        return Verdict(pool, workers, None, "as stored" if workers.any() else "")

    def _look_ahead(self, now_s: float, carried_out: Plan) -> LookAhead:
        parts = self._parts
        row = np.concatenate([part.pool.rows for part in parts])
        held = np.concatenate([part.pool.workers for part in parts])
        units = np.concatenate([part.pool.units for part in parts])
        plan = np.concatenate([part.planned for part in parts])
        greedy = np.concatenate([part.greedy for part in parts])
        new = {job: steps[0].workers if steps else 0 for job, steps in carried_out.allocations.items()}
        got = np.array([new.get(*pair) for pair in zip(row.tolist(), held.tolist(), strict=True)], dtype=np.int64)
        takes_part = (held > 0) | plan.any(axis=1) | (greedy > 0) | (got > 0)
        idle = None
        if (units == units[0]).all():
            left = np.array([(part.idle(part.planned[:, 0]), part.idle(part.greedy)) for part in parts]).sum(axis=0)
            idle = int(left[0] // units[0]), int(left[1] // units[0])
        solutions = [part.best.solution for part in parts if part.best.solution]
        solved = [solution for solution in solutions if solution.status != "infeasible"]
        statuses = [solution.status for solution in solutions]
        return LookAhead(
            number=self._number,
            time_s=float(now_s),
            step_s=float(self._every_s),
            jobs=tuple(str(name) for name in self._job_ids[row[takes_part]]),
            row=tuple(row[takes_part].tolist()),
            held=tuple(held[takes_part].tolist()),
            plan=tuple(tuple(steps) for steps in plan[takes_part].tolist()),
            greedy=tuple(greedy[takes_part].tolist()),
            objective=float(sum(solution.objective for solution in solved)) if solved else None,
            bound=float(sum(solution.bound for solution in solved)) if solved else None,
            status=next((status for status in ("infeasible", "feasible", "optimal") if status in statuses), ""),
            method=", ".join(dict.fromkeys(solution.method for solution in solutions)),
            reason="; ".join(solution.reason for solution in solutions if solution.reason),
            scenarios=", ".join(dict.fromkeys(part.plain.note for part in parts if part.plain.note)),
            idle=idle,
            rest=int((~takes_part).sum()),
            got=tuple(got[takes_part].tolist()),
        )


@dataclass(frozen=True, eq=False)
class _Part:
    """A decision in one pool of J rows: ``planned`` (J, T) workers of the optimal plan, and both verdicts."""

    pool: Pool
    planned: Ints
    best: Verdict
    plain: Verdict

    @property
    def greedy(self) -> Ints:
        """Workers that the greedy allocator gives every row of the pool, (J,)."""
        workers = np.zeros(len(self.pool.rows), dtype=np.int64)
        workers[np.searchsorted(self.pool.rows, self.plain.pool.rows)] = self.plain.workers
        return workers

    def idle(self, workers: Ints) -> int:
        """Return the units of the pool that are left with these workers, (J,)."""
        return self.pool.nodes - int(held_nodes(replace(self.pool, workers=workers)).sum())


def _widths_planned(pool: Pool, book: WidthBook, best: Verdict, num_steps: int) -> Ints:
    """Return the workers of every row of the pool at each step of the optimal plan, (J, T)."""
    planned = np.zeros((len(pool.rows), num_steps), dtype=np.int64)
    here = np.searchsorted(pool.rows, best.pool.rows)
    solution = best.solution
    if solution is None or solution.status == "infeasible":
        planned[here] = best.workers[:, None]
        return planned
    for step in range(num_steps):
        planned[here, step] = workers_of(best.pool, book, solution.plan[:, step])
    return planned
