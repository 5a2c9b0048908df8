"""What a recorded log answers: waits, hours used, what it cost, and what stood idle; by user, group, partition, month.

Definitions. A job *waited* from its arrival to its recorded start; the wait *from Submit* has the time before its
arrival too, in which a dependency or a hold kept it back. It ran from its start to its recorded end, to start + run
time where no end is recorded, and to the end of the log where it was still running. Hours are what it held times how
long it ran. Hours *ended without success* are those of jobs that failed, were cancelled, timed out, were preempted or
lost their node. Hours of a month are those used in it; the waits of a month are those of the jobs that arrived in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from dlsched.domain.model import Answer, FrozenModel

Grouping = Literal["user", "group", "partition", "month", "job_class"]
GROUPINGS: tuple[Grouping, ...] = ("user", "group", "partition", "month", "job_class")
GROUPING_WORDS: Mapping[str, str] = {
    "user": "user", "group": "group", "partition": "partition", "month": "month", "job_class": "class",
}  # fmt: skip
Resource = Literal["gpus", "cpus"]
OUTCOMES = (
    "completed", "failed", "cancelled", "timed out", "preempted", "node failure", "still running", "not told",
)  # fmt: skip
WITHOUT_SUCCESS = ("failed", "cancelled", "timed out", "preempted", "node failure")
NAMELESS, OTHERS = "(no name)", "(others)"


class Times(FrozenModel):
    """Mean, median and 95th percentile of a time, seconds."""

    mean_s: float
    median_s: float
    p95_s: float


class Used(FrozenModel):
    """Hours that jobs held, those of jobs that ended without success, and what all of them cost (None: no price)."""

    gpu_h: float = 0.0
    core_h: float = 0.0
    lost_gpu_h: float = 0.0
    lost_core_h: float = 0.0
    usd: float | None = None


class GroupRow(FrozenModel):
    """What happened to the jobs of a name. Times are None without a started job; ``over_*`` are shares of the started.

    ``wait`` counts from arrival, ``felt`` from Submit; ``held`` jobs were kept back before they arrived.
    """

    name: str
    jobs: int
    started: int
    wait: Times | None
    felt: Times | None
    over_10min: float | None
    over_1h: float | None
    held: int
    used: Used


class OutcomeRow(FrozenModel):
    """Jobs with one recorded outcome, and the hours they held."""

    outcome: str
    jobs: int
    gpu_h: float
    core_h: float


class Capacity(FrozenModel):
    """One resource of the cluster in the window: hours there were, used, and idle.

    ``amount``: what all nodes have, absent ones too. Where more was recorded in use than there is
    (``over_h`` > 0), nothing counts as idle, so that used + idle can be more than available.
    """

    resource: Resource
    amount: float
    available_h: float
    used_h: float
    idle_h: float
    over_h: float


class IdleHour(FrozenModel):
    """An hour (or longer step) with capacity idle all through it, and jobs that waited all through it and would fit.

    ``partitions``: where, as shares are of the nodes that one queue uses; "" where all jobs have one queue.
    """

    from_s: float
    partitions: str
    idle: float
    waiting: int
    wanted: float


class LongWait(FrozenModel):
    """A job that waited long; ``wait_s`` from arrival, ``held_s`` before that."""

    job_id: str
    user: str
    group: str
    partition: str
    submit_s: float
    wait_s: float
    held_s: float
    width: float


class Series(FrozenModel):
    """State from each time on: jobs waiting, and what is in use of the main resource."""

    time_s: tuple[float, ...]
    waiting: tuple[int, ...]
    used: tuple[float, ...]


class Prices(FrozenModel):
    """Prices per hour of a GPU and, for jobs without GPUs, of a core; ``words`` say where they come from."""

    gpu_usd: float | None
    core_usd: float | None
    words: str
    is_example: bool


class History(Answer):
    """What happened in a log.

    Parameters
    ----------
    jobs, started
        Jobs of the log, and those with a recorded start at or after their arrival: only these are counted in waits and
        hours. ``early``: starts recorded before the arrival.
    dropped
        Rows that the reader dropped, which are in no number here.
    resource
        The main resource: GPUs, or cores where hardly a job has GPUs. ``width`` of a job counts it.
    total, groups, outcomes
        The rows, largest use first, months in order of time. Used hours and cost of all rows of a grouping add up to
        those of ``total``.
    window_s
        First recorded end to last arrival: when the log shows all jobs that run. None if that is empty.
    capacity
        By resource; empty where the cluster is not that of the log.
    idle_usd
        Cost of the idle hours of the main resource in the window.
    idle_wanted
        Mean share of the cluster that was idle while jobs that fit waited, as calibration counts it; None without a
        queue, and where the cluster is not that of the log.
    steps, idle_steps
        Steps of ``step_s`` in the window, and those with at least a fifth idle while jobs that fit waited all through.
    worst
        Steps in which most was idle and wanted.
    unusual_months
        Months with more than twice or less than half the usual hours a day.
    notes
        What must be known to read the numbers.
    """

    scenario: str
    scenario_name: str
    jobs: int
    started: int
    early: int
    dropped: int
    first_s: float
    last_s: float
    resource: Resource
    has_gpus: bool
    has_cores: bool
    total: GroupRow
    groups: Mapping[str, tuple[GroupRow, ...]]
    outcomes: tuple[OutcomeRow, ...]
    window_s: tuple[float, float] | None
    capacity: tuple[Capacity, ...]
    cluster_words: str
    prices: Prices
    idle_usd: float | None
    step_s: float
    idle_wanted: float | None
    steps: int
    idle_steps: int
    worst: tuple[IdleHour, ...]
    longest: tuple[LongWait, ...]
    series: Series
    unusual_months: tuple[str, ...]
    is_sample: bool
    notes: tuple[str, ...]

    @property
    def main(self) -> Capacity | None:
        """The capacity of the main resource; None if the cluster is not known."""
        return next((one for one in self.capacity if one.resource == self.resource), None)

    def hours(self, used: Used) -> float:
        """Return the hours used of the main resource."""
        return used.gpu_h if self.resource == "gpus" else used.core_h

    def lost(self, used: Used) -> float:
        """Return the hours of the main resource of jobs that ended without success."""
        return used.lost_gpu_h if self.resource == "gpus" else used.lost_core_h
