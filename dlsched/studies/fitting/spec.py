"""What a fit asks, in JSON's own types; the scenario itself travels apart."""

from __future__ import annotations

from pydantic import Field

from dlsched.domain.model import FrozenModel

REPLAYS = 20


class FitSpec(FrozenModel):
    """Fit a policy to the first half of a scenario's record and judge it on the second."""

    scenario: str = Field(min_length=1, description="Hash of the scenario.")
    replays: int = Field(
        REPLAYS,
        ge=2,
        le=100,
        description="Replays with small random changes of run times and of the scheduler's clock.",
    )
    seed: int = Field(0, ge=0, description="Seed of these changes.")
