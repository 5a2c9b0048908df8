"""Charts of the training-time prediction: predicted against measured, and the error of each network."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.figures.base import Chart, duration_axis, framed, named_rows, plain, reference_line, top_of
from dlsched.figures.lines import bars
from dlsched.figures.palette import Theme
from dlsched.speed.regression import Fits, NetworkFit
from dlsched.speed.terms import BATCH, GPUS, ITERATIONS
from dlsched.studies.speed_models.training import BAND, POOR, error_table
from dlsched.wording.formats import amount, cut, duration, share

HEIGHT = 380
MOST_DOTS = 1500
MOST_COLOURS = 5
MOST_BARS = 12
LONGEST_NAME = 20
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")


def predicted_vs_measured(fits: Fits, theme: Theme) -> Chart:
    """Return a dot for each profiling row: measured time across, time predicted without it upwards, both log."""
    table = pd.concat([_rows(model) for model in fits.models], ignore_index=True)
    drawn = table[table["predicted (s)"] > 0]
    low = float(min(drawn["measured (s)"].min(), drawn["predicted (s)"].min())) / 1.3
    high = float(max(drawn["measured (s)"].max(), drawn["predicted (s)"].max())) * 1.3
    figure = go.Figure()
    _add_band(figure, theme, low, high)
    dots = drawn.iloc[:: -(-len(drawn) // MOST_DOTS)]
    for place, (name, part) in enumerate(_groups(fits, dots)):
        colour = theme.marks[place] if part["network"].eq(name).all() else theme.other
        marker = {"color": colour, "symbol": SYMBOLS[place], "size": 6, "opacity": 0.8}
        _add_dots(figure, name, part, marker)
    near = float((table["error"] <= BAND).mean())
    title = f"{share(near)} of {amount(len(table), 'row')} predicted within ± {share(BAND)}"
    framed(figure, theme, title=title, x="Measured time (log scale)", y="Predicted time (log scale)", height=HEIGHT)
    # The legend goes below the diagonal: the dots lie along it, and beside another chart there is no room above.
    corner = {"orientation": "v", "x": 1, "xanchor": "right", "y": 0, "yanchor": "bottom", "traceorder": "normal"}
    figure.update_layout(legend={**corner, "bgcolor": theme.ground}, margin_t=40)
    duration_axis(figure, low, high)
    across = figure.layout.xaxis
    figure.update_yaxes(type="log", range=across.range, tickvals=across.tickvals, ticktext=across.ticktext)
    lost = len(table) - len(drawn)
    none = f" {amount(lost, 'row')} predicted at 0 s or less are not drawn." if lost else ""
    alt = f"{share(near)} of {len(table):,} rows lie within 20% of their measured time.{none}"
    return Chart(figure, alt, table.rename(columns={"error": "error (share)"}))


def _rows(model: NetworkFit) -> pd.DataFrame:
    features = model.runs.features
    return pd.DataFrame(
        {
            "network": model.network,
            "GPU type": model.runs.gpu_type,
            "GPUs": features[:, GPUS],
            "batch size": features[:, BATCH],
            "iterations": features[:, ITERATIONS],
            "measured (s)": model.runs.seconds,
            "predicted (s)": model.predicted,
            "error": model.errors,
        }
    )


def _groups(fits: Fits, rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the networks with most rows by name, and all others together."""
    ordered = sorted(fits.models, key=lambda model: (-len(model.runs), model.network))
    most = MOST_COLOURS + 1 if len(ordered) == MOST_COLOURS + 1 else MOST_COLOURS
    named = sorted(model.network for model in ordered[:most])
    groups = [(name, rows[rows["network"] == name]) for name in named]
    others = rows[~rows["network"].isin(named)]
    return [*groups, (amount(len(ordered) - most, "other"), others)] if len(ordered) > most else groups


def _add_band(figure: go.Figure, theme: Theme, low: float, high: float) -> None:
    ends = np.array([low, high])
    edge = {"color": theme.muted, "width": 1, "dash": "dot"}
    figure.add_scatter(x=ends, y=ends * (1 - BAND), mode="lines", line=edge, showlegend=False, hoverinfo="skip")
    figure.add_scatter(
        x=ends, y=ends * (1 + BAND), mode="lines", line=edge, fill="tonexty", fillcolor=theme.grid,
        name=f"± {share(BAND)}", hoverinfo="skip",
    )  # fmt: skip
    line = {"color": theme.ink, "width": 1.5}
    figure.add_scatter(x=ends, y=ends, mode="lines", line=line, name="exact", hoverinfo="skip")


def _add_dots(figure: go.Figure, name: str, part: pd.DataFrame, marker: dict[str, Any]) -> None:
    hover = np.empty((len(part), 1), dtype=object)
    hover[:, 0] = [
        f"{plain(row[0])}, {plain(row[1])}, {row[2]:g} GPUs"
        + (f", batch {row[3]:g}" if row[3] == row[3] else "")
        + f"<br>measured {duration(row[5])}, predicted {duration(row[6])}, off by {share(row[7])}"
        for row in part.itertuples(index=False, name=None)
    ]
    figure.add_scatter(
        x=part["measured (s)"], y=part["predicted (s)"], mode="markers", name=plain(name, LONGEST_NAME), marker=marker,
        customdata=hover, hovertemplate="%{customdata[0]}<extra></extra>",
    )  # fmt: skip


def network_errors(fits: Fits, theme: Theme) -> Chart:
    """Return the mean error of each network as bars, worst first, with the smallest and largest of its folds."""
    rows = error_table(fits.models)
    names = ["network", "rows", "mean error", "smallest fold", "largest fold", "GPU type left out"]
    table = pd.DataFrame(rows, columns=names)
    worst_first = table.head(MOST_BARS)
    mean = 100 * worst_first["mean error"].to_numpy(float)
    low, high = 100 * worst_first["smallest fold"].to_numpy(float), 100 * worst_first["largest fold"].to_numpy(float)
    labels = [plain(name, LONGEST_NAME) for name in worst_first["network"]]
    figure = go.Figure(
        go.Bar(
            x=mean,
            y=np.arange(len(worst_first)),
            orientation="h",
            marker={"color": theme.marks[0]},
            error_x=bars(high - mean, mean - low, color=theme.ink),
            customdata=[
                [label, f"{rows:,}", f"{a:.1f}", f"{b:.1f}"]
                for label, rows, a, b in zip(labels, worst_first["rows"], low, high, strict=True)
            ],
            hovertemplate="%{customdata[0]}, %{customdata[1]} rows: mean error %{x:.1f}%, "
            "folds %{customdata[2]} to %{customdata[3]}%<extra></extra>",
        )
    )
    worst = f"{cut(str(table['network'][0]), 24)} {share(float(table['mean error'][0]))}"
    title = f"Error by network: at most {share(float(table['mean error'][0]))}"
    height = int(np.clip(120 + 28 * len(worst_first), 180, HEIGHT + 240))
    framed(figure, theme, title=title, x="Mean error (%)", y="Network", height=height)
    named_rows(figure, labels)
    figure.update_xaxes(range=top_of(np.append(high, mean)))
    if high.max() > 100 * POOR:
        figure.update_yaxes(range=[len(worst_first) - 0.4, -1.2])  # room for the label
        reference_line(figure, theme, x=100 * POOR, text=share(POOR))
    alt = f"Mean errors of {amount(len(table), 'network')}, cross-validated, at most {worst}; lines: the folds."
    return Chart(figure, alt, table)
