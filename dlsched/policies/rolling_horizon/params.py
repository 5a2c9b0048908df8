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
        description="GPU counts change only at multiples of this time; in between, jobs start in order of submission. "
        "The study decides every 5 minutes.",
        json_schema_extra={"unit": "s"},
    )
    cap: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        description="Most workers (in the study, nodes) per job; empty = as many as the job allows. A job that needs "
        "more gets its minimum. The study has examples with 16.",
    )
    vm_type: str | None = Field(
        None,
        min_length=1,
        max_length=80,
        description="Machine type to rent; empty = the cheapest per GPU. No effect on owned nodes.",
    )


class OptimalParams(AllocatorParams):
    """Parameters of the rolling-horizon allocator."""

    steps: int = Field(
        5,
        ge=1,
        le=24,
        description="Steps planned ahead, each as long as the time between decisions; only the first is carried out.",
    )
    method: Literal["auto", "x-model", "columns", "printed"] = Field(
        "auto",
        description="How a decision is solved: one variable per job, step and GPU count (x-model), whole plans of "
        "jobs (columns), the form printed in the study (printed, slow), or chosen by the number of jobs "
        "(auto). All reach the same value.",
    )
    min_eta_s: float = Field(
        0.0,
        ge=0,
        le=604_800,
        description="A running job that would finish sooner than this keeps its GPU count; 0 = every job may be "
        "resized. The study resizes jobs of 5 minutes and more.",
        json_schema_extra={"unit": "s"},
    )


class GreedyParams(AllocatorParams):
    """Parameters of the greedy allocator."""

    halving: Literal["once", "repeated"] = Field(
        "once",
        description="When jobs wait and no node is idle: halve one job per decision (once), or continue until no job "
        "waits or none can be halved (repeated). The study does not say which.",
    )
