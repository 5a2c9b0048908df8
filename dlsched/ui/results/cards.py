"""The cards of a result: four numbers that suit the data, each with its range over futures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from dlsched.metrics.kpi import KPI, KPIS, kpi_of
from dlsched.metrics.savings import gain_words
from dlsched.metrics.stats.statements import could_reach
from dlsched.ui.frame.runs_of import SeriesNumbers
from dlsched.ui.frame.text import dollars
from dlsched.wording.certainty import range_note, range_words
from dlsched.wording.counted import GPUS, Counted
from dlsched.wording.formats import capital, count, money, share

Metrics = Mapping[str, float | int | None]
STYLE = """<style>
div:has(>[data-testid=stMetricDelta]){flex-wrap:wrap}
[data-testid=stMetricDeltaDescription] .stMarkdownEllipsis{white-space:normal}
@media(max-width:1240px){[data-testid=stMetricValue]{font-size:20px}}
</style>"""
"""Differences wrap, values shrink where cards are narrow: nothing is cut off."""


def card_keys(metrics: Metrics, *, money_first: bool = False) -> list[str]:
    """Return the cards that suit the data: wait, lateness, cost and use of the GPUs.

    Without due dates utility, else slowdown; without prices what was used of what was reserved, where that is known;
    with pauses total waiting, with changed widths turnaround time. How many jobs completed is a card where not all did.
    ``money_first``: what the policy spent comes first, and its parts, where machines are rented by the policy.
    """
    if money_first and metrics.get("total_cost") is not None:
        second = "late_share" if metrics.get("late_share") is not None else "wait_p95"
        return ["total_cost", "vm_cost", second, "allocation_ratio", *_not_all(metrics)]
    wait = "not_running_p95" if metrics.get("preemptions") else "wait_p95"
    if metrics.get("other_width_share"):
        wait = "jct_mean"
    late = _first_known(metrics, "late_share", "utility_total", "slowdown_mean")
    cost = _first_known(metrics, "total_cost", "used_of_reserved")
    paid = [cost] if metrics.get(cost) is not None else []
    return [wait, late, *paid, "allocation_ratio", *_not_all(metrics)]


def _not_all(metrics: Metrics) -> list[str]:
    """Return the card of completed jobs where it says something: not all of them completed."""
    is_all = metrics.get("completed") is not None and metrics.get("completed") == metrics.get("jobs")
    return [] if is_all else ["completed"]


def _first_known(metrics: Metrics, *keys: str) -> str:
    return next((key for key in keys if metrics.get(key) is not None), keys[-1])


def card_text(key: str, metrics: Metrics, counted: Counted = GPUS) -> str:
    """Return a card's value: late jobs with their number, completed jobs out of all."""
    if key == "late_share":
        return f"{share(metrics.get(key))} ({count(metrics.get('late_jobs'))})"
    if key == "completed":
        return f"{count(metrics.get(key))} of {count(metrics.get('jobs'))}"
    return kpi_of(key, counted).show(metrics.get(key))


def card_help(key: str, metrics: Metrics, counted: Counted = GPUS) -> str:
    """Return a card's tooltip: what it is, how it is counted, and its parts."""
    hint = kpi_of(key, counted).tooltip
    if key == "total_cost":
        parts = (("machines", "vm_cost"), ("lateness", "tardiness_cost"), ("rejections", "rejection_cost"))
        costs = [f"{money(metrics[part])} {name}" for name, part in parts if metrics.get(part)]
        limit = f" {capital(gain)}." if (gain := gain_words(metrics)) else ""
        return (f"{hint} Here: {' + '.join(costs)}." if costs else hint) + limit
    if key == "completed":
        words = ("rejected", "unfinished", "cancelled", "failed")
        return f"{hint} Here: {', '.join(f'{count(metrics.get(word) or 0)} {word}' for word in words)}."
    return hint


def show(numbers: SeriesNumbers, label: str, counted: Counted, *, money_first: bool = False) -> None:
    """Show the cards of a policy: what was recorded or the mean over futures, with the range in small and grey."""
    st.html(STYLE)
    metrics, estimates = numbers.headline(label), numbers.estimates(label)
    keys = card_keys(metrics, money_first=money_first)
    for column, key in zip(st.columns(len(keys)), keys, strict=True):
        found, help_text = (
            estimates.get(key),
            dollars(card_help(key, metrics, counted) + _could_reach(numbers, label, key)),
        )
        around = "" if found is None else range_words(KPIS[key].kind, found.low, found.high)
        note = range_note(numbers.basis, numbers.count)
        delta: dict[str, Any] = {}
        if around:
            delta = {"delta": dollars(around), "delta_color": "off", "delta_arrow": "off", "delta_description": note}
        column.metric(
            kpi_of(key, counted).label, dollars(card_text(key, metrics, counted)), help=help_text, border=True,
            height="stretch", **delta,
        )  # fmt: skip


def _could_reach(numbers: SeriesNumbers, label: str, key: str) -> str:
    """Return how bad a number could get in another month; "" where nothing may be said of one."""
    futures = [future.get(key) for future in numbers.metrics[label]]
    if any(value is None for value in futures):
        return ""
    reached = could_reach(KPIS[key], [float(value or 0) for value in futures], numbers.basis)
    if reached is None:
        return ""
    return f" In another month like these it could reach {KPIS[key].show(reached)}: about 1 in 20 is worse."


def on_card(kpi: KPI) -> KPI:
    """Return how a card shows a metric: a label that says "per month" says it for the numbers too."""
    return replace(kpi, kind="usd") if kpi.kind == "usd_per_month" else kpi
