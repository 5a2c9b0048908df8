"""Jobs over slots of a minute for tests of the policies that book machines, and their runs."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.plan import WaitReason
from dlsched.domain.policy import Policy
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.workload import Workload
from dlsched.policies.registry import find
from dlsched.sim.audit import audit
from dlsched.sim.engine import run_engine
from dlsched.sim.log import JobStatus, PieceEnd, RunLog
from dlsched.sim.prepare import prepare

SLOT_S = 60.0
OWN_STEPS = SpeedSpec(kind="parameter-server", updates="async")


def booked(*jobs: tuple[float, float, int], **columns: Any) -> Workload:
    """Return jobs "a", "b", ... of (submit_s, work, most workers); a worker needs one slot for one unit of work.

    A worker holds 1 GPU, one server serves all workers and holds nothing. Each job is worth 50 whenever it ends.
    """
    count = len(jobs)
    submit_s, work, most = zip(*jobs, strict=True)
    given: dict[str, Any] = {
        "job_id": [chr(ord("a") + number) for number in range(count)], "submit_s": submit_s, "work": work,
        "workers": most, "max_workers": most, "servers": [1] * count, "workers_per_server": [100.0] * count,
        "step_s": [SLOT_S] * count, "utility_1": [100.0] * count, "utility_2": [0.0] * count,
        "utility_3": [5.0] * count,
    }  # fmt: skip
    return Workload.from_columns(given | columns)


def cluster(*gpus: int, absences: tuple[Absence, ...] = (), **columns: tuple[Any, ...]) -> Cluster:
    """Return one node of each of these sizes; ``columns`` (gpu_type, speed, partition) by node."""
    pools = []
    for number, size in enumerate(gpus):
        own = {name: values[number] for name, values in columns.items()}
        partition = own.pop("partition", "")
        pools.append(Pool(vm=VmType(name=f"m{number}", gpus=size, **own), count=1, partition=partition))
    return Cluster(pools=tuple(pools), absences=absences)


def in_slots(workload: Workload, nodes: Cluster, **options: Any) -> Scenario:
    """Return a scenario in slots of a minute; utility counts slots unless told otherwise."""
    given = {"slot_s": SLOT_S, "utility_unit_s": SLOT_S, "utility_clock": "slots", "placement": "pack"}
    return Scenario(workload, nodes, SimulationRules(**(given | options)), OWN_STEPS)


def run(
    scenario: Scenario, key: str = "pd-ors", policy: Policy | None = None, truth: dict[str, Any] | None = None,
    **params: Any,
) -> RunLog:  # fmt: skip
    """Return the log of a run that the audit finds nothing in; ``truth`` replaces columns of the truth."""
    prepared, spec = prepare(scenario), find(key)
    if truth:
        arrays: dict[str, Any] = {name: np.array(values, dtype=float) for name, values in truth.items()}
        prepared = dataclasses.replace(prepared, truth=dataclasses.replace(prepared.truth, **arrays))
    log = run_engine(prepared, policy or spec.build(spec.parse(params)))
    assert audit(prepared.scenario, prepared.truth, log) == []
    return log


def pieces(log: RunLog, row: int) -> list[tuple[float, float, list[int], PieceEnd]]:
    """Return (from, to, workers by share, how it ended) of a row's pieces; times in slots."""
    found = []
    for piece in np.flatnonzero(log.piece_row == row).tolist():
        shares = slice(*log.share_first[piece : piece + 2].tolist())
        begin, end = (round(float(column[piece]) / SLOT_S, 6) for column in (log.piece_start_s, log.piece_end_s))
        found.append((begin, end, log.share_workers[shares].tolist(), PieceEnd(log.piece_end[piece])))
    return found


def machines_of(log: RunLog, row: int) -> list[int]:
    """Return the nodes of a row's shares, in order of its pieces."""
    shares = zip(log.share_first[:-1].tolist(), log.share_first[1:].tolist(), strict=True)
    of_piece = [log.share_node[slice(*ends)].tolist() for ends in shares]
    return [node for piece in np.flatnonzero(log.piece_row == row).tolist() for node in of_piece[piece]]


def told(log: RunLog, row: int) -> list[tuple[float, WaitReason]]:
    """Return when, in slots, a row was told what."""
    mine = log.wait_row == row
    columns = (log.wait_from_s[mine].tolist(), log.wait_reason[mine].tolist())
    return [(round(at / SLOT_S, 6), WaitReason(code)) for at, code in zip(*columns, strict=True)]


def statuses(log: RunLog) -> list[JobStatus]:
    """Return how each job ended."""
    return [JobStatus(code) for code in log.job_status.tolist()]
