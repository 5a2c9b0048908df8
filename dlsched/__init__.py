"""dlsched: plan deep-learning training clusters.

The public calls are loaded on first use, so that ``python -m dlsched --help`` stays quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Run", "Scenario", "load", "policies", "simulate"]

if TYPE_CHECKING:
    from dlsched.domain.scenario import Scenario
    from dlsched.policies.registry import policies
    from dlsched.studies.simulation import Run, simulate
    from dlsched.workload.load import load

_HOME = {
    "Run": "dlsched.studies.simulation",
    "simulate": "dlsched.studies.simulation",
    "load": "dlsched.workload.load",
    "policies": "dlsched.policies.registry",
    "Scenario": "dlsched.domain.scenario",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dlsched' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)
