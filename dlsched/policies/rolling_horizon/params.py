"""Parameters of the ModelArts allocators."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dlsched.domain.model import FrozenModel


class AllocatorParams(FrozenModel):
    """What both allocators can be told."""

    every_s: float = Field(
        300.0,
        ge=1,
        le=604_800,
        description="Widths change at multiples of this time only; between them jobs start in order of submission. "
        "The study decides every 5 minutes.",
        json_schema_extra={"unit": "s"},
    )
    cap: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        description="Most workers (nodes, in the study) of a job; empty = what the job allows. A job whose smallest "
        "width is above gets that width. The study has examples with 16.",
    )
    vm_type: str | None = Field(
        None,
        min_length=1,
        max_length=80,
        description="VM type put on free slots; empty = the cheapest per GPU. No effect on fixed nodes.",
    )


class OptimalParams(AllocatorParams):
    """Parameters of the rolling-horizon allocator."""

    steps: int = Field(
        5,
        ge=1,
        le=24,
        description="Steps planned ahead, each as long as the time between decisions; the first is carried out.",
    )
    method: Literal["auto", "x-model", "columns", "printed"] = Field(
        "auto",
        description="How a decision is solved: a variable for each job, step and width (x-model), whole plans of jobs "
        "(columns), the form printed in the study (slow), or by the number of jobs (auto). All reach the same value.",
    )
    min_eta_s: float = Field(
        0.0,
        ge=0,
        le=604_800,
        description="A running job that would end sooner than this at its width keeps it; 0 = every job may be scaled. "
        "The study scales jobs of 5 minutes and more.",
        json_schema_extra={"unit": "s"},
    )


class GreedyParams(AllocatorParams):
    """Parameters of the greedy allocator."""

    halving: Literal["once", "repeated"] = Field(
        "once",
        description="Where jobs wait and no node is idle: halve one job at each decision, or go on until nobody waits "
        "or nobody can be halved. The study does not say which.",
    )
