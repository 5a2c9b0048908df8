"""What is asked about a figure of a paper, and its answer, in JSON's own types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from dlsched.domain.errors import validated
from dlsched.domain.model import FrozenModel
from dlsched.studies.reproductions.registry import find
from dlsched.studies.reproductions.reproduction import Setting
from dlsched.studies.simulation import Progress


class ReproductionSpec(FrozenModel):
    """A figure by its key, by a quick run (small sizes) or a full one."""

    key: str = Field(min_length=1, max_length=80, description="Key of the reproduction.")
    quick: bool = Field(True, description="Small sizes, to be done in seconds to minutes.")


def read_asked(plain: Mapping[str, Any]) -> ReproductionSpec:
    """Return the question of plain data; InputError naming the field, or near keys of an unknown one."""
    asked = validated(ReproductionSpec, dict(plain), "reproduction")
    find(asked.key)
    return asked


def answered(asked: ReproductionSpec, progress: Progress | None = None) -> dict[str, Any]:
    """Compute a figure anew; return its outcome in JSON's own types."""
    return find(asked.key).run(Setting(asked.quick, progress)).to_plain()
