"""Traces of the simulators Gavel (7 or 10 fields) and Shockwave (12 fields): tab-separated, without a header line.

A job trains for a number of steps. Shockwave's traces have its run time too; those of Gavel leave it to a table of
throughputs, which comes as a file of its own.
"""

from __future__ import annotations

import ast
import json
from typing import Any

import numpy as np
import pyarrow.compute as pc

from dlsched.domain.errors import InputError
from dlsched.domain.names import names_hint
from dlsched.domain.workload import Floats
from dlsched.workload.import_report import Ledger
from dlsched.workload.readers.canonical import Draft, number, optional
from dlsched.workload.readers.convert import from_python, numbers, strings, texts
from dlsched.workload.readers.formats import Head, NotJobs, Signs, TraceFormat
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.source import TraceText
from dlsched.workload.readers.table import Table, read_table, without_header

FIELDS = {
    7: ("job_type", "command", "steps_arg", "needs_data", "steps", "arrival_s", "gpus"),
    10: ("job_type", "command", "folder", "steps_arg", "needs_data", "steps", "gpus", "weight", "slo", "arrival_s"),
    12: ("job_type", "command", "folder", "steps_arg", "needs_data", "steps", "gpus", "mode", "weight", "slo",
         "duration_s", "arrival_s"),
}  # fmt: skip
GAVEL_LABEL, SHOCKWAVE_LABEL = "Gavel trace", "Shockwave trace"
Throughputs = dict[tuple[str, int], float]


def read_gavel(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of a Gavel trace: run time = total_steps / throughput of (job type, GPUs) on one GPU type.

    Raises
    ------
    InputError
        The throughputs are no such table; NotJobs when none are given, as the trace alone has no run times.
    """
    if options.throughputs is None:
        why = "it is a Gavel trace, which gives training steps and no run times"
        do = (
            "Give Gavel's table of throughputs, simulation_throughputs.json, with it (reading choice throughputs); run "
            "time is steps / throughput"
        )
        raise NotJobs(f"file {text.name}", why, do, GAVEL_LABEL, needs="throughputs")
    throughput = read_throughputs(options.throughputs, options.throughput_of)
    table = _table(text, (7, 10))
    ledger, column = table.ledger(), table.columns
    gpus = number(ledger, column["gpus"], "GPU count")
    steps = number(ledger, column["steps"], "number of steps")
    kinds = texts(strings(column["job_type"]))
    known = {key: throughput.get(key, np.nan) for key in set(zip(kinds, gpus, strict=True))}
    per_s = np.array([known.get(key, np.nan) for key in zip(kinds, gpus, strict=True)], dtype=np.float64)
    rule = f"Dropped: the throughputs of {options.throughput_of} lack its job type with so many GPUs"
    ledger.drop(~(per_s > 0), "throughput unknown", rule, column["job_type"])
    run_s = np.divide(steps, per_s, out=np.full(len(steps), np.nan), where=per_s > 0)
    draft = _draft(ledger, column, gpus, run_s)
    draft.assumptions.insert(0, f"Run time = training steps / throughput on {options.throughput_of} GPUs")
    return draft


def read_shockwave(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of a Shockwave trace, which gives run times in seconds; batch sizes that change are reported."""
    table = _table(text, (12,))
    ledger, column = table.ledger(), table.columns
    gpus = number(ledger, column["gpus"], "GPU count")
    dynamic = np.array([mode in ("accordion", "gns") for mode in texts(strings(column["mode"]))], dtype=bool)
    rule = "The recorded duration is used; it is that with the first batch size"
    ledger.not_modelled(dynamic, "batch size changes while training (accordion, gns)", rule, column["mode"])
    return _draft(ledger, column, gpus, number(ledger, column["duration_s"], "duration"))


def _table(text: TraceText, widths: tuple[int, ...]) -> Table:
    width = _width(Head(text.data))
    if width is None or width not in widths:
        why = f"its lines do not have the {' or '.join(map(str, widths))} fields, separated by tabs, of such a trace"
        raise InputError(f"file {text.name}", why, "Choose another format")
    return read_table(text, without_header(text.data, FIELDS[width], "\t"), FIELDS[width])


def _draft(ledger: Ledger, column: dict[str, Any], gpus: Floats, run_s: Floats) -> Draft:
    floats: dict[str, Floats] = {}
    assumptions = ["A job has as many workers of one GPU as its scale factor"]
    if "slo" in column:
        slo = optional(ledger, numbers(column["slo"]), "SLO", column["slo"])
        ledger.not_modelled(slo > 0, "has an SLO", "It is left out: enter due dates if you need them", column["slo"])
        weight = optional(ledger, numbers(column["weight"]), "priority weight", column["weight"])
        if len(np.unique(weight[np.isfinite(weight)])) > 1:
            floats["priority"] = weight
            assumptions.append("The priority weight is used as priority; higher values go first")
    kinds = strings(column["job_type"])
    submit_s = number(ledger, column["arrival_s"], "arrival time")
    ids = from_python([f"job-{place}" for place in range(len(gpus))])
    return Draft(
        ledger, submit_s, run_s, gpus, np.ones(len(gpus)),
        texts={"job_id": ids, "job_class": kinds, "model": pc.replace_substring_regex(kinds, r"\s*\(.*$", "")},
        floats=floats, assumptions=assumptions,
    )  # fmt: skip


def read_throughputs(content: bytes, gpu_type: str) -> Throughputs:
    """Return steps per second by (job type, GPUs) of one GPU type, jobs alone, from Gavel's JSON table.

    Raises
    ------
    InputError
        No such table, or a GPU type that it lacks.
    """
    what = "throughputs"
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise InputError(what, "the file is not valid JSON", "Give Gavel's simulation_throughputs.json") from None
    if not isinstance(document, dict) or not all(isinstance(part, dict) for part in document.values()):
        raise InputError(what, "the file has no GPU types with job types in them", "Give simulation_throughputs.json")
    if gpu_type not in document:
        raise InputError(f"{what}, GPU type {gpu_type[:80]!r}", "no such GPU type", names_hint(gpu_type, document))
    found: Throughputs = {}
    for key, rates in document[gpu_type].items():
        job, alone = _job_of(key), rates.get("null") if isinstance(rates, dict) else None
        if job is not None and isinstance(alone, (int, float)) and 0 < alone < 1e12:
            found[job] = float(alone)
    if not found:
        raise InputError(f"{what}, GPU type {gpu_type}", "no job type has a throughput of its own", "Check the file")
    return found


def _job_of(key: str) -> tuple[str, int] | None:
    """Return ("A3C", 2) for "('A3C', 2)"."""
    try:
        job = ast.literal_eval(key) if len(key) < 200 else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    is_job = isinstance(job, tuple) and len(job) == 2 and isinstance(job[0], str) and isinstance(job[1], int)
    return job if is_job else None


# ---- signs -----------------------------------------------------------------------------------------


def _width(head: Head) -> int | None:
    """Return how many fields nearly all lines have, where steps, a flag and a count stand in their places."""
    rows = [line.split("\t") for line in head.lines[:50]]
    for width, names in FIELDS.items():
        place = {name: names.index(name) for name in ("steps_arg", "needs_data", "steps", "gpus")}
        suits = [
            len(row) == width
            and row[place["steps_arg"]].startswith("-")
            and row[place["needs_data"]].strip() in ("0", "1")
            and row[place["steps"]].strip().isdigit()
            and row[place["gpus"]].strip().isdigit()
            for row in rows
        ]
        if rows and sum(suits) >= 0.8 * len(rows):
            return width
    return None


def _gavel(head: Head) -> Signs | None:
    return Signs(5, 5) if _width(head) in (7, 10) else None


def _shockwave(head: Head) -> Signs | None:
    return Signs(5, 5) if _width(head) == 12 else None


GAVEL = TraceFormat(
    "gavel",
    GAVEL_LABEL,
    _gavel,
    read_gavel,
    choices=("throughputs", "throughput_of"),
    source="github.com/stanford-futuredata/gavel, scheduler/utils.py",
)
SHOCKWAVE = TraceFormat(
    "shockwave",
    SHOCKWAVE_LABEL,
    _shockwave,
    read_shockwave,
    source="github.com/uw-mad-dash/shockwave, scheduler/utils.py",
)
