"""Chart of one training iteration layer by layer: computing, pushing gradients, pulling parameters, over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.figures.base import TIME_UNITS, Chart, framed, hatched, named_rows
from dlsched.figures.palette import BLUE, OLIVE, PINK, TEAL, Theme, ink_on
from dlsched.speed.pipeline import Layers, Overlap, Pipeline, pipeline
from dlsched.speed.pipeline_simulation import Bar, Kind, simulate_layers
from dlsched.wording.formats import amount, duration, share

WORDS: Mapping[Overlap, str] = {
    "sequential": "one after the other",
    "wait-free": "wait-free transfers",
    "priority": "transfers by priority",
}
ROWS = ("compute", "push", "pull")
LOOKS: Mapping[Kind, tuple[int, str, int, str]] = {
    "backward": (0, "backward", BLUE, ""),
    "push": (1, "push gradients", OLIVE, ""),
    "pull": (2, "pull parameters", PINK, ""),
    "forward": (0, "forward", TEAL, "/"),
}
"""Kind of a bar -> its row, name, colour and hatching; what shares a row differs without colour."""
HEIGHT = 290
MOST_BARS = 3000
PLOT_PX, LETTER_PX = 1000, 9
MILLISECONDS_BELOW_S = 2.0
SAME = 1e-9


def timeline(layers: Layers, overlap: Overlap, theme: Theme) -> Chart:
    """Return one iteration as bars over time, numbered by layer, first to last; at most MOST_BARS, the longest.

    Title and text have the time of the formula; with slices the bars may end a little later, and the text says so.
    """
    pipe = pipeline(layers, overlap)
    bars = simulate_layers(layers, overlap)
    drawn = _longest(bars)
    end_s = max(pipe.iteration_s, max(bar.end_s for bar in bars))
    unit_s, unit = _unit(end_s)
    figure = go.Figure()
    for kind in LOOKS:
        _add_bars(figure, [bar for bar in drawn if bar.kind == kind], kind, theme, end_s, (unit_s, unit))
    title = f"One iteration, {WORDS[overlap]}: {duration(pipe.iteration_s)}{_saved(layers, pipe)}"
    framed(figure, theme, title=title, x=f"Time since backward began ({unit})", y="", height=HEIGHT)
    named_rows(figure, ROWS)
    figure.update_xaxes(range=[0, end_s / unit_s if end_s > 0 else 1.0])
    figure.update_layout(barmode="overlay")
    table = pd.DataFrame(
        {
            "layer": [bar.layer + 1 for bar in bars],
            "what": [LOOKS[bar.kind][1] for bar in bars],
            "start, s": [bar.start_s for bar in bars],
            "end, s": [bar.end_s for bar in bars],
        }
    )
    return Chart(figure, _words(layers, pipe, end_s, len(bars) - len(drawn)), table)


def _longest(bars: Sequence[Bar]) -> list[Bar]:
    """Return the longest bars that can be drawn, in their order."""
    seen = [bar for bar in bars if bar.end_s > bar.start_s]
    lengths = np.array([bar.end_s - bar.start_s for bar in seen])
    keep = np.sort(np.argsort(-lengths, kind="stable")[:MOST_BARS])
    return [seen[at] for at in keep.tolist()]


def _unit(end_s: float) -> tuple[float, str]:
    if end_s < MILLISECONDS_BELOW_S:
        return 1e-3, "ms"
    return next((size_s, name) for least_s, size_s, name in TIME_UNITS if end_s >= least_s)


def _add_bars(
    figure: go.Figure, bars: Sequence[Bar], kind: Kind, theme: Theme, end_s: float, scale: tuple[float, str]
) -> None:
    row, name, place, hatch = LOOKS[kind]
    unit_s, unit = scale
    colour = theme.marks[place]
    ink = ink_on(colour, theme)
    lengths_s = np.array([bar.end_s - bar.start_s for bar in bars])
    labels = [str(bar.layer + 1) for bar in bars]
    wide_px = lengths_s / end_s * PLOT_PX if end_s > 0 else lengths_s
    figure.add_bar(
        x=lengths_s / unit_s, base=[bar.start_s / unit_s for bar in bars], y=np.full(len(bars), row), width=0.8,
        orientation="h", name=name, showlegend=True,
        marker=hatched(colour, hatch, ink)
        | {"line": {"color": theme.ground, "width": np.where(wide_px > 3, 1, 0).astype(np.uint8)}},
        text=[label if px >= LETTER_PX * len(label) + 4 else "" for label, px in zip(labels, wide_px, strict=True)],
        textposition="inside", insidetextanchor="middle", textangle=0, constraintext="none",
        textfont={"color": ink, "size": 12},
        customdata=[
            f"layer {label}, {name}<br>{bar.start_s / unit_s:.6g} to {bar.end_s / unit_s:.6g} {unit}, "
            f"{length_s / unit_s:.4g} long"
            for label, bar, length_s in zip(labels, bars, lengths_s.tolist(), strict=True)
        ],
        hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip


def _saved(layers: Layers, pipe: Pipeline) -> str:
    """Return what overlapping saves, as words to add; nothing where it saves nothing."""
    alone_s = pipeline(layers, "sequential").iteration_s
    saved_s = alone_s - pipe.iteration_s
    return f", {share(saved_s / alone_s)} less than one after the other" if saved_s > SAME * alone_s else ""


def _words(layers: Layers, pipe: Pipeline, end_s: float, left_out: int) -> str:
    forward, backward, transfers = (share(part) for part in pipe.eta)
    late_s = end_s - pipe.iteration_s
    words = (
        f"One iteration of {amount(len(layers), 'layer')}, {WORDS[pipe.overlap]}: {duration(pipe.iteration_s)}"
        f"{_saved(layers, pipe)}; it waits for {forward} of forward, {backward} of backward and {transfers} of the "
        "transfers."
    )
    if late_s > SAME * end_s:
        words += f" Played in slices of {duration(layers.slice_s)} it ends {duration(late_s)} later."
    return words + (f" {amount(left_out, 'shortest bar')} left out." if left_out else "")
