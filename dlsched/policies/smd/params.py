"""Parameters of SMD and of what it is compared with."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dlsched.domain.model import FrozenModel

Admission = Literal["knapsack", "first-come"]
ADMISSION = (
    "Who gets in at an interval: the jobs worth most together (knapsack), or in order of submission up to the first "
    "that does not fit (first come)."
)


class IntervalParams(FrozenModel):
    """What all policies that admit jobs by intervals can be told."""

    interval_s: float = Field(
        3600.0,
        ge=1,
        le=2_592_000,
        description="Jobs that wait are looked at at multiples of this time only, those of time 0 at once. The study "
        "speaks of hours.",
        json_schema_extra={"unit": "s"},
    )
    keep_share: float = Field(
        0.01,
        ge=0,
        le=1,
        description="A job that was not admitted waits for the next interval while starting it would still bring this "
        "share of its utility had it started at submission; else it is rejected, as is a job that is worth 0. Jobs "
        "without a utility function always wait.",
    )
    knapsack: Literal["exact", "frieze-clarke"] = Field(
        "exact",
        description="How a knapsack is solved: to the proven optimum, or by the study's scheme of linear programs "
        "(Frieze-Clarke). No effect on first come.",
    )
    size: int = Field(
        1,
        ge=0,
        le=2,
        description="Of Frieze-Clarke: jobs taken for sure at a time. With four resources no size up to 2 guarantees "
        "anything.",
    )


class RivalParams(IntervalParams):
    """Parameters of ESW and Optimus."""

    admission: Admission = Field("first-come", description=ADMISSION)


class SmdParams(IntervalParams):
    """Parameters of SMD."""

    admission: Admission = Field("knapsack", description=ADMISSION)
    inner: Literal["exact", "algorithm-1"] = Field(
        "exact",
        description="Workers and servers of a job: the fastest within its limit, or the study's approximation with "
        "random rounding (Algorithms 1 and 2).",
    )
    epsilon: float = Field(
        0.1,
        ge=0.01,
        lt=1,
        description="Of Algorithm 1: before rounding, the time is at most this share above the least one.",
    )
    draws: int = Field(
        20, ge=1, le=1000, description="Of Algorithm 2: random roundings for each job, the fastest is kept."
    )
