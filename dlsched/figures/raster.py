"""The Gantt overview: nodes or jobs x time bins as one small matrix, whatever the number of segments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

MAX_BINS = 1200
MAX_ROWS = 400
IDLE, PARTLY, BUSY, LATE, DOWN = range(5)
STATE_TEXT = ("idle", "under half held", "held", "held by a job past due", "not there")


@dataclass(frozen=True, eq=False)
class Raster:
    """``cell`` (rows, bins) of uint8: index into ``legend``; ``held`` (rows, bins): share of the row's GPUs held."""

    cell: NDArray[np.uint8]
    held: NDArray[np.float32]
    legend: tuple[str, ...]
    row_labels: tuple[str, ...]
    from_s: float
    to_s: float
    rows_per_line: int

    @property
    def bin_s(self) -> float:
        """Length of a time bin, seconds."""
        return (self.to_s - self.from_s) / self.cell.shape[1]


def overlap(
    line: NDArray[np.int64],
    start_s: NDArray[np.float64],
    end_s: NDArray[np.float64],
    weight: NDArray[np.float64],
    lines: int,
    bins: int,
    from_s: float,
    to_s: float,
) -> NDArray[np.float64]:
    """Return the weighted share of each bin covered by the intervals, shape (lines, bins).

    Each interval adds its weight over its full bins by a difference array, and corrects its two end bins.
    """
    scale = bins / (to_s - from_s)
    first = np.clip((start_s - from_s) * scale, 0, bins)
    last = np.clip((end_s - from_s) * scale, 0, bins)
    keep = last > first
    line, first, last, weight = line[keep], first[keep], last[keep], weight[keep]
    head, tail = np.floor(first).astype(np.int64), np.floor(last).astype(np.int64)
    width = bins + 1
    size = lines * width
    steps = np.bincount(line * width + head, weight, size) - np.bincount(line * width + tail, weight, size)
    ends = np.bincount(line * width + tail, weight * (last - tail), size)
    ends -= np.bincount(line * width + head, weight * (first - head), size)
    covered = np.cumsum(steps.reshape(lines, width), axis=1) + ends.reshape(lines, width)
    return np.asarray(covered[:, :bins])


def bins_for(from_s: float, to_s: float) -> int:
    """Return the number of bins: at most MAX_BINS, and none shorter than a second."""
    return int(np.clip(np.ceil(to_s - from_s), 1, MAX_BINS))


def node_raster(
    segments: pd.DataFrame,
    gpus_of_node: NDArray[np.float64],
    absences: pd.DataFrame,
    from_s: float,
    to_s: float,
    *,
    colour_by: str = "state",
    first_node: int = 0,
) -> Raster:
    """Return nodes x time.

    Parameters
    ----------
    segments
        Columns node, start_s, end_s, gpus (of the share), due_s (NaN = none) and, for other colourings, the
        column named by ``colour_by``.
    gpus_of_node
        GPUs of each node shown, from node number ``first_node`` on; a node without GPUs counts as 1.
    absences
        Columns node, start_s, end_s.
    colour_by
        "state", or a text column: the five values with most GPU time and "other".
    """
    nodes = len(gpus_of_node)
    per_line = -(-nodes // MAX_ROWS)
    lines, bins = -(-nodes // per_line), bins_for(from_s, to_s)
    size = np.maximum(gpus_of_node, 1.0)
    line_size = np.add.reduceat(size, np.arange(0, nodes, per_line))
    shown = segments[(segments["node"] >= first_node) & (segments["node"] < first_node + nodes)]
    node = shown["node"].to_numpy(np.int64) - first_node
    line = node // per_line
    start, end = shown["start_s"].to_numpy(float), shown["end_s"].to_numpy(float)
    amount = np.where(gpus_of_node[node] > 0, shown["gpus"].to_numpy(float), 1.0) / line_size[line]

    def cover(who: NDArray[np.bool_], begin: NDArray[np.float64]) -> NDArray[np.float64]:
        return overlap(line[who], begin[who], end[who], amount[who], lines, bins, from_s, to_s)

    everyone = np.ones(len(shown), dtype=bool)
    held = np.clip(cover(everyone, start), 0, 1)
    cell = np.where(held > 0.5, BUSY, np.where(held > 1e-3, PARTLY, IDLE)).astype(np.uint8)
    if colour_by == "state":
        legend = STATE_TEXT
        due = shown["due_s"].to_numpy(float) if "due_s" in shown else np.full(len(shown), np.nan)
        late = end > due
        cell[cover(late, np.maximum(start, np.where(late, due, start))) > 1e-3] = LATE
    else:
        legend, cell = _by_group(
            shown[colour_by].astype(str).to_numpy(object), held, (end - start) * amount, lambda who: cover(who, start)
        )
    down = _down(absences, first_node, nodes, per_line, lines, bins, from_s, to_s)
    if colour_by != "state":
        legend = (*legend, STATE_TEXT[DOWN])
    cell[down] = len(legend) - 1
    return Raster(cell, held.astype(np.float32), legend, _labels(first_node, nodes, per_line), from_s, to_s, per_line)


def _by_group(groups: NDArray[np.object_], held: NDArray[np.float64], gpu_s: NDArray[np.float64], cover):  # type: ignore[no-untyped-def]
    """Return the legend and the cells coloured by the group that holds most of each."""
    totals = pd.Series(gpu_s).groupby(groups).sum().sort_values(ascending=False)
    top = sorted(totals.index[:5])
    shares = [cover(groups == name) for name in top]
    shares.append(cover(~np.isin(groups, top)))
    best = np.argmax(np.stack(shares), axis=0) + 1
    legend = ("idle", *[name or "(none)" for name in top], "other")
    return legend, np.where(held > 1e-3, best, 0).astype(np.uint8)


def _down(
    absences: pd.DataFrame,
    first_node: int,
    nodes: int,
    per_line: int,
    lines: int,
    bins: int,
    from_s: float,
    to_s: float,
) -> NDArray[np.bool_]:
    away = absences[(absences["node"] >= first_node) & (absences["node"] < first_node + nodes)]
    line = (away["node"].to_numpy(np.int64) - first_node) // per_line
    ends = np.minimum(away["end_s"].to_numpy(float), to_s)
    ones = np.ones(len(away))
    return overlap(line, away["start_s"].to_numpy(float), ends, ones, lines, bins, from_s, to_s) > 1e-3


def _labels(first_node: int, nodes: int, per_line: int) -> tuple[str, ...]:
    if per_line == 1:
        return tuple(f"n{node}" for node in range(first_node, first_node + nodes))
    last = first_node + nodes - 1
    return tuple(f"n{a}–n{min(a + per_line - 1, last)}" for a in range(first_node, last + 1, per_line))
