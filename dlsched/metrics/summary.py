"""The numbers of one run, by the metric keys of the public contract."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dlsched.domain.scenario import Scenario
from dlsched.domain.truth import Truth
from dlsched.domain.workload import Floats
from dlsched.metrics.billing import SECONDS_PER_H, usd_in_window
from dlsched.metrics.bound import total_cost_bound
from dlsched.metrics.bound_service import service_bounds
from dlsched.metrics.fairness import jain_index, means_by_user
from dlsched.metrics.run_facts import RunFacts
from dlsched.metrics.stats.intervals import SAME_NUMBER
from dlsched.metrics.step_functions import count_after
from dlsched.sim.log import JobStatus, PieceEnd, RunLog

Metrics = dict[str, float | int | None]

HOURS_PER_MONTH = 30.4 * 24
COSTS = (
    "vm_cost", "idle_cost", "spare_cost", "restart_cost", "cost_month", "usd_per_useful_gpu_h", "total_cost",
    "total_cost_bound",
)  # fmt: skip
"""Metrics that need a price for every machine."""


def summarise(scenario: Scenario, truth: Truth, log: RunLog) -> Metrics:
    """Return the metrics of a run; None where a number is undefined, never NaN.

    Seconds and dollars. ``scenario`` is the scenario as it was run (rows of the log = rows of its workload). Times
    are means over the jobs that have them: waits over jobs that started, time in system and slowdown over completed
    jobs. Late jobs and tardiness judge a job when it left, or when the run ended; rejected jobs are not judged.
    Costs are None without prices; a missing due time or weight makes tardiness_cost None and counts 0 in total_cost.
    """
    return summarise_facts(RunFacts(scenario, truth, log))


def summarise_facts(books: RunFacts) -> Metrics:
    """Return the metrics of a run whose books are open already."""
    metrics = counts(books) | times(books) | use(books) | lateness(books) | money(books) | extras(books)
    metrics |= service_bounds(books)
    return {key: _plain(value) for key, value in metrics.items()}


def counts(books: RunFacts) -> Metrics:
    """Return how many jobs ended how, and how often jobs were disturbed."""
    ended = {f"{status.name.lower()}": int(books.is_status(status).sum()) for status in JobStatus}
    return {
        "jobs": len(books.jobs),
        **ended,
        "preemptions": int((books.log.piece_end == PieceEnd.PREEMPTED).sum()),
        "resizes": int((books.log.piece_end == PieceEnd.RESIZED).sum()),
        "restarts": int(books.piece_is_restart.sum()),
    }


def times(books: RunFacts) -> Metrics:
    """Return waits, times in the system and slowdowns."""
    wait_s, jct_s, done = books.wait_s, books.jct_s, books.completed
    first_s, last_s = books.log.start_s, books.log.job_end_s
    return {
        "wait_mean": _over(np.mean, wait_s),
        "wait_p50": _over(np.median, wait_s),
        "wait_p95": _percentile(wait_s, 95),
        "wait_max": _over(np.max, wait_s),
        "jct_mean": _over(np.mean, jct_s),
        "jct_median": _over(np.median, jct_s),
        "jct_p95": _percentile(jct_s, 95),
        "jct_p99": _percentile(jct_s, 99),
        "not_running_mean": _over(np.mean, books.not_running_s[done]),
        "slowdown_mean": _over(np.mean, books.slowdown),
        "slowdown_bounded_mean": _over(np.mean, books.slowdown_bounded),
        "makespan": float(last_s[done].max() - first_s) if done.any() else None,
    }


def use(books: RunFacts) -> Metrics:
    """Return how much of the GPU-time was held, and how much of that moved work forward."""
    up, held, useful = books.gpu_s_up, books.gpu_s_held, books.gpu_s_useful
    spare = books.gpu_s_paid - held
    return {
        "allocation_ratio": held / up if up > 0 else None,
        "goodput": useful / held if held > 0 else None,
        "other_width_share": _other_width_share(books),
        "used_of_reserved": _used_of_reserved(books),
        "gpu_hours_up": up / SECONDS_PER_H,
        "gpu_hours_held": held / SECONDS_PER_H,
        # Rounding of the sums must not show as 1e-12 hours.
        "gpu_hours_idle": spare / SECONDS_PER_H if spare > SAME_NUMBER * held else 0.0,
    }


def _other_width_share(books: RunFacts) -> float | None:
    other = books.log.piece_workers != books.jobs.workers[books.log.piece_row]
    run_s = float(books.piece_length_s.sum())
    return float(books.piece_length_s[other].sum()) / run_s if run_s > 0 else None


def _used_of_reserved(books: RunFacts) -> float | None:
    """Return what jobs held over what they held and blocked, resources as shares of the cluster's; None = no blocks."""
    blocked = books.log.piece_blocked
    if not blocked.any():
        return None
    capacity = books.scenario.cluster.nodes.capacity.sum(axis=0)
    stated = np.isfinite(capacity) & (capacity > 0)
    weight = np.divide(1.0, capacity, out=np.zeros_like(capacity), where=stated)
    used = float(books.share_held @ weight @ books.piece_length_s[books.piece_of_share])
    unused = float(blocked @ weight @ books.piece_length_s)
    return used / (used + unused) if used + unused > 0 else None


def lateness(books: RunFacts) -> Metrics:
    """Return late jobs and what finishing when is worth."""
    judged = int(books.has_due.sum())
    late = int((books.tardiness_s[books.has_due] > 0).sum())
    usd, utility = books.tardiness_usd, books.utility
    return {
        "tardiness_total": float(books.tardiness_s[books.has_due].sum()) if judged else None,
        "tardiness_cost": float(usd.sum()) if usd is not None else None,
        "late_jobs": late if judged else None,
        "late_share": late / judged if judged else None,
        "utility_total": float(np.nansum(utility[books.completed])) if utility is not None else None,
    }


def money(books: RunFacts) -> Metrics:
    """Return the bill, in total and by what it was for."""
    rejection_usd = books.scenario.options.rejection_usd * float(books.is_status(JobStatus.REJECTED).sum())
    nothing: Metrics = dict.fromkeys(COSTS)
    bill = books.bill
    if bill is None:
        return nothing | {"rejection_cost": rejection_usd}
    useful_h = books.gpu_s_useful / SECONDS_PER_H
    late_usd = 0.0 if books.tardiness_usd is None else float(books.tardiness_usd.sum())
    return nothing | {
        "vm_cost": bill.total_usd,
        "idle_cost": bill.idle_usd,
        "spare_cost": bill.spare_usd,
        "restart_cost": books.restart_usd,
        "cost_month": _month_usd(books),
        "usd_per_useful_gpu_h": bill.total_usd / useful_h if useful_h > 0 else None,
        "rejection_cost": rejection_usd,
        "total_cost": bill.total_usd + late_usd + rejection_usd,
        "total_cost_bound": total_cost_bound(books),
    }


def extras(books: RunFacts) -> Metrics:
    """Return numbers beyond the contract: the queue, fairness, the policy's own time."""
    log = books.log
    fairness = finish_time_fairness(books)
    return {
        "queue_max": longest_queue(books),
        "fairness_p95": _percentile(fairness, 95),
        "fairness_max": _over(np.max, fairness),
        "fairness_users_jain": users_evenness(books),
        "stalled": int(log.stalled),
        "decisions": len(log.decision_s),
        "decision_cpu_s": None if np.isnan(log.decision_cpu_s).all() else float(np.nansum(log.decision_cpu_s)),
    }


def users_evenness(books: RunFacts) -> float | None:
    """Return Jain's index of the users' mean slowdowns; None without users, or with one that completed a job."""
    users = books.jobs.user
    return None if users is None else jain_index(means_by_user(users, books.slowdown))


def longest_queue(books: RunFacts) -> int:
    """Return the largest number of jobs that waited at one time."""
    log = books.log
    at_s = np.unique(np.concatenate([books.jobs.submit_s, log.piece_start_s, log.piece_end_s, books.left_s]))
    in_system = count_after(books.jobs.submit_s, at_s) - count_after(log.job_end_s, at_s)
    running = count_after(log.piece_start_s, at_s) - count_after(log.piece_end_s, at_s)
    at_most_run = at_s < log.end_s
    return int((in_system - running)[at_most_run].max(initial=0))


def finish_time_fairness(books: RunFacts) -> Floats:
    """Return time in system over time alone on an equal part of the GPUs, by job (NaN: not completed, no GPUs).

    The part is 1/N of the GPUs, N being the mean number of jobs in the system while the job was there (Themis,
    NSDI 2020). Above 1 a job was slower than on its own part.
    """
    log, jobs = books.log, books.jobs
    at_s = np.unique(np.concatenate([jobs.submit_s, books.left_s]))
    present = count_after(jobs.submit_s, at_s) - count_after(books.left_s, at_s)
    job_s = np.concatenate([[0.0], np.cumsum(present[:-1] * np.diff(at_s))])
    stay_s = books.left_s - jobs.submit_s
    during = job_s[np.searchsorted(at_s, books.left_s)] - job_s[np.searchsorted(at_s, jobs.submit_s)]
    others = np.divide(during, stay_s, out=np.ones(len(jobs)), where=stay_s > 0)
    window_s = log.end_s - log.start_s
    gpus_up = books.gpu_s_up / window_s if window_s > 0 else 0.0
    if gpus_up <= 0:
        return np.full(len(jobs), np.nan)
    alone_s = books.alone_s * np.maximum(1.0, jobs.gpus * others / gpus_up)
    return np.asarray(books.jct_s / alone_s)


def _month_usd(books: RunFacts) -> float | None:
    """Return the bill over the arrival window, scaled to a month; None when all jobs arrive at once."""
    bill, submit_s = books.bill, books.jobs.submit_s
    if bill is None or not len(submit_s) or submit_s[-1] <= submit_s[0]:
        return None
    window_usd = usd_in_window(books.stays, bill.stay_usd, float(submit_s[0]), float(submit_s[-1]))
    window_h = float(submit_s[-1] - submit_s[0]) / SECONDS_PER_H
    return window_usd / window_h * HOURS_PER_MONTH


def _over(reduce: Callable[[Floats], float], values: Floats) -> float | None:
    there = values[~np.isnan(values)]
    return float(reduce(there)) if there.size else None


def _percentile(values: Floats, percent: float) -> float | None:
    there = values[~np.isnan(values)]
    return float(np.percentile(there, percent)) if there.size else None


def _plain(value: float | int | None) -> float | int | None:
    """Return a Python number; None instead of NaN and infinity."""
    if value is None or isinstance(value, int):
        return value
    return float(value) if np.isfinite(value) else None
