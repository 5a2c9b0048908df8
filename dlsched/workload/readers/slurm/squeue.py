"""``squeue --json``: the queue as it is now. No job in it has ended, so run times are assumed to be time limits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats
from dlsched.workload.import_report import Bools, Ledger
from dlsched.workload.readers.canonical import YEAR_S, Draft, iso_time, optional
from dlsched.workload.readers.convert import from_python, numbers, strings
from dlsched.workload.readers.formats import Head, Signs, TraceFormat
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.slurm import times
from dlsched.workload.readers.slurm.constraints import features_of
from dlsched.workload.readers.slurm.demand import demand_of
from dlsched.workload.readers.slurm.gangs import join_components
from dlsched.workload.readers.slurm.job_numbers import task_ranges
from dlsched.workload.readers.slurm.jobs import columns_of
from dlsched.workload.readers.slurm.json_jobs import NO_OBJECT
from dlsched.workload.readers.slurm.json_values import (
    Job,
    first,
    job_name,
    jobs_in,
    memory,
    minutes,
    number,
    text,
    when,
    whole,
)
from dlsched.workload.readers.slurm.states import CANNOT_START, HELD, RUNNING, WAITING, state_of
from dlsched.workload.readers.slurm_settings.found import partitions_with_limits
from dlsched.workload.readers.source import TraceText
from dlsched.workload.readers.waiting import status_of

KEYS = ("job_state", "submit_time", "eligible_time", "time_limit", "job_id", "partition")
MOST_TASKS = 100_000


def read_squeue(source: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of the queue: running jobs from their start on, then pending jobs in order of priority.

    Time 0 of the pending jobs is the time of the snapshot. All jobs are assumed to run for as long as their time limit
    allows, so that a run says when the pending ones start at the latest. Tasks of pending arrays are jobs of their own;
    jobs that are held or wait for others are dropped and counted. With ``pending`` = "keep" these stay, and all pending
    jobs arrive when they were submitted, or when they may start if that is later.

    Raises
    ------
    InputError
        Damaged JSON, no list of jobs, or more than 100,000 pending array tasks.
    """
    what = f"squeue JSON {source.name}"
    jobs, beside = jobs_in(source, what)
    every_row = (row for job in jobs if isinstance(job, dict) for row in _rows(job))
    rows = list(islice(every_row, MOST_TASKS + len(jobs) + 1))
    if len(rows) > MOST_TASKS + len(jobs):
        raise InputError(what, f"more than {MOST_TASKS:,} array tasks are pending", "Export fewer jobs with squeue -p")
    rows.sort(key=lambda row: (state_of(row["state"]) not in RUNNING, -float(row["priority"] or 0), row["submit"]))
    ledger = Ledger(len(rows), names=[row["jobid"] for row in rows])
    ledger.notes.append(
        "A queue, not a log: it shows when pending jobs can start. How long jobs waited and ran is in sacct"
    )
    lost = sum(not isinstance(job, dict) for job in jobs)
    ledger.lost(lost, NO_OBJECT, "Dropped: a job is an object", ())
    raw = {name: from_python([row[name] for row in rows]) for name in (rows[0] if rows else ())}
    columns = columns_of(raw, len(rows), what)
    ids, states = strings(columns["jobid"]), np.array([state_of(row["state"]) for row in rows], dtype=str)
    running: Bools = np.isin(states, RUNNING)
    pending: Bools = np.isin(states, WAITING)
    ledger.drop(~running & ~pending, "job has ended", "Dropped: it holds no nodes and waits for none", ids,
                unreadable=False)  # fmt: skip
    reasons = [row["reason"].lower() for row in rows]
    held = pending & (np.isin(reasons, CANNOT_START) | np.isin(states, HELD))
    keep = options.pending == "keep"
    what_held = "held, or waits for another job"
    if keep:
        ledger.flag(held, what_held, "Kept: it cannot start before it is released or the other job has ended", ids)
    else:
        rule = "Dropped: it cannot start before it is released or the other job has ended"
        ledger.drop(held, what_held, rule, ids, unreadable=False)
    start_s, submit_s, eligible_s = (optional(ledger, times.instants(columns[name]), name, columns[name])
                                     for name in ("start", "submit", "eligible"))  # fmt: skip
    start_s = np.where(running, start_s, np.nan)
    ledger.drop(running & np.isnan(start_s), "running job without a start", "Dropped: it is not known since when", ids)
    limited = np.array([row["at_once"] != "" for row in rows])
    rule = "Its tasks may all run at once"
    ledger.not_modelled(limited, "task of an array with a limit of tasks at once (%)", rule, ids)
    now_s = _snapshot_s(beside, start_s, submit_s)
    limit_s = times.fill_limits(
        ledger, times.limits_s(columns["timelimitraw"], columns["timelimit"]), columns["partition"],
        partitions_with_limits(options),
    )  # fmt: skip
    demand = demand_of(ledger, columns)
    run_s = np.where(running, np.fmax(limit_s, now_s - start_s), limit_s).clip(max=YEAR_S)
    arrival_s, arrival_words = np.fmax(eligible_s, now_s), "the time of the queue, not from their submission"
    if keep:
        run_s = np.where(np.isnan(run_s), YEAR_S, run_s)
        arrival_s = np.fmax(eligible_s, np.where(np.isnan(submit_s), now_s, submit_s))
        arrival_words = "their submission, or from when they may start"
    statuses = [
        status_of(row["reason"], held=is_held) if keep and is_pending else str(state)
        for row, state, is_pending, is_held in zip(rows, states, pending, held, strict=True)
    ]
    draft = Draft(
        ledger,
        np.where(running, start_s, arrival_s),
        run_s,
        demand.workers,
        demand.gpus_per_worker,
        texts={"job_id": ids, "user": columns["user"], "group": columns["account"], "job_class": columns["qos"],
               "partition": columns["partition"], "gpu_types": from_python(demand.gpu_types),
               "features": from_python(features_of(ledger, columns["constraints"])),
               "recorded_status": from_python(statuses), "recorded_nodes": columns["nodelist"]},
        floats={"cpus_per_worker": demand.cpus / demand.workers, "mem_gib_per_worker": demand.mem_gib / demand.workers,
                "limit_s": limit_s, "priority": numbers(columns["priority"]).values, "recorded_start_s": start_s},
        absolute=True,
        gpu_types_used=from_python(demand.gpu_types_used),
        meta={"time_zone": "UTC", "snapshot": iso_time(now_s) + "Z"},
        assumptions=[
            f"The queue at {iso_time(now_s)} UTC: every job, running or pending, runs until its time limit. Jobs that "
            "end earlier let others start earlier",
            f"Waits of pending jobs count from {arrival_words}",
        ],
    )  # fmt: skip
    join_components(draft, ids)
    return draft


def _snapshot_s(beside: Job, start_s: Floats, submit_s: Floats) -> float:
    """Return when the queue was written: its last update, or the last submission or start in it if that is later."""
    known = np.concatenate([start_s, submit_s, [number(beside.get("last_update"))]])
    return float(np.max(known, where=np.isfinite(known), initial=0.0))


def _rows(job: Job) -> Iterator[dict[str, str]]:
    """Yield the fields of one job as sacct prints them; each task of a pending array on its own."""
    array, tasks = job.get("array_job_id"), text(job.get("array_task_string"))
    name = job_name(job.get("job_id"), array, job.get("array_task_id"), "", job.get("het_job_id"),
                    job.get("het_job_offset"))  # fmt: skip
    row = {
        "jobid": name,
        "user": text(job.get("user_name")),
        "account": text(job.get("account")),
        "partition": text(job.get("partition")),
        "qos": text(job.get("qos")),
        "state": first(job.get("job_state")),
        "reason": text(job.get("state_reason")),
        "submit": when(job.get("submit_time")),
        "eligible": when(job.get("eligible_time")),
        "start": when(job.get("start_time")),
        "timelimitraw": minutes(job.get("time_limit")),
        "nnodes": whole(job.get("node_count")),
        "ncpus": whole(job.get("cpus")),
        "reqmem": memory(((job.get("memory_per_node"), "n"), (job.get("memory_per_cpu"), "c"))),
        "reqtres": text(job.get("tres_req_str")),
        "alloctres": text(job.get("tres_alloc_str")),
        "reqgres": text(job.get("tres_per_node")),
        "nodelist": text(job.get("nodes")),
        "constraints": text(job.get("features")),
        "priority": whole(job.get("priority")),
        "elapsedraw": "",
        "at_once": tasks.partition("%")[2],
    }
    if not (number(array) > 0 and tasks) or whole(job.get("array_task_id")):
        yield row
        return
    for tasks_of_range in task_ranges(tasks):
        for task in tasks_of_range:
            yield row | {"jobid": f"{whole(array)}_{task}"}


def _signs(head: Head) -> Signs | None:
    return Signs(head.has_keys(KEYS), len(KEYS)) if head.json_start else None


SQUEUE_JSON = TraceFormat(
    "squeue-json",
    "Slurm squeue --json (the queue as it is now)",
    _signs,
    read_squeue,
    choices=("pending",),
    source="https://slurm.schedmd.com/squeue.html, option --json",
)
