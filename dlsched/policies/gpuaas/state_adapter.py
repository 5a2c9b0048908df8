"""From the simulator's state to an :class:`Instance` and from a :class:`Schedule` back to a plan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.cluster import VmType
from dlsched.domain.plan import Allocation, Share, Step, WaitReason
from dlsched.domain.state import Nodes, State
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import GPU, Floats, Ints, gpu_type_names
from dlsched.policies.gpuaas.instance import Instance, Schedule

FIRST_ROWS = 256
LEAST_S = 1e-3
"""A job that outlives its estimate is believed to end at once, but not sooner: costs are divided by times."""


class RateTable:
    """Work per second of each job by GPU type and number of GPUs of one node; rows are looked up once.

    ``families`` are the GPU types of the machine types (same type and speed); ``vm_family`` and ``vm_gpus`` (V,).
    """

    def __init__(self, vm_types: tuple[VmType, ...]) -> None:
        keys = [(vm.gpu_type, vm.speed) for vm in vm_types]
        self.families = list(dict.fromkeys(keys))
        self.vm_family: Ints = np.array([self.families.index(key) for key in keys], dtype=np.int64)
        self.vm_gpus: Ints = np.array([vm.gpus for vm in vm_types], dtype=np.int64)
        self.vm_price: Floats = np.array([vm.usd_per_h or 0.0 for vm in vm_types]) / HOUR_S
        self._largest = [self._largest_of(family) for family in range(len(self.families))]
        self._known = 0
        self._rates = np.zeros((FIRST_ROWS, len(self.families), max(1, int(self.vm_gpus.max(initial=1)))))

    def rates(self, state: State, rows: Ints) -> Floats:
        """Return the rates of these rows, shape (rows, families, GPUs); 0 where a job cannot run."""
        submitted = len(state.jobs)
        if submitted > self._known:
            self._learn(state, np.arange(self._known, submitted))
        return np.asarray(self._rates[rows])

    def _largest_of(self, family: int) -> int:
        members = np.flatnonzero(self.vm_family == family)
        return int(members[np.argmax(self.vm_gpus[members])])

    def _learn(self, state: State, rows: Ints) -> None:
        end = int(rows[-1]) + 1
        while end > len(self._rates):
            self._rates = np.concatenate([self._rates, np.zeros_like(self._rates)])
        per_worker = state.jobs.demand[rows, GPU].astype(np.int64)
        accepted = state.jobs.gpu_types
        for family, (gpu_type, _) in enumerate(self.families):
            vm = self._largest[family]
            gpus = np.arange(1, int(self.vm_gpus[vm]) + 1)
            workers, rest = np.divmod(gpus[None, :], per_worker[:, None])
            every = np.repeat(rows, len(gpus))
            rate = state.rate_on(every, workers.ravel(), vm).reshape(workers.shape)
            may = np.ones(len(rows), dtype=bool)
            if accepted is not None:
                named = [gpu_type_names(accepted[row]) for row in rows.tolist()]
                may = np.array([not names or gpu_type in names for names in named])
            self._rates[rows, family, : len(gpus)] = np.where((rest == 0) & may[:, None], rate, 0.0)
        self._known = end


@dataclass(frozen=True, eq=False)
class StateAdapter:
    """One decision: the ``instance``, the ``rows`` behind its jobs and the ``slots`` behind its nodes.

    ``held`` is the schedule in force; ``spread`` (jobs,) marks jobs on several nodes, of which it knows the first. Only
    nodes that are up are there.
    """

    state: State
    instance: Instance
    rows: Ints
    slots: Ints
    held: Schedule
    spread: NDArray[np.bool_]
    table: RateTable

    @classmethod
    def of(cls, state: State, table: RateTable, period_s: float, *, free: bool) -> StateAdapter:
        """Return the adapter; ``free`` says that machine types may be chosen, ``period_s`` is H of (P1)."""
        rows = state.active
        rate = table.rates(state, rows)
        remaining = np.broadcast_to(state.remaining(rows)[:, None, None], rate.shape)
        times = np.divide(remaining, rate, out=np.full(rate.shape, np.inf), where=rate > 0)
        slots = np.flatnonzero(state.nodes.up)
        now_vm = state.nodes.vm[slots]
        held, spread = _held(state, rows, slots, now_vm)
        times = np.maximum(times, LEAST_S) + _restarts_s(state, rows, held, table, times.shape)
        instance = Instance(
            times=times,
            slack=or_none(state.jobs.due_s, rows, np.inf) - state.now_s,
            weight=or_none(state.jobs.weight_usd_per_s, rows, 0.0),
            vm_family=table.vm_family,
            vm_gpus=table.vm_gpus,
            vm_price=table.vm_price,
            node_vm=np.full(len(slots), -1, dtype=np.int64) if free else now_vm.astype(np.int64),
            running=held.node >= 0,
            period=period_s,
        )
        return cls(state, instance, rows, slots, held, spread, table)

    def allocations(self, schedule: Schedule) -> dict[int, Allocation]:
        """Return what the rows on every slot where something changes shall hold; rows that go on waiting are left out.

        To name all rows of such a slot lets the engine rename it; the others stay as they are, whatever is renamed.
        """
        demand, held = self.state.jobs.demand, self.held
        found: dict[int, Allocation] = {}
        moves = (schedule.node != held.node) | ((schedule.gpus != held.gpus) & (schedule.node >= 0)) | self.spread
        touched = schedule.vm != held.vm
        for node in (schedule.node, held.node):
            touched[node[moves & (node >= 0)]] = True
        runs = schedule.node >= 0
        moves[runs] |= touched[schedule.node[runs]]
        named = np.flatnonzero(moves)
        workers = schedule.gpus[named] // demand[self.rows[named], GPU].astype(np.int64)
        slot = np.where(schedule.node[named] >= 0, self.slots[schedule.node[named]], -1)
        columns = (self.rows[named], slot, workers, held.node[named])
        for row, node, width, held_node in zip(*(column.tolist() for column in columns), strict=True):
            if node >= 0:
                found[row] = (Step(width, (Share(node, width),)),)
            elif held_node >= 0:
                found[row] = ()
        return found

    def vms(self, schedule: Schedule) -> dict[int, str | None]:
        """Return the machine types of the slots where they change."""
        nodes = self.state.nodes
        changed = np.flatnonzero(schedule.vm != self.held.vm)
        return {
            int(self.slots[node]): nodes.vm_types[schedule.vm[node]].name if schedule.vm[node] >= 0 else None
            for node in changed.tolist()
        }

    def reasons(self, schedule: Schedule) -> tuple[Ints, Ints]:
        """Return the rows that wait, and why: stopped for others, no room, or held back although GPUs are free."""
        waits = schedule.node < 0
        is_open = schedule.vm >= 0
        full = bool(is_open.all()) and bool((schedule.used >= self.instance.vm_gpus[schedule.vm]).all())
        code = WaitReason.NO_ROOM if full else WaitReason.HELD_BACK
        codes = np.where(self.instance.running, int(WaitReason.PREEMPTED), int(code))
        codes = np.where(np.isfinite(self.instance.fastest), codes, int(WaitReason.NO_NODE))
        return self.rows[waits], codes[waits]


def _held(state: State, rows: Ints, slots: Ints, now_vm: Ints) -> tuple[Schedule, NDArray[np.bool_]]:
    """Return the schedule in force, and which jobs another policy spread over nodes: these count with their first."""
    spread = np.zeros(len(rows), dtype=bool)
    node = np.full(len(rows), -1, dtype=np.int64)
    gpus = np.zeros(len(rows), dtype=np.int64)
    demand = state.jobs.demand
    place = {slot: number for number, slot in enumerate(slots.tolist())}
    running = np.searchsorted(rows, state.running)
    for number, row, per_worker in zip(
        running.tolist(), rows[running].tolist(), demand[rows[running], GPU].tolist(), strict=True
    ):
        shares = state.held(row)
        node[number] = place[shares[0].node]
        if len(shares) == 1:
            gpus[number] = shares[0].workers * int(per_worker)
        else:
            gpus[number] = sum(share.workers for share in shares) * int(per_worker)
            spread[number] = True
    return Schedule(node, gpus, now_vm.astype(np.int64)), spread


def _restarts_s(state: State, rows: Ints, held: Schedule, table: RateTable, shape: tuple[int, ...]) -> Floats:
    """Return the time without progress before each configuration of each job: going on as it is spares a restart."""
    ahead_s = state.restart_ahead_s(rows)
    restarts_s = np.broadcast_to(ahead_s[:, None, None], shape)
    runs = held.runs
    if state.change_s == 0 or not len(runs):
        return restarts_s
    restarts_s = restarts_s.copy()
    restarts_s[runs] = state.change_s
    restarts_s[runs, table.vm_family[held.vm[held.node[runs]]], held.gpus[runs] - 1] = ahead_s[runs]
    return restarts_s


def or_none(column: Floats | None, rows: Ints, missing: float) -> Floats:
    """Return a column of the jobs at these rows, with a value where it has none."""
    if column is None:
        return np.full(len(rows), missing)
    values = column[rows]
    return np.where(np.isnan(values), missing, values)


def slots_are_free(nodes: Nodes) -> bool:
    """Whether machine types may be chosen: at the start of a run rented slots have none, owned nodes always do."""
    return bool((nodes.vm < 0).any())
