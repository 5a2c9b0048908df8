"""What a steady-state experiment asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from dlsched.domain.model import FrozenModel
from dlsched.policies import registry
from dlsched.workload.generators.drawing import MOST_JOBS
from dlsched.workload.studies.hell_knee import StreamSpec

FEWEST_JOBS = 100
"""Fewer jobs make no batches and no windows worth the name."""
PILOT_SEED = 1_000_000
"""What a pilot adds to the seed: it chooses on other jobs than those its choice is judged on."""


def _stable(load: float) -> float:
    if not 0 < load < 1:
        why = "at load 1 and above jobs ask for more than the cluster can do, so that the queue grows without end"
        raise ValueError("a load must be above 0 and below 1" + (f"; {why}" if load >= 1 else ""))
    return load


Load = Annotated[float, AfterValidator(_stable)]


class SteadyPolicy(FrozenModel):
    """A policy to be judged; parameters that follow from the experiment (load, chunk) may be left out."""

    key: str = Field(min_length=1, max_length=80, description="Key of the policy.")
    params: Mapping[str, Any] = Field(default_factory=dict, description="Parameters that differ from their defaults.")
    label: str = Field("", max_length=80, description="Name in tables and pictures; empty = that of the policy.")

    @property
    def name(self) -> str:
        """The label, else the policy's own."""
        return self.label or registry.find(self.key).label


class SteadySpec(FrozenModel):
    """Policies, loads and how sure the means must be. ``stream`` says everything of the jobs but number and load."""

    stream: StreamSpec = Field(default_factory=StreamSpec, description="The jobs; its load and jobs have no effect.")
    loads: tuple[Load, ...] = Field((0.1, 0.3, 0.5, 0.7, 0.9), min_length=1, max_length=20, description="Loads.")
    policies: tuple[SteadyPolicy, ...] = Field(
        (
            SteadyPolicy(key="hell-malleable"),
            SteadyPolicy(key="knee-malleable"),
            SteadyPolicy(key="jsq-chunk"),
            SteadyPolicy(key="srpt-all-nodes"),
        ),
        min_length=1,
        max_length=12,
        description="Policies, all on the same jobs.",
    )
    target: float = Field(0.05, ge=0.005, le=0.5, description="Half width of the 95% interval, as a share of the mean.")
    first_jobs: int = Field(4000, ge=FEWEST_JOBS, le=MOST_JOBS, description="Jobs of the first run; doubled on.")
    most_jobs: int = Field(64_000, ge=FEWEST_JOBS, le=MOST_JOBS, description="Never more jobs than this.")
    chunks: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        (2, 3, 4, 6, 8, 10, 14, 20, 33, 50),
        min_length=1,
        max_length=30,
        description="Chunk sizes tried in a pilot, where the policy has chunks and its parameters name none; "
        "at most the cluster.",
    )
    seed: int = Field(1, ge=0, lt=2**31, description="Seed of the jobs.")
    fractions: tuple[float, ...] = Field(
        (0.2, 0.4, 0.6, 0.8, 1.0), max_length=20, description="Shares of a job's work: when does it have so much done?"
    )

    @field_validator("stream")
    @classmethod
    def _without_size(cls, stream: StreamSpec) -> StreamSpec:
        """Give load and jobs one value, so that the same question has the same key."""
        fields = StreamSpec.model_fields
        return stream.model_copy(update={name: fields[name].default for name in ("load", "jobs")})

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if list(self.loads) != sorted(set(self.loads)):
            raise ValueError("loads must ascend, each once")
        if self.first_jobs > self.most_jobs:
            raise ValueError(f"first_jobs must not be above most_jobs, got {self.first_jobs} > {self.most_jobs}")
        if not all(0 < fraction <= 1 for fraction in self.fractions):
            raise ValueError("fractions must be above 0 and at most 1")
        if list(self.fractions) != sorted(set(self.fractions)):
            raise ValueError("fractions must ascend, each once")
        return self

    def stream_at(self, load: float, jobs: int) -> StreamSpec:
        """Return the jobs at a load; a longer stream starts with the jobs of a shorter one."""
        return self.stream.model_copy(update={"load": load, "jobs": jobs})
