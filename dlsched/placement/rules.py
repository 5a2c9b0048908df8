"""The placement rules: a width in, nodes out. Pure functions over the free resources of all nodes.

Every rule gets ``free`` and ``capacity`` of shape (nodes, resources) and an :class:`Ask`, and returns a list of
(node, workers), or None when there is no room. Ties go to the lowest node number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from dlsched.domain.scenario import PlacementRule
from dlsched.domain.workload import GPU, Floats, Ints
from dlsched.placement.eligibility import Mask

ROOM_TOLERANCE = 1e-9
"""Fractions of a GPU add up with rounding errors; less than this does not count."""

Picks = list[tuple[int, int]]


class Ask(NamedTuple):
    """What a job asks for at a width.

    ``demand`` is what one worker holds; ``binding`` the resources that can keep it from a node; ``limited`` those
    that can show that a node is not empty; ``allowed`` the nodes of the right kind (None = all); ``outgrows`` says
    that the job is larger than every allowed node.
    """

    workers: int
    demand: tuple[float, ...]
    binding: tuple[int, ...]
    limited: tuple[int, ...]
    allowed: Mask | None
    outgrows: bool


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
    first, *others = ask.binding
    room = np.minimum((free[:, first] + ROOM_TOLERANCE) / ask.demand[first], ask.workers)
    for resource in others:
        np.minimum(room, (free[:, resource] + ROOM_TOLERANCE) / ask.demand[resource], out=room)
    whole: Ints = room.astype(np.int64)
    if ask.allowed is not None:
        whole *= ask.allowed
    return whole


def fullest_single(free: Floats, ask: Ask) -> Picks | None:
    """Return the node with the fewest free GPUs that holds the whole job."""
    score = np.where(holds_all(free, ask), free[:, GPU], np.inf)
    node = int(score.argmin())
    return [(node, ask.workers)] if score[node] < np.inf else None


def best_fit(free: Floats, capacity: Floats, ask: Ask) -> Picks | None:
    """Fewest free GPUs that still fit; a job larger than every allowed node takes wholly empty nodes by number."""
    if not ask.outgrows:
        return fullest_single(free, ask)
    room = worker_room(free, ask)
    for resource in ask.limited:
        room *= free[:, resource] >= capacity[:, resource] - ROOM_TOLERANCE
    return _fill(room, ask.workers)


def pool(free: Floats, capacity: Floats, ask: Ask) -> Picks | None:
    """Only the total counts; workers are named first-fit over the nodes by number, split anywhere."""
    return _fill(worker_room(free, ask), ask.workers)


def pack(free: Floats, capacity: Floats, ask: Ask) -> Picks | None:
    """Fewest nodes; among the choices with that few, fullest nodes first."""
    single = None if ask.outgrows else fullest_single(free, ask)
    if single is not None:
        return single
    room = worker_room(free, ask)
    usable = np.flatnonzero(room)
    by_room = usable[np.lexsort((free[usable, GPU], room[usable]))]
    sizes = room[by_room]
    roomiest = np.concatenate([[0], sizes[::-1].cumsum()])
    if roomiest[-1] < ask.workers:
        return None
    picks, missing, low = [], ask.workers, 0
    for others in range(int(roomiest.searchsorted(ask.workers)) - 1, -1, -1):
        # the fullest node with which the `others` roomiest nodes still hold the rest
        low += int(sizes[low : len(sizes) - others - 1].searchsorted(missing - roomiest[others]))
        taken = min(int(sizes[low]), missing)
        picks.append((int(by_room[low]), taken))
        missing, low = missing - taken, low + 1
    return picks


def spread(free: Floats, capacity: Floats, ask: Ask) -> Picks | None:
    """Most nodes: rounds of one worker a node, emptiest nodes first, until all workers have a place."""
    room = worker_room(free, ask)
    # in round r every node with room for r workers takes one
    takers = np.bincount(room)[::-1].cumsum()[-2::-1]
    placed = takers.cumsum()
    if not len(placed) or placed[-1] < ask.workers:
        return None
    rounds = int(placed.searchsorted(ask.workers)) + 1
    missing = ask.workers - (int(placed[rounds - 2]) if rounds > 1 else 0)
    usable = np.flatnonzero(room)
    usable = usable[np.argsort(-free[usable, GPU], kind="stable")]
    counts = np.minimum(room[usable], rounds - 1)
    counts[np.flatnonzero(room[usable] >= rounds)[:missing]] += 1
    used = np.flatnonzero(counts)
    return list(zip(usable[used].tolist(), counts[used].tolist(), strict=True))


def _fill(room: Ints, workers: int) -> Picks | None:
    """Fill nodes by number, each as far as it goes."""
    after = room.cumsum()
    if after[-1] < workers:
        return None
    last = int(after.searchsorted(workers))
    full = room[:last].nonzero()[0]
    picks = list(zip(full.tolist(), room[full].tolist(), strict=True))
    picks.append((last, workers - (int(after[last - 1]) if last else 0)))
    return picks


RULES: Mapping[PlacementRule, Rule] = {"best-fit": best_fit, "pool": pool, "pack": pack, "spread": spread}
