"""The columns of a workload: names, kinds, units and what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RESOURCES = ("gpus", "cpus", "mem_gib", "disk_gib")
GPU, CPU, MEM, DISK = range(4)
STEP_TERMS = ("batch_s", "step_s", "transfer_s", "worker_overhead_s", "server_overhead_s", "spread_s")
"""Columns of the parameter-server speed."""


@dataclass(frozen=True, slots=True)
class Column:
    """What one column of a workload holds; readers, forms, help pages and validation use this table."""

    name: str
    kind: Literal["text", "float", "int"]
    required: bool
    unit: str
    help: str


COLUMNS = (
    Column("job_id", "text", True, "", "Unique name of the job."),
    Column("submit_s", "float", True, "s", "Submission time, seconds from the trace's zero."),
    Column(
        "work",
        "float",
        True,
        "work",
        "Work to do; for a trace job its run time in seconds at the requested width.",
    ),
    Column("workers", "int", True, "workers", "Requested width: number of workers that start together."),
    Column(
        "gpus_per_worker",
        "float",
        True,
        "GPUs",
        "GPUs each worker holds; below 1 is a shared GPU, 0 a CPU job.",
    ),
    Column("cpus_per_worker", "float", False, "CPUs", "CPU cores each worker holds."),
    Column("mem_gib_per_worker", "float", False, "GiB", "Memory each worker holds."),
    Column("disk_gib_per_worker", "float", False, "GiB", "Disk each worker holds."),
    Column("servers", "int", False, "servers", "Parameter servers requested beside the workers; 0 = none."),
    Column("cpus_per_server", "float", False, "CPUs", "CPU cores each parameter server holds; it holds no GPU."),
    Column("mem_gib_per_server", "float", False, "GiB", "Memory each parameter server holds."),
    Column("disk_gib_per_server", "float", False, "GiB", "Disk each parameter server holds."),
    Column("workers_per_server", "float", False, "", "Most workers that one parameter server serves; empty = any."),
    Column("limit_gpus", "float", False, "GPUs", "The user's limit for the whole job; empty = none."),
    Column("limit_cpus", "float", False, "CPUs", "The user's limit for the whole job; empty = none."),
    Column("limit_mem_gib", "float", False, "GiB", "The user's limit for the whole job; empty = none."),
    Column("limit_disk_gib", "float", False, "GiB", "The user's limit for the whole job; empty = none."),
    Column("batch_s", "float", False, "s", "Parameter-server speed: seconds of a step that its workers share."),
    Column("step_s", "float", False, "s", "Parameter-server speed: seconds of a step at any width."),
    Column(
        "transfer_s", "float", False, "s", "Parameter-server speed: seconds of transfers a step, 1 worker, 1 server."
    ),
    Column("worker_overhead_s", "float", False, "s", "Parameter-server speed: seconds a step takes longer per worker."),
    Column("server_overhead_s", "float", False, "s", "Parameter-server speed: seconds a step takes longer per server."),
    Column("spread_s", "float", False, "s", "Parameter-server speed: seconds a step takes longer on several nodes."),
    Column("min_workers", "int", False, "workers", "Smallest legal width."),
    Column("max_workers", "int", False, "workers", "Largest legal width."),
    Column("user", "text", False, "", "Who submitted the job."),
    Column("group", "text", False, "", "Team, account or virtual cluster of the job."),
    Column("model", "text", False, "", "Network or application that is trained."),
    Column("profile", "text", False, "", "Row of the time table that says how fast the job runs."),
    Column("job_class", "text", False, "", "Class of the job mix the job was drawn from."),
    Column("partition", "text", False, "", "Exclusive part of the cluster the job must run in."),
    Column("gpu_types", "text", False, "", "GPU types the job accepts, joined by '|'; empty accepts any."),
    Column("priority", "float", False, "", "Higher goes first."),
    Column("due_s", "float", False, "s", "Due time, seconds from the trace's zero; empty = none."),
    Column("weight_usd_per_s", "float", False, "$/s", "Cost of being late, per second late."),
    Column("utility_1", "float", False, "", "Sigmoid utility: the worth at once (g1)."),
    Column("utility_2", "float", False, "1/unit", "Sigmoid utility: how fast the worth falls (g2)."),
    Column("utility_3", "float", False, "unit", "Sigmoid utility: when half of the worth is left (g3)."),
    Column("recorded_start_s", "float", False, "s", "Start in the source, for replay against history."),
    Column("recorded_end_s", "float", False, "s", "End in the source."),
    Column("recorded_status", "text", False, "", "How the job ended in the source."),
)
GANG_COLUMNS = tuple(column for column in COLUMNS if column.name in {
    "disk_gib_per_worker", "servers", "workers_per_server", *(f"{resource}_per_server" for resource in RESOURCES),
    *(f"limit_{resource}" for resource in RESOURCES), *STEP_TERMS,
})  # fmt: skip
"""Columns of jobs with parameter servers."""
COLUMN = {column.name: column for column in COLUMNS}
