"""All runs of a sweep: known ones from the store, the rest here or spread over processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dlsched.domain.errors import DlschedError, InputError
from dlsched.domain.scenario import Scenario
from dlsched.experiments.batch import known
from dlsched.experiments.executor import spread
from dlsched.experiments.run import Progress, key_of, question, simulate
from dlsched.experiments.sweep.changes import change_of, changed, is_drawn
from dlsched.experiments.sweep.spec import AxisSpec, SweepSpec, Value
from dlsched.experiments.worker import packed
from dlsched.metrics.chips import is_random
from dlsched.metrics.summary import Metrics
from dlsched.metrics.sweep import Axis, Cell, Sweep
from dlsched.policies import registry
from dlsched.store.record import RunRecord

if TYPE_CHECKING:
    from dlsched.store import Store

BATCH = 20
"""Runs kept in one transaction; what was computed and not kept yet is kept too when a sweep is stopped."""


@dataclass(frozen=True, eq=False)
class Task:
    """One run as it travels: the scenario before its changes, which all tasks share, and what to change."""

    scenario: Scenario
    changes: Mapping[str, Value]
    policy: str
    params: Mapping[str, Any]
    seed: int
    keep: bool

    def changed(self) -> Scenario:
        """Return the scenario that is run."""
        return changed(self.scenario, self.changes, self.seed)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run says: metrics and the audit's complaints, or the error that ended it; ``record`` where it is kept."""

    metrics: Metrics | None = None
    audit: tuple[str, ...] = ()
    error: str = ""
    record: RunRecord | None = None


Keep = Callable[[Task, Outcome], Outcome]
"""Takes what is to be kept out of an outcome and returns the rest."""


@dataclass(frozen=True, eq=False)
class Swept:
    """An answer, and of its different runs how many were ``computed`` and how many came from the store."""

    answer: Sweep
    computed: int
    stored: int


def run_sweep(
    spec: SweepSpec,
    scenario: Scenario,
    executor: Executor | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
) -> Swept:
    """Return the answer of a sweep.

    Parameters
    ----------
    executor
        Where to compute, a task for each run; None = here, one after the other.
    store
        Answers what was computed before, and keeps every run that is computed, in batches. A sweep that was stopped
        goes on where it was.
    progress
        Told the share of runs done; what it raises stops the sweep and comes through.

    Raises
    ------
    InputError
        Another scenario than the question names, an unknown change, a bad value, or a policy that cannot run the jobs.

    A run that fails has its error; the others go on.
    """
    check(spec, scenario)
    by_key, keys = _tasks(spec, scenario, keep=store is not None)
    outcomes: dict[str, Outcome] = {}
    if store is not None:
        for key in by_key:
            draw = known(store, key)
            if draw is not None:
                outcomes[key] = Outcome(*draw)
    stored, todo = len(outcomes), [key for key in by_key if key not in outcomes]

    def tell(done: int) -> None:
        if progress is not None:
            text = f"{stored + done} of {len(by_key)} runs" + (f", {stored} from the store" if stored else "")
            progress((stored + done) / len(by_key), text)

    with _keeping(store) as keep:
        tasks = [by_key[key] for key in todo]
        found = _here(tasks, tell, keep) if executor is None else spread(executor, carry_out, tasks, tell, keep)
    outcomes |= dict(zip(todo, found, strict=True))
    return Swept(_answer(spec, scenario, [outcomes[key] for key in keys]), len(todo), stored)


def check(spec: SweepSpec, scenario: Scenario) -> None:
    """Raise InputError when the sweep cannot be run, before anything is computed."""
    if spec.scenario != scenario.content_hash:
        why = f"asks about scenario {spec.scenario[:8]}, got {scenario.content_hash[:8]}"
        raise InputError("sweep", why, "Ask with that scenario")
    for axis in spec.axes:
        if axis.policy and axis.policy not in spec.policies:
            why = f"is of a policy that is not swept, {axis.policy}"
            raise InputError(f"parameter {axis.key}", why, "Add it to the policies")
    for point in spec.points:
        varied = changed(scenario, scenario_part(spec.axes, point), spec.seeds[0])
        for policy in spec.policies:
            question(varied, policy, params_of(spec.axes, point, policy))


def carry_out(task: Task) -> Outcome:
    """Run, audit and summarise one task; an error of the input or of the policy becomes its text."""
    try:
        run = simulate(task.changed(), task.policy, task.params, task.seed)
        record = packed(run.record()) if task.keep else None
        return Outcome(run.metrics, tuple(run.audit()), record=record)
    except DlschedError as error:
        return Outcome(error=str(error))


def scenario_part(axes: Sequence[AxisSpec], point: Sequence[Value | None]) -> dict[str, Value]:
    """Return the changes of the scenario at a point, by key."""
    return {a.key: value for a, value in zip(axes, point, strict=True) if value is not None and not a.policy}


def params_of(axes: Sequence[AxisSpec], point: Sequence[Value | None], policy: str) -> dict[str, Value]:
    """Return the parameters of a policy at a point."""
    return {
        axis.key.partition(".")[2]: value
        for axis, value in zip(axes, point, strict=True)
        if value is not None and axis.policy == policy
    }


def _tasks(spec: SweepSpec, scenario: Scenario, *, keep: bool) -> tuple[dict[str, Task], list[str]]:
    """Return each different run by its key, and the key of every cell: points first, then policies, then seeds.

    Where nothing is random all seeds ask the same; so do all values of a parameter for the other policies.
    """
    by_key: dict[str, Task] = {}
    cells: list[str] = []
    for point in spec.points:
        changes = scenario_part(spec.axes, point)
        first = changed(scenario, changes, spec.seeds[0])
        own = scenario.generator is not None or is_drawn(scenario, changes)
        at = {seed: changed(scenario, changes, seed) if own else first for seed in spec.seeds}
        drawn = own or is_random(first)
        for policy in spec.policies:
            params = params_of(spec.axes, point, policy)
            varies = drawn or registry.find(policy).draws
            for seed in spec.seeds:
                run_seed = seed if varies else spec.seeds[0]
                key = key_of(at[run_seed], policy, params, run_seed)
                by_key.setdefault(key, Task(scenario, changes, policy, params, run_seed, keep))
                cells.append(key)
    return by_key, cells


@contextmanager
def _keeping(store: Store | None) -> Iterator[Keep]:
    """Give a call that keeps outcomes in batches; what it holds at the end, also at a bad one, is kept then."""
    waiting: list[RunRecord] = []

    def flush() -> None:
        if store is not None and waiting:
            store.save_runs(waiting)
            waiting.clear()

    def keep(task: Task, outcome: Outcome) -> Outcome:
        if outcome.record is not None:
            waiting.append(replace(outcome.record, scenario=task.changed()))
            if len(waiting) >= BATCH:
                flush()
        return replace(outcome, record=None)

    try:
        yield keep
    finally:
        flush()


def _here(tasks: Sequence[Task], tell: Callable[[int], None], keep: Keep) -> list[Outcome]:
    found = []
    for task in tasks:
        found.append(keep(task, carry_out(task)))
        tell(len(found))
    return found


def _answer(spec: SweepSpec, scenario: Scenario, outcomes: Sequence[Outcome]) -> Sweep:
    at = iter(outcomes)
    cells = []
    for point in range(len(spec.points)):
        for policy in spec.policies:
            for seed in spec.seeds:
                cells.append(_cell(spec, point, policy, seed, next(at)))
    return Sweep(
        scenario=spec.scenario,
        scenario_name=scenario.name,
        mode=spec.mode,
        axes=tuple(_axis(scenario, axis) for axis in spec.axes),
        points=spec.points,
        policies=spec.policies,
        labels={key: registry.find(key).label for key in spec.policies},
        reference=spec.reference,
        seeds=spec.seeds,
        metrics=spec.metrics,
        cells=tuple(cells),
    )


def _axis(scenario: Scenario, axis: AxisSpec) -> Axis:
    if axis.policy:
        return Axis(key=axis.key, label=axis.key, unit="", values=axis.values)
    change = change_of(scenario, axis.key)
    return Axis(key=axis.key, label=change.label, unit=change.unit, values=axis.values)


def _cell(spec: SweepSpec, point: int, policy: str, seed: int, outcome: Outcome) -> Cell:
    metrics = outcome.metrics or {}
    values = {key: None if (value := metrics.get(key)) is None else float(value) for key in spec.metrics}
    jobs = {key: metrics.get(key) for key in ("completed", "rejected", "unfinished")}
    return Cell(point=point, policy=policy, seed=seed, values=values, audit=outcome.audit, error=outcome.error, **jobs)
