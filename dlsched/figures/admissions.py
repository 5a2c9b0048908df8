"""Charts of admissions: what is used and reserved of each resource, and which jobs were admitted over the run."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.figures.base import Chart, TimeAxis, column, framed, hatched, reference_line, top_of
from dlsched.figures.palette import BLUE, PINK, TEAL, Theme
from dlsched.metrics.step_functions import thin
from dlsched.studies.inspect.admissions.answer import Admission
from dlsched.wording.clock import DAYS, Clock
from dlsched.wording.formats import amount, number, small
from dlsched.wording.resources import ONE_UNIT, RESOURCE_UNITS, RESOURCE_WORDS

ROW_PX, HEAD_PX = 64, 104
WIDE, NARROW = 0.42, 0.16
LABEL_AT = 0.24
"""Middle of a row to the text above its bars."""
MOST_POINTS = 600
MOST_MARKS = 120
"""With more intervals, marks would run into each other."""
OUTCOMES = {"admitted": "admitted", "waiting": "carried over", "rejected": "rejected"}
"""What is said of jobs at an interval -> column of the counts."""


def room_chart(one: Admission, theme: Theme) -> Chart:
    """Return bars of each resource after an interval: used within reserved within capacity, as shares of capacity.

    What jobs that ran before reserve is hatched. Above each bar the amounts with their units, and what one more unit is
    worth in the linear relaxation.
    """
    table = room_table(one)
    capacity = np.array(one.capacity)
    used, reserved = one.after()
    before, rows = np.array(one.reserved), np.arange(len(one.resources))
    figure = go.Figure()
    bars = (
        ("available", np.full(len(rows), 1.0), np.zeros(len(rows)), WIDE, {"color": theme.grid}),
        ("reserved before", before / capacity, np.zeros(len(rows)), WIDE, hatched(theme.tint, "/", theme.ink)),
        ("reserved now", (reserved - before) / capacity, before / capacity, WIDE, {"color": theme.tint}),
        ("used", used / capacity, np.zeros(len(rows)), NARROW, {"color": theme.better}),
    )
    for name, length, base, width, marker in bars:
        figure.add_bar(
            x=100 * length, base=100 * base, y=rows, width=width, orientation="h", name=name, showlegend=True,
            marker=marker, customdata=[RESOURCE_WORDS[resource] for resource in one.resources],
            hovertemplate=f"%{{customdata}}, {name}: %{{x:.3g}}%<extra></extra>" if name != "reserved now" else None,
            hoverinfo="skip" if name == "reserved now" else None,
        )  # fmt: skip
    figure.add_scatter(
        x=np.zeros(len(rows)), y=rows - LABEL_AT, mode="text", text=[_label(one, place) for place in rows.tolist()],
        textposition="top right", textfont={"color": theme.ink, "size": 13}, showlegend=False, hoverinfo="skip",
    )  # fmt: skip
    framed(figure, theme, title=_title(one), x="Share of what the nodes that are up have (%)", y="",
           height=HEAD_PX + ROW_PX * max(len(rows), 1))  # fmt: skip
    figure.update_layout(barmode="overlay", legend_traceorder="normal")
    most = max(1.0, float((reserved / capacity).max(initial=0.0)))
    figure.update_xaxes(range=[0, 101 * most], zeroline=False)
    figure.update_yaxes(range=[len(rows) - 0.55, -0.85], showticklabels=False, showgrid=False, zeroline=False)
    said = "; ".join(_label(one, place) for place in rows.tolist())
    return Chart(figure, f"{said}." if said else "The nodes state no resource.", table)


def room_table(one: Admission) -> pd.DataFrame:
    """Return the numbers of :func:`room_chart`."""
    used, reserved = one.after()
    return pd.DataFrame(
        {
            "resource": [RESOURCE_UNITS[resource] for resource in one.resources],
            "used": used,
            "reserved before": one.reserved,
            "reserved": reserved,
            "available": one.capacity,
            "one more is worth (linear relaxation)": one.price,
        }
    )


def _label(one: Admission, place: int) -> str:
    used, reserved = one.after()
    resource = one.resources[place]
    amounts = f"{number(used[place])} used, {number(reserved[place])} reserved of {number(one.capacity[place])}"
    unit, word = RESOURCE_UNITS[resource], RESOURCE_WORDS[resource]
    named = f"{unit}: {amounts}" if unit == word else f"{word.capitalize()} (GiB): {amounts}"
    return f"{named} · one more {ONE_UNIT[resource]} is worth {small(one.price[place])}"


def _title(one: Admission) -> str:
    place = one.scarcest()
    if place is None:
        return "More capacity would not be worth anything now" if one.value is not None else "What jobs use and reserve"
    word = RESOURCE_WORDS[one.resources[place]]
    return f"{word[:1].upper()}{word[1:]} {'are' if word.endswith('s') else 'is'} the scarcest"


def over_run(counts: pd.DataFrame, chosen: int, theme: Theme, clock: Clock = DAYS) -> Chart:
    """Return how many jobs were admitted, waited and were rejected at each interval; ``chosen`` is a number of one.

    ``counts`` as metrics.admissions.counts_of, at least one row; marks carry the number of their interval.
    """
    times = column(counts, "time_s")
    values = {name: column(counts, key) for name, key in OUTCOMES.items()}
    begin, end = float(times[0]), float(times[-1])
    room = 0.02 * max(end - begin, 1.0)
    axis = TimeAxis.over(begin - room, end + room, clock)
    shown = thin(times, list(values.values()), MOST_POINTS)
    figure = go.Figure()
    looks = (("circle", "solid", BLUE), ("diamond", "dash", PINK), ("x", "dot", TEAL))
    for (name, of), (symbol, dash, place) in zip(values.items(), looks, strict=True):
        figure.add_scatter(
            x=axis.at(times[shown]), y=of[shown], name=name, customdata=counts["number"].to_numpy()[shown],
            mode="lines+markers" if len(shown) <= MOST_MARKS else "lines",
            line={"color": theme.marks[place], "dash": dash, "width": 2}, marker={"symbol": symbol, "size": 9},
            hovertemplate=f"interval %{{customdata}}: %{{y:,}} {name}<extra></extra>",
        )  # fmt: skip
    totals = {name: int(of.sum()) for name, of in values.items()}
    in_all = f"in {amount(len(counts), 'interval')}"
    title = f"{amount(totals['admitted'], 'job')} admitted, {totals['rejected']:,} rejected {in_all}"
    framed(figure, theme, title=title, x=axis, y="Jobs")
    highest = top_of(np.concatenate(list(values.values())), room=0.2)[1]
    figure.update_yaxes(range=[-0.04 * highest, highest])  # marks at 0 are seen whole
    at_s = float(times[chosen - 1])
    reference_line(figure, theme, text="this interval", x=axis.place(at_s), before=at_s > (begin + end) / 2)
    most = int(counts["carried over"].to_numpy().argmax())
    alt = (
        f"Over {amount(len(counts), 'interval')}: {amount(totals['admitted'], 'job')} admitted, "
        f"{totals['rejected']:,} rejected; most waiting at interval {int(counts['number'].iloc[most]):,}: "
        f"{int(values['waiting'][most]):,}."
    )
    table = counts.assign(**{axis.column: axis.at(times)}).drop(columns="time_s")
    return Chart(figure, alt, table)
