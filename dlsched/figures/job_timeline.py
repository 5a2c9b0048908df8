"""One job under several runs of its scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.figures.base import CLEAR, Chart, TimeAxis, framed, hatched, named_rows, plain, reference_line
from dlsched.figures.palette import Theme
from dlsched.wording.formats import amount, duration


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """What became of a job in one run: seconds it was there, seconds it held GPUs; NaN where undefined."""

    run: str
    status: str
    there_s: float
    run_s: float
    late_s: float
    cost: float
    is_this: bool = False


def job_outcomes(outcomes: Sequence[JobOutcome], due_in_s: float, theme: Theme) -> Chart:
    """Return a bar per run, time not running and time running since submission; ``due_in_s`` NaN = no due date."""
    there = np.array([outcome.there_s for outcome in outcomes])
    ran = np.minimum([outcome.run_s for outcome in outcomes], there)
    known_due = due_in_s == due_in_s and due_in_s > 0
    longest = max(float(there.max(initial=0.0)), due_in_s if known_due else 0.0)
    axis = TimeAxis.over(0.0, 1.03 * longest)
    figure = go.Figure()
    hover = [[duration(float(a)), duration(float(b))] for a, b in zip(there - ran, ran, strict=True)]
    waiting = hatched(CLEAR, "/", theme.muted) | {"line": {"color": theme.muted, "width": 1}}
    parts = (("not running", there - ran, waiting), ("running", ran, {"color": theme.marks[0]}))
    for place, (name, values, marker) in enumerate(parts):
        figure.add_bar(
            x=values / axis.unit_s,
            y=np.arange(len(outcomes)),
            orientation="h",
            width=0.62,
            name=name,
            marker=marker,
            customdata=hover,
            hovertemplate=f"%{{customdata[{place}]}} {name}<extra></extra>",
        )
    title = f"The same job under {amount(len(outcomes), 'run')}{_soonest(outcomes)}"
    height = int(np.clip(130 + 30 * len(outcomes), 190, 360))
    framed(figure, theme, title=title, x=f"Time since its submission ({axis.unit})", y="Run", height=height)
    named_rows(figure, [plain(o.run, 24) + (" (this)" if o.is_this else "") for o in outcomes])
    figure.update_yaxes(range=[len(outcomes) - 0.4, -0.9 if known_due else -0.6])
    figure.update_xaxes(**axis.look)
    figure.update_layout(barmode="stack", legend_traceorder="normal")
    if known_due:
        is_right = due_in_s > axis.to_s / 2
        text = f"due after {duration(due_in_s)}"
        reference_line(figure, theme, x=due_in_s / axis.unit_s, text=text, before=is_right, limit=True)
    words = [f"{o.run} {duration(o.there_s)}" for o in outcomes]
    table = pd.DataFrame(
        {
            "run": [outcome.run for outcome in outcomes],
            "status": [outcome.status for outcome in outcomes],
            "turnaround time, s": there,
            "not running, s": there - ran,
            "running, s": ran,
            "late by, s": [outcome.late_s for outcome in outcomes],
            "cost, $": [outcome.cost for outcome in outcomes],
        }
    )
    return Chart(figure, f"Time from submission until the job left: {', '.join(words)}.", table)


def _soonest(outcomes: Sequence[JobOutcome]) -> str:
    """Name the run under which the job was done first, where it was done and one run stands out."""
    done = sorted((o for o in outcomes if o.status == "completed"), key=lambda outcome: outcome.there_s)
    if len(done) < 2 or done[1].there_s - done[0].there_s < 1:
        return ""
    return f": done soonest under {plain(done[0].run)}"
