"""Use of the nodes over time: what running jobs and reservations hold from now on.

An allocation without an end counts for ever, because the end of its job is not known; so a reservation that has
been accepted is broken only by a node that goes away by surprise.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from dlsched.domain.errors import PlanError
from dlsched.domain.plan import Share, Step
from dlsched.domain.workload import RESOURCES, Floats
from dlsched.placement.rules import ROOM_TOLERANCE
from dlsched.placement.trial import RESOURCE_WORDS
from dlsched.sim.event_queue import instant_s
from dlsched.sim.world import World


class Use(NamedTuple):
    """A row holds ``amount`` (per resource) of one node from ``start_s`` to ``end_s``."""

    start_s: float
    end_s: float
    row: int
    amount: tuple[float, ...]


Uses = Mapping[int, list[Use]]


def step_spans(steps: tuple[Step, ...]) -> Iterator[tuple[float, float, tuple[Share, ...]]]:
    """Yield (start_s, end_s, shares) of the dated steps that hold something."""
    starts = [step.start_s or 0.0 for step in steps]
    for step, start_s, end_s in zip(steps, starts, [*starts[1:], math.inf], strict=False):
        if step.shares:
            yield start_s, end_s, step.shares


def future_uses(world: World) -> Uses:
    """Return what reservations hold, by node."""
    return _by_node(world, ((row, *span) for row, steps in world.future.items() for span in step_spans(steps)))


def all_uses(world: World, now_s: float) -> Uses:
    """Return what running jobs and reservations hold from now on, by node."""
    spans = [(row, now_s, _held_until_s(world, row), shares) for row, shares in world.held.items()]
    spans += [(row, *span) for row, steps in world.future.items() for span in step_spans(steps)]
    return _by_node(world, spans)


def _held_until_s(world: World, row: int) -> float:
    steps = world.future.get(row)
    return math.inf if not steps else steps[0].start_s or 0.0


def _by_node(world: World, spans: Iterable[tuple[int, float, float, tuple[Share, ...]]]) -> Uses:
    uses: defaultdict[int, list[Use]] = defaultdict(list)
    for row, start_s, end_s, shares in spans:
        for share in shares:
            uses[share.node].append(Use(start_s, end_s, row, world.room.site.asks.held(row, share)))
    return uses


def peak(uses: Iterable[Use], from_s: float, to_s: float) -> tuple[Floats, float, int]:
    """Return the largest use of each resource between two times, and when and by whom the last rise came.

    Spans that touch within one instant do not overlap.
    """
    changes: list[tuple[float, int, Use]] = []
    for use in uses:
        start_s, end_s = max(use.start_s, from_s), min(use.end_s, to_s)
        if end_s - start_s > instant_s(start_s):
            changes.append((start_s, 1, use))
            changes.append((end_s - instant_s(start_s), -1, use))
    changes.sort(key=lambda change: (change[0], change[1]))
    level, highest = np.zeros(len(RESOURCES)), np.zeros(len(RESOURCES))
    when_s, who = from_s, -1
    for time_s, sign, use in changes:
        level = level + sign * np.array(use.amount)
        if (level > highest + ROOM_TOLERANCE).any():
            when_s, who = time_s, use.row
        highest = np.maximum(highest, level)
    return highest, when_s, who


def lasting_room(world: World, now_s: float) -> Floats:
    """Return what is free on each node from now on for ever, shape (nodes, resources)."""
    free: Floats = world.room.free
    if not world.future:
        return free
    free, uses = free.copy(), all_uses(world, now_s)
    for node in future_uses(world):
        left = world.room.site.capacity[node] - peak(uses[node], now_s, math.inf)[0]
        free[node] = np.minimum(free[node], np.maximum(left, 0.0))
    return free


def room_between(world: World, now_s: float, start_s: float, end_s: float) -> Floats:
    """Return what is free on each node during the whole span, shape (nodes, resources)."""
    free: Floats = world.room.site.capacity.copy()
    for node, uses in all_uses(world, now_s).items():
        free[node] = np.maximum(free[node] - peak(uses, start_s, end_s)[0], 0.0)
    for node in range(len(free)):
        if _is_away(world, node, start_s, end_s):
            free[node] = 0.0
    return free


def check_reservations(world: World, rows: Iterable[int], now_s: float) -> None:
    """Raise PlanError when what these rows hold or will hold overbooks a node at any time."""
    rows = set(rows)
    for row in sorted(rows):
        for start_s, end_s, shares in step_spans(world.future.get(row, ())):
            for share in shares:
                _check_node_there(world, row, share.node, (now_s, start_s, end_s))
    for node, uses in all_uses(world, now_s).items():
        if any(use.row in rows for use in uses):
            _check_peak(world, node, uses, now_s)


def _check_peak(world: World, node: int, uses: list[Use], now_s: float) -> None:
    highest, when_s, who = peak(uses, now_s, math.inf)
    capacity = world.room.site.capacity[node]
    for resource in np.flatnonzero(highest > capacity + ROOM_TOLERANCE):
        raise PlanError(
            f"At {now_s:g} s: job {world.jobs.job_id[who]!r} and others would use {highest[resource]:g} "
            f"{RESOURCE_WORDS[resource]} of node {node} at {when_s:g} s, which has only {capacity[resource]:g}."
        )


def _check_node_there(world: World, row: int, node: int, span_s: tuple[float, float, float]) -> None:
    now_s, start_s, end_s = span_s
    allowed = world.room.site.allowed(row)
    if allowed is not None and not allowed[node]:
        raise PlanError(f"At {now_s:g} s: job {world.jobs.job_id[row]!r} may not use node {node}, but reserves it.")
    if _is_away(world, node, start_s, end_s):
        raise PlanError(
            f"At {now_s:g} s: job {world.jobs.job_id[row]!r} reserves node {node} from {start_s:g} s to {end_s:g} s, "
            "but the node is down during that time."
        )


def _is_away(world: World, node: int, start_s: float, end_s: float) -> bool:
    """Whether a node is known to be away at some time of a span; a failed node is away for ever as far as known.

    A span without end only needs the node at its start: the job will probably be done before a far absence.
    """
    if world.nodes.failed[node]:
        return True
    if end_s == math.inf:
        end_s = start_s + 2 * instant_s(start_s)
    return any(
        absence.node == node
        and min(absence.until_s, end_s) - max(absence.start_s, start_s) > instant_s(max(absence.start_s, start_s))
        for absence in world.planned
    )
