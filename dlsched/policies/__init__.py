"""Scheduling policies, one folder a family; families do not import each other.

``dlsched.policies()`` is part of the public contract, but importing this package puts the module in that place. So
the module can be called too.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dlsched.domain.policy import PolicySpec


class _CallableModule(ModuleType):
    def __call__(self) -> tuple[PolicySpec, ...]:
        from dlsched.policies.registry import policies

        return policies()


sys.modules[__name__].__class__ = _CallableModule
