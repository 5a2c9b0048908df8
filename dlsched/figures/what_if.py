"""Charts of a what-if: changes against today; today (grey) and the change (blue) as distribution and over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.figures import compare
from dlsched.figures.base import Chart
from dlsched.figures.lines import add_share_line, frame_shares
from dlsched.figures.palette import BLUE, Theme
from dlsched.metrics.stats.compare import Comparison, Row
from dlsched.studies.what_if.answer import CHANGED, LEVELS_PERCENT, NOTHING, TODAY, Side, WhatIf, forest_rows
from dlsched.wording.certainty import first_words
from dlsched.wording.formats import amount, duration

Quantity = Literal["waits_s", "times_in_system_s"]
QUANTITIES: dict[Quantity, str] = {"waits_s": "Wait", "times_in_system_s": "Turnaround time"}
P95_OF: dict[Quantity, str] = {"waits_s": "wait_p95", "times_in_system_s": "jct_p95"}
"""The metric that tells the 95th percentile: a caption says the same number as the cards."""
DASH_OF = {TODAY: "dot", NOTHING: "dash", CHANGED: "solid"}


def colours(theme: Theme) -> dict[str, str]:
    """Return side -> colour: what one has steps back."""
    return {TODAY: theme.other, NOTHING: theme.other, CHANGED: theme.marks[BLUE]}


def changes(answer: WhatIf, comparison: Comparison, theme: Theme) -> Chart | None:
    """Return metric x change in % of what it is compared with; None if no metric has a baseline above 0.

    With one run the colour is free to say better or worse, as the shape does.
    """
    rows = [_change(row) for row in forest_rows(answer, comparison)]
    if not rows:
        return None
    chart = compare.forest(rows, colours(theme), theme, answer.before_name)
    colour_of = {"better": theme.better, "worse": theme.worse}
    run, dots, *verdicts = chart.figure.data
    run.showlegend = False
    dots.marker.color = [colour_of.get(row.verdict, theme.muted) for row in rows]
    dots.marker.line.color = dots.marker.color
    dots.error_x.color = theme.muted
    for mark in verdicts:
        mark.marker.color = colour_of.get(mark.name, theme.muted)
    run.legendgroup = dots.legendgroup = None  # groups stand one below the other
    chart.figure.update_layout(margin={"t": 64 if len(verdicts) < 3 else 88})
    return chart


def _change(row: Row) -> compare.Change:
    cell, before = row.of(CHANGED), row.of(TODAY).value
    assert cell.delta is not None
    assert before is not None
    mean, low, high = (100 * share for share in cell.delta.shares_of(before.value))
    return compare.Change(row.kpi.label, CHANGED, mean, low, high, cell.verdict, cell.delta_text)


def times(answer: WhatIf, quantity: Quantity, theme: Theme) -> Chart | None:
    """Return the share of jobs at or below each time in the first future, log time axis; None if no job has one."""
    sides = {name: (side, np.array(getattr(side, quantity))) for name, side in _sides(answer)}
    sides = {name: pair for name, pair in sides.items() if len(pair[1])}
    if not sides:
        return None
    figure, colour_of = go.Figure(), colours(theme)
    for name, (_, times_s) in sides.items():
        line = {"color": colour_of[name], "width": 2.5, "dash": DASH_OF[name], "shape": "vh"}
        add_share_line(figure, times_s, np.array(LEVELS_PERCENT), name, line)
    label = QUANTITIES[quantity]
    of_first = "" if answer.draws == 1 else f" ({first_words(answer.basis)})"
    frame_shares(figure, theme, label, max(float(times_s[-1]) for _, times_s in sides.values()), of_first)
    notes = []
    for name, (side, _) in sides.items():
        jobs = side.started if quantity == "waits_s" else side.completed
        notes.append(f"{name} p95 {duration(side.metrics[0].get(P95_OF[quantity]))} ({amount(jobs, 'job')})")
    table = pd.DataFrame(
        {"share of jobs, %": LEVELS_PERCENT} | {f"{name}, s": values for name, (_, values) in sides.items()}
    )
    return Chart(figure, f"{label}{of_first}: {'; '.join(notes)}.", table)


def queue(answer: WhatIf, theme: Theme) -> Chart | None:
    """Return jobs waiting over time in the first future; None if a side has no run."""
    sides = _sides(answer)
    if not all(side.queue for _, side in sides):
        return None
    frames = {name: pd.DataFrame(side.queue, columns=["time_s", "waiting"]) for name, side in sides}
    chart = compare.queues(frames, colours(theme), theme)
    for trace in chart.figure.data:
        trace.line.dash, trace.line.width = DASH_OF[trace.name], 2
    return chart


def _sides(answer: WhatIf) -> Sequence[tuple[str, Side]]:
    """Return the sides to draw, today first; without a change there is only today."""
    nothing = ((NOTHING, answer.baseline),) if answer.before_name == NOTHING else ()
    option = ((CHANGED, answer.changed),) if answer.is_changed else ()
    return ((TODAY, answer.today), *nothing, *option)
