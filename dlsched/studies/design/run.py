"""Runs of choices over draws: each different one once, known ones from the store, the rest here or spread."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from dlsched.domain.errors import DlschedError, InputError
from dlsched.domain.scenario import Scenario
from dlsched.metrics.summary import Metrics
from dlsched.store.record import CellRecord
from dlsched.studies.code_version import code_version
from dlsched.studies.design.factors import changed, draws_differ, is_drawn, without_neutral
from dlsched.studies.design.variants import Replications, Value, Variant
from dlsched.studies.run_all import spread
from dlsched.studies.simulation import Progress, resolve_policy, simulate
from dlsched.wording.assumptions import is_random

if TYPE_CHECKING:
    from dlsched.store import Store

BATCH = 50
"""Answers kept in one transaction; what was computed and not kept yet is kept too when the work is stopped."""
SOURCES = ("studies/design", "workload")


@dataclass(frozen=True, eq=False)
class VariantTask:
    """One run as it travels: the scenario before its changes, which all tasks share, and what to change."""

    scenario: Scenario
    changes: Mapping[str, Value]
    policy: str
    params: Mapping[str, Any]
    seed: int

    @property
    def key(self) -> str:
        """Hash of everything that decides the answer, the code among it."""
        asked = [self.scenario.content_hash, dict(self.changes), self.policy, dict(self.params), self.seed]
        text = json.dumps([*asked, code_version(SOURCES)], sort_keys=True)
        return blake2b(text.encode(), digest_size=16).hexdigest()

    def changed(self) -> Scenario:
        """Return the scenario that is run."""
        return changed(self.scenario, self.changes, self.seed)


@dataclass(frozen=True, eq=False)
class RunResult:
    """What a run says: metrics and the audit's complaints, or the error that ended it."""

    metrics: Metrics | None = None
    audit: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, eq=False)
class Plan:
    """Each different run by its key, and the key of every case at every seed: cases first, then seeds.

    ``exact``: nothing is random in any case, so that one draw says all.
    """

    tasks: Mapping[str, VariantTask]
    keys: tuple[str, ...]
    exact: bool = False

    def outcomes(self, found: Mapping[str, RunResult], draws: int) -> list[list[RunResult]]:
        """Return the outcome of each case at each of ``draws`` seeds."""
        return [[found[key] for key in self.keys[at : at + draws]] for at in range(0, len(self.keys), draws)]


@dataclass(frozen=True, eq=False)
class BatchResult:
    """Outcomes by case and seed, and of the different runs how many were ``computed`` and ``stored`` before."""

    outcomes: list[list[RunResult]]
    computed: int
    stored: int


def run_variants(
    scenario: Scenario,
    cases: Sequence[Variant],
    draws: Replications,
    executor: Executor | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
) -> BatchResult:
    """Return the outcome of every case at every seed.

    Parameters
    ----------
    executor
        Where to compute, a task for each run; None = here, one after the other.
    store
        Answers what was computed before and keeps the numbers of what is computed, in batches: work that was stopped
        goes on where it was.
    progress
        Told the share of runs done; what it raises stops the work and comes through.

    Raises
    ------
    InputError
        An unknown change, a bad value, or a policy that cannot run the jobs.

    A run that fails has its error; the others go on.
    """
    plan = plan_of(scenario, cases, draws)
    outcomes = {} if store is None else known(store, plan.tasks)
    stored, todo = len(outcomes), [key for key in plan.tasks if key not in outcomes]

    def tell(done: int) -> None:
        if progress is not None:
            text = f"{stored + done} of {len(plan.tasks)} runs" + (f", {stored} from the store" if stored else "")
            progress((stored + done) / len(plan.tasks), text)

    with _keeping(store) as keep:
        tasks = [plan.tasks[key] for key in todo]
        found = _here(tasks, tell, keep) if executor is None else spread(executor, carry_out, tasks, tell, keep)
    outcomes |= dict(zip(todo, found, strict=True))
    return BatchResult(plan.outcomes(outcomes, len(draws.seeds)), len(todo), stored)


def plan_of(scenario: Scenario, cases: Sequence[Variant], draws: Replications) -> Plan:
    """Return what has to be run, before anything is computed.

    Where nothing is random all seeds ask the same; so do cases that differ in nothing that matters.

    Raises
    ------
    InputError
        As :func:`run_cases`.
    """
    tasks: dict[str, VariantTask] = {}
    keys: list[str] = []
    exact = True
    for case in cases:
        changes, params, varies = check_variant(scenario, case, draws)
        exact = exact and not varies
        for seed in draws.seeds:
            task = VariantTask(scenario, changes, case.policy, params, seed if varies else draws.seeds[0])
            keys.append(key := task.key)
            tasks.setdefault(key, task)
    return Plan(tasks, tuple(keys), exact)


def check_variant(
    scenario: Scenario, case: Variant, draws: Replications
) -> tuple[dict[str, Value], dict[str, Any], bool]:
    """Return all changes of a case and of its draws, all parameters, and whether seeds differ; InputError if bad."""
    for key in draws.vary:
        if not is_drawn(scenario, (key,)):
            do = "Vary days, run_time_spread or failures; other changes are the same in every draw"
            raise InputError(f"draws, {key}", "draws nothing of its own", do)
    both = set(case.changes) & set(draws.vary)
    if both:
        raise InputError(f"change {min(both)}", "is a change and varies between draws too", "Take one of them")
    asked = without_neutral(scenario, case.changes) | dict(draws.vary)
    first = changed(scenario, asked, draws.seeds[0])
    spec, params = resolve_policy(first, case.policy, case.params)
    drawn = scenario.generator is not None or draws_differ(scenario, asked) or is_random(first)
    return asked, params, drawn or spec.draws


def is_exact(scenario: Scenario, case: Variant, draws: Replications) -> bool:
    """Whether one draw says all about a case: nothing in it is random."""
    return not check_variant(scenario, case, draws)[2]


def carry_out(task: VariantTask, progress: Progress | None = None) -> RunResult:
    """Run, audit and summarise one task; an error of the input or of the policy becomes its text."""
    try:
        run = simulate(task.changed(), task.policy, task.params, task.seed, progress)
        return RunResult(run.metrics, tuple(run.audit()))
    except DlschedError as error:
        return RunResult(error=error.clause)


def known(store: Store, tasks: Mapping[str, VariantTask]) -> dict[str, RunResult]:
    """Return what the store knows of these tasks, by key."""
    return {key: RunResult(dict(cell.metrics), cell.audit) for key, cell in store.find_cells(list(tasks)).items()}


def cell_of(task: VariantTask, outcome: RunResult) -> CellRecord | None:
    """Return what the store keeps of an outcome; None for an error: it is tried again."""
    if outcome.metrics is None:
        return None
    return CellRecord(task.key, task.scenario.content_hash, task.policy, task.seed, outcome.metrics, outcome.audit)


Keep = Callable[[VariantTask, RunResult], RunResult]


@contextmanager
def _keeping(store: Store | None) -> Iterator[Keep]:
    """Give a call that keeps outcomes in batches; what it holds at the end, also at a bad one, is kept then."""
    waiting: list[CellRecord] = []

    def flush() -> None:
        if store is not None and waiting:
            store.save_cells(waiting)
            waiting.clear()

    def keep(task: VariantTask, outcome: RunResult) -> RunResult:
        cell = cell_of(task, outcome)
        if store is not None and cell is not None:
            waiting.append(cell)
            if len(waiting) >= BATCH:
                flush()
        return outcome

    try:
        yield keep
    finally:
        flush()


def _here(tasks: Sequence[VariantTask], tell: Callable[[int], None], keep: Keep) -> list[RunResult]:
    found = []
    for task in tasks:
        found.append(keep(task, carry_out(task)))
        tell(len(found))
    return found
