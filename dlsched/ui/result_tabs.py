"""The tabs Overview, Cost and Numbers of a result."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial

import pandas as pd
import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.figures import gantt, result
from dlsched.metrics.formats import count, money
from dlsched.metrics.kpi import KPIS
from dlsched.ui import charts, loaders, session
from dlsched.ui.result_gantt import boxed, raster_of, whole_of
from dlsched.ui.window import show as show_window


def overview_tab(run_id: str, scenario: Scenario) -> None:
    """Show who holds the nodes, and GPUs and queue over time."""
    whole = whole_of(run_id, scenario)
    raster = raster_of(run_id, scenario, whole)
    held = loaders.metrics(run_id).get("allocation_ratio")
    alt = f"{len(raster.row_labels)} rows of nodes over the whole run; {KPIS['allocation_ratio'].show(held)} of the GPU time held."
    box = charts.show(gantt.overview(raster, charts.page_theme(), alt=alt), f"overview-{run_id}", select=True)
    if box and box.get("x") and box.get("y"):
        show_window(run_id, boxed(box, raster, whole), whole)
        st.session_state["open_tab"] = "Gantt"
        st.rerun()
    charts.show(result.held_and_queue(loaders.series(run_id), charts.page_theme()), f"held-{run_id}", caption=True)
    series = loaders.series(run_id)
    columns = [
        name for name in result.CUMULATED if name in series and series[name].notna().any() and series[name].max() > 0
    ]
    if columns:
        labels = {name: result.CUMULATED[name][1] for name in columns}
        chosen = st.segmented_control(
            "Also over time",
            columns,
            format_func=lambda name: labels[name],
            default=columns[0],
            required=True,
            key="over-time",
        )
        charts.show(result.over_time(series, str(chosen), charts.page_theme()), f"over-{run_id}-{chosen}")


def cost_tab(run_id: str, scenario: Scenario) -> None:
    """Show where the money went: parts, VM types, users, late jobs."""
    metrics = loaders.metrics(run_id)
    if metrics.get("vm_cost") is None:
        st.info("No price is set for this cluster, so there is no cost. Set prices on the page Cluster and run again.")
        return
    theme = charts.page_theme()
    charts.show(result.cost_waterfall(cost_parts(metrics), theme), f"waterfall-{run_id}", caption=True)
    nodes, jobs = session.store().nodes(run_id), loaders.jobs(run_id)
    left, right = st.columns(2)
    with left:
        by_type = nodes.groupby("vm_type")["cost"].sum()
        title = "Machine cost by VM type"
        charts.show(
            result.group_bars(by_type, theme, title=title, x="Cost ($)", y="VM type", unit="$"), f"by-type-{run_id}"
        )
    with right:
        who = next(
            (name for name in ("user", "group", "job_class") if name in jobs and jobs[name].astype(bool).any()), None
        )
        if who:
            by_user = jobs.groupby(who)["cost"].sum()
            title = f"Machine cost by {who.replace('_', ' ')}, top 10 of {count(len(by_user))}"
            chart = result.group_bars(
                by_user, theme, title=title, x="Cost ($)", y=who.replace("_", " ").capitalize(), unit="$"
            )
            charts.show(chart, f"by-user-{run_id}")
    late = jobs[jobs["tardiness_s"] > 0]
    if len(late):
        st.subheader(f"Late jobs, dearest first: {count(len(late))}", anchor=False)
        by = "tardiness_usd" if late["tardiness_usd"].notna().any() else "tardiness_s"
        top = late.sort_values(by, ascending=False).head(200)
        view = pd.DataFrame(
            {
                "Job": top["job_id"],
                "Late by (h)": top["tardiness_s"] / 3600,
                "Cost of lateness ($)": top["tardiness_usd"],
            }
        )
        st.dataframe(view, hide_index=True, key=f"late-{run_id}")


def cost_parts(metrics: dict[str, float | int | None]) -> dict[str, float]:
    """Return label -> dollars: the machine bill split by the share of held GPU time that was useful, and lateness."""
    bill, idle = float(metrics["vm_cost"] or 0), float(metrics.get("idle_cost") or 0)
    goodput = metrics.get("goodput")
    useful = (bill - idle) * (1.0 if goodput is None else float(goodput))
    parts = {
        "Useful work": useful,
        "Restarts and lost work": bill - idle - useful,
        "Paid but idle": idle,
        "Lateness": float(metrics.get("tardiness_cost") or 0),
        "Rejections": float(metrics.get("rejection_cost") or 0),
    }
    return {label: value for label, value in parts.items() if value > 0.005 or label == "Useful work"}


def numbers_tab(run_id: str, scenario: Scenario) -> None:
    """Show every metric with its exact value and definition, parameters, and downloads."""
    metrics, info = loaders.metrics(run_id), loaders.info(run_id)
    rows = [
        {"Section": kpi.section, "Number": kpi.label, "Value": kpi.show(metrics.get(key)),
         "Exact": kpi.show(metrics.get(key), exact=True), "Better": kpi.better, "How it is counted": kpi.tooltip, "Key": key}
        for key, kpi in KPIS.items()
        if key in metrics
    ]  # fmt: skip
    st.dataframe(pd.DataFrame(rows), hide_index=True, key=f"numbers-{run_id}", height=420)
    bound = metrics.get("total_cost_bound")
    if bound is not None:
        st.markdown(
            f"No policy can cost less than {money(bound)} in total on this scenario (proven).".replace("$", "\\$")
        )
    st.subheader("Downloads", anchor=False)
    readers: dict[str, Callable[[str], pd.DataFrame]] = {
        "jobs": loaders.jobs, "segments": session.store().segments, "nodes": session.store().nodes,
        "decisions": session.store().decisions, "waits": session.store().waits,
    }  # fmt: skip
    mark = "" if scenario.data_kind == "trace" else f"-{scenario.data_kind}-data"
    for name, read in readers.items():
        _downloads(f"{name}-{run_id}{mark}", partial(read, run_id))
    with st.expander("What this run was: parameters, seed, prices, versions"):
        st.json({"policy": info.policy, "params": info.params, "seed": info.seed, "prices": info.prices, "read": info.read,
                 "code_version": info.code_version, "scenario_hash": info.scenario_hash, "cpu_s": info.cpu_s,
                 "placement": scenario.options.placement, "options": scenario.options.model_dump(mode="json")})  # fmt: skip


def _parquet(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def _downloads(name: str, read: Callable[[], pd.DataFrame]) -> None:
    """Offer a table as CSV and Parquet, made when asked for."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{name.partition('-')[0].capitalize()}**", width=120)
        st.download_button(
            "CSV", lambda: charts.csv(read()), f"{name}.csv", "text/csv", key=f"csv-{name}", on_click="ignore"
        )
        st.download_button(
            "Parquet", lambda: _parquet(read()), f"{name}.parquet", "application/octet-stream",
            key=f"parquet-{name}", on_click="ignore",
        )  # fmt: skip
