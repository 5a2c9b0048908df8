"""Whether the columns of a log are well-formed; every other rule relies on it."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.plan import WaitReason
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import RESOURCES
from dlsched.sim.audit.findings import Findings
from dlsched.sim.log import JobStatus, PieceEnd, RunLog

TABLES = {
    "piece": (
        *("row", "start_s", "end_s", "workers", "servers"),
        *("rate", "restart_rate", "progress_from_s", "end", "lost_work", "blocked"),
    ),
    "share": ("node", "workers", "servers"),
    "job": ("status", "first_start_s", "end_s"),
    "lease": ("node", "vm", "start_s", "end_s"),
    "decision": ("s", "cause", "cpu_s", "status", "objective", "bound", "note"),
    "wait": ("row", "from_s", "reason"),
}
MAY_BE_NAN = {"job_first_start_s", "job_end_s", "decision_cpu_s", "decision_objective", "decision_bound"}
MAY_BE_INFINITE = {"decision_objective", "decision_bound"}
MAY_BE_NEGATIVE = {"decision_objective", "decision_bound"}
CODES: dict[str, type[IntEnum]] = {"piece_end": PieceEnd, "job_status": JobStatus, "wait_reason": WaitReason}
LARGEST_CAUSE = 127


def check_columns(scenario: Scenario, log: RunLog, rows_expected: int | None, findings: Findings) -> bool:
    """Record malformed columns; return whether the other rules can be checked."""
    jobs = len(scenario.workload)
    if rows_expected is not None and rows_expected != jobs:
        findings.add(np.nan, f"the run has {jobs} jobs, expected {rows_expected}: no job may be lost")
    _check_lengths(log, jobs, findings)
    if not findings:
        _check_values(log, findings)
    if not findings:
        _check_numbers(scenario, log, findings)
    if not (np.isfinite(log.start_s) and np.isfinite(log.end_s) and log.start_s <= log.end_s):
        findings.add(np.nan, f"the run goes from {log.start_s:g} to {log.end_s:g} s: it must end after it starts")
    return not findings


def _check_lengths(log: RunLog, jobs: int, findings: Findings) -> None:
    expected = {table: len(getattr(log, f"{table}_{names[0]}")) for table, names in TABLES.items()}
    expected["job"] = jobs
    for table, names in TABLES.items():
        for name in names:
            length = len(getattr(log, f"{table}_{name}"))
            if length != expected[table]:
                findings.add(np.nan, f"column {table}_{name} has {length} entries, expected {expected[table]}")
    if np.shape(log.piece_blocked)[1:] != (len(RESOURCES),):
        findings.add(np.nan, f"column piece_blocked has the shape {np.shape(log.piece_blocked)}, one column a resource")
    first, shares = log.share_first, expected["share"]
    if len(first) != expected["piece"] + 1 or first[0] != 0 or first[-1] != shares:
        findings.add(np.nan, f"column share_first must lead from 0 to {shares} in {expected['piece'] + 1} entries")
    elif (bad := np.flatnonzero(np.diff(first) < 1)).size:
        findings.add(np.nan, f"piece {bad[0]} has no share on any node (share_first)")


def _check_values(log: RunLog, findings: Findings) -> None:
    for table, names in TABLES.items():
        for name in names:
            column = f"{table}_{name}"
            values: NDArray[Any] = getattr(log, column)
            if values.dtype == object:
                continue
            bad = np.zeros(values.shape, dtype=bool)
            if values.dtype.kind == "f":
                bad |= np.isnan(values) & (column not in MAY_BE_NAN)
                bad |= np.isinf(values) & (column not in MAY_BE_INFINITE)
            if column not in MAY_BE_NEGATIVE:
                bad |= values < 0
            if column in CODES:
                bad |= ~np.isin(values, [int(code) for code in CODES[column]])
            if column == "decision_cause":
                bad |= values > LARGEST_CAUSE
            if bad.any():
                at = int(np.argmax(bad if bad.ndim == 1 else bad.any(axis=1)))
                findings.add(np.nan, f"column {column}, entry {at}: {values[at]} is not allowed there")


def _check_numbers(scenario: Scenario, log: RunLog, findings: Findings) -> None:
    cluster = scenario.cluster
    limits = (
        ("piece_row", "job", len(scenario.workload)),
        ("wait_row", "job", len(scenario.workload)),
        ("share_node", "node", cluster.num_nodes),
        ("lease_node", "node", cluster.num_nodes),
        ("lease_vm", "VM type", len(cluster.vm_types)),
    )
    for column, what, count in limits:
        values: NDArray[Any] = getattr(log, column)
        beyond = np.flatnonzero(values >= count)
        if beyond.size:
            at, when = int(beyond[0]), _time_of(log, column, int(beyond[0]))
            findings.add(
                when, f"{what} {values[at]} does not exist; the last one is {count - 1} ({column}, entry {at})"
            )


def _time_of(log: RunLog, column: str, at: int) -> float:
    table = column.split("_", maxsplit=1)[0]
    if table == "share":
        return float(log.piece_start_s[np.searchsorted(log.share_first, at, side="right") - 1])
    times = {"piece": log.piece_start_s, "wait": log.wait_from_s, "lease": log.lease_start_s}
    return float(times[table][at])
