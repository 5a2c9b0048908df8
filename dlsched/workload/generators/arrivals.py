"""When jobs arrive: Poisson, batches, bursts, a daily pattern, or a trace's own rate.

Every pattern is drawn from unit exponentials, so a changed rate stretches the same arrivals, and a longer draw
starts with the shorter one.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, field_validator

from dlsched.domain.errors import InputError
from dlsched.domain.model import FrozenModel
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats, Workload

MOST_NUMBERS = 20_000

Rate = Annotated[float, Field(gt=0, le=1e6, description="Jobs per hour, long-run mean.")]
Factor = Annotated[float, Field(gt=0, le=1e6, description="Arrival rate as a multiple of the recorded one.")]
Amount = Annotated[float, Field(ge=0, le=1e9)]


class _AtRate(FrozenModel):
    """Patterns whose long-run rate is a parameter."""

    jobs_per_h: Rate

    @property
    def mean_jobs_per_h(self) -> float:
        """Long-run rate."""
        return self.jobs_per_h

    def scaled(self, factor: float) -> Self:
        """Return the same pattern at ``factor`` times the rate."""
        return self.model_copy(update={"jobs_per_h": self.jobs_per_h * factor})


class Poisson(_AtRate):
    """Independent arrivals: exponential gaps."""

    kind: Literal["poisson"] = "poisson"

    def times_s(self, count: int, rng: np.random.Generator) -> Floats:
        """Return ``count`` arrival times, ascending, seconds."""
        return np.cumsum(rng.standard_exponential(count)) * (HOUR_S / self.jobs_per_h)


class Batches(_AtRate):
    """Batches at Poisson times; a batch holds a geometric number of jobs that arrive together."""

    kind: Literal["batches"] = "batches"
    mean_batch: float = Field(
        5.0, ge=1, le=10_000, description="Mean number of jobs per batch (geometric distribution)."
    )

    def times_s(self, count: int, rng: np.random.Generator) -> Floats:
        """Return ``count`` arrival times, ascending, seconds."""
        gaps, sizes = rng.spawn(2)
        batch_s = np.cumsum(gaps.standard_exponential(count)) * (HOUR_S * self.mean_batch / self.jobs_per_h)
        jobs = np.minimum(sizes.geometric(1 / self.mean_batch, count), count)
        return np.repeat(batch_s, jobs)[:count]


class Bursts(_AtRate):
    """Calm and busy times in turn, each of exponential length (a Markov-modulated Poisson process)."""

    kind: Literal["bursts"] = "bursts"
    burst_factor: float = Field(
        8.0, ge=1, le=1e4, description="Arrival rate during a burst as a multiple of the calm rate."
    )
    burst_h: float = Field(2.0, ge=0.1, le=1e4, description="Mean length of a burst in hours.")
    calm_h: float = Field(10.0, ge=0.1, le=1e4, description="Mean time between bursts in hours.")

    @property
    def calm_jobs_per_h(self) -> float:
        """Rate between bursts; follows from the mean rate."""
        whole_h = self.burst_h + self.calm_h
        return self.jobs_per_h * whole_h / (self.calm_h + self.burst_factor * self.burst_h)

    def times_s(self, count: int, rng: np.random.Generator) -> Floats:
        """Return ``count`` arrival times, ascending, seconds."""
        gaps, phases = rng.spawn(2)
        jobs = np.cumsum(gaps.standard_exponential(count))
        in_burst = bool(phases.random() < self.burst_h / (self.burst_h + self.calm_h))
        rate = np.array([self.calm_jobs_per_h, self.calm_jobs_per_h * self.burst_factor])
        mean_h = np.array([self.calm_h, self.burst_h])
        if in_burst:
            rate, mean_h = rate[::-1], mean_h[::-1]
        chunk = 16 + int(jobs[-1] / float(rate @ mean_h))
        hours = np.zeros(0)
        gained = np.zeros(0)
        while gained.sum() <= jobs[-1]:
            drawn_h = phases.standard_exponential((chunk, 2)) * mean_h
            hours = np.concatenate([hours, drawn_h.ravel()])
            gained = np.concatenate([gained, (drawn_h * rate).ravel()])
        return np.interp(jobs, _from_zero(gained), _from_zero(hours)) * HOUR_S


class Daily(_AtRate):
    """Poisson arrivals whose rate follows the hour of the day and the day of the week."""

    kind: Literal["daily"] = "daily"
    hour_weights: tuple[Amount, ...] = Field(
        (1.0,) * 24, min_length=24, max_length=24, description="24 weights, from 00:00 to 23:00."
    )
    weekday_weights: tuple[Amount, ...] = Field(
        (1.0,) * 7, min_length=7, max_length=7, description="7 weights, from the weekday of the first day."
    )

    @field_validator("hour_weights", "weekday_weights")
    @classmethod
    def _some(cls, weights: tuple[float, ...]) -> tuple[float, ...]:
        if sum(weights) <= 0:
            raise ValueError("at least one weight must be above 0")
        return weights

    def times_s(self, count: int, rng: np.random.Generator) -> Floats:
        """Return ``count`` arrival times, ascending, seconds; the zero is midnight."""
        week = np.outer(self.weekday_weights, self.hour_weights).ravel()
        per_hour = week / week.mean() * self.jobs_per_h
        return _through_cycle(np.cumsum(rng.standard_exponential(count)), per_hour)


class HourlyRates(FrozenModel):
    """Poisson arrivals at a trace's own rate, hour by hour, from the start again when the trace ends."""

    kind: Literal["hourly-rates"] = "hourly-rates"
    jobs_in_hour: tuple[Amount, ...] = Field(
        min_length=1, max_length=MOST_NUMBERS, description="Jobs in each hour of the trace."
    )
    factor: Factor = 1.0

    @field_validator("jobs_in_hour")
    @classmethod
    def _some(cls, jobs: tuple[float, ...]) -> tuple[float, ...]:
        if sum(jobs) <= 0:
            raise ValueError("at least one hour must have jobs")
        return jobs

    @property
    def mean_jobs_per_h(self) -> float:
        """Long-run rate."""
        return self.factor * sum(self.jobs_in_hour) / len(self.jobs_in_hour)

    def scaled(self, factor: float) -> Self:
        """Return the same pattern at ``factor`` times the rate."""
        return self.model_copy(update={"factor": self.factor * factor})

    def times_s(self, count: int, rng: np.random.Generator) -> Floats:
        """Return ``count`` arrival times, ascending, seconds."""
        per_hour = self.factor * np.array(self.jobs_in_hour)
        return _through_cycle(np.cumsum(rng.standard_exponential(count)), per_hour)


class Gaps(FrozenModel):
    """Gaps between arrivals drawn with replacement from recorded ones."""

    kind: Literal["gaps"] = "gaps"
    gaps_s: tuple[Amount, ...] = Field(min_length=1, max_length=MOST_NUMBERS, description="Recorded gaps in seconds.")
    factor: Factor = 1.0

    @field_validator("gaps_s")
    @classmethod
    def _some(cls, gaps_s: tuple[float, ...]) -> tuple[float, ...]:
        if sum(gaps_s) <= 0:
            raise ValueError("at least one gap must be above 0 s")
        return gaps_s

    @property
    def mean_jobs_per_h(self) -> float:
        """Long-run rate."""
        return self.factor * HOUR_S * len(self.gaps_s) / sum(self.gaps_s)

    def scaled(self, factor: float) -> Self:
        """Return the same pattern at ``factor`` times the rate."""
        return self.model_copy(update={"factor": self.factor * factor})

    def times_s(self, count: int, rng: np.random.Generator) -> Floats:
        """Return ``count`` arrival times, ascending, seconds."""
        picks = np.array(self.gaps_s)[rng.integers(0, len(self.gaps_s), count)]
        times_s: Floats = np.cumsum(picks) / self.factor
        return times_s


Arrivals = Annotated[Poisson | Batches | Bursts | Daily | HourlyRates | Gaps, Field(discriminator="kind")]


def hourly_rates_of(workload: Workload) -> HourlyRates:
    """Return the arrivals per hour of a trace, at most its first ``MOST_NUMBERS`` hours.

    Raises
    ------
    InputError
        If the trace has no jobs.
    """
    _need_jobs(workload, 1)
    hours = (workload.submit_s // HOUR_S).astype(np.int64)
    hours = hours[hours < MOST_NUMBERS + hours[0]] - hours[0]
    return HourlyRates(jobs_in_hour=tuple(np.bincount(hours).astype(float).tolist()))


def gaps_of(workload: Workload) -> Gaps:
    """Return the gaps between the arrivals of a trace, at most its first ``MOST_NUMBERS``.

    Raises
    ------
    InputError
        If the trace has fewer than two submission times.
    """
    _need_jobs(workload, 2)
    gaps_s = np.diff(workload.submit_s)[:MOST_NUMBERS]
    if not gaps_s.any():
        raise InputError("arrivals", "all jobs of the trace arrive at the same time", "Choose another arrival pattern")
    return Gaps(gaps_s=tuple(gaps_s.tolist()))


def _need_jobs(workload: Workload, least: int) -> None:
    if len(workload) < least:
        raise InputError(
            "arrivals", f"a rate needs at least {least} jobs, but the trace has {len(workload)}", "Load a longer trace"
        )


def _from_zero(steps: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(steps)])


def _through_cycle(jobs: Floats, per_hour: Floats) -> Floats:
    """Return when the expected number of arrivals reaches each of ``jobs``, at hourly rates that repeat, seconds.

    This change of clock turns unit exponentials into a Poisson process of that rate.
    """
    edges = _from_zero(per_hour)
    rounds, rest = np.divmod(jobs, edges[-1])
    hour = np.searchsorted(edges, rest, side="right") - 1
    inside = (rest - edges[hour]) / per_hour[hour]
    times_s: Floats = (rounds * len(per_hour) + hour + inside) * HOUR_S
    return times_s
