"""Compare runs: table with deltas and best marked, differences, distributions, over time, who wins, what differs."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from dlsched.figures import compare as figures
from dlsched.figures.palette import policy_colour
from dlsched.metrics.compare import Comparison, what_differs
from dlsched.metrics.kpi import KPIS
from dlsched.ui import charts, loaders
from dlsched.ui.runs_of import Series
from dlsched.ui.text import safe

FOREST = (
    "wait_p95",
    "wait_mean",
    "jct_mean",
    "slowdown_mean",
    "late_share",
    "cost_month",
    "total_cost",
    "allocation_ratio",
)
TABLE_ROWS = (
    "completed", "rejected", "unfinished", "wait_p95", "wait_p50", "jct_mean", "slowdown_mean", "late_share", "tardiness_cost",
    "utility_total", "vm_cost", "cost_month", "total_cost", "idle_cost", "allocation_ratio", "goodput", "preemptions",
)  # fmt: skip
LEAST_GROUP = 5


def colours_of(chosen: list[Series]) -> dict[str, str]:
    """Return label -> colour; a policy keeps its colour on all pages."""
    theme = charts.page_theme()
    used: dict[str, str] = {}
    for series in chosen:
        colour = policy_colour(series.policy, theme)
        free = [mark for mark in theme.marks if mark not in used.values()]
        used[series.label] = colour if colour not in used.values() or not free else free[0]
    return used


def table(comparison: Comparison) -> None:
    """Show metric x run: the baseline's value, and the difference of each other run with its interval and word."""
    rows = []
    for key in TABLE_ROWS:
        row = comparison.row(key)
        if row is None:
            continue
        shown: dict[str, Any] = {"Number": row.kpi.label}
        for cell in row.cells:
            star = " ★" if cell.best else ""
            name = f"{cell.name} (B)" if cell.name == comparison.baseline else cell.name
            shown[name] = (
                f"{cell.text}{star}" if cell.name == comparison.baseline else f"{cell.delta_text or cell.text}{star}"
            )
        rows.append(shown | {"Better": row.kpi.better})
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="compare-table", height=36 * len(rows) + 40,
                 alt="Metrics by run; differences from the baseline")  # fmt: skip
    st.markdown(
        f":gray[(B) is the baseline; the others show the difference from it. ★ is the best of its row; a star is shared "
        f"where the draws do not tell runs apart. {'Exact: nothing is random.' if comparison.exact else f'{comparison.draws} draws.'}]"
    )


def differences(comparison: Comparison, chosen: list[Series]) -> None:
    """Show the forest chart."""
    base = comparison.baseline
    changes = []
    for key in FOREST:
        row = comparison.row(key)
        before = row.of(base).value.mean if row and row.of(base).value else None  # type: ignore[union-attr]
        if row is None or not before:
            continue
        for cell in row.cells:
            if cell.name == base or cell.delta is None or cell.delta.mean is None:
                continue
            low = cell.delta.mean if cell.delta.low is None else cell.delta.low
            high = cell.delta.mean if cell.delta.high is None else cell.delta.high
            percent = [100 * value / abs(before) for value in (cell.delta.mean, low, high)]
            changes.append(
                figures.Change(
                    row.kpi.label, cell.name, percent[0], percent[1], percent[2], cell.verdict, cell.delta_text
                )
            )
    if not changes:
        st.info("The runs do not differ in these numbers.")
        return
    charts.show(figures.forest(changes, colours_of(chosen), charts.page_theme(), base), "forest")


def distributions(chosen: list[Series]) -> None:
    """Show the distribution of wait, time in system or slowdown over jobs."""
    quantity = st.segmented_control(
        "Quantity", ["wait_s", "jct_s"], default="wait_s", required=True, key="ecdf-quantity",
        format_func=lambda name: {"wait_s": "Wait", "jct_s": "Time in system"}[name],
    )  # fmt: skip
    values = {series.label: loaders.jobs(series.run_ids[0])[quantity].to_numpy(float) for series in chosen}
    label = "Wait" if quantity == "wait_s" else "Time in system"
    charts.show(
        figures.ecdf(values, colours_of(chosen), charts.page_theme(), quantity=label), f"ecdf-{quantity}", caption=True
    )
    _first_draw(chosen)


def over_time(chosen: list[Series]) -> None:
    """Show the queue of each run over time."""
    series = {one.label: loaders.series(one.run_ids[0]) for one in chosen}
    charts.show(figures.queues(series, colours_of(chosen), charts.page_theme()), "queues", caption=True)
    _first_draw(chosen)


def _first_draw(chosen: list[Series]) -> None:
    if any(len(series.seeds) > 1 for series in chosen):
        st.markdown(":gray[Drawn from the first draw of each run; the table above uses all of them.]")


def who_wins(chosen: list[Series], base: Series) -> None:
    """Show which users gain and lose."""
    others = [series for series in chosen if series != base]
    name = st.selectbox("Run", [series.label for series in others], key="wins-run")
    other = next(series for series in others if series.label == name)
    before, after = loaders.jobs(base.run_ids[0]), loaders.jobs(other.run_ids[0])
    groups = [c for c in ("user", "group", "job_class") if c in before and before[c].fillna("").astype(bool).any()]
    if not groups:
        st.info("The jobs name no user, group or class.")
        return
    by = st.segmented_control("Group by", groups, default=groups[0], required=True, key="wins-by",
                              format_func=lambda g: g.replace("_", " "))  # fmt: skip
    hide = st.checkbox("Show names as A, B, C", key="wins-hide")
    joined = (
        before[["job_id", by, "wait_s"]].merge(after[["job_id", "wait_s"]], on="job_id", suffixes=("_b", "_a")).dropna()
    )
    change = (joined["wait_s_a"] - joined["wait_s_b"]).groupby(joined[by].fillna("")).agg(["mean", "size"])
    small = change["size"] < LEAST_GROUP
    if small.any():
        folded = joined[joined[by].isin(change.index[small])]
        change = change[~small]
        change.loc[f"{int(small.sum())} small groups"] = [(folded["wait_s_a"] - folded["wait_s_b"]).mean(), len(folded)]
    if hide:
        change.index = pd.Index([_letters(place) for place in range(len(change))])
    chart = figures.who_wins(
        change["mean"], change["size"], charts.page_theme(), quantity="wait", baseline=base.label, run=other.label
    )
    charts.show(chart, f"wins-{by}", caption=True)


def _letters(place: int) -> str:
    return (chr(64 + place // 26) if place >= 26 else "") + chr(65 + place % 26)


def settings_that_differ(chosen: list[Series]) -> None:
    """Show only parameters and scenario settings in which the runs differ."""
    settings = {}
    for series in chosen:
        info, scenario = loaders.info(series.run_ids[0]), loaders.scenario_of(series.run_ids[0])
        settings[series.label] = {
            "policy": info.policy, "parameters": info.params, "options": scenario.options.model_dump(mode="json"),
            "speed": scenario.speed.model_dump(mode="json"), "cluster": {"nodes": scenario.cluster.num_nodes,
            "gpus": scenario.cluster.num_gpus, "usd_per_h": scenario.cluster.usd_per_h}, "seeds": len(series.seeds),
            "code": info.code_version,
        }  # fmt: skip
    rows = what_differs(settings)
    st.dataframe(pd.DataFrame(rows).astype(str), hide_index=True, key="differs")


def common_only(comparison_of: dict[str, dict[str, Any]], common: int, baseline: str) -> None:
    """Show means over the jobs that all runs completed."""
    st.markdown(f"**Over the {common:,} jobs that all runs completed**")
    keys = [key for key in KPIS if any(key in metrics for metrics in comparison_of.values())]
    rows = [
        {"Number": KPIS[key].label, **{f"{safe(n)}{' (B)' if n == baseline else ''}": KPIS[key].show(m.get(key)) for n, m in comparison_of.items()}}
        for key in keys
    ]  # fmt: skip
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="common-table")
