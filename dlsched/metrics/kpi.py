"""The KPI dictionary: label, format, direction and tooltip of every metric, defined here and nowhere else.

Cards, tables, tooltips, reports and the glossary read it. Keys are the metric keys of
:func:`dlsched.metrics.summarise`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from dlsched.wording import formats
from dlsched.wording.counted import GPUS, Counted
from dlsched.wording.formats import Kind, Number

Better = Literal["lower", "higher", "neutral"]
Section = Literal["Service", "Due dates", "Cost", "Use", "Jobs", "Details"]


@dataclass(frozen=True, slots=True)
class KPI:
    """One metric as it is shown."""

    key: str
    label: str
    kind: Kind
    better: Better
    tooltip: str
    section: Section

    def show(self, value: Number, *, exact: bool = False) -> str:
        """Return a value of this metric as text."""
        return formats.show(self.kind, value, exact=exact)

    def of(self, counted: Counted) -> KPI:
        """Return the metric as it is shown where this resource counts: cores in place of GPUs."""
        if counted == GPUS or self.key in NAMES_ALL_RESOURCES:
            return self
        kind = counted.price_kind if self.kind == GPUS.price_kind else self.kind
        label, tooltip = counted.say(self.label), counted.say(self.tooltip)
        return replace(self, label=label, tooltip=tooltip, kind=kind)


_ALL_STARTED = "First start only; with pauses and restarts it is “Total waiting, incl. pauses”."
_DONE_ONLY = "From submission to completion, completed jobs only: see “Completed”."

_ENTRIES: tuple[KPI, ...] = (
    KPI("wait_p95", "p95 wait", "duration", "lower",
        "95 of 100 jobs started within this time of being submitted. Counts until the first start only.", "Service"),
    KPI("wait_p50", "Median wait", "duration", "lower",
        f"Half of the jobs waited less than this. {_ALL_STARTED}", "Service"),
    KPI("wait_mean", "Mean wait", "duration", "lower",
        f"Average time from submission to the start. {_ALL_STARTED}", "Service"),
    KPI("wait_max", "Longest wait", "duration", "lower",
        "The longest time a job waited for its first start. A single job sets it.", "Service"),
    KPI("not_running_mean", "Mean total waiting, incl. pauses", "duration", "lower",
        "Average time in which a completed job made no progress: first wait, pauses and restarts.", "Service"),
    KPI("not_running_p95", "p95 total waiting, incl. pauses", "duration", "lower",
        "95 of 100 completed jobs spent no more than this without progress: first wait, pauses and restarts. The wait "
        "ends at the first start, which flatters policies that stop jobs; this number does not.", "Service"),
    KPI("jct_mean", "Mean turnaround time", "duration", "lower",
        f"{_DONE_ONLY} Also called job completion time (JCT).", "Service"),
    KPI("jct_mean_bound", "Mean turnaround time, lower bound", "duration", "neutral",
        "A proven bound: no policy can complete the jobs that this run completed in less time on average. A policy "
        "that leaves others out can.", "Service"),
    KPI("jct_median", "Median turnaround time", "duration", "lower",
        f"Half of the jobs were done sooner. {_DONE_ONLY}", "Service"),
    KPI("jct_p95", "p95 turnaround time", "duration", "lower",
        f"95 of 100 jobs were done within this time. {_DONE_ONLY}", "Service"),
    KPI("jct_p99", "p99 turnaround time", "duration", "lower",
        f"99 of 100 jobs were done within this time. {_DONE_ONLY}", "Service"),
    KPI("slowdown_mean", "Mean slowdown", "factor", "lower",
        "Turnaround time divided by the run time alone on the GPUs requested, completed jobs only. 2x: the job waited "
        "as long as it ran. Where run times are known by number of GPUs, it is divided by the shortest.", "Service"),
    KPI("slowdown_bounded_mean", "Mean bounded slowdown", "factor", "lower",
        "Slowdown with run times under 10 min counted as 10 min, so that very short jobs do not dominate.", "Service"),
    KPI("fairness_p95", "p95 finish-time fairness", "factor", "lower",
        "Turnaround time divided by the time the job would take alone on an equal part of the GPUs; 95 of 100 jobs "
        "were at or below this. Above 1x a job did worse than on its own part.", "Service"),
    KPI("fairness_max", "Worst finish-time fairness", "factor", "lower",
        "Turnaround time divided by the time the job would take alone on an equal part of the GPUs, for the job that "
        "did worst.", "Service"),
    KPI("fairness_users_jain", "Fairness across users (Jain's index)", "number", "higher",
        "How similar the mean slowdowns of users are, from 1 (all alike) down to 1 / number of users (one user bears "
        "everything): the squared sum over the number of users times the sum of squares. Each user with a completed "
        "job counts once, and users who are all equally slow score 1. Slowdowns of 2x, 2x and 5x give 0.82.",
        "Service"),
    KPI("makespan", "Makespan", "duration", "lower",
        "From the first submission to the last job done. The longest jobs set it, so it is a weak basis for "
        "comparison.", "Service"),
    KPI("late_share", "Share of late jobs", "share", "lower",
        "Jobs completed after their due date, or past it and still not completed, among jobs that have one. Rejected "
        "jobs are counted separately.", "Due dates"),
    KPI("late_jobs", "Late jobs", "count", "lower",
        "Jobs completed after their due date, or past it and still not completed, among jobs that have one. Rejected "
        "jobs are counted separately.", "Due dates"),
    KPI("tardiness_total", "Hours late", "hours", "lower",
        "Sum of the hours past the due dates; early jobs count zero. Unfinished jobs count up to the end of the run.",
        "Due dates"),
    KPI("tardiness_total_bound", "Hours late, lower bound", "hours", "neutral",
        "A proven bound: no policy can bring the jobs that ended by themselves in this run to their end with fewer "
        "hours late. Rejected, cancelled and unfinished jobs count zero.", "Due dates"),
    KPI("tardiness_cost", "Cost of lateness", "usd", "lower",
        "Hours late times the weight of each job ($/h): a planning weight, not money paid.", "Due dates"),
    KPI("utility_total", "Utility", "number", "higher",
        "Sum of what each completed job is worth at its completion. It has no unit: compare it only within one "
        "scenario.", "Due dates"),
    KPI("utility_total_bound", "Utility, upper bound", "number", "neutral",
        "A proven bound: no policy can get more from all jobs of this run, including those that this policy rejected "
        "or left unfinished.", "Due dates"),
    KPI("vm_cost", "Machine cost", "usd", "lower",
        "Price times the time each machine was up, used or not. Prices are stored with the run.", "Cost"),
    KPI("owned_cost", "Cost of owned nodes", "usd", "neutral",
        "The part of the machine cost that owned nodes have, where others are reserved or rented.", "Cost"),
    KPI("reserved_cost", "Cost of reserved nodes", "usd", "neutral",
        "The part of the machine cost that reserved nodes have: all of the run's time, used or not.", "Cost"),
    KPI("on_demand_cost", "Cost of on-demand nodes", "usd", "neutral",
        "The part of the machine cost that nodes on demand have, from request to return: boot and idle time are paid.",
        "Cost"),
    KPI("spot_cost", "Cost of spot nodes", "usd", "neutral",
        "The part of the machine cost that spot nodes have, from request to return or eviction.", "Cost"),
    KPI("cost_month", "Cost per month", "usd_per_month", "lower",
        "Machine cost while jobs arrive, scaled to 30.4 days. Use it where runs differ in length.", "Cost"),
    KPI("usd_per_job", "Cost per job", "usd", "lower",
        "Machine cost divided by completed jobs. It compares policies that rent machines, whose runs differ in length. "
        "A dash where no job was completed.", "Cost"),
    KPI("total_cost", "Total cost", "usd", "lower",
        "Machine cost + cost of lateness + cost of rejections, always shown with its parts.", "Cost"),
    KPI("total_cost_bound", "Total cost, lower bound", "usd", "neutral",
        "A proven bound: no policy can cost less on these jobs, on rented machines none that keeps the same jobs on "
        "one machine each. A dash where none is known.", "Cost"),
    KPI("idle_cost", "Paid but idle", "usd", "lower",
        "Cost of the time in which machines had no job.", "Cost"),
    KPI("spare_cost", "Spare GPUs on busy machines", "usd", "lower",
        "Cost of the unallocated GPUs of machines on which jobs ran. Those jobs pay for them.", "Cost"),
    KPI("restart_cost", "Restarts and lost work", "usd", "lower",
        "Cost of the GPU time spent on restarts, or on work that was lost when a node failed.", "Cost"),
    KPI("usd_per_useful_gpu_h", "Cost per useful GPU-hour", "usd_per_gpu_h", "lower",
        "Machine cost divided by the GPU-hours of work that was kept.", "Cost"),
    KPI("rejection_cost", "Cost of rejections", "usd", "lower",
        "Rejected jobs times the cost set for rejecting one ($0 unless set).", "Cost"),
    KPI("energy_kwh", "Energy", "kwh", "lower",
        "Electricity of all GPUs while their machines are up: busy power while a job holds them, idle power otherwise, "
        "times PUE. A run that ends later has more idle time in it.", "Cost"),
    KPI("energy_idle_kwh", "Energy of idle GPUs", "kwh", "lower",
        "The part of “Energy” drawn by GPUs that no job held.", "Cost"),
    KPI("energy_usd", "Cost of electricity", "usd", "lower",
        "Energy at the price of the hour in which it is drawn. Not part of “Machine cost”, which is the price of the "
        "machines as given: where that includes electricity, do not add them.", "Cost"),
    KPI("carbon_kg", "Carbon emissions", "kg", "lower",
        "Energy at the carbon intensity of the hour in which it is drawn, in kg of CO2 equivalent. Making the machines "
        "is not counted.", "Cost"),
    KPI("allocation_ratio", "GPUs allocated", "share", "neutral",
        "Share of the available GPU time that was allocated to jobs. It does not say how busy the chips were: high "
        "means full, not good.", "Use"),
    KPI("goodput", "Useful GPU time", "share", "higher",
        "Share of the allocated GPU time that moved work forward; the rest is restarts and lost work.", "Use"),
    KPI("other_width_share", "Time at another GPU count", "share", "neutral",
        "Share of the jobs' running time in which they had more or fewer GPUs than they requested.", "Use"),
    KPI("used_of_reserved", "Used share of reservations", "share", "higher",
        "What jobs used of what was reserved for them, their users' limits, while they ran. GPUs, CPUs, memory and "
        "disk each count as shares of the cluster's, added up. A dash where nothing beyond use was reserved.", "Use"),
    KPI("gpu_hours_held", "GPU-hours allocated", "number", "neutral",
        "GPUs allocated to jobs times hours, over all jobs.", "Use"),
    KPI("gpu_hours_up", "GPU-hours available", "number", "neutral",
        "GPUs of machines that were up, times hours.", "Use"),
    KPI("gpu_hours_idle", "GPU-hours paid for but idle", "number", "lower",
        "GPUs that were paid for but not allocated, times hours: machines without jobs, and spare GPUs on busy "
        "machines.", "Use"),
    KPI("queue_max", "Longest queue", "count", "lower", "The largest number of jobs waiting at the same time.", "Use"),
    KPI("jobs", "Jobs", "count", "neutral", "Jobs of the workload given to the run.", "Jobs"),
    KPI("completed", "Completed", "count", "higher",
        "Jobs that finished. Rejected jobs were not admitted; unfinished jobs were not done at the end of the run.",
        "Jobs"),
    KPI("rejected", "Rejected", "count", "lower", "Jobs that the policy did not admit.", "Jobs"),
    KPI("unfinished", "Unfinished", "count", "lower", "Jobs not done at the end of the run.", "Jobs"),
    KPI("cancelled", "Cancelled", "count", "neutral", "Jobs taken back by their users.", "Jobs"),
    KPI("failed", "Failed", "count", "neutral", "Jobs that crashed early because of a bug of their own.", "Jobs"),
    KPI("preemptions", "Preemptions", "count", "lower", "Times a job was stopped to make room for another.", "Jobs"),
    KPI("resizes", "GPU count changes", "count", "lower", "Times a running job changed its number of GPUs.", "Jobs"),
    KPI("restarts", "Restarts", "count", "lower",
        "Times a job started again after a pause, a move, a node failure or a change of machine.", "Jobs"),
    KPI("decisions", "Decisions", "count", "neutral", "Times the policy was asked to decide.", "Details"),
    KPI("decision_cpu_s", "Policy computing time", "duration", "neutral",
        "Processor time the policy took for all its decisions; not recorded where compiled code decided.", "Details"),
    KPI("stalled", "Stalled", "count", "lower",
        "1 if the run ended because nothing ran, nothing was due to happen and jobs were still waiting.", "Details"),
)  # fmt: skip

NAMES_ALL_RESOURCES = ("used_of_reserved",)
"""Metrics that are about every resource, whatever counts for the scenario."""
KPIS: dict[str, KPI] = {kpi.key: kpi for kpi in _ENTRIES}
"""The dictionary, in the order in which metrics are listed."""


def kpi_of(key: str, counted: Counted) -> KPI:
    """Return the entry of a metric where this resource counts."""
    return KPIS[key].of(counted)


def kpis_among(keys: Iterable[str]) -> tuple[KPI, ...]:
    """Return the entries of these keys in the order of the dictionary."""
    wanted = set(keys)
    return tuple(kpi for kpi in KPIS.values() if kpi.key in wanted)
