"""Jobs table of the AWS HPC cost simulator, which its log parsers write from LSF, Slurm and Accelerator logs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.compute as pc

from dlsched.workload.readers.canonical import Draft, number, optional, required
from dlsched.workload.readers.convert import Read, bools, clock_spans, from_python, numbers, strings, timestamps
from dlsched.workload.readers.formats import Head, Signs, TraceFormat, with_columns
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.source import TraceText
from dlsched.workload.readers.table import need_columns, read_table, sniff

NEEDED = ("job_id", "num_cores", "max_mem_gb", "num_hosts", "submit_time", "start_time", "finish_time")
COLUMNS = (
    *NEEDED, "resource_request", "ineligible_pend_time", "eligible_time", "requeue_time", "run_time", "exit_status",
    "queue", "project", "user",
)  # fmt: skip


def read_aws_hpc(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of a jobs table: cores and memory are totals over the hosts; one worker a host, no GPUs.

    Run time = finish - start. A start before the submission is an error of the log parser; as in the tool itself it
    becomes the eligible time.
    """
    dialect = sniff(text.data)
    need_columns(dialect.header, NEEDED, f"HPC cost simulator table {text.name}")
    table = read_table(text, dialect, COLUMNS)
    ledger = table.ledger("job_id")
    blank = from_python([""] * table.rows)
    column = {name: table.columns.get(name, blank) for name in COLUMNS}
    asked_s = required(ledger, _instants(column["submit_time"]), "submission time", column["submit_time"])
    start_s, end_s, eligible_s = (
        optional(ledger, _instants(column[name]), name.replace("_", " "), column[name])
        for name in ("start_time", "finish_time", "eligible_time")
    )
    pending_s = asked_s + clock_spans(column["ineligible_pend_time"]).values
    eligible_s = np.fmax(asked_s, np.where(np.isnan(eligible_s), pending_s, eligible_s))
    ledger.drop(np.isnan(start_s), "job never started", "Dropped: it has no run time", column["job_id"],
                unreadable=False)  # fmt: skip
    early = start_s < asked_s
    ledger.repair(early, "started before it was submitted", "Start set to the eligible time", start_s - asked_s)
    start_s = np.where(early, eligible_s, start_s)
    late = eligible_s > start_s
    ledger.repair(late, "started before it was eligible", "Counted as eligible at its start", eligible_s - start_s)
    eligible_s = np.fmin(eligible_s, start_s)
    held_s = eligible_s - asked_s
    rule = "Dependencies are not modelled; with arrival = eligible, jobs arrive when they become eligible"
    ledger.not_modelled(held_s > 0, "held back by a dependency or hold", rule, held_s)
    stated_s = clock_spans(column["run_time"]).values
    differs = ~early & (np.abs(end_s - start_s - stated_s) > 1.0)
    ledger.flag(differs, "run_time is not finish - start", "Run time = finish - start", stated_s)
    again = np.nan_to_num(clock_spans(column["requeue_time"]).values) > 0
    ledger.not_modelled(again, "job was requeued", "Only its last start is in the table", column["job_id"])
    asks_gpu = bools(pc.match_substring(pc.utf8_lower(strings(column["resource_request"])), "gpu"))
    rule = "The table has no GPU column: counted without GPUs"
    ledger.not_modelled(asks_gpu, "resource_request names GPUs", rule, column["resource_request"])
    hosts = np.maximum(1.0, number(ledger, column["num_hosts"], "host count"))
    exit_code = numbers(column["exit_status"]).values
    status = np.where(np.isnan(exit_code), "", np.where(exit_code == 0, "completed", "failed"))
    assumptions = []
    if options.arrival == "eligible" and (held_s > 0).any():
        assumptions.append("Jobs arrive when dependencies and holds let them run, not when they are submitted")
    return Draft(
        ledger, eligible_s if options.arrival == "eligible" else asked_s, end_s - start_s, hosts,
        np.zeros(table.rows),
        texts={"job_id": column["job_id"], "user": column["user"], "group": column["project"],
               "partition": column["queue"], "recorded_status": from_python(status)},
        floats={
            "cpus_per_worker": number(ledger, column["num_cores"], "core count") / hosts,
            "mem_gib_per_worker": optional(ledger, numbers(column["max_mem_gb"]), "memory", column["max_mem_gb"])
            / hosts,
            "recorded_start_s": start_s, "recorded_end_s": end_s, "held_s": held_s,
        },
        absolute=True,
        meta={"time_zone": "local time of the log parser; the file gives no time zone"},
        assumptions=assumptions,
    )  # fmt: skip


def _instants(column: Any) -> Read:
    """Return ISO times, or seconds since 1970, as seconds; -1 = none."""
    dates, plain = timestamps(column), numbers(column)
    is_plain = ~np.isnan(plain.values)
    values = np.where(is_plain, np.where(plain.values >= 0, plain.values, np.nan), dates.values)
    missing = dates.missing | (is_plain & np.isnan(values))
    return Read(values, missing, np.isnan(values) & ~missing)


def _is_result(head: Head) -> Signs | None:
    """Tables that the simulator writes: costs by job, by hour and in all, and the summary by memory and run time."""
    by_job = {"job_id", "runtime_minutes", "instance_family", "hourly_rate"} <= head.columns
    costs = any("on_demand_cost" in name for name in head.columns) and "job_id" not in head.columns
    summary = head.lines[:1] and head.lines[0].startswith(("Note: All memory sizes are in GB", "MemorySize,"))
    return Signs(2, 2) if by_job or costs or summary else None


SOURCE = "github.com/aws-samples/hpc-cost-simulator, SchedulerJobInfo.py"
AWS_HPC = TraceFormat(
    "aws-hpc",
    "AWS HPC cost simulator jobs",
    with_columns("num_cores", "max_mem_gb", "num_hosts", "submit_time", "start_time", "finish_time"),
    read_aws_hpc,
    choices=("arrival",),
    source=SOURCE,
)
AWS_HPC_RESULTS = TraceFormat(
    "aws-hpc-results",
    "AWS HPC cost simulator results",
    _is_result,
    why="it is a table of costs that the AWS HPC cost simulator wrote, which lacks the submissions and cores of jobs",
    do="Give the jobs.csv that it was made from",
    source=SOURCE,
)
