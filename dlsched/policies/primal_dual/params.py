"""Parameters of PD-ORS and of what it is compared with, in a simulation."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dlsched.domain.model import FrozenModel
from dlsched.policies.primal_dual.dorm import ADJUSTMENT, FAIRNESS
from dlsched.policies.primal_dual.prices import LEAST_WORTH
from dlsched.policies.primal_dual.slot_cost import CHUNKS


class PriceParams(FrozenModel):
    """What policies that book at prices can be told."""

    horizon_slots: int = Field(
        40,
        ge=1,
        le=2_000,
        description="A job that cannot finish within this many slots from now is rejected. The study uses 20 to 80.",
    )
    chunks: int = Field(
        CHUNKS, ge=1, le=200, description="Least number of parts into which the work of a job is divided."
    )
    least_worth: float = Field(
        LEAST_WORTH,
        gt=0,
        le=1,
        description="Lower limit on a job's utility at the horizon when the lowest price is set, as a share of its "
        "utility if done in its first slot (our addition: otherwise one urgent job would push every price "
        "near 0).",
    )


class PdOrsParams(PriceParams):
    """PD-ORS."""

    slot_method: Literal["greedy", "rounded", "exact"] = Field(
        "greedy",
        description="How the machines of a slot are chosen: one after the other, cheapest first (greedy), by a "
        "rounded linear program as in the study (rounded), or by a program solved to the optimum (exact, "
        "slow).",
    )
    gain: float = Field(
        1.0,
        gt=0,
        le=2,
        description="For rounded: factor before rounding (G); below 1 favours staying within capacity, above 1 "
        "favours work done. The study's theorems give 0.28 and 1.5 where a machine holds 15 workers and 40 "
        "are requested (delta 0.1).",
    )


class OasisParams(PriceParams):
    """OASiS."""


class DormParams(FrozenModel):
    """Dorm."""

    fairness: float = Field(
        FAIRNESS,
        ge=0,
        le=1,
        description="How far shares may deviate from those of DRF, as a share of the largest possible deviation.",
    )
    adjustment: float = Field(
        ADJUSTMENT, ge=0, le=1, description="Share of the running jobs whose number of workers may change in a slot."
    )
