"""What is asked about a commitment, in JSON's own types; the scenario itself travels apart."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from dlsched.domain.model import FrozenModel, Key
from dlsched.studies.design.variants import Futures, Value
from dlsched.studies.sizing.rule import Claim
from dlsched.studies.sizing.targets import Target

BaseTerms = Literal["as-is", "owned", "reserved-1-year", "reserved-3-years"]
RentTerms = Literal["as-is", "on-demand", "spot"]
MOST_NODES = 2_000


class CommitmentSpec(FrozenModel):
    """A policy on n nodes that are committed to, for each n, and more that are rented as jobs need them.

    What is None, "" or "as-is" is as the scenario has it: prices of the machine types and terms of the pools. Targets,
    claim, level and condition as in :class:`studies.sizing.spec.SizeSpec`.
    """

    scenario: str = Field(min_length=1, description="Hash of the scenario.")
    targets: tuple[Target, ...] = Field(min_length=1, max_length=8)
    policy: Key = "fifo"
    params: dict[Key, Any] = Field(default_factory=dict, max_length=100)
    claim: Claim = Field("average", description="When the targets hold: on average, or in nearly every future.")
    level: float = Field(0.95, ge=0.5, le=0.999, description="Share of futures that must meet the targets.")
    condition: dict[Key, Value] = Field(default_factory=dict, max_length=20, description="What happens to every mix.")
    futures: Futures = Field(default_factory=Futures)
    base: str = Field("", max_length=80, description="Machine type to commit to; empty = the one that is always there.")
    terms: BaseTerms = Field("as-is", description="Terms of the committed nodes.")
    base_usd_per_h: float | None = Field(None, ge=0, description="Price of a committed node in $/h.")
    rent: str = Field(
        "",
        max_length=80,
        description="Machine type to rent; empty = the one rented today, else the committed one.",
    )
    rent_terms: RentTerms = Field("as-is", description="Terms of the rented nodes.")
    rent_usd_per_h: float | None = Field(None, ge=0, description="Price of a rented node in $/h.")
    boot_s: float | None = Field(
        None, ge=0, le=86_400, description="Time from a request until jobs can start; it is paid."
    )
    idle_timeout_s: float | None = Field(
        None, ge=0, le=2_592_000, description="Idle time after which a rented node is returned."
    )
    evictions_per_h: float | None = Field(None, ge=0, le=1000, description="Spot: mean evictions of a node per hour.")
    rent_after_s: float | None = Field(
        None, ge=0, le=31_536_000, description="How long a job waits before nodes are rented for it."
    )
    most: int = Field(
        0, ge=0, le=MOST_NODES, description="Most nodes to commit to; 0 = as many as need no rented ones."
    )
    rent_most: int = Field(
        0,
        ge=0,
        le=MOST_NODES,
        description="Most nodes rented at once; 0 = as many as the pool has, else 4 times today's.",
    )
    every: bool = Field(False, description="Simulate every number of nodes, not only those around the cheapest.")
    most_runs: int = Field(5000, ge=100, le=50_000, description="Stop the search before more runs than this.")

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        metrics = [target.metric for target in self.targets]
        twice = [metric for metric in metrics if metrics.count(metric) > 1]
        if twice:
            raise ValueError(f"targets must be of different metrics, {twice[0]} is listed twice")
        if self.futures.seeds[0] != 0:
            raise ValueError(f"futures start with future 0, got {self.futures.seeds[0]}")
        return self
