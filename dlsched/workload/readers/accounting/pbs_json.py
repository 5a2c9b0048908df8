"""Jobs of OpenPBS and Altair PBS Professional as ``qstat -x -f -F json`` prints them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from dlsched.domain.errors import InputError
from dlsched.workload.readers.accounting.pbs import REMARKS, record_of
from dlsched.workload.readers.accounting.pbs_requests import kept_requests
from dlsched.workload.readers.accounting.rows import CUT_OFF, Gathered, clock_s, draft_of
from dlsched.workload.readers.canonical import Draft
from dlsched.workload.readers.formats import TraceFormat, of_json
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.source import TraceText, json_object

EXPORT = "Export it with qstat -x -f -F json"
FINISHED, RUNNING = ("F", "X", "E"), ("R", "S", "U")
TIME_ZONE = "local time of the host where qstat ran; the file gives no time zone"
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# Field of an accounting record: the attribute of qstat.
_SAME = ("exec_host", "exec_vnode", "queue", "project", "Exit_status")
_NAMES = {"user": "euser", "group": "egroup", "account": "Account_Name"}
_TIMES = {"ctime": "ctime", "qtime": "qtime", "etime": "etime", "start": "stime", "end": "obittime"}


def read_pbs_json(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of the jobs that qstat lists: finished ones (``-x``) and those that run.

    An end is obittime, else stime plus the walltime used. Waiting jobs have no run time and are counted as no jobs.
    """
    jobs = json_object(text, EXPORT).get("Jobs")
    if not isinstance(jobs, dict) or not jobs:
        raise InputError(f"file {text.name}", "it has no Jobs", f"{EXPORT}: without -x finished jobs are left out")
    gathered, holds = Gathered(), kept_requests()
    for number, (job_id, job) in enumerate(jobs.items(), 1):
        if not isinstance(job, dict):
            gathered.set_aside(CUT_OFF, number, job_id)
            continue
        state = _text(job.get("job_state"))
        if state not in (*FINISHED, *RUNNING):
            gathered.set_aside(f"job in state {state[:2] or '(none)'}", number, job_id)
            continue
        try:
            record = record_of(number, job_id[:200], _fields(job), holds)
        except ValueError:
            gathered.set_aside(CUT_OFF, number, job_id)
            continue
        gathered.records.append(record._replace(status="running") if state in RUNNING else record)
    return draft_of(text.name, gathered, options, REMARKS, TIME_ZONE)


def _fields(job: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields of an accounting record, as texts; ValueError for times that cannot be read."""
    fields = {name: _text(job.get(name)) for name in _SAME}
    fields |= {name: _text(job.get(own)) for name, own in _NAMES.items()}
    fields["user"] = fields["user"] or _text(job.get("Job_Owner")).partition("@")[0]
    for group in ("Resource_List", "resources_used"):
        listed = job.get(group)
        if isinstance(listed, dict):
            fields |= {f"{group}.{name}": _text(value) for name, value in listed.items()}
    fields |= {name: _epoch(_text(job.get(own))) for name, own in _TIMES.items()}
    if not fields["end"] and fields["start"]:
        used_s = clock_s(fields.get("resources_used.walltime", ""))
        fields["end"] = f"{float(fields['start']) + used_s:.0f}" if used_s > 0 else ""
    return fields


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _epoch(text: str) -> str:
    """Return seconds since 1970 of ``Tue Nov 14 22:13:20 2023``, as if UTC; nothing stays nothing."""
    if not text or text.isdecimal():
        return text
    _, month, day, clock, year = text.split()
    hour, minute, second = (int(part) for part in clock.split(":"))
    when = datetime(int(year), MONTHS.index(month) + 1, int(day), hour, minute, second, tzinfo=UTC)
    return f"{when.timestamp():.0f}"


PBS_JSON = TraceFormat(
    "pbs-json",
    "PBS jobs (qstat JSON)",
    of_json("{", "pbs_version", "Jobs", "job_state", "Resource_List"),
    read_pbs_json,
    choices=("cancelled", "censored", "arrival", "absent_times"),
    source="PBS Professional Reference Guide, qstat and Job Attributes",
)
