"""Which lanes of a node, one per GPU, each piece of work is drawn on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from dlsched.figures.base import column


def lanes(segments: pd.DataFrame) -> pd.DataFrame:
    """Return one row per unbroken run of GPU lanes inside a node: columns of ``segments`` + lane, height.

    Lanes are a drawing aid, not the GPU numbers of the machine: first come, the lowest unbroken run that is free,
    else the lowest free ones. A share below one GPU takes a whole lane; a CPU job takes one lane.
    """
    ordered = segments.sort_values(["node", "start_s", "end_s"], kind="stable")
    free_at: dict[int, list[float]] = {}
    source, lane, height = [], [], []
    starts, ends, gpus = (column(ordered, name).tolist() for name in ("start_s", "end_s", "gpus"))
    for place, node in enumerate(ordered["node"].tolist()):
        until = free_at.setdefault(node, [])
        taken = _free_lanes(until, starts[place], max(1, int(np.ceil(gpus[place] - 1e-9))))
        until.extend([0.0] * (taken[-1] + 1 - len(until)))
        for i in taken:
            until[i] = ends[place]
        for first, size in _runs(taken):
            source.append(place)
            lane.append(first)
            height.append(size)
    return ordered.iloc[source].assign(lane=lane, height=height).reset_index(drop=True)


def _free_lanes(until: Sequence[float], start_s: float, wanted: int) -> list[int]:
    free = [i for i, busy_to in enumerate(until) if busy_to <= start_s + 1e-9]
    for place in range(len(free) - wanted + 1):
        if free[place + wanted - 1] - free[place] == wanted - 1:
            return free[place : place + wanted]
    lower = free[:wanted]
    return lower + list(range(len(until), len(until) + wanted - len(lower)))


def _runs(taken: Sequence[int]) -> list[tuple[int, int]]:
    """Return (first, size) of each unbroken run of ascending numbers."""
    runs: list[tuple[int, int]] = []
    for i in taken:
        if runs and sum(runs[-1]) == i:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((i, 1))
    return runs
