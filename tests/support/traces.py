"""Texts read as traces, and what a test asks of them: a column by job, the findings of the import report by reason."""

from __future__ import annotations

from typing import Any

from dlsched.workload.import_report import FindingKind
from dlsched.workload.readers import ReadOptions, TraceRead, read_trace


def read(text: str | bytes, **options: Any) -> Any:
    """Return the TraceRead of the content of a file, in the format it shows, with these reading choices.

    Any: tests know which optional columns a fixture has.
    """
    return read_trace(text if isinstance(text, bytes) else text.encode(), "t", ReadOptions(**options))


def column(trace: TraceRead, name: str) -> dict[str, Any]:
    """Return a column of the workload, or ``gpus``, by job ID."""
    return dict(zip(trace.workload.job_id, getattr(trace.workload, name).tolist(), strict=True))


def reasons(trace: TraceRead, kind: FindingKind) -> dict[str, int]:
    """Return the findings of one kind, reason to count."""
    return {finding.reason: finding.count for finding in trace.report.of_kind(kind)}
