"""When waiting jobs start, by many futures of the queue, and how often such intervals held on the log.

All times of starts are seconds from the instant of the queue. An interval is that of the futures: in a tenth of them
the job starts earlier than ``low_s``, in a tenth later than ``high_s``. None: it does not start in so many of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from dlsched.domain.model import Answer, FrozenModel
from dlsched.domain.workload import Floats
from dlsched.studies.when_starts.run_times import Level

LEVELS = (0.1, 0.5, 0.9)
SOON_S, TODAY_S = 3600.0, 86_400.0
SLACK_S = 60.0
"""A start this far outside an interval still counts as within: schedulers decide in passes; ours."""
LEAST_SCORED = 20
"""With fewer scored jobs nothing is said of how often intervals hold; ours."""

Change = Literal["half-gpus", "one-node", "usual-limit", "half-limit"]


class Quantiles(FrozenModel):
    """The 10%, 50% and 90% quantiles over futures, seconds; None: not within so many of them."""

    low_s: float | None
    median_s: float | None
    high_s: float | None

    @classmethod
    def of(cls, values_s: Floats) -> Quantiles:
        """Return those of one value a future; infinite = never."""
        low, median, high = np.quantile(values_s, LEVELS, method="inverted_cdf").tolist()
        return cls(low_s=finite(low), median_s=finite(median), high_s=finite(high))


def finite(value: float) -> float | None:
    """Return a number, None for one that is infinite."""
    return float(value) if np.isfinite(value) else None


class WaitingJob(FrozenModel):
    """A job of the queue. ``place``: its number in its queue, from 1.

    ``reason``: why it waits, by the file, else by the policy; ``within_1h`` and ``within_24h``: shares of the futures;
    ``worst_s``: its start if every job runs as long as its limit allows. ``like``: whose ended jobs its run time is
    drawn from, ``like_jobs`` of them. ``starts`` is None for a job that is on hold or never fits.
    """

    job_id: str
    user: str
    group: str
    partition: str
    gpus: float
    cores: float
    limit_s: float | None
    waited_s: float
    place: int
    reason: str
    starts: Quantiles | None
    within_1h: float
    within_24h: float
    worst_s: float | None
    like: Level
    like_jobs: int


class AskedForLess(FrozenModel):
    """One job that asks for less, in the same futures.

    ``before`` and ``after``: GPUs, or cores, or seconds of its limit. ``earlier``: how much earlier it starts, below 0
    where it starts later; ``sooner``: share of the futures in which it starts earlier. ``killed``: share of like jobs
    that run longer than the new limit; None for other changes.
    """

    change: Change
    before: float
    after: float
    starts: Quantiles
    earlier: Quantiles
    sooner: float
    killed: float | None = None


class When(Answer):
    """When the jobs start that wait at ``at_s`` (seconds of the log)."""

    scenario: str
    scenario_name: str
    at_s: float
    policy: str
    label: str
    params: Mapping[str, Any]
    futures: int
    seed: int
    later: bool
    running: int
    jobs: tuple[WaitingJob, ...]
    ended: int
    with_limits: int
    placed: int
    left_out: int
    unknown: int
    is_now: bool
    by_priority: bool
    counts_cores: bool
    job: str = ""
    changes: tuple[AskedForLess, ...] = ()

    @property
    def expected(self) -> tuple[WaitingJob, ...]:
        """The jobs that wait for room."""
        return tuple(job for job in self.jobs if job.starts is not None)


class InstantScore(FrozenModel):
    """The jobs that waited at one instant and have started since, and how many of them within the interval."""

    at_s: float
    jobs: int
    within: int


class Errors(FrozenModel):
    """exp(median |ln((told + 60 s) / (recorded + 60 s))|) of the time until the start; None without a number."""

    futures: float | None
    past_wait: float | None
    limits: float | None


class Score(Answer):
    """How often jobs started within the 80% interval, at instants of the second half of a log.

    ``low`` and ``high``: 95% interval of ``coverage``, by instants, as jobs of one instant start together; None with
    fewer than two of them. ``never``: waiting jobs without a recorded start, not counted.
    """

    scenario: str
    scenario_name: str
    policy: str
    label: str
    params: Mapping[str, Any]
    futures: int
    seed: int
    later: bool
    instants: tuple[InstantScore, ...]
    jobs: int
    never: int
    coverage: float | None
    low: float | None
    high: float | None
    early: float
    late: float
    errors: Errors
