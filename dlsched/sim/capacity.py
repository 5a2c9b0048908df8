"""Nodes that go away and come back."""

from __future__ import annotations

from typing import NamedTuple

from dlsched.domain.cluster import Absence, Cluster
from dlsched.domain.plan import Step
from dlsched.domain.policy import EventKind
from dlsched.sim.event_queue import instant_s
from dlsched.sim.log import PieceEnd
from dlsched.sim.world import World


class CapacityChange(NamedTuple):
    """The begin or the end of an absence."""

    time_s: float
    comes_back: bool
    absence: Absence


def capacity_changes(cluster: Cluster) -> list[CapacityChange]:
    """Return begins and ends of all absences, returns first at one time, then by node."""
    changes = [CapacityChange(absence.start_s, False, absence) for absence in cluster.absences]
    changes += [CapacityChange(a.end_s, True, a) for a in cluster.absences if a.end_s is not None]
    return sorted(changes, key=lambda change: (change.time_s, not change.comes_back, change.absence.node))


def node_goes(world: World, absence: Absence, at_s: float, saved_s: float | None = None) -> EventKind:
    """Take a node away: its jobs go back to the queue, its VM is gone, reservations on it may be lost.

    ``saved_s``: when its jobs saved their work because they were told; None = they were not.
    """
    lost = EventKind.NONE
    for row in world.node_leaves(absence):
        if absence.planned and _leaves_now(world, row, at_s):
            lost |= _step_off(world, row, at_s)
            continue
        _stop(world, row, at_s, saved_s)
        if row in world.future:
            world.drop_future(row)
            lost |= EventKind.RESERVATION_LOST
    node = absence.node
    if world.scenario.cluster.free_slots and world.nodes.vm[node] >= 0:
        world.set_vm(node, -1, at_s)
        world.room.site = world.room.site.with_vms({node: None})
    world.room.free[node] = 0.0
    world.use_room(world.room)
    return lost if absence.planned else lost | _lose_reservations(world, node)


def node_is_back(world: World, absence: Absence) -> None:
    """End an absence."""
    world.node_returns(absence)


def _leaves_now(world: World, row: int, at_s: float) -> bool:
    """Whether the next step of a row's reservation takes it off its node at this very instant."""
    steps = world.future.get(row, ())
    return bool(steps) and (steps[0].start_s or 0.0) <= at_s + instant_s(at_s)


def _step_off(world: World, row: int, at_s: float) -> EventKind:
    """Take a row off as its reservation says; where it goes on, the step of this instant does it."""
    step, *later = world.future[row]
    ends = not step.shares and not later
    world.give_back(row)
    world.close_piece(row, at_s, PieceEnd.OVERRUN if ends else PieceEnd.PREEMPTED)
    world.wait(row)
    if later and not step.shares:
        world.ledger.pause(row, at_s)
    return EventKind.OVERRUN if ends else EventKind.NONE


def _stop(world: World, row: int, at_s: float, saved_s: float | None) -> None:
    """Send a running row back to the queue; what it did since it last saved its work is lost."""
    every_s, progress = world.options.checkpoint_s, world.progress
    lost_work = progress.since_checkpoint(row, at_s, every_s) if every_s > 0 else 0.0
    if saved_s is not None and lost_work > 0:
        lost_work = min(
            lost_work, progress.gained(row, at_s) - progress.gained(row, max(saved_s, progress.start_s[row]))
        )
    world.give_back(row)
    world.close_piece(row, at_s, PieceEnd.NODE_LOST, lost_work)
    world.wait(row)


def _lose_reservations(world: World, node: int) -> EventKind:
    """Drop every reservation that needs a failed node.

    Who runs keeps what it holds until its next step would have begun, no longer: others may have booked it from then.
    """
    rows = [
        row
        for row, steps in world.future.items()
        if any(share.node == node for step in steps for share in step.shares or ())
    ]
    for row in rows:
        next_s = world.future[row][0].start_s
        world.set_future(row, (Step(0, None, next_s),) if row in world.held else ())
    return EventKind.RESERVATION_LOST if rows else EventKind.NONE
