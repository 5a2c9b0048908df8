"""The numbers of one run, by the metric keys of the public contract."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dlsched.domain.scenario import Scenario
from dlsched.domain.truth import Truth
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats
from dlsched.metrics.billing import Bill, usd_by_kind, usd_in_window
from dlsched.metrics.bounds.cost import total_cost_bound
from dlsched.metrics.bounds.service import service_bounds
from dlsched.metrics.fairness import jain_index, means_by_user
from dlsched.metrics.run_facts import RunFacts
from dlsched.metrics.stats.intervals import SAME_NUMBER
from dlsched.metrics.step_functions import count_after
from dlsched.sim.log import JobStatus, PieceEnd, RunLog

Metrics = dict[str, float | int | None]

HOURS_PER_MONTH = 30.4 * 24
COSTS = (
    "vm_cost", "idle_cost", "spare_cost", "restart_cost", "cost_month", "usd_per_job", "usd_per_useful_gpu_h",
    "total_cost", "total_cost_bound",
)  # fmt: skip
"""Metrics that need a price for every machine."""
COST_OF_KIND = {
    "owned": "owned_cost", "reserved": "reserved_cost", "on-demand": "on_demand_cost", "spot": "spot_cost",
}  # fmt: skip
"""The machine cost by the terms of the nodes; only where some are not owned."""


def summarise(scenario: Scenario, truth: Truth, log: RunLog) -> Metrics:
    """Return the metrics of a run; None if a number is undefined, never NaN.

    Seconds and dollars. ``scenario`` is the scenario as it was run (rows of the log = rows of its workload). Times
    are means over the jobs that have them: waits over jobs that started, turnaround time and slowdown over completed
    jobs. Late jobs and tardiness judge a job when it left, or when the run ended; rejected jobs are not judged.
    Costs are None without prices; a missing due date or weight makes tardiness_cost None and counts 0 in total_cost.
    """
    return summarise_facts(RunFacts(scenario, truth, log))


def summarise_facts(facts: RunFacts) -> Metrics:
    """Return the metrics of a run whose facts are known already."""
    metrics = counts(facts) | times(facts) | use(facts) | lateness(facts) | money(facts) | extras(facts)
    metrics |= energy(facts)
    metrics |= service_bounds(facts)
    return {key: _plain(value) for key, value in metrics.items()}


def counts(facts: RunFacts) -> Metrics:
    """Return how many jobs ended how, and how often jobs were disturbed."""
    ended = {f"{status.name.lower()}": int(facts.is_status(status).sum()) for status in JobStatus}
    return {
        "jobs": len(facts.jobs),
        **ended,
        "preemptions": int((facts.log.piece_end == PieceEnd.PREEMPTED).sum()),
        "resizes": int((facts.log.piece_end == PieceEnd.RESIZED).sum()),
        "restarts": int(facts.piece_is_restart.sum()),
    }


def times(facts: RunFacts) -> Metrics:
    """Return waits, turnaround times and slowdowns."""
    wait_s, jct_s, done = facts.wait_s, facts.jct_s, facts.completed
    first_s, last_s = facts.log.start_s, facts.log.job_end_s
    return {
        "wait_mean": _over(np.mean, wait_s),
        "wait_p50": _over(np.median, wait_s),
        "wait_p95": _percentile(wait_s, 95),
        "wait_max": _over(np.max, wait_s),
        "jct_mean": _over(np.mean, jct_s),
        "jct_median": _over(np.median, jct_s),
        "jct_p95": _percentile(jct_s, 95),
        "jct_p99": _percentile(jct_s, 99),
        "not_running_mean": _over(np.mean, facts.not_running_s[done]),
        "not_running_p95": _percentile(facts.not_running_s[done], 95),
        "slowdown_mean": _over(np.mean, facts.slowdown),
        "slowdown_bounded_mean": _over(np.mean, facts.slowdown_bounded),
        "makespan": float(last_s[done].max() - first_s) if done.any() else None,
    }


def use(facts: RunFacts) -> Metrics:
    """Return how much of the counted resource's time was held, and how much of that moved work forward."""
    up, held, useful = facts.unit_s_up, facts.unit_s_held, facts.unit_s_useful
    spare = facts.unit_s_paid - held
    other = facts.log.piece_workers != facts.jobs.workers[facts.log.piece_row]
    run_s = float(facts.piece_length_s.sum())
    return {
        "allocation_ratio": held / up if up > 0 else None,
        "goodput": useful / held if held > 0 else None,
        "other_width_share": float(facts.piece_length_s[other].sum()) / run_s if run_s > 0 else None,
        "used_of_reserved": _used_of_reserved(facts),
        "gpu_hours_up": up / HOUR_S,
        "gpu_hours_held": held / HOUR_S,
        # Rounding of the sums must not show as 1e-12 hours.
        "gpu_hours_idle": spare / HOUR_S if spare > SAME_NUMBER * held else 0.0,
    }


def _used_of_reserved(facts: RunFacts) -> float | None:
    """Return what jobs held over what they held and blocked, resources as shares of the cluster's; None = no blocks."""
    blocked = facts.log.piece_blocked
    if not blocked.any():
        return None
    capacity = facts.scenario.cluster.nodes.capacity.sum(axis=0)
    stated = np.isfinite(capacity) & (capacity > 0)
    weight = np.divide(1.0, capacity, out=np.zeros_like(capacity), where=stated)
    used = float(facts.share_held @ weight @ facts.piece_length_s[facts.piece_of_share])
    unused = float(blocked @ weight @ facts.piece_length_s)
    return used / (used + unused) if used + unused > 0 else None


def lateness(facts: RunFacts) -> Metrics:
    """Return late jobs and what finishing when is worth."""
    judged = int(facts.has_due.sum())
    late = int((facts.tardiness_s[facts.has_due] > 0).sum())
    usd, utility = facts.tardiness_usd, facts.utility
    return {
        "tardiness_total": float(facts.tardiness_s[facts.has_due].sum()) if judged else None,
        "tardiness_cost": float(usd.sum()) if usd is not None else None,
        "late_jobs": late if judged else None,
        "late_share": late / judged if judged else None,
        "utility_total": float(np.nansum(utility[facts.completed])) if utility is not None else None,
    }


def money(facts: RunFacts) -> Metrics:
    """Return the bill, in total and by what it was for."""
    rejection_usd = facts.scenario.options.rejection_usd * float(facts.is_status(JobStatus.REJECTED).sum())
    nothing: Metrics = dict.fromkeys(COSTS)
    bill = facts.bill
    if bill is None:
        return nothing | {"rejection_cost": rejection_usd, **_by_kind(facts, None)}
    useful_h, done = facts.unit_s_useful / HOUR_S, int(facts.completed.sum())
    late_usd = 0.0 if facts.tardiness_usd is None else float(facts.tardiness_usd.sum())
    return nothing | {
        "vm_cost": bill.total_usd,
        "idle_cost": bill.idle_usd,
        "spare_cost": bill.spare_usd,
        "restart_cost": facts.restart_usd,
        "cost_month": _month_usd(facts),
        "usd_per_job": bill.total_usd / done if done else None,
        "usd_per_useful_gpu_h": bill.total_usd / useful_h if useful_h > 0 else None,
        "rejection_cost": rejection_usd,
        "total_cost": bill.total_usd + late_usd + rejection_usd,
        "total_cost_bound": total_cost_bound(facts),
        **_by_kind(facts, bill),
    }


def _by_kind(facts: RunFacts, bill: Bill | None) -> Metrics:
    """Return the bill by the terms on which nodes are had; nothing on a cluster whose nodes are all owned."""
    cluster = facts.scenario.cluster
    if not cluster.has_terms:
        return {}
    if bill is None:
        return {COST_OF_KIND[pool.kind]: None for pool in cluster.pools}
    return {COST_OF_KIND[kind]: usd for kind, usd in usd_by_kind(cluster, facts.stays, bill.stay_usd).items()}


def energy(facts: RunFacts) -> Metrics:
    """Return the energy of jobs and idle GPUs together, what it costs and emits; None if the scenario counts none."""
    drawn = facts.energy
    if drawn is None:
        return dict.fromkeys(("energy_kwh", "energy_idle_kwh", "energy_usd", "carbon_kg"))

    def total(of_jobs: Floats | None, idle: float | None) -> float | None:
        return None if of_jobs is None or idle is None else float(of_jobs.sum()) + idle

    return {
        "energy_kwh": total(drawn.job_kwh, drawn.idle_kwh),
        "energy_idle_kwh": drawn.idle_kwh,
        "energy_usd": total(drawn.job_usd, drawn.idle_usd),
        "carbon_kg": total(drawn.job_kg, drawn.idle_kg),
    }


def extras(facts: RunFacts) -> Metrics:
    """Return numbers beyond the contract: the queue, fairness, the policy's own time."""
    log = facts.log
    fairness = finish_time_fairness(facts)
    return {
        "queue_max": longest_queue(facts),
        "fairness_p95": _percentile(fairness, 95),
        "fairness_max": _over(np.max, fairness),
        "fairness_users_jain": users_evenness(facts),
        "stalled": int(log.stalled),
        "decisions": len(log.decision_s),
        "decision_cpu_s": None if np.isnan(log.decision_cpu_s).all() else float(np.nansum(log.decision_cpu_s)),
    }


def users_evenness(facts: RunFacts) -> float | None:
    """Return Jain's index of the users' mean slowdowns; None without users, or with one that completed a job."""
    users = facts.jobs.user
    return None if users is None else jain_index(means_by_user(users, facts.slowdown))


def longest_queue(facts: RunFacts) -> int:
    """Return the largest number of jobs that waited at one time.

    It is reached when a job is submitted or stopped: at no other event does a job begin to wait.
    """
    log, submit_s = facts.log, facts.jobs.submit_s
    last = log.piece_end_s == log.job_end_s[log.piece_row]  # the job leaves and gives its nodes back at one instant
    stop_s, left_waiting_s = log.piece_end_s[~last], log.job_end_s.copy()
    left_waiting_s[log.piece_row[last]] = np.nan
    at_s = np.concatenate([submit_s, stop_s])
    at_s = at_s[at_s < log.end_s]
    came = count_after(submit_s, at_s) + count_after(stop_s, at_s)
    return int((came - count_after(log.piece_start_s, at_s) - count_after(left_waiting_s, at_s)).max(initial=0))


def finish_time_fairness(facts: RunFacts) -> Floats:
    """Return turnaround time over time alone on an equal part of the cluster, by job (NaN: not completed, no part).

    The part is 1/N of the counted resource (GPUs, cores), N being the mean number of jobs in the system while the job
    was there (Themis, NSDI 2020). Above 1 a job was slower than on its own part.
    """
    log, jobs = facts.log, facts.jobs
    at_s = np.concatenate([jobs.submit_s, facts.left_s])
    order = np.argsort(at_s)
    present = np.cumsum(np.where(order < len(jobs), 1, -1))
    job_s = np.zeros(len(at_s))
    job_s[order[1:]] = np.cumsum(present[:-1] * np.diff(at_s[order]))
    stay_s = facts.left_s - jobs.submit_s
    during = job_s[len(jobs) :] - job_s[: len(jobs)]
    others = np.divide(during, stay_s, out=np.ones(len(jobs)), where=stay_s > 0)
    window_s = log.end_s - log.start_s
    units_up = facts.unit_s_up / window_s if window_s > 0 else 0.0
    if units_up <= 0:
        return np.full(len(jobs), np.nan)
    alone_s = facts.alone_s * np.maximum(1.0, jobs.requested[:, facts.scenario.counted] * others / units_up)
    return np.asarray(facts.jct_s / alone_s)


def _month_usd(facts: RunFacts) -> float | None:
    """Return the bill over the arrival window, scaled to a month; None when all jobs arrive at once."""
    bill, submit_s = facts.bill, facts.jobs.submit_s
    if bill is None or not len(submit_s) or submit_s[-1] <= submit_s[0]:
        return None
    window_usd = usd_in_window(facts.stays, bill.stay_usd, float(submit_s[0]), float(submit_s[-1]))
    window_h = float(submit_s[-1] - submit_s[0]) / HOUR_S
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
