"""Acme job traces (Seren, Kalos), and the variant that others derived from them for a simulator."""

from __future__ import annotations

import re

import numpy as np

from dlsched.workload.readers.canonical import Draft, number, optional, required
from dlsched.workload.readers.convert import from_python, numbers, split_gpus, strings, timestamps, words
from dlsched.workload.readers.formats import Head, Signs, TraceFormat, with_columns
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.source import TraceText
from dlsched.workload.readers.table import need_columns, read_table, sniff

NEEDED = ("job_id", "node_num", "gpu_num", "cpu_num", "state", "submit_time", "start_time", "end_time")
COLUMNS = (*NEEDED, "user", "type", "mem_per_pod_GB", "shared_mem_per_pod", "fail_time", "stop_time", "duration")
CONVERTED_COLUMNS = (
    "job_id", "arrival_time", "num_iteration", "iteration_computing_time", "iteration_networking_time", "gpu_workers",
    "ps", "gpu_per_worker", "cpu_per_gpu_worker",
)  # fmt: skip
GB = 1e9 / 2**30


def read_acme(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of an Acme trace: GPUs and CPUs are totals of the job, memory is per pod, one pod a node.

    Times carry their offset and become UTC. Run time = end - start: the duration column of Kalos also counts the wait.
    Jobs without a start never ran and are dropped.
    """
    dialect = sniff(text.data)
    need_columns(dialect.header, NEEDED, f"Acme trace {text.name}")
    table = read_table(text, dialect, COLUMNS)
    ledger = table.ledger("job_id")
    blank = from_python([""] * table.rows)
    column = {name: table.columns.get(name, blank) for name in COLUMNS}
    state = words(column["state"])
    submit_s = required(ledger, timestamps(column["submit_time"]), "submission time", column["submit_time"])
    start_s, end_s, fail_s, stop_s = (
        optional(ledger, timestamps(column[c]), c, column[c])
        for c in ("start_time", "end_time", "fail_time", "stop_time")
    )
    ledger.drop(np.isnan(start_s), "job never started", "Dropped: it has no run time", column["job_id"],
                unreadable=False)  # fmt: skip
    if options.cancelled == "drop":
        rule = "Dropped as asked: cancelled = drop"
        ledger.drop(state == "cancelled", "job was cancelled", rule, column["job_id"], unreadable=False)
    mended_s = np.where(np.isnan(end_s), np.fmax(fail_s, stop_s), end_s)
    rule = "The time of the failure or of the stop is used"
    ledger.repair(np.isnan(end_s) & ~np.isnan(mended_s), "no end time", rule, column["job_id"])
    duration_s = numbers(column["duration"]).values
    differs = np.abs(mended_s - start_s - duration_s) > 1.0
    with_wait = differs & (np.abs(mended_s - submit_s - duration_s) <= 1.0)
    rule = "Run time = end - start"
    ledger.flag(with_wait, "the duration column includes the wait", rule, duration_s)
    ledger.flag(differs & ~with_wait, "the duration column is not end - start", rule, duration_s)
    gpus, nodes = number(ledger, column["gpu_num"], "GPU count"), number(ledger, column["node_num"], "node count")
    workers, per_worker = split_gpus(gpus)
    workers = np.where(gpus == 0, np.maximum(1.0, nodes), workers)
    cpus = optional(ledger, numbers(column["cpu_num"]), "CPU count", column["cpu_num"])
    floats = {"cpus_per_worker": cpus / workers, "recorded_start_s": start_s, "recorded_end_s": mended_s}
    assumptions = []
    if "mem_per_pod_GB" in dialect.header:
        mem_gb = optional(ledger, numbers(column["mem_per_pod_GB"]), "memory", column["mem_per_pod_GB"])
        floats["mem_gib_per_worker"] = mem_gb * GB * np.maximum(1.0, nodes) / workers
        assumptions.append("Memory is stated per pod; one pod per node, and 1 GB = 10^9 bytes")
    if options.cancelled == "keep" and (state == "cancelled").any():
        assumptions.append("Cancelled jobs keep their recorded run time")
    return Draft(
        ledger, submit_s, mended_s - start_s, workers, per_worker,
        texts={"job_id": column["job_id"], "user": column["user"], "job_class": column["type"],
               "recorded_status": from_python(state)},
        floats=floats,
        absolute=True,
        meta={"time_zone": "UTC, converted from the offset that each time carries"},
        assumptions=assumptions,
    )  # fmt: skip


def read_converted(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of a converted Acme trace: gpu_workers x gpu_per_worker GPUs.

    The converter cuts the recorded duration into iterations of 0.5 s of computing and adds a networking time by the
    type of the job, which was not measured: run time = iterations x computing time. Its cpu_per_gpu_worker is the CPUs
    of the job over its GPUs.
    """
    dialect = sniff(text.data)
    need_columns(dialect.header, CONVERTED_COLUMNS, f"converted Acme trace {text.name}")
    table = read_table(text, dialect, CONVERTED_COLUMNS)
    ledger, column = table.ledger("job_id"), table.columns
    submit_s = number(ledger, column["arrival_time"], "arrival time")
    iterations = number(ledger, column["num_iteration"], "iteration count")
    computing_s = number(ledger, column["iteration_computing_time"], "computing time of an iteration")
    workers, each = number(ledger, column["gpu_workers"], "workers"), number(ledger, column["gpu_per_worker"], "GPUs")
    single, share = split_gpus(workers * each)
    uneven = each != np.floor(each)
    rule = "Placed as workers of one GPU; the total is kept"
    ledger.flag(uneven, "GPUs do not split evenly over the workers", rule, each)
    servers = np.nan_to_num(numbers(column["ps"]).values)
    rule = "Parameter servers of this file are left out: it does not state their speed"
    ledger.not_modelled(servers > 0, "job has parameter servers", rule, servers)
    per_gpu = optional(ledger, numbers(column["cpu_per_gpu_worker"]), "CPUs per GPU", column["cpu_per_gpu_worker"])
    workers, per_worker = np.where(uneven, single, workers), np.where(uneven, share, each)
    return Draft(
        ledger, submit_s, iterations * computing_s, workers, per_worker,
        texts={"job_id": strings(column["job_id"])},
        floats={"cpus_per_worker": per_gpu * per_worker},
        assumptions=[
            "Run time = iterations x computing time, which is the recorded duration; the networking time of the "
            "converted file is left out, because it was set by job type and not measured",
            "CPUs per GPU worker are CPUs per GPU, as the converter divides the CPUs of a job by its GPUs",
        ],
    )  # fmt: skip


def _is_usage(head: Head) -> bool:
    addresses = [re.fullmatch(r"\d{1,3}(_\d{1,3}){3}(_\d+)?", name) is not None for name in head.columns - {"time"}]
    return "time" in head.columns and bool(addresses) and all(addresses)


ACME = TraceFormat(
    "acme",
    "Acme job trace (Seren, Kalos)",
    with_columns("gpu_time", "type", "gpu_num"),
    read_acme,
    choices=("cancelled",),
    source="github.com/InternLM/AcmeTrace, README: schema of the job traces",
)
ACME_SUMMARY = TraceFormat(
    "acme-summary",
    "Acme cluster summary",
    with_columns("job_num", "gpu_job_num", "avg_que_time_gpu"),
    why="it is the cluster summary of the Acme trace: one line for each cluster, not its jobs",
    do="Give trace_seren.csv or trace_kalos.csv",
    source="github.com/InternLM/AcmeTrace",
)
ACME_USAGE = TraceFormat(
    "acme-utilisation",
    "Acme utilisation table",
    lambda head: Signs(2, 2) if _is_usage(head) else None,
    why="it is a utilisation table of the Acme trace: one column for each node, no jobs",
    do="Give trace_seren.csv or trace_kalos.csv",
    source="github.com/InternLM/AcmeTrace",
)
ACME_CONVERTED = TraceFormat(
    "acme-converted",
    "Acme trace converted for a simulator",
    with_columns("num_iteration", "iteration_computing_time", "gpu_workers", "gpu_per_worker", "cpu_per_gpu_worker",
               "arrival_time"),
    read_converted,
    source="github.com/hyunnnchoi/AcmeTrace, transform_trace.py",
)  # fmt: skip
