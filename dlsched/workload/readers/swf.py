"""Standard Workload Format 2.2: 18 numbers a line, -1 = unknown, header lines start with ';'."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats
from dlsched.workload.cluster_from_log import ClusterFound, most_at_once
from dlsched.workload.cluster_from_log.found import MOST_GPUS, MOST_NODES
from dlsched.workload.import_report import Bools, Ledger
from dlsched.workload.readers.canonical import Draft, iso_time, number, optional
from dlsched.workload.readers.convert import from_python, numbers, split_gpus, strings
from dlsched.workload.readers.formats import Head, Signs, TraceFormat
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.source import TraceText
from dlsched.workload.readers.table import Dialect, Table, read_table
from dlsched.workload.readers.waiting import NEVER_STARTED_RULE

FIELDS = (
    "job", "submit", "wait", "run", "processors", "cpu_time", "used_memory", "requested_processors",
    "requested_time", "requested_memory", "status", "user", "group", "executable", "queue", "partition",
    "preceding_job", "think_time",
)  # fmt: skip
NUMBERS = tuple(f for f in FIELDS if f not in {"cpu_time", "used_memory", "executable", "think_time"})
HOSTS = "hosts"
"""What some logs add in braces after the 18th field: the nodes of the job, {node1,node2}."""
STATUS: dict[float, str] = {0: "failed", 1: "completed", 2: "partial", 3: "completed", 4: "failed", 5: "cancelled"}
PARTIAL = (2, 3, 4)
CANCELLED = 5
KIB_PER_GIB = 2.0**20
_HOSTS = re.compile(rb"\{([^{}]*)\}")
_NUMBER = re.compile(r"-?\d+(\.\d*)?")
_HEADER = re.compile(rb"^[ \t]*;[ \t]*([A-Za-z]+)[ \t]*:[ \t]*([^\r\n]*)", re.MULTILINE)


def read_swf(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of an SWF log.

    Processors are cores, not GPUs: ``processors`` says whether they stand for GPUs or jobs have none,
    ``gpus_per_processor`` and ``cores_per_gpu`` for how many; by default one processor is one GPU, which is reported
    as an assumption. A job without GPUs has a worker of one core per processor. Partial records (status 2 to 4) are not
    counted beside their summary line; without one they are joined.
    """
    header = header_of(text.data)
    table = _table(text)
    ledger, columns = table.ledger("job"), table.columns
    value = {name: _minus_one_as_nan(optional(ledger, numbers(columns[name]), name, columns[name]))
             for name in NUMBERS if name not in {"submit", "run"}}  # fmt: skip
    submit_s, run_s = number(ledger, columns["submit"], "submit time"), number(ledger, columns["run"], "run time")
    run_s = _join_partial(ledger, value, np.where(run_s == -1, np.nan, run_s))
    left_after_s = _left_after_s(ledger, value, run_s, options)
    left = ~np.isnan(left_after_s)
    run_s = np.where(left, np.fmin(value["requested_time"], left_after_s), run_s)
    ledger.drop(np.isnan(run_s), "run time is -1 (unknown)", "Dropped: the run time is unknown", unreadable=False)
    processors = _processors(ledger, value)
    if options.processors == "cpus":
        workers, per_worker = np.ceil(processors), np.zeros(len(processors))
    else:
        workers, per_worker = split_gpus(processors * _gpus_per_processor(value["partition"], options))
    ledger.not_modelled(value["preceding_job"] > 0, "waits for a preceding job (fields 17, 18)",
                        "Dependencies and think times are not modelled", value["preceding_job"])  # fmt: skip
    start_s = submit_s + np.where((value["wait"] >= 0) & ~left, value["wait"], np.nan)
    end_s = np.where(left, submit_s + left_after_s, start_s + run_s)
    names_hosts = bool(pc.any(pc.not_equal(columns[HOSTS], "")).as_py())
    held = [start_s, end_s, np.where(ledger.alive, processors, np.nan)]
    used = {}
    for name in np.unique(value["partition"][ledger.alive]).tolist():
        start, end, width = (values[value["partition"] == name] for values in held)
        used[name] = max(most_at_once(start, end, width), float(np.nan_to_num(width).max(initial=0.0)))
    return Draft(
        ledger, submit_s, run_s, workers, per_worker,
        texts={"job_id": strings(columns["job"]), **_names(value), "recorded_nodes": columns[HOSTS],
               "recorded_status": from_python([STATUS.get(code, "unknown") for code in value["status"].tolist()])},
        floats=_floats(value, processors, workers, options)
        | {"recorded_start_s": start_s, "recorded_end_s": end_s, "cancel_after_s": left_after_s},
        meta=_meta(header), assumptions=_assumptions(options, value),
        cluster=None if names_hosts else _cluster(header, options, most_at_once(*held), used),
    )  # fmt: skip


def header_of(data: bytes) -> dict[str, str]:
    """Return the "; Key: value" lines at the head of a log, the first of each key."""
    header: dict[str, str] = {}
    for key, value in _HEADER.findall(data[: 1 << 16]):
        header.setdefault(key.decode("ascii"), value.decode("utf-8", "replace").strip()[:200])
    return header


# ---- parsing -------------------------------------------------------------------------------------


def _table(text: TraceText) -> Table:
    """Return the table of the data lines; comments become blank lines, so that line numbers stay true."""
    plain = bytearray()
    for line in io.BytesIO(text.data):
        fields = line.split(None, len(FIELDS))
        if fields and not fields[0].startswith(b";"):
            extension = fields[len(FIELDS)] if len(fields) > len(FIELDS) else b""
            hosts = _HOSTS.match(extension)
            names = dict.fromkeys(hosts[1].replace(b" ", b"").split(b",")) if hosts else ()
            plain += b" ".join([*fields[: len(FIELDS)], b",".join(names)])
        plain += b"\n"
    dialect = Dialect(" ", (*FIELDS, HOSTS), 0, 0, (), quoted=False)
    table = read_table(TraceText(bytes(plain), text.name), dialect, (*NUMBERS, HOSTS))
    if not table.rows and not table.ragged:
        raise InputError(f"SWF log {text.name}", "it has only comments and no jobs", "Export it again")
    return table


def _minus_one_as_nan(values: Floats) -> Floats:
    return np.where(values == -1, np.nan, values)


def _join_partial(ledger: Ledger, value: dict[str, Floats], run_s: Floats) -> Floats:
    """Return run times with partial records dropped beside a summary line, or joined into their first record."""
    partial = np.isin(value["status"], PARTIAL) & np.isfinite(value["job"]) & ledger.alive
    if not partial.any():
        return run_s
    summarised = np.isin(value["job"], value["job"][~partial & ledger.alive])
    rule = "Dropped: the job's summary line has its total run time"
    ledger.drop(partial & summarised, "partial record of a job", rule, value["job"], unreadable=False)
    loose = np.flatnonzero(partial & ~summarised)
    if not loose.size:
        return run_s
    group, _ = pd.factorize(value["job"][loose])
    total = np.bincount(group, np.nan_to_num(run_s[loose]))
    _, first = np.unique(group, return_index=True)
    joined = run_s.copy()
    joined[loose[first]] = total
    rest: Bools = np.zeros(len(run_s), dtype=bool)
    rest[np.delete(loose, first)] = True
    ledger.drop(rest, "partial record of a job", "Merged with the job's first record", value["job"], unreadable=False)
    return joined


def _left_after_s(ledger: Ledger, value: dict[str, Floats], run_s: Floats, options: ReadOptions) -> Floats:
    """Return the wait of jobs that were cancelled before they started and are kept, NaN of others; drop the rest."""
    cancelled = value["status"] == CANCELLED
    never: Bools = cancelled & ~(run_s > 0)
    kept = never & (value["wait"] > 0) & (options.never_started == "keep")
    ledger.drop(never & ~kept, "cancelled before it started", "Dropped: it never ran", unreadable=False)
    if options.cancelled == "drop":
        ledger.drop(cancelled, "job was cancelled", "Dropped as asked: cancelled = drop", unreadable=False)
    ledger.flag(kept, "cancelled before it started", NEVER_STARTED_RULE)
    return np.where(kept, value["wait"], np.nan)


def _processors(ledger: Ledger, value: dict[str, Floats]) -> Floats:
    """Return allocated processors, or the requested ones where none are recorded."""
    allocated, requested = value["processors"], value["requested_processors"]
    use_request = ~(allocated > 0) & (requested > 0)
    ledger.repair(use_request, "no allocated processors", "The requested number is used", requested)
    processors = np.where(use_request, requested, allocated)
    ledger.drop(~(processors > 0), "no number of processors", "Dropped: a job needs it", unreadable=False)
    return processors


def _gpus_per_processor(partition: Floats, options: ReadOptions) -> Floats:
    factor = np.full(len(partition), options.gpus_per_processor)
    for name, cores in options.cores_per_gpu.items():
        if not name.lstrip("-").isdigit() or not cores > 0:
            what = f"cores_per_gpu, partition {name!r}"
            raise InputError(what, f"needs a partition number and a count above 0, got {cores:g}", "Correct it")
        factor[partition == float(name)] = 1.0 / cores
    return factor


# ---- what goes with the jobs -----------------------------------------------------------------------


def _names(value: dict[str, Floats]) -> dict[str, Any]:
    return {
        "user": _label(value["user"], "user"),
        "group": _label(value["group"], "group"),
        "job_class": _label(value["queue"], "queue"),
        "partition": _label(value["partition"], ""),
    }


def _label(values: Floats, word: str) -> Any:
    """Return 'user 7' for 7, nothing for unknown."""
    whole = np.isfinite(values) & (np.abs(values) < 2**53)
    digits = pc.cast(pa.array(np.where(whole, values, 0).astype(np.int64)), pa.string())
    text = pc.binary_join_element_wise(word, digits, " ") if word else digits
    return pc.if_else(pa.array(whole), text, "")


def _floats(value: dict[str, Floats], processors: Floats, workers: Floats, options: ReadOptions) -> dict[str, Floats]:
    """Return time limits, memory per worker from the requested KB per processor where any job states it, and cores."""
    kib, limit_s = value["requested_memory"], value["requested_time"]
    floats = {"limit_s": limit_s} if (limit_s > 0).any() else {}
    each = np.divide(processors, workers, out=np.full(len(workers), np.nan), where=workers > 0)
    if options.processors == "cpus":
        floats["cpus_per_worker"] = each
    if not (kib > 0).any():
        return floats
    return floats | {"mem_gib_per_worker": np.where(kib > 0, kib, 0.0) * each / KIB_PER_GIB}


def _meta(header: dict[str, str]) -> dict[str, str]:
    meta = {
        key: header[name] for key, name in (("computer", "Computer"), ("time_zone", "TimeZoneString")) if name in header
    }
    start = header.get("UnixStartTime", "").split(" ")[0]
    if start.isdigit() and len(start) < 12 and int(start) > 0:
        meta["time_zero"] = iso_time(int(start)) + "Z"
    return meta


def _assumptions(options: ReadOptions, value: dict[str, Floats]) -> list[str]:
    if options.processors == "cpus":
        notes = ["Each processor counted as one CPU core of a job without GPUs"]
    elif options.cores_per_gpu:
        listed = ", ".join(f"partition {name}: {cores:g}" for name, cores in options.cores_per_gpu.items())
        notes = [f"Processors converted to GPUs by cores per GPU ({listed}); others x {options.gpus_per_processor:g}"]
    elif options.gpus_per_processor != 1:
        notes = [f"One processor counted as {options.gpus_per_processor:g} GPU"]
    else:
        notes = ["Each processor counted as one GPU, as SWF logs record only cores"]
    return notes


def _cluster(
    header: dict[str, str], options: ReadOptions, used: float, of_partition: dict[float, float]
) -> ClusterFound | None:
    """Return MaxNodes nodes that share MaxProcs as evenly as they can, where the header states them.

    ``used``: the most processors that jobs held at once, in all and by partition; equal nodes are split among several
    partitions by it where all have room. None if processors count as GPUs by partition, or do not become whole GPUs.
    """
    processors = _count(header, "MaxProcs")
    nodes = _count(header, "MaxNodes") or processors
    if not nodes or processors < nodes or nodes > MOST_NODES or options.cores_per_gpu:
        return None
    is_cpus, factor = options.processors == "cpus", options.gpus_per_processor
    each, more = divmod(processors, nodes)
    pools = []
    for size, count in ((each, nodes - more), (each + 1, more)):
        gpus = 0.0 if is_cpus else size * factor
        if gpus != int(gpus) or gpus > MOST_GPUS:
            return None
        vm = VmType(name=f"{size}-processor node", gpus=int(gpus), cpus=size if is_cpus else None)
        pools += [Pool(vm=vm, count=count)] if count else []
    over = f"Up to {used:,.0f} processors were used at once, more than the {processors:,} of the header"
    notes = [over] if used > processors else []
    origin = {"nodes": "MaxNodes", "processors": "MaxProcs, spread evenly"}
    counts = {name: int(np.ceil(most / each)) for name, most in of_partition.items() if most > 0}
    if len(counts) > 1 and not more and sum(counts.values()) <= nodes and not np.isnan(list(of_partition)).any():
        pools = [pools[0].model_copy(update={"count": n, "partition": f"{int(name)}"}) for name, n in counts.items()]
        origin["partitions"] = "most processors that jobs of each held at once"
        if idle := nodes - sum(counts.values()):
            notes.append(f"Nodes of the header that no partition ever needed are left out: {idle:,}")
    return ClusterFound(Cluster(pools=tuple(pools)), "the header of the log", origin, tuple(notes))


def _count(header: dict[str, str], key: str) -> int:
    """Return a count of the header, 0 where it is not stated."""
    digits = header.get(key, "").split(" ")[0]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else 0


# ---- signs -----------------------------------------------------------------------------------------


def _signs(head: Head) -> Signs | None:
    data = [line.split() for line in head.lines if not line.lstrip().startswith(";")][:50]
    numeric = [row for row in data if len(row) >= 18 and all(_NUMBER.fullmatch(cell) for cell in row[:18])]
    if not numeric or len(numeric) < 0.5 * len(data):
        return None
    header_keys = {"Version", "Computer", "MaxJobs", "MaxProcs", "MaxNodes", "UnixStartTime"}
    comments = any(line.lstrip().startswith(";") for line in head.lines)
    return Signs(2 + bool(header_keys & set(header_of(head.data))), 2 + comments)


SWF = TraceFormat(
    "swf",
    "Standard Workload Format",
    _signs,
    read_swf,
    choices=("cancelled", "never_started", "processors", "gpus_per_processor"),
    source="Parallel Workloads Archive, SWF 2.2",
)
