"""dlsched: plan deep-learning training clusters.

The public calls are loaded on first use, so that ``dlsched --help`` stays quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "1.0.0"
__all__ = [
    "Run",
    "Scenario",
    "changed",
    "compare",
    "load",
    "policies",
    "read_trace",
    "report",
    "simulate",
    "size",
    "sweep",
    "what_if",
]

if TYPE_CHECKING:
    from dlsched.api import compare, read_trace, size, sweep, what_if
    from dlsched.domain.scenario import Scenario
    from dlsched.policies.registry import policies
    from dlsched.report.public import report
    from dlsched.studies.design.factors import changed
    from dlsched.studies.simulation import Run, simulate
    from dlsched.workload.load import load

_HOME = {
    "Run": "dlsched.studies.simulation",
    "simulate": "dlsched.studies.simulation",
    "load": "dlsched.workload.load",
    "policies": "dlsched.policies.registry",
    "changed": "dlsched.studies.design.factors",
    "compare": "dlsched.api",
    "read_trace": "dlsched.api",
    "report": "dlsched.report.public",
    "size": "dlsched.api",
    "sweep": "dlsched.api",
    "what_if": "dlsched.api",
    "Scenario": "dlsched.domain.scenario",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dlsched' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)
