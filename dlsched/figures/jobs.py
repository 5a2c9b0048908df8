"""Gantt bars by job, and the timeline of one job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.figures import elastic
from dlsched.figures.bars import (
    MAX_BAR_ROWS,
    MAX_BARS,
    NAMED_NODES,
    PLOT_PX,
    REASONS,
    Bars,
    add_groups,
    add_marks,
    add_state_sets,
    bars_of,
    has_servers,
    in_window,
    longest,
    readable,
    whole_pieces,
)
from dlsched.figures.base import (
    CLEAR,
    Chart,
    Names,
    TimeAxis,
    column,
    framed,
    hatched,
    named_rows,
    plain,
    reference_line,
    texts,
    with_dates,
)
from dlsched.figures.lines import add_spans
from dlsched.figures.outline import outline_row
from dlsched.figures.palette import Theme
from dlsched.wording.clock import DAYS, Clock
from dlsched.wording.formats import amount, cut, duration
from dlsched.wording.resources import gang_words

NOT_RECORDED = "not_recorded"
TIMELINE_PX = 120
ELASTIC_PX = 1800
WAIT_HEIGHT = 0.5
IDLE_SHARE = 0.14
"""Height of the strip that says why a job waits, as a share of its GPUs."""
HATCH: Mapping[str, str] = {
    NOT_RECORDED: "",
    "no_room": "/",
    "split": "x",
    "behind": "-",
    "reserved": "\\",
    "held_back": ".",
    "preempted": "|",
    "no_node": "+",
}


def job_bars(
    jobs: pd.DataFrame,
    segments: pd.DataFrame,
    theme: Theme,
    from_s: float,
    to_s: float,
    *,
    machines: Sequence[str] | None = None,
    node_gpus: float | None = None,
    alt: str = "",
    clock: Clock = DAYS,
    found: str = "",
) -> Chart:
    """Return one row a job: an outline while it waits, a bar while it runs, dotted joins between pieces, due ticks.

    Where a job changes its width, or holds another than it asked for, bars stand on the foot of their row; their height
    is the nodes held (GPUs, where jobs hold parts of nodes) on one common scale, with the number where it changes, and
    what was asked for is outlined. Jobs with parameter servers are as tall as their workers.

    Parameters
    ----------
    jobs
        At most MAX_BAR_ROWS rows in drawing order: job_id, submit_s, first_start_s, due_s; left_s, gpus where known.
    segments
        Pieces of these jobs (one row per piece or node share) with the columns :func:`bars.node_bars` needs.
    machines
        Where machines are rented: the GPU types in the order of their colours. The policy chooses the width, so there
        is no request to outline.
    node_gpus
        GPUs of every node, where all have as many; None counts nodes only where they have one.
    found
        Id of a job whose row is outlined.
    """
    axis = TimeAxis.over(from_s, to_s, clock)
    jobs = jobs.iloc[:MAX_BAR_ROWS]
    place = {job: i for i, job in enumerate(jobs["job_id"])}
    every_piece = whole_pieces(segments[segments["job_id"].isin(place)])
    # Every job may have an outline of its wait.
    pieces, left_out = longest(in_window(every_piece, axis), axis, MAX_BARS - len(jobs))
    row = np.array([place[job] for job in pieces["job_id"]], dtype=float)
    asked = None if machines is not None else dict(zip(jobs["job_id"], column(jobs, "gpus").tolist(), strict=True))
    gangs = has_servers(pieces)
    counted = pieces.assign(gpus=column(pieces, "workers")) if gangs else pieces
    scale = elastic.scale_of(pieces, asked, node_gpus)
    if gangs:  # what a worker holds differs from job to job, and may be no GPU
        asked, scale = None, elastic.Scale(float(column(counted, "gpus").max()), "workers")
    row_px = 22.0 if scale is None else float(np.clip(ELASTIC_PX / max(len(jobs), 1), 30, 46))
    height = np.full(len(row), 0.72) if scale is None else scale.heights(column(counted, "gpus"))
    middle = row if scale is None else row + elastic.FOOT - height / 2
    bars = bars_of(pieces, axis, middle, height, row_px)
    bars.label[:] = ""

    figure = go.Figure()
    _add_waits(figure, theme, axis, jobs, at_foot=scale is not None)
    if machines is None:
        add_state_sets(figure, theme, axis, bars)
    else:
        add_groups(figure, theme, axis, bars, pieces, "gpu_type", machines)
    if scale is not None:
        tints = _tints_at_left(theme, bars, pieces, machines)
        if asked is not None:
            elastic.add_requests(figure, theme, axis, pieces, row, asked, scale)
        elastic.add_numbers(figure, theme, axis, counted, row, scale, row_px, PLOT_PX, tints)
    _add_joins(figure, theme, axis, every_piece, place, below=0.0 if scale is None else elastic.FOOT)
    add_marks(figure, theme, axis, bars, due_hatch=machines is not None)
    _add_due(figure, theme, axis, jobs)
    less = f", {amount(left_out, 'shortest bar')} left out" if left_out else ""
    tall = "" if scale is None else f", bar height = {scale.unit} allocated (tallest {scale.words(scale.widest)})"
    due = ", due dates" if np.isfinite(column(jobs, "due_s")).any() else ""
    title = f"{amount(len(jobs), 'job')}: waiting, running{due}{tall}{less}"
    height_px = int(np.clip(120 + row_px * len(jobs), 260, 2000))
    framed(figure, theme, title=title, x=axis, y="Job", height=height_px)
    named_rows(figure, [plain(job, 18) for job in jobs["job_id"]])
    figure.update_layout(barmode="overlay", dragmode="select")
    if found in place:
        outline_row(figure, theme, axis, axis.from_s, axis.to_s, place[found], place[found])
    chart = Chart(figure, alt or _jobs_alt(jobs, axis), readable(jobs, clock))
    return chart if scale is None else elastic.with_widths(chart, jobs, counted, scale)


def _tints_at_left(theme: Theme, bars: Bars, pieces: pd.DataFrame, machines: Sequence[str] | None) -> Names:
    """Return the colour of each bar at its left end, as :func:`add_state_sets` and :func:`add_groups` draw it."""
    if machines is None:
        return np.where(bars.start_s >= bars.due_s, theme.late, theme.marks[0]).astype(object)
    of = dict(zip(machines, theme.marks, strict=False))
    return np.array([of.get(kind, theme.other) for kind in texts(pieces, "gpu_type")], dtype=object)


def _jobs_alt(jobs: pd.DataFrame, axis: TimeAxis) -> str:
    begin, end = axis.clock.moment(axis.from_s), axis.clock.moment(axis.to_s)
    window = f"{begin} to {end}, {amount(len(jobs), 'job')}"
    first = column(jobs, "first_start_s")
    wait = np.where(np.isnan(first), axis.to_s, first) - column(jobs, "submit_s")
    if not len(wait):
        return f"{window}."
    worst = int(np.argmax(wait))
    return f"{window}: the longest wait is {duration(float(wait[worst]))}, of {cut(jobs['job_id'].iloc[worst])}."


def _add_waits(figure: go.Figure, theme: Theme, axis: TimeAxis, jobs: pd.DataFrame, *, at_foot: bool) -> None:
    """Add an outline from submission to the first start; a job that never starts waits until it leaves."""
    submit, first, left = (column(jobs, name) for name in ("submit_s", "first_start_s", "left_s"))
    never = np.where(np.isnan(left), axis.to_s, left)
    until = np.where(np.isnan(first), never, first)
    begin, end = np.maximum(submit, axis.from_s), np.minimum(until, axis.to_s)
    seen = np.flatnonzero(end > begin)
    ids = texts(jobs, "job_id")
    add_spans(
        figure,
        axis,
        begin[seen],
        end[seen],
        seen + (elastic.FOOT - WAIT_HEIGHT / 2 if at_foot else 0.0),
        WAIT_HEIGHT,
        name="waiting",
        marker={"color": CLEAR, "line": {"color": theme.muted, "width": 1}},
        customdata=[[ids[i], plain(ids[i]), duration(until[i] - submit[i])] for i in seen],
        hovertemplate="<b>%{customdata[1]}</b><br>waited %{customdata[2]}<extra></extra>",
    )


def _add_joins(
    figure: go.Figure, theme: Theme, axis: TimeAxis, pieces: pd.DataFrame, place: Mapping[str, int], *, below: float
) -> None:
    """Join the pieces of a job that was stopped by a dotted line, ``below`` the middle of its row."""
    row = np.array([place[job] for job in pieces["job_id"]], dtype=float)
    start, end = column(pieces, "start_s"), column(pieces, "end_s")
    order = np.lexsort((start, row))
    before, after = order[:-1], order[1:]
    gap = (row[before] == row[after]) & (start[after] > end[before])
    if not gap.any():
        return
    ends = axis.at(np.column_stack([end[before], start[after], np.full(len(before), np.nan)])[gap])
    line = {"color": theme.muted, "dash": "dot", "width": 1.5}
    y = np.repeat(row[before][gap] + below, 3)
    figure.add_scatter(x=ends.ravel(), y=y, mode="lines", line=line, name="stopped", hoverinfo="skip")


def _add_due(figure: go.Figure, theme: Theme, axis: TimeAxis, jobs: pd.DataFrame) -> None:
    due = column(jobs, "due_s")
    seen = np.flatnonzero((due >= axis.from_s) & (due <= axis.to_s))
    if len(seen):
        tick = {"symbol": "line-ns", "size": 9, "line": {"color": theme.ink, "width": 3}}
        x = axis.at(due[seen])
        figure.add_scatter(x=x, y=seen, mode="markers", marker=tick, name="due date", hoverinfo="skip")


def job_spans(job: pd.Series, segments: pd.DataFrame, waits: pd.DataFrame, until_s: float) -> pd.DataFrame:
    """Return what one job did from submission until it left, without gaps or overlaps.

    Columns from_s, to_s, what ("waiting", "running", "stopped"), reason (lower-case name of a WaitReason, only where
    it does not run), nodes, gpus, workers, servers, due_s, progress_from_s, end_reason. Parameters as
    :func:`job_timeline`.
    """
    pieces = whole_pieces(segments)
    submit = float(job["submit_s"])
    left = float(job["left_s"]) if not np.isnan(float(job["left_s"])) else until_s
    running = pd.DataFrame(
        {
            "from_s": column(pieces, "start_s"),
            "to_s": column(pieces, "end_s"),
            "what": "running",
            "reason": "",
            "nodes": texts(pieces, "nodes"),
            "num_nodes": column(pieces, "num_nodes"),
            "vm_type": texts(pieces, "vm_type"),
            "gpu_type": texts(pieces, "gpu_type"),
            "gpus": column(pieces, "gpus"),
            "workers": np.nan_to_num(column(pieces, "workers")),
            "servers": np.nan_to_num(column(pieces, "servers")),
            "progress_from_s": column(pieces, "progress_from_s"),
            "end_reason": texts(pieces, "end_reason"),
        }
    )
    edges = np.concatenate([[submit], np.column_stack([running["from_s"], running["to_s"]]).ravel(), [left]])
    gaps = [(a, b) for a, b in edges.reshape(-1, 2).tolist() if b > a]
    idle = [
        {"from_s": a, "to_s": b, "what": "waiting" if low == submit else "stopped", "reason": reason, "nodes": ""}
        for low, high in gaps
        for a, b, reason in _by_reason(low, high, waits)
    ]
    spans = pd.concat([frame for frame in (running, pd.DataFrame(idle)) if len(frame)] or [running], ignore_index=True)
    return spans.sort_values("from_s", kind="stable", ignore_index=True)


def _by_reason(low: float, high: float, waits: pd.DataFrame) -> list[tuple[float, float, str]]:
    """Return a gap cut where the recorded reason changes; stretches without a record are "not_recorded"."""
    spans: list[tuple[float, float, str]] = []
    at = low
    times_s = column(waits, "from_s").tolist(), column(waits, "to_s").tolist()
    for begin, end, reason in sorted(zip(*times_s, texts(waits, "reason"), strict=True)):
        begin, end = max(begin, at), min(end, high)
        if end <= begin:
            continue
        if begin > at:
            spans.append((at, begin, NOT_RECORDED))
        if spans and spans[-1][1:] == (begin, reason):
            spans[-1] = (spans[-1][0], end, reason)
        else:
            spans.append((begin, end, str(reason)))
        at = end
    return [*spans, (at, high, NOT_RECORDED)] if at < high else spans


def job_timeline(
    job: pd.Series,
    segments: pd.DataFrame,
    waits: pd.DataFrame,
    theme: Theme,
    until_s: float,
    *,
    machines: Sequence[str] | None = None,
    clock: Clock = DAYS,
) -> Chart:
    """Return one job's story: waiting (a strip below 0), running (height = GPUs allocated), stopped, due line, end.

    Parameters
    ----------
    job
        Its row of the jobs table: job_id, submit_s, left_s, gpus, due_s, status.
    segments, waits
        Its rows of the segments table (with ``gpus`` per share) and of the waits table.
    until_s
        End of the run, for a job that did not leave.
    machines
        Where machines are rented: the GPU types in the order of their colours. Bars then name machine and GPUs.
    """
    spans = job_spans(job, segments, waits, until_s)
    due, submit = float(job.get("due_s", np.nan)), float(job["submit_s"])
    end = float(spans["to_s"].max()) if len(spans) else max(until_s, submit)
    last = max(end, due) if not np.isnan(due) else end
    room = 0.02 * max(last - submit, 1.0)
    axis = TimeAxis.over(submit - room, last + room, clock)
    unit = "GPUs"
    if has_servers(spans) and not (job["gpus"] or np.nan_to_num(column(spans, "gpus")).any()):
        unit, spans = "Workers", spans.assign(gpus=column(spans, "workers"))
    held_gpus = float(np.nanmax(column(spans, "gpus"), initial=0.0))
    asked = float(job["gpus"]) if machines is None or held_gpus == 0 else held_gpus
    tall = max(held_gpus, asked, 1e-9)
    figure = go.Figure()
    _add_idle(figure, theme, axis, spans, tall)
    _add_running(figure, theme, axis, spans, str(job["job_id"]), due, tall, machines)
    ran = spans["what"] == "running"
    waited = float((column(spans, "to_s") - column(spans, "from_s"))[~ran].sum())
    held = float((column(spans, "to_s") - column(spans, "from_s"))[ran].sum())
    late = f", {duration(end - due)} late" if end > due else ""
    finding = f"waited {duration(waited)}, ran {duration(held)}{late}"
    title = f"{plain(job['job_id'])}: {finding}"
    framed(figure, theme, title=title, x=axis, y=f"{unit} allocated", height=280)
    # The strip below 0 says when it waited: no GPUs were allocated then.
    figure.update_yaxes(range=[-1.5 * IDLE_SHARE * tall, 1.3 * tall], tickvals=_ticks(tall), zeroline=True)
    figure.update_layout(barmode="overlay")
    if not np.isnan(due):
        is_right = due > (axis.from_s + axis.to_s) / 2
        reference_line(figure, theme, x=axis.place(due), text=f"due {clock.moment(due)}", before=is_right, limit=True)
    return Chart(figure, f"{cut(job['job_id'])} {finding}, in {amount(int(ran.sum()), 'piece')}.", _story(spans, clock))


def _story(spans: pd.DataFrame, clock: Clock) -> pd.DataFrame:
    reasons = [REASONS.get(reason, "") for reason in spans["reason"]]
    gangs = {"workers": column(spans, "workers"), "servers": column(spans, "servers")} if has_servers(spans) else {}
    table = pd.DataFrame(
        {
            "from, s": spans["from_s"],
            "to, s": spans["to_s"],
            "lasted": [duration(length) for length in spans["to_s"] - spans["from_s"]],
            "what": spans["what"],
            "because": reasons,
            "where": texts(spans, "nodes"),
            "machine": texts(spans, "vm_type"),
            "GPUs": column(spans, "gpus"),
            **gangs,
            "ended by": texts(spans, "end_reason"),
        }
    )
    return with_dates(table, clock, {"from, s": "from", "to, s": "to"})


def _ticks(tall: float) -> list[float]:
    """Return a few whole numbers of GPUs up to ``tall``."""
    if tall < 1:
        return [0.0, tall]
    step = max(round(tall / 4), 1)
    return [float(at) for at in range(0, int(tall) + 1, step)]


def _add_idle(figure: go.Figure, theme: Theme, axis: TimeAxis, spans: pd.DataFrame, tall: float) -> None:
    """Add the stretches without GPUs as a strip below 0, one legend entry per reason, hatched differently."""
    for (what, reason), part in spans[spans["what"] != "running"].groupby(["what", "reason"], sort=False):
        start, end = column(part, "from_s"), column(part, "to_s")
        text = REASONS.get(str(reason), "reason not known")
        words = text if (what, reason) == ("stopped", "preempted") else f"{what}: {text}"
        look = hatched(CLEAR, HATCH.get(str(reason), ""), theme.muted) | {"line": {"color": theme.muted, "width": 1}}
        add_spans(
            figure,
            axis,
            start,
            end,
            np.full(len(part), -0.8 * IDLE_SHARE * tall),
            IDLE_SHARE * tall,
            name=words,
            marker=look,
            customdata=[[duration(length)] for length in end - start],
            hovertemplate=words + "<br>for %{customdata[0]}<extra></extra>",
        )


def _add_running(
    figure: go.Figure,
    theme: Theme,
    axis: TimeAxis,
    spans: pd.DataFrame,
    job_id: str,
    due: float,
    tall: float,
    machines: Sequence[str] | None,
) -> None:
    ran = spans[spans["what"] == "running"].rename(columns={"from_s": "start_s", "to_s": "end_s"})
    if ran.empty:
        return
    ran = ran.assign(job_id=job_id, due_s=due)
    gpus = np.maximum(column(ran, "gpus"), 0.04 * tall)
    bars = bars_of(ran, axis, gpus / 2, gpus, TIMELINE_PX / tall, "state" if machines is None else "gpu_type")
    if machines is None:
        parts = ("nodes", "num_nodes", "gpus", "workers", "servers")
        bars.label[:] = [
            gang_words(workers, servers) if servers else _place_words(where, int(num_nodes), held)
            for where, num_nodes, held, workers, servers in zip(*(ran[name] for name in parts), strict=True)
        ]
        add_state_sets(figure, theme, axis, bars)
    else:
        add_groups(figure, theme, axis, bars, ran, "gpu_type", machines)
    add_marks(figure, theme, axis, bars, due_hatch=machines is not None)


def _place_words(where: str, num_nodes: int, held: float) -> str:
    """Return where a job runs, short enough for its bar: n3 x4, or 25 nodes."""
    return f"{plain(where, 24)} x{held:g}" if num_nodes <= NAMED_NODES else amount(num_nodes, "node")
