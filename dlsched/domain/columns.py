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
    Column("submit_s", "float", True, "s", "Submission time in seconds from the start of the trace."),
    Column(
        "work",
        "float",
        True,
        "work",
        "Work to do; for a trace job, its run time in seconds with the requested workers.",
    ),
    Column("workers", "int", True, "workers", "Requested number of workers, which start together."),
    Column(
        "gpus_per_worker",
        "float",
        True,
        "GPUs",
        "GPUs per worker; below 1 = a share of a GPU, 0 = a CPU job.",
    ),
    Column("cpus_per_worker", "float", False, "CPUs", "CPU cores per worker."),
    Column("mem_gib_per_worker", "float", False, "GiB", "Memory per worker."),
    Column("disk_gib_per_worker", "float", False, "GiB", "Disk per worker."),
    Column("servers", "int", False, "servers", "Parameter servers requested in addition to the workers; 0 = none."),
    Column("cpus_per_server", "float", False, "CPUs", "CPU cores per parameter server, which uses no GPU."),
    Column("mem_gib_per_server", "float", False, "GiB", "Memory per parameter server."),
    Column("disk_gib_per_server", "float", False, "GiB", "Disk per parameter server."),
    Column("workers_per_server", "float", False, "", "Most workers per parameter server; empty = no limit."),
    Column("limit_gpus", "float", False, "GPUs", "The user's limit for the whole job; empty = no limit."),
    Column("limit_cpus", "float", False, "CPUs", "The user's limit for the whole job; empty = no limit."),
    Column("limit_mem_gib", "float", False, "GiB", "The user's limit for the whole job; empty = no limit."),
    Column("limit_disk_gib", "float", False, "GiB", "The user's limit for the whole job; empty = no limit."),
    Column(
        "batch_s",
        "float",
        False,
        "s",
        "Parameter-server speed: seconds of a step that the workers share among themselves.",
    ),
    Column("step_s", "float", False, "s", "Parameter-server speed: seconds of a step at any number of workers."),
    Column(
        "transfer_s",
        "float",
        False,
        "s",
        "Parameter-server speed: transfer seconds per step with 1 worker and 1 server.",
    ),
    Column("worker_overhead_s", "float", False, "s", "Parameter-server speed: extra seconds per step for each worker."),
    Column("server_overhead_s", "float", False, "s", "Parameter-server speed: extra seconds per step for each server."),
    Column("spread_s", "float", False, "s", "Parameter-server speed: extra seconds per step on several nodes."),
    Column("min_workers", "int", False, "workers", "Smallest allowed number of workers."),
    Column("max_workers", "int", False, "workers", "Largest allowed number of workers."),
    Column(
        "limit_s",
        "float",
        False,
        "s",
        "Time limit the user requested; what policies believe the run time to be. Empty = none requested.",
    ),
    Column(
        "held_s",
        "float",
        False,
        "s",
        "Time before submit_s during which dependencies or a hold kept the job back; 0 = none.",
    ),
    Column(
        "cancel_after_s",
        "float",
        False,
        "s",
        "Time after submit_s at which the user takes the job back, whether it waits or runs; empty = never.",
    ),
    Column("user", "text", False, "", "User who submitted the job."),
    Column("group", "text", False, "", "Team, account or virtual cluster of the job."),
    Column("model", "text", False, "", "Network or application being trained."),
    Column("profile", "text", False, "", "Row of the time table that gives the job's speed."),
    Column("job_class", "text", False, "", "Class of the job mix that the job belongs to."),
    Column("partition", "text", False, "", "Partition in which the job must run, or several joined by |."),
    Column("gpu_types", "text", False, "", "GPU types the job accepts, separated by '|'; empty = any."),
    Column(
        "features",
        "text",
        False,
        "",
        "Features that each node of the job must have, joined by &; alternatives are joined by |; empty = any node.",
    ),
    Column("priority", "float", False, "", "Higher values go first."),
    Column("nice", "float", False, "", "What the user lowered the job's priority by in Slurm (--nice)."),
    Column("due_s", "float", False, "s", "Due date in seconds from the start of the trace; empty = none."),
    Column("weight_usd_per_s", "float", False, "$/s", "Cost per second of lateness."),
    Column("utility_1", "float", False, "", "Sigmoid utility: value if completed at once (g1)."),
    Column("utility_2", "float", False, "1/unit", "Sigmoid utility: how fast the value falls (g2)."),
    Column("utility_3", "float", False, "unit", "Sigmoid utility: when half of the value is left (g3)."),
    Column("recorded_start_s", "float", False, "s", "Recorded start, for calibration."),
    Column("recorded_end_s", "float", False, "s", "Recorded end."),
    Column("recorded_status", "text", False, "", "Recorded outcome."),
    Column("recorded_nodes", "text", False, "", "Nodes the job ran on, as a host list: node[01-04],gpu7."),
)
GANG_COLUMNS = tuple(column for column in COLUMNS if column.name in {
    "disk_gib_per_worker", "servers", "workers_per_server", *(f"{resource}_per_server" for resource in RESOURCES),
    *(f"limit_{resource}" for resource in RESOURCES), *STEP_TERMS,
})  # fmt: skip
"""Columns of jobs with parameter servers."""
RECORDED = tuple(column.name for column in COLUMNS if column.name.startswith("recorded_"))
"""Columns of what happened to a job."""
COLUMN = {column.name: column for column in COLUMNS}
