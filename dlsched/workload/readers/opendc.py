"""OpenDC workload traces: tasks.parquet, its older forms, and the files beside it that hold no jobs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from dlsched.domain.errors import InputError
from dlsched.workload.readers.canonical import Draft, number, optional, required
from dlsched.workload.readers.convert import Read, numbers, timestamps
from dlsched.workload.readers.formats import Head, Signs, TraceFormat, of_json
from dlsched.workload.readers.mapping import normal_name
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.source import TraceText
from dlsched.workload.readers.table import parquet_columns, parquet_table

EPOCH_FROM_S = 1e8
MB = 1e6 / 2**30
NAMES = {
    "submission_time": ("submission_time", "start_time"),
    "end_time": ("stop_time", "end_time"),
    "duration": ("duration",),
    "cpu_count": ("cpu_count", "max_cores"),
    "cpu_capacity": ("cpu_capacity",),
    "mem_capacity": ("mem_capacity", "required_memory"),
    "gpu_count": ("gpu_count",),
    "id": ("id",),
}
"""What a column means -> its normal name in tasks.parquet (today), then in meta.parquet (before 2.4)."""
SOURCE = "opendc.org, documentation: Input, Workload; before version 2.4: Traces"


def read_opendc(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of an OpenDC tasks or meta file: one worker a task, as a task runs on one host.

    Times are dates, or milliseconds since 1970; memory is in MB.
    """
    if not text.is_parquet:
        raise InputError(f"OpenDC trace {text.name}", "it is not a Parquet file", "Give tasks.parquet")
    by_name = {normal_name(name): name for name in parquet_columns(text)}
    found = {key: by_name[n] for key, names in NAMES.items() if (n := next((n for n in names if n in by_name), ""))}
    missing = [key for key in ("id", "submission_time", "cpu_count") if key not in found]
    missing += [] if {"duration", "end_time"} & found.keys() else ["duration"]
    if missing:
        raise InputError(f"OpenDC trace {text.name}", f"missing columns: {', '.join(missing)}", "Give tasks.parquet")
    table = parquet_table(text, found.values())
    ledger, column = table.ledger(found["id"]), {key: table.columns[name] for key, name in found.items()}
    submit_s = required(ledger, _instants(column["submission_time"]), "submission time")
    if "duration" in column:
        run_s = required(ledger, _spans(column["duration"]), "duration")
    else:
        run_s = required(ledger, _instants(column["end_time"]), "stop time") - submit_s
    gpus = number(ledger, column["gpu_count"], "GPU count") if "gpu_count" in column else np.zeros(table.rows)
    floats = {"cpus_per_worker": number(ledger, column["cpu_count"], "CPU count")}
    if "mem_capacity" in column:
        floats["mem_gib_per_worker"] = optional(ledger, numbers(column["mem_capacity"]), "memory") * MB
    if "cpu_capacity" in column:
        clock = numbers(column["cpu_capacity"]).values > 0
        ledger.not_modelled(clock, "task states a clock rate (cpu_capacity)", "Only its number of cores counts")
    return Draft(
        ledger, submit_s, run_s, np.ones(table.rows), gpus,
        texts={"job_id": column["id"]},
        floats=floats,
        absolute=bool(np.isfinite(submit_s).any() and np.nanmin(submit_s) >= EPOCH_FROM_S),
        meta={"time_zone": "UTC"},
        assumptions=["Each task is one worker, because OpenDC runs a task on one host",
                     "The trace has no start times: it says when tasks were submitted and how long they ran"],
    )  # fmt: skip


def _instants(column: Any) -> Read:
    """Return dates, or milliseconds since 1970, as seconds."""
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        return timestamps(column)
    return _spans(column)


def _spans(column: Any) -> Read:
    """Return milliseconds (plain numbers), or a duration type, as seconds."""
    read = numbers(column)
    return read if pa.types.is_duration(column.type) else Read(read.values / 1000, read.missing, read.bad)


def _signs(head: Head) -> Signs | None:
    """A task has an id, a submission, an end or a duration, and cores; and a memory or clock rate by OpenDC's names."""
    if not head.is_parquet or "cpu_usage" in head.columns:
        return None
    signs = (
        NAMES["id"], NAMES["submission_time"], NAMES["cpu_count"], (*NAMES["duration"], *NAMES["end_time"]),
        (*NAMES["mem_capacity"], *NAMES["cpu_capacity"]),
    )  # fmt: skip
    return Signs(len(signs), len(signs)) if all(head.columns & set(names) for names in signs) else None


def _is_fragments(head: Head) -> Signs | None:
    """Samples of usage: the id and duration of a task without its submission."""
    return Signs(3, 3) if head.is_parquet and {"id", "duration", "cpu_usage"} <= head.columns else None


def _is_other(head: Head) -> Signs | None:
    """Results count by timestamp; failures and carbon intensity have columns of their own."""
    results = "timestamp" in head.columns and head.columns & {"host_id", "server_id", "task_id", "hosts_up"}
    others = head.columns & {"carbon_intensity", "failure_interval"}
    return Signs(3, 3) if head.is_parquet and (results or others) else None


OPENDC = TraceFormat("opendc", "OpenDC tasks", _signs, read_opendc, source=SOURCE, reads_parquet=True)
OPENDC_FRAGMENTS = TraceFormat(
    "opendc-fragments",
    "OpenDC fragments",
    _is_fragments,
    why="it is an OpenDC fragments file: samples of what tasks used, not the tasks",
    do="Give tasks.parquet (meta.parquet before version 2.4), which is beside it",
    source=SOURCE,
)
OPENDC_OTHERS = TraceFormat(
    "opendc-others",
    "OpenDC table without tasks",
    _is_other,
    why="it is an OpenDC table of results, failures or carbon intensity, not the tasks",
    do="Give tasks.parquet (meta.parquet before version 2.4)",
    source=SOURCE,
)
OPENDC_EXPERIMENT = TraceFormat(
    "opendc-experiment",
    "OpenDC experiment",
    of_json("{", "topologies", "workloads", "pathToFile"),
    why="it is an OpenDC experiment, which names the files of tasks and hosts",
    do="Give the tasks.parquet that it names",
    source="opendc.org, documentation: Input, Experiment",
)
OPENDC_TOPOLOGY = TraceFormat(
    "opendc-topology",
    "OpenDC topology",
    of_json("{", "clusters", "hosts", "cpu", "coreCount", "coreSpeed"),
    why="it is an OpenDC topology, which describes hosts, not jobs",
    do="Give tasks.parquet for the jobs; enter the hosts on the Cluster page",
    source="opendc.org, documentation: Input, Topology",
)
