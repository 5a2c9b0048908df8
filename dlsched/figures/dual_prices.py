"""Charts of prices and admissions: prices by machine and slot, what is booked, and what a price is made of."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.domain.workload import Floats
from dlsched.figures.base import Chart, framed, hatched, named_rows, plain
from dlsched.figures.palette import BLUE, TEAL, Theme
from dlsched.studies.inspect.dual_prices.answer import SAME_PRICE, JobDecision, PricedRun, peak_of
from dlsched.wording.formats import amount, cut, small
from dlsched.wording.resources import ONE_UNIT, RESOURCE_UNITS, RESOURCE_WORDS, gang_words

ROW_PX, LEAST_ROW_PX, HEAD_PX = 18, 4, 120
TALLEST_PX = 640
MOST_ROWS, MOST_BARS = 64, 3_000
BAR_ROW_PX = 26


def unit_of(resource: str) -> str:
    """Return the unit of a price: utility per GPU and slot."""
    return f"utility per {ONE_UNIT[resource]} and slot"


def price_map(run: PricedRun, one: JobDecision, resource: int, theme: Theme) -> Chart | None:
    """Return the price of a resource on each machine in each slot as a job met it, on a log scale of colours.

    A square marks where the job is booked with all of it on one machine, a ring where it is spread. Grey: the machine
    has none of the resource, or the job may not run there. None if the prices are not kept.
    """
    given = run.prices_at(one)
    if given is None:
        return None
    prices = given[:, :, resource].T  # (H, S)
    slots = one.first + np.arange(prices.shape[1])
    most = float(np.nanmax(prices, initial=0.0))
    figure = go.Figure()
    name = run.resources[resource]
    _cells(figure, prices, slots, most, name, theme)
    _where(figure, one, theme)
    word = RESOURCE_WORDS[name]
    title = f"Price of {word} by machine and slot, {unit_of(name)} (log)"
    rows = len(prices)
    height = HEAD_PX + max(120, min(ROW_PX * rows, max(TALLEST_PX - HEAD_PX, LEAST_ROW_PX * rows)))
    framed(figure, theme, title=title, x=f"Slot, 1 = {FIRST}", y="Machine", height=height)
    ticks = np.unique(np.linspace(0, rows - 1, min(rows, 12)).astype(int)).tolist()
    figure.update_xaxes(range=[slots[0] - 0.5, slots[-1] + 0.5], showgrid=False, zeroline=False, tickformat=",d",
                        **_whole_ticks(len(slots)))  # fmt: skip
    figure.update_yaxes(range=[rows - 0.5, -0.5], showgrid=False, zeroline=False, tickvals=ticks,
                        ticktext=[f"n{row}" for row in ticks])  # fmt: skip
    figure.update_layout(legend_itemclick=False, legend_itemdoubleclick=False)
    return Chart(figure, _map_words(run, one, prices, slots, name), map_table(run, one))


def _whole_ticks(slots: int) -> dict[str, int]:
    """Return a step between ticks in whole slots where there are few; else Plotly's own is whole."""
    return {"dtick": 1} if slots <= 10 else {}


FIRST = "that of the first decision"
SMALL_AT = -3.0
"""Power of ten of the lowest price that has a colour of its own."""


def _cells(figure: go.Figure, prices: Floats, slots: np.ndarray, most: float, name: str, theme: Theme) -> None:
    hover = [
        [
            f"machine n{machine}, slot {slot:,}<br>"
            + (f"{small(price)} {unit_of(name)}" if np.isfinite(price) else "not for this job")
            for slot, price in zip(slots.tolist(), of_machine, strict=True)
        ]
        for machine, of_machine in enumerate(prices.tolist())
    ]
    figure.add_heatmap(
        x=slots, y=np.arange(len(prices)), z=np.where(np.isfinite(prices), np.nan, 0.0), zmin=0, zmax=1,
        hoverinfo="skip", colorscale=[[0, theme.faded], [1, theme.faded]], showscale=False, hoverongaps=False,
    )  # fmt: skip
    if most <= 0:
        return
    low = float(prices[prices > 0].min())
    top = float(np.log10(most))
    bottom = max(float(np.log10(low)), min(SMALL_AT, top))  # what is next to nothing is one colour
    ticks = np.linspace(bottom, top, 4 if top - bottom > 0.01 else 1)
    words = [small(10.0**tick) for tick in ticks.tolist()]
    figure.add_heatmap(
        x=slots, y=np.arange(len(prices)), z=np.maximum(np.log10(np.maximum(prices, low)), bottom), zmin=bottom,
        zmax=max(top, bottom + 1e-9),
        colorscale=[[0, theme.card], [0.5, theme.tint], [1, theme.marks[BLUE]]], text=hover,
        hovertemplate="%{text}<extra></extra>", hoverongaps=False,
        colorbar={"tickvals": ticks, "ticktext": words, "thickness": 12, "outlinewidth": 0, "len": 1.0,
                  "tickfont": {"size": 12, "color": theme.muted}},
    )  # fmt: skip


def _where(figure: go.Figure, one: JobDecision, theme: Theme) -> None:
    """Mark the cells in which the job is booked."""
    for name, symbol, alone in (("on one machine", "square", True), ("spread over machines", "circle-open", False)):
        cells = [booked for booked in one.bookings if (one.machines_at[booked.slot] == 1) is alone]
        if cells:
            figure.add_scatter(
                x=[booked.slot for booked in cells], y=[booked.machine for booked in cells], mode="markers",
                name=f"{plain(one.job, 20)}, {name}", showlegend=True, hoverinfo="skip",
                marker={"symbol": symbol, "size": 7, "color": theme.ink},
                marker_line={"width": 1.6, "color": theme.ink},
            )  # fmt: skip


def _map_words(run: PricedRun, one: JobDecision, prices: Floats, slots: np.ndarray, name: str) -> str:
    if not np.isfinite(prices).any():
        return f"No machine has {RESOURCE_WORDS[name]} for {cut(one.job)}."
    slot, machine = peak_of(prices.T)
    low, high = float(np.nanmin(prices)), float(prices[machine, slot])
    range_of = f"from {small(low)} to {small(high)}, the most on machine n{machine} in slot {int(slots[slot]):,}"
    if high <= low * (1 + SAME_PRICE):
        range_of = f"{small(high)} everywhere"
    return (
        f"When {cut(one.job)} was decided about, one {ONE_UNIT[name]} for a slot cost {range_of}, over "
        f"{amount(len(prices), 'machine')} and {amount(len(slots), 'slot')}."
    )


def map_table(run: PricedRun, one: JobDecision) -> pd.DataFrame:
    """Return the prices of every resource as a job met them, one row for each machine and slot."""
    given = run.prices_at(one)
    if given is None:
        return pd.DataFrame()
    slots, machines, _ = given.shape
    columns = {f"{RESOURCE_UNITS[name]} ({unit_of(name)})": given[:, :, place].T.ravel()
               for place, name in enumerate(run.resources)}  # fmt: skip
    at = {"machine": np.repeat(np.arange(machines), slots), "slot": np.tile(one.first + np.arange(slots), machines)}
    return pd.DataFrame(at | columns)


# ---- what is booked -----------------------------------------------------------------------------------------


class BookedStay(NamedTuple):
    """A job's unbroken stay on a machine with equal numbers: slots ``first`` to ``last``, on a lane of the machine."""

    machine: int
    first: int
    last: int
    job: str
    row: int
    workers: int
    servers: int
    together: bool
    lane: int


def bars_of(run: PricedRun) -> list[BookedStay]:
    """Return all bookings as bars by machine and slot; on each machine the lowest lane that is free."""
    stays: list[BookedStay] = []
    pairs = sorted(run.standing(), key=lambda pair: (pair[1].machine, pair[0].row, pair[1].slot))
    for one, booked in pairs:
        together = one.machines_at[booked.slot] == 1
        bar = BookedStay(
            booked.machine, booked.slot, booked.slot, one.job, one.row, booked.workers, booked.servers, together, 0
        )
        if (
            stays
            and stays[-1].last + 1 == bar.first
            and stays[-1]._replace(first=0, last=0) == bar._replace(first=0, last=0)
        ):
            bar = stays.pop()._replace(last=bar.last)
        stays.append(bar)
    laid: list[BookedStay] = []
    for _, of_machine in groupby(sorted(stays, key=lambda bar: (bar.machine, bar.first, bar.row)), lambda b: b.machine):
        until: list[int] = []
        for bar in of_machine:
            lane = next((place for place, last in enumerate(until) if last < bar.first), len(until))
            until[lane:] = [bar.last, *until[lane + 1 :]]
            laid.append(bar._replace(lane=lane))
    return laid


def bookings_chart(run: PricedRun, row: int, theme: Theme) -> Chart | None:
    """Return what is booked on each machine: filled = all of the job on that machine, outlined = spread over several.

    The job of ``row`` is orange. With more machines or bars than can be drawn, those of that job come first, then those
    with most bars. None if nothing is booked.
    """
    bars = bars_of(run)
    if not bars:
        return None
    shown = _machines(bars, row)
    place = {machine: at for at, machine in enumerate(shown)}
    drawn = [bar for bar in bars if bar.machine in place]
    figure = go.Figure()
    lanes = {machine: 1 + max(bar.lane for bar in drawn if bar.machine == machine) for machine in shown}
    for name, mine, together in (
        ("on one machine", False, True), ("spread over machines", False, False),
        ("this job, on one machine", True, True), ("this job, spread", True, False),
    ):  # fmt: skip
        some = [bar for bar in drawn if (bar.row == row) is mine and bar.together is together]
        if some:
            colour = theme.marks[TEAL if mine else BLUE]
            _bars(figure, some, place, lanes, name, colour, theme)
    jobs = len({bar.row for bar in bars})
    left = len({bar.machine for bar in bars}) - len(shown)
    title = f"Booked: {amount(jobs, 'job')}" + (f" ({left:,} more machines not shown)" if left else "")
    framed(figure, theme, title=title, x=f"Slot, 1 = {FIRST}", y="",
           height=HEAD_PX + BAR_ROW_PX * max(len(shown), 4))  # fmt: skip
    named_rows(figure, [f"n{machine}" for machine in shown])
    first, last = min(bar.first for bar in drawn), max(bar.last for bar in drawn)
    figure.update_xaxes(range=[first - 0.6, last + 0.6], tickformat=",d", zeroline=False,
                        **_whole_ticks(last - first + 1))  # fmt: skip
    figure.update_layout(barmode="overlay", bargap=0)
    spread = sum(not bar.together for bar in bars)
    alt = (
        f"{amount(jobs, 'job')} booked on {amount(len(shown) + left, 'machine')} in slots {first:,} to {last:,}: "
        f"{amount(len(bars) - spread, 'stay')} with all of the job on one machine, {spread:,} as part of a job that is "
        "spread."
    )
    table = pd.DataFrame(bars, columns=BookedStay._fields).drop(columns=["lane", "row"])
    return Chart(figure, alt, table.rename(columns={"first": "first slot", "last": "last slot"}))


def _machines(bars: Sequence[BookedStay], row: int) -> list[int]:
    counts: dict[int, list[int]] = {}
    for bar in bars:
        mine, every = counts.setdefault(bar.machine, [0, 0])
        counts[bar.machine] = [mine + (bar.row == row), every + 1]
    kept: list[int] = []
    drawn = 0
    for machine in sorted(counts, key=lambda place: (counts[place][0] == 0, -counts[place][1], place)):
        drawn += counts[machine][1]
        if len(kept) == MOST_ROWS or (kept and drawn > MOST_BARS):
            break
        kept.append(machine)
    return sorted(kept)


def _bars(
    figure: go.Figure, bars: Sequence[BookedStay], place: dict[int, int], lanes: dict[int, int], name: str, colour: str,
    theme: Theme,
) -> None:  # fmt: skip
    together = bars[0].together
    each = [0.86 / lanes[bar.machine] for bar in bars]
    middles = [
        place[bar.machine] - 0.43 + (bar.lane + 0.5) * width for bar, width in zip(bars, each, strict=True)
    ]  # fmt: skip
    told = [
        f"{plain(bar.job)}: {gang_words(bar.workers, bar.servers)} on n{bar.machine}<br>"
        + (f"slot {bar.first:,}" if bar.first == bar.last else f"slots {bar.first:,} to {bar.last:,}")
        for bar in bars
    ]
    edge = {"color": theme.ground, "width": 1} if together else {"color": colour, "width": 1.5}
    figure.add_bar(
        x=[bar.last - bar.first + 0.9 for bar in bars], base=[bar.first - 0.45 for bar in bars], y=middles,
        width=[0.9 * width for width in each], orientation="h", name=name, showlegend=True, customdata=told,
        marker=hatched(colour, "" if together else "/", theme.ground) | {"line": edge},
        hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip


# ---- what a price is made of --------------------------------------------------------------------------------


def price_parts(run: PricedRun, one: JobDecision, theme: Theme) -> Chart | None:
    """Return the price of a job's best schedule by resource, as bars; None if it has no schedule."""
    if one.best is None:
        return None
    names = [RESOURCE_WORDS[name] for name in run.resources]
    paid = np.array(one.paid)
    figure = go.Figure()
    figure.add_bar(
        x=paid, y=np.arange(len(paid)), orientation="h", width=0.6, showlegend=False,
        marker={"color": theme.marks[BLUE]}, text=[small(part) for part in one.paid], textposition="auto",
        customdata=names, hovertemplate="%{customdata}: %{text}<extra></extra>",
    )  # fmt: skip
    title = f"Price {small(one.best.price)}, by resource"
    framed(figure, theme, title=title, x="Price (utility)", y="", height=70 + 34 * max(len(names), 2) + 40)
    named_rows(figure, [f"{name[:1].upper()}{name[1:]}" for name in names])
    figure.update_xaxes(range=[0, 1.15 * float(paid.max(initial=0.0)) or 1.0], exponentformat="power", nticks=5)
    told = ", ".join(f"{name} {small(part)}" for name, part in zip(names, one.paid, strict=True))
    alt = f"The cheapest schedule of {cut(one.job)} costs {small(one.best.price)}: {told}."
    return Chart(figure, alt, pd.DataFrame({"resource": names, "price (utility)": paid}))
