"""Pure functions from a run log to numbers, series and tables, and how they are written and put into words."""

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
