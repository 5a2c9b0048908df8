"""Parameters of the everyday policies."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, Literal

from pydantic import Field, field_validator

from dlsched.domain.model import FrozenModel


class ListParams(FrozenModel):
    """What every everyday policy can be told."""

    vm_type: str | None = Field(
        None,
        min_length=1,
        max_length=80,
        description="Machine type to rent; empty = the cheapest per GPU that fits the largest job so far. No effect "
        "on owned nodes.",
    )


class BackfillParams(ListParams):
    """Parameters of EASY and conservative backfill."""

    events: Literal["batch", "single"] = Field(
        "batch",
        description="batch: all ends and arrivals of an instant, then one pass over the queue. single: arrivals, then "
        "ends, with a pass after each; after an arrival only if that job fits what is free.",
    )


class LasParams(ListParams):
    """Parameters of least attained service."""

    quantum_s: float = Field(
        60.0,
        ge=1,
        le=86_400,
        description="While any job waits, the choice of running jobs is reviewed at every multiple of this time.",
        json_schema_extra={"unit": "s"},
    )


def _numbers(given: Any) -> Any:
    """Accept "3600, 28800" from a form or the command line, and a single number."""
    if isinstance(given, str):
        return tuple(part.strip() for part in given.split(",")) if given.strip() else ()
    return (given,) if isinstance(given, (int, float)) else given


class DlasParams(ListParams):
    """Parameters of discretised least attained service.

    The default thresholds are 0.5, 2, 8, ... 2,048 GPU-hours: where run times spread over many orders of magnitude, a
    job waits only behind jobs that have used at most a few times as much as it has, and is stopped a few times only.
    """

    thresholds_gpu_s: tuple[float, ...] = Field(
        tuple(1800.0 * 4**number for number in range(7)),
        min_length=1,
        max_length=16,
        description="GPU-seconds used at which a job moves to the next lower queue, in rising order; one number makes "
        "two queues.",
        json_schema_extra={"unit": "GPU-s"},
    )

    _from_text = field_validator("thresholds_gpu_s", mode="before")(_numbers)

    @field_validator("thresholds_gpu_s")
    @classmethod
    def _rising(cls, given: tuple[float, ...]) -> tuple[float, ...]:
        if any(low >= high for low, high in pairwise((0.0, *given))):
            raise ValueError("thresholds must be above 0 and in rising order")
        return given


class GittinsParams(ListParams):
    """Parameters of the Gittins policy."""

    goal: Literal["slowdown", "turnaround"] = Field(
        "slowdown",
        description="What the mean is to be least of: slowdown (turnaround time by run time), or turnaround time.",
    )
    by_width: bool = Field(
        True,
        description="Compare a job with those that asked for as many GPUs, as soon as enough of them have ended; else "
        "with all jobs.",
    )
    sample_gpu_s: tuple[float, ...] = Field(
        (),
        max_length=100_000,
        description="GPU-seconds that earlier jobs of the site needed; those that end in the run are added.",
        json_schema_extra={"unit": "GPU-s"},
    )

    _from_text = field_validator("sample_gpu_s", mode="before")(_numbers)

    @field_validator("sample_gpu_s")
    @classmethod
    def _above_0(cls, given: tuple[float, ...]) -> tuple[float, ...]:
        if any(not 0 < used < math.inf for used in given):
            raise ValueError("GPU-seconds must be above 0 and finite")
        return given


class ThemisParams(ListParams):
    """Parameters of finish-time fairness."""

    lease_s: float = Field(
        1200.0,
        ge=1,
        le=86_400,
        description="A running job keeps its GPUs until the next multiple of this time; then they are given out anew.",
        json_schema_extra={"unit": "s"},
    )
    filter_share: float = Field(
        0.8,
        ge=0,
        le=1,
        description="Of the jobs, this share is passed over at first; those worst off get GPUs by what these are worth "
        "to them. High = fair, low = efficient.",
    )
