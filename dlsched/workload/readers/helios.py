"""Helios cluster_log.csv. Local times without zone; a virtual cluster (vc) is an exclusive partition."""

from __future__ import annotations

import numpy as np

from dlsched.workload.readers.canonical import Draft, number, optional, required
from dlsched.workload.readers.convert import from_python, numbers, split_gpus, timestamps, words
from dlsched.workload.readers.formats import Head, Signs, TraceFormat, of_columns
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.source import TraceText
from dlsched.workload.readers.table import need_columns, read_table, sniff

_common = of_columns("gpu_num", "cpu_num", "node_num", "vc", "queue")
COLUMNS = (
    "job_id", "user", "vc", "gpu_num", "cpu_num", "node_num", "state", "submit_time", "start_time", "end_time",
    "duration", "queue",
)  # fmt: skip
NEEDED = ("job_id", "gpu_num", "state", "submit_time", "duration")


def read_helios(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of a Helios log: GPUs and CPUs are totals of the job; CPU jobs get one worker a node.

    CANCELLED jobs keep their run time as service by default: most were stopped by their user after useful work.
    """
    dialect = sniff(text.data)
    need_columns(dialect.header, NEEDED, f"Helios log {text.name}")
    table = read_table(text, dialect, COLUMNS)
    ledger, columns = table.ledger("job_id"), table.columns
    blank = from_python([""] * table.rows)
    column = {name: columns.get(name, blank) for name in COLUMNS}
    state = words(column["state"])
    submit_s = required(ledger, timestamps(column["submit_time"]), "submission time", column["submit_time"])
    run_s = number(ledger, column["duration"], "duration")
    gpus = number(ledger, column["gpu_num"], "GPU count")
    if options.cancelled == "drop":
        rule = "Dropped as asked: cancelled = drop"
        ledger.drop(state == "cancelled", "job was cancelled", rule, column["job_id"], unreadable=False)
    start_s, end_s = (optional(ledger, timestamps(column[c]), c, column[c]) for c in ("start_time", "end_time"))
    differs = np.abs(end_s - start_s - run_s) > 1.0
    ledger.flag(differs, "duration is not end - start", "The duration column is used", run_s)
    suspended = state == "suspended"
    ledger.not_modelled(suspended, "job was suspended", "Its duration is used as run time", column["job_id"])
    workers, per_worker = split_gpus(gpus)
    nodes = np.nan_to_num(numbers(column["node_num"]).values, nan=1.0)
    workers = np.where(gpus == 0, np.maximum(1.0, nodes), workers)
    cpus = optional(ledger, numbers(column["cpu_num"]), "CPU count", column["cpu_num"])
    return Draft(
        ledger, submit_s, run_s, workers, per_worker,
        texts={"job_id": column["job_id"], "user": column["user"], "group": column["vc"], "partition": column["vc"],
               "recorded_status": from_python(state)},
        floats={"cpus_per_worker": cpus / np.maximum(workers, 1), "recorded_start_s": start_s,
                "recorded_end_s": end_s},
        absolute=True,
        meta={"time_zone": "local time of the cluster; the file gives no time zone"},
        assumptions=["A virtual cluster (vc) is treated as a group, and as a partition if the cluster has one of that "
            "name"]
        + (["Cancelled jobs keep their recorded run time"] if (state == "cancelled").any()
           and options.cancelled == "keep" else []),
    )  # fmt: skip


def _signs(head: Head) -> Signs | None:
    """A virtual cluster (vc) is what only Helios has; Acme's logs have the other columns too."""
    return _common(head) if "vc" in head.columns else None


def _is_capacity_table(head: Head) -> Signs | None:
    header = [] if head.is_parquet else head.dialect.header
    return Signs(2, 2) if len(header) >= 3 and header[0] == "date" and header[-1] == "total" else None


HELIOS = TraceFormat(
    "helios",
    "Helios cluster log",
    _signs,
    read_helios,
    choices=("cancelled",),
    source="github.com/S-Lab-System-Group/HeliosData",
)
CAPACITY = TraceFormat(
    "helios-capacity",
    "Helios GPU capacity table",
    _is_capacity_table,
    why="it is the Helios table of GPUs per virtual cluster and day (cluster_gpu_number.csv), which has no jobs",
    do="Give cluster_log.csv here; enter the capacities on the Cluster page",
    source="github.com/S-Lab-System-Group/HeliosData",
)
