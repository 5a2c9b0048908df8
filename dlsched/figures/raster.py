"""The Gantt overview: nodes or jobs x time bins as one small matrix, whatever the number of segments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dlsched.figures.base import Floats, Mask, Names, column, texts
from dlsched.wording.formats import cut

MAX_BINS = 1200
MAX_ROWS = 400
MAX_GROUPS = 5
IDLE, PARTLY, BUSY, LATE, DOWN = range(5)
STATE_TEXT = ("idle", "under half allocated", "allocated", "allocated to late jobs", "down")
CLOSED, OPEN_IDLE = "closed, not paid for", "open, no job"
"""For rented machines, in place of "idle": none is rented, or one is and stands idle."""
TOUCHED = 1e-3
"""Share of a bin from which on rare states (late, down) are shown."""

LEAST_WEIGHT = 1e-6
"""What work without GPUs counts against work with some, where a cell has the colour of those who hold most."""

Cover = Callable[[Mask], Floats]


@dataclass(frozen=True, eq=False)
class Raster:
    """``cell`` (rows, bins) of uint8: index into ``legend``; ``held`` (rows, bins): share of the row's GPUs allocated.

    ``held_share``: GPU time allocated out of the GPU time available, over the whole picture. ``by`` is "state" or
    the column that colours the cells. ``rented``: rows are rental slots; the legend starts with CLOSED and has
    OPEN_IDLE before its last entry. ``mixed``: some rows count cores, not GPUs; ``held_share`` leaves them out.
    """

    cell: NDArray[np.uint8]
    held: NDArray[np.float32]
    legend: tuple[str, ...]
    row_labels: tuple[str, ...]
    from_s: float
    to_s: float
    rows_per_line: int
    held_share: float
    by: str = "state"
    first_node: int = 0
    rented: bool = False
    mixed: bool = False

    @property
    def bin_s(self) -> float:
        """Length of a time bin, seconds."""
        return (self.to_s - self.from_s) / int(self.cell.shape[1])


@dataclass(frozen=True, slots=True)
class Lines:
    """How nodes fold into the lines of a raster, and the bins of its time."""

    first_node: int
    nodes: int
    per_line: int
    bins: int
    from_s: float
    to_s: float

    @property
    def count(self) -> int:
        """Lines."""
        return -(-self.nodes // self.per_line)

    def of(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, NDArray[np.int64]]:
        """Return the rows of the frame that lie in the picture, and the node of each, from 0."""
        node = np.asarray(frame["node"], dtype=np.int64) - self.first_node
        seen = (node >= 0) & (node < self.nodes)
        seen &= (column(frame, "start_s") < self.to_s) & (column(frame, "end_s") > self.from_s)
        return (frame if seen.all() else frame[seen]), node[seen]

    def cover(self, line: NDArray[np.int64], start_s: Floats, end_s: Floats, weight: Floats) -> Floats:
        """Return :func:`overlap` on these lines."""
        return overlap(line, start_s, end_s, weight, self.count, self.bins, self.from_s, self.to_s)


def overlap(
    line: NDArray[np.int64],
    start_s: Floats,
    end_s: Floats,
    weight: Floats,
    lines: int,
    bins: int,
    from_s: float,
    to_s: float,
) -> Floats:
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
    covered: Floats = np.cumsum(steps.reshape(lines, width), axis=1) + ends.reshape(lines, width)
    return covered[:, :bins]


def bins_for(from_s: float, to_s: float, most: int = MAX_BINS) -> int:
    """Return the number of bins: at most ``most``, and none shorter than a second."""
    return int(np.clip(np.ceil(to_s - from_s), 1, most))


def top_groups(segments: pd.DataFrame, by: str, most: int = MAX_GROUPS) -> tuple[str, ...]:
    """Return the values of a text column with most GPU time, in the order of the alphabet.

    Take them from the whole run, so that a user keeps its colour when the window moves.
    """
    gpu_s = (column(segments, "end_s") - column(segments, "start_s")) * np.maximum(column(segments, "gpus"), 1e-9)
    totals = pd.Series(gpu_s).groupby(texts(segments, by)).sum().sort_values(ascending=False, kind="stable")
    return tuple(sorted(str(name) for name in totals.index[:most]))


def node_raster(
    segments: pd.DataFrame,
    gpus_of_node: Floats,
    absences: pd.DataFrame,
    from_s: float,
    to_s: float,
    *,
    colour_by: str = "state",
    first_node: int = 0,
    groups: Sequence[str] | None = None,
    leases: pd.DataFrame | None = None,
    most_bins: int = MAX_BINS,
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
        "state", or a text column: the values in ``groups`` (default: :func:`top_groups` of the window) and "other".
    leases
        Of rented machines: when one was open, columns node, start_s, end_s. ``gpus`` of the segments are then on the
        scale of ``gpus_of_node``: a machine in full use fills its slot, whatever its size.
    """
    nodes = len(gpus_of_node)
    to_s = max(to_s, from_s + 1.0)
    lines = Lines(first_node, nodes, -(-nodes // MAX_ROWS), bins_for(from_s, to_s, most_bins), from_s, to_s)
    line_size = np.add.reduceat(np.maximum(gpus_of_node, 1.0), np.arange(0, nodes, lines.per_line))
    shown, node = lines.of(segments)
    line = node // lines.per_line
    start, end = column(shown, "start_s"), column(shown, "end_s")
    amount = np.where(gpus_of_node[node] > 0, column(shown, "gpus"), 1.0) / line_size[line]

    held = np.clip(lines.cover(line, start, end, amount), 0, 1)
    is_open = None if leases is None else _open(leases, lines, line_size, np.maximum(gpus_of_node, 1.0))
    if is_open is not None:  # held of what is open there
        held = np.clip(np.divide(held, is_open, out=np.zeros_like(held), where=is_open > TOUCHED), 0, 1)
    # Work without GPUs on a node that has some is seen, though it holds none of them.
    bare = (gpus_of_node[node] > 0) & (column(shown, "gpus") <= 0)
    at_work = held + lines.cover(line[bare], start[bare], end[bare], np.ones(int(bare.sum()))) > TOUCHED
    if colour_by == "state":
        late = end > column(shown, "due_s")
        late_from = np.maximum(start[late], column(shown, "due_s")[late])
        cell = _state_cells(held, lines.cover(line[late], late_from, end[late], np.maximum(amount[late], bare[late])))
        cell[(cell == IDLE) & at_work] = PARTLY
        legend: tuple[str, ...] = STATE_TEXT
    else:
        top = groups if groups is not None else top_groups(shown, colour_by)
        named = texts(shown, colour_by)
        weight = np.where(bare, LEAST_WEIGHT, amount)
        cell = _group_cells(at_work, named, top, lambda who: lines.cover(line[who], start[who], end[who], weight[who]))
        legend = ("idle", *(cut(name, 24) or "(none)" for name in top), "other", STATE_TEXT[DOWN])
    if is_open is not None:
        legend = (CLOSED, *legend[1:-1], OPEN_IDLE, legend[-1])
        cell[(held <= TOUCHED) & (is_open >= 0.5)] = len(legend) - 2
        cell[(is_open < 0.5) & (cell != LATE if colour_by == "state" else True)] = 0
    away = _away(absences, lines, np.maximum(gpus_of_node, 1.0)) / line_size[:, None]
    cell[away > TOUCHED] = len(legend) - 1
    there = float((line_size[:, None] * (1 - np.minimum(away, 1))).sum())
    held_share = min(float((line_size[:, None] * held).sum()) / there, 1.0) if there > 0 else 0.0
    labels, small = _labels(first_node, nodes, lines.per_line), held.astype(np.float32)
    return Raster(
        cell,
        small,
        legend,
        labels,
        from_s,
        to_s,
        lines.per_line,
        held_share,
        colour_by,
        first_node,
        rented=leases is not None,
    )


def _state_cells(held: Floats, late: Floats) -> NDArray[np.uint8]:
    cell = np.where(held > 0.5, BUSY, np.where(held > TOUCHED, PARTLY, IDLE)).astype(np.uint8)
    cell[late > TOUCHED] = LATE
    return cell


def _group_cells(at_work: Mask, named: Names, top: Sequence[str], cover: Cover) -> NDArray[np.uint8]:
    """Return the cells coloured by the group that holds most of each: 1 and on for ``top``, then the others."""
    code = pd.Index(list(top), dtype=object).get_indexer(pd.Index(named))
    shares = np.stack([cover(code == place) for place in [*range(len(top)), -1]])
    return np.where(at_work, np.argmax(shares, axis=0) + 1, 0).astype(np.uint8)


def _open(leases: pd.DataFrame, lines: Lines, line_size: Floats, size: Floats) -> Floats:
    """Return the share of each cell in which a machine is open, shape (lines, bins)."""
    there, node = lines.of(leases)
    line = node // lines.per_line
    weight = size[node] / line_size[line]
    return np.clip(lines.cover(line, column(there, "start_s"), column(there, "end_s"), weight), 0, 1)


def _away(absences: pd.DataFrame, lines: Lines, size: Floats) -> Floats:
    """Return the GPUs that are down, shape (lines, bins)."""
    away, node = lines.of(absences)
    end = np.minimum(column(away, "end_s"), lines.to_s)
    return lines.cover(node // lines.per_line, column(away, "start_s"), end, size[node])


def _labels(first_node: int, nodes: int, per_line: int) -> tuple[str, ...]:
    if per_line == 1:
        return tuple(f"n{node}" for node in range(first_node, first_node + nodes))
    last = first_node + nodes - 1
    return tuple(f"n{a}–n{min(a + per_line - 1, last)}" for a in range(first_node, last + 1, per_line))


def group_use(segments: pd.DataFrame, by: str, groups: Sequence[str], from_s: float, to_s: float, bins: int) -> Floats:
    """Return the mean GPUs allocated in each bin by each group and by all others, shape (groups + 1, bins)."""
    code = pd.Index(list(groups), dtype=object).get_indexer(pd.Index(texts(segments, by)))
    line = np.where(code < 0, len(groups), code)
    start, end = column(segments, "start_s"), column(segments, "end_s")
    return np.maximum(overlap(line, start, end, column(segments, "gpus"), len(groups) + 1, bins, from_s, to_s), 0.0)
