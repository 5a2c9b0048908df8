"""Traces of the Slurm simulator of the University at Buffalo: event files and job tables (CSV)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow.compute as pc

from dlsched.domain.errors import InputError
from dlsched.domain.slurm_notation import limit_s as parse_limit
from dlsched.domain.workload import Floats, Ints
from dlsched.workload.import_report import EXAMPLES, Example, Ledger, example_text
from dlsched.workload.readers.canonical import Draft, number, optional, required
from dlsched.workload.readers.convert import from_python, numbers, split_gpus, strings
from dlsched.workload.readers.formats import Head, Signs, TraceFormat, of_columns
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.slurm.constraints import features_of
from dlsched.workload.readers.slurm.tables import by_distinct
from dlsched.workload.readers.slurm.tres import parse_req_mem, tres_columns
from dlsched.workload.readers.source import TraceText
from dlsched.workload.readers.table import read_table, sniff

SOURCE = "https://github.com/ubccr-slurm-simulator/slurm_sim_tools"
UNTIL_LIMIT = -1
_EVENT = re.compile(r"\s*-dt\s+([\d.]{1,18})\s+-e\s+(\w+)\s*\|(.*)", re.DOTALL)
_OPTIONS = {
    "-jid": "jobid", "-sim-walltime": "run", "--uid": "user", "-t": "limit", "--time": "limit", "-n": "tasks",
    "--ntasks": "tasks", "--ntasks-per-node": "tasks_per_node", "-N": "nodes", "--nodes": "nodes",
    "-c": "cpus_per_task", "--cpus-per-task": "cpus_per_task", "-A": "account", "--account": "account",
    "-p": "partition", "--partition": "partition", "-q": "qos", "--qos": "qos", "-C": "features",
    "--constraint": "features", "--gres": "gres", "--mem": "mem", "--mem-per-cpu": "mem_per_cpu",
    "-d": "dependency", "--dependency": "dependency",
}  # fmt: skip
FIELDS = ("submit", *dict.fromkeys(_OPTIONS.values()), "cancelled")
CSV_COLUMNS = {
    "sim_job_id": "jobid", "sim_submit_ts": "submit", "sim_wclimit": "limit", "sim_duration": "run",
    "sim_tasks": "tasks", "sim_tasks_per_node": "tasks_per_node", "sim_cpus_per_task": "cpus_per_task",
    "sim_username": "user", "sim_account": "account", "sim_partition": "partition", "sim_qosname": "qos",
    "sim_features": "features", "sim_gres": "gres", "sim_req_mem": "mem", "sim_req_mem_per_cpu": "is_per_cpu",
    "sim_dependency": "dependency", "sim_cancelled_ts": "cancelled",
}  # fmt: skip


def read_events(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of an ``.events`` file: one ``submit_batch_job`` a line, times in seconds from its start.

    Other events are counted and dropped; a cancelled job keeps its run time, which is counted.
    """
    rows, lines, cancelled, others = list[dict[str, str]](), list[int](), set[str](), list[Example]()
    for line_number, line in enumerate(text.data.decode("utf-8", "replace").split("\n"), 1):
        found = _EVENT.fullmatch(line)
        if found and found[2] == "submit_batch_job":
            rows.append(_options(found[3]) | {"submit": found[1]})
            lines.append(line_number)
        elif found and found[2] == "cancel_job":
            cancelled.add(_options(found[3])["jobid"])
        elif line.strip() and not line.lstrip().startswith("#"):
            others.append(Example(line_number, example_text(line)))
    if not rows:
        raise InputError(f"events file {text.name}", "it submits no jobs", "Give a file with submit_batch_job events")
    line_of: Ints = np.array(lines, dtype=np.int64)
    ledger = Ledger(len(rows), lambda found: line_of[found], [row.get("jobid", "") for row in rows])
    ledger.lost(len(others), "line that submits no job", "Dropped", tuple(others[:EXAMPLES]))
    for row in rows:
        row["cancelled"] = "1" if row.get("jobid") in cancelled else ""
    column = {name: from_python([row.get(name, "") for row in rows]) for name in FIELDS}
    memory_mib = _memory(column["mem"], "n"), _memory(column["mem_per_cpu"], "c")
    return _draft(ledger, column, memory_mib, absolute=False)


def read_csv(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of a job table of the simulator; ``sim_wclimit`` is in minutes."""
    table = read_table(text, sniff(text.data), CSV_COLUMNS)
    ledger = table.ledger("sim_job_id")
    blank = from_python([""] * table.rows)
    column = {name: table.columns.get(old, blank) for old, name in CSV_COLUMNS.items()}
    amount, per_cpu = numbers(column["mem"]).values, numbers(column["is_per_cpu"]).values > 0
    memory_mib = np.where(per_cpu, np.nan, amount), np.where(per_cpu, amount, np.nan)
    return _draft(ledger, column | {"nodes": blank}, memory_mib, absolute=True)


def _options(text: str) -> dict[str, str]:
    """Return the options of a submission by meaning: '-n 12', '--uid=user5'."""
    words, found = text.split(), dict[str, str]()
    for position, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in _OPTIONS:
            following = words[position + 1] if position + 1 < len(words) else ""
            found[_OPTIONS[name]] = value if equals else following
    return {"jobid": ""} | found


def _memory(column: Any, per: str) -> Floats:
    return by_distinct(column, lambda value: parse_req_mem(value + per)[0])


def _draft(ledger: Ledger, column: Mapping[str, Any], memory_mib: tuple[Floats, Floats], *, absolute: bool) -> Draft:
    """Return the draft; ``memory_mib`` per node and per core, NaN where not asked for."""
    submit_s = number(ledger, column["submit"], "submit time")
    limit_s = by_distinct(column["limit"], parse_limit)
    run_s = required(ledger, numbers(column["run"]), "run time", column["run"])
    ledger.flag(run_s == UNTIL_LIMIT, "runs until its time limit", "Run time −1: the time limit is the run time")
    run_s = np.where(run_s == UNTIL_LIMIT, limit_s, run_s)
    ledger.repair(run_s == 0, "run time is 0 s", "Set to 1 s: the simulator starts the job")
    tasks = number(ledger, column["tasks"], "number of tasks")
    per_node, nodes, cores = (optional(ledger, numbers(column[name]), name, column[name])
                              for name in ("tasks_per_node", "nodes", "cpus_per_task"))  # fmt: skip
    nodes = np.where(
        nodes > 0, nodes, np.where(per_node > 0, np.ceil(tasks / np.where(per_node > 0, per_node, 1)), 1.0)
    )
    with np.errstate(over="ignore"):  # what no node has is told later, with the rest
        cpus = tasks * np.where(cores > 0, cores, 1.0)
    gres = tres_columns(column["gres"], gres=True)
    workers, per_worker = split_gpus(gres.gpus * nodes)
    workers = np.where(gres.gpus == 0, nodes, workers)
    mem_mib = np.where(np.isnan(memory_mib[1]), memory_mib[0] * nodes, memory_mib[1] * cpus)
    some = np.maximum(workers, 1)  # a job without workers is left out later, with its reason
    _count_what_is_left_out(ledger, column)
    return Draft(
        ledger,
        submit_s,
        np.where(run_s == 0, 1.0, run_s),
        workers,
        per_worker,
        texts={"job_id": strings(column["jobid"]), "user": column["user"], "group": column["account"],
               "job_class": column["qos"], "partition": column["partition"],
               "gpu_types": from_python(gres.gpu_types),
               "features": from_python(features_of(ledger, column["features"]))},
        floats={"cpus_per_worker": cpus / some, "mem_gib_per_worker": np.nan_to_num(mem_mib) / 1024 / some,
                "limit_s": limit_s},
        absolute=absolute,
        meta={"time_zone": "UTC"} if absolute else {},
        assumptions=["The jobs are requests for a simulator: no starts are recorded, so no waits can be compared"],
    )  # fmt: skip


def _count_what_is_left_out(ledger: Ledger, column: Mapping[str, Any]) -> None:
    depends = np.asarray(pc.not_equal(strings(column["dependency"]), "").to_numpy(zero_copy_only=False), dtype=bool)
    rule = "Dependencies are not modelled: the job arrives when submitted"
    ledger.not_modelled(depends, "job depends on another", rule, column["dependency"])
    cancelled = np.nan_to_num(numbers(column["cancelled"]).values) > 0
    ledger.not_modelled(cancelled, "job is cancelled in the trace", "It keeps its run time")


def _signs(head: Head) -> Signs | None:
    events = sum(_EVENT.fullmatch(line) is not None for line in head.lines)
    return Signs(2, 2) if head.lines and events > 0.5 * len(head.lines) else None


UB_EVENTS = TraceFormat("ub-events", "UB Slurm simulator events", _signs, read_events, source=SOURCE)
UB_CSV = TraceFormat("ub-csv", "UB Slurm simulator job table", of_columns("sim_job_id", "sim_submit_ts", "sim_wclimit",
                     "sim_duration", "sim_tasks"), read_csv, source=SOURCE)  # fmt: skip
