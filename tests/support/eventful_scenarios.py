"""Random scenarios in which much happens to jobs and nodes, each drawn by a number: loads at which most jobs wait."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.plan import Share
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.truth import Truth
from dlsched.domain.workload import Workload
from dlsched.policies.registry import find
from dlsched.sim.log import RunLog
from dlsched.sim.prepare import Prepared, Underway, prepare
from tests.support.conformance_scenarios import PLACEMENTS, engine_log

FEATURES = (
    "absences",
    "checkpoints",
    "restart cost",
    "cancelled jobs",
    "bugs",
    "time limits",
    "estimates",
    "node speeds",
    "partitions",
    "GPU types",
    "horizon",
    "cores and memory",
    "half GPUs",
)
"""What a scenario can have beside jobs that wait. Checkpoints mean nothing without absences, and bring them."""

SPAN = 60
"""Within so many units of time all jobs arrive and nodes go away; a unit is what the shortest jobs take."""


def unit_of(number: int) -> float:
    """Return the unit of time of a scenario, in seconds."""
    return (1.0, 10.0, 1.1, 7 / 3)[number % 4]


def eventful(
    number: int,
    features: Collection[str] | None = None,
    *,
    pool: bool = False,
    lasting: bool = False,
    placements: Sequence[str] = PLACEMENTS,
) -> Prepared:
    """Return scenario ``number`` with these features, None = each of them in half of the scenarios.

    ``pool``: placement pool, and what one total for each queue can tell; else one of ``placements``. ``lasting``: nodes
    are never away.
    """
    dice = np.random.default_rng(number)
    has = {name for name in FEATURES if dice.random() < 0.5} if features is None else set(features)
    if lasting:
        has -= {"absences", "checkpoints"}
    unit = unit_of(number)
    nodes = [int(size) for size in dice.choice([2, 3, 4, 8], dice.integers(2, 6))]
    count = int(dice.integers(20, 45))
    if pool:
        has -= {"GPU types", "half GPUs", "cores and memory"}
    if len(kinds := [name for name in ("GPU types", "half GPUs", "cores and memory") if name in has]) > 1:
        has -= set(kinds) - {str(dice.choice(kinds))}
    columns = _jobs(dice, has, count, unit, sum(nodes))
    cluster = Cluster(pools=_pools(dice, has, nodes, alike=pool), absences=_absences(dice, has, len(nodes), unit))
    rules = SimulationRules(
        placement="pool" if pool else str(dice.choice(placements)),
        estimate_error=0.5 if "estimates" in has else 0.0,
        limits=str(dice.choice(["believe", "kill"])) if "time limits" in has else "ignore",
        restart_s=float(dice.choice([0.5, 1.0, 3.0])) * unit if "restart cost" in has else 0.0,
        restart_mode=str(dice.choice(["pause", "delayed"])),
        checkpoint_s=float(dice.choice([0.7, 2.0, 3.0])) * unit if "checkpoints" in has else 0.0,
        cancel_share=0.3 if "cancelled jobs" in has else 0.0,
        horizon_s=float(dice.integers(SPAN // 3, 2 * SPAN)) * unit if "horizon" in has else None,
        bug_share=0.3 if "bugs" in has else 0.0,
        bug_within_s=4.0 * unit,
        oversize="drop",
    )
    return _cancelled_on_time(prepare(Scenario(Workload.from_columns(columns), cluster, rules, seed=number)), unit)


def _cancelled_on_time(prepared: Prepared, unit: float) -> Prepared:
    """Return a run in which jobs are cancelled at whole units: as others come or end, or as they come themselves."""
    cancel_s, submit_s = prepared.truth.cancel_s, prepared.scenario.workload.submit_s
    on_time_s = np.maximum(np.floor(cancel_s / unit) * unit, submit_s)
    return dataclasses.replace(prepared, truth=dataclasses.replace(prepared.truth, cancel_s=on_time_s))


def _jobs(dice: np.random.Generator, has: Collection[str], count: int, unit: float, room: int) -> dict[str, Any]:
    """Return columns of jobs that would fill the nodes without a gap, with many ties."""
    work = np.ceil(dice.lognormal(1.5, 1.0, count))
    widest = max(1, int(room / 2))
    workers = np.minimum(dice.choice([1, 1, 2, 2, 3, 4, 8], count), widest)
    columns: dict[str, Any] = {
        "job_id": [f"j{row}" for row in range(count)],
        "submit_s": np.sort(dice.integers(0, int(dice.choice([SPAN // 4, SPAN])), count)) * unit,
        "work": work * unit,
        "workers": workers,
        "priority": dice.integers(0, 4, count).astype(float),
        "due_s": dice.integers(1, 2 * SPAN, count) * unit,
        "user": dice.choice(["ann", "bob", "eve"], count),
        "group": dice.choice(["", "g"], count),
    }
    if "time limits" in has:
        columns["limit_s"] = np.maximum(1, work + dice.integers(-2, 7, count)) * unit
    if "partitions" in has:
        columns["partition"] = dice.choice(["", "p", "q", "p|q"], count)
    if "cores and memory" in has:
        columns["gpus_per_worker"] = np.zeros(count)
        columns["cpus_per_worker"] = dice.integers(1, 3, count).astype(float)
        columns["mem_gib_per_worker"] = dice.integers(0, 8, count) * 0.7
    if "half GPUs" in has:
        columns["gpus_per_worker"] = dice.integers(1, 5, count) / 4
    if "GPU types" in has:
        columns["gpu_types"] = dice.choice(["", "A", "B", "A|B"], count)
    return columns


def _pools(dice: np.random.Generator, has: Collection[str], nodes: list[int], *, alike: bool) -> tuple[Pool, ...]:
    """Return a pool for each node. ``alike``: those that a job may use."""
    speeds = (1.0, 0.5, 2.0) if "node speeds" in has else (1.0,)
    names = (("", "p"), ("p", "p|q", "q"))[0 if alike else int(dice.integers(2))] if "partitions" in has else ("",)
    types = ("A", "B") if "GPU types" in has else ("GPU",)
    of_cores = "cores and memory" in has
    return tuple(
        Pool(
            vm=VmType(
                name=f"vm-{node}",
                gpus=0 if of_cores else size,
                cpus=size if of_cores else None,
                mem_gib=3.0 * size if of_cores else None,
                gpu_type=types[node % len(types)],
                speed=float(dice.choice(speeds)),
            ),
            count=1,
            partition=names[node % len(names)],
        )
        for node, size in enumerate(nodes)
    )


def _absences(dice: np.random.Generator, has: Collection[str], nodes: int, unit: float) -> tuple[Absence, ...]:
    """Return absences of each node, some over each other and one in ten for good."""
    if not {"absences", "checkpoints"} & set(has):
        return ()
    return tuple(
        Absence(
            node=int(dice.integers(nodes)),
            start_s=(start_s := dice.integers(0, 2 * SPAN) / 2 * unit),
            end_s=None if dice.random() < 0.1 else start_s + dice.integers(1, 12) * unit,
            cause=str(dice.choice(["fails", "maintenance"])),
        )
        for _ in range(int(dice.integers(nodes, 4 * nodes)))
    )


def joined_at(
    number: int, *, pool: bool = False, lasting: bool = False, placements: Sequence[str] = PLACEMENTS
) -> Prepared | None:
    """Return a scenario joined in the middle, with what FIFO runs by then; None where no job has come and is left.

    Nothing happens to nodes before, which loops leave to the engine.
    """
    dice = np.random.default_rng(number + 1_000_000)
    features = {name for name in FEATURES if name != "horizon" and dice.random() < 0.5}
    whole = eventful(number, features, pool=pool, lasting=lasting, placements=placements)
    submit_s, cluster = whole.scenario.workload.submit_s, whole.scenario.cluster
    if not len(submit_s):
        return None
    at_s = float(dice.uniform(submit_s[0], submit_s[-1] + 5 * unit_of(number)))
    later = tuple(absence for absence in cluster.absences if absence.start_s >= at_s)
    scenario = whole.scenario.replace(cluster=Cluster(pools=cluster.pools, absences=later))
    whole = dataclasses.replace(whole, scenario=scenario)
    part, rows = joined(whole, engine_log(find("fifo"), whole), at_s)
    return part if len(rows) and part.scenario.workload.submit_s[0] <= at_s else None


def joined(prepared: Prepared, log: RunLog, at_s: float) -> tuple[Prepared, np.ndarray]:
    """Return the run from an instant on, of the rows that have not ended by then, and which rows these are."""
    rows = np.flatnonzero(~(log.job_end_s <= at_s))
    place = {int(row): number for number, row in enumerate(rows)}
    held = {}
    for piece in np.flatnonzero((log.piece_start_s < at_s) & (log.piece_end_s > at_s)):
        entries = range(log.share_first[piece], log.share_first[piece + 1])
        shares = tuple(Share(int(log.share_node[k]), int(log.share_workers[k])) for k in entries)
        held[place[int(log.piece_row[piece])]] = (float(log.piece_start_s[piece]), shares)
    whole = prepared.truth
    truth = Truth(whole.work[rows], whole.believed_work[rows], whole.is_bug[rows], whole.cancel_s[rows], whole.seed)
    scenario = prepared.scenario.replace(workload=prepared.scenario.workload.select(rows))
    return Prepared(scenario, truth, underway=Underway(at_s, held)), rows
