"""The Gantt tab of a result: overview raster, box, bars, and the same by buttons."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.figures import bars, gantt
from dlsched.figures import jobs as job_rows
from dlsched.figures.base import TimeAxis
from dlsched.figures.raster import Raster, node_raster
from dlsched.metrics.formats import count, duration
from dlsched.ui import charts, loaders, window
from dlsched.ui.text import safe
from dlsched.ui.window import Window

COLOURS = {"state": "State", "job_class": "Class", "user": "User", "group": "Group"}
MAX_JOB_ROWS = 60


def whole_of(run_id: str, scenario: Scenario) -> Window:
    """Return the window of the whole run."""
    series = loaders.series(run_id)
    from_s, to_s = float(series["time_s"].iloc[0]), float(series["time_s"].iloc[-1])
    return Window(from_s, max(to_s, from_s + 1), 0, scenario.cluster.num_nodes - 1)


def raster_of(run_id: str, scenario: Scenario, shown: Window, colour_by: str = "state") -> Raster:
    """Return the overview of a window."""
    gpus = scenario.cluster.nodes.capacity[shown.first_node : shown.last_node + 1, 0]
    if scenario.cluster.free_slots:
        gpus = np.full(shown.num_nodes, float(max(vm.gpus for vm in scenario.cluster.vm_types)))
    pieces = loaders.segments(run_id)
    inside = pieces[(pieces["end_s"] > shown.from_s) & (pieces["start_s"] < shown.to_s)]
    return node_raster(
        inside,
        gpus,
        loaders.absences(scenario),
        shown.from_s,
        shown.to_s,
        colour_by=colour_by,
        first_node=shown.first_node,
    )


@st.fragment
def gantt_tab(run_id: str, scenario: Scenario) -> None:
    """Show the tab; moves inside it rerun only it."""
    whole = whole_of(run_id, scenario)
    shown = window.current(run_id, whole)
    colour_by, rows = _choices(run_id)
    _moves(run_id, scenario, shown, whole)
    raster = raster_of(run_id, scenario, shown, colour_by)
    alt = _in_words(run_id, raster, shown)
    key = f"gantt-{run_id}-{shown.from_s:.0f}-{shown.to_s:.0f}-{shown.first_node}-{shown.last_node}-{colour_by}"
    box = charts.show(gantt.overview(raster, charts.page_theme(), alt=alt), key, select=True)
    if box and box.get("x") and box.get("y"):
        window.show(run_id, boxed(box, raster, shown), whole)
        st.rerun(scope="fragment")
    st.markdown(f":gray[Drag a box over the picture to look closer. {safe(alt, 600)}]")
    if rows == "Nodes":
        _node_detail(run_id, shown, colour_by)
    else:
        _job_detail(run_id, shown)


def _choices(run_id: str) -> tuple[str, str]:
    facts = loaders.jobs(run_id)
    named = [
        "state",
        *[name for name in ("job_class", "user", "group") if name in facts and facts[name].astype(bool).any()],
    ]
    with st.container(horizontal=True, gap="medium"):
        colour_by = st.segmented_control(
            "Colour", named, format_func=lambda name: COLOURS[name], default="state", required=True, key="gantt-colour",
            help="State: held, past due, not there. Class, user and group: the five largest and the rest.",
        )  # fmt: skip
        rows = st.segmented_control(
            "Rows below", ["Nodes", "Jobs"], default="Nodes", required=True, key="gantt-rows",
            help="Nodes: where is waste? Jobs: what happened to mine?",
        )  # fmt: skip
    return str(colour_by), str(rows)


def _moves(run_id: str, scenario: Scenario, shown: Window, whole: Window) -> None:
    axis = TimeAxis.over(whole.from_s, whole.to_s)

    def move(to: Window) -> None:
        window.show(run_id, to, whole)

    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        tag = f"{shown.from_s:.0f}-{shown.to_s:.0f}-{shown.first_node}-{shown.last_node}"
        start = st.number_input(
            f"From ({axis.unit})", value=shown.from_s / axis.unit_s, format="%.3f", key=f"from-{tag}", width=130
        )
        end = st.number_input(
            f"To ({axis.unit})", value=shown.to_s / axis.unit_s, format="%.3f", key=f"to-{tag}", width=130
        )
        nodes = st.text_input(
            "Nodes", f"{shown.first_node}-{shown.last_node}", key=f"nodes-{tag}", width=110, help="First-last, as 0-7"
        )
        typed = _typed_window(start * axis.unit_s, end * axis.unit_s, nodes)
        if typed is None:
            st.warning("Nodes are written first-last, as 0-7, and To comes after From.")
        elif (
            typed.inside(whole) != shown.inside(whole)
            and abs(typed.from_s - shown.from_s)
            + abs(typed.to_s - shown.to_s)
            + abs(typed.first_node - shown.first_node)
            + abs(typed.last_node - shown.last_node)
            > 0.001 * axis.unit_s
        ):
            move(typed)
            st.rerun(scope="fragment")
        st.button("◀", on_click=move, args=[shown.moved(-0.5)], key="g-left", help="Earlier")
        st.button("▶", on_click=move, args=[shown.moved(0.5)], key="g-right", help="Later")
        st.button("+", on_click=move, args=[shown.zoomed(0.5)], key="g-in", help="Closer")
        st.button("−", on_click=move, args=[shown.zoomed(2)], key="g-out", help="Farther")
        st.button("All", on_click=move, args=[whole], key="g-all", help="The whole run")
        worst = _worst_queue_s(run_id)
        st.button("Worst queue", on_click=move, args=[shown.around(worst)], key="g-worst", help="Where most jobs wait")
        late = _next_late_s(run_id, shown)
        st.button(
            "Next late",
            on_click=move,
            args=[shown.around(late or 0)],
            disabled=late is None,
            key="g-late",
            help="Next late job",
        )
        wanted = st.text_input(
            "Find job", key="gantt-find", width=140, placeholder="job id", help="Moves the window to the job"
        )
        if wanted:
            _find_job(run_id, wanted, shown, whole)


def _typed_window(from_s: float, to_s: float, nodes: str) -> Window | None:
    try:
        first, last = (int(part) for part in nodes.replace("–", "-").split("-"))
    except ValueError:
        return None
    return Window(from_s, to_s, first, last) if to_s > from_s and last >= first >= 0 else None


def boxed(box: dict[str, list[float]], raster: Raster, shown: Window) -> Window:
    """Return the window of a dragged box."""
    part = gantt.box_window(raster, box["x"][:2], box["y"][:2])
    first = shown.first_node + part.first_row * raster.rows_per_line
    last = shown.first_node + (part.last_row + 1) * raster.rows_per_line - 1
    return Window(part.from_s, part.to_s, first, min(last, shown.last_node))


def _worst_queue_s(run_id: str) -> float:
    series = loaders.series(run_id)
    return float(series["time_s"].iloc[int(series["waiting"].to_numpy().argmax())])


def _next_late_s(run_id: str, shown: Window) -> float | None:
    jobs = loaders.jobs(run_id)
    late = jobs["due_s"][(jobs["tardiness_s"] > 0)] if "tardiness_s" in jobs else pd.Series(dtype=float)
    if late.empty:
        return None
    middle = (shown.from_s + shown.to_s) / 2
    after = late[late > middle + 1]
    return float(after.min() if len(after) else late.min())


def _find_job(run_id: str, wanted: str, shown: Window, whole: Window) -> None:
    jobs = loaders.jobs(run_id)
    found = jobs[jobs["job_id"] == wanted.strip()]
    if found.empty:
        st.warning(f"No job is called {safe(wanted)} in this run.")
        return
    start = found["first_start_s"].iloc[0]
    at = float(found["submit_s"].iloc[0] if pd.isna(start) else start)
    if not shown.from_s <= at <= shown.to_s:
        window.show(run_id, shown.around(at), whole)
        st.rerun(scope="fragment")


def _in_words(run_id: str, raster: Raster, shown: Window) -> str:
    series = loaders.series(run_id)
    inside = series[(series["time_s"] >= shown.from_s) & (series["time_s"] <= shown.to_s)]
    waiting = inside["waiting"].to_numpy() if len(inside) else np.zeros(1)
    at = float(inside["time_s"].iloc[int(waiting.argmax())]) if len(inside) else shown.from_s
    jobs = loaders.jobs(run_id)
    due = jobs["due_s"].to_numpy(float)
    late = (jobs["tardiness_s"].to_numpy(float) > 0) & (due >= shown.from_s) & (due < shown.to_s)
    worst = ""
    if late.any():
        row = jobs[late].sort_values("tardiness_s").iloc[-1]
        worst = f"{row['job_id']} (+{duration(row['tardiness_s'])})"
    return gantt.window_alt(raster, int(waiting.max()), at, int(late.sum()), worst)


def _node_detail(run_id: str, shown: Window, colour_by: str) -> None:
    pieces = loaders.segments(run_id)
    inside = pieces[
        (pieces["end_s"] > shown.from_s) & (pieces["start_s"] < shown.to_s)
        & (pieces["node"] >= shown.first_node) & (pieces["node"] <= shown.last_node)
    ]  # fmt: skip
    too_many = len(inside) > bars.MAX_BARS
    if too_many or shown.num_nodes > bars.MAX_BAR_ROWS:
        reason = f"{count(len(inside))} pieces" if too_many else f"{count(shown.num_nodes)} nodes"
        limit = f"{count(bars.MAX_BARS)} pieces" if too_many else f"{bars.MAX_BAR_ROWS} nodes"
        st.info(f"{reason} here: narrow the window to at most {limit} to see single jobs.")
        return
    if inside.empty:
        st.info("Nothing runs in this window.")
        return
    chart = bars.node_bars(inside, charts.page_theme(), shown.from_s, shown.to_s, colour_by=colour_by)
    charts.show(chart, f"bars-{run_id}-{shown.from_s:.0f}-{shown.to_s:.0f}-{shown.first_node}-{shown.last_node}")
    _open_job(list(dict.fromkeys(inside["job_id"]))[:500])


def _job_detail(run_id: str, shown: Window) -> None:
    order = st.segmented_control(
        "Jobs sorted by", ["Submission", "Wait", "Lateness"], default="Wait", required=True, key="gantt-order",
        help="The first 60 jobs in the window, in this order",
    )  # fmt: skip
    jobs = loaders.jobs(run_id)
    left = jobs["left_s"].fillna(np.inf) if "left_s" in jobs else jobs["completion_s"].fillna(np.inf)
    inside = jobs[(jobs["submit_s"] < shown.to_s) & (left > shown.from_s)]
    column, rising = {"Submission": ("submit_s", True), "Wait": ("wait_s", False), "Lateness": ("tardiness_s", False)}[
        str(order)
    ]
    top = inside.sort_values(column, ascending=rising, na_position="last", kind="stable").head(MAX_JOB_ROWS)
    if top.empty:
        st.info("No job is in the system in this window.")
        return
    pieces = loaders.segments(run_id)
    of_top = pieces[pieces["job_id"].isin(set(top["job_id"]))]
    st.markdown(f":gray[{count(len(top))} of {count(len(inside))} jobs in this window.]")
    chart = job_rows.job_bars(top, of_top, charts.page_theme(), shown.from_s, shown.to_s)
    charts.show(chart, f"jobs-{run_id}-{shown.from_s:.0f}-{shown.to_s:.0f}-{order}")
    _open_job(list(top["job_id"]))


def _open_job(job_ids: list[str]) -> None:
    """Offer the story of a job in the picture, by keyboard too."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox("Job in this picture", job_ids, key="gantt-job", width=260, help="Its whole story")
        if st.button("Open its story", key="gantt-open-job"):
            st.session_state["open_job"] = chosen
            st.rerun()
