"""Batsim: its workloads (JSON) and its output (jobs.csv), in which schedules of OAR are exported too."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats
from dlsched.workload.import_report import Bools, Ledger
from dlsched.workload.readers.canonical import Draft, number, optional, required
from dlsched.workload.readers.convert import bools, from_python, numbers, strings, texts, words
from dlsched.workload.readers.formats import Head, Signs, TraceFormat
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.source import TraceText, json_object
from dlsched.workload.readers.table import Table, read_table, sniff

EXPORT = "Give the workload JSON that Batsim reads (-w)"
DELAYS = ("delay", "DelayProfile")
SEQUENCES = ("composed", "composition", "sequence", "SequentialCompositionProfile")
DEEPEST = 20
RESOURCE = "Each Batsim resource counts as a node with one core: a workload of Batsim names no GPUs and no cores"
STATES = {
    "completed_successfully": "completed", "completed_failed": "failed", "completed_walltime_reached": "timeout",
    "completed_killed": "cancelled", "rejected": "rejected",
}  # fmt: skip
_INTERVALS = r"^\d{1,9}(-\d{1,9})?([ ,]\d{1,9}(-\d{1,9})?)*$"


# ---- workload --------------------------------------------------------------------------------------


class _Job(NamedTuple):
    job_id: str
    profile: str
    submit_s: float
    resources: float
    limit_s: float
    run_s: float
    unknown: bool
    missing: bool


def read_workload(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of a Batsim workload.

    A run time is known only for profiles that are a delay, or a sequence of delays: all others depend on the platform
    that Batsim simulates. Jobs with others are dropped and counted. ``walltime`` is the time limit.
    """
    content = json_object(text, EXPORT)
    jobs, profiles = content.get("jobs"), content.get("profiles", {})
    if not (isinstance(jobs, list) and jobs and isinstance(profiles, dict)):
        why = "a Batsim workload needs a list of jobs and an object of profiles"
        raise InputError(f"file {text.name}", why, EXPORT)
    run_s_of = dict[str, float]()
    rows = [_job(job, profiles, run_s_of) for job in jobs]
    column = dict(zip(_Job._fields, zip(*rows, strict=True), strict=True))
    ledger = Ledger(len(rows), names=column["job_id"])
    ledger.notes.append("Jobs are numbered from 1: JSON has no lines of its own")
    profile = from_python(column["profile"])
    ledger.drop(np.array(column["missing"]), "profile is not in the file", "Dropped: its run time is unknown", profile)
    rule = "Dropped: its run time depends on Batsim's platform; delays and sequences of delays are read"
    ledger.drop(np.array(column["unknown"]), "run time is not in the profile", rule, profile, unreadable=False)
    resources = np.array(column["resources"], dtype=np.float64)
    return Draft(
        ledger, np.array(column["submit_s"], dtype=np.float64), np.array(column["run_s"], dtype=np.float64),
        resources, np.zeros(len(rows)),
        texts={"job_id": from_python(column["job_id"]), "job_class": profile},
        floats={"cpus_per_worker": np.ones(len(rows)), "limit_s": _limit_s(np.array(column["limit_s"]))},
        assumptions=[RESOURCE],
    )  # fmt: skip


def _job(job: Any, profiles: Mapping[str, Any], run_s_of: dict[str, float]) -> _Job:
    fields = job if isinstance(job, dict) else {}
    name = _text(fields.get("profile"))
    missing = name not in profiles
    run_s = _run_s(name, profiles, run_s_of)
    return _Job(
        _text(fields.get("id")), name, _number(fields.get("subtime")), _number(fields.get("res")),
        _number(fields.get("walltime")), run_s, not missing and math.isnan(run_s), missing,
    )  # fmt: skip


def _run_s(name: str, profiles: Mapping[str, Any], run_s_of: dict[str, float], deep: int = 0) -> float:
    """Return the seconds of a delay or a sequence of delays; NaN for everything else. Each profile is read once."""
    if name in run_s_of:
        return run_s_of[name]
    run_s_of[name] = math.nan  # also what a profile that holds itself gets
    profile = profiles.get(name)
    if not isinstance(profile, dict) or deep > DEEPEST:
        return math.nan
    kind = profile.get("type")
    if kind in DELAYS:
        run_s_of[name] = _number(profile.get("delay"))
    elif kind in SEQUENCES:
        repeated = _number(profile.get("repeat", profile.get("repetition_count", profile.get("nb", 1))))
        sequence = profile.get("seq", profile.get("profile_ids"))
        parts = map(_text, sequence) if isinstance(sequence, list) else ("",)
        run_s_of[name] = repeated * sum(_run_s(part, profiles, run_s_of, deep + 1) for part in parts)
    return run_s_of[name]


def _text(value: Any) -> str:
    """Return a name: text or a whole number; empty for everything else."""
    try:
        return str(value)[:200] if isinstance(value, str | int) else ""
    except ValueError:  # a number of thousands of digits
        return ""


def _number(value: Any) -> float:
    """Return a number that is finite, or text of one; NaN for everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return math.nan
    return found if math.isfinite(found) else math.nan


def _limit_s(limit_s: Floats) -> Floats:
    return np.where(limit_s == -1, np.nan, limit_s)


# ---- output ----------------------------------------------------------------------------------------

_OLD = {
    "job_id": "jobid", "requested_number_of_resources": "requested_number_of_processors",
    "allocated_resources": "allocated_processors",
}  # fmt: skip
_COLUMNS = (
    "job_id", "workload_name", "profile", "submission_time", "requested_number_of_resources", "requested_time",
    "success", "final_state", "starting_time", "execution_time", "finish_time", "allocated_resources",
)  # fmt: skip
_NEEDED = ("submission_time", "requested_number_of_resources", "starting_time", "execution_time")


def read_jobs_csv(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of Batsim's ``jobs.csv``, of old and new names of columns; OAR's export has the old ones.

    Jobs that were rejected or never started are dropped. ``allocated_resources`` 0-3 7 become the nodes n[0-3,7].
    """
    column, table = _columns(text)
    ledger = table.ledger("job_id" if "job_id" in table.columns else "jobID")
    state, success = words(column["final_state"]), optional(ledger, numbers(column["success"]), "success")
    status = np.array([STATES.get(value, value) for value in state], dtype=object)
    start, run = numbers(column["starting_time"]), numbers(column["execution_time"])
    limit_s = _limit_s(numbers(column["requested_time"]).values)
    told = status != ""
    ended = np.where(run.values >= limit_s, "timeout", "failed")
    status = np.where(told, status, np.where(success == 1, "completed", np.where(success == 0, ended, "")))
    never = (status == "rejected") | start.missing | run.missing | (start.values < 0)
    ledger.drop(never, "job was rejected or never started", "Dropped: it never ran", column["job_id"],
                unreadable=False)  # fmt: skip
    if options.cancelled == "drop":
        rule = "Dropped as asked: cancelled = drop"
        ledger.drop(status == "cancelled", "job was cancelled", rule, column["job_id"], unreadable=False)
    start_s, run_s = required(ledger, start, "starting time"), required(ledger, run, "execution time")
    resources = number(ledger, column["requested_number_of_resources"], "requested_number_of_resources")
    names = texts(column["workload_name"])
    several = len(set(names) - {""}) > 1
    ids = pc.binary_join_element_wise(column["workload_name"], column["job_id"], "!") if several else column["job_id"]
    return Draft(
        ledger, number(ledger, column["submission_time"], "submission time"), run_s, resources,
        np.zeros(table.rows),
        texts={"job_id": ids, "job_class": column["profile"], "recorded_status": from_python(status.tolist()),
               "recorded_nodes": _nodes(ledger, column["allocated_resources"])},
        floats={"cpus_per_worker": np.ones(table.rows), "limit_s": limit_s, "recorded_start_s": start_s,
                "recorded_end_s": start_s + run_s},
        assumptions=[RESOURCE],
    )  # fmt: skip


def _columns(text: TraceText) -> tuple[dict[str, Any], Table]:
    """Return the columns by their new names, blank where there are none; InputError without those that are needed."""
    dialect = sniff(text.data)
    own = {name: found for name in _COLUMNS if (found := _header_name(name, dialect.header))}
    if missing := [name for name in _NEEDED if name not in own]:
        why = f"missing columns: {', '.join(missing)}"
        raise InputError(f"file {text.name}", why, "Give the file of Batsim that ends with _jobs.csv")
    table = read_table(text, dialect, own.values())
    blank = pa.array([""] * table.rows, pa.string())
    return {name: strings(table.columns[own[name]]) if name in own else blank for name in _COLUMNS}, table


def _header_name(name: str, header: tuple[str, ...]) -> str:
    return next((own for own in header if own.strip().lower() in (name, _OLD.get(name, name))), "")


def _nodes(ledger: Ledger, allocated: Any) -> Any:
    """Return interval sets as host lists: 5 is n5, 0-3 7 is n[0-3,7]."""
    good: Bools = bools(pc.match_substring_regex(allocated, _INTERVALS))
    bad = ~good & ~bools(pc.equal(allocated, ""))
    ledger.repair(bad, "allocated resources cannot be read", "Left empty; the form is 0-3 7", allocated)
    single = bools(pc.match_substring_regex(allocated, r"^\d+$"))
    listed = pc.replace_substring(allocated, " ", ",")
    bracketed = pc.binary_join_element_wise("n[", listed, "]", "")
    plain = pc.binary_join_element_wise("n", listed, "")
    return pc.if_else(pa.array(good), pc.if_else(pa.array(single), plain, bracketed), "")


# ---- signs -----------------------------------------------------------------------------------------


def _signs_of_workload(head: Head) -> Signs | None:
    if head.json_start != "{":
        return None
    by_job = head.has_keys(("jobs", "subtime", "res", "profile"))
    return Signs(by_job, 4) if by_job >= 2 else Signs(head.has_keys(("nb_res", "profiles")), 2)


def _signs_of_csv(head: Head) -> Signs | None:
    shared = ("submission_time", "execution_time", "turnaround_time", "stretch", "consumed_energy")
    either = (("requested_number_of_resources", "requested_number_of_processors"),
              ("allocated_resources", "allocated_processors"))  # fmt: skip
    found = sum(name in head.columns for name in shared) + sum(bool(head.columns & set(names)) for names in either)
    return Signs(found, len(shared) + len(either))


WORKLOAD = TraceFormat(
    "batsim",
    "Batsim workload",
    _signs_of_workload,
    read_workload,
    source="batsim.readthedocs.io, Workload",
)
JOBS_CSV = TraceFormat(
    "batsim-csv",
    "Batsim or OAR jobs (CSV)",
    _signs_of_csv,
    read_jobs_csv,
    choices=("cancelled",),
    source="batsim.readthedocs.io, Jobs",
)
