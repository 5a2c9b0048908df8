"""What nodes and rented slots offer each kind of jobs: amounts, a placer that opens slots, machine types to open."""

from __future__ import annotations

import numpy as np

from dlsched.domain.cluster import VmType
from dlsched.domain.plan import Share
from dlsched.domain.policy import EventKind
from dlsched.domain.state import Placer, State
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.shared.capacity import Amounts, amounts, most_ever
from dlsched.policies.shared.facts import JobFacts, JobKind
from dlsched.policies.shared.placing import Placing
from dlsched.policies.shared.slots import cheapest_vm, opening_placer, vm_changes, vm_named


class AvailableCapacity:
    """The cluster as a policy of widths sees it; it learns with the facts, before every decision.

    Parameters
    ----------
    facts
        Kinds of the rows seen so far.
    vm_type
        VM type for rented slots; None = the cheapest per GPU, see :func:`cheapest_vm`.
    """

    def __init__(self, facts: JobFacts, vm_type: str | None) -> None:
        self.on_slots: bool | None = None
        self._facts, self._vm_type = facts, vm_type
        self._ever: list[int] = []
        self._amounts: tuple[tuple[object, ...], Amounts] | None = None

    def update(self, state: State) -> None:
        """Take in what kinds the facts know by now."""
        if self.on_slots is None:  # fixed nodes always have a VM type, free slots begin without
            self.on_slots = bool((state.nodes.vm < 0).any())
        offered = self._offered(state) if self.on_slots else ()
        self._ever += [most_ever(kind, state.nodes, offered) for kind in self._facts.kinds[len(self._ever) :]]

    def most_ever(self, kinds: Ints) -> Ints:
        """Return the most workers that all nodes hold of these kinds, up or not."""
        return np.array(self._ever)[kinds]

    def amounts(self, state: State) -> Amounts:
        """Return the amounts now, worked out anew when nodes or kinds of jobs have changed."""
        nodes = state.nodes
        key = len(self._facts.kinds), nodes.vm.tobytes(), nodes.up.tobytes()
        if self._amounts is None or self._amounts[0] != key:
            self._amounts = key, amounts(self._facts.kinds, nodes, self._chosen(state))
        return self._amounts[1]

    def placer(self, state: State) -> Placer:
        """Return a trial of what is free, one that opens slots where slots are free."""
        placer = state.placer()
        if not self.on_slots:
            return placer
        chosen = self._chosen(state)

        def choose(row: int) -> str | None:
            vm = chosen[self._facts.number_of(row)]
            return None if vm is None else vm.name

        return opening_placer(placer, state.nodes, choose)

    def vm_changes(self, state: State, placing: Placing | None) -> dict[int, str | None]:
        """Return the VM types of slots where they change; None = no job is active."""
        if not self.on_slots:
            return {}
        if placing is None:
            return vm_changes(state.nodes, {}, set())
        running = state.active[placing.runs(state.active)].tolist()
        held: list[tuple[Share, ...]] = [placing.shares.get(row) or state.held(row) for row in running]
        return vm_changes(state.nodes, placing.opened, {share.node for shares in held for share in shares})

    def _offered(self, state: State) -> tuple[VmType, ...]:
        catalogue = state.nodes.vm_types
        return catalogue if self._vm_type is None else (vm_named(self._vm_type, catalogue),)

    def _chosen(self, state: State) -> list[VmType | None]:
        """Return the VM type that empty slots get for each kind of jobs; None on owned nodes."""
        kinds = self._facts.kinds
        if not self.on_slots:
            return [None] * len(kinds)
        offered, slots = self._offered(state), int(state.nodes.up.sum())
        return [cheapest_vm(kind, kinds, offered, slots) for kind in kinds]


def wake_at_s(state: State, vms: dict[int, str | None], waiting: int) -> float | None:
    """Return now where a slot empties while somebody waits: another VM type may suit. Only once after an event."""
    nobody_runs = waiting == len(state.active)
    if waiting and None in vms.values() and (nobody_runs or state.cause != EventKind.TIMER):
        return state.now_s
    return None


def rate_of(state: State, rows: Ints, workers: Ints, kind: JobKind) -> Floats:
    """Return the rates of rows of a kind on the fastest GPU type it accepts, at speed 1."""
    names = kind.gpu_type_names()
    types = state.nodes.vm_types
    accepted = [number for number, vm in enumerate(types) if vm.gpu_type in names]
    if len(accepted) in (0, len(types)):
        return state.rate(rows, workers)
    found = [state.rate_on(rows, workers, number) / types[number].speed for number in accepted]
    return np.asarray(np.max(found, axis=0))
