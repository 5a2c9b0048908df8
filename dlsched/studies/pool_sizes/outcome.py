"""From runs to numbers: one run by itself, and two of the same jobs compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dlsched.domain.errors import DlschedError
from dlsched.domain.workload import Floats
from dlsched.studies.pool_sizes.answer import Draw
from dlsched.studies.simulation import Run

PROVEN = "optimal"


@dataclass(frozen=True, slots=True)
class Common:
    """Means over jobs that completed (total) or started (wait) in both of two runs of the same jobs; ours, theirs.

    ``compared`` counts the jobs that completed in both.
    """

    total_s: tuple[float, float]
    wait_s: tuple[float, float]
    compared: int

    @property
    def gain_percent(self) -> float:
        """By how much longer their mean total time is, in % of ours."""
        return gain_percent(*self.total_s)


def gain_percent(ours_s: float, theirs_s: float) -> float:
    """Return 100 (theirs / ours - 1): additional jobs for 100 of theirs, as we read Fig. 11 of the ModelArts study."""
    return 100 * (theirs_s / ours_s - 1)


def common(ours: Run, theirs: Run) -> Common:
    """Return what two runs of the same jobs have in common; DlschedError when no job completed in both."""
    total_s = [run.jobs["jct_s"].to_numpy(float) for run in (ours, theirs)]
    wait_s = [run.jobs["wait_s"].to_numpy(float) for run in (ours, theirs)]
    ended, started = np.isfinite(total_s).all(axis=0), np.isfinite(wait_s).all(axis=0)
    if not ended.any():
        raise DlschedError("no job completed under both policies: draw more jobs")
    return Common(
        (float(total_s[0][ended].mean()), float(total_s[1][ended].mean())),
        (float(wait_s[0][started].mean()), float(wait_s[1][started].mean())),
        int(ended.sum()),
    )


def by_last_submission(run: Run) -> int:
    """Return how many jobs completed by the time the last one was submitted."""
    submit_s = run.prepared.scenario.workload.submit_s
    return int((submit_s + run.jobs["jct_s"].to_numpy(float) <= submit_s.max()).sum())


def solved(run: Run) -> tuple[Floats, int]:
    """Return the CPU seconds of the decisions for which a solver answered, and how many have no proof."""
    decisions = run.decisions[run.decisions["status"] != ""]
    return decisions["cpu_s"].to_numpy(float), int((decisions["status"] != PROVEN).sum())


def draw_of(run: Run, reference: Run) -> Draw:
    """Return the numbers of a run, compared with the reference policy's run of the same draw unless it is that."""
    metrics, log = run.metrics, run.log
    run_s = log.piece_end_s - log.piece_start_s
    job_s = float(run_s.sum())
    draw = Draw(
        seed=run.seed,
        jobs=len(run.prepared.scenario.workload),
        completed=int(metrics["completed"] or 0),
        by_last_submission=by_last_submission(run),
        oversize=sum(run.prepared.oversize.values()),
        wait_mean_s=metrics["wait_mean"],
        total_mean_s=metrics["jct_mean"],
        total_p95_s=metrics["jct_p95"],
        workers_per_job=float(log.piece_workers @ run_s) / job_s if job_s > 0 else None,
        held_share=metrics["allocation_ratio"],
        audit=tuple(run.audit()),
    )
    if run is reference:
        return draw
    additional = draw.by_last_submission - by_last_submission(reference)
    try:
        both = common(run, reference)
    except DlschedError:  # nothing completed: there is no gain to speak of, and the counts say why
        return draw.model_copy(update={"compared": 0, "additional": additional})
    found = {"compared": both.compared, "gain_percent": both.gain_percent, "additional": additional}
    return draw.model_copy(update=found)
