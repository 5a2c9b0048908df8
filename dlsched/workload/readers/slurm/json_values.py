"""Values in the JSON of Slurm: plain up to 21.08, later ``{set, infinite, number}``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dlsched.domain.errors import InputError
from dlsched.workload.readers.source import TraceText, json_value

Job = Mapping[str, Any]


def jobs_in(text: TraceText, what: str) -> tuple[list[Any], Job]:
    """Return the list of jobs of a file, its own or under ``jobs``, and what stands beside it.

    Raises
    ------
    InputError
        Damaged JSON, or no jobs in it.
    """
    content = json_value(text, "Export it again", what)
    beside = content if isinstance(content, dict) else {}
    jobs = beside.get("jobs", content)
    if not isinstance(jobs, list) or not jobs:
        raise InputError(what, "it has no list of jobs", "Export it again, with jobs")
    return jobs, beside


def number(value: Any) -> float:
    """Return a number; NaN where it is not set, infinity where it says so."""
    if isinstance(value, dict):
        if value.get("infinite") is True:
            return math.inf
        value = value.get("number") if value.get("set") is True else None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e15:
        return math.nan
    return float(value)


def whole(value: Any) -> str:
    """Return a count or a time as text, nothing where it is not set."""
    found = number(value)
    return f"{found:.0f}" if math.isfinite(found) else ""


def when(value: Any) -> str:
    """Return a time in seconds since 1970 as text; 0 is none."""
    return whole(value) if number(value) > 0 else ""


def minutes(value: Any) -> str:
    """Return a time limit as TimelimitRaw has it."""
    found = number(value)
    return "UNLIMITED" if found == math.inf else whole(value) if found > 0 else ""


def text(value: Any) -> str:
    """Return a name, nothing for null."""
    return value if isinstance(value, str) else whole(value)


def first(value: Any) -> str:
    """Return the first of a list of names (states from 23.11 on), or the name itself."""
    return text(value[0]) if isinstance(value, list) and value else text(value)


def part(job: Job, *path: str) -> Any:
    """Return the value under nested keys, or None."""
    value: Any = job
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def memory(amounts: tuple[tuple[Any, str], ...]) -> str:
    """Return ReqMem, in MiB, from the first amount that is set and above 0; each with its suffix n, c or none."""
    return next((f"{whole(amount)}M{suffix}" for amount, suffix in amounts if when(amount)), "")


def job_name(number_: Any, array: Any, task: Any, pending: Any, het: Any, offset: Any) -> str:
    """Return N, N_T, N_[list] or N+K as sacct writes it."""
    if number(het) > 0:
        return f"{whole(het)}+{whole(offset) or '0'}"
    if number(array) > 0 and whole(task):
        return f"{whole(array)}_{whole(task)}"
    if number(array) > 0 and text(pending):
        return f"{whole(array)}_[{text(pending)}]"
    return whole(number_)
