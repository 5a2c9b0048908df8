"""What all validated records share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field

from dlsched.domain.errors import validated

Key = Annotated[str, Field(min_length=1, max_length=120)]


class FrozenModel(BaseModel):
    """Base of all small validated records: immutable, strict about unknown fields, finite numbers only."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Answer(FrozenModel):
    """Base of what a study finds: written into the store in JSON's own types, and read from there."""

    def to_plain(self) -> dict[str, Any]:
        """Return the answer in JSON's own types."""
        return self.model_dump(mode="json")

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the answer written by :meth:`to_plain`; InputError where it is none."""
        return validated(cls, dict(plain), f"answer {cls.__name__}")


def plain(value: Any) -> Any:
    """Return a value made of JSON's own types; NaN and infinity, which JSON does not have, become None."""
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime):
        return value.isoformat() if value == value else None  # a missing time is not equal to itself
    if hasattr(value, "item"):
        return plain(value.item())
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
