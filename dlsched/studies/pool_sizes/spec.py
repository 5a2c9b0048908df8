"""What a sweep of the pool's size asks, in JSON's own types; the scenario itself travels apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from dlsched.domain.model import FrozenModel
from dlsched.domain.names import names_hint
from dlsched.studies.pool_sizes.sizing import OWN, VARIANT_KEYS

Nodes = Annotated[int, Field(ge=1, le=100_000)]
Key = Annotated[str, Field(min_length=1, max_length=80)]
MOST_RUNS = 2000


class PoolSizesSpec(FrozenModel):
    """Every policy on every size under every variant, on the same jobs and mishaps draw by draw.

    ``variants``: what goes wrong, ``own`` = the scenario's own rules, else one of ``modelarts.VARIANTS``.
    ``reference``: the policy that gains are against; empty = modelarts-greedy, where it is asked for, else the last.
    """

    scenario: str = Field(min_length=1, description="Hash of the scenario.")
    nodes: tuple[Nodes, ...] = Field(min_length=1, max_length=30, description="Sizes of the pool, ascending.")
    policies: tuple[Key, ...] = Field(
        ("modelarts-optimal", "modelarts-greedy"), min_length=1, max_length=12, description="Keys of policies."
    )
    reference: str = Field("", max_length=80, description="The policy that gains are against.")
    variants: tuple[str, ...] = Field((OWN,), min_length=1, max_length=len(VARIANT_KEYS))
    draws: int = Field(3, ge=1, le=100, description="Draws of what is random; one where nothing is.")

    @model_validator(mode="before")
    @classmethod
    def _with_reference(cls, values: Any) -> Any:
        """Name the reference, so that the same question has the same key."""
        if not isinstance(values, Mapping) or values.get("reference"):
            return values
        policies = values.get("policies", cls.model_fields["policies"].default)
        if not isinstance(policies, list | tuple) or not policies:
            return values
        return {**values, "reference": GREEDY if GREEDY in policies else policies[-1]}

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if list(self.nodes) != sorted(set(self.nodes)):
            raise ValueError("nodes must ascend, each size once")
        for name, values in (("policies", self.policies), ("variants", self.variants)):
            twice = [value for value in values if values.count(value) > 1]
            if twice:
                raise ValueError(f"{name} must differ, {twice[0]!r:.80} is there twice")
        for variant in self.variants:
            if variant not in VARIANT_KEYS:
                raise ValueError(f"there is no variant {variant!r:.80}. {names_hint(variant, VARIANT_KEYS)}")
        if self.reference not in self.policies:
            raise ValueError(f"the reference must be one of the policies, got {self.reference!r:.80}")
        if self.runs > MOST_RUNS:
            raise ValueError(f"sizes x variants x policies x draws must be at most {MOST_RUNS:,}, got {self.runs:,}")
        return self

    @property
    def runs(self) -> int:
        """How many runs there are at most; fewer where nothing is random."""
        return len(self.nodes) * len(self.variants) * len(self.policies) * self.draws


GREEDY = "modelarts-greedy"
