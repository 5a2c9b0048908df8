"""The tabs Overview, Cost and Numbers of a result."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.figures import gantt, result
from dlsched.figures.base import Chart
from dlsched.figures.palette import Theme
from dlsched.metrics.formats import amount, count, duration, money
from dlsched.metrics.kpi import KPIS
from dlsched.ui import charts, loaders, session
from dlsched.ui.result_gantt import boxed, in_words, raster_of, whole_of
from dlsched.ui.text import dollars
from dlsched.ui.window import show as show_window

MAX_LATE = 200


def main_picture(run_id: str, scenario: Scenario) -> None:
    """Show who holds the nodes over the whole run; a box opens the Gantt there."""
    whole = whole_of(run_id, scenario)
    raster = raster_of(run_id, scenario, whole)

    def look_closer(box: charts.Box) -> None:
        show_window(run_id, boxed(box, raster, whole), whole)
        st.session_state["open_tab"] = "Gantt"

    chart = gantt.overview(raster, charts.page_theme(), alt=in_words(run_id, raster, whole))
    charts.show(chart, "overview", on_box=look_closer)


def overview_tab(run_id: str, scenario: Scenario) -> None:
    """Show GPUs held, the queue and money over time."""
    series, theme = loaders.series(run_id), charts.page_theme()
    held = loaders.metrics(run_id).get("allocation_ratio")
    charts.show(result.held_and_queue(series, theme, held), "held", caption=True)
    columns = [name for name in result.CUMULATED if name in series and series[name].max() > 0]
    if columns:
        labels = {name: result.CUMULATED[name][1] for name in columns}
        chosen = st.segmented_control("Also over time", columns, format_func=labels.__getitem__, default=columns[0],
                                      required=True, key="over-time")  # fmt: skip
        charts.show(result.over_time(series, str(chosen), theme), "over")


def cost_tab(run_id: str, scenario: Scenario) -> None:
    """Show where the money went: parts, VM types, users, late jobs."""
    metrics, jobs = loaders.metrics(run_id), loaders.jobs(run_id)
    theme = charts.page_theme()
    if metrics.get("vm_cost") is None:
        st.info("No price is set for this cluster, so there is no cost. Set prices on the page Cluster and run again.")
    else:
        charts.show(result.cost_waterfall(cost_parts(metrics), theme), "waterfall", caption=True)
        left, right = st.columns(2)
        with left:
            by_type = session.store().nodes(run_id).groupby("vm_type")["cost"].sum()
            chart = result.group_bars(
                by_type, theme, title="Machine cost by VM type", x="Cost ($)", y="VM type", unit="$"
            )
            charts.show(chart, "by-type")
        who = next((n for n in ("user", "group", "job_class") if n in jobs and jobs[n].fillna("").any()), None)
        if who:
            with right:
                charts.show(_cost_by(who, jobs, theme), "by-user")
    _late_jobs(jobs)


def _cost_by(who: str, jobs: pd.DataFrame, theme: Theme) -> Chart:
    word = {"job_class": "class"}.get(who, who)
    by_user = jobs.groupby(who)["cost"].sum()
    top = f", top {result.MOST_GROUPS} of {count(len(by_user))}" if len(by_user) > result.MOST_GROUPS else ""
    title = f"Machine cost by {word}{top}"
    return result.group_bars(by_user, theme, title=title, x="Cost ($)", y=word.capitalize(), unit="$")


def _late_jobs(jobs: pd.DataFrame) -> None:
    late = jobs[jobs["tardiness_s"] > 0]
    if late.empty:
        return
    weighed = bool(late["tardiness_usd"].notna().any())
    order = "dearest" if weighed else "latest"
    top = late.sort_values("tardiness_usd" if weighed else "tardiness_s", ascending=False).head(MAX_LATE)
    st.subheader(f"{amount(len(late), 'late job')}, {order} first", anchor=False)
    columns = {"Job": top["job_id"], "Late by (h)": top["tardiness_s"] / 3600}
    if weighed:
        columns["Cost of lateness ($)"] = top["tardiness_usd"]
    shapes = {name: st.column_config.NumberColumn(format="%.2f") for name in list(columns)[1:]}
    st.dataframe(pd.DataFrame(columns), hide_index=True, key="late-jobs", column_config=shapes, width="content",
                 alt=f"The first {count(len(top))} of {amount(len(late), 'late job')}")  # fmt: skip
    if len(late) > len(top):
        st.markdown(f":gray[First {count(len(top))}; the download of jobs on Numbers has all.]")


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
    metrics = loaders.metrics(run_id)
    rows = [
        {"Section": kpi.section, "Number": kpi.label, "Value": kpi.show(metrics.get(key)),
         "Exact": kpi.show(metrics.get(key), exact=True), "Better": kpi.better, "How it is counted": kpi.tooltip,
         "Name in files": key}
        for key, kpi in KPIS.items()
        if key in metrics
    ]  # fmt: skip
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="numbers", height=420,
                 alt=f"{count(len(rows))} numbers of this run with definitions")  # fmt: skip
    bound = metrics.get("total_cost_bound")
    if bound is not None:
        st.markdown(dollars(f"No policy can cost less than {money(bound)} in total on this scenario (proven)."))
    st.subheader("Downloads", anchor=False)
    readers: dict[str, Callable[[str], pd.DataFrame]] = {
        "jobs": loaders.jobs, "segments": session.store().segments, "nodes": session.store().nodes,
        "decisions": session.store().decisions, "waits": session.store().waits,
    }  # fmt: skip
    mark = "" if scenario.data_kind == "trace" else f"-{scenario.data_kind}-data"
    with st.container(horizontal=True, gap="large"):
        for name, read in readers.items():
            _downloads(name, f"{name}-{run_id}{mark}", partial(read, run_id))
    with st.expander("What this run was: policy, parameters, seed, prices, versions, options"):
        settings = _settings(run_id, scenario)
        st.dataframe(pd.DataFrame(settings, columns=["Setting", "Value"]), hide_index=True, key="settings",
                     alt=f"{count(len(settings))} settings of this run")  # fmt: skip


def _settings(run_id: str, scenario: Scenario) -> list[tuple[str, str]]:
    info = loaders.info(run_id)
    known: dict[str, Any] = {
        "policy": info.policy,
        **{f"parameter {name}": value for name, value in info.params.items()},
        "seed of the draw": info.seed,
        **{f"price of {name}, $/h": value for name, value in info.prices.items()},
        **{f"option {name}": value for name, value in scenario.options.model_dump(mode="json").items()},
        **{f"speed {name}": value for name, value in scenario.speed.model_dump(mode="json").items()},
        **{f"rows {name}" if name != "rows" else "rows read": value for name, value in info.read.items()},
        "scenario": info.scenario_hash,
        "code version": info.code_version,
        "made at (UTC)": f"{info.created_at:%Y-%m-%d %H:%M}",
        **{f"processor time, {name}": duration(value) for name, value in info.cpu_s.items()},
    }
    return [(name, "–" if value is None else str(value)) for name, value in known.items()]


def _parquet(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def _downloads(label: str, name: str, read: Callable[[], pd.DataFrame]) -> None:
    """Offer a table as CSV and Parquet, made when asked for."""
    with st.container(width="content", gap="xsmall"):
        st.markdown(f"**{label.capitalize()}**")
        with st.container(horizontal=True, gap="xsmall"):
            st.download_button(
                "CSV", lambda: charts.csv(read()), f"{name}.csv", "text/csv", key=f"csv-{name}", on_click="ignore",
                help=f"The table of {label}, text",
            )  # fmt: skip
            st.download_button(
                "Parquet", lambda: _parquet(read()), f"{name}.parquet", "application/octet-stream",
                key=f"parquet-{name}", on_click="ignore", help=f"The table of {label}, with types",
            )  # fmt: skip
