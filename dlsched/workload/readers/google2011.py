"""Google ClusterData 2011: task_events without a header line, recognised by their shape; other tables by name.

Times are microseconds from 600 s before the trace; 0 = before it, 2^63 - 1 = after it. Requests are shares of the
largest machine, so neither cores nor GiB can be known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dlsched.domain.workload import Floats, Ints, Texts
from dlsched.workload.import_report import Bools, Ledger
from dlsched.workload.readers.canonical import Draft
from dlsched.workload.readers.convert import from_python, numbers, strings, texts
from dlsched.workload.readers.formats import Head, Signs, TraceFormat, with_columns
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.source import TraceText
from dlsched.workload.readers.table import Table, read_table, without_header

COLUMNS = (
    "time", "missing_info", "job", "task", "machine", "event", "user", "class", "priority", "cpus", "memory", "disk",
    "different_machines",
)  # fmt: skip
USED = COLUMNS[:10]
SUBMIT, SCHEDULE, EVICT, FAIL, FINISH, KILL, LOST = range(7)
UPDATE_RUNNING = 8
STATUS = {EVICT: "evicted", FAIL: "failed", FINISH: "completed", KILL: "cancelled", LOST: "lost"}
AFTER_US = 9e18
MAX_TASKS = 1 << 31
SOURCE = "Google cluster-usage traces: format + schema (clusterdata-2011-2)"


@dataclass(frozen=True)
class _Events:
    """Readable events, sorted by job, task and time; ``row`` counts table rows, ``task`` numbers tasks of all jobs."""

    row: Ints
    time_s: Floats
    job: Ints
    task: Ints
    event: Ints
    cpus: Floats


def read_google2011(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of task_events: a job is a gang of its tasks that ran at least once.

    A task runs from SCHEDULE to the next EVICT, FAIL, FINISH, KILL or LOST, and again after each further SCHEDULE; its
    run time is the sum. The job runs as long as its longest task. The first request of a task counts.

    Raises
    ------
    InputError
        The lines do not have 13 fields.
    """
    table = read_table(text, without_header(text.data, COLUMNS), USED)
    column, line_of = table.columns, table.line_of
    ids, job_of_row = _jobs(column["job"])
    first_row = np.full(len(ids), 0, dtype=np.int64)
    first_row[job_of_row[::-1]] = np.arange(table.rows)[::-1]
    ledger = Ledger(len(ids), None if line_of is None else lambda jobs: line_of(first_row[jobs]), ids)
    ledger.notes.append(f"{table.rows:,} task events of {len(ids):,} jobs")
    ledger.lost(table.ragged, "wrong number of fields in the line", "Dropped: 13 are needed", table.ragged_examples)
    events, bad = _events(table, job_of_row)
    if bad:
        ledger.notes.append(f"{bad:,} events left out: their time, task or event type cannot be read")
    jobs = _Jobs.of(events, len(ids))
    _book(ledger, jobs, options)
    info = {name: texts(strings(column[name]))[first_row] for name in ("user", "class")}
    status = np.where(jobs.running, "running", [STATUS.get(int(last), "") for last in jobs.last_event])
    longer = float(np.nansum(jobs.cpus * jobs.run_s) / max(np.nansum(jobs.cpu_s), 1e-300))
    return Draft(
        ledger, jobs.submit_s, jobs.run_s, np.maximum(jobs.tasks, 1.0), np.zeros(len(ids)),
        texts={"job_id": from_python(ids), "user": from_python(info["user"]),
               "job_class": from_python([f"class {name}" if name else "" for name in info["class"]]),
               "recorded_status": from_python(status),
               "recorded_nodes": from_python(_machines(column["machine"], events, len(ids)))},
        floats={"cpus_per_worker": jobs.cpus / np.maximum(jobs.tasks, 1.0),
                "priority": numbers(column["priority"]).values[first_row],
                "recorded_start_s": jobs.start_s, "recorded_end_s": jobs.end_s},
        assumptions=[
            "CPU requests are shares of the largest machine, whose cores the trace leaves out: 1 CPU here is one "
            "such machine",
            f"All tasks of a job hold their CPUs as long as its longest task runs: {longer:.2f}x the recorded CPU time",
        ],
    )  # fmt: skip


def _jobs(column: Any) -> tuple[Texts, Ints]:
    """Return the distinct job ids in order of appearance, and the job of each row."""
    codes, ids = pd.factorize(texts(strings(column)))
    return np.asarray(ids, dtype=object), np.asarray(codes, dtype=np.int64)


def _events(table: Table, job_of_row: Ints) -> tuple[_Events, int]:
    """Return the events that can be read and lie in the trace, and how many cannot be read."""
    time_us, task, event, cpus = (numbers(table.columns[c]).values for c in ("time", "task", "event", "cpus"))
    good = (time_us >= 0) & (task >= 0) & (task < MAX_TASKS) & np.isin(event, range(UPDATE_RUNNING + 1))
    good &= task == np.floor(task)
    kept = np.flatnonzero(good & (time_us < AFTER_US))
    key = (job_of_row[kept] << 31) | task[kept].astype(np.int64)
    kept = kept[np.lexsort((kept, time_us[kept], key))]
    numbered = pd.factorize((job_of_row[kept] << 31) | task[kept].astype(np.int64))[0].astype(np.int64)
    found = _Events(kept, time_us[kept] / 1e6, job_of_row[kept], numbered, event[kept].astype(np.int64), cpus[kept])
    return found, int((~good).sum())


@dataclass(frozen=True)
class _Jobs:
    """One entry a job; ``cpus`` = requests of all tasks that ran, ``cpu_s`` = requests x run times of the tasks."""

    submit_s: Floats
    start_s: Floats
    end_s: Floats
    run_s: Floats
    tasks: Floats
    never_ran: Ints
    cpus: Floats
    cpu_s: Floats
    last_event: Ints
    running: Bools
    changed: Bools

    @classmethod
    def of(cls, events: _Events, num_jobs: int) -> _Jobs:
        """Fold the events of tasks into jobs."""
        steps = np.flatnonzero((events.event >= SCHEDULE) & (events.event <= LOST))
        task, kind, time_s = events.task[steps], events.event[steps], events.time_s[steps]
        has_next = np.append(task[1:] == task[:-1], False) if len(task) else np.zeros(0, dtype=bool)
        until_s = np.where(has_next, np.append(time_s[1:], 0.0), events.time_s.max(initial=0.0))
        starts = kind == SCHEDULE
        num_tasks = int(events.task.max(initial=-1)) + 1
        ran_s = np.bincount(task[starts], (until_s - time_s)[starts], num_tasks).astype(np.float64)
        ran = np.bincount(task[starts], minlength=num_tasks) > 0
        open_task = np.zeros(num_tasks, dtype=bool)
        open_task[task[starts & ~has_next]] = True
        first = np.append(True, events.task[1:] != events.task[:-1]) if len(events.task) else np.zeros(0, dtype=bool)
        job_of_task, cpus_of_task = events.job[first], events.cpus[first]
        changed = (events.cpus != cpus_of_task[events.task]) & ~np.isnan(events.cpus)
        ends = (events.event >= EVICT) & (events.event <= LOST)
        by_time = np.flatnonzero(ends)[np.argsort(events.time_s[ends], kind="stable")]
        last_event = np.full(num_jobs, -1, dtype=np.int64)
        last_event[events.job[by_time]] = events.event[by_time]
        any_task = np.bincount(job_of_task, minlength=num_jobs)
        submits = events.event == SUBMIT
        submit_s = _least(events.job[submits], events.time_s[submits], num_jobs)
        seen_s = _least(events.job, events.time_s, num_jobs)
        tasks = np.bincount(job_of_task[ran], minlength=num_jobs).astype(np.float64)
        return cls(
            submit_s=np.where(np.isnan(submit_s), seen_s, submit_s),
            start_s=_least(events.job[steps][starts], time_s[starts], num_jobs),
            end_s=-_least(events.job[ends], -events.time_s[ends], num_jobs),
            run_s=np.where(tasks > 0, -_least(job_of_task, -ran_s, num_jobs), np.nan),
            tasks=tasks,
            never_ran=any_task - tasks.astype(np.int64),
            cpus=np.bincount(job_of_task[ran], cpus_of_task[ran], num_jobs).astype(np.float64),
            cpu_s=np.bincount(job_of_task, cpus_of_task * ran_s, num_jobs).astype(np.float64),
            last_event=last_event,
            running=np.bincount(job_of_task[open_task], minlength=num_jobs) > 0,
            changed=np.bincount(events.job[changed], minlength=num_jobs) > 0,
        )


def _least(job: Ints, values: Floats, num_jobs: int) -> Floats:
    """Return the least value of each job; NaN for jobs without one."""
    least = np.full(num_jobs, np.inf)
    np.minimum.at(least, job, values)
    return np.where(np.isinf(least), np.nan, least)


def _book(ledger: Ledger, jobs: _Jobs, options: ReadOptions) -> None:
    never = jobs.tasks == 0
    ledger.drop(never, "no task was ever scheduled", "Dropped: it never ran", unreadable=False)
    cancelled = ~jobs.running & (jobs.last_event == KILL)
    if options.cancelled == "drop":
        ledger.drop(cancelled, "job was cancelled (KILL)", "Dropped as asked: cancelled = drop", unreadable=False)
    if options.censored == "drop":
        rule = "Dropped as asked: censored = drop"
        ledger.drop(jobs.running, "still running when the trace ended", rule, unreadable=False)
    else:
        rule = "Kept with the run time observed so far, which is a lower bound"
        ledger.flag(jobs.running, "still running when the trace ended", rule, jobs.run_s)
    ledger.flag(jobs.submit_s == 0, "submitted before the trace starts (time 0)", "Counted as submitted at time 0")
    rule = "Its run time counts from time 0, which is a lower bound"
    ledger.flag(jobs.start_s == 0, "running when the trace starts (time 0)", rule)
    ledger.flag(jobs.never_ran > 0, "some tasks were never scheduled", "Left out of the job", jobs.never_ran)
    ledger.flag(jobs.changed, "a request changes from event to event", "The first request of each task is used")
    rule = "Shares of the largest machine cannot be turned into GiB"
    ledger.not_modelled(~never, "memory and disk requests", rule)


def _machines(column: Any, events: _Events, num_jobs: int) -> list[str]:
    """Return the machines on which tasks of each job were scheduled, separated by commas."""
    scheduled = events.event == SCHEDULE
    names = texts(strings(column))[events.row[scheduled]]
    pairs = pd.DataFrame({"job": events.job[scheduled], "machine": names}).drop_duplicates()
    joined = pairs[pairs["machine"] != ""].groupby("job", sort=False)["machine"].agg(",".join)
    return [joined.get(job, "") for job in range(num_jobs)]


# ---- signs ---------------------------------------------------------------------------------------


def _rows(head: Head) -> list[list[str]]:
    return [line.strip().split(",") for line in head.lines if not line.startswith("#")]


def of_shape(widths: Sequence[int], suits: Callable[[list[str]], bool]) -> Callable[[Head], Signs | None]:
    """Return the signs of a table without header: every line has one of these widths and suits."""

    def signs(head: Head) -> Signs | None:
        rows = _rows(head)
        return Signs(2, 2) if rows and all(len(row) in widths and suits(row) for row in rows) else None

    return signs


def _is_in(text: str, last: int) -> bool:
    return text.isascii() and text.isdigit() and int(text[:20]) <= last


def _are_digits(*fields: str) -> bool:
    return all(field.isascii() and field.isdigit() for field in fields)


def _share(text: str) -> bool:
    try:
        return not text or 0 <= float(text) <= 1
    except ValueError:
        return False


def _not_jobs(key: str, label: str, signs: Callable[[Head], Signs | None], holds: str) -> TraceFormat:
    why = f"it is {label}, which {holds}"
    return TraceFormat(key, label, signs, why=why, do="Give a file of task_events", source=SOURCE)


def _is_task_event(row: list[str]) -> bool:
    return _are_digits(row[0], row[2], row[3]) and _is_in(row[5], UPDATE_RUNNING) and not _are_digits(row[6])


def _is_job_event(row: list[str]) -> bool:
    return _are_digits(row[0], row[2]) and _is_in(row[3], UPDATE_RUNNING) and not _are_digits(row[4])


def _is_machine_event(row: list[str]) -> bool:
    known = _are_digits(row[0], row[1]) and _is_in(row[2], 2) and not _are_digits(row[3])
    return known and _share(row[4]) and _share(row[5])


def _is_usage(row: list[str]) -> bool:
    return _are_digits(*row[:4]) and int(row[0][:20]) < int(row[1][:20])


GOOGLE_2011 = TraceFormat(
    "google-2011",
    "Google 2011 task events",
    of_shape([13], _is_task_event),
    read_google2011,
    choices=("cancelled", "censored"),
    source=SOURCE,
)
GOOGLE_2011_OTHERS = (
    _not_jobs(
        "google-2011-job-events", "Google 2011 job_events", of_shape([8], _is_job_event),
        "says when jobs were submitted and ended, but not what they asked for",
    ),
    _not_jobs(
        "google-2011-machine-events", "Google 2011 machine_events", of_shape([6], _is_machine_event),
        "says when machines were added and removed, not which jobs ran",
    ),
    _not_jobs(
        "google-2011-task-usage", "Google 2011 task_usage", of_shape([19, 20], _is_usage),
        "holds samples of what tasks used, not when they were submitted",
    ),
    _not_jobs(
        "google-2011-schema",
        "Google 2011 schema",
        with_columns("file_pattern", "field_number", "content", "format", "mandatory"),
        "describes the columns of the trace",
    ),
)  # fmt: skip
