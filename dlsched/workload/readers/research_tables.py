"""Job tables of the simulators Tiresias (seconds), Muri (milliseconds) and Pollux or Sia (no run times)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats
from dlsched.workload.readers.canonical import Draft, number, optional
from dlsched.workload.readers.convert import from_python, numbers, split_gpus, strings, texts
from dlsched.workload.readers.formats import Head, NotJobs, Signs, TraceFormat
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.source import TraceText
from dlsched.workload.readers.table import Table, need_columns, read_table, sniff

COLUMNS = ("job_id", "num_gpu", "submit_time", "start_time", "duration", "model_name", "batch_size", "priority")
NEEDED = ("job_id", "num_gpu", "submit_time", "duration")
POLLUX_COLUMNS = ("name", "time", "application", "num_replicas")
MURI_CLASS = {0.0: "guaranteed", 1.0: "opportunistic"}
OTHERS = "others"
"""Key of ``run_times`` for every application that has no own one."""


def read_tiresias(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of a Tiresias job table: GPUs of the whole job, seconds."""
    return _draft(_table(text), 1.0)


def read_muri(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of a Muri job table: as Tiresias, in milliseconds; priority 1 is an opportunistic job."""
    table = _table(text)
    draft = _draft(table, 1e-3)
    if "priority" in table.columns:
        codes = numbers(table.columns["priority"]).values
        draft.texts["job_class"] = from_python([MURI_CLASS.get(code, "") for code in codes.tolist()])
    draft.assumptions.insert(0, "Times are milliseconds, as Muri's simulator reads them")
    return draft


def read_pollux(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of a Pollux or Sia workload; the user states run times by application.

    Raises
    ------
    NotJobs
        No run times are given: they come from profiles of the applications, which the file does not have.
    """
    if not options.run_times:
        why = "it is a workload of Pollux or Sia, which gives applications and no run times"
        do = (
            "State a run time in seconds for each application (reading choice run_times, as in "
            f"cifar10:1800,bert:7200,{OTHERS}:3600)"
        )
        raise NotJobs(f"file {text.name}", why, do, POLLUX_LABEL, needs="run_times")
    wrong = [f"{name}:{seconds:g}" for name, seconds in options.run_times.items() if not seconds > 0]
    if wrong:
        raise InputError(f"run_times, {wrong[0]}", "must be above 0 s", "Correct it")
    table = _table(text, POLLUX_COLUMNS, POLLUX_COLUMNS)
    ledger, column = table.ledger("name"), table.columns
    applications = texts(strings(column["application"]))
    default = options.run_times.get(OTHERS, np.nan)
    stated = {name: options.run_times.get(name, default) for name in set(applications)}
    run_s = np.array([stated[name] for name in applications], dtype=np.float64)
    rule = "Dropped: no run time is stated for its application"
    ledger.drop(np.isnan(run_s), "run time of the application unknown", rule, column["application"])
    workers, per_worker = split_gpus(number(ledger, column["num_replicas"], "number of replicas"))
    listed = ", ".join(f"{name} {seconds:g} s" for name, seconds in options.run_times.items())
    return Draft(
        ledger, number(ledger, column["time"], "submission time"), run_s, workers, per_worker,
        texts={"job_id": column["name"], "model": column["application"], "job_class": column["application"]},
        assumptions=[f"Run times stated by the user, by application: {listed}", "A replica has one GPU"],
    )  # fmt: skip


def _table(text: TraceText, wanted: Sequence[str] = COLUMNS, needed: Sequence[str] = NEEDED) -> Table:
    dialect = sniff(text.data)
    need_columns(dialect.header, needed, f"job table {text.name}")
    return read_table(text, dialect, wanted)


def _draft(table: Table, seconds: float) -> Draft:
    ledger, column = table.ledger("job_id"), table.columns
    workers, per_worker = split_gpus(number(ledger, column["num_gpu"], "GPU count"))
    submit_s = number(ledger, column["submit_time"], "submission time") * seconds
    names = {"job_id": column["job_id"]}
    floats: dict[str, Floats] = {}
    if "model_name" in column:
        names["model"] = pc.utf8_trim_whitespace(column["model_name"])
    if "start_time" in column:
        start_s = optional(ledger, numbers(column["start_time"]), "start time", column["start_time"]) * seconds
        floats["recorded_start_s"] = np.where(start_s > 0, start_s, np.nan)
    run_s = number(ledger, column["duration"], "duration") * seconds
    return Draft(ledger, submit_s, run_s, workers, per_worker, names, floats)


# ---- signs -----------------------------------------------------------------------------------------

JOB_NAMES = {"job_id", "num_gpu", "submit_time", "duration", "model_name"}
MURI_NAMES = {"iterations", "iteration_time", "resource_time_0"}


def _tiresias(head: Head) -> Signs | None:
    names = head.columns
    has_steps = "aggr_interval" in names or names.issuperset({"iterations", "interval"})
    return Signs(6, 6) if names.issuperset(JOB_NAMES) and has_steps and not names.issuperset(MURI_NAMES) else None


def _muri(head: Head) -> Signs | None:
    return Signs(8, 8) if head.columns.issuperset(JOB_NAMES | MURI_NAMES) else None


def _pollux(head: Head) -> Signs | None:
    names = {"name", "time", "application", "num_replicas", "batch_size"}
    return Signs(5, 5) if names <= head.columns and not {"duration", "run_time"} & head.columns else None


POLLUX_LABEL = "Pollux or Sia workload"
TIRESIAS = TraceFormat(
    "tiresias", "Tiresias job table", _tiresias, read_tiresias, source="github.com/SymbioticLab/Tiresias, simulator"
)
MURI = TraceFormat("muri", "Muri job table", _muri, read_muri, source="github.com/Rivendile/Muri, simulator/jobs.py")
POLLUX = TraceFormat(
    "pollux",
    POLLUX_LABEL,
    _pollux,
    read_pollux,
    choices=("run_times",),
    source="github.com/petuum/adaptdl, benchmark; github.com/siasosp23/artifacts",
)
