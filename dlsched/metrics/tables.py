"""The tables of one run: jobs, segments, nodes, decisions, waits, groups, machines rented, and all of it over time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dlsched.domain.counted import counted_capacity
from dlsched.domain.plan import WaitReason
from dlsched.domain.policy import EventKind
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import CPU, GPU, MEM, Floats
from dlsched.metrics.billing import stay_usd, usd_per_h
from dlsched.metrics.run_facts import RunFacts
from dlsched.metrics.step_functions import accrued, count_after, sum_after, thin
from dlsched.sim.log import JobStatus, PieceEnd, RunLog

JOB_TEXTS = ("user", "group", "job_class", "partition", "model")
JOB_COLUMNS: dict[str, Callable[[RunFacts], Any]] = {
    "job_id": lambda facts: facts.jobs.job_id,
    "submit_s": lambda facts: facts.jobs.submit_s,
    "first_start_s": lambda facts: facts.log.job_first_start_s,
    "completion_s": lambda facts: np.where(facts.completed, facts.log.job_end_s, np.nan),
    "status": lambda facts: names(JobStatus, facts.log.job_status),
    "gpus": lambda facts: facts.jobs.gpus,
    "wait_s": lambda facts: facts.wait_s,
    "jct_s": lambda facts: facts.jct_s,
    "tardiness_s": lambda facts: facts.tardiness_s,
    "cost": lambda facts: _known(facts, None if facts.bill is None else facts.bill.job_usd),
    "utility": lambda facts: _known(facts, facts.utility),
    "run_s": lambda facts: facts.run_s,
    "not_running_s": lambda facts: facts.not_running_s,
    "left_s": lambda facts: facts.log.job_end_s,
    "due_s": lambda facts: _known(facts, facts.jobs.due_s),
    "tardiness_usd": lambda facts: _known(facts, facts.tardiness_usd),
    "slowdown": lambda facts: facts.slowdown,
    "gpu_s": lambda facts: facts.per_job(facts.piece_held * facts.piece_length_s),
    "preemptions": lambda facts: facts.per_job(facts.log.piece_end == PieceEnd.PREEMPTED).astype(np.int64),
    "resizes": lambda facts: facts.per_job(facts.log.piece_end == PieceEnd.RESIZED).astype(np.int64),
    "restarts": lambda facts: facts.per_job(facts.piece_is_restart).astype(np.int64),
    "row": lambda facts: np.arange(len(facts.jobs)),
    "cpus": lambda facts: facts.jobs.requested[:, CPU],
    "mem_gib": lambda facts: facts.jobs.requested[:, MEM],
}
"""Columns of the table of jobs, one by one: of a million jobs each takes 8 MB."""


def _known(facts: RunFacts, values: Floats | None) -> Floats:
    """Return a column, or NaN for all jobs, which takes no memory."""
    return np.broadcast_to(np.nan, len(facts.jobs)) if values is None else values


def jobs_of(facts: RunFacts) -> pd.DataFrame:
    """Return one row a job, in the order of the workload.

    Seconds and dollars; NaN where undefined. ``cost`` is the job's part of the machine bill; ``completion_s`` is set
    for completed jobs only, ``left_s`` when a job left the system in whatever way. Text columns (user, group,
    job_class, partition, model) are there where the workload has them. ``gpus``, ``cpus``, ``mem_gib`` are what the job
    requests, servers included; ``gpu_s`` is the time of the counted resource it held: GPU-seconds or core-seconds.
    ``energy_kwh``, ``energy_usd`` and ``carbon_kg`` are there where the scenario gives what they follow from.
    """
    columns = {name: column(facts) for name, column in JOB_COLUMNS.items()} | _energy_of_jobs(facts)
    columns |= {name: values for name in JOB_TEXTS if (values := getattr(facts.jobs, name)) is not None}
    return _frame(columns)


def some_of_jobs(facts: RunFacts, columns: Iterable[str]) -> pd.DataFrame:
    """Return columns of :func:`jobs_of`, and those of energy, to be read only: they are the arrays of the run."""
    values = {name: JOB_COLUMNS[name](facts) for name in columns} | _energy_of_jobs(facts)
    # pandas would write texts of its own, which takes longer than all that is done with them
    given = {name: pd.Series(of, dtype=object, copy=False) if of.dtype == object else of for name, of in values.items()}
    return pd.DataFrame(given, copy=False)


def _energy_of_jobs(facts: RunFacts) -> dict[str, Any]:
    """Return the columns of energy that there are."""
    if (drawn := facts.energy) is None:
        return {}
    columns = {"energy_kwh": drawn.job_kwh, "energy_usd": drawn.job_usd, "carbon_kg": drawn.job_kg}
    return {name: values for name, values in columns.items() if values is not None}


def segments_of(facts: RunFacts) -> pd.DataFrame:
    """Return one row for each node a piece of a job holds: from, to, what, at which rate, why it ended."""
    log, piece, held = facts.log, facts.piece_of_share, facts.share_held
    return _frame(
        {
            "job_id": facts.jobs.job_id[log.piece_row[piece]],
            "node": log.share_node,
            "start_s": log.piece_start_s[piece],
            "end_s": log.piece_end_s[piece],
            "workers": log.share_workers,
            "servers": log.share_servers,
            "gpus": held[:, GPU],
            "rate": log.piece_rate[piece],
            "piece": piece,
            "row": log.piece_row[piece],
            "end_reason": names(PieceEnd, log.piece_end[piece]),
            "progress_from_s": log.piece_progress_from_s[piece],
            "cpus": held[:, CPU],
            "mem_gib": held[:, MEM],
        }
    )


def nodes_of(facts: RunFacts) -> pd.DataFrame:
    """Return one row for each billed stay of a node: from, to, VM type, bill (NaN without a price)."""
    stays, cluster = facts.stays, facts.scenario.cluster
    vm_names = np.array([vm.name for vm in cluster.vm_types], dtype=object)
    return pd.DataFrame(
        {
            "node": stays.node,
            "vm_type": vm_names[stays.vm],
            "start_s": stays.start_s,
            "end_s": stays.end_s,
            "cost": stay_usd(facts.scenario, stays),
            "usd_per_h": usd_per_h(cluster)[stays.vm],
        }
    )


def decisions_table(log: RunLog) -> pd.DataFrame:
    """Return one row for each call of the policy; ``cause`` in words ("completion + arrival")."""
    codes, at = np.unique(log.decision_cause, return_inverse=True)
    words = np.array([_cause(int(code)) for code in codes], dtype=object)
    return _frame(
        {
            "time_s": log.decision_s,
            "cause": words[at] if len(codes) else np.array([], dtype=object),
            "cpu_s": log.decision_cpu_s,
            "status": log.decision_status,
            "objective": log.decision_objective,
            "bound": log.decision_bound,
            "note": log.decision_note,
        }
    )


def waits_of(facts: RunFacts) -> pd.DataFrame:
    """Return one row for each span in which a job waited for a recorded reason.

    A span ends with the job's next recorded reason, its next start, or its end; ``reason`` is the lower-case name of
    a WaitReason. Nothing is filled in where the policy recorded nothing.
    """
    log = facts.log
    told, entries = np.zeros(len(facts.jobs), dtype=bool), len(log.wait_row)
    told[log.wait_row] = True
    ends, starts = np.flatnonzero(told & ~np.isnan(log.job_end_s)), np.flatnonzero(told[log.piece_row])
    row = np.concatenate([log.wait_row, log.piece_row[starts], ends])
    time_s = np.concatenate([log.wait_from_s, log.piece_start_s[starts], log.job_end_s[ends]])
    # At one instant a wait comes before the start that ends it; such a wait has no length and is left out.
    kind = np.repeat([0, 1, 2], [entries, len(starts), len(ends)])
    order = np.lexsort((kind, time_s, row))
    same_job = row[order] == np.roll(row[order], -1)
    same_job[-1:] = False
    to_s = np.empty(len(order))
    to_s[order] = np.where(same_job, np.roll(time_s[order], -1), log.end_s)
    lasts = to_s[:entries] > log.wait_from_s
    waited = log.wait_row[lasts]
    frame = _frame(
        {
            "job_id": facts.jobs.job_id[waited],
            "row": waited,
            "from_s": log.wait_from_s[lasts],
            "to_s": to_s[:entries][lasts],
            "reason": names(WaitReason, log.wait_reason[lasts]),
        }
    )
    return frame.sort_values(["row", "from_s"], ignore_index=True)


def _frame(columns: Mapping[str, Any]) -> pd.DataFrame:
    """Return a table of copies of these columns, each on its own: one block of all takes pandas five times as long."""
    return pd.DataFrame({name: np.array(values) for name, values in columns.items()}, copy=False)


def names(kind: type[IntEnum], codes: NDArray[np.integer[Any]]) -> NDArray[np.object_]:
    """Return the lower-case names of codes."""
    words = np.array([member.name.lower() for member in kind], dtype=object)
    return np.asarray(words[codes])


def _cause(code: int) -> str:
    kinds = [kind.name.lower().replace("_", " ") for kind in EventKind if kind.name and code & kind]
    return " + ".join(kinds)


# ---- machines rented ----------------------------------------------------------------------------------


def bill_by_machine(stays: pd.DataFrame, segments: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each machine type that was paid for, most expensive first.

    Parameters
    ----------
    stays
        Billed stays: vm_type, gpu_type, gpus (of the machine), start_s, end_s, cost ($, NaN without a price).
    segments
        What jobs held: vm_type, gpus, start_s, end_s.

    Returns
    -------
    pd.DataFrame
        vm_type, gpu_type, gpus, stays (how often it was opened), hours, gpu_hours, gpu_hours_held, cost.
    """
    hours = (stays["end_s"] - stays["start_s"]) / HOUR_S
    paid = stays.assign(hours=hours, gpu_hours=hours * stays["gpus"], stays=1)
    table = paid.groupby("vm_type", sort=True).agg(
        gpu_type=("gpu_type", "first"),
        gpus=("gpus", "first"),
        stays=("stays", "sum"),
        hours=("hours", "sum"),
        gpu_hours=("gpu_hours", "sum"),
    )
    table["cost"] = paid.groupby("vm_type")["cost"].sum(min_count=1)
    held = (segments["end_s"] - segments["start_s"]) * segments["gpus"] / HOUR_S
    by_type = held.groupby(segments["vm_type"]).sum()
    table.insert(5, "gpu_hours_held", by_type.reindex(table.index).fillna(0.0).astype(float))
    order = np.argsort(-table["cost"].fillna(0.0).to_numpy(), kind="stable")
    return table.iloc[order].reset_index()


def late_by_cost(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the late jobs of a jobs table, most expensive first (latest first where lateness has no price)."""
    late = jobs[jobs["tardiness_s"] > 0]
    weighed = bool(late["tardiness_usd"].notna().any())
    by = ["tardiness_usd", "tardiness_s"] if weighed else ["tardiness_s"]
    return late.sort_values(by, ascending=False, kind="stable")


# ---- over time ----------------------------------------------------------------------------------------


MOST_POINTS = 2_000


def series_of(facts: RunFacts, most_points: int = MOST_POINTS) -> pd.DataFrame:
    """Return the state after each event, thinned to ``most_points`` rows.

    Columns: time_s, gpus_held, gpus_up (of the counted resource: cores where no GPU counts), waiting, running (each
    holds until the next row), and, growing to their totals, cost_usd, tardiness_usd, utility (NaN where undefined).
    Thinning keeps, for each of the four states, the least
    and the greatest value of every time bin. A job's tardiness cost counts from when it left, at the latest from the
    end of the run.
    """
    log, jobs = facts.log, facts.jobs
    event_s = [jobs.submit_s, log.piece_start_s, log.piece_end_s, facts.left_s, facts.up.start_s, facts.up.end_s]
    at_s = np.unique(np.concatenate([*event_s, [log.start_s, log.end_s]]))
    at_s = at_s[(at_s >= log.start_s) & (at_s <= log.end_s)]
    vm_units = counted_capacity(facts.scenario.cluster, facts.scenario.counted)[facts.up.vm]
    held = sum_after(log.piece_start_s, facts.piece_held, at_s) - sum_after(log.piece_end_s, facts.piece_held, at_s)
    up = sum_after(facts.up.start_s, vm_units, at_s) - sum_after(facts.up.end_s, vm_units, at_s)
    running = count_after(log.piece_start_s, at_s) - count_after(log.piece_end_s, at_s)
    waiting = count_after(jobs.submit_s, at_s) - count_after(log.job_end_s, at_s) - running
    states = {"gpus_held": np.round(held, 9), "gpus_up": up, "waiting": waiting, "running": running}
    # The last instant shows the state just before the run ended, not machines that are given back.
    if len(at_s) > 1:
        states = {name: np.append(values[:-1], values[-2]) for name, values in states.items()}
    keep = thin(at_s, list(states.values()), most_points)
    at_s = at_s[keep]
    cost_usd = np.full(len(at_s), np.nan)
    if facts.bill is not None:
        cost_usd = accrued(facts.stays.start_s, facts.stays.end_s, facts.bill.stay_usd, at_s)
    return pd.DataFrame(
        {
            "time_s": at_s,
            **{name: values[keep] for name, values in states.items()},
            "cost_usd": cost_usd,
            "tardiness_usd": _at_leaving(facts, facts.tardiness_usd, at_s),
            "utility": _at_leaving(facts, facts.utility, at_s),
        }
    )


def _at_leaving(facts: RunFacts, amount: np.ndarray | None, at_s: np.ndarray) -> np.ndarray:
    if amount is None:
        return np.full(len(at_s), np.nan)
    return sum_after(facts.left_s, np.nan_to_num(amount), at_s)
