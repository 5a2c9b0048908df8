"""Runs of variants over draws: each different one once, known ones from the store, the rest here or spread."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import zip_longest
from typing import Any

from dlsched.domain.errors import DlschedError, InputError
from dlsched.domain.scenario import Scenario
from dlsched.metrics.summary import Metrics
from dlsched.store.record import CellRecord, CellStore
from dlsched.studies.code_version import version_of
from dlsched.studies.design.factors import changed, differs_by_seed, draws_differ, is_drawn, without_neutral
from dlsched.studies.design.measures import JobTimes, paired_measures, times_of
from dlsched.studies.design.shaking import SHAKING, shaken_params
from dlsched.studies.design.variants import Futures, Value, Variant
from dlsched.studies.run_all import run_all
from dlsched.studies.simulation import Progress, ResolvedPolicy, Run, resolve_policy, simulate
from dlsched.wording.assumptions import is_random

BATCH = 50
"""Results kept in one transaction; what was computed and not kept yet is kept too when the work is stopped."""
SOURCES = ("studies/design", "workload")


class EditedScenarios:
    """A scenario with changes, each edited once: what one question shares between its checks and its runs."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._edited: dict[str, Scenario] = {}

    def at(self, changes: Mapping[str, Value], seed: int) -> Scenario:
        """Return the scenario with changes for the draw of a seed; InputError as :func:`changed`."""
        own = seed if differs_by_seed(self.scenario, changes) else 0
        key = json.dumps([dict(changes), own], sort_keys=True)
        if key not in self._edited:
            self._edited[key] = changed(self.scenario, changes, own)
        return self._edited[key]


@dataclass(frozen=True, eq=False)
class VariantTask:
    """One run as it travels: the scenario before its changes, which all tasks share, and what to change.

    ``reference``: key and parameters of the policy whose run of the same jobs it is compared with, job by job.
    """

    scenario: Scenario
    changes: Mapping[str, Value]
    policy: str
    params: Mapping[str, Any]
    seed: int
    reference: tuple[str, Mapping[str, Any]] | None = None

    @property
    def key(self) -> str:
        """Hash of everything that decides the result, the code among it."""
        question = [self.scenario.content_hash, dict(self.changes), self.policy, dict(self.params), self.seed]
        question += [] if self.reference is None else [self.reference[0], dict(self.reference[1])]
        policies = [self.policy] if self.reference is None else [self.policy, self.reference[0]]
        text = json.dumps([*question, version_of(self.scenario, policies, SOURCES)], sort_keys=True)
        return blake2b(text.encode(), digest_size=16).hexdigest()

    def changed(self) -> Scenario:
        """Return the scenario that is run."""
        return changed(self.scenario, self.changes, self.seed)

    def params_on(self, made: Scenario) -> Mapping[str, Any]:
        """Return the parameters with which the scenario that is run, ``made``, is run."""
        is_shaken = SHAKING in self.changes
        return shaken_params(made, self.policy, self.params, self.seed) if is_shaken else self.params

    def run(self, progress: Progress | None = None) -> Run:
        """Run it."""
        made = self.changed()
        return simulate(made, self.policy, self.params_on(made), self.seed, progress)


@dataclass(frozen=True, eq=False)
class ResolvedVariant:
    """A variant that can be run, its policy with all parameters.

    ``changes`` of the variant, without those that change nothing. ``futures``: on which it is run. ``first``: the
    scenario with the changes, in the first of them. ``differs``: whether futures differ in anything. ``reference``: the
    policy it is compared with, job by job.
    """

    changes: Mapping[str, Value]
    futures: Futures
    policy: ResolvedPolicy
    first: Scenario
    differs: bool
    reference: ResolvedPolicy | None = None

    def tasks(self, scenario: Scenario) -> list[VariantTask]:
        """Return the run of every future; where nothing differs all are that of the first one."""
        key, params = self.policy.spec.key, self.policy.values
        reference = None if self.reference is None else (self.reference.spec.key, self.reference.values)
        seeds = self.futures.seeds if self.differs else self.futures.seeds[:1] * len(self.futures.seeds)
        return [
            VariantTask(scenario, dict(self.changes) | self.futures.changes_in(seed), key, params, seed, reference)
            for seed in seeds
        ]


@dataclass(frozen=True, eq=False)
class RunResult:
    """What a run says: metrics and the audit's complaints, or the error that ended it."""

    metrics: Metrics | None = None
    audit: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, eq=False)
class VariantPlan:
    """Each different run by its key, and the key of every variant at every one of ``draws`` seeds, variants first.

    ``exact``: nothing is random in any variant, so that one draw says all.
    """

    tasks: Mapping[str, VariantTask]
    keys: tuple[str, ...]
    draws: int
    exact: bool = False

    def results(self, by_key: Mapping[str, RunResult]) -> list[list[RunResult]]:
        """Return the result of each variant at each seed."""
        return [[by_key[key] for key in self.keys[at : at + self.draws]] for at in range(0, len(self.keys), self.draws)]


@dataclass(frozen=True, eq=False)
class BatchResult:
    """Results by variant and seed, and of the different runs how many were ``computed`` and ``stored`` before."""

    results: list[list[RunResult]]
    computed: int
    stored: int


def run_variants(
    scenario: Scenario,
    variants: Sequence[Variant],
    futures: Futures,
    executor: Executor | None = None,
    store: CellStore | None = None,
    progress: Progress | None = None,
    references: Sequence[Variant] = (),
) -> BatchResult:
    """Return the result of every variant at every seed.

    Parameters
    ----------
    references
        For each variant the one that it is compared with, job by job; see :func:`plan_of`.
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
    return run_plan(plan_of(scenario, variants, futures, references), executor, store, progress)


def run_plan(
    plan: VariantPlan,
    executor: Executor | None = None,
    store: CellStore | None = None,
    progress: Progress | None = None,
) -> BatchResult:
    """Return the results of a plan; parameters as :func:`run_variants`."""
    by_key, stored = run_tasks(plan.tasks, executor, store, progress)
    return BatchResult(plan.results(by_key), len(by_key) - stored, stored)


def run_tasks(
    tasks: Mapping[str, VariantTask],
    executor: Executor | None = None,
    store: CellStore | None = None,
    progress: Progress | None = None,
    noun: str = "run",
) -> tuple[dict[str, RunResult], int]:
    """Return the result of each task by its key, and how many the store knew; parameters as :func:`run_variants`."""
    known = {} if store is None else stored_results(store, tasks)
    todo = [key for key in tasks if key not in known]
    with keeping(store) as keep:
        made = run_all([tasks[key] for key in todo], carry_out, executor, progress, keep, noun=noun, stored=len(known))
    return known | dict(zip(todo, made, strict=True)), len(known)


def plan_of(
    scenario: Scenario, variants: Sequence[Variant], futures: Futures, references: Sequence[Variant] = ()
) -> VariantPlan:
    """Return what has to be run, before anything is computed.

    Where nothing is random all seeds ask the same; so do variants that differ in nothing that matters. ``references``
    hold for each variant the one that it is compared with: the same changes under another policy.

    Raises
    ------
    InputError
        As :func:`run_variants`.
    """
    tasks: dict[str, VariantTask] = {}
    keys: list[str] = []
    exact = True
    for variant, reference in zip_longest(variants, references):
        resolved = resolve_variant(EditedScenarios(scenario), variant, futures, reference)
        exact = exact and not resolved.differs
        for task in resolved.tasks(scenario):
            keys.append(key := task.key)
            tasks.setdefault(key, task)
    return VariantPlan(tasks, tuple(keys), len(futures.seeds), exact)


def resolve_variant(
    edited: EditedScenarios, variant: Variant, futures: Futures, reference: Variant | None = None
) -> ResolvedVariant:
    """Return a variant with everything that decides its runs; InputError as :func:`run_variants`.

    ``reference``: the variant it is compared with, of the same changes.
    """
    scenario = edited.scenario
    if futures.vary and scenario.generator is not None:
        why = "is for recorded jobs; these are generated, and differ from future to future by themselves"
        raise InputError(f"futures, {min(futures.vary)}", why, "Set run times and failures as conditions instead")
    for key in futures.vary:
        if not is_drawn(scenario, (key,)):
            do = "Vary days, run_time_spread, failures or shaking; other changes are the same in every future"
            raise InputError(f"futures, {key}", "has no randomness of its own", do)
    both = set(variant.changes) & set(futures.vary)
    if both:
        raise InputError(f"change {min(both)}", "is a change and varies between futures too", "Take one of them")
    changes = without_neutral(scenario, variant.changes)
    varied = changes | dict(futures.vary)
    first = edited.at(changes | futures.changes_in(futures.seeds[0]), futures.seeds[0])
    policy = resolve_policy(first, variant.policy, variant.params)
    other = None if reference is None else resolve_policy(first, reference.policy, reference.params)
    is_drawn_anew = scenario.generator is not None or draws_differ(scenario, varied) or is_random(first)
    differs = is_drawn_anew or policy.spec.draws or (other is not None and other.spec.draws)
    return ResolvedVariant(changes, futures, policy, first, differs, other)


def check_variant(scenario: Scenario, variant: Variant, futures: Futures) -> ResolvedVariant:
    """Return a variant that is looked at alone, as :func:`resolve_variant`."""
    return resolve_variant(EditedScenarios(scenario), variant, futures)


def is_exact(scenario: Scenario, variant: Variant, futures: Futures) -> bool:
    """Whether one draw says all about a variant: nothing in it is random."""
    return not check_variant(scenario, variant, futures).differs


def carry_out(task: VariantTask, progress: Progress | None = None) -> RunResult:
    """Run, audit and summarise one task; an error of the input or of the policy becomes its text."""
    try:
        run = task.run(progress)
        metrics = run.metrics
        if task.reference is not None:
            times = times_of(run)
            metrics = metrics | paired_measures(run, times, _reference_times(task, times))
        return RunResult(metrics, tuple(run.audit()))
    except DlschedError as error:
        return RunResult(error=str(error))


MOST_LATEST = 100
_LATEST: dict[str, JobTimes] = {}
"""Job times of the latest runs of reference policies in this process, by key: variants of one draw share them."""


def _reference_times(task: VariantTask, ours: JobTimes) -> JobTimes:
    """Return the job times of the reference policy's run, which is ``ours`` where the task asks for that itself."""
    assert task.reference is not None
    policy, params = task.reference
    reference = replace(task, policy=policy, params=params)
    key = reference.key
    if key == task.key:
        _LATEST[key] = ours
    elif key not in _LATEST:
        _LATEST[key] = times_of(reference.run())
    times = _LATEST[key]
    while len(_LATEST) > MOST_LATEST:
        del _LATEST[next(iter(_LATEST))]
    return times


def stored_results(store: CellStore, tasks: Mapping[str, VariantTask]) -> dict[str, RunResult]:
    """Return what the store knows of these tasks, by key."""
    return {key: RunResult(dict(cell.metrics), cell.audit) for key, cell in store.find_cells(list(tasks)).items()}


def cell_of(task: VariantTask, result: RunResult) -> CellRecord | None:
    """Return what the store keeps of a result; None for an error: it is tried again."""
    if result.metrics is None:
        return None
    return CellRecord(task.key, task.scenario.content_hash, task.policy, task.seed, result.metrics, result.audit)


@contextmanager
def keeping(store: CellStore | None) -> Iterator[Callable[[VariantTask, RunResult], None] | None]:
    """Give a call that keeps results in batches; what it holds at the end, also at a bad one, is kept then."""
    if store is None:
        yield None
        return
    waiting: list[CellRecord] = []

    def flush() -> None:
        if waiting:
            store.save_cells(waiting)
            waiting.clear()

    def keep(task: VariantTask, result: RunResult) -> None:
        if (cell := cell_of(task, result)) is not None:
            waiting.append(cell)
        if len(waiting) >= BATCH:
            flush()

    try:
        yield keep
    finally:
        flush()
