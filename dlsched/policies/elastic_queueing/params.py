"""Parameters of the elastic policies."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from dlsched.domain.model import FrozenModel


class ElasticParams(FrozenModel):
    """What every policy of the family can be told."""

    vm_type: str | None = Field(
        None,
        min_length=1,
        max_length=80,
        description="Machine type to rent; empty = the cheapest per GPU. No effect on owned nodes.",
    )


class OrderedParams(ElasticParams):
    """Parameters of policies that serve the shortest first."""

    gamma: float = Field(
        0.0,
        ge=0,
        le=10,
        description="Early results: a job counts as (1 / (1 - progress)) ** gamma times as long as it is, so that new "
        "jobs go first and show results early; 0 = plain shortest first. The study uses 1 to 1.05.",
    )


class FillParams(OrderedParams):
    """Parameters of policies that hand out what is left."""

    filling: bool = Field(
        True, description="Give leftover nodes to the job that would then have the least time left, Eq. (5)."
    )


class MoldableParams(OrderedParams):
    """Parameters of policies that never change a width."""

    blocking: bool = Field(
        False, description="A job waiting for its GPU count blocks all jobs behind it instead of letting them go ahead."
    )


class KneeParams(FillParams):
    """Parameters of malleable KNEE."""

    alpha: float = Field(
        0.01,
        gt=0,
        lt=1,
        description="An extra node must shorten the run time by at least this share; larger = fewer nodes per job.",
    )


class MoldableKneeParams(MoldableParams):
    """Parameters of moldable KNEE: alpha = alpha_low + load x (alpha_high - alpha_low).

    The study gives no numbers for the two ends.
    """

    alpha_low: float = Field(0.01, gt=0, lt=1, description="alpha at load 0; assumed, as the study gives no number.")
    alpha_high: float = Field(0.1, gt=0, lt=1, description="alpha at load 1; assumed, as the study gives no number.")
    load: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Expected load: work submitted divided by the work the cluster can do with one node per job.",
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.alpha_low > self.alpha_high:
            raise ValueError(f"alpha_low must not be above alpha_high, got {self.alpha_low:g} > {self.alpha_high:g}")
        return self

    @property
    def alpha(self) -> float:
        """The threshold at this load."""
        return self.alpha_low + self.load * (self.alpha_high - self.alpha_low)


class JsqParams(ElasticParams):
    """Parameters of JSQ-Chunk."""

    chunk: int = Field(
        10,
        ge=1,
        le=100_000,
        description="Nodes per chunk; nodes left over when the cluster is divided stay idle. At least what the "
        "largest job needs.",
    )
