"""What moves the answer most: each thing that is varied by itself, against the scenario as it is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.figures.base import CLEAR, Chart, framed, hatched, legend_mark, named_rows, plain
from dlsched.figures.lines import bars
from dlsched.figures.palette import Theme
from dlsched.figures.sweep import scale_of
from dlsched.metrics.kpi import KPI
from dlsched.metrics.stats.compare import told
from dlsched.metrics.stats.statements import Change
from dlsched.studies.design.measures import MEASURES
from dlsched.studies.sweep.answer import Sweep, swings, value_at
from dlsched.studies.sweep.words import UNCLEAR, certainty, situation_words, value_words


def tornado(sweep: Sweep, policy: str, metric: str, theme: Theme) -> Chart | None:
    """Return what each thing does by itself against the scenario as it is, the largest first; None without numbers.

    Blue = better, orange and hatched = worse, outline only = not clear. Ends carry their values.
    """
    kpi, moves, base = MEASURES[metric], swings(sweep, policy, metric), value_at(sweep, 0, policy, metric)
    if not moves or base is None:
        return None
    scale = scale_of(kpi, [change.value for move in moves for _, change in move.ends])
    figure, rows = go.Figure(), []
    seen: set[str] = set()
    for row, move in enumerate(moves):
        one_sided = len(move.ends) == 2 and move.ends[0][1].value * move.ends[1][1].value > 0
        for place, (at, change) in enumerate(move.ends):
            verdict = change.verdict
            axis, value = sweep.axes[move.axis], sweep.points[at][move.axis]
            assert value is not None
            seen.add(verdict)
            words = told(kpi, change).text
            at_x, (below, above) = scale.factor * change.value, _reach(change, scale.factor)
            y = row + (0.2 * (2 * place - 1) if one_sided else 0.0)
            figure.add_bar(
                x=[at_x], y=[y], orientation="h", showlegend=False, width=0.36 if one_sided else 0.62,
                marker=_bar_look(verdict, change, kpi, theme),
                customdata=[[at, f"{plain(situation_words(axis, value))}: {words}"]],
                hovertemplate="%{customdata[1]}<extra></extra>",
                error_x=bars([above], [below], color=theme.ink, width=5),
            )  # fmt: skip
            figure.add_annotation(
                x=at_x + (above if at_x >= 0 else -below), y=y, text=plain(value_words(axis, value), 24),
                showarrow=False,
                xanchor="left" if at_x >= 0 else "right", xshift=6 if at_x >= 0 else -6,
                font={"color": theme.ink, "size": 13},
            )  # fmt: skip
            rows.append({
                "what": axis.label, "value": value_words(axis, value), "change": words, "verdict": verdict,
                metric: change.value, "range from": change.low, "range to": change.high,
            })  # fmt: skip
    _tornado_legend(figure, seen, theme)
    now, label = kpi.show(base.value), plain(sweep.labels[policy])
    framed(figure, theme, title=f"{kpi.label} of {label}: change from {now} as it is, {certainty(sweep)}",
           x=f"Change of {scale.title}", y="What is varied by itself",
           height=int(np.clip(140 + 46 * len(moves), 240, 680)))  # fmt: skip
    named_rows(figure, [plain(sweep.axes[move.axis].label, 28) for move in moves])
    figure.update_layout(barmode="overlay")
    reach = [scale.factor * abs(of.value) + max(_reach(of, scale.factor)) for move in moves for _, of in move.ends]
    edge = 1.3 * max(reach) or 1.0
    figure.update_xaxes(range=[-edge, edge], tickprefix=scale.prefix, separatethousands=True)
    figure.add_vline(x=0, line={"color": theme.muted, "width": 1.5})
    words_of_rows = "; ".join(f"{one['what']} {one['value']}: {one['change']}" for one in rows[:8])
    return Chart(figure, f"{kpi.label} of {sweep.labels[policy]}, {now} as it is. {words_of_rows}.", pd.DataFrame(rows))


def _reach(change: Change, factor: float) -> tuple[float, float]:
    """Return how far the range of a change reaches below and above it, times a factor; 0 where it does not."""
    low, high = (change.value if end is None else end for end in (change.low, change.high))
    return factor * max(change.value - low, 0.0), factor * max(high - change.value, 0.0)


def _bar_look(verdict: str, change: Change, kpi: KPI, theme: Theme) -> dict[str, object]:
    is_gain = (change.value < 0) == (kpi.better == "lower")
    colour, shape = (theme.better, "") if is_gain else (theme.worse, "/")
    if verdict in (*UNCLEAR, "same"):
        return {**hatched(CLEAR, "", theme.ink), "line": {"color": colour, "width": 2}}
    return hatched(colour, shape, theme.ink)


def _tornado_legend(figure: go.Figure, seen: set[str], theme: Theme) -> None:
    if seen & {"better", "likely better"}:
        legend_mark(figure, "better", symbol="square", size=11, color=theme.better)
    if seen & {"worse", "likely worse"}:
        legend_mark(figure, "worse (hatched)", symbol="square", size=11, color=theme.worse)
    if hollow := [word for word in (*UNCLEAR, "same") if word in seen]:
        words = {"rough": "rough, too few futures", "mixed": "not as in the recorded month"}
        name = " or ".join(words.get(word, word) for word in hollow)
        legend_mark(figure, name, symbol="square-open", size=11, color=theme.muted)
