"""From the columns of sacct, as text or from its JSON, to the draft of a workload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow.compute as pc

from dlsched.domain.errors import InputError
from dlsched.domain.names import first_of
from dlsched.domain.workload import Floats, Texts
from dlsched.workload.import_report import Bools, Ledger
from dlsched.workload.readers.canonical import YEAR_S, Draft, iso_time, optional, required
from dlsched.workload.readers.convert import bools, clock_spans, from_python, numbers, strings, texts
from dlsched.workload.readers.exports import SACCT_COMMAND
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.slurm import job_numbers, times
from dlsched.workload.readers.slurm.constraints import features_of
from dlsched.workload.readers.slurm.demand import demand_of
from dlsched.workload.readers.slurm.gangs import join_components
from dlsched.workload.readers.slurm.states import CANNOT_START, CUT_SHORT, HELD, RUNNING, WAITING, state_of
from dlsched.workload.readers.slurm.tables import Columns, distinct
from dlsched.workload.readers.slurm_settings.found import partitions_with_limits
from dlsched.workload.readers.waiting import KEPT_RULE, NEVER_STARTED_RULE, status_of

WANTED = (
    "jobid", "jobidraw", "jobname", "user", "account", "group", "partition", "qos", "state", "submit", "eligible",
    "start", "end", "elapsed", "elapsedraw", "nnodes", "allocnodes", "ncpus", "alloccpus", "reqcpus", "reqmem",
    "reqtres", "alloctres", "reqgres", "allocgres", "timelimit", "timelimitraw", "nodelist", "priority", "suspended",
    "constraints", "cluster", "reason",
)  # fmt: skip
NEEDED = (
    ("jobid", "jobidraw"),
    ("submit", "eligible", "start"),
    ("elapsedraw", "elapsed", "end"),
    ("alloctres", "reqtres", "allocgres", "reqgres", "ncpus", "alloccpus", "reqcpus"),
)
NO_NODES = {"", "none assigned", "(null)", "none", "unknown", "n/a"}


def columns_of(raw: Mapping[str, Any], rows: int, what: str) -> Columns:
    """Return the columns of a file; InputError names one without which no job can be read."""
    for names in NEEDED:
        if not set(names) & set(raw):
            why = f"the column {' or '.join(names)} is missing; the file has: {', '.join(list(raw)[:25])}"
            raise InputError(what, why, f"Export with {SACCT_COMMAND}")
    blank = from_python([""] * rows)
    return Columns(frozenset(raw), {name: raw.get(name, blank) for name in WANTED})


def draft_of(ledger: Ledger, columns: Columns, options: ReadOptions, what: str, zone: str) -> Draft:
    """Return the draft of the jobs of sacct.

    A job has started if NodeList names a node and Start is given; never-started jobs are dropped and counted, unless
    they are pending and ``options.pending`` keeps those, or left and ``options.never_started`` keeps these. Started
    jobs with a run time of 0 s run for 1 s. GPUs, cores and memory are those of AllocTRES, else those asked for. A GPU
    type that was asked for is a constraint; one that was merely given is not.
    """
    ids, from_steps = _jobs_of_steps(ledger, strings(columns.first_of("jobid", "jobidraw")), what)
    state = _states(columns["state"])
    _drop_waiting(ledger, ids, state, options)
    start_s, end_s = (optional(ledger, times.instants(columns[c]), c, columns[c]) for c in ("start", "end"))
    run_s = times.run_s(ledger, columns["elapsedraw"], columns["elapsed"], start_s, end_s)
    run_s = _run_of_running(ledger, ids, state, run_s, start_s, end_s, options)
    nodes = _node_lists(columns["nodelist"])
    waits: Bools = np.isin(state.astype(str), WAITING) if options.pending == "keep" else np.zeros(len(state), bool)
    started, why_not = _started(ledger, state, start_s, run_s, nodes)
    never: Bools = ~started & ~waits
    asked_s = required(ledger, times.instants(columns.first_of("submit", "eligible", "start")), "submit time",
                       columns.first_of("submit", "eligible", "start"))  # fmt: skip
    has_submit = bool({"submit", "eligible"} & columns.have) and not from_steps
    eligible_s = times.instants(columns["eligible"]).values
    held_s = np.nan_to_num(np.fmax(eligible_s - asked_s, 0.0))
    arrive_s = asked_s + (held_s if options.arrival == "eligible" else 0.0)
    if options.never_started == "leave-out" or not has_submit:
        ledger.drop(never, "job never started", why_not, ids, unreadable=False)
    queued: Bools = end_s > arrive_s
    if "eligible" in columns.have:
        queued &= ~np.isnan(eligible_s)
    rule = "Dropped: it was held back until it left, or has no end"
    ledger.drop(never & ~queued, "job never started and was never in the queue", rule, ids, unreadable=False)
    ledger.repair((run_s == 0) & ~waits & ~never, "run time is 0 s, but the job started", "Set to 1 s", ids)
    demand = demand_of(ledger, columns)
    _flag_peculiar(ledger, columns, ids, state, held_s, options)
    limit_s = times.fill_limits(
        ledger, times.limits_s(columns["timelimitraw"], columns["timelimit"]), columns["partition"],
        partitions_with_limits(options),
    )  # fmt: skip
    written: dict[str, str] = {}
    if waits.any():
        ledger.flag(waits, "job was pending", KEPT_RULE, ids)
        run_s = np.where(waits, np.where(np.isnan(limit_s), YEAR_S, limit_s.clip(max=YEAR_S)), run_s)
        start_s, end_s = np.where(waits, np.nan, start_s), np.where(waits, np.nan, end_s)
        known_s = np.concatenate([asked_s, start_s, end_s])
        written = {"snapshot": iso_time(float(np.max(known_s, where=np.isfinite(known_s), initial=0.0)))}
    # How long a job that left would have run is unknown. It ends when it left, or at its limit.
    left_after_s = np.where(never & queued, end_s - arrive_s, np.nan)
    ledger.flag(never, "job never started", NEVER_STARTED_RULE, ids)
    run_s, start_s = np.where(never, np.fmin(limit_s, left_after_s), run_s), np.where(never, np.nan, start_s)
    recorded = {
        "recorded_start_s": start_s, "recorded_end_s": end_s, "held_s": held_s, "cancel_after_s": left_after_s,
    } if has_submit else {}  # fmt: skip
    statuses = _statuses(state, waits, columns["reason"])
    draft = Draft(
        ledger,
        arrive_s,
        np.where(run_s == 0, 1.0, run_s),
        demand.workers,
        demand.gpus_per_worker,
        texts={"job_id": ids, "user": columns["user"], "group": columns.first_of("account", "group"),
               "job_class": columns["qos"], "partition": columns["partition"],
               "gpu_types": from_python(demand.gpu_types),
               "features": from_python(features_of(ledger, columns["constraints"])),
               "recorded_status": from_python(statuses),
               "recorded_nodes": from_python(np.where(never, "", nodes))},
        floats={"cpus_per_worker": demand.cpus / demand.workers, "mem_gib_per_worker": demand.mem_gib / demand.workers,
                "limit_s": limit_s, "priority": numbers(columns["priority"]).values, **recorded},
        absolute=True,
        meta={"time_zone": zone, **written},
        assumptions=_assumptions(options, state, columns, from_steps=from_steps),
        gpu_types_used=from_python(demand.gpu_types_used),
        is_window=True,
    )  # fmt: skip
    join_components(draft, ids)
    return draft


# ---- which rows are jobs that ran ------------------------------------------------------------------


def _states(column: Any) -> Texts:
    values, which = distinct(column)
    return np.array([state_of(value) for value in values], dtype=object)[which]


def _jobs_of_steps(ledger: Ledger, ids: Any, what: str) -> tuple[Any, bool]:
    """Drop the steps of jobs; return the job numbers and whether the jobs were rebuilt from their steps.

    A job's own row has its total time. In a file of steps alone, a job is its .extern step, else its .batch step:
    these span the allocation.

    Raises
    ------
    InputError
        The file holds only steps of other kinds.
    """
    step = bools(pc.match_substring_regex(ids, job_numbers.STEP))
    if not (step & ledger.alive).any():
        return ids, False
    if not step[ledger.alive].all():
        own = set(texts(ids)[~step & ledger.alive])
        told = step.copy()
        told[step] = [name.partition(".")[0] in own for name in texts(ids)[step]]
        ledger.drop(told, "job step", "Dropped: the job's own row has the total time", ids, unreadable=False)
        rule = "Dropped: the file has no row of the whole job; export it with -X"
        ledger.drop(step, "job step without its job", rule, ids, unreadable=False)
        return ids, False
    parts = [name.partition(".") for name in texts(ids)]
    jobs = np.array([job for job, _, _ in parts], dtype=object)
    extern = np.array([kind == "extern" for _, _, kind in parts]) & ledger.alive
    batch = np.array([kind == "batch" for _, _, kind in parts]) & ledger.alive
    whole = extern | (batch & ~np.isin(jobs.astype(str), jobs[extern].astype(str)))
    if not whole.any():
        why = f"it holds {int(step.sum()):,} job steps, but no row of a whole job and no .extern or .batch step"
        raise InputError(what, why, f"Export whole jobs (-X): {SACCT_COMMAND}")
    rule = "Dropped: the job is rebuilt from its .extern step, else from its .batch step"
    ledger.drop(~whole, "job step", rule, ids, unreadable=False)
    ledger.repair(whole, "job without a row of its own", "Rebuilt from its .extern or .batch step", ids)
    return from_python(jobs), True


def _drop_waiting(ledger: Ledger, ids: Any, state: Texts, options: ReadOptions) -> None:
    array = bools(pc.match_substring_regex(ids, job_numbers.PENDING_ARRAY)) & ledger.alive
    if array.any():
        tasks = sum(job_numbers.parse_job_number(name).tasks or 0 for name in texts(ids)[array])
        rule = f"Dropped: these rows stand for {tasks:,} array tasks that have not started"
        ledger.drop(array, "pending part of a job array", rule, ids, unreadable=False)
    if options.pending == "leave-out":
        waiting = np.isin(state.astype(str), WAITING)
        ledger.drop(waiting, "job was pending", "Dropped: it never ran", ids, unreadable=False)
    if options.cancelled == "drop":
        rule = "Dropped as asked: cancelled = drop"
        ledger.drop(state == "cancelled", "job was cancelled", rule, ids, unreadable=False)


def _run_of_running(
    ledger: Ledger, ids: Any, state: Texts, run_s: Floats, start_s: Floats, end_s: Floats, options: ReadOptions
) -> Floats:
    """Return run times with those of running jobs up to the last time in the log, where no elapsed time is given."""
    running: Bools = np.isin(state.astype(str), RUNNING) & (np.isnan(end_s) | (state == "running"))
    if options.censored == "drop":
        ledger.drop(running, "job was running", "Dropped as asked: censored = drop", ids, unreadable=False)
        return run_s
    rule = "Kept with the run time observed so far, which is a lower bound"
    ledger.flag(running, "job was still running at export", rule, ids)
    open_end = running & np.isnan(run_s) & ~np.isnan(start_s)
    if not open_end.any():
        return run_s
    log_end_s = max(np.nanmax(start_s), np.nanmax(np.append(end_s, -np.inf)))
    ledger.repair(open_end, "running job without elapsed time", "Counted up to the last time in the log", ids)
    return np.where(open_end, log_end_s - start_s, run_s)


def _node_lists(column: Any) -> Texts:
    values, which = distinct(column)
    return np.array(["" if value.lower() in NO_NODES else value for value in values], dtype=object)[which]


def _statuses(state: Texts, waits: Bools, reason: Any) -> Texts:
    """Return the states, of jobs that wait with the reason where the file gives one."""
    if not waits.any():
        return state
    words = [word.strip() for word in texts(reason)]
    held = np.isin([word.lower() for word in words], CANNOT_START) | np.isin(state.astype(str), HELD)
    told = [status_of(word, held=bool(is_held)) for word, is_held in zip(words, held, strict=True)]
    return np.where(waits, np.array(told, dtype=object), state)


def _started(ledger: Ledger, state: Texts, start_s: Floats, run_s: Floats, nodes: Texts) -> tuple[Bools, str]:
    """Return which jobs have a node and a start, or where no row names a node a run time; and the rule for others."""
    named = nodes != ""
    if (named & ledger.alive).any():
        return named & ~np.isnan(start_s), "Dropped: no node was assigned, or it has no start"
    rule = "Dropped: it has no start, or a run time of 0 s (the file names no nodes)"
    return ~np.isnan(start_s) & ((run_s > 0) | (state == "running")), rule


# ---- what is said about them -------------------------------------------------------------------------


def _flag_peculiar(
    ledger: Ledger, columns: Columns, ids: Any, state: Texts, held_s: Floats, options: ReadOptions
) -> None:
    rule = "Its run time is a lower bound: the job would have run longer"
    ledger.flag(np.isin(state.astype(str), CUT_SHORT), "stopped by preemption, requeue or a node", rule, ids)
    suspended = (np.nan_to_num(clock_spans(columns["suspended"]).values) > 0) | (state == "suspended")
    rule = "The run time is Elapsed, which leaves out the time it was suspended"
    ledger.not_modelled(suspended, "job was suspended", rule, ids)
    if options.arrival == "eligible":
        rule = "The job arrives when it becomes eligible; what it waited for is not modelled"
    else:
        rule = "Dependencies are not modelled: as asked, the job arrives when submitted"
    ledger.not_modelled(held_s > 0, "held back by a dependency or hold (Eligible after Submit)", rule, ids)
    clusters = sorted({str(name) for name in distinct(columns["cluster"])[0]} - {""})
    if len(clusters) > 1:
        ledger.notes.append(f"Jobs of {len(clusters):,} clusters in one file: {first_of(clusters, 5)}")


def _assumptions(options: ReadOptions, state: Texts, columns: Columns, *, from_steps: bool) -> list[str]:
    notes = []
    if from_steps:
        notes.append("The file holds only job steps: submissions are unknown, jobs arrive when they started, and "
                     "recorded waits cannot be compared")  # fmt: skip
    elif not {"submit", "eligible"} & columns.have:
        notes.append("The file has no submission times: jobs arrive when they started, and recorded waits cannot be "
                     "compared")  # fmt: skip
    elif options.arrival == "eligible":
        notes.append("Jobs arrive when dependencies and holds let them run (Eligible), not when they are submitted")
    if "nodelist" not in columns.have:
        notes.append("The file has no NodeList: jobs with a run time of 0 s count as never started")
    if "reqgres" in columns.have and not {"alloctres", "reqtres"} & columns.have:
        notes.append("ReqGRES is counted per node, as sbatch --gres is")
    if options.cancelled == "keep" and (state == "cancelled").any():
        notes.append("Cancelled jobs keep their recorded run time")
    if options.censored == "keep" and (state == "running").any():
        notes.append("Jobs still running at export keep the run time observed so far")
    return notes
