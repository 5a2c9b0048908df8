"""What is asked about a commitment, in JSON's own types; the scenario itself travels apart."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dlsched.studies.sizing.question import TargetsSpec

BaseTerms = Literal["as-is", "owned", "reserved-1-year", "reserved-3-years"]
RentTerms = Literal["as-is", "on-demand", "spot"]
Wait = Annotated[float, Field(ge=0, le=31_536_000)]
MOST_NODES = 2_000


class CommitmentSpec(TargetsSpec):
    """A policy on n nodes that are committed to, for each n, and more that are rented as jobs need them.

    What is None, "" or "as-is" is as the scenario has it: prices of the machine types and terms of the pools.
    """

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
    rent_after_s: Wait | None = Field(None, description="How long a job waits before nodes are rented for it.")
    or_after_s: tuple[Wait, ...] = Field(
        (), max_length=8, description="Other such waits to search as well; the cheapest of all is the answer."
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
