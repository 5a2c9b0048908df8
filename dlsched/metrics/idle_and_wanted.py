"""What stood idle while jobs that fit waited: of a record or of a replay, from submissions, starts and ends alone.

At a time with a queue, *idle and wanted* is min(free, sum of the widths of waiting jobs that fit into free): capacity
that a scheduler held back, whatever the reason. Its mean over the times with a queue, as a share of the capacity, tells
without any policy how much of the machine a record left idle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dlsched.domain.cluster import Cluster
from dlsched.domain.workload import Floats, Ints, Workload

ROUNDING = 1e-9
"""Shares of a GPU add up to this accuracy, relative to the capacity."""
CUT_S = 2.0
"""Readers let jobs that ran at the first complete instant arrive a second early, and run a second at least."""


@dataclass(frozen=True, eq=False)
class QueueOverTime:
    """A queue and the capacity beside it, between the instants at which either changes.

    ``at_s``, shape (n + 1,): the instants. Shape (n,), from one instant to the next: ``waiting`` jobs, ``free`` of
    ``capacity``, and ``idle_wanted``, the part of what is free that waiting jobs could hold.
    """

    at_s: Floats
    waiting: Ints
    free: Floats
    idle_wanted: Floats
    capacity: float

    @property
    def queued_s(self) -> float:
        """Seconds in which at least one job waits."""
        return float(np.diff(self.at_s)[self.waiting > 0].sum())

    def seconds_between(self, from_s: float, to_s: float) -> Floats:
        """Return how long each span between two instants is within a window, seconds, shape (n,)."""
        return np.asarray(np.diff(np.clip(self.at_s, from_s, max(from_s, to_s))))

    @property
    def idle_wanted_share(self) -> float | None:
        """Mean share of the capacity that is idle and wanted, over the times with a queue; None without a queue."""
        if not self.queued_s:
            return None
        return float(self.idle_wanted @ np.diff(self.at_s)) / (self.queued_s * self.capacity)


def queue_over_time(submit_s: Floats, start_s: Floats, end_s: Floats, width: Floats, capacity: float) -> QueueOverTime:
    """Return the queue of jobs, what is free, and what of it is wanted.

    A job waits from submission to start and holds its width from start to end, both half-open. At one instant ends,
    submissions and starts come together. Where more than the capacity is held, nothing is free.

    Parameters
    ----------
    submit_s, start_s, end_s, width
        Shape (jobs,); any order. A job without a start (NaN) waits until its end; without an end, a job waits or runs
        until the last instant of all jobs.
    capacity
        What there is of the resource that ``width`` counts, above 0.
    """
    known = np.concatenate([submit_s, start_s, end_s])
    at_s: Floats = np.unique(known[np.isfinite(known)])
    last_s = at_s[-1] if len(at_s) else 0.0
    gone_s = np.where(np.isfinite(end_s), end_s, last_s)
    leave_s = np.maximum(np.where(np.isfinite(start_s), start_s, gone_s), submit_s)
    enter, leave = np.searchsorted(at_s, submit_s), np.searchsorted(at_s, leave_s)
    n = max(len(at_s) - 1, 0)

    def running_sum(place: Ints, out: Ints, amount: Floats | None) -> Floats:
        change = np.bincount(place, amount, minlength=n + 1) - np.bincount(out, amount, minlength=n + 1)
        return np.asarray(np.cumsum(change)[:n], dtype=np.float64)

    hold = gone_s > start_s
    used = running_sum(
        np.searchsorted(at_s, start_s[hold]), np.searchsorted(at_s, gone_s[hold]), np.asarray(width[hold], dtype=float)
    )
    free = np.maximum(capacity - used, 0.0)
    waiting = np.rint(running_sum(enter, leave, None)).astype(np.int64)
    widths, rank = np.unique(width, return_inverse=True)
    fitting = np.searchsorted(widths, free + ROUNDING * capacity, side="right")
    places = np.flatnonzero((waiting > 0) & (fitting > 0))
    wanted = np.zeros(n)
    wanted[places] = _waiting_width(enter, leave, np.asarray(rank), np.asarray(width, float), places, fitting[places])
    return QueueOverTime(at_s, waiting, free, np.minimum(free, wanted), capacity)


def held_from_s(jobs: Workload) -> Floats:
    """Return from when on each job holds its nodes in the record, shape (jobs,): its recorded start; NaN without one.

    Where a reader cut a log to its complete part, jobs that ran at that instant have no recorded start, arrive with the
    first jobs, and end as soon as what is left of their run time is over: these hold their nodes from their arrival.
    """
    if jobs.recorded_start_s is None or jobs.recorded_end_s is None or not len(jobs):
        return np.full(len(jobs), np.nan) if jobs.recorded_start_s is None else jobs.recorded_start_s
    runs_out = np.abs(jobs.recorded_end_s - jobs.submit_s - jobs.work) <= CUT_S
    ran = np.isnan(jobs.recorded_start_s) & runs_out & (jobs.submit_s == jobs.submit_s[0])
    if jobs.cancel_after_s is not None:
        ran &= np.isnan(jobs.cancel_after_s)  # these left without a start
    return np.where(ran, jobs.submit_s, jobs.recorded_start_s)


def away_of(cluster: Cluster, capacity: Floats, last_s: float) -> tuple[Floats, Floats, Floats]:
    """Return from when, until when, and how much absent nodes lack, up to ``last_s``; overlaps of a node count once.

    ``capacity``: what each node has of a resource, shape (nodes,).
    """
    spans: list[tuple[int, float, float]] = []
    for one in sorted(cluster.absences, key=lambda absence: (absence.node, absence.start_s)):
        until_s = min(one.until_s, max(last_s, one.start_s))
        if spans and spans[-1][0] == one.node and one.start_s <= spans[-1][2]:
            spans[-1] = (one.node, spans[-1][1], max(spans[-1][2], until_s))
        else:
            spans.append((one.node, one.start_s, until_s))
    node = np.array([span[0] for span in spans], dtype=np.int64)
    amount = capacity[node] if spans else np.zeros(0)
    return np.array([span[1] for span in spans]), np.array([span[2] for span in spans]), np.asarray(amount)


def _waiting_width(enter: Ints, leave: Ints, rank: Ints, width: Floats, place: Ints, fitting: Ints) -> Floats:
    """Return the widths, summed, of the jobs that wait at each place and have a rank below ``fitting`` there.

    Ranks below a number are a block of 2^b ranks for each of its bits b: one sort and one search a bit, whatever the
    number of different widths.
    """
    total = np.zeros(len(place))
    at, change = np.concatenate([enter, leave]), np.concatenate([width, -width])
    ranks = np.concatenate([rank, rank])
    stride = int(max(at.max(initial=0), place.max(initial=0))) + 1
    for bit in range(int(fitting.max(initial=0)).bit_length()):
        asked = np.flatnonzero(fitting >> bit & 1)
        block = (fitting[asked] >> bit) - 1
        key = (ranks >> bit) * stride + at
        order = np.argsort(key, kind="stable")
        sums = np.concatenate([[0.0], np.cumsum(change[order])])
        upto = np.searchsorted(key[order], block * stride + place[asked], side="right")
        total[asked] += sums[upto]  # every block before this one has come to 0: all its jobs left
    return total
