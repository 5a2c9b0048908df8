"""What a run with quotas says of its queues: use, loans, stopped jobs, waits by cause, shares over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from dlsched.domain.model import Answer, FrozenModel
from dlsched.domain.plan import WaitReason
from dlsched.studies.calibration.measures import Measures

Cause = Literal["lent", "quota", "strict", "leaving", "nodes", "other"]
CAUSE_WORDS: Mapping[Cause, str] = {
    "lent": "own quota lent to others",
    "quota": "above own quota",
    "strict": "behind a strict first job",
    "leaving": "stopped jobs leaving",
    "nodes": "nodes",
    "other": "other",
}
"""Causes of waiting in the order of the picture."""
CAUSE_HELP: Mapping[Cause, str] = {
    "lent": "The queue's own quota would suffice, but other queues use it and their jobs may not be stopped. "
    "Reclaim cures this.",
    "quota": "The queue's own quota is used up and no more can be borrowed. More quota, or more borrowing, cures this.",
    "strict": "The queue is strict, and an earlier job of it cannot be admitted. Best effort cures this.",
    "leaving": "Jobs that are stopped for the waiting job have not left yet.",
    "nodes": "The quota suffices, but no node has room. Neither quota nor reclaim cures this; nodes do.",
    "other": "Any other reason, or none that the policy gave.",
}
CAUSE_OF: Mapping[str, Cause] = {
    WaitReason.QUOTA_LENT.name.lower(): "lent",
    WaitReason.OVER_QUOTA.name.lower(): "quota",
    WaitReason.TOO_LARGE.name.lower(): "quota",
    WaitReason.BEHIND.name.lower(): "strict",
    WaitReason.LEAVING.name.lower(): "leaving",
    WaitReason.NO_ROOM.name.lower(): "nodes",
    WaitReason.SPLIT.name.lower(): "nodes",
    WaitReason.NO_NODE.name.lower(): "nodes",
}
"""Reason in the table of waits -> cause; the others are "other"."""
REASON_WORDS: Mapping[str, str] = {
    "in-queue": "lower priority in the same queue",
    "reclaim": "used more than its queue's quota, for a job within its own quota",
    "reclaim-while-borrowing": "used more than its queue's quota, for a job of higher priority that borrows too",
    "fair-share": "its queue had the larger share",
}
"""Why a job may be stopped for another."""


class Band(FrozenModel):
    """A queue over time: amounts from each of ``time_s`` on, until the next.

    ``flavor`` "" = all flavors together. ``borrowed``: above the nominal quota, by flavor, added up; ``lenders``: the
    same by the cohort whose quota it is, nearest first, "" = above all quotas. ``waiting``: what jobs without quota
    request, ``waiting_jobs``: how many they are, of all flavors; () in bands of one flavor. ``share``: dominant
    resource share, 1 = all that its cohort could get; () in bands of one flavor.
    """

    queue: str
    flavor: str
    time_s: tuple[float, ...]
    nominal: tuple[float, ...]
    used: tuple[float, ...]
    borrowed: tuple[float, ...]
    lent: tuple[float, ...]
    lenders: Mapping[str, tuple[float, ...]] = {}
    waiting: tuple[float, ...] = ()
    waiting_jobs: tuple[float, ...] = ()
    running_jobs: tuple[float, ...] = ()
    share: tuple[float, ...] = ()


class QueueNumbers(FrozenModel):
    """One queue over the whole run. Hours are hours of one unit, such as GPU-hours.

    wait_s    5th, 25th, 50th, 75th and 95th percentile from submission to first start; () where no job started
    waited_s  seconds of all its jobs until their first start, by cause
    idle_h    own quota that neither its jobs nor others used
    stopped   its jobs that were stopped, ``caused``: jobs stopped for its jobs, ``lost_h``: work lost of its jobs
    share     time-weighted mean of its dominant resource share
    holders   queues that borrowed while its jobs waited for quota lent to others, those that borrowed most first
    replayed  its waits against the recorded ones, if there are any; ``not_compared``: jobs left out of that
    """

    queue: str
    parent: str
    weight: float
    jobs: int
    started: int
    wait_s: tuple[float, ...]
    waited_s: dict[Cause, float]
    nominal_h: float
    used_h: float
    borrowed_h: float
    lent_h: float
    idle_h: float
    stopped: int
    caused: int
    lost_h: float
    share: float
    holders: tuple[str, ...] = ()
    replayed: Measures | None = None
    not_compared: int = 0

    @property
    def wait_p95_s(self) -> float | None:
        """95th percentile of the wait."""
        return self.wait_s[-1] if self.wait_s else None

    def cause_share(self, cause: Cause) -> float:
        """Return the part of its waiting that has this cause; 0 without waiting."""
        total = sum(self.waited_s.values())
        return self.waited_s.get(cause, 0.0) / total if total > 0 else 0.0


class StoppedFor(FrozenModel):
    """Jobs of one queue that were stopped for jobs of another, or of the same."""

    queue: str
    for_queue: str
    jobs: int
    lost_h: float


class Stop(FrozenModel):
    """One job stopped for another; ``earlier``: how often it had been stopped before."""

    time_s: float
    job: str
    queue: str
    for_job: str
    for_queue: str
    reason: str
    lost_h: float
    earlier: int


class OftenStopped(FrozenModel):
    """A job with how often it was stopped and what it lost."""

    job: str
    queue: str
    times: int
    lost_h: float


class Queues(Answer):
    """A run with quotas. ``resource``: what all amounts count, a column of RESOURCES; times in seconds.

    ``stops``: at most MOST_STOPS of ``stopped``, those with the most lost work; ``jain``: Jain's index of borrowed
    hours over weight, 1 = all queues with jobs borrow in proportion, None if nothing is borrowed.
    """

    scenario: str
    scenario_name: str
    rule: str
    fair_sharing: bool
    resource: str
    start_s: float
    end_s: float
    queues: tuple[QueueNumbers, ...]
    bands: tuple[Band, ...]
    stopped_for: tuple[StoppedFor, ...]
    stops: tuple[Stop, ...]
    often: tuple[OftenStopped, ...]
    jain: float | None

    @property
    def stopped(self) -> int:
        """Jobs that were stopped for others; each as often as it was."""
        return sum(one.stopped for one in self.queues)

    @property
    def flavors(self) -> tuple[str, ...]:
        """Flavors that have bands of their own."""
        return tuple(dict.fromkeys(band.flavor for band in self.bands if band.flavor))

    def total(self, of: str) -> float:
        """Return the sum of one of the numbers over queues."""
        return float(sum(getattr(one, of) for one in self.queues))

    def named(self, queue: str) -> QueueNumbers:
        """Return the numbers of a queue; KeyError for another name."""
        return {one.queue: one for one in self.queues}[queue]

    def worst(self) -> QueueNumbers | None:
        """Return the queue with the longest p95 wait; None if no job started."""
        waited = [one for one in self.queues if one.wait_s]
        return max(waited, key=lambda one: one.wait_s[-1], default=None)


def jain_index(values: Sequence[float]) -> float | None:
    """Return (sum of x)^2 / (n x sum of x^2), between 1/n and 1; None if all are 0."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares > 0 else None
