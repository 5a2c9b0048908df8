"""Chart of a price list: what one GPU costs for an hour, on demand and on spot, against owning one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.figures.base import Chart, framed, legend_mark, named_rows, plain
from dlsched.figures.lines import add_strokes
from dlsched.figures.palette import Theme, colours
from dlsched.wording.formats import amount, cut, price
from dlsched.workload.prices.price_list import Offer, PriceList, spot_or_discounted, usd_per_gpu_h

MOST_ROWS = 40
MOST_FAMILIES = 8
ROW_PX, AROUND_PX = 24, 140
NARROW_PX, LEGEND_ENTRY_PX, LETTER_PX = 170, 44, 7
OTHER = "other GPUs"


def price_dots(prices: PriceList, theme: Theme) -> Chart | None:
    """Return the ticked types with GPUs, the cheapest on top; None when there is none.

    A dot is the on-demand price after discounts, a ring the spot price; the colour is the GPU type. Lines show what
    owning the machine of ``prices.owned`` costs at full and at present use.
    """
    table = price_table(prices)
    if table.empty:
        return None
    rows = table.head(MOST_ROWS)
    figure = go.Figure()
    has_spot = np.flatnonzero(rows["spot"].notna())
    ends = (list(zip(rows[name].iloc[has_spot], has_spot.tolist(), strict=True)) for name in ("spot", "paid"))
    add_strokes(figure, *ends, line={"color": theme.muted, "width": 2}, showlegend=False)
    named = colours([family for family in rows["family"] if family != OTHER], theme)
    others = {OTHER: theme.other} if (rows["family"] == OTHER).any() else {}
    for family, colour in {**named, **others}.items():
        mine = rows[rows["family"] == family]
        _marks(figure, mine, family, colour, theme)
    if len(has_spot):
        ring = {"symbol": "circle-open", "size": 11, "color": theme.ink, "line": {"width": 2}}
        legend_mark(figure, "ring: spot", **ring)
    left_out = f" (the cheapest {MOST_ROWS} of {len(table):,})" if len(table) > MOST_ROWS else ""
    framed(figure, theme, title=f"One GPU for an hour, by machine type{left_out}", x="Price ($ per GPU-hour)", y="",
           height=AROUND_PX + ROW_PX * max(len(rows) + 2 * (prices.owned is not None), 4))  # fmt: skip
    figure.update_layout(margin_t=40 + 30 * _legend_rows(rows))
    named_rows(figure, [plain(cut(name, 24)) for name in rows["type"]])
    dearest_spot = rows["spot"].max() if rows["spot"].notna().any() else 0.0
    largest = float(max(rows["paid"].max(), dearest_spot, *_owned_usd(prices)))
    _owned(figure, prices, largest, theme)
    figure.update_xaxes(range=[0.0, 1.18 * largest], tickprefix="$")
    shown = table.drop(columns=["family"]).rename(columns=_HEADINGS)
    return Chart(figure, _alt(table, prices), shown)


_HEADINGS = {
    "type": "type", "provider": "provider", "gpu": "GPU", "gpus": "GPUs", "paid": "on demand, $/GPU-h",
    "spot": "spot, $/GPU-h", "source": "source", "as_of": "date",
}  # fmt: skip


def price_table(prices: PriceList) -> pd.DataFrame:
    """Return the ticked types with GPUs as rows, sorted by the on-demand price of a GPU after discounts."""
    offers = sorted((offer for offer in prices.used if offer.gpus), key=lambda offer: _on_demand(offer, prices))
    gpu_types = [offer.gpu_type for offer in offers]
    # The most frequent types get a colour, ties by name.
    common = sorted(set(gpu_types), key=lambda name: (-gpu_types.count(name), name))[:MOST_FAMILIES]
    rows = [
        (offer.name, offer.provider, offer.gpu_type, offer.gpus, _on_demand(offer, prices),
         usd_per_gpu_h(offer.spot_usd_per_h, offer.gpus), offer.source,
         offer.as_of.isoformat() if offer.as_of else "no date",
         offer.gpu_type if offer.gpu_type in common else OTHER)
        for offer in offers
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=[*_HEADINGS, "family"]).astype({"paid": float, "spot": float})


def _on_demand(offer: Offer, prices: PriceList) -> float:
    off = prices.discounts.get(offer.provider, 0.0)
    return spot_or_discounted(offer.usd_per_h, None, off, use_spot=False) / offer.gpus


def _legend_rows(rows: pd.DataFrame) -> int:
    """Return how many lines the legend takes beside a table in a narrow window."""
    names = [*rows["family"].unique(), *["ring: spot"] * bool(rows["spot"].notna().any())]
    return 1 + sum(LEGEND_ENTRY_PX + LETTER_PX * len(name) for name in names) // NARROW_PX


def _marks(figure: go.Figure, mine: pd.DataFrame, family: str, colour: str, theme: Theme) -> None:
    shown = [
        [plain(row["type"], 80), plain(row["provider"] or "provider unknown"), f"{row['gpus']} x {plain(row['gpu'])}",
         plain(row["source"] or "no source given", 120), row["as_of"]]
        for row in mine.to_dict("records")
    ]  # fmt: skip
    tail = "<br>%{customdata[2]}, %{customdata[1]}<br>%{customdata[3]}, %{customdata[4]}<extra></extra>"
    figure.add_scatter(
        x=mine["paid"], y=mine.index, mode="markers+text", name=plain(family), legendgroup=family, showlegend=True,
        marker={"color": colour, "size": 12}, customdata=shown, text=[price(value, "")[:-1] for value in mine["paid"]],
        textposition="middle right", textfont={"color": theme.ink, "size": 13}, cliponaxis=False,
        hovertemplate="<b>%{customdata[0]}</b><br>on demand $%{x:.4g}/GPU-h" + tail,
    )  # fmt: skip
    spot = mine["spot"].notna()
    figure.add_scatter(
        x=mine["spot"][spot], y=mine.index[spot], mode="markers", legendgroup=family, showlegend=False,
        marker={"color": colour, "size": 11, "symbol": "circle-open", "line": {"width": 2}},
        customdata=[row for row, has in zip(shown, spot, strict=True) if has],
        hovertemplate="<b>%{customdata[0]}</b><br>spot $%{x:.4g}/GPU-h" + tail,
    )  # fmt: skip


def _owned(figure: go.Figure, prices: PriceList, largest: float, theme: Theme) -> None:
    """Draw owning as two lines, their labels in rows of their own above the types."""
    if prices.owned is None:
        return
    figure.update_yaxes(range=[figure.layout.yaxis.range[0], -2.8])
    full, present = _owned_usd(prices)
    lines = [(full, f"own, full use {price(full, '')[:-1]}")]
    if present > full:
        lines.append((present, f"own, {prices.owned.use_share * 100:g}% use {price(present, '')[:-1]}"))
    for row, (at, text) in enumerate(lines):
        figure.add_vline(x=at, line={"color": theme.ink, "dash": ("dash", "dot")[row], "width": 2}, layer="below")
        left = at > 0.55 * largest
        figure.add_annotation(
            x=at, y=-2.2 + row, text=text, showarrow=False, xanchor="right" if left else "left",
            xshift=-6 if left else 6, font={"color": theme.ink, "size": 13},
        )  # fmt: skip


def _owned_usd(prices: PriceList) -> tuple[float, float]:
    if prices.owned is None:
        return 0.0, 0.0
    return prices.owned.usd_per_gpu_h(1.0), prices.owned.usd_per_gpu_h(prices.owned.use_share)


def _alt(table: pd.DataFrame, prices: PriceList) -> str:
    first, last = table.iloc[0], table.iloc[-1]
    text = (
        f"{amount(len(table), 'machine type')} by price of a GPU on demand: from {price(first['paid'])} "
        f"({cut(first['type'])}) to {price(last['paid'])} ({cut(last['type'])})"
    )
    known = table["spot"].dropna()
    if len(known):
        text += f"; spot from {price(known.min())}, known for {len(known)}"
    if prices.owned is not None:
        full, present = _owned_usd(prices)
        text += f"; owning costs {price(full)} at full use and {price(present)} at present use"
    return text + "."
