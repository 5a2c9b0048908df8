"""What a run says beside its metrics: compared job by job with a reference policy's run, and how long plans took."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dlsched.domain.errors import DlschedError
from dlsched.domain.workload import Floats
from dlsched.metrics.kpi import KPI, KPIS
from dlsched.metrics.summary import Metrics
from dlsched.studies.simulation import Run

PROVEN = "optimal"
PAIRED: dict[str, KPI] = {
    kpi.key: kpi
    for kpi in (
        KPI("gain", "Gain, job by job", "share", "higher",
            "How much longer the mean turnaround time is under the reference policy, over jobs completed under both. "
            "In the ModelArts study these are the additional jobs per 100 of the greedy allocator, as we read its "
            "Fig. 11.", "Service"),
        KPI("additional", "Additional jobs", "number", "higher",
            "Jobs completed by the last submission, minus those of the reference policy. After that every policy "
            "completes what is left.", "Jobs"),
        KPI("compared", "Jobs compared", "count", "neutral",
            "Jobs completed here and under the reference policy, on which the gain rests.", "Jobs"),
        KPI("workers_per_job", "Mean workers per job", "number", "neutral",
            "Workers of a running job, mean over time and jobs.", "Use"),
        KPI("oversize", "Too large", "count", "neutral",
            "Jobs dropped, or given fewer GPUs, because they can never fit.", "Jobs"),
        KPI("solved", "Solver decisions", "count", "neutral",
            "Decisions for which a solver was used; the others needed none.", "Details"),
        KPI("proven", "Decisions proven optimal", "count", "neutral",
            "Solver plans with a proof that no other plan is better.", "Details"),
        KPI("solve_p50_s", "Median decision time", "duration", "neutral",
            "CPU time of the decisions for which a solver was used, on the machine that computed it.", "Details"),
        KPI("solve_p95_s", "p95 decision time", "duration", "neutral",
            "95 of 100 decisions for which a solver was used took up to this CPU time.", "Details"),
        KPI("solve_longest_s", "Longest decision time", "duration", "neutral",
            "CPU time of the longest decision for which a solver was used.", "Details"),
    )
}  # fmt: skip
"""Measures of a run that is compared with that of a reference policy, by key."""
SIGNED = ("gain", "additional")
"""Measures that can be below 0."""
MEASURES: dict[str, KPI] = KPIS | PAIRED


def is_paired(metrics: Iterable[str]) -> bool:
    """Whether one of the metrics compares runs job by job."""
    return any(metric in PAIRED for metric in metrics)


@dataclass(frozen=True, eq=False)
class JobTimes:
    """Times of the jobs of a run, shape (jobs,), seconds, NaN where there is none: in system, and until the start.

    ``by_last_submission`` counts the jobs that completed by the time the last one was submitted.
    """

    total_s: Floats
    wait_s: Floats
    by_last_submission: int


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


def times_of(run: Run) -> JobTimes:
    """Return the times of the jobs of a run."""
    submit_s, total_s = run.prepared.scenario.workload.submit_s, run.jobs["jct_s"].to_numpy(float)
    in_time = int((submit_s + total_s <= submit_s.max()).sum())
    return JobTimes(total_s, run.jobs["wait_s"].to_numpy(float), in_time)


def common(ours: JobTimes, theirs: JobTimes) -> Common:
    """Return what two runs of the same jobs have in common; DlschedError when no job completed in both."""
    ended = np.isfinite(ours.total_s) & np.isfinite(theirs.total_s)
    started = np.isfinite(ours.wait_s) & np.isfinite(theirs.wait_s)
    if not ended.any():
        raise DlschedError("no job completed under both policies: draw more jobs")
    return Common(
        (float(ours.total_s[ended].mean()), float(theirs.total_s[ended].mean())),
        (float(ours.wait_s[started].mean()), float(theirs.wait_s[started].mean())),
        int(ended.sum()),
    )


def solved(run: Run) -> tuple[Floats, int]:
    """Return the CPU seconds of the decisions for which a solver answered, and how many have no proof."""
    decisions = run.decisions[run.decisions["status"] != ""]
    return decisions["cpu_s"].to_numpy(float), int((decisions["status"] != PROVEN).sum())


def paired_measures(run: Run, ours: JobTimes, reference: JobTimes) -> Metrics:
    """Return the measures of :data:`PAIRED` of a run and its job times, None if one is undefined."""
    log = run.log
    piece_s = log.piece_end_s - log.piece_start_s
    running_s = float(piece_s.sum())
    try:
        both = common(ours, reference)
        found: Metrics = {"gain": both.gain_percent / 100, "compared": both.compared}
    except DlschedError:  # nothing completed: there is no gain to speak of, and the counts say why
        found = {"gain": None, "compared": 0}
    found |= {
        "additional": ours.by_last_submission - reference.by_last_submission,
        "workers_per_job": float(log.piece_workers @ piece_s) / running_s if running_s > 0 else None,
        "oversize": sum(run.prepared.oversize.values()),
    }
    cpu_s, unproven = solved(run)
    if not len(cpu_s):
        return found | dict.fromkeys(("solved", "proven", "solve_p50_s", "solve_p95_s", "solve_longest_s"))
    p50_s, p95_s = np.percentile(cpu_s, (50, 95)).tolist()
    times = {"solve_p50_s": p50_s, "solve_p95_s": p95_s, "solve_longest_s": float(cpu_s.max())}
    return found | {"solved": len(cpu_s), "proven": len(cpu_s) - unproven} | times
