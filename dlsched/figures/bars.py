"""Gantt bars of a window: by node with a lane per GPU, and by job; at most MAX_BARS pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from dlsched.domain.plan import REASON_TEXT
from dlsched.domain.workload import GPU
from dlsched.figures.base import (
    CLEAR,
    Chart,
    Floats,
    Mask,
    Names,
    TimeAxis,
    column,
    framed,
    hatched,
    named_rows,
    plain,
    texts,
    with_dates,
)
from dlsched.figures.hover import HOVER, hover_rows
from dlsched.figures.lanes import lanes
from dlsched.figures.leases import add_bands, add_brackets, machines_in_words
from dlsched.figures.lines import add_spans
from dlsched.figures.outline import outline_spans
from dlsched.figures.palette import Theme, ink_on
from dlsched.figures.raster import top_groups
from dlsched.wording.clock import DAYS, Clock
from dlsched.wording.formats import amount

MAX_BARS = 3000
MAX_BAR_ROWS = 64
NAMED_NODES = 3
"""Nodes of a piece that are named one by one; of more, only the first ones."""
PLOT_PX = 1100
ROW_PX = 46
LANE_PX, ROWS_PX, LANES_SEEN = 2.5, 640, 60
"""Height of a lane and of all rows where nodes have many GPUs; what holds no GPU takes a lane of this many."""
LABEL_PX = 40
LETTER_PX = 7
LABEL_TALL_PX = 14
MARK_PX = 12
"""Bars narrower or lower than these sizes, in pixels at the usual width of a page, carry no label or end mark."""
REASONS: Mapping[str, str] = {reason.name.lower(): text for reason, text in REASON_TEXT.items()}
STOPPED = ("preempted",)
BROKEN = ("node_lost", "cancelled", "failed")
TABLE_NAMES = {
    "job_id": "job",
    "user": "user",
    "node": "node",
    "nodes": "nodes",
    "workers": "workers",
    "servers": "servers",
    "gpus": "GPUs",
    "cores allocated": "cores",
    "vm_type": "VM type",
    "submit_s": "submitted, s",
    "start_s": "start, s",
    "first_start_s": "first start, s",
    "end_s": "end, s",
    "left_s": "left, s",
    "due_s": "due, s",
    "wait_s": "waited, s",
    "because": "because",
    "end_reason": "ended by",
    "cost": "job's cost, $",
}

WHEN = {
    "submit_s": "submitted",
    "start_s": "start",
    "first_start_s": "first start",
    "end_s": "end",
    "left_s": "left",
    "due_s": "due",
}
"""Columns that hold a time of the trace, and their names where that is a date."""


@dataclass(frozen=True, eq=False)
class Bars:
    """What is drawn: one bar an entry, times cut at the window, ``height`` in rows and about ``tall_px`` on the screen.

    ``hover`` has [job id, text] for each.
    """

    start_s: Floats
    end_s: Floats
    due_s: Floats
    progress_from_s: Floats
    y: Floats
    height: Floats
    tall_px: Floats
    label: Names
    ended: Names
    hover: NDArray[np.object_]

    def take(self, who: Mask | NDArray[np.int64]) -> Bars:
        """Return some of the bars."""
        return Bars(**{name: getattr(self, name)[who] for name in self.__dataclass_fields__})

    def __len__(self) -> int:
        return len(self.start_s)


JOB_FACTS = ("user", "group", "job_class", "due_s", "wait_s", "cost")
"""What bars tell of their jobs."""


def with_jobs(segments: pd.DataFrame, jobs: pd.DataFrame, waits: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the segments with what the bars tell of their jobs.

    Adds :data:`JOB_FACTS` where ``jobs`` has them, and from ``waits`` ``because``: the reason a job waited longest for.
    Joined by row where both tell it, which is ten times as fast, else by job_id; the tables are those of
    :mod:`dlsched.metrics.tables`.
    """
    wanted = [name for name in JOB_FACTS if name in jobs and name not in segments]
    if "row" in segments and "row" in jobs and np.array_equal(jobs["row"], np.arange(len(jobs))):
        found = jobs[wanted].take(segments["row"].to_numpy(dtype=np.int64)).set_axis(segments.index)
        joined = segments.assign(**{name: found[name] for name in wanted})
    else:
        joined = segments.join(jobs.set_index("job_id")[wanted], on="job_id")
    if waits is None or waits.empty:
        return joined
    lengths = pd.Series(column(waits, "to_s") - column(waits, "from_s"))
    totals = lengths.groupby([texts(waits, "job_id"), texts(waits, "reason")]).sum()
    main_reason = dict(totals.groupby(level=0).idxmax().tolist())
    because = [REASONS.get(main_reason.get(job, ""), "") for job in texts(joined, "job_id")]
    return joined.assign(because=because)


def node_bars(
    segments: pd.DataFrame,
    theme: Theme,
    from_s: float,
    to_s: float,
    *,
    colour_by: str = "state",
    groups: Sequence[str] | None = None,
    gpus_of_node: Mapping[int, float] | None = None,
    leases: pd.DataFrame | None = None,
    kinds: Sequence[str] | None = None,
    alt: str = "",
    clock: Clock = DAYS,
    found: str = "",
) -> Chart:
    """Return bars by node, one band per node with a lane per GPU.

    Parameters
    ----------
    segments
        At most MAX_BARS rows with columns job_id, node, start_s, end_s, gpus; also, where known, progress_from_s,
        end_reason and what :func:`with_jobs` adds.
    colour_by
        "state", or a text column: ``groups`` in colour (default: those with most GPU time here), the others grey.
        With "gpu_type" or "vm_type" bars are labelled "A100 x4" instead of with the job.
    gpus_of_node
        The nodes to show, in order, with their GPUs, so that free GPUs and idle nodes are seen; default: the nodes
        of the segments. At most MAX_BAR_ROWS are shown.
    leases
        Of rented machines: what is rented when, columns node, start_s, end_s, vm_type, gpu_type, gpus, cost. Each is a
        band between brackets, as tall as its GPUs; outside nothing is paid for.
    kinds
        Of nodes of which some are always there and some are rented: owned, on-demand, ... of each. None = slots.
    found
        Id of a job that is outlined.
    """
    axis = TimeAxis.over(from_s, to_s, clock)
    size_of = gpus_of_node if gpus_of_node is not None else dict.fromkeys(sorted(set(segments["node"])), 0.0)
    nodes = list(size_of)[:MAX_BAR_ROWS]
    drawn = lanes(in_window(_seen(segments[segments["node"].isin(nodes)], size_of), axis))
    drawn, left_out = longest(drawn, axis, MAX_BARS - len(nodes))
    node = drawn["node"].to_numpy(np.int64)
    lane, height = column(drawn, "lane"), column(drawn, "height")
    used = dict(pd.Series(lane + height).groupby(node).max())
    per_lane = _per_lane(segments, size_of)
    lanes_of = {n: max(float(used.get(n, 0.0)), float(np.ceil(size_of[n] / per_lane)), 1.0) for n in nodes}
    size = np.array([lanes_of[n] for n in node], dtype=float)
    row = np.array([nodes.index(n) for n in node], dtype=float)
    # Rows are taller than usual where nodes have many GPUs and there are few of them.
    row_px = max(float(ROW_PX), min(LANE_PX * max(lanes_of.values(), default=1.0), ROWS_PX / max(len(nodes), 1)))
    bars = bars_of(drawn, axis, row - 0.45 + 0.9 * (lane + height / 2) / size, 0.9 * height / size, row_px, colour_by)

    figure = go.Figure()
    if leases is None:
        _add_bands(figure, theme, axis, len(nodes))
    else:
        leases = in_window(leases[leases["node"].isin(nodes)], axis)
        add_bands(figure, theme, axis, leases, {n: (nodes.index(n), lanes_of[n]) for n in nodes})
    add_groups(figure, theme, axis, bars, drawn, colour_by, groups)
    add_marks(figure, theme, axis, bars, due_hatch=colour_by != "state")
    if leases is not None:
        add_brackets(figure, theme, axis, leases, {n: (nodes.index(n), lanes_of[n]) for n in nodes}, PLOT_PX)
    mine = np.flatnonzero((drawn["job_id"] == found).to_numpy())
    if len(mine):
        own = bars.take(mine)
        outline_spans(figure, theme, axis, own.start_s, own.end_s, own.y, own.height, plain(found))
    less = f", {amount(left_out, 'shortest bar')} left out" if left_out else ""
    word, machines = "node" if leases is None or kinds is not None else "slot", ""
    if leases is not None:
        machines = f", {amount(len(leases), 'machine')} rented: {machines_in_words(leases)}"
    jobs = amount(segments["job_id"].nunique(), "job")
    rows = "one row per GPU" if per_lane == 1 else "bar height = GPUs allocated"
    title = f"{jobs} on {amount(len(nodes), word)}, {rows}{less}"
    height_px = int(np.clip(110 + row_px * len(nodes), 260, 900))
    framed(figure, theme, title=title, x=axis, y=word.capitalize(), height=height_px)
    named_rows(figure, [f"n{n}" if kinds is None else f"n{n}, {kinds[n]}" for n in nodes])
    figure.update_layout(barmode="overlay", dragmode="select")
    words = f"{clock.moment(from_s)} to {clock.moment(to_s)}: {jobs} on {amount(len(nodes), word)}{machines}."
    return Chart(figure, alt or words, readable(segments, clock))


def _seen(segments: pd.DataFrame, size_of: Mapping[int, float]) -> pd.DataFrame:
    """Return the segments with as many lanes for those without GPUs as are seen beside the GPUs of their node."""
    size = np.array([size_of[node] for node in segments["node"]], dtype=float)
    least = np.where(column(segments, "gpus") > 0, 1.0, np.maximum(np.ceil(size / LANES_SEEN), 1.0))
    if (per_lane := _per_lane(segments, size_of)) == 1:
        return segments.assign(least_lanes=least)
    room = column(segments, "vm_gpus") / per_lane
    return segments.assign(least_lanes=1.0, wanted_lanes=column(segments, "gpus") / per_lane, vm_gpus=room)


def _per_lane(segments: pd.DataFrame, size_of: Mapping[int, float]) -> float:
    """Return how many cores or GiB a lane stands for: 1, more where nodes have too many to be seen; 1 for GPUs."""
    counts_gpus = "counted" not in segments or bool((segments["counted"] == GPU).any())
    return 1.0 if counts_gpus else max(1.0, max(size_of.values(), default=1.0) / LANES_SEEN)


def in_window(segments: pd.DataFrame, axis: TimeAxis) -> pd.DataFrame:
    """Return the segments of which something is seen."""
    seen = (column(segments, "end_s") > axis.from_s) & (column(segments, "start_s") < axis.to_s)
    return segments[seen]


def longest(drawn: pd.DataFrame, axis: TimeAxis, most: int) -> tuple[pd.DataFrame, int]:
    """Return the longest pieces in the window that take at most ``most`` bars, and how many are left out.

    A piece may take three: before its due date, after it, and its restart.
    """
    if 3 * len(drawn) <= most:
        return drawn, 0
    start, end = np.maximum(column(drawn, "start_s"), axis.from_s), np.minimum(column(drawn, "end_s"), axis.to_s)
    needed = 1 + _is_late(axis, start, end, column(drawn, "due_s"))
    needed += _is_restart(axis, start, end, column(drawn, "progress_from_s"))
    order = np.argsort(start - end, kind="stable")
    keep = np.sort(order[np.cumsum(needed[order]) <= most])
    return drawn.iloc[keep].reset_index(drop=True), len(drawn) - len(keep)


def _is_late(axis: TimeAxis, start_s: Floats, end_s: Floats, due_s: Floats) -> Mask:
    """Return which pieces run past their due date for long enough to be seen."""
    wholly = start_s >= due_s
    return wholly | (axis_px(axis, end_s - due_s) >= 1)


def _is_restart(axis: TimeAxis, start_s: Floats, end_s: Floats, progress_from_s: Floats) -> Mask:
    return axis_px(axis, np.minimum(progress_from_s, end_s) - start_s) >= 1


def bars_of(
    drawn: pd.DataFrame, axis: TimeAxis, y: Floats, height: Floats, row_px: float, colour_by: str = "state"
) -> Bars:
    """Return the bars of pieces, cut at the window, at rows ``y`` with these heights in rows of ``row_px``."""
    start, end = column(drawn, "start_s"), column(drawn, "end_s")
    if colour_by in ("gpu_type", "vm_type"):
        pairs = zip(texts(drawn, colour_by), column(drawn, "gpus"), strict=True)
        label = np.array([f"{plain(kind, 14)} x{gpus:g}" for kind, gpus in pairs], dtype=object)
    else:
        label = np.array([plain(job, 14) for job in drawn["job_id"]], dtype=object)
    return Bars(
        start_s=np.maximum(start, axis.from_s),
        end_s=np.minimum(end, axis.to_s),
        due_s=column(drawn, "due_s"),
        progress_from_s=column(drawn, "progress_from_s"),
        y=y,
        height=height,
        tall_px=height * row_px,
        label=label,
        ended=np.where(end <= axis.to_s, texts(drawn, "end_reason"), ""),
        hover=hover_rows(drawn, axis.clock),
    )


def _add_bands(figure: go.Figure, theme: Theme, axis: TimeAxis, rows: int) -> None:
    """Add a ground per node, on which free GPUs are seen."""
    look = {"color": theme.card, "line": {"color": theme.grid, "width": 1}}
    start_s, end_s = np.full(rows, axis.from_s), np.full(rows, axis.to_s)
    add_spans(figure, axis, start_s, end_s, np.arange(rows), 0.9, marker=look, name="free GPUs", hoverinfo="skip")


def add_groups(
    figure: go.Figure,
    theme: Theme,
    axis: TimeAxis,
    bars: Bars,
    drawn: pd.DataFrame,
    colour_by: str,
    groups: Sequence[str] | None,
) -> None:
    """Add bars in the colours of their groups, others grey; ``groups`` as :func:`node_bars`."""
    if colour_by == "state":
        add_state_sets(figure, theme, axis, bars)
        return
    named = texts(drawn, colour_by)
    top = list(groups if groups is not None else top_groups(drawn, colour_by))
    for name, tint in zip(top, theme.marks, strict=False):
        add_bar_set(figure, theme, axis, bars.take(named == name), plain(name) or "(none)", tint)
    add_bar_set(figure, theme, axis, bars.take(~np.isin(named, top)), "other", theme.other)


def add_state_sets(figure: go.Figure, theme: Theme, axis: TimeAxis, bars: Bars) -> None:
    """Add bars in blue up to the due date, hatched orange after it."""
    late = _is_late(axis, bars.start_s, bars.end_s, bars.due_s)
    until = np.where(late, np.maximum(bars.due_s, bars.start_s), bars.end_s)
    before = replace(bars, end_s=until).take(until > bars.start_s)
    after = replace(bars, start_s=until).take(late)
    add_bar_set(figure, theme, axis, before, "running", theme.marks[0])
    add_bar_set(figure, theme, axis, after, "running late", theme.late, hatch="/")


def add_bar_set(
    figure: go.Figure, theme: Theme, axis: TimeAxis, bars: Bars, name: str, colour: str, hatch: str = ""
) -> None:
    """Add bars of one colour; labels only where they fit, edges only where they do not hide the bar."""
    if not len(bars):
        return
    px = axis_px(axis, bars.end_s - bars.start_s)
    longest_text = np.array([len(text) for text in bars.label]) * LETTER_PX + 8
    fits = (px >= np.maximum(longest_text, LABEL_PX)) & (bars.tall_px >= LABEL_TALL_PX)
    add_spans(
        figure,
        axis,
        bars.start_s,
        bars.end_s,
        bars.y.astype(np.float32),
        bars.height.astype(np.float32),
        name=name,
        marker=hatched(colour, hatch, ink_on(colour, theme))
        | {"line": {"color": theme.ground, "width": np.where(px > 3, 1, 0).astype(np.uint8)}},
        text=np.where(fits, bars.label, ""),
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        constraintext="none",
        textfont={"color": ink_on(colour, theme), "size": 12},
        customdata=bars.hover,
        hovertemplate=HOVER,
    )


def axis_px(axis: TimeAxis, length_s: Floats) -> Floats:
    """Return about how wide stretches of time are on the screen."""
    return length_s / (axis.to_s - axis.from_s) * PLOT_PX


def add_marks(figure: go.Figure, theme: Theme, axis: TimeAxis, bars: Bars, *, due_hatch: bool) -> None:
    """Add what the bars' colour does not say: time past due, restarts, and how a piece ended."""
    late = _is_late(axis, bars.start_s, bars.end_s, bars.due_s)
    restart = _is_restart(axis, bars.start_s, bars.end_s, bars.progress_from_s)
    room = (axis_px(axis, bars.end_s - bars.start_s) > MARK_PX) & (bars.tall_px > MARK_PX / 2)
    hatch = hatched(CLEAR, "/", theme.ink)
    overlays = [
        ("late", late & due_hatch, np.maximum(bars.start_s, bars.due_s), bars.end_s, hatch),
        ("restarting", restart, bars.start_s, np.minimum(bars.progress_from_s, bars.end_s), {"color": theme.ink}),
    ]
    for name, who, start, end, marker in overlays:
        if who.any():
            where = bars.y[who], bars.height[who]
            add_spans(figure, axis, start[who], end[who], *where, marker=marker, name=name, hoverinfo="skip")
    for name, ends, symbol in (("stopped for another", STOPPED, "triangle-right"), ("broken off", BROKEN, "x")):
        who = np.isin(bars.ended, ends) & room
        if who.any():
            figure.add_scatter(
                x=axis.at(bars.end_s[who]),
                y=bars.y[who],
                mode="markers",
                marker={"symbol": symbol, "size": 9, "color": theme.ink, "line": {"color": theme.ground, "width": 1}},
                name=name,
                hoverinfo="skip",
            )


def whole_pieces(segments: pd.DataFrame) -> pd.DataFrame:
    """Return one row per piece of a job: its node shares summed, ``nodes`` in words, ``num_nodes``, earliest first."""
    if segments.empty:
        return segments.assign(nodes="", num_nodes=0)
    grouped = segments.sort_values(["start_s", "node"], kind="stable").groupby(["job_id", "start_s"], sort=False)
    pieces = grouped.first()
    for name in ("gpus", "workers", "servers"):
        if name in segments:
            pieces[name] = grouped[name].sum()
    pieces["nodes"] = grouped["node"].agg(node_words)
    pieces["num_nodes"] = grouped["node"].nunique()
    return pieces.reset_index()


def has_servers(frame: pd.DataFrame) -> bool:
    """Whether some piece runs with parameter servers."""
    return "servers" in frame and bool(frame["servers"].any())


def node_words(nodes: pd.Series) -> str:
    """Return nodes in words: n3, n7, n8; 8 nodes (n3, n7, n8 and 5 more) where they are many."""
    names = [f"n{node}" for node in nodes]
    first = ", ".join(names[:NAMED_NODES])
    rest = len(names) - NAMED_NODES
    return first if rest <= 0 else f"{len(names)} nodes ({first} and {rest} more)"


def gpus_and_cores(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose ``gpus`` count cores in some rows (``counted``) with those in a column ``cores``."""
    if "counted" not in frame or frame["counted"].nunique() < 2:
        return frame
    of_cores = frame["counted"] != GPU
    return frame.assign(cores=frame["gpus"].where(of_cores), gpus=frame["gpus"].mask(of_cores))


def readable(frame: pd.DataFrame, clock: Clock = DAYS) -> pd.DataFrame:
    """Return the columns a reader wants, with names that carry units; rows in the order of the frame.

    Workers and servers only where there are servers: elsewhere GPUs say it.
    """
    gangs = has_servers(frame)
    frame = gpus_and_cores(frame).rename(columns={"cores": "cores allocated"})
    columns = [name for name in TABLE_NAMES if name in frame and (gangs or name not in ("workers", "servers"))]
    return with_dates(frame[columns], clock, WHEN).rename(columns=TABLE_NAMES).reset_index(drop=True)
