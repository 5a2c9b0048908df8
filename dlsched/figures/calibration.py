"""The chart of a calibration: recorded against replayed mean wait, one dot a group."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.figures.base import Chart, duration_axis, framed, plain
from dlsched.figures.palette import BLUE, ORANGE, Theme
from dlsched.studies.calibration.answer import Calibration, ComparedGroup, PolicyFit
from dlsched.studies.calibration.measures import ADDED_S
from dlsched.studies.calibration.record import GROUPING_WORDS
from dlsched.studies.calibration.words import ROUGH, VERDICTS, off_by, verdict_of
from dlsched.wording.formats import amount, duration, factor

HEIGHT = 400
LEAST_S = 10.0
"""Shorter waits are drawn here: a log axis has no 0, and below the added minute they count as none."""
ROOM = 1.6
SMALLEST_PX, LARGEST_PX = 8, 34
BAND_POINTS = 40
TOP_PX = 92
"""Room for the title and two lines of legend, which half a page takes."""
MOST_TICKS = 7
NAMED = 3
"""Groups that are off most and have their name beside the dot."""
WIDEST_NAME, HIGHEST_NAME = 0.25, 0.08
"""Room that a name takes, as shares of an axis."""
KINDS = (
    ("within 2x", ("close", "rough"), BLUE, "circle"),
    ("off by more", ("off",), ORANGE, "diamond"),
    ("too few jobs", ("few",), None, "circle-open"),
)


def wait_by_group(answer: Calibration, policy: str, by: str, theme: Theme) -> Chart:
    """Return a policy's mean waits by group against the recorded ones, both on log axes, with the line of equals."""
    replay = answer.of(policy)
    groups = replay.groups[by]
    low_s, high_s = _ends(groups)
    figure = go.Figure()
    _band(figure, theme, low_s, high_s)
    largest = max(group.wait.jobs for group in groups)
    for name, verdicts, colour, symbol in KINDS:
        shown = [group for group in groups if verdict_of(group) in verdicts]
        if shown:
            ground = theme.muted if colour is None else theme.marks[colour]
            # The area of a dot grows with the jobs.
            sizes_px = [max(SMALLEST_PX, LARGEST_PX * np.sqrt(group.wait.jobs / largest)) for group in shown]
            figure.add_scatter(
                x=[max(group.wait.recorded.mean_s, LEAST_S) for group in shown],
                y=[max(group.wait.replayed.mean_s, LEAST_S) for group in shown],
                mode="markers", name=name, showlegend=True,
                marker={"color": ground, "symbol": symbol, "size": sizes_px,
                        "opacity": 0.85, "line": {"color": theme.ground if colour is not None else ground,
                                                  "width": 1.5}},
                customdata=[_hover(group) for group in shown], hovertemplate="%{customdata}<extra></extra>",
            )  # fmt: skip
    word = GROUPING_WORDS[by]
    framed(
        figure, theme, title=f"Mean wait by {word} under {plain(replay.label)}", x="Recorded mean wait (log scale)",
        y="Replayed mean wait (log scale)", height=HEIGHT,
    )  # fmt: skip
    duration_axis(figure, low_s, high_s)
    _same_axes(figure)
    figure.update_layout(legend={"itemsizing": "constant"}, margin_t=TOP_PX)
    _names(figure, theme, groups)
    return Chart(figure, _alt(replay, groups, word), _table(groups, word))


def _ends(groups: tuple[ComparedGroup, ...]) -> tuple[float, float]:
    waits = [side.mean_s for group in groups for side in (group.wait.recorded, group.wait.replayed)]
    within = np.maximum(waits, LEAST_S)
    return float(within.min()) / ROOM, max(float(within.max()), 10 * LEAST_S) * ROOM


def _same_axes(figure: go.Figure) -> None:
    """Give y the axis of x, both with ticks far enough apart to be read."""
    axis = figure.layout.xaxis
    apart = (axis.range[1] - axis.range[0]) / MOST_TICKS
    text_at: dict[float, str] = {}
    for at, text in zip(axis.tickvals, axis.ticktext, strict=True):
        if not text_at or np.log10(at / max(text_at)) >= apart:
            text_at[at] = text
    ticks = {"tickvals": list(text_at), "ticktext": list(text_at.values())}
    figure.update_xaxes(**ticks)
    figure.update_yaxes(type="log", range=axis.range, **ticks)


def _band(figure: go.Figure, theme: Theme, low_s: float, high_s: float) -> None:
    """Draw the line of equals and what counts as within 2x of it: with a minute added to both, it opens downwards."""
    ends = [low_s, high_s]
    x = np.geomspace(low_s, high_s, BAND_POINTS)
    upper, lower = (np.maximum((x + ADDED_S) * ratio - ADDED_S, low_s / 10) for ratio in (ROUGH, 1 / ROUGH))
    figure.add_scatter(
        x=[*x, *x[::-1]], y=[*upper, *lower[::-1]], mode="none",
        fill="toself", fillcolor=theme.grid, opacity=0.6, hoverinfo="skip", showlegend=False, name="band",
    )  # fmt: skip
    figure.add_scatter(
        x=ends, y=ends, mode="lines", name="equal", hoverinfo="skip", showlegend=True,
        line={"color": theme.muted, "dash": "dash", "width": 2},
    )  # fmt: skip


def _names(figure: go.Figure, theme: Theme, groups: tuple[ComparedGroup, ...]) -> None:
    bad = sorted((group for group in groups if verdict_of(group) == "off"), key=lambda group: -off_by(group.wait.ratio))
    low, high = figure.layout.xaxis.range
    named: list[tuple[float, float]] = []
    for group in bad[:NAMED]:
        x, y = (float(np.log10(max(side.mean_s, LEAST_S))) for side in (group.wait.recorded, group.wait.replayed))
        if any(
            abs(x - at) < WIDEST_NAME * (high - low) and abs(y - up) < HIGHEST_NAME * (high - low) for at, up in named
        ):
            continue  # its name would lie on another one
        named.append((x, y))
        across, up = (x - low) / (high - low), (y - low) / (high - low)
        above = up < HIGHEST_NAME or (y > x and up < 1 - HIGHEST_NAME)  # away from the other dots, within the axes
        figure.add_annotation(
            x=x, y=y, text=plain(group.name, 20), showarrow=False, yshift=20 if above else -20,
            xanchor="left" if across < WIDEST_NAME / 2 else "right" if across > 1 - WIDEST_NAME / 2 else "center",
            font={"size": 13, "color": theme.worse_text}, bgcolor=theme.ground, opacity=0.9, borderpad=1,
        )  # fmt: skip


def _hover(group: ComparedGroup) -> str:
    wait = group.wait
    return (
        f"<b>{plain(group.name)}</b><br>recorded {duration(wait.recorded.mean_s)}, replayed "
        f"{duration(wait.replayed.mean_s)}<br>{factor(wait.ratio)} over {amount(wait.jobs, 'job')}<br>"
        f"{VERDICTS[verdict_of(group)]}"
    )


def _alt(replay: PolicyFit, groups: tuple[ComparedGroup, ...], word: str) -> str:
    wait = replay.wait
    off = sum(verdict_of(group) == "off" for group in groups)
    few = sum(verdict_of(group) == "few" for group in groups)
    return (
        f"Mean wait recorded {duration(wait.recorded.mean_s)}, replayed {duration(wait.replayed.mean_s)} over "
        f"{amount(wait.jobs, 'job')}; {amount(len(groups), 'group')} by {word}: {off} off by over {ROUGH:g}x (outside "
        f"the band), {few} with too few jobs. Waits under {duration(LEAST_S)} are drawn at that value; the area "
        f"of a dot grows with its jobs."
    )


def _table(groups: tuple[ComparedGroup, ...], word: str) -> pd.DataFrame:
    return pd.DataFrame(
        {
            word: [group.name for group in groups],
            "jobs": [group.wait.jobs for group in groups],
            "recorded mean wait, s": [group.wait.recorded.mean_s for group in groups],
            "replayed mean wait, s": [group.wait.replayed.mean_s for group in groups],
            "ratio": [round(group.wait.ratio, 4) for group in groups],
            "verdict": [VERDICTS[verdict_of(group)] for group in groups],
        }
    )
