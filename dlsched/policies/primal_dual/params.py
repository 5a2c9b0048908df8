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
        description="A job that cannot be done within so many slots from now is turned away. The study has 20 to 80.",
    )
    chunks: int = Field(CHUNKS, ge=1, le=200, description="Parts that the work of a job is cut into at least.")
    least_worth: float = Field(
        LEAST_WORTH,
        gt=0,
        le=1,
        description="Part of what a job would be worth done in its first slot that its utility at the horizon counts "
        "at least in the lowest price (ours: one urgent job would otherwise make every price near 0).",
    )


class PdOrsParams(PriceParams):
    """PD-ORS."""

    slot_method: Literal["greedy", "rounded", "exact"] = Field(
        "greedy",
        description="How machines of a slot are chosen: the cheapest one after the other, a rounded linear program as "
        "in the study, or a program solved to the optimum (slow).",
    )
    gain: float = Field(
        1.0,
        gt=0,
        le=2,
        description="Of the rounded program: factor before rounding (G), below 1 favours capacity, above 1 work. The "
        "study's theorems give 0.28 and 1.5 where a machine holds 15 and 40 workers are asked for (delta 0.1).",
    )


class OasisParams(PriceParams):
    """OASiS."""


class DormParams(FrozenModel):
    """Dorm."""

    fairness: float = Field(
        FAIRNESS, ge=0, le=1, description="How far shares may be from those of DRF, as a part of the most possible."
    )
    adjustment: float = Field(
        ADJUSTMENT, ge=0, le=1, description="Share of the running jobs whose number of workers may change in a slot."
    )
