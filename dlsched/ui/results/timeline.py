"""The Gantt tab of a result: overview raster, box, and below it bars by node, bars by job or areas by user."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.figures import bars, gantt
from dlsched.figures import jobs as job_rows
from dlsched.figures.leases import machines_in_words
from dlsched.figures.raster import Raster, node_raster
from dlsched.ui.frame import charts, loaders
from dlsched.ui.frame.text import safe
from dlsched.ui.results import window
from dlsched.ui.results.window import Window
from dlsched.wording.clock import Clock
from dlsched.wording.formats import amount, count, duration
from dlsched.wording.typed import NotRead

COLOURS = {"state": "State", "job_class": "Class", "user": "User", "group": "Group",
           "gpu_type": "GPU type", "vm_type": "VM type"}  # fmt: skip
ROWS = {"nodes": "Nodes", "jobs": "Jobs", "users": "Users"}
ORDERS = {
    "Longest wait": ("wait_s", False),
    "Latest": ("tardiness_s", False),
    "Submission": ("submit_s", True),
}
MAX_JOB_ROWS = 60
MAX_OFFERED = 500
PROBLEM = "gantt-problem"


def whole_of(run_id: str, scenario: Scenario) -> Window:
    """Return the window of the whole run."""
    series = loaders.series(run_id)
    from_s, to_s = float(series["time_s"].iloc[0]), float(series["time_s"].iloc[-1])
    return Window(from_s, max(to_s, from_s + 1), 0, scenario.cluster.num_nodes - 1)


def gpus_of_nodes(scenario: Scenario) -> np.ndarray:
    """Return the GPUs of each node; of a free slot, those of the largest machine it may become."""
    if scenario.cluster.free_slots:
        return np.full(scenario.cluster.num_nodes, float(max(vm.gpus for vm in scenario.cluster.vm_types)))
    return np.asarray(scenario.cluster.nodes.capacity[:, 0], dtype=float)


def raster_of(run_id: str, scenario: Scenario, shown: Window, colour_by: str = "state") -> Raster:
    """Return the overview of a window."""
    free = scenario.cluster.free_slots
    pieces = loaders.pieces(run_id) if colour_by == "state" and not free else loaders.segments(run_id)
    raster = node_raster(
        filling_slots(pieces, scenario) if free else pieces,
        gpus_of_nodes(scenario)[shown.first_node : shown.last_node + 1],
        loaders.absences(scenario),
        shown.from_s,
        shown.to_s,
        colour_by=colour_by,
        first_node=shown.first_node,
        groups=None if colour_by == "state" else loaders.groups(run_id, colour_by),
        leases=loaders.stays(run_id) if free else None,
    )
    if not free:
        return raster
    held = held_of_open(pieces, loaders.stays(run_id), scenario, shown)
    return dataclasses.replace(raster, held_share=held)


def filling_slots(pieces: pd.DataFrame, scenario: Scenario) -> pd.DataFrame:
    """Return pieces on free slots with GPUs scaled so that a machine in full use fills its slot, whatever its size."""
    size_of = {vm.name: max(vm.gpus, 1) for vm in scenario.cluster.vm_types}
    scale = max(size_of.values()) / pieces["vm_type"].map(size_of).fillna(1).astype(float)
    return pieces.assign(gpus=pieces["gpus"] * scale)


def held_of_open(pieces: pd.DataFrame, stays: pd.DataFrame, scenario: Scenario, shown: Window) -> float:
    """Return GPU time held out of the GPU time of the machines that were open on the slots shown."""
    size_of = {vm.name: vm.gpus for vm in scenario.cluster.vm_types}
    held = _seconds(pieces, shown) @ pieces["gpus"].to_numpy(float)
    opened = _seconds(stays, shown) @ stays["vm_type"].map(size_of).to_numpy(float)
    return float(min(held / opened, 1.0)) if opened > 0 else 0.0


def _seconds(spans: pd.DataFrame, shown: Window) -> np.ndarray:
    """Return how long each span lies in the window."""
    inside = spans["node"].between(shown.first_node, shown.last_node).to_numpy()
    length = spans["end_s"].clip(upper=shown.to_s) - spans["start_s"].clip(lower=shown.from_s)
    return np.where(inside, np.maximum(length.to_numpy(float), 0.0), 0.0)


@st.fragment
def timeline_part(run_id: str, scenario: Scenario) -> None:
    """Show the tab; moves inside it rerun only it."""
    if "open_job" in st.session_state:
        st.rerun()  # the whole page: another tab opens
    whole = whole_of(run_id, scenario)
    shown = window.current(run_id, whole)
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        colour_by, highlight = _colours(run_id, scenario)
        rows = _rows(run_id, scenario)
    moves(run_id, shown, whole)
    raster = raster_of(run_id, scenario, shown, colour_by)
    alt = in_words(run_id, raster, shown)
    clock = loaders.clock(run_id)
    chart = gantt.overview(raster, charts.page_theme(), alt=alt, highlight=highlight, clock=clock)
    charts.show(chart, "gantt", on_box=lambda box: window.show(run_id, boxed(box, raster, shown, clock), whole))
    st.markdown(f":gray[Drag a box over the picture to look closer, click a bar to read its job. {safe(alt, 600)}]")
    if rows == "users":
        _user_detail(run_id, shown, whole, scenario)
    elif rows == "jobs":
        _job_detail(run_id, shown, scenario, by_machine=scenario.cluster.free_slots and colour_by in loaders.MACHINES)
    else:
        _node_detail(run_id, shown, whole, scenario, colour_by)


def _colours(run_id: str, scenario: Scenario) -> tuple[str, str]:
    """Ask what colours mean, and which group stands out."""
    choices = ["state", *loaders.groupings(run_id)]
    if st.session_state.get("gantt-colour") not in choices:
        st.session_state.pop("gantt-colour", None)
    # Where the policy rents, what it rented is the first question.
    first = next((name for name in loaders.MACHINES if scenario.cluster.free_slots and name in choices), "state")
    colour_by = str(
        st.segmented_control(
            "Colour", choices, format_func=COLOURS.__getitem__, default=first, required=True, key="gantt-colour",
            help="State: held, past due, not there. Class, user, group: the five largest and the rest. GPU or VM type: "
            "the machine; bars then name it with the GPUs held.",
        )
    )  # fmt: skip
    if colour_by == "state":
        return colour_by, ""
    named = ["", *loaders.groups(run_id, colour_by)]
    highlight = st.selectbox(
        "Highlight", named, format_func=lambda name: name or "all", key=f"gantt-light-{colour_by}", width=160,
        help="One group in colour, the others grey",
    )  # fmt: skip
    return colour_by, str(highlight)


def _rows(run_id: str, scenario: Scenario) -> str:
    # Where a policy changes widths, what a job held when is the first question.
    is_elastic = bool(loaders.metrics(run_id).get("other_width_share")) and not scenario.cluster.free_slots
    choices = list(ROWS) if loaders.groupings(run_id, ("user", "group", "job_class")) else ["nodes", "jobs"]
    rows = st.segmented_control(
        "Rows below", choices, format_func=ROWS.__getitem__, default="jobs" if is_elastic else "nodes",
        required=True, key="gantt-rows",
        help="Nodes: where is waste? Jobs: what happened to mine? Users: who holds what?",
    )  # fmt: skip
    return str(rows)


def boxed(box: charts.Box, raster: Raster, shown: Window, clock: Clock) -> Window:
    """Return the window of a box dragged on the overview."""
    part = gantt.box_window(raster, box["x"][:2], box["y"][:2], clock)
    first = shown.first_node + part.first_row * raster.rows_per_line
    last = shown.first_node + (part.last_row + 1) * raster.rows_per_line - 1
    return Window(part.from_s, part.to_s, first, min(last, shown.last_node))


def to_story(mark: Any) -> None:
    """Open the story of the job of a clicked bar; bars carry the job's id first."""
    if mark and mark[0]:
        st.session_state["open_job"] = str(mark[0])


def in_words(run_id: str, raster: Raster, shown: Window) -> str:
    """Return the picture in words: how full, the longest queue, late jobs."""
    series = loaders.series(run_id)
    inside = series[(series["time_s"] >= shown.from_s) & (series["time_s"] <= shown.to_s)]
    if inside.empty:  # nothing changes within the window: what held before it holds in it
        inside = series[series["time_s"] <= shown.from_s].tail(1)
    waiting = inside["waiting"].to_numpy()
    at_s = max(float(inside["time_s"].iloc[int(waiting.argmax())]), shown.from_s)
    jobs = loaders.jobs(run_id)
    due = jobs["due_s"].to_numpy(float)
    late = (jobs["tardiness_s"].to_numpy(float) > 0) & (due >= shown.from_s) & (due < shown.to_s)
    worst = ""
    if late.any():
        row = jobs[late].sort_values("tardiness_s").iloc[-1]
        worst = f"{row['job_id']} (+{duration(row['tardiness_s'])})"
    machines = ""
    if raster.rented:
        there = _inside(loaders.stays(run_id), shown)
        machines = f"{amount(len(there), 'machine')} rented: {machines_in_words(there)}"
    return gantt.window_alt(raster, int(waiting.max()), at_s, int(late.sum()), worst, machines, loaders.clock(run_id))


def _inside(pieces: pd.DataFrame, shown: Window) -> pd.DataFrame:
    return pieces[
        (pieces["end_s"] > shown.from_s) & (pieces["start_s"] < shown.to_s)
        & (pieces["node"] >= shown.first_node) & (pieces["node"] <= shown.last_node)
    ]  # fmt: skip


def _node_detail(run_id: str, shown: Window, whole: Window, scenario: Scenario, colour_by: str) -> None:
    inside = _inside(loaders.segments(run_id), shown)
    too_many = len(inside) > bars.MAX_BARS
    if too_many or shown.num_nodes > bars.MAX_BAR_ROWS:
        reason = f"{count(len(inside))} pieces" if too_many else f"{count(shown.num_nodes)} nodes"
        limit = f"{count(bars.MAX_BARS)} pieces" if too_many else f"{bars.MAX_BAR_ROWS} nodes"
        st.info(f"{reason} here: narrow the window to at most {limit} to see single jobs.")
        return
    free = scenario.cluster.free_slots
    leases = _inside(loaders.stays(run_id), shown) if free else None
    if inside.empty and (leases is None or leases.empty):
        st.info("Nothing is rented in this window." if free else "Nothing runs in this window.")
        return
    sizes = gpus_of_nodes(scenario) if leases is None else tallest(leases, whole.num_nodes)
    chart = bars.node_bars(
        inside,
        charts.page_theme(),
        shown.from_s,
        shown.to_s,
        colour_by=colour_by,
        groups=None if colour_by == "state" else loaders.groups(run_id, colour_by),
        gpus_of_node={node: float(sizes[node]) for node in range(shown.first_node, shown.last_node + 1)},
        leases=leases,
        clock=loaders.clock(run_id),
    )
    charts.show(chart, "bars", on_point=to_story)
    if len(inside):
        _open_job(list(dict.fromkeys(inside["job_id"])))


def tallest(leases: pd.DataFrame, slots: int) -> np.ndarray:
    """Return the GPUs of the largest machine on each slot, 0 where there is none."""
    sizes = np.zeros(slots)
    np.maximum.at(sizes, leases["node"].to_numpy(int), leases["gpus"].to_numpy(float))
    return sizes


def one_size(scenario: Scenario) -> float | None:
    """Return the GPUs of every node, where all have as many; None where they differ, have none, or are rented."""
    sizes = set() if scenario.cluster.free_slots else set(gpus_of_nodes(scenario).tolist())
    return sizes.pop() or None if len(sizes) == 1 else None


def _job_detail(run_id: str, shown: Window, scenario: Scenario, *, by_machine: bool) -> None:
    choices = [name for name in ORDERS if name != "Latest" or loaders.jobs(run_id)["due_s"].notna().any()]
    order = st.segmented_control(
        "Jobs sorted by", choices, default=choices[0], required=True, key="gantt-order",
        help=f"The first {MAX_JOB_ROWS} jobs in the window, in this order",
    )  # fmt: skip
    jobs = loaders.jobs(run_id)
    inside = jobs[(jobs["submit_s"] < shown.to_s) & (jobs["left_s"].fillna(np.inf) > shown.from_s)]
    column, rising = ORDERS[str(order)]
    top = inside.sort_values(column, ascending=rising, na_position="last", kind="stable").head(MAX_JOB_ROWS)
    if top.empty:
        st.info("No job is in the system in this window.")
        return
    pieces = loaders.segments(run_id)
    of_top = pieces[pieces["row"].isin(set(top["row"]))]
    st.markdown(f":gray[{count(len(top))} of {count(len(inside))} jobs that are there in this window, on any node.]")
    machines = loaders.groups(run_id, "gpu_type") if by_machine else None
    chart = job_rows.job_bars(
        top, of_top, charts.page_theme(), shown.from_s, shown.to_s, machines=machines, node_gpus=one_size(scenario),
        clock=loaders.clock(run_id),
    )  # fmt: skip
    charts.show(chart, "job-bars", on_point=to_story)
    _open_job(list(top["job_id"]))


def _user_detail(run_id: str, shown: Window, whole: Window, scenario: Scenario) -> None:
    choices = loaders.groupings(run_id, ("user", "group", "job_class"))
    by = str(st.segmented_control("Grouped by", choices, format_func=COLOURS.__getitem__, default=choices[0],
                                  required=True, key="gantt-by"))  # fmt: skip
    nodes = shown.num_nodes == whole.num_nodes
    chart = gantt.user_area(
        _inside(loaders.segments(run_id), shown),
        charts.page_theme(),
        shown.from_s,
        shown.to_s,
        by=by,
        groups=loaders.groups(run_id, by),
        gpus=float(scenario.cluster.num_gpus) if nodes and scenario.cluster.num_gpus else None,
        clock=loaders.clock(run_id),
    )
    charts.show(chart, "users", caption=True)


def _open_job(job_ids: list[str]) -> None:
    """Offer the story of a job in the picture, by keyboard too."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        offered = job_ids[:MAX_OFFERED]
        if st.session_state.get("gantt-job") not in offered:
            st.session_state.pop("gantt-job", None)
        more = f"; the first {MAX_OFFERED} of {count(len(job_ids))}" if len(job_ids) > MAX_OFFERED else ""
        chosen = st.selectbox("Job in this picture", offered, key="gantt-job", width=260, help=f"Its whole story{more}")
        st.button("Read its story", key="gantt-open-job", on_click=to_story, args=[[chosen]])


def moves(run_id: str, shown: Window, whole: Window) -> None:
    """Show the controls; each changes the window before the tab is drawn anew."""
    clock = _fill_inputs(run_id, shown)
    typed: Any = {"on_change": _typed, "args": [run_id, shown, whole, clock]}
    hint = f"Date and time, as {clock.moment(shown.from_s)}"
    with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall"):
        st.text_input("From", key="g-from", width=188 if clock.zero else 132, help=hint, **typed)
        st.text_input("To", key="g-to", width=188 if clock.zero else 132, help=hint, **typed)
        st.text_input("Nodes", key="g-nodes", width=84, help="First and last, as 0-7", **typed)
        steps = {
            "◀": ("left", shown.moved(-0.5), "Earlier by half a window"),
            "▶": ("right", shown.moved(0.5), "Later by half a window"),
            "+": ("in", shown.zoomed(0.5), "Closer: half as long"),
            "−": ("out", shown.zoomed(2), "Farther: twice as long"),
            "All": ("all", whole, "The whole run"),
            "Worst queue": ("worst", shown.around(worst_queue_s(loaders.series(run_id))), "Where most jobs wait"),
        }
        for label, (key, to, hint) in steps.items():
            st.button(label, on_click=window.show, args=[run_id, to, whole], key=f"g-{key}", help=hint)
        last_s = st.session_state.get("g-late-at")  # the one that was jumped to last, if it is still in the picture
        after_s = last_s if last_s is not None and shown.from_s <= last_s <= shown.to_s else shown.from_s
        late_s = next_late_s(loaders.jobs(run_id), after_s)
        st.button(
            "Next late", on_click=_to_late, args=[run_id, late_s, shown, whole], disabled=late_s is None,
            key="g-late", help="Where the next late job was due" if late_s is not None else "No job was late",
        )  # fmt: skip
        st.text_input("Find job", key="g-find", width=120, placeholder="job id", on_change=_find,
                      args=[run_id, shown, whole], help="Moves the window to where it starts")  # fmt: skip
    if problem := st.session_state.pop(PROBLEM, None):
        st.warning(problem)


def _fill_inputs(run_id: str, shown: Window) -> Clock:
    """Let the inputs say what is shown, unless they just did; return the clock that reads them."""
    clock = loaders.clock(run_id)
    if st.session_state.get("g-filled") != (run_id, shown) or "g-from" not in st.session_state:
        st.session_state["g-from"], st.session_state["g-to"] = clock.moment(shown.from_s), clock.moment(shown.to_s)
        st.session_state["g-nodes"] = f"{shown.first_node}-{shown.last_node}"
        st.session_state["g-filled"] = (run_id, shown)
    return clock


def _typed(run_id: str, shown: Window, whole: Window, clock: Clock) -> None:
    nodes = window.parse_nodes(st.session_state["g-nodes"])
    st.session_state.pop("g-filled", None)
    try:
        from_s, to_s = (
            end_s if text == clock.moment(end_s) else clock.read(text)  # the text of an end is cut to the minute
            for text, end_s in ((st.session_state["g-from"], shown.from_s), (st.session_state["g-to"], shown.to_s))
        )
    except NotRead as error:
        st.session_state[PROBLEM] = f"From and To: a time {safe(error)}."
        return
    if nodes is None:
        st.session_state[PROBLEM] = "Nodes are written first-last, as 0-7."
    elif to_s <= from_s:
        st.session_state[PROBLEM] = "To must come after From."
    else:
        window.show(run_id, Window(from_s, to_s, *nodes), whole)


def worst_queue_s(series: pd.DataFrame) -> float:
    """Return when most jobs wait."""
    return float(series["time_s"].iloc[int(series["waiting"].to_numpy().argmax())])


def next_late_s(jobs: pd.DataFrame, after_s: float) -> float | None:
    """Return the due time of the first late job due after a time, else of the first late job at all."""
    late = jobs["due_s"][jobs["tardiness_s"] > 0]
    if late.empty:
        return None
    after = late[late > after_s]
    return float(after.min() if len(after) else late.min())


def _to_late(run_id: str, late_s: float, shown: Window, whole: Window) -> None:
    st.session_state["g-late-at"] = late_s
    window.show(run_id, shown.around(late_s), whole)


def _find(run_id: str, shown: Window, whole: Window) -> None:
    wanted = str(st.session_state["g-find"]).strip()
    if not wanted:
        return
    jobs = loaders.jobs(run_id)
    job = jobs[jobs["job_id"] == wanted]
    if job.empty:
        st.session_state[PROBLEM] = f"No job is called {safe(wanted)} in this run."
        return
    start_s = job["first_start_s"].iloc[0]
    at_s = float(job["submit_s"].iloc[0] if pd.isna(start_s) else start_s)
    window.show(run_id, shown.around(at_s), whole)
    st.session_state["gantt-job"] = wanted
