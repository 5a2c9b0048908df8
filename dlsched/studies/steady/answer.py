"""What a steady-state experiment answers: numbers and curves that can be written as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from dlsched.domain.model import Answer, FrozenModel
from dlsched.metrics.stats.intervals import Interval
from dlsched.studies.steady.spec import SteadySpec

State = Literal["within target", "cap reached", "queue grows"]
WIDE = 0.2
"""Relative half width at the cap above which a queue that grows without end cannot be ruled out."""


class Curve(FrozenModel):
    """Values over time: each holds from its time to the next, the last one to the end."""

    at_h: tuple[float, ...]
    value: tuple[float, ...]


class ChunkTried(FrozenModel):
    """A chunk size of the pilot: mean turnaround time over ``jobs`` jobs; None if the queue grew."""

    chunk: int
    response_h: float | None
    jobs: int


class SteadyPoint(FrozenModel):
    """A policy at a load.

    Response is the turnaround time, submission to completion. Where the queue grows there is no mean: response,
    percentiles, quantiles and early results are left out, and ``growth`` says how fast.

    growth
        Jobs by which the backlog grows per 100 arrivals, with its interval; stable queues have one too, about 0.
    jobs_simulated
        Of the last run; ``jobs_warm_up`` first and ``jobs_end`` last ones are left out, ``jobs_measured`` are left.
    batches, lag_1, settled
        Batch means behind the interval and the correlation of neighbours. Not settled: the run is short for this
        queue, since even the longest batches are alike or too many jobs met a cluster running empty.
    quantiles_h
        Quantiles of the response at (i + 0.5) / 200, shape (200,), for its distribution.
    fractions_h
        Mean time from submission to each of the experiment's fractions of the work.
    nodes_per_job
        Mean nodes of a running job in bins of the time of submissions; 0 where no job ran.
    in_system
        Jobs in the system over the time of submissions, least and greatest of each bin kept.
    """

    policy: str
    label: str
    params: Mapping[str, Any]
    load: float
    state: State
    response_h: Interval | None
    growth: Interval
    p50_h: float | None
    p95_h: float | None
    jobs_simulated: int
    jobs_warm_up: int
    jobs_end: int
    jobs_measured: int
    batches: int
    lag_1: float
    settled: bool
    quantiles_h: tuple[float, ...]
    fractions_h: tuple[Interval, ...]
    nodes_per_job: Curve
    in_system: Curve
    load_drawn: float = Field(description="Load of the jobs that were drawn; its mean over draws is the load.")
    chunks_tried: tuple[ChunkTried, ...] = ()
    audit: tuple[str, ...] = ()
    cpu_s: float = 0.0

    @property
    def relative_half_width(self) -> float | None:
        """Half width over mean; None if the queue grows."""
        if self.response_h is None or self.response_h.half_width is None:
            return None
        return self.response_h.half_width / self.response_h.mean

    @property
    def may_grow(self) -> bool:
        """Whether the run is too short to rule out a queue that grows without end, which has no mean.

        Near load 1 such queues reach the cap without an alarm, with wide intervals.
        """
        wide = self.relative_half_width is not None and self.relative_half_width > WIDE
        return self.state == "cap reached" and wide and self.growth.mean > 0

    @property
    def words(self) -> str:
        """The state in words, as in "cap reached, ± 11%"."""
        if self.relative_half_width is None:
            half = f" ± {self.growth.half_width:.1f}" if self.growth.half_width is not None else ""
            return f"queue grows by {self.growth.mean:.1f}{half} jobs per 100 arrivals"
        doubt = "" if self.settled else " at least: the run is short for this queue"
        if self.may_grow:
            doubt += "; it may grow without end"
        return f"{self.state}, ± {self.relative_half_width:.1%}{doubt}"


class Pair(FrozenModel):
    """Response of a policy minus that of another at one load, over the ``difference_h.n`` jobs measured under both."""

    load: float
    label: str
    other: str
    difference_h: Interval
    settled: bool

    @property
    def tells_apart(self) -> bool:
        """Whether the interval, which can be relied on, leaves out 0."""
        return self.settled and self.difference_h.tells_apart()


class SteadyAnswer(Answer):
    """All points, policies first, and the differences of each two policies with a mean at the same load.

    ``audited`` says in words what the auditor checked.
    """

    spec: SteadySpec
    points: tuple[SteadyPoint, ...]
    pairs: tuple[Pair, ...]
    audited: str
    code_version: str
