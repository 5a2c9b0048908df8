"""Pure functions from a run log to numbers, series and tables, and how they are written and put into words.

Numbers, formats and sentences need numpy only; the tables need pandas, so public calls are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dlsched.metrics.books import Books
    from dlsched.metrics.kpi import KPI, KPIS
    from dlsched.metrics.series import series_of, series_table
    from dlsched.metrics.story import JobStory, job_story
    from dlsched.metrics.summary import Metrics, summarise, summarise_books
    from dlsched.metrics.tables import (
        decisions_table,
        group_table,
        jobs_of,
        jobs_table,
        nodes_of,
        nodes_table,
        segments_of,
        segments_table,
        waits_of,
        waits_table,
    )

__all__ = [
    "KPI",
    "KPIS",
    "Books",
    "JobStory",
    "Metrics",
    "decisions_table",
    "group_table",
    "job_story",
    "jobs_of",
    "jobs_table",
    "nodes_of",
    "nodes_table",
    "segments_of",
    "segments_table",
    "series_of",
    "series_table",
    "summarise",
    "summarise_books",
    "waits_of",
    "waits_table",
]

_HOME = {
    "Books": "books",
    "KPI": "kpi",
    "KPIS": "kpi",
    "JobStory": "story",
    "job_story": "story",
    "Metrics": "summary",
    "summarise": "summary",
    "summarise_books": "summary",
    "series_of": "series",
    "series_table": "series",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'dlsched.metrics' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"dlsched.metrics.{_HOME.get(name, 'tables')}"), name)
