"""Stated rules that fill what a workload lacks. A rule touches missing values only, so using it twice is using it
once; what it draws is keyed by (seed, "fill", job id).
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from dlsched.domain.model import FrozenModel
from dlsched.domain.randomness import job_uniforms
from dlsched.domain.scenario import SpeedSpec
from dlsched.domain.units import DAY_S, HOUR_S, MINUTE_S
from dlsched.domain.workload import Floats, Texts, Workload
from dlsched.speed import build_speed

_DECIMALS = 3
_DUE, _USER, _LIMIT = range(3)  # which of a job's uniforms decides what; new draws go to the end

USUAL_LIMITS_S = np.array(
    [*(minutes * MINUTE_S for minutes in (5, 10, 15, 30)), *(hours * HOUR_S for hours in (1, 2, 4, 6, 8, 12, 24))]
)
"""Time limits that people type."""


class _Multiple(FrozenModel):
    """A rule that multiplies a time by U[low, high]."""

    low: float
    high: float

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.high < self.low:
            raise ValueError(f"high must be at least low, got {self.high:g} and {self.low:g}")
        return self


class DueRule(_Multiple):
    """Due times: submission + U[low, high] x fastest time (widest legal width, GPUs of speed 1)."""

    column: Literal["due_s"] = "due_s"
    low: float = Field(1.0, ge=0, le=1000, description="Smallest multiple of the fastest run time.")
    high: float = Field(3.0, ge=0, le=1000, description="Largest multiple of the fastest run time.")
    speed: SpeedSpec = Field(SpeedSpec(), description="Speed model that gives the fastest run time.")

    @property
    def words(self) -> str:
        """The rule as an assumption."""
        return f"due dates: submission + {self.low:g} to {self.high:g} times the fastest run time"

    def values(self, workload: Workload, seed: int) -> Floats:
        """Return a due date for every job, seconds."""
        fastest_s = workload.work / build_speed(self.speed, workload).fastest()
        uniforms = job_uniforms(seed, "fill", workload.job_id, _DUE + 1)[:, _DUE]
        factor = self.low + (self.high - self.low) * uniforms
        return np.round(workload.submit_s + factor * fastest_s, _DECIMALS)


class WeightRule(FrozenModel):
    """Tardiness weights: dollars per hour late for each GPU of the job; a CPU job counts as one GPU."""

    column: Literal["weight_usd_per_s"] = "weight_usd_per_s"
    usd_per_gpu_h: float = Field(1.0, ge=0, le=1e6, description="Cost of one hour of lateness in $ per GPU.")

    @property
    def words(self) -> str:
        """The rule as an assumption."""
        return f"cost of lateness: {usd_text(self.usd_per_gpu_h)} per GPU for each hour late (example)"

    def values(self, workload: Workload, seed: int) -> Floats:
        """Return a weight for every job, $ per second late."""
        gpus: Floats = np.where(workload.gpus > 0, workload.gpus, 1.0)
        return gpus * (self.usd_per_gpu_h / HOUR_S)


class PriorityRule(FrozenModel):
    """Priorities: small jobs first, short jobs first, or all the same."""

    column: Literal["priority"] = "priority"
    first: Literal["small", "short", "same"] = Field("small", description="Which jobs go first.")

    @property
    def words(self) -> str:
        """The rule as an assumption."""
        return {
            "small": "priority: fewer GPUs first",
            "short": "priority: shorter run time first",
            "same": "priority: the same for all jobs",
        }[self.first]

    def values(self, workload: Workload, seed: int) -> Floats:
        """Return a priority for every job, higher first."""
        if self.first == "same":
            return np.zeros(len(workload))
        return -(workload.gpus if self.first == "small" else workload.work)


class UserRule(FrozenModel):
    """Users: each job belongs to one of ``users`` made-up users, all equally likely."""

    column: Literal["user"] = "user"
    users: int = Field(8, ge=1, le=10_000, description="Number of made-up users.")

    @property
    def words(self) -> str:
        """The rule as an assumption."""
        return f"users: {self.users} made-up users, drawn at random"

    def values(self, workload: Workload, seed: int) -> Texts:
        """Return a user for every job."""
        uniforms = job_uniforms(seed, "fill", workload.job_id, _USER + 1)[:, _USER]
        numbers = (uniforms * self.users).astype(np.int64) + 1
        return np.array([f"user {number}" for number in numbers], dtype=object)


class LimitRule(_Multiple):
    """Time limits: run time x U[low, high], rounded up to a time people type; users ask for more than they need."""

    column: Literal["limit_s"] = "limit_s"
    low: float = Field(1.0, ge=1, le=1000, description="Smallest multiple of the run time.")
    high: float = Field(5.0, ge=1, le=1000, description="Largest multiple of the run time.")

    @property
    def words(self) -> str:
        """The rule as an assumption."""
        return f"time limits: {self.low:g} to {self.high:g} times the run time, rounded up to usual times"

    def values(self, workload: Workload, seed: int) -> Floats:
        """Return a time limit for every job, seconds: the next of ``USUAL_LIMITS_S``, or whole days above."""
        uniforms = job_uniforms(seed, "fill", workload.job_id, _LIMIT + 1)[:, _LIMIT]
        asked_s = workload.work * (self.low + (self.high - self.low) * uniforms)
        usual = np.append(USUAL_LIMITS_S, np.inf)[np.searchsorted(USUAL_LIMITS_S, asked_s)]
        return np.where(np.isfinite(usual), usual, np.ceil(asked_s / DAY_S) * DAY_S)


def usd_text(amount: float) -> str:
    """Return dollars with cents, or with as many digits as it takes."""
    return f"${amount:,.2f}" if round(amount, 2) == amount else f"${amount:g}"


FillRule = Annotated[DueRule | WeightRule | PriorityRule | UserRule | LimitRule, Field(discriminator="column")]


def is_missing(workload: Workload, column: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which jobs have no value in an optional float or text column, shape (jobs,)."""
    values = getattr(workload, column)
    if values is None:
        return np.ones(len(workload), dtype=bool)
    if values.dtype == object:
        return np.array([text == "" for text in values], dtype=bool)
    missing: np.ndarray[tuple[int], np.dtype[np.bool_]] = np.isnan(values)
    return missing


def apply_rule(rule: FillRule, workload: Workload, seed: int) -> Workload:
    """Return the workload with the rule's values where it had none; the same object when nothing is missing."""
    empty = is_missing(workload, rule.column)
    if not empty.any():
        return workload
    values = rule.values(workload, seed)
    given = getattr(workload, rule.column)
    return workload.with_columns(**{rule.column: values if given is None else np.where(empty, values, given)})
