"""Pure functions from a run log to numbers, series and tables, and how they are written and put into words.

Numbers, formats and sentences need numpy only; the tables need pandas, so public calls are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dlsched.metrics.job_timeline import JobTimeline, timeline_of
    from dlsched.metrics.kpi import KPI, KPIS
    from dlsched.metrics.run_facts import RunFacts
    from dlsched.metrics.summary import Metrics, summarise, summarise_facts
    from dlsched.metrics.tables import (
        decisions_table,
        group_table,
        jobs_of,
        jobs_table,
        nodes_of,
        nodes_table,
        segments_of,
        segments_table,
        series_of,
        series_table,
        waits_of,
        waits_table,
    )

__all__ = [
    "KPI",
    "KPIS",
    "JobTimeline",
    "Metrics",
    "RunFacts",
    "decisions_table",
    "group_table",
    "jobs_of",
    "jobs_table",
    "nodes_of",
    "nodes_table",
    "segments_of",
    "segments_table",
    "series_of",
    "series_table",
    "summarise",
    "summarise_facts",
    "timeline_of",
    "waits_of",
    "waits_table",
]

_HOME = {
    "JobTimeline": "job_timeline",
    "KPI": "kpi",
    "KPIS": "kpi",
    "Metrics": "summary",
    "RunFacts": "run_facts",
    "summarise": "summary",
    "summarise_facts": "summary",
    "timeline_of": "job_timeline",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'dlsched.metrics' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"dlsched.metrics.{_HOME.get(name, 'tables')}"), name)
