"""The KPI dictionary: label, format, direction and tooltip of every metric, said in this one place.

Cards, tables, tooltips, reports and the glossary read it. Keys are the metric keys of
:func:`dlsched.metrics.summarise`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from dlsched.wording import formats
from dlsched.wording.formats import Kind, Number

Better = Literal["lower", "higher", "neutral"]
Section = Literal["Service", "Due times", "Cost", "Use", "Jobs", "Details"]


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


_ALL_STARTED = "First start only; with pauses it is “Time not running”, a number of its own."
_DONE_ONLY = "Completion minus submission, completed jobs only: see “Completed”."

_ENTRIES: tuple[KPI, ...] = (
    KPI("wait_p95", "Wait, p95", "duration", "lower",
        "95 of 100 jobs started within this time of being submitted. Counts until the first start only.", "Service"),
    KPI("wait_p50", "Wait, median", "duration", "lower",
        f"Half of the jobs started sooner. {_ALL_STARTED}", "Service"),
    KPI("wait_mean", "Wait, mean", "duration", "lower",
        f"Average time from submission to the start. {_ALL_STARTED}", "Service"),
    KPI("wait_max", "Wait, longest", "duration", "lower",
        "The longest time a job waited for its first start. One job sets it.", "Service"),
    KPI("not_running_mean", "Time not running, mean", "duration", "lower",
        "Average time a completed job was there without progress: first wait, pauses and restarts.", "Service"),
    KPI("not_running_p95", "Total waiting, p95", "duration", "lower",
        "95 of 100 completed jobs spent up to this time without progress: first wait, pauses and restarts. A wait ends "
        "at the first start, which flatters policies that stop jobs; this number does not.", "Service"),
    KPI("jct_mean", "Time in system, mean", "duration", "lower", f"{_DONE_ONLY} Also called JCT.", "Service"),
    KPI("jct_mean_bound", "Time in system, least possible", "duration", "neutral",
        "A proven bound: no policy can complete the jobs that this run completed in less time on average. A policy "
        "that leaves others out can.", "Service"),
    KPI("jct_median", "Time in system, median", "duration", "lower",
        f"Half of the jobs were done sooner. {_DONE_ONLY}", "Service"),
    KPI("jct_p95", "Time in system, p95", "duration", "lower",
        f"95 of 100 jobs were done within this time. {_DONE_ONLY}", "Service"),
    KPI("jct_p99", "Time in system, p99", "duration", "lower",
        f"99 of 100 jobs were done within this time. {_DONE_ONLY}", "Service"),
    KPI("slowdown_mean", "Slowdown, mean", "factor", "lower",
        "Time in system divided by the run time alone at the requested width, completed jobs only. 2x: as long again "
        "waiting as running. Jobs with run times by number of GPUs: divided by the shortest of them.", "Service"),
    KPI("slowdown_bounded_mean", "Slowdown, bounded", "factor", "lower",
        "As slowdown, with run times under 10 min counted as 10 min, so that very short jobs do not dominate.",
        "Service"),
    KPI("fairness_p95", "Fairness, p95", "factor", "lower",
        "Time in system divided by the time alone on an equal part of the GPUs; 95 of 100 jobs were at or below. "
        "Above 1x a job did worse than on its own part.", "Service"),
    KPI("fairness_max", "Fairness, worst", "factor", "lower",
        "Time in system divided by the time alone on an equal part of the GPUs, for the job that did worst.",
        "Service"),
    KPI("fairness_users_jain", "Evenness over users (Jain)", "number", "higher",
        "How alike users' mean slowdowns are: squared sum over number of users times the sum of squares. 1: all alike; "
        "1 / users: one bears it all. Each user with a completed job counts once, also where all are equally slow. "
        "Slowdowns 2x, 2x and 5x give 0.82.", "Service"),
    KPI("makespan", "Last job done (makespan)", "duration", "lower",
        "First submission to last completion. Set by the longest jobs: weak for comparing.", "Service"),
    KPI("late_share", "Late jobs, share", "share", "lower",
        "Completed after their due time, or not completed with it passed, among jobs that have one. Rejected jobs are "
        "counted apart.", "Due times"),
    KPI("late_jobs", "Late jobs", "count", "lower",
        "Completed after their due time, or not completed with it passed, among jobs that have one. Rejected jobs are "
        "counted apart.", "Due times"),
    KPI("tardiness_total", "Hours late", "hours", "lower",
        "Sum of hours past due; early jobs count zero. Unfinished jobs count up to the end of the run.", "Due times"),
    KPI("tardiness_total_bound", "Hours late, least possible", "hours", "neutral",
        "A proven bound: no policy can bring the jobs that ended by themselves in this run to their end with fewer "
        "hours past due. Rejected, cancelled and unfinished jobs count nothing.", "Due times"),
    KPI("tardiness_cost", "Cost of lateness", "usd", "lower",
        "Hours past due times each job's weight ($/h): a planning weight, not money paid.", "Due times"),
    KPI("utility_total", "Utility", "number", "higher",
        "Sum of what each completed job is worth at its completion time. Unit-free: compare only within a scenario.",
        "Due times"),
    KPI("utility_total_bound", "Utility, most possible", "number", "neutral",
        "A proven bound: no policy can get more from all jobs of this run, also from those that this policy turned "
        "away or left unfinished.", "Due times"),
    KPI("vm_cost", "Machine cost", "usd", "lower",
        "Price times time each machine was up, used or not. Prices are frozen into the run.", "Cost"),
    KPI("cost_month", "Cost per month", "usd_per_month", "lower",
        "Machine cost over the arrival window, scaled to 30.4 days. Use it when windows differ.", "Cost"),
    KPI("usd_per_job", "Cost per job", "usd", "lower",
        "Machine cost divided by completed jobs. It compares policies that rent machines, which pay over unlike times. "
        "A dash where no job was completed.", "Cost"),
    KPI("total_cost", "Total cost", "usd", "lower",
        "Machine cost + cost of lateness + cost of rejections, always shown with its parts.", "Cost"),
    KPI("total_cost_bound", "Total cost, least possible", "usd", "neutral",
        "A proven bound: no policy can cost less on these jobs. A dash where none is known.", "Cost"),
    KPI("idle_cost", "Paid but idle", "usd", "lower", "Cost of machine time no job held.", "Cost"),
    KPI("spare_cost", "Spare GPUs beside jobs", "usd", "lower",
        "Cost of the GPUs no job held on machines on which jobs ran. Those jobs pay for them.", "Cost"),
    KPI("restart_cost", "Restarts and lost work", "usd", "lower",
        "Cost of GPU time held in restarts, or in work that was lost with a node.", "Cost"),
    KPI("usd_per_useful_gpu_h", "Cost per useful GPU-hour", "usd_per_gpu_h", "lower",
        "Machine cost divided by GPU-hours of work that was kept.", "Cost"),
    KPI("rejection_cost", "Cost of rejections", "usd", "lower",
        "Jobs turned away times the cost set for turning one away ($0 unless set).", "Cost"),
    KPI("allocation_ratio", "GPUs held", "share", "neutral",
        "GPU-time held by jobs out of GPU-time up. Says nothing about how busy the chip is. High means full, not good.",
        "Use"),
    KPI("goodput", "Useful share", "share", "higher",
        "Held GPU-time that moved work forward; the rest is restarts and lost work.", "Use"),
    KPI("other_width_share", "Run at another width", "share", "neutral",
        "Share of the jobs' running time in which they held more or fewer GPUs than they asked for.", "Use"),
    KPI("used_of_reserved", "Used of reserved", "share", "higher",
        "What jobs held out of what was kept for them, their users' limits, over the time they ran. GPUs, CPUs, memory "
        "and disk count each as shares of the cluster's, added up. A dash where nothing beyond use was kept.", "Use"),
    KPI("gpu_hours_held", "GPU-hours held", "number", "neutral", "GPUs held times hours, over all jobs.", "Use"),
    KPI("gpu_hours_up", "GPU-hours up", "number", "neutral", "GPUs of machines that were up, times hours.", "Use"),
    KPI("gpu_hours_idle", "GPU-hours paid, not held", "number", "lower",
        "GPUs of machines that were paid for and that no job held, times hours: machines without jobs and spare GPUs "
        "beside jobs.", "Use"),
    KPI("queue_max", "Longest queue", "count", "lower", "The largest number of jobs that waited at one time.", "Use"),
    KPI("jobs", "Jobs", "count", "neutral", "Jobs of the workload that the run was given.", "Jobs"),
    KPI("completed", "Completed", "count", "higher",
        "Jobs that finished. Rejected: turned away. Unfinished: not done at the end of the run.", "Jobs"),
    KPI("rejected", "Rejected", "count", "lower", "Jobs the policy turned away.", "Jobs"),
    KPI("unfinished", "Unfinished", "count", "lower", "Jobs not done at the end of the run.", "Jobs"),
    KPI("cancelled", "Cancelled", "count", "neutral", "Jobs their user took back.", "Jobs"),
    KPI("failed", "Failed", "count", "neutral", "Jobs that died early through a bug of their own.", "Jobs"),
    KPI("preemptions", "Preemptions", "count", "lower", "Times a job was stopped for another.", "Jobs"),
    KPI("resizes", "Resizes", "count", "lower", "Times a running job changed its width.", "Jobs"),
    KPI("restarts", "Restarts", "count", "lower",
        "Times a job started again after a pause, a move, a lost node or a changed machine.", "Jobs"),
    KPI("decisions", "Decisions", "count", "neutral", "Times the policy was asked.", "Details"),
    KPI("decision_cpu_s", "Policy's own time", "duration", "neutral",
        "Processor time the policy took for all its decisions; none recorded where compiled code decided.", "Details"),
    KPI("stalled", "Stalled", "count", "lower",
        "1 when nothing ran, nothing was due to happen and jobs still waited: the run ended there.", "Details"),
)  # fmt: skip

KPIS: dict[str, KPI] = {kpi.key: kpi for kpi in _ENTRIES}
"""The dictionary, in the order in which metrics are listed."""


def kpis_among(keys: Iterable[str]) -> tuple[KPI, ...]:
    """Return the entries of these keys in the order of the dictionary."""
    wanted = set(keys)
    return tuple(kpi for kpi in KPIS.values() if kpi.key in wanted)
