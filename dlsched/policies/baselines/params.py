"""Parameters of the everyday policies."""

from __future__ import annotations

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

    @field_validator("thresholds_gpu_s", mode="before")
    @classmethod
    def _from_text(cls, given: Any) -> Any:
        """Accept "3600, 28800" from a form or the command line, and a single number."""
        if isinstance(given, str):
            return tuple(part.strip() for part in given.split(","))
        return (given,) if isinstance(given, (int, float)) else given

    @field_validator("thresholds_gpu_s")
    @classmethod
    def _rising(cls, given: tuple[float, ...]) -> tuple[float, ...]:
        if any(low >= high for low, high in pairwise((0.0, *given))):
            raise ValueError("thresholds must be above 0 and in rising order")
        return given
