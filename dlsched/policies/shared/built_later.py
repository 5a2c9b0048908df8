"""Builders of policies whose code is imported with the first policy that is built: all commands start sooner."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class BuiltLater:
    """The function ``name`` of ``module``, which is imported when it is called."""

    module: str
    name: str

    def __call__(self, *given: Any) -> Any:
        """Return the policy of these parameters."""
        return getattr(import_module(self.module), self.name)(*given)
