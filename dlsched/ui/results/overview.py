"""The parts Overview and Numbers of Run details, and how far a run may be from its proven bounds."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.domain.units import HOUR_S, MINUTE_S
from dlsched.figures import gantt, rented, result
from dlsched.figures.base import Chart
from dlsched.figures.palette import Theme
from dlsched.figures.raster import Raster
from dlsched.metrics.kpi import KPI, KPIS, kpi_of
from dlsched.metrics.limits import COST, Limited, all_limited
from dlsched.ui.frame import charts, loaders, runs_of, session
from dlsched.ui.frame.caches import shared
from dlsched.ui.results.timeline import boxed, in_words, raster_of, whole_of
from dlsched.ui.results.window import show as show_window
from dlsched.wording.certainty import range_words
from dlsched.wording.counted import GPUS, Counted, counted_of
from dlsched.wording.formats import Number, amount, capital, count, duration

RENT = "rent"
"""What is rented over time, beside the quantities that grow."""


def main_picture(run_id: str, scenario: Scenario) -> None:
    """Show how full the nodes are over the whole run; a box opens the Timeline there."""
    whole = whole_of(run_id, scenario)
    raster, chart = _whole_picture(run_id, charts.page_theme())

    def look_closer(box: charts.Box) -> None:
        show_window(run_id, boxed(box, raster, whole, loaders.clock(run_id)), whole)
        st.session_state[session.OPEN_PART] = "Timeline"

    charts.show(chart, "overview", on_box=look_closer)


@shared
def _whole_picture(run_id: str, theme: Theme) -> tuple[Raster, Chart]:
    """Return how full the nodes are over the whole run, as numbers and as a chart."""
    scenario = loaders.scenario_of(run_id)
    whole = whole_of(run_id, scenario)
    raster = raster_of(run_id, scenario, whole)
    chart = gantt.overview(raster, theme, alt=in_words(run_id, raster, whole), clock=loaders.clock(run_id))
    return raster, chart.of(counted_of(scenario))


@shared
def _held(run_id: str, theme: Theme) -> Chart:
    """Return what is allocated and the queue over time."""
    scenario, held = loaders.scenario_of(run_id), loaders.metrics(run_id).get("allocation_ratio")
    rented, clock = scenario.cluster.free_slots, loaders.clock(run_id)
    chart = result.held_and_queue(loaders.series(run_id), theme, held, rented=rented, clock=clock)
    return chart.of(counted_of(scenario))


@shared
def _over_time(run_id: str, quantity: str, theme: Theme) -> Chart:
    """Return a quantity that grows over time."""
    return result.over_time(loaders.series(run_id), quantity, theme, loaders.clock(run_id))


def overview_part(run_id: str, scenario: Scenario) -> None:
    """Show what is allocated, the queue and money over time."""
    series, theme, free = loaders.series(run_id), charts.page_theme(), scenario.cluster.free_slots
    charts.show(_held(run_id, theme), "held", caption=True)
    labels = {name: result.CUMULATED[name][1] for name in result.CUMULATED
              if name in series and series[name].max() > 0}  # fmt: skip
    if free and "cost_usd" in labels:
        labels = {RENT: "Price of what is rented"} | labels
    if labels:
        chosen = st.segmented_control("Also over time", list(labels), format_func=labels.__getitem__,
                                      default=next(iter(labels)), required=True, key="over-time",
                                      help="Added up from the first submission on")  # fmt: skip
        if chosen == RENT:
            whole = whole_of(run_id, scenario)
            by = next((name for name in loaders.MACHINES if len(loaders.groups(run_id, name)) > 1), "vm_type")
            chart = rented.rent_over_time(loaders.stays(run_id), theme, whole.from_s, whole.to_s, by=by,
                                          groups=loaders.groups(run_id, by), clock=loaders.clock(run_id))  # fmt: skip
            charts.show(chart, "rent", caption=True)
        else:
            charts.show(_over_time(run_id, str(chosen), theme), "over")


def numbers_part(run_id: str, scenario: Scenario) -> None:
    """Show every metric with its range over futures, its exact value here and its definition; settings; downloads."""
    metrics, own, counted = loaders.metrics(run_id), runs_of.chosen_of([run_id])[0], counted_of(scenario)
    numbers = runs_of.numbers_of([own])
    told, estimates = numbers.headline(own.label), numbers.estimates(own.label)
    rows = [
        {"Section": kpi.section, "Number": kpi.label, "Value": kpi.show(told.get(key)),
         "Range": range_words(kpi.kind, estimates[key].low, estimates[key].high) if key in estimates else "",
         "In this future": precise(kpi, metrics.get(key)), "Better": kpi.better,
         "How it is counted": kpi.tooltip, "Name in files": key}
        for key, kpi in ((key, kpi_of(key, counted)) for key in KPIS)
        if key in metrics
    ]  # fmt: skip
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="numbers", height=420,
                 alt=f"{count(len(rows))} numbers of this run with definitions")  # fmt: skip
    bounds_part(metrics, counted)
    st.subheader("Downloads", anchor=False)
    readers: dict[str, Callable[[str], pd.DataFrame]] = {
        "jobs": session.store().jobs, "segments": session.store().segments, "nodes": session.store().nodes,
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


STEPS: Mapping[str, float] = {"duration": 1.0, "hours": HOUR_S / 100}
FIGURES = 6


def precise(kpi: KPI, value: Number) -> str:
    """Return a number as exactly as it means something: times to a second, others with six figures."""
    if value is None or not math.isfinite(value):
        return kpi.show(value)
    step = STEPS.get(kpi.kind, 0.0) if abs(value) >= MINUTE_S else 0.0
    return kpi.show(round(value / step) * step if step else float(f"{value:.{FIGURES}g}"), exact=True)


def _settings(run_id: str, scenario: Scenario) -> list[tuple[str, str]]:
    info = loaders.info(run_id)
    settings: dict[str, Any] = {
        "policy": info.policy,
        **{f"parameter {name}": value for name, value in info.params.items()},
        "future (seed)": info.seed,
        **{f"price of {name}, $/h": value for name, value in info.prices.items()},
        **{f"option {name}": value for name, value in scenario.options.model_dump(mode="json").items()},
        **{f"speed {name}": value for name, value in scenario.speed.model_dump(mode="json").items()},
        **{f"rows {name}" if name != "rows" else "rows read": value for name, value in info.read.items()},
        "scenario": info.scenario_hash,
        "code version": info.code_version,
        **({"plug-in": info.plugin} if info.plugin else {}),
        "made at (UTC)": f"{info.created_at:%Y-%m-%d %H:%M}",
        **{f"processor time, {name}": duration(value) for name, value in info.cpu_s.items()},
    }
    return [(name, "–" if value is None else str(value)) for name, value in settings.items()]


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


ASSUMED = (
    "The bounds let every job run with its best GPU count on the fastest machine at the price of the cheapest, and "
    "treat all GPUs (CPUs, memory) as one that is never down and shared without loss. So there may be less to gain "
    "than they say, never more."
)
MOST_BADGES = 2


def assumed_words(counted: Counted) -> str:
    """Return what the bounds rest on; machines of a cluster without GPUs are cores and memory."""
    text = ASSUMED if counted == GPUS else ASSUMED.replace("all GPUs (CPUs, memory)", "all cores (memory)")
    return text if counted == GPUS else text.replace("best GPU count", "best size")


def bounds_part(metrics: Mapping[str, Number], counted: Counted) -> None:
    """Show the numbers that have a bound, how far they may be from it, and what the bounds rest on."""
    st.subheader("Bounds", anchor=False)
    limited = all_limited(metrics)
    if not limited:
        st.markdown(":gray[No number of this run has a bound.]")
        return
    rows = [
        {"Number": one.limit.kpi.label, "This run": one.limit.kpi.show(one.value),
         "Bound": f"{'at most' if one.limit.most else 'at least'} {one.limit.kpi.show(one.bound)}",
         "What it says": capital(f"{one.words}.")}
        for one in limited
    ]  # fmt: skip
    told = "; ".join(f"{one.limit.kpi.label} {one.words}" for one in limited)
    charts.table(pd.DataFrame(rows), "bounds", f"{told}.")
    left_out = int(metrics.get("jobs") or 0) - int(metrics.get("completed") or 0)
    jobs = ""
    if left_out:
        jobs = (
            f" {amount(left_out, 'job')} did not complete here: bounds on turnaround time are about the others, and a "
            "policy that completes other jobs has another bound."
        )
    st.markdown(f":gray[{assumed_words(counted)}{jobs}]")


def badges(metrics: Mapping[str, Number], *, without_cost: bool) -> list[Limited]:
    """Return what badges say: the bounds on what the run is about, cost and service, at most :data:`MOST_BADGES`.

    ``without_cost``: the sentence of the page tells it already.
    """
    limited = {one.limit.key: one for one in all_limited(metrics) if not (without_cost and one.limit == COST)}
    order = (COST.key, "utility_total", "tardiness_total", "jct_mean")
    return [limited[key] for key in order if key in limited][:MOST_BADGES]
