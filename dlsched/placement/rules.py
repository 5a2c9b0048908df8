"""The placement rules: a width in, nodes out. Pure functions over the free resources of all nodes.

Every rule gets ``free`` and ``capacity`` of shape (nodes, resources) and an :class:`Ask`, and returns a list of
(node, workers), or None when there is no room. Ties go to the lowest node number.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from dlsched.domain.scenario import PlacementRule
from dlsched.domain.workload import GPU, Floats, Ints
from dlsched.placement.eligibility import Mask

ROOM_TOLERANCE = 1e-9
"""Fractions of a GPU add up with rounding errors; less than this does not count."""

Picks = list[tuple[int, int]]


class Ask(NamedTuple):
    """What a job asks for: a width, what one worker holds, the resources that can bind, the nodes allowed."""

    workers: int
    demand: tuple[float, ...]
    binding: tuple[int, ...]
    allowed: Mask | None


Rule = Callable[[Floats, Floats, Ask], Picks | None]


def holds_all(free: Floats, ask: Ask) -> Mask:
    """Return which nodes hold the whole job, shape (nodes,)."""
    first, *others = ask.binding
    enough: Mask = free[:, first] >= ask.workers * ask.demand[first] - ROOM_TOLERANCE
    for resource in others:
        enough &= free[:, resource] >= ask.workers * ask.demand[resource] - ROOM_TOLERANCE
    if ask.allowed is not None:
        enough &= ask.allowed
    return enough


def worker_room(free: Floats, ask: Ask) -> Ints:
    """Return how many of the job's workers each node holds, at most all of them, shape (nodes,)."""
    room = np.full(len(free), float(ask.workers))
    for resource in ask.binding:
        np.minimum(room, np.floor((free[:, resource] + ROOM_TOLERANCE) / ask.demand[resource]), out=room)
    if ask.allowed is not None:
        room *= ask.allowed
    whole: Ints = np.maximum(room, 0.0).astype(np.int64)
    return whole


def fullest_single(free: Floats, ask: Ask) -> Picks | None:
    """Return the node with the fewest free GPUs that holds the whole job."""
    score = np.where(holds_all(free, ask), free[:, GPU], np.inf)
    node = int(score.argmin())
    return [(node, ask.workers)] if score[node] < np.inf else None


def best_fit(free: Floats, capacity: Floats, ask: Ask) -> Picks | None:
    """Fewest free GPUs that still fit; a job larger than every allowed node takes wholly empty nodes by number."""
    single = fullest_single(free, ask)
    if single is not None or holds_all(capacity, ask).any():
        return single
    empty = (free >= capacity - ROOM_TOLERANCE).all(axis=1)
    return _fill(np.where(empty, worker_room(free, ask), 0), ask.workers)


def pool(free: Floats, capacity: Floats, ask: Ask) -> Picks | None:
    """Only the total counts; workers are named first-fit over the nodes by number, split anywhere."""
    return _fill(worker_room(free, ask), ask.workers)


def pack(free: Floats, capacity: Floats, ask: Ask) -> Picks | None:
    """Fewest nodes; among the choices with that few, fullest nodes first."""
    single = fullest_single(free, ask)
    if single is not None:
        return single
    room = worker_room(free, ask)
    by_room = np.lexsort((free[:, GPU], room))
    by_room = by_room[room[by_room] > 0]
    nodes, sizes = by_room.tolist(), room[by_room].tolist()
    largest_sums = [0, *accumulate(reversed(sizes))]
    if largest_sums[-1] < ask.workers:
        return None
    picks, missing, low = [], ask.workers, 0
    for others in range(bisect_left(largest_sums, ask.workers) - 1, -1, -1):
        # the fullest node with which the `others` roomiest nodes still hold the rest
        low = bisect_left(sizes, missing - largest_sums[others], low, len(sizes) - others - 1)
        taken = min(sizes[low], missing)
        picks.append((nodes[low], taken))
        missing, low = missing - taken, low + 1
    return picks


def spread(free: Floats, capacity: Floats, ask: Ask) -> Picks | None:
    """Most nodes: rounds of one worker a node, emptiest nodes first, until all workers have a place."""
    room = worker_room(free, ask)
    if room.sum() < ask.workers:
        return None
    order = np.argsort(-free[:, GPU], kind="stable")
    sizes = room[order]
    rounds = 1
    while np.minimum(sizes, rounds).sum() < ask.workers:
        rounds += 1
    counts = np.minimum(sizes, rounds - 1)
    last_round = np.flatnonzero(sizes >= rounds)[: ask.workers - int(counts.sum())]
    counts[last_round] += 1
    used = np.flatnonzero(counts)
    return list(zip(order[used].tolist(), counts[used].tolist(), strict=True))


def _fill(room: Ints, workers: int) -> Picks | None:
    """Fill nodes by number, each as far as it goes."""
    after = np.cumsum(room)
    if len(after) == 0 or after[-1] < workers:
        return None
    last = int(np.searchsorted(after, workers))
    picks = [(int(node), int(room[node])) for node in np.flatnonzero(room[:last])]
    picks.append((last, workers - (int(after[last - 1]) if last else 0)))
    return picks


RULES: Mapping[PlacementRule, Rule] = {"best-fit": best_fit, "pool": pool, "pack": pack, "spread": spread}
