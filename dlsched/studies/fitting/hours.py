"""Hours in which long jobs do not start: for classes of requested time, how often such jobs start in each hour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dlsched.domain.units import DAY_S, HOUR_S, MINUTE_S
from dlsched.domain.workload import Floats, Ints, Workload
from dlsched.metrics.idle_and_wanted import held_from_s
from dlsched.wording.clock import clock_of

CUTS_H = (1.0, 4.0, 15.0)
"""Requested times, hours, that part jobs into classes."""
CELLS = 48
"""24 hours of a weekday, then 24 of a day of the weekend."""
LEAST_JOB_HOURS = 20.0
CLOSED_BELOW = 0.15
BUSIEST = 8
PRIOR_H = 0.25


@dataclass(frozen=True, eq=False)
class StartRates:
    """Starts of jobs by class and cell, and job-hours in which such a job waited while there was room for it.

    Both of shape (classes, cells); a class has the jobs that ask for more than ``over_s`` (classes,) and no more than
    the next.
    """

    over_s: Floats
    starts: Floats
    waited_h: Floats

    @property
    def rate(self) -> Floats:
        """Starts per job-hour, with a quarter of an hour added so that cells without a wait have a rate."""
        return np.asarray(self.starts / (self.waited_h + PRIOR_H))

    @property
    def closed(self) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
        """Which cells are closed: at least 20 job-hours, and a rate below 0.15 x the median of the 8 highest."""
        usual = np.median(np.sort(self.rate, axis=1)[:, -BUSIEST:], axis=1)
        return np.asarray((self.waited_h >= LEAST_JOB_HOURS) & (self.rate < CLOSED_BELOW * usual[:, None]))


def cell_of(jobs: Workload, at_s: Floats) -> Ints:
    """Return the cell of each time, by the clock of the source; without dates days count from the first as Mondays."""
    since_s = at_s - monday_s(jobs)
    weekday = np.floor(since_s / DAY_S).astype(np.int64) % 7
    hour = np.floor(since_s % DAY_S / HOUR_S).astype(np.int64)
    return np.asarray(np.where(weekday >= 5, 24, 0) + hour)


def monday_s(jobs: Workload) -> float:
    """Return when a Monday starts by the clock of the source, seconds of the trace; 0 without dates."""
    zero = clock_of(jobs).zero
    if zero is None:
        return 0.0
    return -(zero.weekday() * DAY_S + zero.hour * HOUR_S + zero.minute * MINUTE_S + zero.second)


def closed_text(closed: tuple[tuple[float, tuple[int, ...]], ...]) -> str:
    """Return closed hours as the policy slurm reads them: "4-15 wd 8-18"; ``closed`` as in a setting."""
    edges_h = (0.0, *CUTS_H)
    rules = []
    for over_s, cells in closed:
        place = edges_h.index(over_s / HOUR_S)
        upto = f"{edges_h[place + 1]:g}" if place + 1 < len(edges_h) else ""
        for days, first in (("wd", 0), ("we", 24)):
            hours = [cell - first for cell in cells if first <= cell < first + 24]
            if hours:
                spans = ",".join(f"{low}-{high}" for low, high in spans_of(hours))
                rules.append(f"{edges_h[place]:g}-{upto} {days} {spans}")
    return "; ".join(rules)


def spans_of(hours: Sequence[int]) -> list[tuple[int, int]]:
    """Return rising hours as spans from the first hour to the one after the last."""
    spans: list[tuple[int, int]] = []
    for hour in hours:
        if spans and spans[-1][1] == hour:
            spans[-1] = (spans[-1][0], hour + 1)
        else:
            spans.append((hour, hour + 1))
    return spans


def start_rates(known: Workload, capacity: float, resource: int) -> StartRates:
    """Return how often jobs of each class start in each hour, by the record.

    There is room for a job where at least its width of ``resource`` is free of ``capacity``.
    """
    start_s, submit_s = held_from_s(known), known.submit_s
    end_s = start_s + known.work if known.recorded_end_s is None else known.recorded_end_s
    end_s = np.where(np.isfinite(end_s), end_s, start_s + known.work)
    width = known.requested[:, resource]
    ran = np.isfinite(start_s)
    first_s, last_s = float(submit_s.min(initial=0.0)), float(start_s[ran].max(initial=0.0))
    hours = np.arange(np.floor(first_s / HOUR_S), np.ceil(last_s / HOUR_S) + 1) * HOUR_S
    edges = np.unique(np.concatenate([submit_s, start_s[ran], end_s[ran], hours]))
    edges = edges[(edges >= first_s) & (edges <= max(last_s, first_s))]
    change = np.zeros(len(edges) + 1)
    np.add.at(change, np.searchsorted(edges, start_s[ran]), width[ran])
    np.add.at(change, np.searchsorted(edges, end_s[ran]), -width[ran])
    free = capacity - np.cumsum(change)[:-1]
    cells, lengths_h = cell_of(known, edges[:-1]), np.diff(edges) / HOUR_S
    asked_s = known.work if known.limit_s is None else np.where(np.isnan(known.limit_s), known.work, known.limit_s)
    over_s = np.array([0.0, *CUTS_H]) * HOUR_S
    kind = np.maximum(np.searchsorted(over_s, asked_s, side="left") - 1, 0)
    starts, waited_h = np.zeros((len(over_s), CELLS)), np.zeros((len(over_s), CELLS))
    waited = ran & (start_s > submit_s)
    np.add.at(starts, (kind[waited], cell_of(known, start_s[waited])), 1.0)
    from_edge, to_edge = np.searchsorted(edges, submit_s), np.searchsorted(edges, np.where(ran, start_s, submit_s))
    for row in np.flatnonzero(waited).tolist():
        span = slice(from_edge[row], to_edge[row])
        room = free[span] >= width[row] - 1e-9
        waited_h[kind[row]] += np.bincount(cells[span], np.where(room, lengths_h[span], 0.0), minlength=CELLS)
    return StartRates(over_s, starts, waited_h)
