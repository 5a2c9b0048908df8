"""Policies on rented slots: open VMs as needed, release them when empty."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dlsched.domain.cluster import VmType, vm_capacity
from dlsched.domain.errors import InputError
from dlsched.domain.names import names_hint
from dlsched.domain.plan import Share
from dlsched.domain.state import Nodes, Placer
from dlsched.domain.workload import GPU, Floats
from dlsched.policies.shared.facts import JobKind

ChooseVm = Callable[[int], str | None]


class OpeningPlacer:
    """A placer that opens empty slots when a job finds no room on the VMs that are up.

    Slots are opened by number, one VM of the chosen type after the other until the job fits; ``opened`` maps slot
    to VM type. ``choose(row)`` names the type, None = no type suits the job.
    """

    def __init__(self, inner: Placer, empty: list[int], choose: ChooseVm, opened: dict[int, str]) -> None:
        self._inner, self._empty, self._choose = inner, empty, choose
        self.opened = opened

    @property
    def free(self) -> Floats:
        """Free resources of the slots as they are in this trial."""
        return self._inner.free

    @property
    def pool_free(self) -> Floats:
        """What is free of the slots taken together, less what is blocked."""
        return self._inner.pool_free

    @property
    def is_pool(self) -> bool:
        """Whether only the total counts."""
        return self._inner.is_pool

    def fits(self, row: int, workers: int) -> bool:
        """Whether there is room, opening slots if need be."""
        return self._inner.fits(row, workers) or self.copy().place(row, workers) is not None

    def place(self, row: int, workers: int) -> tuple[Share, ...] | None:
        """Take room, opening as few slots as it takes; None when all slots together have none."""
        shares = self._inner.place(row, workers)
        vm_name = self._choose(row) if shares is None else None
        if shares is not None or vm_name is None:
            return shares
        trial = self._inner.copy()
        for count, node in enumerate(self._empty, start=1):
            trial.open(node, vm_name)
            shares = trial.place(row, workers)
            if shares is not None:
                self._inner = trial
                self.opened |= dict.fromkeys(self._empty[:count], vm_name)
                self._empty = self._empty[count:]
                return shares
        return None

    def place_gang(self, row: int, workers: int, servers: int) -> tuple[Share, ...] | None:
        """Take room on the VMs that are up; jobs with servers are not run on rented slots."""
        return self._inner.place_gang(row, workers, servers)

    def take(self, row: int, shares: tuple[Share, ...]) -> None:
        """Take exactly these shares."""
        self._inner.take(row, shares)

    def release(self, row: int, shares: tuple[Share, ...]) -> None:
        """Give shares back."""
        self._inner.release(row, shares)

    def open(self, node: int, vm_name: str) -> None:
        """Put a VM type on an empty slot."""
        self._inner.open(node, vm_name)
        self._empty = [slot for slot in self._empty if slot != node]
        self.opened[node] = vm_name

    def copy(self) -> OpeningPlacer:
        """Return an independent trial."""
        return OpeningPlacer(self._inner.copy(), list(self._empty), self._choose, dict(self.opened))


def opening_placer(inner: Placer, nodes: Nodes, choose: ChooseVm) -> OpeningPlacer:
    """Return the placer over the slots that are empty and up now."""
    empty = np.flatnonzero((nodes.vm < 0) & nodes.up).tolist()
    return OpeningPlacer(inner, empty, choose, {})


def vm_changes(nodes: Nodes, opened: dict[int, str], in_use: set[int]) -> dict[int, str | None]:
    """Return the patch of VM types: opened slots that got a job, and None for VMs without any."""
    changes: dict[int, str | None] = {node: name for node, name in opened.items() if node in in_use}
    idle = [node for node in np.flatnonzero((nodes.vm >= 0) & nodes.up).tolist() if node not in in_use]
    return changes | dict.fromkeys(idle)


def vm_named(name: str, catalogue: tuple[VmType, ...]) -> VmType:
    """Return the VM type of this name; InputError lists near or all names."""
    for vm in catalogue:
        if vm.name == name:
            return vm
    hint = names_hint(name, [vm.name for vm in catalogue])
    raise InputError("parameter vm_type", f"{name!r} is not among the cluster's machine types", hint)


def cheapest_vm(kind: JobKind, seen: list[JobKind], catalogue: tuple[VmType, ...], slots: int) -> VmType | None:
    """Return the type with the lowest price per GPU that suits a kind; None when none does.

    Among the types one worker fits, those are preferred of which ``slots`` VMs hold the job; among these, those that
    hold the widest job seen so far with the same GPU types on one VM. A type without a price comes after all others;
    ties go by the catalogue.
    """
    types = kind.gpu_type_names()
    legal = [vm for vm in catalogue if (not types or vm.gpu_type in types) and _holds(vm, np.asarray(kind.demand))]
    legal = [vm for vm in legal if _workers_on(vm, kind) * slots >= kind.workers] or legal
    widest = max((other for other in seen if other.gpu_types == kind.gpu_types), key=_gpus, default=kind)
    roomy = [vm for vm in legal if _holds(vm, widest.need)]
    return min(roomy or legal, key=_usd_per_gpu_h, default=None)


def _holds(vm: VmType, need: Floats) -> bool:
    return bool((need <= np.asarray(vm_capacity(vm)) + 1e-9).all())


def _workers_on(vm: VmType, kind: JobKind) -> int:
    room = (amount / need for amount, need in zip(vm_capacity(vm), kind.demand, strict=True) if need > 0)
    return int(min(min(room) + 1e-9, kind.workers))


def _gpus(kind: JobKind) -> tuple[float, int]:
    return kind.workers * kind.demand[GPU], kind.workers


def _usd_per_gpu_h(vm: VmType) -> float:
    return np.inf if vm.usd_per_h is None else vm.usd_per_h / max(vm.gpus, 1)
