"""Which lanes of a node, one per GPU, each piece of work is drawn on."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from dlsched.figures.base import column


def lanes(segments: pd.DataFrame) -> pd.DataFrame:
    """Return one row per unbroken run of GPU lanes inside a node: columns of ``segments`` + lane, height.

    Lanes are a drawing aid, not the GPU numbers of the machine: first come, the lowest unbroken run that is free,
    else the lowest free ones. A job that goes on at once with another width keeps its lanes as far as it can. A share
    below one GPU takes a whole lane; a CPU job takes one lane, or as many as a column ``least_lanes`` says. A column
    ``wanted_lanes`` says how many lanes a piece takes where a lane is not one GPU. With a
    column ``vm_gpus`` no job keeps a lane that the machine under it does not have.
    """
    ordered = segments.sort_values(["node", "start_s", "end_s"], kind="stable")
    held = "wanted_lanes" if "wanted_lanes" in ordered else "gpus"
    starts, ends, gpus = (column(ordered, name).tolist() for name in ("start_s", "end_s", held))
    nodes, jobs = ordered["node"].tolist(), ordered["job_id"].tolist() if "job_id" in ordered else None
    least = column(ordered, "least_lanes").tolist() if "least_lanes" in ordered else [1] * len(gpus)
    wanted = [max(int(low), int(np.ceil(held - 1e-9))) for held, low in zip(gpus, least, strict=True)]
    taken: list[list[int]] = [[]] * len(nodes)
    room, bare = column(ordered, "vm_gpus"), column(ordered, "gpus") <= 0
    rooms = np.where(np.isnan(room) | bare, np.inf, room).tolist()
    firsts = np.where(bare, np.nan_to_num(room), 0.0).astype(int).tolist()
    node_lanes = _NodeLanes()
    for group in _together(nodes, starts):
        node_lanes = node_lanes if node_lanes.node == nodes[group[0]] else _NodeLanes(nodes[group[0]])
        names = [None if jobs is None else jobs[i] for i in group]
        asked = [_Asked(names[k], ends[i], wanted[i], rooms[i], firsts[i]) for k, i in enumerate(group)]
        places = node_lanes.seat(starts[group[0]], asked)
        for i, place in zip(group, places, strict=True):
            taken[i] = place
    runs = [(i, first, size) for i, place in enumerate(taken) for first, size in _runs(place)]
    source, lane, height = ([run[k] for run in runs] for k in range(3))
    return ordered.iloc[source].assign(lane=lane, height=height).reset_index(drop=True)


def _together(nodes: Sequence[int], starts: Sequence[float]) -> list[list[int]]:
    """Return the positions that begin at one instant on one node, in order."""
    groups: list[list[int]] = []
    for i, (node, start_s) in enumerate(zip(nodes, starts, strict=True)):
        if groups and nodes[groups[-1][0]] == node and start_s <= starts[groups[-1][0]] + 1e-9:
            groups[-1].append(i)
        else:
            groups.append([i])
    return groups


class _Asked(NamedTuple):
    """A piece that begins: whose it is, until when, how many lanes it wants, how many the machine has.

    ``first``: the lowest lane it may have; what holds no GPU is drawn below the GPUs of its machine.
    """

    name: object
    end_s: float
    wanted: int
    room: float
    first: int = 0


class _NodeLanes:
    """Who sits on which lanes of one node: ``until`` by lane, and the lanes each job had last, with their end."""

    def __init__(self, node: int = -1) -> None:
        self.node = node
        self.until: list[float] = []
        self.last: dict[object, tuple[float, list[int]]] = {}

    def seat(self, start_s: float, asked: Sequence[_Asked]) -> list[list[int]]:
        """Return the lanes of pieces that begin together: those who go on choose before those who come."""
        kept = [self._kept(start_s, one) for one in asked]
        reserved = {lane for lanes_held in kept for lane in lanes_held}
        places: list[list[int]] = [[]] * len(asked)
        for i in sorted(range(len(asked)), key=lambda i: -len(kept[i])):
            reserved -= set(kept[i])
            place = _free_lanes(self.until, start_s, asked[i], kept[i], reserved)
            self.until.extend([-np.inf] * (place[-1] + 1 - len(self.until)))
            for lane in place:
                self.until[lane] = asked[i].end_s
            self.last[asked[i].name] = (asked[i].end_s, place)
            places[i] = place
        return places

    def _kept(self, start_s: float, asked: _Asked) -> list[int]:
        """Return the lanes a job held until now, as many of them as it still wants."""
        end_s, held = self.last.get(asked.name, (-np.inf, []))
        if asked.name is None or abs(end_s - start_s) > _instant_s(start_s):
            return []
        return [lane for lane in held if lane < asked.room][: asked.wanted]


def _instant_s(time_s: float) -> float:
    return 1e-9 * max(1.0, abs(time_s))


def _free_lanes(until: Sequence[float], start_s: float, asked: _Asked, kept: list[int], taken: set[int]) -> list[int]:
    """Return ``kept`` and what is missing beside it, else the lowest unbroken run, else the lowest free lanes."""
    wanted = asked.wanted
    if len(kept) == wanted:
        return kept
    here = [i for i, busy_to in enumerate(until) if busy_to <= start_s + _instant_s(start_s) and i not in taken]
    free = [i for i in here if asked.first <= i < asked.room]
    runs = [free[i : i + wanted] for i in range(len(free) - wanted + 1) if free[i + wanted - 1] - free[i] == wanted - 1]
    for run in runs:
        if set(kept) <= set(run):
            return run
    others = [lane for lane in free if lane not in kept][: wanted - len(kept)]
    new = (lane for lane in itertools.count(max(len(until), asked.first)) if lane not in taken)
    return sorted(kept + others + list(itertools.islice(new, wanted - len(kept) - len(others))))


def _runs(taken: Sequence[int]) -> list[tuple[int, int]]:
    """Return (first, size) of each unbroken run of ascending numbers."""
    runs: list[tuple[int, int]] = []
    for i in taken:
        if runs and sum(runs[-1]) == i:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((i, 1))
    return runs
