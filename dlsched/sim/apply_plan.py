"""Checking a plan on a trial copy and carrying it out: releases, VM changes, starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dlsched.domain.errors import PlanError
from dlsched.domain.journal import Evicted, Loses
from dlsched.domain.plan import Plan, Share, Step
from dlsched.placement import TrialPlacer
from dlsched.placement.rules import ROOM_TOLERANCE
from dlsched.sim.changes import AllocationChange, read_change
from dlsched.sim.log import JobStatus, PieceEnd
from dlsched.sim.renaming import rename_slots
from dlsched.sim.reservations import check_reservations, room_between
from dlsched.sim.state import blocked_total
from dlsched.sim.world import World, gang_width


def apply_plan(world: World, plan: Plan, now_s: float) -> bool:
    """Carry a plan out and return whether anything changed; PlanError when it cannot be carried out."""
    if not (plan.allocations or plan.rejected or plan.vms or plan.evicted):
        return False
    for row, loses in plan.evicted.items():
        _evict(world, row, loses, now_s)
    changes = [read_change(world, row, allocation, now_s) for row, allocation in plan.allocations.items()]
    vms = _read_vms(world, plan, now_s)
    if world.scenario.cluster.free_slots:
        changes, vms = rename_slots(world, changes, vms)
    had_future = [change.row for change in changes if change.row in world.future]
    for row in had_future:
        world.drop_future(row)
    changed = _apply_now(world, changes, vms, now_s)
    if world.future or any(change.future for change in changes):
        _apply_future(world, changes, now_s)
    _reject(world, plan.rejected, now_s)
    return bool(changed or had_future or plan.rejected or plan.evicted or any(change.future for change in changes))


def _evict(world: World, row: int, loses: Loses, now_s: float) -> None:
    """Stop a running row and send it back to the queue with this loss of work."""
    if row not in world.held:
        raise PlanError(f"At {now_s:g} s: the plan evicts row {row}, which is not a running job.")
    progress, every_s = world.progress, world.options.checkpoint_s
    lost_work = 0.0
    if loses == "all":
        lost_work = progress.gained(row, now_s)
    elif loses == "checkpoint" and every_s > 0:
        lost_work = progress.since_checkpoint(row, now_s, every_s)
    world.drop_future(row)
    world.give_back(row)
    world.close_piece(row, now_s, PieceEnd.PREEMPTED, lost_work)
    world.wait(row)
    world.ledger.journal.append((now_s, Evicted(row, loses)))


def _read_vms(world: World, plan: Plan, now_s: float) -> dict[int, int]:
    """Return slot -> number of the VM type, only where it changes."""
    numbers = {vm.name: number for number, vm in enumerate(world.nodes.vm_types)}
    vms: dict[int, int] = {}
    for node, name in plan.vms.items():
        if not world.scenario.cluster.free_slots:
            raise PlanError(
                f"At {now_s:g} s: the plan puts {name!r} on node {node}, but the nodes are owned, not rented."
            )
        if not 0 <= node < len(world.nodes.vm):
            raise PlanError(f"At {now_s:g} s: there is no slot {node}; the last one is {len(world.nodes.vm) - 1}.")
        if name is not None and name not in numbers:
            raise PlanError(f"At {now_s:g} s: VM type {name!r} is not in the catalogue: {', '.join(numbers)}.")
        number = -1 if name is None else numbers[name]
        if number >= 0 and not world.nodes.up[node]:
            raise PlanError(f"At {now_s:g} s: slot {node} is down, so {name!r} cannot be opened on it.")
        if number != world.nodes.vm[node]:
            vms[node] = number
    return vms


def _apply_now(world: World, changes: list[AllocationChange], vms: Mapping[int, int], now_s: float) -> bool:
    """Put every row on what it shall hold now; return whether any row or slot changed."""
    todo = {change.row: change for change in changes if _moves(world, change, vms)}
    if vms:
        named = {change.row for change in changes}
        stay = {
            row for row, shares in world.held.items() if row not in named and any(share.node in vms for share in shares)
        }
        todo |= {row: AllocationChange(row, 0, world.held[row], (), None, True) for row in sorted(stay)}
    blocked = world.blocked
    if blocked or any(change.blocked is not None for change in changes):
        blocked = _new_blocked(world, changes)
        _check_blocked(world, blocked, todo, now_s)
    if not todo and not vms and blocked == world.blocked:
        return False
    trial = world.room.copy()
    trial.now_s = now_s
    for row in todo:
        if row in world.held:
            trial.release(row, world.held[row])
    _change_vms(world, trial, vms)
    trial.blocked = blocked_total(blocked)
    shares = _place(world, trial, todo.values(), now_s)
    if world.scenario.speed.kind == "table":
        _check_speeds(world, shares, vms, now_s)
    world.use_room(trial)
    for node, vm in vms.items():
        world.set_vm(node, vm, now_s)
    for row in todo:
        if row in world.held or shares[row]:
            world.change_piece(row, shares[row], now_s, _end_of_piece(world, row, shares[row]))
    world.blocked = blocked
    return True


def _moves(world: World, change: AllocationChange, vms: Mapping[int, int]) -> bool:
    """Whether a change touches what the row holds; an equal allocation on unchanged VMs does not."""
    held = world.held.get(change.row, ())
    if change.shares is None:
        return True
    if held != change.shares and (len(held) < 2 or sorted(held) != sorted(change.shares)):
        return True
    return bool(vms) and any(share.node in vms for share in held)


def _new_blocked(world: World, changes: list[AllocationChange]) -> dict[int, tuple[float, ...]]:
    named = {change.row: change.blocked for change in changes}
    kept = {row: amount for row, amount in world.blocked.items() if row not in named}
    return kept | {row: amount for row, amount in named.items() if amount is not None}


def _check_blocked(world: World, blocked: Mapping[int, tuple[float, ...]], todo: Iterable[int], now_s: float) -> None:
    """What a row blocks changes only with what it holds: the log knows one amount a piece."""
    for row in (world.blocked.keys() | blocked.keys()) - set(todo):
        if row in world.held and blocked.get(row) != world.blocked.get(row):
            job = world.jobs.job_id[row]
            raise PlanError(f"At {now_s:g} s: job {job!r} changes what it blocks without changing its allocation.")


def _change_vms(world: World, trial: TrialPlacer, vms: Mapping[int, int]) -> None:
    if not vms:
        return
    types = world.nodes.vm_types
    trial.site = trial.site.with_vms({node: types[vm].name if vm >= 0 else None for node, vm in vms.items()})
    for node in vms:
        trial.free[node] = trial.site.capacity[node]


def _place(
    world: World, trial: TrialPlacer, todo: Iterable[AllocationChange], now_s: float
) -> dict[int, tuple[Share, ...]]:
    """Take the named shares, then let the placement rule place the widths; return the shares by row."""
    shares: dict[int, tuple[Share, ...]] = {}
    todo = list(todo)
    for change in todo:
        if change.shares is not None:
            trial.take(change.row, change.shares)
            shares[change.row] = change.shares
    for change in todo:
        if change.shares is None:
            placed = trial.place(change.row, change.workers)
            if placed is None:
                raise PlanError(_no_room(world, trial, change, now_s))
            shares[change.row] = placed
    if trial.blocked is not None and (trial.free.sum(axis=0) < np.array(trial.blocked) - ROOM_TOLERANCE).any():
        raise PlanError(
            f"At {now_s:g} s: jobs block {trial.blocked} more than they use, but only {trial.free.sum(0)} are free."
        )
    return shares


def _check_speeds(world: World, shares: Mapping[int, tuple[Share, ...]], vms: Mapping[int, int], now_s: float) -> None:
    """Raise PlanError when a job would stand still: the time table has no times of it on that GPU type."""
    for row, held in shares.items():
        types = {vms.get(share.node, int(world.nodes.vm[share.node])) for share in held}
        if types and world.speed.rate(row, *gang_width(held), types, len(held)) <= 0:
            names = ", ".join(world.nodes.vm_types[vm].name for vm in sorted(types))
            job = world.jobs.job_id[row]
            raise PlanError(f"At {now_s:g} s: job {job!r} has no run time on {names} in the time table.")


def _no_room(world: World, trial: TrialPlacer, change: AllocationChange, now_s: float) -> str:
    gpus = change.workers * world.room.site.asks.demand[change.row][0]
    capacity = trial.site.capacity[:, 0].sum()
    return (
        f"At {now_s:g} s: the rule {world.options.placement} finds no node for job "
        f"{world.jobs.job_id[change.row]!r} with {change.workers} workers and {gpus:g} GPUs; "
        f"{trial.free[:, 0].sum():g} of {capacity:g} GPUs are free."
    )


def _end_of_piece(world: World, row: int, shares: tuple[Share, ...]) -> PieceEnd:
    """Return why the running piece of a row ends when it goes on with these shares."""
    held = world.held.get(row, ())
    if not shares:
        return PieceEnd.PREEMPTED
    if gang_width(held) != gang_width(shares):
        return PieceEnd.RESIZED
    return PieceEnd.VM_CHANGED if sorted(held) == sorted(shares) else PieceEnd.MOVED


def _apply_future(world: World, changes: list[AllocationChange], now_s: float) -> None:
    """Book the steps to come and check them, and the changes of now, against all that is booked."""
    for change in changes:
        if change.future:
            world.set_future(change.row, change.future)
    for change in changes:
        if any(step.workers and step.shares is None for step in change.future):
            world.set_future(change.row, _placed_steps(world, change, now_s))
    if world.future:
        check_reservations(world, (change.row for change in changes), now_s)


def _placed_steps(world: World, change: AllocationChange, now_s: float) -> tuple[Step, ...]:
    """Return the steps to come with nodes picked by the placement rule where only a width was given."""
    steps = list(change.future)
    ends: list[Any] = [step.start_s for step in steps[1:]] + [np.inf]
    for number, step in enumerate(steps):
        if step.workers == 0 or step.shares is not None:
            continue
        start_s = step.start_s or 0.0
        room = TrialPlacer(world.room.site, room_between(world, now_s, start_s, ends[number]), start_s)
        shares = room.place(change.row, step.workers)
        if shares is None:
            raise PlanError(
                f"At {now_s:g} s: the rule {world.options.placement} finds no node from {start_s:g} s to "
                f"{ends[number]:g} s for job {world.jobs.job_id[change.row]!r} with {step.workers} workers."
            )
        steps[number] = step._replace(shares=shares)
        world.future[change.row] = tuple(steps)
    return tuple(steps)


def _reject(world: World, rows: Iterable[int], now_s: float) -> None:
    for row in rows:
        if not (0 <= row < world.event_queue.submitted and world.is_waiting[row]):
            raise PlanError(f"At {now_s:g} s: the plan rejects row {row}, which is not a waiting job.")
        world.finish(row, JobStatus.REJECTED, now_s)
