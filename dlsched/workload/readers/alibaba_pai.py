"""Alibaba PAI GPU trace of 2020: the task table (no header line), and the table of the authors' simulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dlsched.domain.workload import Floats, Ints, Texts
from dlsched.workload.import_report import Ledger
from dlsched.workload.readers.canonical import Draft, number, optional
from dlsched.workload.readers.convert import from_python, numbers, split_gpus, strings, texts
from dlsched.workload.readers.formats import Head, Signs, TraceFormat, with_columns
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.source import TraceText
from dlsched.workload.readers.table import Dialect, need_columns, read_table, sniff, without_header

TASKS = (
    "job_name", "task_name", "inst_num", "status", "start_time", "end_time", "plan_cpu", "plan_mem", "plan_gpu",
    "gpu_type",
)  # fmt: skip
JOBS = ("job_name", "inst_id", "user", "status", "start_time", "end_time")
INSTANCES = (
    "job_name", "task_name", "inst_name", "worker_name", "inst_id", "status", "start_time", "end_time", "machine",
)  # fmt: skip
SENSORS = (
    "job_name", "task_name", "worker_name", "inst_id", "machine", "gpu_name", "cpu_usage", "gpu_wrk_util", "avg_mem",
    "max_mem", "avg_gpu_wrk_mem", "max_gpu_wrk_mem", "read", "write", "read_count", "write_count",
)  # fmt: skip
TAGS = ("inst_id", "user", "gpu_type_spec", "group", "workload")
MACHINES = ("machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu")
GPU_TYPES = ("", "MISC", "T4", "P100", "V100", "V100M32")
SIMULATOR = ("job_id", "user", "num_gpu", "num_cpu", "submit_time", "num_inst", "duration", "gpu_type", "group")
STATES = ("Running", "Terminated", "Failed", "Waiting")
STATUS = (("failed", "Failed"), ("running", "Running"), ("waiting", "Waiting"), ("completed", "Terminated"))
"""What a job is when some task is: the first that applies."""
SOURCE = "github.com/alibaba/clusterdata, cluster-trace-gpu-v2020"


def read_pai_tasks(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of pai_task_table: a job is all tasks of one job_name, which run together.

    plan_cpu and plan_gpu are percent per instance (600 = 6 cores, 50 = half a GPU), plan_mem GiB per instance. A job
    runs from the first start to the last end of its tasks. Submission times and users are in pai_job_table only.
    """
    table = read_table(text, _dialect(text, TASKS), TASKS)
    column = table.columns
    codes, ids = pd.factorize(texts(strings(column["job_name"])))
    job, count = np.asarray(codes, dtype=np.int64), len(ids)
    first_row = np.zeros(count, dtype=np.int64)
    first_row[job[::-1]] = np.arange(table.rows)[::-1]
    line_of = table.line_of
    ledger = Ledger(count, None if line_of is None else lambda jobs: line_of(first_row[jobs]), ids)
    ledger.notes.append(f"{table.rows:,} tasks of {count:,} jobs")
    ledger.lost(table.ragged, "wrong number of fields in the line", "Dropped: 10 are needed", table.ragged_examples)
    start_s, end_s = (_known_s(column[name]) for name in ("start_time", "end_time"))
    status = _status(texts(strings(column["status"])), job, count)
    job_start_s, job_end_s = _extreme(np.fmin, job, start_s, count), _extreme(np.fmax, job, end_s, count)
    _book(ledger, status, job_start_s, options)
    last_s = np.nanmax(np.append(np.fmax(start_s, end_s), 0.0))
    job_end_s = np.where(status == "running", last_s, job_end_s)
    workers, gpus, floats = _demand(ledger, column, job, count)
    types = _gpu_types(texts(strings(column["gpu_type"])), numbers(column["plan_gpu"]).values, job, count)
    return Draft(
        ledger, job_start_s, job_end_s - job_start_s, workers, gpus,
        texts={"job_id": from_python(ids), "gpu_types": from_python(types), "recorded_status": from_python(status)},
        floats=floats,
        assumptions=[
            "Jobs count as submitted when their first task starts: submission times are in pai_job_table, users too",
            "A job accepts only the GPU type that its tasks were given; what it asked for is in pai_group_tag_table",
            "All tasks of a job start together and run until the last one ends",
        ],
    )  # fmt: skip


def _dialect(text: TraceText, names: Sequence[str]) -> Dialect:
    """Return the dialect of a table that may have its header put in front."""
    found = sniff(text.data)
    return found if found.header == tuple(names) else without_header(text.data, names)


def _known_s(column: Any) -> Floats:
    """Return times; empty and 0 mean unknown."""
    values = numbers(column).values
    return np.where(values > 0, values, np.nan)


def _extreme(choose: np.ufunc, job: Ints, values: Floats, count: int) -> Floats:
    result = np.full(count, np.nan)
    choose.at(result, job, values)
    return result


def _status(states: Texts, job: Ints, count: int) -> Texts:
    result = np.full(count, "", dtype=object)
    for name, state in reversed(STATUS):
        result[job[states == state]] = name
    return result


def _book(ledger: Ledger, status: Texts, start_s: Floats, options: ReadOptions) -> None:
    never = np.isnan(start_s)
    ledger.drop(never, "no task has a start time", "Dropped: it never ran", unreadable=False)
    if options.censored == "drop":
        ledger.drop(status == "running", "job was running", "Dropped as asked: censored = drop", unreadable=False)
    else:
        rule = "Kept with the run time until the last time in the file, which is a lower bound"
        ledger.flag(status == "running", "job was still running", rule)
    ledger.flag(status == "waiting", "a task of the job was still waiting", "The tasks that ran count for the run time")


def _demand(ledger: Ledger, column: Any, job: Ints, count: int) -> tuple[Floats, Floats, dict[str, Floats]]:
    """Return workers, GPUs per worker, and CPUs and memory per worker of each job.

    Where all instances with GPUs ask for the same, each is a worker; else the GPUs of the job are split into single
    ones. CPUs and memory of instances without GPUs are spread over the workers.
    """
    instances, gpu_each, cpu_each, mem_each = (
        numbers(column[name]).values for name in ("inst_num", "plan_gpu", "plan_cpu", "plan_mem")
    )
    gpu_each, cpu_each, mem_each = np.nan_to_num(gpu_each) / 100, np.nan_to_num(cpu_each) / 100, np.nan_to_num(mem_each)
    has_gpu = gpu_each > 0

    def total(values: Floats) -> Floats:
        return np.bincount(job, values, count).astype(np.float64)

    gpus, gpu_instances = total(instances * gpu_each), total(instances * has_gpu)
    most = _extreme(np.fmax, job, np.where(has_gpu, gpu_each, np.nan), count)
    uneven = (most != _extreme(np.fmin, job, np.where(has_gpu, gpu_each, np.nan), count)) & (gpus > 0)
    ledger.drop(np.isnan(gpus), "no instance count", "Dropped: a task needs it")
    rule = "Placed as workers of one GPU; the total is kept"
    ledger.flag(uneven, "tasks of the job ask for different GPU counts per instance", rule, gpus)
    mixed = (gpus > 0) & (total(instances * ~has_gpu) > 0)
    rule = "Their CPUs and memory are spread over the workers with GPUs"
    ledger.flag(mixed, "instances without GPUs beside instances with GPUs", rule)
    single, share = split_gpus(gpus)
    workers = np.where(gpus == 0, total(instances), np.where(uneven, single, gpu_instances))
    each = np.where(gpus == 0, 0.0, np.where(uneven, share, most))
    at_least_one = np.maximum(workers, 1.0)
    floats = {
        "cpus_per_worker": total(instances * cpu_each) / at_least_one,
        "mem_gib_per_worker": total(instances * mem_each) / at_least_one,
    }
    return workers, each, floats


def _gpu_types(types: Texts, gpu_each: Floats, job: Ints, count: int) -> list[str]:
    """Return the types of the tasks with GPUs, separated by '|'."""
    known = (gpu_each > 0) & (types != "")
    pairs = pd.DataFrame({"job": job[known], "type": types[known]}).drop_duplicates()
    joined = pairs.groupby("job", sort=False)["type"].agg("|".join).to_dict()
    return [joined.get(number, "") for number in range(count)]


def read_pai_simulator(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of the table of the authors' simulator (pai_job_*.csv): GPUs and CPUs are totals of the job."""
    dialect = sniff(text.data)
    need_columns(dialect.header, ("job_id", "num_gpu", "num_cpu", "submit_time", "duration"), f"PAI jobs {text.name}")
    table = read_table(text, dialect, (*SIMULATOR, "wait_time"))
    ledger = table.ledger("job_id")
    blank = from_python([""] * table.rows)
    column = {name: table.columns.get(name, blank) for name in (*SIMULATOR, "wait_time")}
    submit_s = number(ledger, column["submit_time"], "submission time")
    workers, each = split_gpus(number(ledger, column["num_gpu"], "GPU count"))
    wait_s = optional(ledger, numbers(column["wait_time"]), "wait", column["wait_time"])
    types = np.array([name if name != "CPU" else "" for name in texts(strings(column["gpu_type"]))], dtype=object)
    several = numbers(column["num_inst"]).values > 1
    rule = "Placed as workers of one GPU, anywhere; the simulator has one node"
    ledger.not_modelled(several, "job has several instances (num_inst)", rule)
    return Draft(
        ledger, submit_s, number(ledger, column["duration"], "duration"), workers, each,
        texts={"job_id": column["job_id"], "user": column["user"], "group": column["group"],
               "gpu_types": from_python(types)},
        floats={"cpus_per_worker": optional(ledger, numbers(column["num_cpu"]), "CPU count", column["num_cpu"])
                / workers, "recorded_start_s": submit_s + wait_s},
        assumptions=["GPUs and CPUs are totals of the job, as the authors' simulator counts them"],
    )  # fmt: skip


# ---- signs ---------------------------------------------------------------------------------------


def _of_rows(names: Sequence[str], suits: Callable[[list[str]], bool]) -> Callable[[Head], Signs | None]:
    """Return the signs of a table whose header line is in a file of its own, or was put in front."""

    def signs(head: Head) -> Signs | None:
        rows = [line.strip().split(",") for line in head.lines]
        rows = rows[1:] if rows and rows[0] == list(names) else rows
        return Signs(2, 2) if rows and all(len(row) == len(names) and suits(row) for row in rows) else None

    return signs


def _table(key: str, names: Sequence[str], suits: Callable[[list[str]], bool], holds: str) -> TraceFormat:
    label = f"Alibaba PAI {key}"
    why = f"it is {key} of the Alibaba PAI trace of 2020, which {holds}"
    do = "Give pai_task_table: it has the run times and what the tasks asked for"
    return TraceFormat(key.replace("_", "-"), label, _of_rows(names, suits), why=why, do=do, source=SOURCE)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


PAI_TASKS = TraceFormat(
    "pai",
    "Alibaba PAI task table (2020)",
    _of_rows(TASKS, lambda row: row[3] in STATES),
    read_pai_tasks,
    choices=("censored",),
    source=SOURCE,
)
PAI_SIMULATOR = TraceFormat(
    "pai-simulator",
    "Alibaba PAI jobs for the authors' simulator",
    with_columns("num_gpu", "num_cpu", "num_inst", "submit_time", "duration"),
    read_pai_simulator,
    source=f"{SOURCE}/simulator",
)
PAI_OTHERS = (
    _table("pai_job_table", JOBS, lambda row: row[3] in STATES,
           "has submission times and users, but not what jobs asked for"),
    _table("pai_instance_table", INSTANCES, lambda row: row[5] in STATES,
           "has machines and times of instances, but not what they asked for"),
    _table("pai_sensor_table", SENSORS, lambda row: row[5].startswith("/dev/"), "has what instances used"),
    _table("pai_group_tag_table", TAGS, lambda row: row[2] in GPU_TYPES and not _is_number(row[3]),
           "has the users and groups of jobs, but no times"),
    _table("pai_machine_spec", MACHINES, lambda row: all(map(_is_number, row[2:])) and not _is_number(row[0]),
           "describes machines, not jobs"),
)  # fmt: skip
