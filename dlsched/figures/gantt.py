"""Gantt charts: a raster of everything, and bars for a window of at most MAX_BARS pieces."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.figures.base import Chart, TimeAxis, framed, plain
from dlsched.figures.palette import BRICK, Theme, colours, ink_on
from dlsched.figures.raster import BUSY, DOWN, IDLE, LATE, PARTLY, Raster
from dlsched.metrics.formats import count, duration, money, share

MAX_BARS = 3000
MAX_BAR_ROWS = 64
OVERVIEW_HEIGHT = 260


def overview(raster: Raster, theme: Theme, *, colour_by: str = "state", alt: str = "", title: str = "") -> Chart:
    """Return the raster as a heatmap; the user drags a box to look closer (a click on a heatmap gives nothing)."""
    axis = TimeAxis.over(raster.from_s, raster.to_s)
    lines = len(raster.row_labels)
    tints = _state_colours(theme) if colour_by == "state" else _group_colours(raster, theme)
    x0 = (raster.from_s + raster.bin_s / 2) / axis.unit_s
    figure = go.Figure(
        go.Heatmap(
            z=raster.cell,
            x0=x0,
            dx=raster.bin_s / axis.unit_s,
            y0=0,
            dy=1,
            zmin=-0.5,
            zmax=len(tints) - 0.5,
            colorscale=_steps(tints),
            showscale=False,
            customdata=np.round(100 * raster.held).astype(np.uint8),
            zsmooth=False,
            hovertemplate="row %{y}, at %{x:.2f} " + axis.unit + "<br>%{customdata}% of its GPUs held<extra></extra>",
        )
    )
    for name, tint in zip(raster.legend, tints, strict=True):
        mark = {"symbol": "square", "size": 12, "color": tint, "line": {"color": theme.muted, "width": 1}}
        figure.add_scatter(x=[None], y=[None], mode="markers", marker=mark, name=plain(name), hoverinfo="skip")
    per_line = "" if raster.rows_per_line == 1 else f", 1 row = {raster.rows_per_line} nodes"
    framed(
        figure, theme, title=title or f"Who holds the nodes{per_line}", x=axis.title, y="Node", height=OVERVIEW_HEIGHT
    )
    places = np.unique(np.linspace(0, lines - 1, min(lines, 9)).astype(int))
    figure.update_yaxes(
        tickvals=places, ticktext=[raster.row_labels[i] for i in places], range=[lines - 0.5, -0.5], showgrid=False
    )
    figure.update_xaxes(range=list(axis.range), showgrid=False)
    figure.update_layout(dragmode="select")
    table = pd.DataFrame({"row": raster.row_labels, "GPU time held, %": np.round(100 * raster.held.mean(axis=1), 1)})
    return Chart(figure, alt, table)


def _state_colours(theme: Theme) -> list[str]:
    tints = [theme.ground] * 5
    tints[IDLE], tints[PARTLY], tints[BUSY] = theme.card, theme.tint, theme.marks[0]
    tints[LATE], tints[DOWN] = theme.worse, theme.marks[BRICK]
    return tints


def _group_colours(raster: Raster, theme: Theme) -> list[str]:
    groups = len(raster.legend) - 3
    return [theme.card, *theme.marks[:groups], theme.other, theme.marks[BRICK]]


def _steps(tints: list[str]) -> list[tuple[float, str]]:
    edges = np.linspace(0, 1, len(tints) + 1)
    return [(float(edge), tint) for i, tint in enumerate(tints) for edge in (edges[i], edges[i + 1])]


def lanes(segments: pd.DataFrame) -> pd.DataFrame:
    """Return one row per unbroken run of GPU lanes inside a node: columns of ``segments`` + lane, height.

    Lanes are given first-come, lowest free first: a drawing aid, not the GPU numbers of the machine. A share
    below one GPU takes a whole lane; a CPU job takes one lane.
    """
    ordered = segments.sort_values(["node", "start_s", "end_s"], kind="stable")
    free_at: dict[int, list[float]] = {}
    source, lane, height = [], [], []
    columns = (ordered[name].to_numpy() for name in ("node", "start_s", "end_s", "gpus"))
    for place, (node, start, end, gpus) in enumerate(zip(*columns, strict=True)):
        ends = free_at.setdefault(int(node), [])
        wanted = max(1, int(np.ceil(gpus)))
        taken = [i for i, until in enumerate(ends) if until <= start + 1e-9][:wanted]
        taken += list(range(len(ends), len(ends) + wanted - len(taken)))
        ends.extend([0.0] * (taken[-1] + 1 - len(ends)))
        for i in taken:
            ends[i] = end
        for run in np.split(np.array(taken), np.flatnonzero(np.diff(taken) > 1) + 1):
            source.append(place)
            lane.append(int(run[0]))
            height.append(len(run))
    return ordered.iloc[source].assign(lane=lane, height=height).reset_index(drop=True)


def node_bars(
    segments: pd.DataFrame, theme: Theme, from_s: float, to_s: float, *, colour_by: str = "state", alt: str = ""
) -> Chart:
    """Return bars by node, one band per node with a lane per GPU.

    Parameters
    ----------
    segments
        At most MAX_BARS rows with columns job_id, user, node, start_s, end_s, gpus, due_s, progress_from_s,
        end_reason, wait_s, cost.
    """
    axis = TimeAxis.over(from_s, to_s)
    drawn = lanes(segments)
    nodes = sorted(drawn["node"].unique())[:MAX_BAR_ROWS]
    drawn = drawn[drawn["node"].isin(nodes)].reset_index(drop=True)
    tall = (
        drawn.assign(top=drawn["lane"] + drawn["height"]).groupby("node")["top"].max()
        if len(drawn)
        else pd.Series(dtype=float)
    )
    offset = {node: place for place, node in enumerate(nodes)}
    size = drawn["node"].map(tall).to_numpy(float)
    y = (
        drawn["node"].map(offset).to_numpy(float)
        - 0.45
        + 0.9 * (drawn["lane"] + drawn["height"] / 2).to_numpy(float) / size
    )
    figure = go.Figure()
    _add_bars(figure, theme, axis, drawn, y, 0.9 * drawn["height"].to_numpy(float) / size, colour_by)
    height = int(np.clip(90 + 46 * len(nodes), 260, 900))
    framed(figure, theme, title="Pieces of work by node, one lane per GPU", x=axis.title, y="Node", height=height)
    figure.update_yaxes(
        tickvals=list(range(len(nodes))), ticktext=[f"n{n}" for n in nodes], range=[len(nodes) - 0.5, -0.5]
    )
    figure.update_xaxes(range=list(axis.range))
    figure.update_layout(barmode="overlay", dragmode="select")
    return Chart(figure, alt, segments)


def _add_bars(
    figure: go.Figure,
    theme: Theme,
    axis: TimeAxis,
    drawn: pd.DataFrame,
    y: np.ndarray,
    width: np.ndarray,
    colour_by: str,
) -> None:
    start, end = drawn["start_s"].to_numpy(float), drawn["end_s"].to_numpy(float)
    due = drawn["due_s"].to_numpy(float)
    if colour_by == "state":
        late = end > due
        groups = [
            ("running", ~late, theme.marks[0]),
            ("running, past due at its end (hatched after the due time)", late, theme.worse),
        ]
    else:
        tint = colours(drawn[colour_by].astype(str), theme)
        groups = [
            (plain(name) or "(none)", (drawn[colour_by].astype(str) == name).to_numpy(), c) for name, c in tint.items()
        ]
        groups = _fold(groups, theme)
    for name, who, tint_of in groups:
        if who.any():
            _one_bar_set(figure, theme, axis, drawn[who], start[who], end[who], y[who], width[who], name, tint_of)
    after_due = (end > due) & ~np.isnan(due)
    if after_due.any():
        begin = np.maximum(start, due)[after_due]
        hatch = {"color": "rgba(0,0,0,0)", "pattern": {"shape": "/", "fgcolor": theme.ink, "size": 6}}
        figure.add_bar(
            x=(end[after_due] - begin) / axis.unit_s,
            base=begin / axis.unit_s,
            y=y[after_due],
            width=width[after_due],
            orientation="h",
            marker=hatch,
            name="past due",
            hoverinfo="skip",
        )
    restart = drawn["progress_from_s"].to_numpy(float) - start
    capped = restart > 0
    if capped.any():
        figure.add_bar(
            x=np.minimum(restart, end - start)[capped] / axis.unit_s,
            base=start[capped] / axis.unit_s,
            y=y[capped],
            width=width[capped],
            orientation="h",
            marker={"color": theme.ink},
            name="restarting",
            hoverinfo="skip",
        )


def _fold(groups: list[tuple[str, np.ndarray, str]], theme: Theme, most: int = 8) -> list[tuple[str, np.ndarray, str]]:
    """Return at most ``most`` groups, the smaller ones folded into a grey "other"."""
    if len(groups) <= most:
        return groups
    by_size = sorted(groups, key=lambda group: -int(group[1].sum()))
    rest = np.logical_or.reduce([who for _, who, _ in by_size[most - 1 :]])
    return [*sorted(by_size[: most - 1], key=lambda g: g[0]), ("other", rest, theme.other)]


def _one_bar_set(
    figure: go.Figure,
    theme: Theme,
    axis: TimeAxis,
    part: pd.DataFrame,
    start: np.ndarray,
    end: np.ndarray,
    y: np.ndarray,
    width: np.ndarray,
    name: str,
    colour: str,
) -> None:
    lasted = (end - start) / axis.unit_s
    shown = (axis.to_s - axis.from_s) / axis.unit_s
    wide = lasted / shown > 0.04
    labels = [plain(job, 14) if ok else "" for job, ok in zip(part["job_id"], wide, strict=True)]
    figure.add_bar(
        x=lasted,
        base=start / axis.unit_s,
        y=y,
        width=width,
        orientation="h",
        name=name,
        marker={"color": colour, "line": {"color": theme.ground, "width": 1}},
        text=labels,
        textposition="inside",
        insidetextanchor="middle",
        textfont={"color": ink_on(colour, theme), "size": 12},
        customdata=_hover_rows(part),
        hovertemplate="%{customdata[1]}<extra></extra>",
    )


def _hover_rows(part: pd.DataFrame) -> list[list[str]]:
    """Return [job id, hover text] per bar; the end comes from the data, since with a base %{x} would be the end."""
    rows = []
    for row in part.itertuples():
        user = f", user {plain(row.user)}" if getattr(row, "user", "") else ""
        due = (
            ""
            if pd.isna(row.due_s)
            else f"<br>due {duration(row.due_s)}"
            + (f", late by {duration(row.end_s - row.due_s)}" if row.end_s > row.due_s else "")
        )
        waited = "" if pd.isna(row.wait_s) else f"<br>waited {duration(row.wait_s)}"
        cost = "" if pd.isna(row.cost) else f"<br>cost share {money(row.cost)}"
        text = (
            f"job {plain(row.job_id)}{user}<br>{row.gpus:g} GPUs on n{row.node}<br>"
            f"{duration(row.start_s)} → {duration(row.end_s)}, lasted {duration(row.end_s - row.start_s)}"
            f"{waited}{due}{cost}"
        )
        rows.append([str(row.job_id), text])
    return rows


def job_bars(
    jobs: pd.DataFrame, segments: pd.DataFrame, theme: Theme, from_s: float, to_s: float, *, alt: str = ""
) -> Chart:
    """Return one row a job: an outline while it waits, a bar while it runs, dotted joins between pieces, due ticks.

    Parameters
    ----------
    jobs
        At most MAX_BAR_ROWS rows in drawing order: job_id, submit_s, first_start_s, completion_s, due_s.
    segments
        Pieces of these jobs (one row per piece or node share) with the columns :func:`node_bars` needs.
    """
    axis = TimeAxis.over(from_s, to_s)
    place = {job: i for i, job in enumerate(jobs["job_id"])}
    figure = go.Figure()
    ids = jobs["job_id"].map(place).to_numpy(float)
    submit = jobs["submit_s"].to_numpy(float)
    first = np.where(jobs["first_start_s"].isna(), to_s, jobs["first_start_s"].to_numpy(float))
    figure.add_bar(
        x=(first - submit) / axis.unit_s,
        base=submit / axis.unit_s,
        y=ids,
        width=0.5,
        orientation="h",
        name="waiting",
        marker={"color": "rgba(0,0,0,0)", "line": {"color": theme.muted, "width": 1}},
        customdata=[[duration(w)] for w in first - submit],
        hovertemplate="waited %{customdata[0]}<extra></extra>",
    )
    pieces = segments.drop_duplicates(["job_id", "start_s"])
    y = pieces["job_id"].map(place).to_numpy(float)
    _add_bars(figure, theme, axis, pieces, y, np.full(len(pieces), 0.8), "state")
    _add_joins(figure, theme, axis, pieces, place)
    due = jobs["due_s"].to_numpy(float)
    has_due = ~np.isnan(due)
    if has_due.any():
        tick = {"symbol": "line-ns", "size": 14, "line": {"color": theme.ink, "width": 3}}
        figure.add_scatter(
            x=due[has_due] / axis.unit_s, y=ids[has_due], mode="markers", marker=tick, name="due time", hoverinfo="skip"
        )
    height = int(np.clip(110 + 22 * len(jobs), 260, 1400))
    framed(
        figure,
        theme,
        title="Jobs: waiting (outline), running (bar), due time (tick)",
        x=axis.title,
        y="Job",
        height=height,
    )
    names = [plain(job, 18) for job in jobs["job_id"]]
    figure.update_yaxes(tickvals=list(range(len(jobs))), ticktext=names, range=[len(jobs) - 0.5, -0.5])
    figure.update_xaxes(range=list(axis.range))
    figure.update_layout(barmode="overlay", dragmode="select")
    return Chart(figure, alt, jobs)


def _add_joins(figure: go.Figure, theme: Theme, axis: TimeAxis, pieces: pd.DataFrame, place: dict[str, int]) -> None:
    x: list[float | None] = []
    y: list[float | None] = []
    for job, part in pieces.sort_values("start_s").groupby("job_id", sort=False):
        for stop, start in zip(part["end_s"].iloc[:-1], part["start_s"].iloc[1:], strict=True):
            if start > stop:
                x += [stop / axis.unit_s, start / axis.unit_s, None]
                y += [place[str(job)], place[str(job)], None]
    if x:
        figure.add_scatter(
            x=x,
            y=y,
            mode="lines",
            line={"color": theme.muted, "dash": "dot", "width": 1},
            name="stopped",
            hoverinfo="skip",
        )


def window_alt(raster: Raster, waiting_max: int, waiting_max_at_s: float, late: int, worst: str = "") -> str:
    """Return the picture of a window in words: how full, idle rows, the longest queue, late jobs."""
    held = float(raster.held.mean())
    idle_rows = int((raster.held.mean(axis=1) < 0.01).sum())
    queue = (
        f"longest queue {count(waiting_max)} jobs at {duration(waiting_max_at_s)}" if waiting_max else "nobody waits"
    )
    lateness = f"; {count(late)} jobs past due" + (f", worst {plain(worst)}" if worst else "") if late else ""
    return (
        f"{duration(raster.from_s)} to {duration(raster.to_s)}, {len(raster.row_labels)} rows: {share(held)} of the "
        f"GPU time held; {idle_rows} rows idle throughout; {queue}{lateness}."
    )
