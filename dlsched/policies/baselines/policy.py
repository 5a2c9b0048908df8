"""One list policy, built from an order and a discipline."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dlsched.domain.cluster import vm_capacity
from dlsched.domain.plan import Allocation, Plan, WaitReason, run_on
from dlsched.domain.policy import EventKind, ListRule, ReviewRule
from dlsched.domain.state import State
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.baselines.disciplines import Discipline, start_nothing
from dlsched.policies.baselines.orders import Order
from dlsched.policies.baselines.state_adapter import StateAdapter
from dlsched.policies.baselines.totals import Totals
from dlsched.policies.shared.facts import JobFacts
from dlsched.policies.shared.slots import cheapest_vm, opening_placer, vm_changes, vm_named

Alarm = Callable[[State, Ints], float | None]
"""When to be asked again, given the running rows; called only while somebody waits."""


class ListPolicy:
    """Gives every job its request, in the order and by the discipline it is built from.

    Partitions that share no nodes have a queue each. On rented slots VMs are opened as needed and released when empty.

    Parameters
    ----------
    order, discipline
        What a queue is sorted by, and who of it runs.
    kernel_rule
        The same in the form of the compiled kernel; None if the kernel cannot stand in.
    alarm
        Times to decide at besides the events.
    vm_type
        VM type for rented slots; None = the cheapest per GPU, see :func:`cheapest_vm`.
    one_by_one
        Decide after each single event of an instant, after an arrival only if that job fits what is free.
    """

    def __init__(
        self,
        order: Order,
        discipline: Discipline,
        kernel_rule: ListRule | None,
        alarm: Alarm | None = None,
        vm_type: str | None = None,
        *,
        one_by_one: bool = False,
    ) -> None:
        self.review = ReviewRule(one_by_one=one_by_one)
        self.kernel_rule = kernel_rule
        self._order, self._discipline, self._alarm, self._vm_type = order, discipline, alarm, vm_type
        self._facts = JobFacts()
        self._stopped: set[int] = set()
        self._on_slots: bool | None = None

    def plan(self, state: State) -> Plan:
        """Return starts and stops, VM changes, and why each waiting job waits."""
        if self._on_slots is None:  # fixed nodes always have a VM type, free slots begin without
            self._on_slots = bool((state.nodes.vm < 0).any())
        self._facts.update(state)
        adapter = self._adapter(state)
        totals = Totals(state, self._facts, self._slot_capacity(state))
        queues = self._facts.queues(state.active)
        discipline = start_nothing if self._came_in_vain(adapter) else self._discipline
        left = [discipline(adapter, rows, self._order, totals) for rows in queues.values()]
        running = adapter.running(state.active)
        vms = self._vm_changes(adapter, running)
        return Plan(
            allocations=_allocations(adapter),
            vms=vms,
            wake_at_s=self._wake_at_s(state, running, vms),
            reasons=self._reasons(adapter, left),
        )

    def _came_in_vain(self, adapter: StateAdapter) -> bool:
        """Whether the policy is asked only because of one arrival, and that job does not fit what is free."""
        state = adapter.state
        if not self.review.one_by_one or state.cause != EventKind.ARRIVAL:
            return False
        newest = len(state.jobs) - 1
        return not adapter.placer.fits(newest, self._facts.kind(newest).workers)

    def _wake_at_s(self, state: State, running: Ints, vms: dict[int, str | None]) -> float | None:
        """Return when to look again; at once where a slot empties, because another VM type may suit a waiting job."""
        if len(running) == len(state.active):
            return None
        if None in vms.values():
            return state.now_s
        return self._alarm(state, running) if self._alarm else None

    def _reasons(self, adapter: StateAdapter, left: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
        """Return rows in source order with codes; a job that was stopped is told so until it runs again."""
        self._stopped.difference_update(adapter.started)
        self._stopped.update(row for row in adapter.stopped if row not in adapter.started)
        none = np.zeros(0, dtype=np.int64)
        rows = np.concatenate([none, *(part for part, _ in left)])
        codes = np.concatenate([none, *(part for _, part in left)])
        if self._stopped:
            was_stopped = np.isin(rows, np.array(sorted(self._stopped)))
            codes[was_stopped & (codes == WaitReason.NO_ROOM)] = WaitReason.PREEMPTED
        by_row = np.argsort(rows)
        return rows[by_row], codes[by_row]

    def _adapter(self, state: State) -> StateAdapter:
        placer = state.placer()
        if not self._on_slots:
            return StateAdapter(state, self._facts, placer)
        return StateAdapter(
            state, self._facts, opening_placer(placer, state.nodes, lambda row: self._choose_vm(state, row))
        )

    def _vm_changes(self, adapter: StateAdapter, running: Ints) -> dict[int, str | None]:
        if not self._on_slots:
            return {}
        in_use = {share.node for row in running.tolist() for share in adapter.shares(row)}
        return vm_changes(adapter.state.nodes, adapter.opened, in_use)

    def _choose_vm(self, state: State, row: int) -> str | None:
        catalogue = state.nodes.vm_types
        kind = self._facts.kind(row)
        offered = catalogue if self._vm_type is None else (vm_named(self._vm_type, catalogue),)
        vm = cheapest_vm(kind, self._facts.kinds, offered, int(state.nodes.up.sum()))
        return None if vm is None else vm.name

    def _slot_capacity(self, state: State) -> Floats:
        """Return what the empty slots can become: all of them the type the widest active job would get."""
        empty = int(((state.nodes.vm < 0) & state.nodes.up).sum())
        if not empty or not len(state.active):
            return np.zeros(state.nodes.capacity.shape[1])
        widest = max(state.active.tolist(), key=lambda row: self._facts.kind(row).need[0])
        name = self._choose_vm(state, widest)
        if name is None:
            return np.zeros(state.nodes.capacity.shape[1])
        return empty * np.array(vm_capacity(vm_named(name, state.nodes.vm_types)))


def _allocations(adapter: StateAdapter) -> dict[int, Allocation]:
    stops: dict[int, Allocation] = dict.fromkeys(adapter.stopped, ())
    return stops | {row: run_on(shares) for row, shares in adapter.started.items()}
