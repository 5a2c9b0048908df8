"""Charts of the page Pool size: a number by size, the gain by size, what goes wrong, and the time of decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.domain.units import HOUR_S, MINUTE_S
from dlsched.figures.base import Chart, framed, plain, reference_line
from dlsched.figures.lines import SYMBOLS, Look
from dlsched.figures.look_ahead import time_bars
from dlsched.figures.palette import DASHES, Theme, policy_colour
from dlsched.metrics.stats.intervals import Interval
from dlsched.studies.pool_sizes.answer import (
    DECISION_EDGES_S,
    MEASURES,
    Cell,
    Measure,
    PoolSizes,
    gain_of,
    mean_of,
    rows_of,
)
from dlsched.studies.pool_sizes.words import gain_words
from dlsched.wording.formats import amount, number, share, short_time, show_interval

HEIGHT = 360
APART = 0.012
"""How far apart marks of one size stand, as a share of the axis, so that bars do not cover each other."""
Words = Callable[[str], str]
"""From a variant's key to its words."""


def looks(answer: PoolSizes, theme: Theme) -> dict[str, Look]:
    """Return the look of each policy by key: its colour everywhere, dash and symbol of its place."""
    return {
        policy: Look(policy_colour(policy, theme), DASHES[place % len(DASHES)], SYMBOLS[place % len(SYMBOLS)])
        for place, policy in enumerate(answer.policies)
    }


def by_size(answer: PoolSizes, variant: str, measure: Measure, theme: Theme) -> Chart:
    """Return a number by size of the pool, a line with its 95% band per policy."""
    look, figure = looks(answer, theme), go.Figure()
    scale, title = _axis(answer, variant, measure)
    parts, highest, lowest = [], 0.0, 0.0
    for policy in answer.policies:
        known = [(nodes, of) for nodes, of in _line(answer, variant, policy, measure) if of is not None]
        if not known or (measure.key == "additional" and policy == answer.reference):
            continue
        sizes, of = [nodes for nodes, _ in known], [one for _, one in known]
        _add_band(figure, sizes, of, scale, look[policy])
        _add_line(figure, sizes, of, scale, look[policy], answer.labels[policy], measure)
        ends = [known[0], known[-1]] if len(known) > 1 else known
        said = [f"{_said(measure, one)} on {amount(nodes, 'node')}" for nodes, one in ends]
        parts.append(f"{answer.labels[policy]} {', '.join(said)}")
        highest = max(highest, *(scale * (one.high or one.mean) for one in of))
        lowest = min(lowest, *(scale * (one.low if one.low is not None else one.mean) for one in of))
    framed(figure, theme, title=f"{measure.label} by size of the pool{_sure(answer, variant)}",
           x="Nodes of the pool", y=title, height=HEIGHT)  # fmt: skip
    figure.update_yaxes(range=[1.08 * lowest, 1.12 * highest or 1.0])
    _sizes_axis(figure, answer, theme)
    alt = f"{measure.label}: {'; '.join(parts) or 'no numbers'}."
    return Chart(figure, alt, pd.DataFrame([row for row in rows_of(answer) if row["goes wrong"] == variant]))


def gain_by_size(answer: PoolSizes, variant: str, theme: Theme) -> Chart | None:
    """Return the gain over the reference by size of the pool, a line with 95% bars per policy; None without one."""
    look, figure, rows, parts = looks(answer, theme), go.Figure(), [], []
    shift = APART * (answer.nodes[-1] - answer.nodes[0])
    for place, policy in enumerate(answer.others):
        known = [(nodes, of) for nodes in answer.nodes if (of := gain_of(answer.at(nodes, variant, policy)))]
        if not known:
            continue
        beside = shift * (place - (len(answer.others) - 1) / 2)
        told = [f"{amount(nodes, 'node')}: {gain_words(of)}" for nodes, of in known]
        at, gains = [nodes + beside for nodes, _ in known], [of for _, of in known]
        _add_bars(figure, at, gains, look[policy], answer.labels[policy], told)
        rows += [
            {"nodes": nodes, "policy": answer.labels[policy], "gain, %": of.mean, "± (95%)": of.half_width,
             "draws": of.n} for nodes, of in known
        ]  # fmt: skip
        parts.append(f"{answer.labels[policy]} {', '.join(f'{gain_words(of)} on {nodes:,}' for nodes, of in known)}")
    if not rows:
        return None
    against = plain(answer.labels[answer.reference])
    framed(figure, theme, title=f"Gain over {against} by size of the pool{_sure(answer, variant)}",
           x="Nodes of the pool", y=f"Longer with {against} (%)", height=HEIGHT)  # fmt: skip
    figure.add_hline(y=0, line={"color": theme.muted, "width": 1})
    _sizes_axis(figure, answer, theme)
    return Chart(figure, f"Gain over {against}: {'; '.join(parts)} nodes.", pd.DataFrame(rows))


def what_goes_wrong(answer: PoolSizes, policy: str, words: Words, theme: Theme) -> Chart | None:
    """Return the gain of a policy by size, a line for each variant of what goes wrong; the total time without gains.

    None with fewer than two variants.
    """
    if len(answer.variants) < 2:
        return None
    gains = policy != answer.reference
    measure = MEASURES["total"]
    scale, unit = (1.0, "") if gains else _axis(answer, answer.variants[0], measure)
    figure, rows, parts = go.Figure(), [], []
    shift = APART * (answer.nodes[-1] - answer.nodes[0])
    for place, variant in enumerate(answer.variants):
        cells = [answer.at(nodes, variant, policy) for nodes in answer.nodes]
        known = [(cell.nodes, of) for cell in cells if (of := gain_of(cell) if gains else mean_of(cell, measure))]
        if not known:
            continue
        look = Look(theme.marks[place], DASHES[place % len(DASHES)], SYMBOLS[place % len(SYMBOLS)])
        beside = shift * (place - (len(answer.variants) - 1) / 2)
        said = [gain_words(of) if gains else _said(measure, of) for _, of in known]
        shown = [_scaled(of, scale) for _, of in known]
        told = [f"{amount(nodes, 'node')}: {text}" for (nodes, _), text in zip(known, said, strict=True)]
        _add_bars(figure, [nodes + beside for nodes, _ in known], shown, look, words(variant), told)
        name = "gain, %" if gains else unit
        rows += [
            {"goes wrong": words(variant), "nodes": nodes, name: of.mean, "± (95%)": of.half_width, "draws": of.n}
            for (nodes, _), of in zip(known, shown, strict=True)
        ]
        parts.append(f"{words(variant)}: {', '.join(said)}")
    if not rows:
        return None
    label, against = plain(answer.labels[policy]), plain(answer.labels[answer.reference])
    title = f"Gain of {label} over {against}, by what goes wrong" if gains else f"{unit} of {label}, by what goes wrong"
    framed(figure, theme, title=title, x="Nodes of the pool", y=f"Longer with {against} (%)" if gains else unit,
           height=HEIGHT)  # fmt: skip
    if gains:
        figure.add_hline(y=0, line={"color": theme.muted, "width": 1})
    else:
        figure.update_yaxes(rangemode="tozero")
    _sizes_axis(figure, answer, theme)
    what = f"Gain of {label}" if gains else f"Total time of {label}"
    return Chart(figure, f"{what} on {_listed(answer.nodes)} nodes. {'. '.join(parts)}.", pd.DataFrame(rows))


def decision_histogram(cell: Cell, label: str, theme: Theme) -> Chart | None:
    """Return how much CPU the decisions of a cell took, over all its draws; None where no solver was asked."""
    found = cell.decisions
    if found is None:
        return None
    counts = np.array(found.counts, dtype=np.int64)
    full = np.flatnonzero(counts)
    first, last = int(full[0]), int(full[-1])
    edges = np.array(DECISION_EDGES_S)[first : last + 2]
    half, worst = short_time(found.p50_s), short_time(found.longest_s)
    proven = "all" if found.proven == found.solved else share(found.proven / found.solved)
    title = f"Half of {amount(found.solved, 'decision')} took up to {half}, the longest {worst}; {proven} proven"
    figure = time_bars(edges, counts[first : last + 1], theme, title)
    figure.update_traces(marker_color=policy_colour(cell.policy, theme))
    alt = (
        f"CPU time of {amount(found.solved, 'decision')} of {label} on {amount(cell.nodes, 'node')}: mean "
        f"{short_time(found.mean_s)}, half up to {half}, 95 of 100 up to {short_time(found.p95_s)}, longest {worst}; "
        f"{found.proven:,} proven to be the best plan."
    )
    table = pd.DataFrame({"from (s)": edges[:-1], "to (s)": edges[1:], "decisions": counts[first : last + 1]})
    return Chart(figure, alt, table)


def _said(measure: Measure, of: Interval) -> str:
    return show_interval(measure.kind, of.mean, of.half_width)


def _line(answer: PoolSizes, variant: str, policy: str, measure: Measure) -> list[tuple[int, Interval | None]]:
    return [(nodes, mean_of(answer.at(nodes, variant, policy), measure)) for nodes in answer.nodes]


def _axis(answer: PoolSizes, variant: str, measure: Measure) -> tuple[float, str]:
    """Return by what values are multiplied on the axis, and its title with the unit."""
    if measure.key == "workers":
        return 1.0, f"{answer.unit.capitalize()}s of a running job"
    if measure.kind == "share":
        return 100.0, f"{measure.label} (%)"
    if measure.kind != "duration":
        return 1.0, measure.label
    cells = [cell for cell in answer.cells if cell.variant == variant]
    longest_s = max((of.mean for cell in cells if (of := mean_of(cell, measure)) is not None), default=0.0)
    unit_s, unit = (HOUR_S, "h") if longest_s >= 2 * HOUR_S else (MINUTE_S, "min")
    return 1 / unit_s, f"{measure.label} ({unit})"


def _scaled(of: Interval, scale: float) -> Interval:
    return Interval(of.mean * scale, None if of.half_width is None else of.half_width * scale, of.n, of.level)


def _sure(answer: PoolSizes, variant: str) -> str:
    """Return how sure a picture is, as its title ends."""
    if variant in answer.exact:
        return ", exact for these jobs"
    return ", 1 draw" if answer.draws == 1 else f", 95% intervals over {answer.draws} draws"


def _add_band(figure: go.Figure, sizes: Sequence[int], of: Sequence[Interval], scale: float, look: Look) -> None:
    if any(one.half_width is None for one in of):
        return
    top = [scale * (one.high or 0.0) for one in of]
    bottom = [scale * (one.low or 0.0) for one in of]
    red, green, blue = (int(look.colour[place : place + 2], 16) for place in (1, 3, 5))
    figure.add_scatter(
        x=[*sizes, *reversed(sizes)], y=[*top, *reversed(bottom)], fill="toself", mode="lines", showlegend=False,
        line={"width": 0}, fillcolor=f"rgba({red},{green},{blue},0.13)", hoverinfo="skip",
    )  # fmt: skip


def _add_line(
    figure: go.Figure, sizes: Sequence[int], of: Sequence[Interval], scale: float, look: Look, label: str,
    measure: Measure,
) -> None:  # fmt: skip
    figure.add_scatter(
        x=list(sizes), y=[scale * one.mean for one in of], mode="lines+markers", name=plain(label), showlegend=True,
        line={"color": look.colour, "width": 2, "dash": look.dash},
        marker={"symbol": look.symbol, "size": 9, "color": look.colour},
        customdata=[f"{amount(nodes, 'node')}: {_said(measure, one)}" for nodes, one in zip(sizes, of, strict=True)],
        hovertemplate=f"<b>{plain(label)}</b><br>%{{customdata}}<extra></extra>",
    )  # fmt: skip


def _add_bars(
    figure: go.Figure, at: Sequence[float], of: Sequence[Interval], look: Look, label: str, said: Sequence[str]
) -> None:
    figure.add_scatter(
        x=list(at), y=[one.mean for one in of], mode="lines+markers", name=plain(label), showlegend=True,
        line={"color": look.colour, "width": 2, "dash": look.dash},
        marker={"symbol": look.symbol, "size": 9, "color": look.colour},
        error_y={"type": "data", "array": [one.half_width or 0.0 for one in of], "color": look.colour,
                 "thickness": 1.5, "width": 4},
        customdata=list(said), hovertemplate=f"<b>{plain(label)}</b><br>%{{customdata}}<extra></extra>",
    )  # fmt: skip


def _sizes_axis(figure: go.Figure, answer: PoolSizes, theme: Theme) -> None:
    """Mark the sizes that were run, and the present one."""
    first, last = answer.nodes[0], answer.nodes[-1]
    room = 0.05 * (last - first) or 0.5
    figure.update_xaxes(
        tickvals=list(answer.nodes), ticktext=[f"{nodes:,}" for nodes in answer.nodes],
        range=[first - room, last + room], zeroline=False,
    )  # fmt: skip
    if first <= answer.present <= last:
        reference_line(figure, theme, text=f"now {number(answer.present, exact=True)}", x=answer.present,
                       before=answer.present > (first + last) / 2)  # fmt: skip


def _listed(nodes: Sequence[int]) -> str:
    return ", ".join(f"{one:,}" for one in nodes)
