"""Slurm accounting export, ``sacct -P`` or ``-p``. Times are local to the host unless exported with TZ=UTC."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats, Texts
from dlsched.workload.import_report import Ledger
from dlsched.workload.readers.canonical import Draft, optional, required
from dlsched.workload.readers.convert import (
    Read,
    bools,
    clock_spans,
    from_python,
    numbers,
    split_gpus,
    strings,
    texts,
    timestamps,
    words,
)
from dlsched.workload.readers.formats import Head, Signs, TraceFormat
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.source import TraceText
from dlsched.workload.readers.table import Dialect, Table, read_table, sniff

STATES = (
    "boot_fail", "cancelled", "completed", "deadline", "failed", "node_fail", "out_of_memory", "pending",
    "preempted", "running", "requeued", "resizing", "revoked", "suspended", "timeout",
)  # fmt: skip
WANTED = (
    "jobid", "jobidraw", "jobname", "user", "account", "group", "partition", "qos", "state", "submit", "eligible",
    "start", "end", "elapsed", "elapsedraw", "nnodes", "ncpus", "reqtres", "alloctres", "suspended",
)  # fmt: skip
EXPORT = "JobID,JobIDRaw,User,Account,Partition,State,Submit,Start,End,ElapsedRaw,ReqTRES,AllocTRES"
JOINER = "\x1f"
_TRES_MEMORY = {"K": 2.0**-20, "M": 2.0**-10, "G": 1.0, "T": 1024.0, "P": 2.0**20, "": 2.0**-10}
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)[nc]?")


def read_sacct(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of an sacct export; header names are matched whatever their case.

    Steps and never-started jobs are dropped and counted. GPUs come from AllocTRES, from ReqTRES where nothing was
    allocated. A GPU type that was asked for is a constraint; one that was merely given is not.
    """
    dialect = sniff(text.data, delimiter=delimiter_of(text.data), quoted=False)
    dialect = Dialect(dialect.delimiter, tuple(n.lower() for n in dialect.header), dialect.offset,
                      dialect.header_line, dialect.sample, quoted=False)  # fmt: skip
    _check_header(dialect, text.name)
    table = _whole_lines(text, dialect)
    ledger, raw = table.ledger("jobid"), table.columns
    blank = from_python([""] * table.rows)
    column = {name: raw.get(name, blank) for name in WANTED}
    mended = bools(pc.match_substring(column["jobname"], JOINER))
    ledger.repair(
        mended, "delimiter inside JobName", "The name was reassembled from both ends of the line", column["jobid"]
    )
    state = _drop_never_started(ledger, column, options)
    asked_s = required(ledger, timestamps(column["submit" if "submit" in raw else "eligible"]), "submit time",
                       column["submit"])  # fmt: skip
    held_s = np.fmax(timestamps(column["eligible"]).values - asked_s, 0.0)
    submit_s = asked_s + (np.nan_to_num(held_s) if options.arrival == "eligible" else 0.0)
    start_s, end_s = (optional(ledger, timestamps(column[c]), c, column[c]) for c in ("start", "end"))
    run_s = _run_s(ledger, column, start_s, end_s)
    never = (np.isnan(start_s) & (state != "running")) | (np.isnan(run_s) & np.isnan(end_s))
    ledger.drop(never, "job never started", "Dropped: it has no run time", column["jobid"], unreadable=False)
    workers, per_worker, floats, types = _demand(ledger, column)
    _flag_peculiar(ledger, column, state)
    return Draft(
        ledger, submit_s, run_s, workers, per_worker,
        texts={"job_id": strings(column["jobid"] if "jobid" in raw else column["jobidraw"]),
               "user": column["user"], "group": column["account"] if "account" in raw else column["group"],
               "job_class": column["qos"], "partition": column["partition"], "gpu_types": from_python(types),
               "recorded_status": from_python(state)},
        floats=floats | {"recorded_start_s": start_s, "recorded_end_s": end_s},
        absolute=True,
        meta={"time_zone": "time zone of the sacct host (UTC if exported with TZ=UTC)"},
        assumptions=_assumptions(options, state),
    )  # fmt: skip


# ---- lines and header ----------------------------------------------------------------------------


def delimiter_of(data: bytes) -> str:
    """Return the delimiter after the first word of the header: '|' unless --delimiter changed it."""
    first = data[:4096].lstrip().split(b"\n")[0].decode("utf-8", "replace")
    found = re.match(r"\s*\w+([^\w\s]|\t)", first)
    return found[1] if found and ord(found[1]) < 128 and found[1] not in '"\r\n' else "|"


def _check_header(dialect: Dialect, name: str) -> None:
    have, what = set(dialect.header), f"sacct export {name}"
    if "reqgres" in have and not {"alloctres", "reqtres"} & have:
        raise InputError(what, "ReqGRES is no longer filled by Slurm", "Export AllocTRES and ReqTRES instead")
    for wanted in (("jobid", "jobidraw"), ("submit", "eligible"), ("alloctres", "reqtres"), ("state",),
                   ("elapsedraw", "elapsed", "end")):  # fmt: skip
        if not have & set(wanted):
            names = " or ".join(wanted)
            why = f"the column {names} is missing; the file has: {', '.join(dialect.header[:25])}"
            raise InputError(what, why, f"Export with sacct -P -o {EXPORT}")


def _whole_lines(text: TraceText, dialect: Dialect) -> Table:
    """Return the table; lines with a delimiter inside JobName are put together from both ends."""
    table = read_table(text, dialect, WANTED)
    if not table.ragged or "jobname" not in dialect.header:
        return table
    at, width, cut = dialect.header.index("jobname"), len(dialect.header), dialect.delimiter
    body = text.data[dialect.offset :].decode("utf-8", "replace").split("\n")
    for number, line in enumerate(body):
        extra = line.count(cut) + 1 - width
        if extra > 0:
            parts = line.split(cut)
            parts[at : at + extra + 1] = [JOINER.join(parts[at : at + extra + 1])]
            body[number] = cut.join(parts)
    mended = text.data[: dialect.offset] + "\n".join(body).encode()
    return read_table(TraceText(mended, text.name), dialect, WANTED)


# ---- states and times ----------------------------------------------------------------------------


def _state_of(raw: str) -> str:
    """Return 'cancelled' for 'cancelled by 1234', 'completed' for the cut-off 'completi+'."""
    word = raw.split(" ")[0].rstrip("+")
    return next((state for state in STATES if word and state.startswith(word)), "unknown")


def _drop_never_started(ledger: Ledger, column: dict[str, Any], options: ReadOptions) -> Texts:
    """Drop steps, pending jobs and pending array rows; return the state of each row."""
    ids = strings(column["jobid"])
    raw = words(column["state"])
    known = {value: _state_of(value) for value in set(raw)}
    state = np.array([known[value] for value in raw], dtype=object)
    rule = "Dropped: the job's own row has the total time"
    ledger.drop(bools(pc.match_substring(ids, ".")), "job step", rule, ids, unreadable=False)
    array = bools(pc.match_substring(ids, "["))
    rule = "Dropped: these array tasks have not started; one row stands for several jobs"
    ledger.drop(array, "pending part of a job array", rule, ids, unreadable=False)
    ledger.drop(state == "pending", "job was pending", "Dropped: it never ran", ids, unreadable=False)
    if options.cancelled == "drop":
        ledger.drop(state == "cancelled", "job was cancelled", "Dropped as asked: cancelled = drop", ids,
                    unreadable=False)  # fmt: skip
    running = state == "running"
    if options.censored == "drop":
        ledger.drop(running, "job was running", "Dropped as asked: censored = drop", ids, unreadable=False)
    else:
        rule = "Kept with the run time observed so far, which is a lower bound"
        ledger.flag(running, "job was still running at export", rule, ids)
    return state


def _run_s(ledger: Ledger, column: dict[str, Any], start_s: Floats, end_s: Floats) -> Floats:
    """Return ElapsedRaw, else Elapsed, else end - start; seconds."""
    raw, clock = numbers(column["elapsedraw"]), clock_spans(column["elapsed"])
    bad = (raw.bad | clock.bad) & np.isnan(raw.values) & np.isnan(clock.values)
    span = Read(np.where(np.isnan(raw.values), clock.values, raw.values), raw.missing & clock.missing, bad)
    ledger.drop(
        span.bad, "elapsed time cannot be read", "Dropped: must be seconds or [DD-[HH:]]MM:SS", column["elapsedraw"]
    )
    return np.where(np.isnan(span.values), end_s - start_s, span.values)


def _flag_peculiar(ledger: Ledger, column: dict[str, Any], state: Texts) -> None:
    ids = strings(column["jobid"])
    het = bools(pc.match_substring(ids, "+"))
    ledger.not_modelled(het, "part of a heterogeneous job", "Each part is treated as a separate job", ids)
    suspended = (np.nan_to_num(clock_spans(column["suspended"]).values) > 0) | (state == "suspended")
    ledger.not_modelled(suspended, "job was suspended", "Suspended time counts as run time", ids)
    held = timestamps(column["eligible"]).values > timestamps(column["submit"]).values
    rule = "Dependencies are not modelled; with arrival = eligible, jobs arrive when they become eligible"
    ledger.not_modelled(held, "held back by a dependency or hold (Eligible after Submit)", rule, ids)


def _assumptions(options: ReadOptions, state: Texts) -> list[str]:
    notes = []
    if options.arrival == "eligible":
        notes.append("Jobs arrive when dependencies and holds let them run (Eligible), not when they are submitted")
    if options.cancelled == "keep" and (state == "cancelled").any():
        notes.append("Cancelled jobs keep their recorded run time")
    if options.censored == "keep" and (state == "running").any():
        notes.append("Jobs still running at export keep the run time observed so far")
    return notes


# ---- demand ----------------------------------------------------------------------------------------


def parse_tres(text: str) -> tuple[float, float, float, str]:
    """Return (GPUs, CPUs, GiB, GPU types 'a|b') of a TRES string; 0 where it says nothing.

    The untyped ``gres/gpu`` is the total; typed entries are added up only without it.
    """
    total, typed, cpus, gib = None, dict[str, float](), 0.0, 0.0
    for part in text.split(","):
        key, _, value = part.partition("=")
        quantity = _QUANTITY.fullmatch(value.strip())
        if not quantity:
            continue
        amount, name = float(quantity[1][:15]), key.strip().lower()
        if name == "gres/gpu":
            total = amount
        elif name.startswith("gres/gpu:"):
            typed[key.strip()[len("gres/gpu:") :]] = amount
        elif name == "cpu":
            cpus = amount
        elif name == "mem":
            gib = amount * _TRES_MEMORY[quantity[2]]
    return sum(typed.values()) if total is None else total, cpus, gib, "|".join(sorted(typed))


def _demand(ledger: Ledger, column: dict[str, Any]) -> tuple[Floats, Floats, dict[str, Floats], list[str]]:
    """Return workers, GPUs per worker, CPUs and memory per worker, and the GPU types asked for."""
    given, requested = _parsed(column["alloctres"]), _parsed(column["reqtres"])
    blank = bools(pc.equal(strings(column["alloctres"]), ""))
    gpus, cpus, gib = (np.where(blank, requested[i], given[i]) for i in range(3))
    ncpus = np.nan_to_num(optional(ledger, numbers(column["ncpus"]), "NCPUS", column["ncpus"]))
    cpus = np.where(cpus > 0, cpus, ncpus)
    nodes = np.nan_to_num(numbers(column["nnodes"]).values, nan=1.0)
    workers, per_worker = split_gpus(gpus)
    workers = np.where(gpus == 0, np.maximum(1.0, nodes), workers)
    ledger.flag((given[3] != "") & (requested[3] == ""), "GPU type allocated but not requested",
                "Not a constraint: the job may run on any type", given[3])  # fmt: skip
    floats = {"cpus_per_worker": cpus / workers, "mem_gib_per_worker": gib / workers}
    return workers, per_worker, floats, list(requested[3])


def _parsed(column: Any) -> tuple[Floats, Floats, Floats, Texts]:
    """Return the four parts of each TRES string, parsing each distinct one once."""
    coded = pc.dictionary_encode(strings(column))
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    coded = coded.chunk(0) if isinstance(coded, pa.ChunkedArray) else coded
    parts = [parse_tres(text) for text in texts(coded.dictionary)] or [(0.0, 0.0, 0.0, "")]
    which = np.asarray(coded.indices)
    gpus, cpus, gib, types = zip(*parts, strict=True)
    return (np.array(gpus)[which], np.array(cpus)[which], np.array(gib)[which], np.array(types, dtype=object)[which])


# ---- signs -----------------------------------------------------------------------------------------


def _signs(head: Head) -> Signs | None:
    delimiter = delimiter_of(head.data)
    names = {part.strip().lower() for part in (head.lines or ("",))[0].split(delimiter)}
    signs = ({"jobid", "jobidraw"}, {"state"}, {"submit", "eligible"}, {"start", "end", "elapsed", "elapsedraw"},
             {"reqtres", "alloctres", "reqgres", "allocgres"})  # fmt: skip
    if not signs[0] & names or (delimiter != "|" and not signs[-1] & names):
        return None  # a table of another scheduler can share the rest
    return Signs(sum(bool(sign & names) for sign in signs), len(signs))


SACCT = TraceFormat(
    "sacct",
    "Slurm sacct export",
    _signs,
    read_sacct,
    choices=("cancelled", "censored", "arrival"),
    source="sacct(1)",
)
