"""``sacct --json``, Slurm 21.08 to today: its jobs as the columns that sacct prints."""

from __future__ import annotations

from functools import partial
from typing import Any

from dlsched.workload.import_report import Ledger
from dlsched.workload.readers.canonical import Draft
from dlsched.workload.readers.convert import from_python
from dlsched.workload.readers.formats import Head, Signs, TraceFormat
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.slurm.jobs import columns_of, draft_of
from dlsched.workload.readers.slurm.json_values import (
    Job,
    first,
    job_name,
    jobs_in,
    memory,
    minutes,
    part,
    text,
    when,
    whole,
)
from dlsched.workload.readers.source import TraceText

KEYS = ("time", "submission", "eligible", "tres", "allocated", "association", "state")
NO_OBJECT = "entry that is no job"


def read_sacct_json(source: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of ``sacct --json``; numbers plain or ``{set, infinite, number}``, times in seconds since 1970.

    Raises
    ------
    InputError
        Damaged JSON, or no list of jobs in it.
    """
    what = f"sacct JSON {source.name}"
    jobs, _ = jobs_in(source, what)
    rows = [_row(job) for job in jobs if isinstance(job, dict)]
    ledger = Ledger(len(rows), names=[row["jobid"] for row in rows])
    ledger.lost(len(jobs) - len(rows), NO_OBJECT, "Dropped: a job is an object", ())
    names = tuple(rows[0]) if rows else ()
    raw = {name: from_python([row[name] for row in rows]) for name in names}
    return draft_of(ledger, columns_of(raw, len(rows), what), options, what, zone="UTC")


def _row(job: Job) -> dict[str, str]:
    """Return the fields of one job as sacct prints them."""
    requested = part(job, "tres", "requested")
    required = partial(part, job, "required")
    array, het = (part(job, name) or {} for name in ("array", "het"))
    return {
        "jobid": job_name(job.get("job_id"), part(array, "job_id"), part(array, "task_id"), part(array, "task"),
                          part(het, "job_id"), part(het, "job_offset")),
        "user": text(job.get("user")) or text(part(job, "association", "user")),
        "account": text(job.get("account")) or text(part(job, "association", "account")),
        "partition": text(job.get("partition")),
        "qos": text(job.get("qos")),
        "cluster": text(job.get("cluster")),
        "state": first(part(job, "state", "current")),
        "submit": when(part(job, "time", "submission")),
        "eligible": when(part(job, "time", "eligible")),
        "start": when(part(job, "time", "start")),
        "end": when(part(job, "time", "end")),
        "elapsedraw": whole(part(job, "time", "elapsed")),
        "suspended": _clock(part(job, "time", "suspended")),
        "timelimitraw": minutes(part(job, "time", "limit")),
        "nnodes": whole(job.get("allocation_nodes")),
        "reqcpus": whole(required("CPUs")),
        "reqmem": memory(
            ((required("memory"), ""), (required("memory_per_node"), "n"), (required("memory_per_cpu"), "c"))
        ),
        "reqtres": _tres(requested),
        "alloctres": _tres(part(job, "tres", "allocated")),
        "nodelist": text(job.get("nodes")),
        "constraints": text(job.get("constraints")),
        "priority": whole(job.get("priority")),
        "reason": text(part(job, "state", "reason")),
    }  # fmt: skip


def _tres(items: Any) -> str:
    """Return a list of {type, name, count} as sacct prints it; memory is in MiB."""
    parts = []
    for item in items if isinstance(items, list) else []:
        count = whole(part(item, "count"))
        if count and not count.startswith("-"):
            name = text(part(item, "name"))
            parts.append(f"{text(part(item, 'type'))}{f'/{name}' if name else ''}={count}")
    return ",".join(parts)


def _clock(seconds: Any) -> str:
    found = whole(seconds)
    return f"0:{found}" if found and found != "0" else ""


def _signs(head: Head) -> Signs | None:
    if not head.json_start or head.has_keys(("job_state",)):
        return None
    return Signs(head.has_keys(KEYS), len(KEYS))


SACCT_JSON = TraceFormat(
    "sacct-json",
    "Slurm sacct --json",
    _signs,
    read_sacct_json,
    choices=("cancelled", "censored", "pending", "never_started", "arrival", "absent_times"),
    source="https://slurm.schedmd.com/sacct.html, option --json",
)
