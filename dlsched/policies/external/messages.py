"""What a process is told and what it may answer: docs/guides/policy-protocol.md. All numbers are JSON's own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.errors import PlanError
from dlsched.domain.plan import Allocation, Plan, Share, Step, WaitReason
from dlsched.domain.state import State
from dlsched.domain.workload import RESOURCES, Ints

PROTOCOL = 1
LATEST_S = 1e15
NUMBERS = (
    "gpus_per_worker", "cpus_per_worker", "mem_gib_per_worker", "disk_gib_per_worker", "min_workers", "max_workers",
    "limit_s", "priority", "nice", "due_s", "weight_usd_per_s",
)  # fmt: skip
TEXTS = ("user", "group", "model", "job_class", "partition", "gpu_types", "features")
KEYS = ("start", "stop", "reject", "wake_at_s", "reasons", "note")
REASONS = {reason.name.lower(): int(reason) for reason in WaitReason if reason != WaitReason.NOT_RECORDED}


def start_message(state: State) -> dict[str, Any]:
    """Return what does not change in a run: nodes, planned absences and rules."""
    nodes = state.nodes
    capacity = nodes.capacity.tolist()
    return {
        "type": "start",
        "now_s": state.now_s,
        "placement": state.placement,
        "change_s": state.change_s,
        "seed": int(state.rng.integers(2**31)),
        "partitions": sorted({name for text in nodes.partition.tolist() for name in text.split("|") if name}),
        "gpu_types": sorted({text for text in nodes.gpu_type.tolist() if text}),
        "nodes": [
            {"node": node, "name": str(name)}
            | {resource: _number(amount) for resource, amount in zip(RESOURCES, capacity[node], strict=True)}
            | {"gpu_type": str(nodes.gpu_type[node]), "partition": str(nodes.partition[node])}
            | {"features": str(nodes.features[node]), "speed": float(nodes.speed[node]), "up": bool(nodes.up[node])}
            for node, name in enumerate(nodes.names.tolist())
        ],
        "absences": [
            {"node": one.node, "start_s": one.start_s, "end_s": _number(one.until_s)} for one in state.calendar
        ],
    }


def _number(value: float) -> float | None:
    """Return a number as JSON has it, whole where it is: None if there is no limit or no value."""
    if not math.isfinite(value):
        return None
    return int(value) if value == int(value) else value


class Events:
    """Finds what is new in each state since the one before."""

    def __init__(self) -> None:
        none = np.zeros(0, dtype=np.int64)
        self._seen = 0
        self._active = self._running = none
        self._up: NDArray[np.bool_] | None = None
        self._started: set[int] = set()
        self._rejected: set[int] = set()

    def message(self, state: State, *, timer: bool) -> dict[str, Any]:
        """Return the question of a decision: what has happened since the last one."""
        active, running = state.active, state.running
        up = state.nodes.up if self._up is None else self._up
        is_active = _mask(len(state.jobs), active)
        gone = self._active[~is_active[self._active]]
        off = self._running[is_active[self._running] & ~_mask(len(state.jobs), running)[self._running]]
        began = running[~_mask(len(state.jobs), self._running)[running]].tolist()
        changed = sorted({*began, *(row for row in self._started if len(state.held(row)))})
        message = {
            "type": "decide",
            "now_s": state.now_s,
            "submitted": _jobs(state, np.arange(self._seen, len(state.jobs))),
            "ended": [row for row in gone.tolist() if row not in self._rejected],
            "returned": off.tolist(),
            "placed": [
                {"job": row, "nodes": [[share.node, share.workers] for share in state.held(row)]} for row in changed
            ],
            "down": np.flatnonzero(up & ~state.nodes.up).tolist(),
            "up": np.flatnonzero(~up & state.nodes.up).tolist(),
            "timer": timer,
        }
        self._seen = len(state.jobs)
        self._active, self._running, self._up = active.copy(), running.copy(), state.nodes.up.copy()
        return message

    def read(self, answer: dict[str, Any], state: State) -> Plan:
        """Return the plan of an answer; PlanError names what in it cannot be used."""
        unknown = next((name for name in answer if name not in KEYS), None)
        if unknown is not None:
            raise PlanError(f"its answer has the unknown key {unknown[:80]!r}; known: {', '.join(KEYS)}")
        starts = [_start(one, state) for one in _list(answer, "start")]
        stops = [_job(one, "stop", state) for one in _list(answer, "stop")]
        rejected = [_job(one, "reject", state) for one in _list(answer, "reject")]
        named = [row for row, _ in starts] + stops + rejected
        if len(set(named)) < len(named):
            twice = next(row for row in named if named.count(row) > 1)
            raise PlanError(f"its answer names job {twice} twice in start, stop and reject")
        wake_at_s, note = answer.get("wake_at_s"), answer.get("note", "")
        if wake_at_s is not None and not (_is_number(wake_at_s) and abs(wake_at_s) <= LATEST_S):
            raise PlanError(f"wake_at_s must be null or a time of at most {LATEST_S:g} s, got {wake_at_s!r:.80}")
        if not isinstance(note, str):
            raise PlanError(f"note must be a text, got {note!r:.80}")
        self._started, self._rejected = {row for row, _ in starts}, set(rejected)
        # what starts now may have lost its node by the next question
        self._running = np.union1d(self._running, np.array(sorted(self._started), dtype=np.int64))
        self._running = self._running[~np.isin(self._running, np.array(stops, dtype=np.int64))]
        allocations: dict[int, Allocation] = {row: (step,) for row, step in starts} | dict.fromkeys(stops, ())
        reasons = _reasons(_list(answer, "reasons"), state)
        return Plan(allocations, tuple(rejected), wake_at_s=wake_at_s, reasons=reasons, note=note[:1000])


def _mask(length: int, rows: Ints) -> NDArray[np.bool_]:
    mask = np.zeros(length, dtype=bool)
    mask[rows] = True
    return mask


def _jobs(state: State, rows: Ints) -> list[dict[str, Any]]:
    """Return what may be known of jobs; a value that a job does not have is left out."""
    if not len(rows):
        return []
    jobs, workers = state.jobs, state.requested(rows)
    rates = state.rate(rows, workers)
    with np.errstate(divide="ignore", invalid="ignore"):
        run_s = np.where(rates > 0, state.remaining(rows) / rates, np.nan)
    columns: dict[str, list[Any]] = {
        "job": rows.tolist(),
        "id": [str(name) for name in jobs.job_id[rows]],
        "submit_s": jobs.submit_s[rows].tolist(),
        "workers": workers.tolist(),
        "gpus": [_number(value) for value in (workers * jobs.gpus_per_worker[rows]).tolist()],
        "run_s": [_number(value) for value in run_s.tolist()],
    }
    for name in NUMBERS:
        if (values := getattr(jobs, name)) is not None:
            columns[name] = [_number(value) for value in values[rows].tolist()]
    for name in TEXTS:
        if (values := getattr(jobs, name)) is not None:
            columns[name] = [str(value) or None for value in values[rows]]
    told = [dict(zip(columns, one, strict=True)) for one in zip(*columns.values(), strict=True)]
    return [{name: value for name, value in one.items() if value is not None} for one in told]


def _list(answer: dict[str, Any], name: str) -> list[Any]:
    values = answer.get(name, [])
    if not isinstance(values, list):
        raise PlanError(f"{name} must be a list, got {values!r:.80}")
    return values


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _job(value: Any, what: str, state: State) -> int:
    """Return the number of a job that is waiting or running."""
    if not _is_whole(value):
        raise PlanError(f"{what}: a job must be its number, got {value!r:.80}")
    if not 0 <= value < len(state.jobs):
        raise PlanError(f"{what}: there is no job {value!r:.40} yet; {len(state.jobs):,} have been submitted")
    place = int(np.searchsorted(state.active, value))
    if place == len(state.active) or state.active[place] != value:
        raise PlanError(f"{what}: job {value} has ended")
    return int(value)


def _start(value: Any, state: State) -> tuple[int, Step]:
    if not isinstance(value, dict) or not set(value) <= {"job", "workers", "nodes"}:
        raise PlanError(f"start: must be objects with job, and optionally workers and nodes, got {value!r:.120}")
    row = _job(value.get("job"), "start", state)
    nodes, workers = value.get("nodes"), value.get("workers")
    if nodes is None:
        workers = int(state.requested(np.array([row]))[0]) if workers is None else workers
        if not _is_whole(workers) or not 1 <= workers <= 10**9:
            raise PlanError(f"start: workers of job {row} must be a whole number of at least 1, got {workers!r:.80}")
        return row, Step(workers)
    if not isinstance(nodes, list) or not nodes or not all(map(_is_pair, nodes)):
        raise PlanError(f"start: nodes of job {row} must be pairs [node, workers], got {nodes!r:.120}")
    beyond = next((node for node, _ in nodes if not 0 <= node < len(state.nodes.up)), None)
    if beyond is not None:
        raise PlanError(f"start: job {row} on node {beyond!r:.20}, but the last node is {len(state.nodes.up) - 1}")
    shares = tuple(Share(node, count) for node, count in nodes)
    width = sum(share.workers for share in shares)
    if workers is not None and workers != width:
        raise PlanError(f"start: job {row} has {width:,} workers on its nodes, but workers says {workers!r:.80}")
    return row, Step(width, shares)


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_whole, value)) and 1 <= value[1] <= 10**9


def _reasons(values: list[Any], state: State) -> tuple[Ints, Ints] | None:
    """Return rows and codes; a job that is not named keeps the reason it has."""
    rows, codes = [], []
    for value in values:
        if not isinstance(value, list) or len(value) != 2 or value[1] not in [*REASONS]:
            raise PlanError(f"reasons: must be pairs [job, reason], got {value!r:.80}; reasons: {', '.join(REASONS)}")
        rows.append(_job(value[0], "reasons", state))
        codes.append(REASONS[value[1]])
    return (np.array(rows, dtype=np.int64), np.array(codes, dtype=np.int64)) if rows else None
