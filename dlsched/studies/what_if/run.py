"""A what-if, computed: both sides on every draw, each different run once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dlsched.domain.errors import DlschedError
from dlsched.domain.scenario import Scenario
from dlsched.metrics.job_classes import groupings_of
from dlsched.metrics.step_functions import thin
from dlsched.metrics.summary import Metrics
from dlsched.metrics.winners import Winners, winners
from dlsched.policies.registry import find
from dlsched.studies.design import Variant, VariantTask, check_variant
from dlsched.studies.simulation import Progress, Run, simulate
from dlsched.studies.what_if.answer import CHANGED, LEVELS_PERCENT, TODAY, Side, WhatIf
from dlsched.studies.what_if.spec import WhatIfSpec, check, is_exact, moved

if TYPE_CHECKING:
    from dlsched.store import Store

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
    store: Store | None = None,
    progress: Progress | None = None,
) -> WhatIf:
    """Return the answer to a question about a scenario.

    A run that fails leaves its error; the others go on. ``progress`` is told the share of runs done; what it raises
    stops the work and comes through.

    Raises
    ------
    InputError
        An unknown change, a bad value, a policy that cannot run the jobs, or a question about another scenario.
    """
    check(spec, scenario)
    pairs = list(zip(*(_tasks(spec, scenario, case) for case in (spec.baseline, spec.changed)), strict=True))
    different = list(dict.fromkeys(task.key for pair in pairs for task in pair))

    def play(task: VariantTask) -> RunDigest:
        done = different.index(task.key)
        return _played(task, _part(progress, done, len(different)))

    ours = [(play(old), play(new)) for old, new in pairs]
    exact = is_exact(spec, scenario)
    return WhatIf(
        scenario=scenario.content_hash,
        scenario_name=scenario.name,
        baseline=_side(spec.baseline, [old for old, _ in ours]),
        changed=_side(spec.changed, [new for _, new in ours]),
        moved=moved(spec, scenario),
        draws=len(spec.draws.seeds),
        vary=dict(spec.draws.vary),
        exact=exact,
        free_slots=scenario.cluster.free_slots,
        winners=_winners(ours, exact=exact),
        run_cpu_s=_run_cpu_s(ours),
    )


def forget_runs() -> None:
    """Forget the runs this process remembers."""
    _recent.clear()


def _tasks(spec: WhatIfSpec, scenario: Scenario, case: Variant) -> list[VariantTask]:
    """Return the run of every draw; where nothing is random all are the same."""
    changes, params, varies = check_variant(scenario, case, spec.draws)
    seeds = spec.draws.seeds
    return [VariantTask(scenario, changes, case.policy, params, seed if varies else seeds[0]) for seed in seeds]


def _part(progress: Progress | None, done: int, runs: int) -> Progress | None:
    """Return the progress of one run of several."""
    if progress is None:
        return None
    whole = progress

    def tell(share: float, text: str) -> None:
        whole((done + share) / runs, f"run {done + 1} of {runs}")

    tell(0.0, "")
    return tell


def _played(task: VariantTask, progress: Progress | None) -> RunDigest:
    if task.key in _recent:
        return _recent[task.key]
    begun_s = time.process_time()
    try:
        run = simulate(task.changed(), task.policy, task.params, task.seed, progress)
        audit = tuple(run.audit())
    except DlschedError as error:
        return RunDigest(error=str(error))
    played = RunDigest(run.metrics, audit, run.jobs, _queue(run), time.process_time() - begun_s)
    _remember(task.key, played)
    return played


def _remember(key: str, played: RunDigest) -> None:
    """Keep a run for the next question; the oldest go where there are too many."""
    _recent[key] = played
    sizes = {key: len(kept.jobs) for key, kept in _recent.items() if kept.jobs is not None}
    while sum(sizes.values()) > JOBS_KEPT and sizes:
        oldest = next(iter(sizes))
        del sizes[oldest], _recent[oldest]


def _run_cpu_s(ours: Sequence[tuple[RunDigest, RunDigest]]) -> float:
    """Return CPU seconds of a run: the usual one of each side, and of the two the mean; 0 where all failed."""
    sides = [[played.cpu_s for played in side if played.cpu_s] for side in zip(*ours, strict=True)]
    return float(np.mean([np.median(times) if times else 0.0 for times in sides]))


def _queue(run: Run) -> tuple[tuple[float, float], ...]:
    at_s, waiting = (run.series[name].to_numpy(float) for name in ("time_s", "waiting"))
    keep = thin(at_s, [waiting], QUEUE_POINTS)
    return tuple(zip(at_s[keep].tolist(), waiting[keep].tolist(), strict=True))


def _side(case: Variant, played: Sequence[RunDigest]) -> Side:
    """Return one side over its draws, with the curves of the first."""
    first = played[0]
    waits, times = ((), ()) if first.jobs is None else (_quantiles(first.jobs[name]) for name in ("wait_s", "jct_s"))
    metrics = first.metrics or {}
    errors = dict.fromkeys(one.error for one in played if one.error)
    return Side(
        policy=case.policy,
        label=find(case.policy).label,
        metrics=tuple({key: _number(value) for key, value in (one.metrics or {}).items()} for one in played),
        audit=tuple(dict.fromkeys(complaint for one in played for complaint in one.audit)),
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


def _winners(ours: Sequence[tuple[RunDigest, RunDigest]], *, exact: bool) -> tuple[Winners, ...]:
    """Return who gains and who loses, over the draws that both sides came through; none where nothing differs."""
    pairs = [(old.jobs, new.jobs) for old, new in ours if old.jobs is not None and new.jobs is not None]
    if not pairs or all(old is new for old, new in pairs):
        return ()
    elastic = any(one.metrics and one.metrics.get("other_width_share") for pair in ours for one in pair)
    quantity = "jct_s" if elastic else "wait_s"  # with changed widths a job can start at once and crawl
    return tuple(
        winners(pairs, by, quantity, names=(TODAY, CHANGED), exact=exact and len(ours) == 1)
        for by in groupings_of(pairs[0][0])
    )
