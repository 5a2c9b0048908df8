"""PBS accounting: TORQUE, OpenPBS, Altair PBS Professional. ``date;type;job;key=value key=value ...``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from dlsched.workload.readers.accounting.pbs_requests import KEYS, Request, kept_requests
from dlsched.workload.readers.accounting.rows import (
    CUT_OFF,
    NOT_TOLD,
    Gathered,
    Record,
    Remark,
    clock_s,
    draft_of,
    lines_of,
    told_s,
)
from dlsched.workload.readers.canonical import Draft
from dlsched.workload.readers.formats import Head, Signs, TraceFormat
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.source import TraceText

FINISHED = "E"
TYPES = {"A": "aborted", "D": "deleted", "L": "licences", "Q": "queued", "R": "rerun", "S": "started"}
NO_PROJECT = "_pbs_project_default"
SIGTERM_EXIT = 256 + 15
DIFFERENT_SHARE, DIFFERENT_S = 0.1, 60.0
REMARKS = {
    "walltime": Remark("flag", "resources_used.walltime is not end - start",
                       "End - start is used: the nodes were held that long"),
    "array": Remark("drop", "record of a whole job array", "Dropped: its tasks have records of their own"),
    "no-end": Remark("repair", "no end time", "Start + resources_used.walltime is used"),
}  # fmt: skip
_RECORD = re.compile(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(?:\.\d{1,9})?;[A-Za-z];[^;]*(;|$)", re.ASCII)
_TOKEN = re.compile(r'(?:[^\s"]|"[^"]*")+')


def read_pbs(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of a PBS accounting log: its E records, one a finished job.

    The job was submitted at ctime and could run from etime on. Resource_List.walltime is its limit. Only epoch times
    are used, so that the date before the record, which is local to the server, plays no part.
    """
    gathered = Gathered()
    holds = kept_requests()
    for line, content in lines_of(text, gathered):
        date, _, rest = content.partition(";")
        kind, _, rest = rest.partition(";")
        job_id, _, rest = rest.partition(";")
        if kind != FINISHED:
            known = len(kind) == 1 and _RECORD.match(content)
            name = f" ({TYPES[kind]})" if kind in TYPES else ""
            gathered.set_aside(f"record of type {kind}{name}" if known else CUT_OFF, line, job_id or date)
            continue
        tokens = _TOKEN.findall(rest) if '"' in rest else rest.split(" ")
        fields = dict(token.partition("=")[::2] for token in tokens)
        try:
            gathered.records.append(record_of(line, job_id, fields, holds))
        except ValueError:
            gathered.set_aside(CUT_OFF, line, content)
    return draft_of(text.name, gathered, options, REMARKS)


def record_of(line: int, job_id: str, fields: Mapping[str, str], holds: Callable[[tuple[str, ...]], Request]) -> Record:
    """Return the record of a finished job with these fields of its E record; ValueError where one cannot be read.

    ``holds`` is what :func:`kept_requests` returns.
    """
    request = holds(tuple(fields.get(key, "") for key in KEYS))
    start_s, end_s, limit_s, remarks = _times(fields)
    return Record(
        line, job_id,
        fields.get("user", ""), _group(fields), fields.get("queue", ""), "",
        _status(fields.get("Exit_status", ""), end_s - start_s, limit_s),
        request.gpu_types, request.hosts,
        told_s(fields.get("ctime") or fields.get("qtime") or fields.get("etime", "")),
        told_s(fields.get("etime", "")), start_s, end_s, limit_s,
        request.gpus, request.nodes, request.cores, request.mem_gib,
        (*request.remarks, *remarks, *(("array",) if "[]" in job_id else ())),
    )  # fmt: skip


def _times(fields: Mapping[str, str]) -> tuple[float, float, float, list[str]]:
    start_s, end_s = told_s(fields.get("start", "")), told_s(fields.get("end", ""))
    used_s, remarks = clock_s(fields.get("resources_used.walltime", "")), []
    limit_s = clock_s(fields.get("Resource_List.walltime", ""))
    if end_s != end_s and used_s > 0:
        end_s, remarks = start_s + used_s, ["no-end"]
    run_s = end_s - start_s
    if abs(run_s - used_s) > max(DIFFERENT_S, DIFFERENT_SHARE * run_s):
        remarks = ["walltime"]
    return start_s, end_s, limit_s if limit_s > 0 else NOT_TOLD, remarks


def _group(fields: Mapping[str, str]) -> str:
    account, project = fields.get("account", "").strip('"'), fields.get("project", "").strip('"')
    return account or (project if project != NO_PROJECT else "") or fields.get("group", "")


def _status(exit_status: str, run_s: float, limit_s: float) -> str:
    """Return how a job ended; an exit of 271 is SIGTERM, which ``qdel`` sends, and PBS at the time limit."""
    if not exit_status:
        return ""
    if int(exit_status) == 0:
        return "completed"
    if run_s >= limit_s:
        return "timeout"
    return "cancelled" if int(exit_status) == SIGTERM_EXIT else "failed"


def _signs(head: Head) -> Signs | None:
    records = sum(_RECORD.match(line) is not None for line in head.lines)
    return Signs(2, 2) if records and 2 * records >= len(head.lines) else None


PBS = TraceFormat(
    "pbs",
    "PBS or TORQUE accounting log",
    _signs,
    read_pbs,
    choices=("cancelled", "arrival", "absent_times"),
    source="TORQUE Administrator's Guide, Accounting Records; PBS Professional Administrator's Guide, Accounting",
)
