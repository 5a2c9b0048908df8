"""What is asked of a recorded log, in JSON's own types; the scenario itself travels apart."""

from __future__ import annotations

from pydantic import Field

from dlsched.domain.model import FrozenModel
from dlsched.domain.scenario import Scenario

MOST_USD = 1e6


class HistorySpec(FrozenModel):
    """A log, and what an hour of it costs. What the hash of a scenario leaves out but the answer needs is here too."""

    scenario: str = Field(min_length=1, description="Hash of the scenario.")
    price: float | None = Field(
        None, ge=0, le=MOST_USD, description="Price of a GPU in $ per hour; empty = that of the cluster's node types."
    )
    core_price: float | None = Field(
        None, ge=0, le=MOST_USD, description="Price of a core in $ per hour, for jobs without GPUs; empty = as above."
    )
    time_zero: str = Field("", max_length=80, description="Date of second 0 of the log.")
    cluster_known: bool = Field(True, description="Whether the cluster is that of the log, not the default one.")


def spec_of(scenario: Scenario, price: float | None = None, core_price: float | None = None) -> HistorySpec:
    """Return the question about a scenario."""
    return HistorySpec(
        scenario=scenario.content_hash,
        price=price,
        core_price=core_price,
        time_zero=scenario.workload.meta.get("time_zero", "")[:80],
        cluster_known=not any(one.is_about_default_cluster for one in scenario.assumptions),
    )
