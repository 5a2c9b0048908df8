"""What was measured of asynchronous training: throughput by number of workers, or the times of single mini-batches."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats, Ints
from dlsched.speed.queueing import STATIONS, StepTimes

MOST_MEASURED_WORKERS = 1_000
LEAST_PER_S, MOST_PER_S = 1e-6, 1e6
ENOUGH = 3
"""Numbers of workers from which on an error says something about a network."""
SAME = 1e-9
LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Measurements:
    """Measured mini-batches per second with so many workers, shape (points,): ascending, repeated ones averaged.

    ``runs`` (points,) counts what was averaged. ``synchronous``: the workers waited for each other in every step, which
    the network does not model.

    Raises
    ------
    InputError
        Unequal lengths, numbers of workers that are not whole or outside 1..MOST_MEASURED_WORKERS, throughputs outside
        LEAST_PER_S..MOST_PER_S, fewer than 2 different numbers of workers.
    """

    workers: Ints
    throughput: Floats
    synchronous: bool = False
    runs: Ints = field(init=False)

    def __post_init__(self) -> None:
        workers, rates = _checked(self.workers, self.throughput)
        distinct, place, runs = np.unique(workers, return_inverse=True, return_counts=True)
        mean = np.bincount(place, rates) / runs
        for name, value in (("workers", distinct), ("throughput", mean), ("runs", runs)):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.workers)

    @cached_property
    def findings(self) -> tuple[str, ...]:
        """What no asynchronous network with one server does, in words: falling and faster than linear throughput."""
        return tuple(found for found in (self._falls(), self._outgrows()) if found)

    def _falls(self) -> str:
        drop = [after / before - 1.0 for before, after in pairwise(self.throughput)]
        worst = int(np.argmin(drop))
        if drop[worst] >= -SAME:
            return ""
        return (
            f"Throughput falls from {self.throughput[worst]:.3g} mini-batches/s at {_count(self.workers[worst])} to "
            f"{self.throughput[worst + 1]:.3g} at {self.workers[worst + 1]}: the exact and hybrid networks never fall; "
            "fitted all the same, the error says how badly"
        )

    def _outgrows(self) -> str:
        growth = (self.throughput / self.throughput[0]) / (self.workers / self.workers[0])
        worst = int(np.argmax(growth))
        if growth[worst] <= 1.0 + SAME:
            return ""
        return (
            f"Throughput grows faster than the workers: {growth[worst] * self.workers[worst] / self.workers[0]:.3g} "
            f"times from {_count(self.workers[0])} to {self.workers[worst]}; no network does that"
        )


@dataclass(frozen=True, eq=False)
class ProfiledTimes:
    """Mean times of ``rows`` profiled mini-batches; ``half_widths`` (4,) in the order of STATIONS.

    Each is half the 95% t interval of the mean as a share of it, NaN for a single row.
    """

    times: StepTimes
    half_widths: Floats
    rows: int


def mean_times(rows_s: Floats) -> ProfiledTimes:
    """Return the mean of profiled mini-batches, seconds of shape (rows, 4) in the order of STATIONS.

    Raises
    ------
    InputError
        Without rows, with a time that is negative or not finite, or where all times are 0.
    """
    rows = np.asarray(rows_s, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != len(STATIONS) or not len(rows):
        raise InputError("profiled times", f"must be rows of {len(STATIONS)} times, got an array of {rows.shape}")
    bad = np.argwhere(~(np.isfinite(rows) & (rows >= 0)))
    if len(bad):
        row, place = bad[0].tolist()
        why = f"must be 0 or more and finite, got {rows[row, place]:g}"
        raise InputError(f"profiled row {row + 1}, {STATIONS[place]}_s", why, "Correct it or leave the row out")
    mean = rows.mean(axis=0)
    times = StepTimes(**{f"{name}_s": value for name, value in zip(STATIONS, mean.tolist(), strict=True)})
    return ProfiledTimes(times, _half_widths(rows, mean), len(rows))


def _half_widths(rows: Floats, mean: Floats) -> Floats:
    if len(rows) == 1:
        return np.full(len(mean), np.nan)
    from scipy.special import stdtrit  # quicker to import than scipy.stats

    factor = stdtrit(len(rows) - 1, (1 + LEVEL) / 2) / np.sqrt(len(rows))
    deviation = factor * rows.std(axis=0, ddof=1)
    return np.where(mean > 0, deviation / np.where(mean > 0, mean, 1.0), 0.0)


def _count(workers: int) -> str:
    return f"{workers} worker" + ("s" if workers != 1 else "")


# ---- checks --------------------------------------------------------------------------------------


def _checked(workers: Ints, rates: Floats) -> tuple[Ints, Floats]:
    counts, rates = np.asarray(workers, dtype=np.float64), np.asarray(rates, dtype=np.float64)
    if counts.ndim != 1 or counts.shape != rates.shape:
        why = f"workers and throughput must be two lists of one length, got {counts.shape} and {rates.shape}"
        raise InputError("measurements", why)
    for place, (count, rate) in enumerate(zip(counts.tolist(), rates.tolist(), strict=True), start=1):
        if not (1 <= count <= MOST_MEASURED_WORKERS and count == int(count)):
            why = f"must be a whole number from 1 to {MOST_MEASURED_WORKERS:,}, got {count:g}"
            raise InputError(f"measurement {place}, workers", why, "Correct it or leave the measurement out")
        if not LEAST_PER_S <= rate <= MOST_PER_S:
            why = f"must be from {LEAST_PER_S:g} to {MOST_PER_S:,.0f} mini-batches/s, got {rate:g}"
            raise InputError(f"measurement {place}, throughput", why, "Correct it or leave the measurement out")
    if len(set(counts.tolist())) < 2:
        why = f"a fit needs 2 different numbers of workers, got {len(set(counts.tolist()))}"
        raise InputError("measurements", why, f"Measure at least {ENOUGH}")
    return counts.astype(np.int64), rates
