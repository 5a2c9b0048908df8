"""Charts of decisions that look ahead: one as a table of numbers, the time decisions took, and widths over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.domain.workload import Ints
from dlsched.figures.base import (
    Chart,
    Floats,
    TimeAxis,
    area_hatch,
    column,
    framed,
    named_rows,
    plain,
    reference_line,
    top_of,
)
from dlsched.figures.palette import BLACK, WHITE, Theme
from dlsched.metrics.step_functions import count_after
from dlsched.studies.inspect.look_ahead.answer import LookAhead
from dlsched.wording.clock import DAYS, Clock
from dlsched.wording.formats import amount, duration, number, short_time, signed

ROW_PX, HEAD_PX = 26, 118
GAP = 0.35
"""Space between groups of columns, in columns."""
MOST_TIMES = 600
BINS = 30
MOST_TICKS = 12
WIDEST_NAME = 22
CARRIED_OUT = "carried out"


class _Column(NamedTuple):
    """A column of the picture: its place, two lines of heading, and number of workers of each job, or differences."""

    x: float
    heading: tuple[str, str]
    workers: Sequence[int]
    is_difference: bool = False
    is_carried_out: bool = False


def plan_chart(one: LookAhead, rows: Sequence[int], theme: Theme, *, unit: str = "node", follows_plan: bool) -> Chart:
    """Return the jobs of a decision (``rows`` of its J) by step, with numbers in the cells and greedy's beside them.

    Shade = ``unit``s, from few to many. An outline marks what was carried out: the first step of the plan where the
    run ``follows_plan``, else what the greedy allocator decided; a column of its own where jobs got other numbers.
    """
    columns = _columns(one, rows, follows_plan)
    most = max([1, *one.held, *one.greedy, *(width for steps in one.plan for width in steps)])
    figure = go.Figure()
    for place in columns:
        figure.add_trace(_cells(place, one, rows, most, theme, unit))
        figure.add_trace(_numbers(place, most, theme))
    title = f"Plan of {amount(len(rows), 'job')}: {unit}s at each step of {duration(one.step_s)}"
    framed(figure, theme, title=title, x="", y="", height=HEAD_PX + ROW_PX * max(len(rows), 1))
    named_rows(figure, [plain(one.jobs[row], WIDEST_NAME) for row in rows])
    figure.update_xaxes(
        tickvals=[place.x for place in columns], side="top",
        ticktext=["<br> ".join(filter(None, place.heading)) for place in columns],
        range=[-0.6, columns[-1].x + 0.6], showgrid=False, zeroline=False, tickangle=0, fixedrange=True,
    )  # fmt: skip
    figure.update_yaxes(range=[len(rows) - 0.45, -0.55], fixedrange=True)
    figure.update_layout(margin_t=86, showlegend=False)
    at = next(place.x for place in columns if place.is_carried_out)
    figure.add_shape(
        type="rect", x0=at - 0.5, x1=at + 0.5, y0=-0.5, y1=len(rows) - 0.5, line={"color": theme.ink, "width": 3}
    )
    return Chart(figure, _plan_words(one, unit, follows_plan=follows_plan), plan_table(one, rows, follows_plan))


def plan_table(one: LookAhead, rows: Sequence[int], follows_plan: bool) -> pd.DataFrame:
    """Return the numbers of :func:`plan_chart`."""
    frame = pd.DataFrame({"job": [one.jobs[row] for row in rows], "before": [one.held[row] for row in rows]})
    for step in range(one.steps):
        frame[f"step {step + 1}"] = [one.plan[row][step] for row in rows]
    frame[CARRIED_OUT] = [one.got[row] for row in rows]
    frame["change now"] = [one.got[row] - one.held[row] for row in rows]
    frame["greedy"] = [one.greedy[row] for row in rows]
    frame["greedy - step 1"] = [one.greedy[row] - one.plan[row][0] for row in rows]
    return frame


def _columns(one: LookAhead, rows: Sequence[int], follows_plan: bool) -> list[_Column]:
    as_decided = one.got == one.decided(follows_plan=follows_plan)
    word = CARRIED_OUT if as_decided else "decided"
    columns = [_Column(0.0, ("before", ""), [one.held[row] for row in rows])]
    for step in range(one.steps):
        is_followed = follows_plan and not step
        heading = (str(step + 1), word if is_followed else "plan")
        widths = [one.plan[row][step] for row in rows]
        columns.append(_Column(1 + GAP + step, heading, widths, is_carried_out=is_followed and as_decided))
    x = 1 + 2 * GAP + one.steps
    greedy = [one.greedy[row] for row in rows]
    is_followed = not follows_plan
    heading = ("greedy", word if is_followed else "instead")
    columns.append(_Column(x, heading, greedy, is_carried_out=is_followed and as_decided))
    if not as_decided:
        x += 1 + GAP
        columns.append(_Column(x, ("got", CARRIED_OUT), [one.got[row] for row in rows], is_carried_out=True))
    columns.append(_Column(x + 1, ("change", "now"), [one.got[row] - one.held[row] for row in rows], True))
    columns.append(_Column(x + 2, ("greedy", "− plan"), [one.greedy[row] - one.plan[row][0] for row in rows], True))
    return columns


def _strength(workers: int, most: int) -> float:
    """Return how strong a shade is, 0 to 1: by doublings."""
    return float(np.log2(max(workers, 1)) / np.log2(most)) if most > 1 else 1.0


def _cells(place: _Column, one: LookAhead, rows: Sequence[int], most: int, theme: Theme, unit: str) -> go.Heatmap:
    shades = [
        [None if place.is_difference or not width else _strength(width, most)] for width in place.workers
    ]  # fmt: skip

    def words(width: int) -> str:
        if place.is_difference:
            return f"{signed(width)} {unit}s"
        return amount(width, unit) if width else "waits"

    heading = " ".join(filter(None, place.heading))
    hover = [
        [f"{plain(one.jobs[row])}, {heading}: {words(width)}"] for row, width in zip(rows, place.workers, strict=True)
    ]
    return go.Heatmap(
        x=[place.x], dx=1, y=list(range(len(rows))), z=shades, zmin=0, zmax=1, xgap=2, ygap=2, showscale=False,
        colorscale=[[0, weakest(theme)], [1, theme.marks[0]]], text=hover, hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip


def _numbers(place: _Column, most: int, theme: Theme) -> go.Scatter:
    if place.is_difference:
        words = [signed(width) if width else "·" for width in place.workers]
        return _texts(place, words, [theme.ink] * len(words))
    inks_of = [ink_at(_strength(width, most), theme) if width else theme.muted for width in place.workers]
    words = [f"<b>{width}</b>" if place.is_carried_out else str(width) for width in place.workers]
    return _texts(place, words, inks_of)


def _texts(place: _Column, words: list[str], inks: list[str]) -> go.Scatter:
    return go.Scatter(
        x=[place.x] * len(words), y=list(range(len(words))), mode="text", text=words, hoverinfo="skip",
        textfont={"size": 13, "color": inks},
    )  # fmt: skip


def weakest(theme: Theme) -> str:
    """Return the shade of the fewest workers."""
    return theme.tint


def shade_at(strength: float, theme: Theme) -> str:
    """Return the shade between the weakest (0) and the strongest (1)."""
    low, high = (_rgb(colour) for colour in (weakest(theme), theme.marks[0]))
    return "#" + "".join(f"{round(float(a + strength * (b - a))):02x}" for a, b in zip(low, high, strict=True))


def ink_at(strength: float, theme: Theme) -> str:
    """Return black or white, whichever is easier to read on a shade (WCAG contrast)."""
    bright = _luminance(shade_at(strength, theme))
    on_white, on_black = 1.05 / (bright + 0.05), (bright + 0.05) / (_luminance(BLACK) + 0.05)
    return WHITE if on_white > on_black else BLACK


def _rgb(colour: str) -> list[int]:
    return [int(colour[place : place + 2], 16) for place in (1, 3, 5)]


def _luminance(colour: str) -> float:
    """Return the relative luminance of WCAG 2."""
    parts = np.array(_rgb(colour)) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def _plan_words(one: LookAhead, unit: str, *, follows_plan: bool) -> str:
    changed = sum(a != b for a, b in zip(one.got, one.held, strict=True))
    unlike = sum(a != b for a, b in zip(one.got, one.decided(follows_plan=follows_plan), strict=True))
    but = f" {amount(unlike, 'job')} got another number than was decided." if unlike else ""
    other = sum(a != b for a, b in zip(one.first, one.greedy, strict=True))
    return (
        f"{amount(sum(one.held), unit)} allocated to {amount(sum(held > 0 for held in one.held), 'job')} before; "
        f"the plan gives {amount(sum(one.first), unit)} to {amount(sum(w > 0 for w in one.first), 'job')} in step 1, "
        f"greedy {amount(sum(one.greedy), unit)} to {amount(sum(w > 0 for w in one.greedy), 'job')}. "
        f"{amount(changed, 'job')} changed now; step 1 and greedy differ for {amount(other, 'job')}.{but}"
    )


def decision_times(decisions: pd.DataFrame, theme: Theme, now_s: float | None = None) -> Chart:
    """Return how much CPU the decisions of a run took, in bars of a log axis; ``now_s`` marks one of them."""
    cpu_s = np.maximum(column(decisions, "cpu_s"), 1e-6)
    low, high = float(cpu_s.min()) / 1.1, float(cpu_s.max()) * 1.1
    edges = np.geomspace(low, high, BINS + 1)
    counts, _ = np.histogram(cpu_s, edges)
    worst, half = short_time(float(cpu_s.max())), short_time(float(np.median(cpu_s)))
    title = f"Half of {amount(len(cpu_s), 'decision')} took up to {half}, the longest {worst}"
    figure = time_bars(edges, counts, theme, title)
    if now_s is not None:
        reference_line(figure, theme, text="this one", x=max(now_s, 1e-6), before=now_s > np.sqrt(low * high))
    alt = (
        f"CPU time of {amount(len(cpu_s), 'decision')}: half took up to {half}, the longest {worst}, "
        f"{short_time(float(cpu_s.sum()))} together."
    )
    table = pd.DataFrame({"from (s)": edges[:-1], "to (s)": edges[1:], "decisions": counts})
    return Chart(figure, alt, table)


def time_bars(edges_s: Floats, counts: Ints, theme: Theme, title: str) -> go.Figure:
    """Return bars over CPU times on a log axis: ``counts`` (bins,) decisions between ``edges_s`` (bins + 1,)."""
    low, high = float(edges_s[0]), float(edges_s[-1])
    spans = [
        f"{short_time(a)} to {short_time(b)}" for a, b in zip(edges_s[:-1].tolist(), edges_s[1:].tolist(), strict=True)
    ]
    figure = go.Figure(
        go.Bar(
            x=np.sqrt(edges_s[:-1] * edges_s[1:]), y=counts, width=np.diff(edges_s),
            marker={"color": theme.marks[0], "line": {"width": 0}},
            customdata=spans, hovertemplate="%{y} decisions took %{customdata}<extra></extra>",
        )
    )  # fmt: skip
    framed(figure, theme, title=title, x="CPU time of a decision, placing included (log scale)", y="Decisions")
    ticks = [step * 10.0**power for power in range(-6, 5) for step in (1, 2, 5) if low <= step * 10.0**power <= high]
    if len(ticks) > MOST_TICKS:
        ticks = ticks[:: -(-len(ticks) // MOST_TICKS)]
    span = [float(np.log10(low)), float(np.log10(high))]
    figure.update_xaxes(type="log", range=span, tickvals=ticks, ticktext=[short_time(tick) for tick in ticks])
    figure.update_yaxes(range=top_of(counts.astype(float), room=0.2))
    return figure


def widths_over_time(
    pieces: pd.DataFrame,
    capacity: int | None,
    theme: Theme,
    now_s: float,
    *,
    unit: str = "node",
    clock: Clock = DAYS,
) -> Chart:
    """Return the workers held by jobs of each width over time.

    ``pieces`` as metrics.tables.segments_of, at least one; ``capacity`` in workers, None if it is not known.
    """
    each = pieces.groupby("piece").agg(start_s=("start_s", "min"), end_s=("end_s", "max"), workers=("workers", "sum"))
    begin, end = float(each["start_s"].min()), float(each["end_s"].max())
    times = np.linspace(begin, end, MOST_TIMES + 1)
    axis = TimeAxis.over(begin, end, clock)
    widths = sorted(set(each["workers"].tolist()))
    figure = go.Figure()
    table = pd.DataFrame({axis.column: axis.at(times)})
    for place, width in enumerate(widths):
        part = each[each["workers"] == width]
        begun, over = (count_after(part[name].to_numpy(float), times) for name in ("start_s", "end_s"))
        held = float(width) * (begun - over)
        name = f"on {amount(width, unit)}"
        shade = shade_at(_strength(width, widths[-1]), theme)
        figure.add_scatter(
            x=axis.at(times), y=held, stackgroup="held", name=name, mode="lines",
            line={"width": 1, "color": theme.ground, "shape": "hv"}, fillcolor=shade,
            fillpattern=area_hatch(place, shade, theme.ink),
            hovertemplate=f"%{{y:.0f}} {unit}s allocated to jobs {name}<extra></extra>",
        )  # fmt: skip
        table[name] = held
    length_s = (each["end_s"] - each["start_s"]) * each["workers"]
    mean = {width: float(length_s[each["workers"] == width].sum()) / max(end - begin, 1e-9) for width in widths}
    top = max(mean, key=lambda width: mean[width])
    of_all = "" if capacity is None else f" of {capacity:,}"
    title = f"Most {unit}s go to jobs on {amount(top, unit)}: {number(mean[top])}{of_all} on average"
    framed(figure, theme, title=title, x=axis, y=f"{unit.capitalize()}s allocated")
    highest = float(table.iloc[:, 1:].sum(axis=1).max()) if capacity is None else float(capacity)
    figure.update_yaxes(range=[0, 1.22 * highest])
    figure.update_layout(legend_traceorder="normal")
    if capacity is not None:
        reference_line(figure, theme, text=f"all {capacity:,}", y=highest)
    reference_line(figure, theme, text="this decision", x=axis.place(now_s), before=now_s > (begin + end) / 2)
    held_by = ", ".join(f"{number(mean[width])} by jobs on {amount(width, unit)}" for width in widths)
    alt = f"{unit.capitalize()}s allocated{of_all}, mean over the run: {held_by}."
    return Chart(figure, alt, table)
