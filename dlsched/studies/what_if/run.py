"""A what-if, computed: both sides in every future, each different run once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dlsched.domain.errors import DlschedError
from dlsched.domain.scenario import Scenario
from dlsched.metrics.job_classes import groupings_of
from dlsched.metrics.step_functions import thin
from dlsched.metrics.summary import Metrics
from dlsched.metrics.winners import Winners, winners
from dlsched.store.record import CellStore
from dlsched.studies.design import EditedScenarios, ResolvedVariant, RunResult, VariantTask, in_full
from dlsched.studies.design.run import cell_of, run_tasks
from dlsched.studies.run_all import run_all
from dlsched.studies.simulation import Progress, Run, run_resolved
from dlsched.studies.what_if.answer import CHANGED, LEVELS_PERCENT, TODAY, Side, WhatIf
from dlsched.studies.what_if.spec import WhatIfSpec, planned

QUEUE_POINTS = 400
JOBS_KEPT = 200_000
"""Jobs of runs this process remembers: the baseline is the same in question after question, and is run once."""


@dataclass(frozen=True, eq=False)
class RunDigest:
    """What is needed of one run: numbers, one row a job, the queue over time; or the error that ended it."""

    metrics: Metrics | None = None
    audit: tuple[str, ...] = ()
    jobs: pd.DataFrame | None = None
    queue: tuple[tuple[float, float], ...] = ()
    cpu_s: float = 0.0
    error: str = ""


_recent: dict[str, RunDigest] = {}


def run_what_if(
    spec: WhatIfSpec,
    scenario: Scenario,
    executor: Executor | None = None,
    store: CellStore | None = None,
    progress: Progress | None = None,
) -> WhatIf:
    """Return the answer to a question about a scenario; parameters as :func:`studies.design.run_variants`.

    A run that fails leaves its error; the others go on. The runs whose jobs are shown are made in this process, which
    remembers them; of the others only numbers are needed.

    Raises
    ------
    InputError
        An unknown change, a bad value, a policy that cannot run the jobs, or a question about another scenario.
    """
    plan = planned(spec, scenario)
    sides = (plan.today, plan.baseline, plan.changed)
    tasks = [side.tasks(scenario) for side in sides]
    shown = in_full(plan.basis, spec.futures)
    whole = {
        of_side[place].key: (side, of_side[place])
        for side, of_side in zip(sides, tasks, strict=True)
        for place in shown
    }
    rest = {task.key: task for of_side in tasks for task in of_side if task.key not in whole}
    part = len(whole) / (len(whole) + len(rest))

    def play(key: str, progress: Progress | None = None) -> RunDigest:
        return _digest(plan.edited, *whole[key], key, progress)

    digests = dict(zip(whole, run_all([*whole], play, None, _within(progress, 0.0, part), noun="future"), strict=True))
    results = run_tasks(rest, executor, store, _within(progress, part, 1.0), noun="future")[0]
    results |= {key: RunResult(one.metrics, one.audit, one.error) for key, one in digests.items()}
    if store is not None:
        store.save_cells([cell for key, (_, task) in whole.items() if (cell := cell_of(task, results[key]))])
    digest_of = [[digests[of_side[place].key] for place in shown] for of_side in tasks]
    told = [
        _side(side, [results[task.key] for task in of_side], of_shown[0])
        for side, of_side, of_shown in zip(sides, tasks, digest_of, strict=True)
    ]
    today, nothing, option = digest_of
    before = nothing if plan.moved else today
    return WhatIf(
        scenario=scenario.content_hash,
        scenario_name=scenario.name,
        today=told[0],
        baseline=told[1],
        changed=told[2],
        conditions=plan.conditions,
        moved=plan.moved,
        futures=spec.futures,
        basis=plan.basis,
        free_slots=scenario.cluster.free_slots,
        winners=_winners(list(zip(before, option, strict=True)), exact=plan.basis.kind != "drawn"),
        run_cpu_s=_run_cpu_s(nothing, option),
        counted=scenario.counted,
    )


def _within(progress: Progress | None, low: float, high: float) -> Progress | None:
    """Return the receiver of progress for a part of the work."""
    if progress is None:
        return None
    return lambda share, text: progress(low + (high - low) * share, text)


def forget_runs() -> None:
    """Forget the runs this process remembers."""
    _recent.clear()


def _digest(
    edited: EditedScenarios, side: ResolvedVariant, task: VariantTask, key: str, progress: Progress | None
) -> RunDigest:
    """Return what is needed of one run, from what this process remembers where that is known."""
    if key in _recent:
        _recent[key] = _recent.pop(key)  # the baseline, asked for again and again, is the last to be forgotten
        return _recent[key]
    begun_s = time.process_time()
    try:
        run = run_resolved(edited.at(task.changes, task.seed), side.policy, task.seed, progress)
        audit = tuple(run.audit())
    except DlschedError as error:
        return RunDigest(error=str(error))
    digest = RunDigest(run.metrics, audit, run.jobs, _queue(run), time.process_time() - begun_s)
    _remember(key, digest)
    return digest


def _remember(key: str, digest: RunDigest) -> None:
    """Keep a run for the next question; those asked for longest ago go where there are too many."""
    _recent[key] = digest
    sizes = {key: len(kept.jobs) for key, kept in _recent.items() if kept.jobs is not None}
    while sum(sizes.values()) > JOBS_KEPT and sizes:
        oldest = next(iter(sizes))
        del sizes[oldest], _recent[oldest]


def _run_cpu_s(*sides: Sequence[RunDigest]) -> float:
    """Return CPU seconds of a run: the usual one of each side, and of the two the mean; 0 where all failed."""
    times = [[digest.cpu_s for digest in side if digest.cpu_s] for side in sides]
    return float(np.mean([np.median(of_side) if of_side else 0.0 for of_side in times]))


def _queue(run: Run) -> tuple[tuple[float, float], ...]:
    at_s, waiting = (run.series[name].to_numpy(float) for name in ("time_s", "waiting"))
    keep = thin(at_s, [waiting], QUEUE_POINTS)
    return tuple(zip(at_s[keep].tolist(), waiting[keep].tolist(), strict=True))


def _side(variant: ResolvedVariant, results: Sequence[RunResult], first: RunDigest) -> Side:
    """Return one side over its futures, with the curves of the first."""
    waits, times = ((), ()) if first.jobs is None else (_quantiles(first.jobs[name]) for name in ("wait_s", "jct_s"))
    metrics = first.metrics or {}
    errors = dict.fromkeys(one.error for one in results if one.error)
    return Side(
        policy=variant.policy.spec.key,
        label=variant.policy.spec.label,
        metrics=tuple({key: _number(value) for key, value in (one.metrics or {}).items()} for one in results),
        audit=tuple(dict.fromkeys(complaint for one in results for complaint in one.audit)),
        errors=tuple(errors),
        started=0 if first.jobs is None else int(first.jobs["wait_s"].notna().sum()),
        completed=int(metrics.get("completed") or 0),
        waits_s=waits,
        times_in_system_s=times,
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


def _winners(runs: Sequence[tuple[RunDigest, RunDigest]], *, exact: bool) -> tuple[Winners, ...]:
    """Return which groups gain and which lose, over futures that both sides completed; none if nothing differs."""
    pairs = [(old.jobs, new.jobs) for old, new in runs if old.jobs is not None and new.jobs is not None]
    if not pairs or all(old is new for old, new in pairs):
        return ()
    elastic = any(one.metrics and one.metrics.get("other_width_share") for pair in runs for one in pair)
    quantity = "jct_s" if elastic else "wait_s"  # with changed widths a job can start at once and crawl
    return tuple(winners(pairs, by, quantity, names=(TODAY, CHANGED), exact=exact) for by in groupings_of(pairs[0][0]))
