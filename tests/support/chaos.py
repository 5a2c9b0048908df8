"""A policy that makes random legal moves: starts, stops, resizes, moves, reservations, VM changes, rejections."""

from __future__ import annotations

from typing import Any

import numpy as np

from dlsched.domain.errors import PlanError
from dlsched.domain.plan import Allocation, Plan, Share, Step, WaitReason, run_on
from dlsched.domain.policy import EventKind, ListRule, ReviewRule
from dlsched.domain.state import Placer, State
from dlsched.domain.workload import GPU


class Chaos:
    """Rolls the state's own dice. ``calls`` limits the moves that cost progress, so that every run ends."""

    kernel_rule: ListRule | None = None

    def __init__(self, *, free_slots: bool, every_s: float | None = None, calls: int = 60) -> None:
        self._free_slots = free_slots
        self.review = ReviewRule(~EventKind.NONE, every_s)
        self._calls_left = calls
        self._stepped: set[int] = set()

    def plan(self, state: State) -> Plan:
        self._calls_left -= 1
        wild = self._calls_left > 0
        promised = any(state.reserved(row) for row in state.active.tolist())
        placer, vms = state.placer(), dict[int, str | None]()
        allocations: dict[int, Allocation] = {}
        changed: dict[int, str | None] = {}
        if self._free_slots:
            vms |= _opened(state, placer)
        if wild and not promised and not vms and state.rng.random() < 0.5:
            allocations |= _shaken(state, placer, self._stepped)
        elif wild and state.rng.random() < 0.3:
            allocations |= {row: () for row in state.running.tolist() if state.rng.random() < 0.3}
        elif wild and self._free_slots and not promised and state.rng.random() < 0.3:
            vms |= (changed := _changed(state, vms))
        rejected = _rejected(state, wild)
        if not changed:
            rows = [row for row in state.waiting.tolist() if row not in rejected]
            allocations |= _started(state, placer, rows, wild)
        # Whoever shrinks by reservation is not grown: step and plan at one instant would be one change of two parts.
        self._stepped |= {r for r, steps in allocations.items() if len({s.workers for s in steps if s.workers}) > 1}
        waiting = state.waiting
        codes = state.rng.choice([int(code) for code in WaitReason], len(waiting))
        wake_at_s = state.now_s + float(state.rng.choice([0.0, 2.5, 7.3])) if len(state.active) else None
        return Plan(allocations, tuple(rejected), vms, wake_at_s, (waiting, codes), status="feasible", objective=-1.0)


def _rejected(state: State, wild: bool) -> list[int]:
    return [row for row in state.waiting.tolist() if wild and state.rng.random() < 0.03]


def _shaken(state: State, placer: Placer, spared: set[int]) -> dict[int, Allocation]:
    """Stop, move or resize running jobs within the room they give back."""
    changed: dict[int, Allocation] = {}
    for row in state.running.tolist():
        if row in spared or state.rng.random() < 0.5:
            continue
        placer.release(row, state.held(row))
        shares = _placed(state, placer, row)
        if shares is not None and state.rng.random() < 0.8:
            changed[row] = run_on(shares)
        else:
            if shares is not None:
                placer.release(row, shares)
            changed[row] = ()
    return changed


def _started(state: State, placer: Placer, rows: list[int], wild: bool) -> dict[int, Allocation]:
    started: dict[int, Allocation] = {}
    for row in rows:
        if state.reserved(row) or (wild and state.rng.random() < 0.3):
            continue
        shares = _placed(state, placer, row)
        if shares is not None:
            reserve = wild and state.rng.random() < 0.3
            started[row] = (_reservation(state, row, shares) if reserve else None) or run_on(shares)
    return started


def _placed(state: State, placer: Placer, row: int) -> tuple[Share, ...] | None:
    """Take room for a random legal width: by the placement rule, or on nodes drawn one worker at a time."""
    low, high = (int(limit[0]) for limit in state.width_limits(np.array([row])))
    width = int(state.rng.integers(low, high + 1))
    if state.rng.random() < 0.6:
        return placer.place(row, width)
    counts: dict[int, int] = {}
    for _ in range(width):
        for node in state.rng.permutation(len(state.nodes.vm)).tolist():
            if state.nodes.up[node] and _takes(placer, row, node):
                counts[node] = counts.get(node, 0) + 1
                break
        else:
            placer.release(row, tuple(Share(node, count) for node, count in counts.items()))
            return None
    return tuple(Share(node, count) for node, count in counts.items())


def _takes(placer: Placer, row: int, node: int) -> bool:
    try:
        placer.take(row, (Share(node, 1),))
    except PlanError:
        return False
    return True


def _reservation(state: State, row: int, shares: tuple[Share, ...]) -> Allocation | None:
    """Return steps on these shares now or later, smaller ones, a gap, an end or none; None where a node is to leave."""
    nodes = {share.node for share in shares}
    if any(absence.node in nodes for absence in state.calendar):
        return None
    width = sum(share.workers for share in shares)
    first_s = state.now_s + float(state.rng.choice([0.0, 2.5, 4.1]))
    starts = [Step(width, shares, None if first_s == state.now_s else first_s)]
    low = int(state.width_limits(np.array([row]))[0][0])
    fewer = (*shares[:-1], shares[-1]._replace(workers=shares[-1].workers - 1))
    if shares[-1].workers > 1 and width > low and state.rng.random() < 0.5:
        starts.append(Step(width - 1, fewer, first_s + 2.5))
    if state.rng.random() < 0.7:
        starts.append(Step(0, None, first_s + 5.0))
        if state.rng.random() < 0.5:
            starts.append(Step(width, shares, first_s + 7.5))
            if state.rng.random() < 0.5:
                starts.append(Step(0, None, first_s + 20.0))
    return tuple(starts)


def _opened(state: State, placer: Placer) -> dict[int, str | None]:
    """Put a VM type on some of the empty slots."""
    opened: dict[int, str | None] = {}
    for node in np.flatnonzero((state.nodes.vm < 0) & state.nodes.up).tolist():
        if state.rng.random() < 0.8:
            name = state.nodes.vm_types[int(state.rng.integers(len(state.nodes.vm_types)))].name
            opened[node] = name
            placer.open(node, name)
    return opened


def _changed(state: State, opened: dict[int, Any]) -> dict[int, str | None]:
    """Put other VM types under running jobs where they still fit, and release slots that nobody uses."""
    changed: dict[int, str | None] = {}
    nodes = state.nodes
    gpus_used = nodes.capacity[:, GPU] - nodes.free[:, GPU]
    for node in np.flatnonzero((nodes.vm >= 0) & nodes.up).tolist():
        if node in opened:
            continue
        rows = [row for row in state.running.tolist() if any(share.node == node for share in state.held(row))]
        if not rows:
            changed[node] = None
            continue
        old = nodes.vm_types[int(nodes.vm[node])]
        for vm in nodes.vm_types:
            same = vm.gpu_type == old.gpu_type and (vm.cpus, vm.mem_gib) == (old.cpus, old.mem_gib)
            if vm.name != old.name and same and vm.gpus >= gpus_used[node]:
                changed[node] = vm.name
    return changed
