"""A what-if, computed: both sides in every future, each different run once."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from dlsched.domain.errors import DlschedError
from dlsched.domain.scenario import Scenario
from dlsched.metrics.job_classes import groupings_of
from dlsched.metrics.step_functions import thin
from dlsched.metrics.winners import COLUMNS, Winners, winners
from dlsched.store.record import CellStore
from dlsched.studies.byte_cache import ByteCache
from dlsched.studies.design import EditedScenarios, ResolvedVariant, RunResult, VariantTask, in_full
from dlsched.studies.design.run import carry_out, cell_of, keeping, stored_results
from dlsched.studies.run_all import run_all
from dlsched.studies.simulation import Progress, Run, simulate
from dlsched.studies.what_if.answer import CHANGED, LEVELS_PERCENT, TODAY, Side, WhatIf
from dlsched.studies.what_if.spec import WhatIfPlan, WhatIfSpec, planned

QUEUE_POINTS = 400
TABLE_BYTES, NUMBER_BYTES = 256 << 20, 32 << 20
"""What a process remembers at most of runs: jobs (about 75 bytes each), and numbers (about 10 KB a run)."""


@dataclass(frozen=True, eq=False)
class RunDigest:
    """What is needed of one run: its result, and where its jobs are shown curves of their times and of the queue."""

    result: RunResult
    started: int = 0
    waits_s: tuple[float, ...] = ()
    times_in_system_s: tuple[float, ...] = ()
    queue: tuple[tuple[float, float], ...] = ()
    cpu_s: float = 0.0


@dataclass(frozen=True, eq=False)
class _Runs:
    """What a question runs: ``keys`` of each side by future, ``every`` different run in the order of the futures.

    ``whole``: keys of those whose jobs are shown, of the first ``shown`` futures.
    """

    keys: tuple[tuple[str, ...], ...]
    every: Mapping[str, VariantTask]
    whole: Collection[str]
    shown: int

    @classmethod
    def of(cls, plan: WhatIfPlan) -> _Runs:
        """Return the runs of a question that can be answered."""
        tasks = [side.tasks(plan.edited.scenario) for side in (plan.today, plan.baseline, plan.changed)]
        keys = tuple(tuple(task.key for task in of_side) for of_side in tasks)
        every = {keys[side][place]: tasks[side][place] for place in range(len(keys[0])) for side in range(len(keys))}
        shown = len(in_full(plan.basis, plan.spec.futures))
        return cls(keys, every, {key for of_side in keys for key in of_side[:shown]}, shown)

    def pairs(self, *, moved: bool) -> list[tuple[str, str]]:
        """Return the runs that are compared job by job, before and after; none if they are the same."""
        before, after = self.keys[1 if moved else 0], self.keys[2]
        return [pair for pair in zip(before[: self.shown], after[: self.shown], strict=True) if pair[0] != pair[1]]


@dataclass(frozen=True, eq=False)
class _Part:
    """One run as it travels; ``in_full``: its jobs are shown."""

    task: VariantTask
    in_full: bool


@dataclass(frozen=True, eq=False)
class _Played:
    """One run that was made, with its jobs where they are shown."""

    digest: RunDigest
    jobs: pd.DataFrame | None = None


_jobs, _numbers = ByteCache(TABLE_BYTES), ByteCache(NUMBER_BYTES)
"""Of runs: the baseline is the same in question after question. Also which groups won, by the runs compared."""


def run_what_if(
    spec: WhatIfSpec,
    scenario: Scenario,
    executor: Executor | None = None,
    store: CellStore | None = None,
    progress: Progress | None = None,
) -> WhatIf:
    """Return the answer to a question about a scenario; parameters as :func:`studies.design.run_variants`.

    A run that fails leaves its error; the others go on. What was run is remembered in this process, wherever it was
    computed; of runs whose jobs are not shown only numbers are needed, which the store may know.

    Raises
    ------
    InputError
        An unknown change, a bad value, a policy that cannot run the jobs, or a question about another scenario.
    """
    plan = planned(spec, scenario)
    runs = _Runs.of(plan)
    exact = plan.basis.kind != "drawn"
    pairs = runs.pairs(moved=bool(plan.moved))
    won: tuple[Winners, ...] | None = _numbers.find(("winners", *pairs, exact))
    matched = {key for pair in pairs for key in pair if won is None}
    digests, jobs = _carried_out(runs, matched, plan.edited, executor, store, progress)
    if won is None:
        won = _winners(pairs, digests, jobs, exact=exact)
        if not any(digests[key].result.error for pair in pairs for key in pair):
            _numbers.keep(("winners", *pairs, exact), won)
    today, nothing, option = ([digests[key] for key in of_side] for of_side in runs.keys)
    return WhatIf(
        scenario=scenario.content_hash,
        scenario_name=scenario.name,
        today=_side(plan.today, today),
        baseline=_side(plan.baseline, nothing),
        changed=_side(plan.changed, option),
        conditions=plan.conditions,
        moved=plan.moved,
        futures=spec.futures,
        basis=plan.basis,
        free_slots=scenario.cluster.rents,
        winners=won,
        run_cpu_s=_run_cpu_s(nothing, option),
        counted=scenario.counted,
    )


def runs_of_numbers(plan: WhatIfPlan) -> dict[str, VariantTask]:
    """Return the runs of a question by key of which only numbers are needed, in the order of the futures."""
    runs = _Runs.of(plan)
    return {key: task for key, task in runs.every.items() if key not in runs.whole}


def _carried_out(
    runs: _Runs,
    matched: Collection[str],
    edited: EditedScenarios,
    executor: Executor | None,
    store: CellStore | None,
    progress: Progress | None,
) -> tuple[dict[str, RunDigest], dict[str, pd.DataFrame]]:
    """Return what is needed of every run, and the jobs of those that are ``matched`` job by job, by key.

    What is not known yet is played in the order of the futures.
    """
    every, whole = runs.every, runs.whole
    digests = _remembered(every, whole)
    if store is not None:
        store.save_cells([cell for key, one in digests.items() if (cell := cell_of(every[key], one.result))])
        asked = {key: task for key, task in every.items() if key not in digests and key not in whole}
        digests |= {key: RunDigest(result) for key, result in stored_results(store, asked).items()}
    jobs = {key: table for key in matched if (table := _jobs.find(key)) is not None}
    todo = [
        _Part(task, key in whole)
        for key, task in every.items()
        if key not in digests or (key in matched and key not in jobs)
    ]
    known = len(digests.keys() - whole)
    with keeping(store) as keep:

        def take(part: _Part, played: _Played) -> None:
            digests[part.task.key] = played.digest
            if played.jobs is not None:
                jobs[part.task.key] = played.jobs
            _remember(part, played)
            if keep is not None:
                keep(part.task, played.digest.result)

        work = _play if executor is not None else partial(_play, edited=edited)
        run_all(todo, work, executor, progress, take, noun="future", stored=known)
    return digests, jobs


def forget_runs() -> None:
    """Forget the runs this process remembers."""
    _jobs.clear()
    _numbers.clear()


def _remembered(every: Iterable[str], whole: Collection[str]) -> dict[str, RunDigest]:
    """Return what this process remembers of runs by key, with their curves where they are shown."""
    found = {key: _numbers.find((key, "in full")) or (None if key in whole else _numbers.find(key)) for key in every}
    return {key: digest for key, digest in found.items() if digest is not None}


def _remember(part: _Part, played: _Played) -> None:
    """Keep a run for the next question; a failed one is tried again."""
    key = part.task.key
    if played.jobs is not None:
        _jobs.keep(key, played.jobs)
        _numbers.keep((key, "in full"), played.digest)
    elif not played.digest.result.error:
        _numbers.keep(key, played.digest)


def _play(part: _Part, progress: Progress | None = None, edited: EditedScenarios | None = None) -> _Played:
    """Return what is needed of one run; ``edited``: scenarios with changes, where they are shared."""
    task = part.task
    if not part.in_full:
        return _Played(RunDigest(carry_out(task, progress)))
    begun_s = time.process_time()
    try:
        made = task.changed() if edited is None else edited.at(task.changes, task.seed)
        run = simulate(made, task.policy, task.params_on(made), task.seed, progress)
        result = RunResult(run.metrics, tuple(run.audit()))
    except DlschedError as error:
        return _Played(RunDigest(RunResult(error=str(error))))
    jobs = run.jobs[[name for name in COLUMNS if name in run.jobs]]
    waits_s, times_s = (_quantiles(jobs[name]) for name in ("wait_s", "jct_s"))
    started = int(jobs["wait_s"].notna().sum())
    return _Played(RunDigest(result, started, waits_s, times_s, _queue(run), time.process_time() - begun_s), jobs)


def _run_cpu_s(*sides: Sequence[RunDigest]) -> float:
    """Return CPU seconds of a run: the usual one of each side, and of the two the mean; 0 where all failed."""
    times = [[digest.cpu_s for digest in side if digest.cpu_s] for side in sides]
    return float(np.mean([np.median(of_side) if of_side else 0.0 for of_side in times]))


def _queue(run: Run) -> tuple[tuple[float, float], ...]:
    at_s, waiting = (run.series[name].to_numpy(float) for name in ("time_s", "waiting"))
    keep = thin(at_s, [waiting], QUEUE_POINTS)
    return tuple(zip(at_s[keep].tolist(), waiting[keep].tolist(), strict=True))


def _side(variant: ResolvedVariant, digests: Sequence[RunDigest]) -> Side:
    """Return one side over its futures, with the curves of the first."""
    first, results = digests[0], [one.result for one in digests]
    errors = dict.fromkeys(one.error for one in results if one.error)
    return Side(
        policy=variant.policy.spec.key,
        label=variant.policy.spec.label,
        metrics=tuple({key: _number(value) for key, value in (one.metrics or {}).items()} for one in results),
        audit=tuple(dict.fromkeys(complaint for one in results for complaint in one.audit)),
        errors=tuple(errors),
        started=first.started,
        completed=int((first.result.metrics or {}).get("completed") or 0),
        waits_s=first.waits_s,
        times_in_system_s=first.times_in_system_s,
        queue=first.queue,
    )


def _number(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)


def _quantiles(values_s: pd.Series) -> tuple[float, ...]:
    """Return the times not exceeded by LEVELS_PERCENT of the jobs that have one; empty where none has."""
    known = values_s.dropna().to_numpy(float)
    if not len(known):
        return ()
    found = np.percentile(known, LEVELS_PERCENT, method="inverted_cdf")
    return tuple(found.tolist())


def _winners(
    pairs: Sequence[tuple[str, str]],
    digests: Mapping[str, RunDigest],
    jobs: Mapping[str, pd.DataFrame],
    *,
    exact: bool,
) -> tuple[Winners, ...]:
    """Return which groups gain and which lose, over futures that both sides completed; none if nothing differs."""
    tables = [(jobs[before], jobs[after]) for before, after in pairs if before in jobs and after in jobs]
    if not tables:
        return ()
    metrics = [digests[key].result.metrics for pair in pairs for key in pair]
    elastic = any(one and one.get("other_width_share") for one in metrics)
    quantity = "jct_s" if elastic else "wait_s"  # with changed widths a job can start at once and crawl
    return tuple(
        winners(tables, by, quantity, names=(TODAY, CHANGED), exact=exact) for by in groupings_of(tables[0][0])
    )
