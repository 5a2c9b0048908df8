"""Records with other fields."""

from __future__ import annotations

from typing import Any, TypeVar

from dlsched.domain.model import FrozenModel

M = TypeVar("M", bound=FrozenModel)


def replaced(model: M, **changes: Any) -> M:
    """Return a record with other fields, checked as a new one; nothing that was cached on the old one stays."""
    return type(model)(**{name: getattr(model, name) for name in type(model).model_fields} | changes)
