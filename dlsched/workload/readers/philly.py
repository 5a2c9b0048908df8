"""Philly job log: one JSON array of jobs with attempts. Times carry no zone and are taken as recorded."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats
from dlsched.workload.cluster_from_log import ClusterFound
from dlsched.workload.import_report import Bools, Ledger
from dlsched.workload.readers.canonical import Draft, required
from dlsched.workload.readers.convert import from_python, split_gpus, timestamps
from dlsched.workload.readers.formats import TraceFormat, of_json
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.source import TraceText

STATUS = {"pass": "completed", "killed": "cancelled", "failed": "failed"}
LARGEST_GPU_INDEX = 63
DST_END = (1_509_843_600.0, 1_509_847_200.0)  # 2017-11-05 01:00 to 02:00 as if UTC: the hour that happened twice
_BLANK = re.compile(r"\s*")


@dataclass
class _Jobs:
    """Columns of the log, one entry a job; times still as text."""

    ids: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    vcs: list[str] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)
    submits: list[str] = field(default_factory=list)
    starts: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    gpus: list[float] = field(default_factory=list)
    attempts: list[int] = field(default_factory=list)
    changed_width: list[bool] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    part_job: list[int] = field(default_factory=list)
    part_starts: list[str] = field(default_factory=list)
    part_ends: list[str] = field(default_factory=list)


def read_philly(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of a Philly ``cluster_job_log``.

    GPUs are those of the first attempt. Run time is first start to last end (authors' notebook), or the sum of
    the attempts (``philly_run_time``). Jobs without an attempt that started and ended are dropped and counted.
    """
    jobs, machines = _collect(text)
    lines = np.array(jobs.lines, dtype=np.int64)
    ledger = Ledger(len(lines), lambda rows: lines[rows], jobs.ids)
    submit_s = required(ledger, timestamps(from_python(jobs.submits)), "submission time", jobs.submits)
    never = np.array(jobs.attempts) == 0
    ledger.drop(never, "no attempt recorded", "Dropped: the job never ran", unreadable=False)
    start_s, end_s = timestamps(from_python(jobs.starts)).values, timestamps(from_python(jobs.ends)).values
    ledger.drop(np.isnan(start_s), "first attempt has no start", "Dropped: the job never ran", unreadable=False)
    ledger.drop(
        np.isnan(end_s), "last attempt has no end", "Dropped: still running when the log was taken", unreadable=False
    )
    run_s = end_s - start_s if options.philly_run_time == "wall" else _sum_of_attempts(jobs)
    gpus = np.array(jobs.gpus)
    ledger.drop(gpus == 0, "no GPUs recorded", "Dropped: the log lists no GPU for it", unreadable=False)
    ledger.flag(
        np.array(jobs.changed_width), "attempts with different GPUs", "The number of the first attempt is used", gpus
    )
    ledger.flag(_ambiguous(submit_s, start_s, end_s), "time in the hour that happened twice (2017-11-05)",
                "Taken as written; may be off by one hour", jobs.submits)  # fmt: skip
    again = np.array(jobs.attempts) > 1
    ledger.not_modelled(again, "job ran in several attempts", _attempts_rule(options), jobs.attempts)
    workers, per_worker = split_gpus(gpus)
    statuses = [STATUS.get(status.lower(), status.lower()) for status in jobs.statuses]
    return Draft(
        ledger, submit_s, run_s, workers, per_worker,
        texts={"job_id": from_python(jobs.ids), "user": from_python(jobs.users), "group": from_python(jobs.vcs),
               "recorded_status": from_python(statuses)},
        floats={"recorded_start_s": start_s, "recorded_end_s": end_s},
        absolute=True,
        meta={"time_zone": "local time of the cluster (US Pacific); the file gives no time zone"},
        assumptions=[_attempts_rule(options)],
        cluster=_cluster(machines),
    )  # fmt: skip


def _attempts_rule(options: ReadOptions) -> str:
    if options.philly_run_time == "wall":
        return "Run time = first start to last end, including the gaps between attempts"
    return "Run time = sum of the attempts, excluding the gaps between them"


# ---- collecting ----------------------------------------------------------------------------------


def _objects(text: TraceText) -> Iterator[tuple[int, Any]]:
    """Yield (line, value) of each element of the JSON array, one at a time so that memory stays small."""
    content = text.data.decode("utf-8")
    decoder = json.JSONDecoder()
    at, line = _skip(content, 0), 1
    if content[at : at + 1] != "[":
        raise InputError(f"file {text.name}", "a Philly log is a JSON array, it does not start with '['", "Check it")
    line += content.count("\n", 0, at)
    done, at = at, _skip(content, at + 1)
    while content[at : at + 1] != "]":
        line, done = line + content.count("\n", done, at), at
        try:
            value, end = decoder.raw_decode(content, at)
        except RecursionError:
            raise InputError(
                f"file {text.name}, line {line}", "its JSON is nested too deep", "Check the file"
            ) from None
        except ValueError as error:
            why = f"it is not valid JSON: {str(error)[:80]}"
            raise InputError(f"file {text.name}, line {line}", why, "Export it again; it may be cut off") from None
        yield line, value
        at = _skip(content, end)
        if content[at : at + 1] == ",":
            at = _skip(content, at + 1)
        elif content[at : at + 1] != "]":
            raise InputError(
                f"file {text.name}", f"its JSON array ends after line {line}, before it is complete", "Export it again"
            )


def _skip(content: str, at: int) -> int:
    match = _BLANK.match(content, at)
    return match.end() if match else at


def _collect(text: TraceText) -> tuple[_Jobs, dict[str, int]]:
    """Return the jobs, and for each machine the highest GPU number seen on it plus one."""
    jobs, machines = _Jobs(), dict[str, int]()
    for line, entry in _objects(text):
        job = entry if isinstance(entry, dict) else {}
        attempts = [a for a in _list(job.get("attempts")) if isinstance(a, dict)]
        widths = [_width(attempt, machines) for attempt in attempts]
        jobs.lines.append(line)
        jobs.ids.append(_word(job.get("jobid")))
        jobs.users.append(_word(job.get("user")))
        jobs.vcs.append(_word(job.get("vc")))
        jobs.statuses.append(_word(job.get("status")))
        jobs.submits.append(_word(job.get("submitted_time")))
        jobs.attempts.append(len(attempts))
        jobs.starts.append(_word(attempts[0].get("start_time")) if attempts else "")
        jobs.ends.append(_word(attempts[-1].get("end_time")) if attempts else "")
        jobs.gpus.append(float(widths[0]) if widths else 0.0)
        jobs.changed_width.append(len({w for w in widths if w}) > 1)
        for attempt in attempts:
            jobs.part_job.append(len(jobs.lines) - 1)
            jobs.part_starts.append(_word(attempt.get("start_time")))
            jobs.part_ends.append(_word(attempt.get("end_time")))
    return jobs, machines


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _word(value: Any) -> str:
    """Return a JSON scalar as text; anything nested as nothing."""
    return "" if value is None or isinstance(value, (dict, list)) else str(value)[:1000]


def _width(attempt: Mapping[str, Any], machines: dict[str, int]) -> int:
    """Return the GPUs of an attempt and note the GPU numbers seen on each machine."""
    total = 0
    for part in _list(attempt.get("detail")):
        if not isinstance(part, dict):
            continue
        gpus = _list(part.get("gpus"))
        total += len(gpus)
        seen = [int(found[1]) for gpu in gpus if isinstance(gpu, str) and (found := re.fullmatch(r"gpu(\d{1,3})", gpu))]
        ip = _word(part.get("ip"))
        if ip and seen and max(seen) <= LARGEST_GPU_INDEX:
            machines[ip] = max(machines.get(ip, 0), max(seen) + 1)
    return total


def _sum_of_attempts(jobs: _Jobs) -> Floats:
    parts = timestamps(from_python(jobs.part_ends)).values - timestamps(from_python(jobs.part_starts)).values
    is_timed = ~np.isnan(parts)
    part_job = np.array(jobs.part_job, dtype=np.int64)
    return np.bincount(part_job[is_timed], parts[is_timed], minlength=len(jobs.lines)).astype(np.float64)


def _ambiguous(*times: Floats) -> Bools:
    first, last = DST_END
    in_hour = [(values >= first) & (values < last) for values in times]
    return np.asarray(np.any(in_hour, axis=0))


def _cluster(machines: Mapping[str, int]) -> ClusterFound | None:
    """Return pools of the machines seen in the log; a machine has as many GPUs as its highest number says."""
    counts = Counter(machines.values())
    pools = tuple(Pool(vm=VmType(name=f"{gpus}-GPU machine", gpus=gpus), count=counts[gpus]) for gpus in sorted(counts))
    origin = {"nodes": "those that jobs ran on", "GPUs": "the highest GPU number seen on each"}
    return ClusterFound(Cluster(pools=pools), "the log", origin) if pools else None


PHILLY = TraceFormat(
    "philly",
    "Philly job log",
    of_json("[", "jobid", "attempts", "submitted_time", "vc", "status"),
    read_philly,
    choices=("philly_run_time",),
    source="github.com/msr-fiddle/philly-traces",
)
