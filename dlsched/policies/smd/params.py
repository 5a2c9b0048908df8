"""Parameters of SMD and of what it is compared with."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dlsched.domain.model import FrozenModel

Admission = Literal["knapsack", "first-come"]
ADMISSION = (
    "Which jobs are admitted at an interval: the set worth most together (knapsack), or in order of submission up to "
    "the first that does not fit (first-come)."
)


class IntervalParams(FrozenModel):
    """What all policies that admit jobs by intervals can be told."""

    interval_s: float = Field(
        3600.0,
        ge=1,
        le=2_592_000,
        description="Waiting jobs are considered only at multiples of this time, those submitted at time 0 "
        "immediately. The study uses hours.",
        json_schema_extra={"unit": "s"},
    )
    keep_share: float = Field(
        0.01,
        ge=0,
        le=1,
        description="A job that is not admitted keeps waiting while a start would still earn at least this share of "
        "the utility it would have had at submission; otherwise it is rejected, as is a job worth 0. Jobs "
        "without a utility function always wait.",
    )
    knapsack: Literal["exact", "frieze-clarke"] = Field(
        "exact",
        description="How the knapsack is solved: to the proven optimum, or by the study's linear-programming scheme "
        "(Frieze-Clarke). No effect on first-come.",
    )
    size: int = Field(
        1,
        ge=0,
        le=2,
        description="For Frieze-Clarke: number of jobs fixed as admitted in each trial. With four resources, no size "
        "up to 2 gives a guarantee.",
    )


class RivalParams(IntervalParams):
    """Parameters of ESW and Optimus."""

    admission: Admission = Field("first-come", description=ADMISSION)


class SmdParams(IntervalParams):
    """Parameters of SMD."""

    admission: Admission = Field("knapsack", description=ADMISSION)
    inner: Literal["exact", "algorithm-1"] = Field(
        "exact",
        description="How workers and servers of a job are chosen: the fastest within its limit (exact), or the "
        "study's approximation with random rounding (Algorithms 1 and 2).",
    )
    epsilon: float = Field(
        0.1,
        ge=0.01,
        lt=1,
        description="For Algorithm 1: before rounding, the time is at most this share above the minimum.",
    )
    draws: int = Field(20, ge=1, le=1000, description="For Algorithm 2: random roundings per job; the fastest is kept.")
