"""Charts of the throughput model: speed-up by nodes, and where the time of an iteration goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from dlsched.domain.workload import Floats, Ints
from dlsched.figures.base import Chart, area_hatch, framed, legend_mark
from dlsched.figures.palette import BLUE, PINK, TEAL, Theme
from dlsched.speed.queueing import NETWORKS, STATIONS, Network
from dlsched.studies.speed_models.throughput import MEASURED, NETWORK_WORDS, SpeedCurves, station_table, width_table
from dlsched.wording.formats import amount, factor, share

HEIGHT = 350
AROUND_PX = 110
"""Height that title, legend and the x axis take."""
LABEL_PX = 17
ROOM = 1.15
LINES: Mapping[Network, tuple[int, str]] = {"hybrid": (BLUE, "solid"), "exact": (TEAL, "dash"), "fcfs": (PINK, "dot")}
STROKES = {"solid": "━━", "dash": "╍╍", "dot": "┅┅"}
KNEE = {"symbol": "circle-open", "size": 19, "line": {"width": 3}}
HELL = {"symbol": "star", "size": 15}
DOT = {"symbol": "circle", "size": 8}


def speed_up_chart(curves: SpeedCurves, theme: Theme, batch: float | None = None) -> Chart:
    """Return the speed-up by nodes in the three networks, with knee, HELL point, bound, ideal and what was measured.

    Hover texts tell examples/s too where ``batch`` says how many a mini-batch has.
    """
    table = width_table(curves, batch)
    x = np.arange(1, curves.layout.nodes + 1)
    top = _top(curves)
    figure = go.Figure()
    _ideal_and_bound(figure, curves, theme, x, top)
    for network in NETWORKS:
        colour, dash = LINES[network]
        width = 3 if network == curves.chosen else 1.75
        hover = _hover(curves, curves.rates[network], NETWORK_WORDS[network], batch)
        figure.add_scatter(
            x=x, y=curves.rates[network] / curves.one_node, mode="lines", showlegend=False,
            line={"color": theme.marks[colour], "dash": dash, "width": width},
            customdata=hover, hovertemplate="%{customdata}<extra></extra>", name=NETWORK_WORDS[network],
        )  # fmt: skip
    if curves.measured is not None:
        _dots(figure, curves, theme, batch)
    _points(figure, curves, theme)
    hell, knee = (factor(curves.speed_up(width)) for width in (curves.hell, curves.knee))
    title = f"{hell} as fast on {amount(curves.hell, 'node')} (HELL"
    title += " and KNEE)" if curves.hell == curves.knee else f"), {knee} on {curves.knee:,} (KNEE)"
    framed(figure, theme, title=title, x="Nodes", y="Speed-up against one node (x)", height=HEIGHT)
    figure.update_xaxes(range=[0, curves.layout.nodes * 1.01 + 0.2], zeroline=False)
    figure.update_yaxes(range=[0, top])
    _labels(figure, curves, theme, top)
    word = NETWORK_WORDS[curves.chosen]
    limit = "none" if np.isinf(curves.limit) else factor(curves.limit)
    alt = (
        f"Speed-up, {word}: {hell} on {curves.layout.words(curves.hell)} at the HELL point, {knee} on "
        f"{curves.layout.words(curves.knee)} at the knee, {factor(curves.speed_up(len(curves.curve)))} on "
        f"{amount(len(curves.curve), 'node')}; limit of the model {limit}.{_beyond(curves)}"
    )
    return Chart(figure, alt, table.round(4))


def _beyond(curves: SpeedCurves) -> str:
    if curves.measured is None:
        return ""
    beyond = int((curves.measured.workers > curves.layout.num_workers[-1]).sum())
    verb = "is" if beyond == 1 else "are"
    return (
        f" {amount(beyond, 'measurement')} beyond {amount(curves.layout.nodes, 'node')} {verb} not drawn."
        if beyond
        else ""
    )


def _top(curves: SpeedCurves) -> float:
    """Return the top of the y axis: above all curves and dots, the ideal is cut there."""
    ends = [float(rates.max()) for rates in curves.rates.values()] + [float(curves.curve.max())]
    if curves.measured is not None:
        ends.append(float(curves.measured.throughput.max()))
    return ROOM * max(max(ends) / curves.one_node, 1.2)


def _ideal_and_bound(figure: go.Figure, curves: SpeedCurves, theme: Theme, x: Ints, top: float) -> None:
    grey = {"color": theme.other, "width": 2}
    end = min(top, float(x[-1]))
    figure.add_scatter(x=[0, end], y=[0, end], mode="lines", line=grey, name="ideal", hoverinfo="skip", showlegend=True)
    line = {"color": theme.muted, "width": 1}
    figure.add_scatter(
        x=x, y=curves.bound / curves.one_node, mode="lines", line=line, name="bound", showlegend=False,
        hovertemplate="%{x} nodes: no network passes %{y:.3g}x<extra></extra>",
    )  # fmt: skip


def _hover(curves: SpeedCurves, rates: Floats, word: str, batch: float | None) -> list[str]:
    return [
        f"{word}, {curves.layout.words(width)}<br>{factor(rate / curves.one_node)}, {rate:.4g} mini-batches/s"
        + (f", {batch * rate:.4g} examples/s" if batch else "")
        for width, rate in enumerate(rates.tolist(), start=1)
    ]


def _dots(figure: go.Figure, curves: SpeedCurves, theme: Theme, batch: float | None) -> None:
    """Draw measurements in ink, where their workers lie on the most nodes; the line of a measured curve joins them."""
    measured, lay = curves.measured, curves.layout
    if measured is None:
        return
    if curves.chosen == MEASURED:
        line = {"color": theme.ink, "width": 2.5}
        speed_ups = curves.curve / curves.one_node
        figure.add_scatter(
            x=np.arange(1, len(speed_ups) + 1), y=speed_ups, mode="lines", line=line, hoverinfo="skip", showlegend=False
        )
    at = np.searchsorted(lay.num_workers, measured.workers, side="right")
    here = (at > 0) & (measured.workers <= lay.num_workers[-1])
    hover = [
        f"measured, {amount(workers, 'worker')}<br>{factor(rate / curves.one_node)}, {rate:.4g} mini-batches/s"
        + (f", {batch * rate:.4g} examples/s" if batch else "")
        for workers, rate in zip(measured.workers[here].tolist(), measured.throughput[here].tolist(), strict=True)
    ]
    figure.add_scatter(
        x=at[here], y=measured.throughput[here] / curves.one_node, mode="markers", name="measured", showlegend=True,
        marker={**DOT, "color": theme.ink}, customdata=hover, hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip


def _points(figure: go.Figure, curves: SpeedCurves, theme: Theme) -> None:
    """Mark knee and HELL point on the curve that is looked at."""
    for name, width, marker in (("KNEE", curves.knee, KNEE), ("HELL", curves.hell, HELL)):
        text = f"{name}: {amount(width, 'node')}"
        shape = {**marker, "color": theme.ink}
        hover = f"{name}, {curves.layout.words(width)}: {factor(curves.speed_up(width))}"
        figure.add_scatter(
            x=[width], y=[curves.speed_up(width)], mode="markers", marker=shape, showlegend=False, name=name,
            cliponaxis=False, hovertemplate=f"{hover}<extra></extra>",
        )  # fmt: skip
        legend_mark(figure, text, **{**shape, "size": 11})


def _labels(figure: go.Figure, curves: SpeedCurves, theme: Theme, top: float) -> None:
    """Write the names of the lines at their right ends, the limit among them, moved apart where they would touch."""
    ends = [
        (float(curves.rates[network][-1]) / curves.one_node, NETWORK_WORDS[network], _stroke(network, theme))
        for network in NETWORKS
    ]
    bound = float(curves.bound[-1]) / curves.one_node
    if bound <= top:
        reached = abs(bound - curves.limit) <= 1e-9 * bound
        ends.append((bound, f"limit {factor(bound)}" if reached else "bound", ""))
    ends.sort(key=lambda end: end[0])
    places = moved_apart([end[0] for end in ends], LABEL_PX / (HEIGHT - AROUND_PX) * top, top)
    for (_, text, stroke), y in zip(ends, places, strict=True):
        figure.add_annotation(
            x=1, xref="paper", xanchor="left", xshift=4, y=y, yanchor="middle", text=f"{stroke}{text}",
            showarrow=False, font={"color": theme.ink, "size": 13},
        )  # fmt: skip
    figure.update_layout(margin_r=96)


def _stroke(network: Network, theme: Theme) -> str:
    """Return a piece of the network's line: text in its colour would be too faint."""
    colour, dash = LINES[network]
    return f'<span style="color:{theme.marks[colour]}">{STROKES[dash]}</span> '


def moved_apart(values: Sequence[float], least: float, top: float) -> list[float]:
    """Return places of labels for ascending values, ``least`` apart and below ``top``, as near to them as can be.

    Labels that would touch move together: least squares by pooling neighbours.
    """
    pools: list[list[float]] = []
    for place, value in enumerate(values):
        pools.append([value - place * least])
        while len(pools) > 1 and _mean(pools[-2]) > _mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    bases = [_mean(pool) for pool in pools for _ in pool]
    highest = top - least / 2 - (len(values) - 1) * least
    return [min(base, highest) + place * least for place, base in enumerate(bases)]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def station_chart(curves: SpeedCurves, theme: Theme) -> Chart:
    """Return the share of an iteration at worker, uplink, server and downlink by nodes, as stacked areas."""
    table = station_table(curves)
    figure = go.Figure()
    for place, name in enumerate(STATIONS):
        colour = theme.marks[place]
        figure.add_scatter(
            x=table["nodes"], y=table[name], mode="lines", stackgroup="time", name=name, showlegend=True,
            line={"width": 1, "color": theme.ground}, fillcolor=colour,
            fillpattern=area_hatch(place, colour, theme.ground),
            hovertemplate="%{fullData.name}: %{y:.1f}%<extra></extra>",
        )  # fmt: skip
    at = min(curves.knee, curves.layout.nodes)
    told_apart = curves.measured is None  # throughput does not tell links from server
    away = float(curves.shares[at - 1, [1, 3] if told_apart else [1, 2, 3]].sum())
    where = "on the links" if told_apart else "at links or server"
    title = f"On {amount(at, 'node')} {share(away)} of a step is {where}"
    framed(figure, theme, title=title, x="Nodes", y="Time of a step (%)", height=HEIGHT)
    figure.update_layout(hovermode="x unified", legend_traceorder="normal")
    figure.update_xaxes(range=[1, max(curves.layout.nodes, 2)])
    figure.update_yaxes(range=[0, 100])
    parts = ", ".join(
        f"{share(float(part))} {name}" for name, part in zip(STATIONS, curves.shares[at - 1], strict=True)
    )
    alt = f"Time of a step on {curves.layout.words(at)}, waiting included, {curves.model} network: {parts}."
    return Chart(figure, alt, table.round(2))
