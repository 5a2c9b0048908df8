"""Job numbers: jobs, array tasks, pending arrays, components of heterogeneous jobs, steps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

JobKind = Literal["job", "array task", "pending array", "het component", "step", "unknown"]
_NUMBER = re.compile(
    r"(\d{1,18})"  # job
    r"(?:_(?:(\d{1,18})|\[([^\]]*)(?:\]|$)))?"  # task, or the list of tasks that have not started
    r"(?:\+(\d{1,9}))?"  # component
    r"(?:\.(.+))?",  # step
    re.DOTALL,
)
_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?(?::(\d{1,18}))?")
_LIMIT = re.compile(r"\d{1,18}")
STEP = r"^\d+(?:_\d+)?(?:\+\d+)?\."
PENDING_ARRAY = r"_\["
HET = r"^\d+(?:_\d+)?\+\d+$"


@dataclass(frozen=True, slots=True)
class JobNumber:
    """A JobID taken apart. ``tasks`` and ``limit`` (most at once) belong to a pending array; None = not part of it."""

    kind: JobKind
    job: int | None = None
    task: int | None = None
    tasks: int | None = None
    limit: int | None = None
    component: int | None = None
    step: str | None = None


def parse_job_number(text: str) -> JobNumber:
    """Return the parts of a JobID: N, N_T, N_[list%limit], N+K, and each with .step."""
    found = _NUMBER.fullmatch(text.strip())
    if not found:
        return JobNumber("unknown")
    job, task, component = int(found[1]), _int(found[2]), _int(found[4])
    if found[5] is not None:
        return JobNumber("step", job, task, component=component, step=found[5])
    if found[3] is not None:
        listed, _, limit = found[3].partition("%")
        tasks = sum(len(tasks) for tasks in task_ranges(listed))
        return JobNumber("pending array", job, tasks=tasks, limit=_int(limit if _LIMIT.fullmatch(limit) else None))
    if component is not None:
        return JobNumber("het component", job, task, component=component)
    return JobNumber("job" if task is None else "array task", job, task)


def task_ranges(text: str) -> Iterator[range]:
    """Yield the tasks of a list such as '1-9:2,12'; parts that cannot be read are left out."""
    for part in text.partition("%")[0].split(","):
        found = _RANGE.fullmatch(part.strip())
        if found:
            first, last, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
            yield range(first, last + 1, max(step, 1))


def _int(text: str | None) -> int | None:
    return None if text is None else int(text)
