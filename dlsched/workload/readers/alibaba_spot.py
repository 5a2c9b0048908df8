"""Alibaba spot GPU trace of 2026: jobs with high priority and spot jobs, and the node list as a cluster."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dlsched.domain.cluster import Cluster
from dlsched.workload.readers.canonical import Draft, number, optional
from dlsched.workload.readers.convert import from_python, numbers, strings, texts, words
from dlsched.workload.readers.formats import TraceFormat, with_columns
from dlsched.workload.readers.openb import cluster_of_machines, machine_counts
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.source import TraceText
from dlsched.workload.readers.table import need_columns, read_table, sniff

JOB_COLUMNS = (
    "job_name", "organization", "gpu_model", "cpu_request", "gpu_request", "worker_num", "submit_time", "duration",
    "job_type",
)  # fmt: skip
NODE_COLUMNS = ("gpu_model", "gpu_capacity_num", "cpu_num", "node_name")
PRIORITY = {"hp": 1.0, "spot": 0.0}
SOURCE = "github.com/alibaba/clusterdata, cluster-trace-v2026-spot-gpu"


def read_spot_jobs(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of job_info_df.csv: worker_num workers, requests are per worker; seconds from the first job.

    HP jobs get priority 1, spot jobs 0. A GPU model that a job asks for is a constraint.
    """
    dialect = sniff(text.data)
    need_columns(dialect.header, JOB_COLUMNS, f"Alibaba spot jobs {text.name}")
    table = read_table(text, dialect, JOB_COLUMNS)
    ledger, column = table.ledger("job_name"), table.columns
    kind = words(column["job_type"])
    priority = np.array([PRIORITY.get(name, np.nan) for name in kind])
    ledger.flag(np.isnan(priority), "job type is neither HP nor Spot", "No priority", column["job_type"])
    gpus = number(ledger, column["gpu_request"], "GPU count")
    models = strings(column["gpu_model"])
    has_gpus = pa.array(gpus > 0)
    return Draft(
        ledger,
        number(ledger, column["submit_time"], "submission time"),
        number(ledger, column["duration"], "duration"),
        number(ledger, column["worker_num"], "worker count"),
        gpus,
        texts={"job_id": column["job_name"], "group": column["organization"], "job_class": column["job_type"],
               "gpu_types": pc.if_else(has_gpus, _plain(models), from_python([""] * table.rows))},
        floats={"cpus_per_worker": optional(ledger, numbers(column["cpu_request"]), "CPU count",
                                            column["cpu_request"]), "priority": priority},
        assumptions=["HP jobs have priority 1 and spot jobs 0; that spot jobs are reclaimed is up to the policy",
                     "CPU and GPU requests are per worker",
                     "The trace has no start times, so recorded waits are unknown"],
    )  # fmt: skip


def _plain(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def read_spot_nodes(text: TraceText) -> Cluster:
    """Return the cluster of node_info_df.csv: one pool for each distinct (GPUs, model, CPUs); memory is not stated.

    Raises
    ------
    InputError
        Not a node list, or a row that is not a machine.
    """
    dialect, what = sniff(text.data), f"Alibaba spot node list {text.name}"
    need_columns(dialect.header, NODE_COLUMNS, what)
    columns = read_table(text, dialect, NODE_COLUMNS).columns
    gpus = machine_counts(numbers(columns["gpu_capacity_num"]), "gpu_capacity_num", what, gpus=True)
    cpus = machine_counts(numbers(columns["cpu_num"]), "cpu_num", what)
    return cluster_of_machines(what, gpus, texts(strings(columns["gpu_model"])), cpus, None)


SPOT_JOBS = TraceFormat(
    "alibaba-spot",
    "Alibaba spot GPU jobs (2026)",
    with_columns("job_name", "organization", "gpu_model", "cpu_request", "gpu_request", "worker_num", "job_type"),
    read_spot_jobs,
    source=SOURCE,
)
SPOT_NODES = TraceFormat(
    "alibaba-spot-nodes",
    "Alibaba spot GPU node list (2026)",
    with_columns(*NODE_COLUMNS),
    why="it is the node list of the Alibaba spot GPU trace (node_info_df.csv), which describes machines, not jobs",
    do="Give it as the cluster beside job_info_df.csv",
    source=SOURCE,
)
