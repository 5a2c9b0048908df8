"""The part Timeline of Run details: a strip of the whole run, and a window of it by node, by job or by user."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dlsched.domain.cluster import vm_capacity
from dlsched.domain.counted import counted_capacity, counted_of_vm
from dlsched.domain.scenario import Scenario
from dlsched.domain.units import DAY_S, HOUR_S
from dlsched.domain.workload import GPU
from dlsched.figures import bars, gantt
from dlsched.figures import jobs as job_rows
from dlsched.figures.base import TimeAxis
from dlsched.figures.leases import machines_in_words
from dlsched.figures.raster import Raster, node_raster
from dlsched.policies.registry import find
from dlsched.ui.frame import charts, loaders
from dlsched.ui.frame.parts import sentence
from dlsched.ui.frame.text import safe
from dlsched.ui.results import jobs as jobs_part
from dlsched.ui.results import window
from dlsched.ui.results.window import Window
from dlsched.ui.scenario import trust
from dlsched.wording.clock import Clock
from dlsched.wording.counted import COUNTED, Counted, counted_of
from dlsched.wording.formats import amount, count, duration, share
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
RASTER_HEIGHT = 420
MOST_NARROW = 8
"""Nodes that a window around a job shows at least, where there are as many."""
MAX_OFFERED = 500
PROBLEM = "gantt-problem"


def whole_of(run_id: str, scenario: Scenario) -> Window:
    """Return the window of the whole run."""
    series = loaders.series(run_id)
    from_s, to_s = float(series["time_s"].iloc[0]), float(series["time_s"].iloc[-1])
    return Window(from_s, max(to_s, from_s + 1), 0, scenario.cluster.num_nodes - 1)


def sizes_of_types(scenario: Scenario) -> np.ndarray:
    """Return the GPUs of each machine type, or its cores or memory where those count."""
    kinds = scenario.cluster.vm_types
    return np.array([vm_capacity(vm)[counted_of_vm(vm, scenario.counted)] for vm in kinds], dtype=float)


def sizes_of_nodes(scenario: Scenario) -> np.ndarray:
    """Return the GPUs (cores) of each node; of a free slot, those of the largest machine it may become."""
    sizes = sizes_of_types(scenario)
    if scenario.cluster.free_slots:
        return np.full(scenario.cluster.num_nodes, float(sizes.max()))
    return np.asarray(sizes[scenario.cluster.nodes.vm])


def cpu_nodes(scenario: Scenario) -> np.ndarray:
    """Return which nodes count their cores among nodes that count GPUs, shape (nodes,)."""
    kinds = scenario.cluster.vm_types
    other = np.array([counted_of_vm(vm, scenario.counted) != scenario.counted for vm in kinds])
    return (
        np.zeros(scenario.cluster.num_nodes, dtype=bool)
        if scenario.cluster.free_slots
        else other[scenario.cluster.nodes.vm]
    )


def raster_of(run_id: str, scenario: Scenario, shown: Window, colour_by: str = "state") -> Raster:
    """Return the overview of a window."""
    free = scenario.cluster.free_slots
    pieces = loaders.pieces(run_id) if colour_by == "state" and not free else loaders.segments(run_id)
    sizes, of_cores = sizes_of_nodes(scenario), cpu_nodes(scenario)
    if of_cores.any():  # a CPU node counts as one, and the part of its cores that is allocated
        part = pieces["gpus"].to_numpy(float) / sizes[pieces["node"].to_numpy()]
        pieces = pieces.assign(gpus=np.where(of_cores[pieces["node"].to_numpy()], part, pieces["gpus"]))
        sizes = np.where(of_cores, 1.0, sizes)
    raster = node_raster(
        filling_slots(pieces, scenario) if free else pieces,
        sizes[shown.first_node : shown.last_node + 1],
        loaders.absences(run_id, scenario),
        shown.from_s,
        shown.to_s,
        colour_by=colour_by,
        first_node=shown.first_node,
        groups=None if colour_by == "state" else loaders.groups(run_id, colour_by),
        leases=loaders.stays(run_id) if free else None,
    )
    if scenario.cluster.rents and not free:
        raster = dataclasses.replace(raster, legend=(*raster.legend[:-1], "down or not rented"))
    if of_cores.any():
        of_gpus = ~of_cores[shown.first_node : shown.last_node + 1]
        return dataclasses.replace(raster, held_share=held_by(pieces, sizes, of_gpus, shown), mixed=True)
    if not free:
        return raster
    held = held_of_open(pieces, loaders.stays(run_id), scenario, shown)
    return dataclasses.replace(raster, held_share=held)


def held_by(pieces: pd.DataFrame, sizes: np.ndarray, rows: np.ndarray, shown: Window) -> float:
    """Return GPU time allocated out of that of the nodes marked in ``rows`` (one entry for each node shown)."""
    nodes = np.arange(shown.first_node, shown.last_node + 1)[rows]
    inside = pieces["node"].isin(nodes).to_numpy()
    held = float((_seconds(pieces, shown) * inside) @ pieces["gpus"].to_numpy(float))
    there = float(sizes[nodes].sum()) * (shown.to_s - shown.from_s)
    return min(held / there, 1.0) if there > 0 else 0.0


def filling_slots(pieces: pd.DataFrame, scenario: Scenario) -> pd.DataFrame:
    """Return pieces on rented machines, GPUs scaled so that a fully used machine fills its slot, whatever its size."""
    sizes = np.maximum(sizes_of_types(scenario), 1.0).tolist()
    size_of = {vm.name: size for vm, size in zip(scenario.cluster.vm_types, sizes, strict=True)}
    scale = max(size_of.values()) / pieces["vm_type"].map(size_of).fillna(1).astype(float)
    return pieces.assign(gpus=pieces["gpus"] * scale)


def held_of_open(pieces: pd.DataFrame, stays: pd.DataFrame, scenario: Scenario, shown: Window) -> float:
    """Return GPU time held out of the GPU time of the machines that were open on the slots shown."""
    units = counted_capacity(scenario.cluster, scenario.counted).tolist()
    size_of = {vm.name: size for vm, size in zip(scenario.cluster.vm_types, units, strict=True)}
    pieces = loaders.of_headline(pieces, scenario)
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
    """Show the part; moves inside it rerun only it."""
    if "open_job" in st.session_state:
        st.rerun()  # the whole page: another part opens
    whole = whole_of(run_id, scenario)
    shown = window.current(run_id, whole)
    found = _found(run_id)
    policy = loaders.info(run_id).policy
    told = trust.caveats(scenario, [policy])
    sentence(
        timeline_sentence(run_id, find(policy).label, counted_of(scenario)),
        told,
        trust.premises(scenario),
        key="timeline",
    )
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        rows = _rows(run_id, scenario)
        colour_by, highlight = _colours(run_id, scenario) if rows != "users" else ("state", "")
        st.space("stretch")
        st.text_input("Find job", key="g-find", width=150, placeholder="job id", on_change=_find,
                      args=[run_id, shown, whole], help="Outlines the job and moves the window to it")  # fmt: skip
    moves(run_id, shown, whole)
    _strip(run_id, shown, whole, scenario)
    if found is not None:
        _found_line(run_id, found, shown, whole)
    if rows == "users":
        _user_picture(run_id, shown, whole, scenario)
    elif rows == "jobs":
        by_machine = scenario.cluster.free_slots and colour_by in loaders.MACHINES
        _job_picture(run_id, shown, scenario, found, by_machine=by_machine)
    else:
        _node_picture(run_id, shown, whole, scenario, found, colour_by, highlight)


def timeline_sentence(run_id: str, policy: str, counted: Counted) -> str:
    """Return how full the cluster is, when most jobs wait, and how many are late: of the future shown, exactly."""
    series, dues = loaders.series(run_id), loaders.dues(run_id)
    most = int(series["waiting"].max())
    queue = f"at most {amount(most, 'job')} {'waits' if most == 1 else 'wait'}" if most else "no job waits"
    when = f", {loaders.clock(run_id).moment(worst_queue_s(series))}" if most else ""
    held = share(loaders.metrics(run_id).get("allocation_ratio"))
    parts = [counted.say(f"{held} of the GPU time is allocated"), f"{queue}{when}"]
    if dues["due_s"].notna().any():
        late = int((dues["tardiness_s"] > 0).sum())
        parts.append(f"{amount(late, 'job')} {'is' if late == 1 else 'are'} late" if late else "no job is late")
    return f"{policy}: {'; '.join(parts)}."


def _strip(run_id: str, shown: Window, whole: Window, scenario: Scenario) -> None:
    """Show the whole run as a thin strip with the window marked; a box dragged on it is another window."""
    clock = loaders.clock(run_id)
    what = "rented" if scenario.cluster.free_slots else "available"
    chart = charts.drawn(
        gantt.strip, loaders.series(run_id), charts.page_theme(), shown.from_s, shown.to_s, what=what, clock=clock
    )
    axis = TimeAxis.over(whole.from_s, whole.to_s, clock)

    def boxed_on_strip(box: charts.Box) -> None:
        from_s, to_s = sorted(map(axis.seconds, box["x"][:2]))
        window.show(run_id, dataclasses.replace(shown, from_s=from_s, to_s=to_s), whole)

    charts.show_bare(chart.of(counted_of(scenario)), "strip", on_box=boxed_on_strip)


def _found(run_id: str) -> pd.Series | None:
    """Return the job that was found or chosen last, which is outlined; None without any."""
    row = jobs_part.chosen_row(loaders.info(run_id).scenario_hash)
    if row is None:
        return None
    own = loaders.jobs(run_id)
    own = own[own["row"] == row]
    return None if own.empty else own.iloc[0]


def _found_line(run_id: str, job: pd.Series, shown: Window, whole: Window) -> None:
    """Say which job is outlined and where it is, with the ways to it, to its story, and without it."""
    there = around_job(job, loaders.segments(run_id), shown, whole)
    ran = not pd.isna(job["first_start_s"])
    from_s, to_s = _times_of(job, whole)
    is_seen = from_s < shown.to_s and to_s > shown.from_s
    name = f"Job {safe(job['job_id'])} ({COUNTED[int(job.get('counted', GPU))].amount(float(job['gpus']))})"
    clock = loaders.clock(run_id)
    if not ran:
        words = f"**{name}** never started: it waited from {clock.moment(from_s)} on."
    elif is_seen:
        words = f"**{name}** is outlined: {clock.moment(from_s)} to {clock.moment(to_s)}."
    else:
        words = f"**{name}** ran outside this window: {clock.moment(from_s)} to {clock.moment(to_s)}."
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(words, width="content")
        if shown != there.inside(whole):
            st.button("Zoom to it", key="g-to-found", on_click=window.show, args=[run_id, there, whole])
        st.button("Show why it waited", key="g-story", on_click=to_story, args=[[job["job_id"]]])
        st.button("Clear", key="g-clear", on_click=jobs_part.forget)


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
            help="State: running, late, down. Class, user, group: the five largest and the rest. GPU or VM type: the "
            "machine; bars then name it with the GPUs allocated.",
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
    # Where a policy changes widths, what a job was given when is the first question.
    is_elastic = bool(loaders.metrics(run_id).get("other_width_share")) and not scenario.cluster.free_slots
    choices = list(ROWS) if loaders.groupings(run_id, ("user", "group", "job_class")) else ["nodes", "jobs"]
    rows = st.segmented_control(
        "Rows", choices, format_func=ROWS.__getitem__, default="jobs" if is_elastic else "nodes",
        required=True, key="gantt-rows",
        help="Nodes: where is capacity wasted? Jobs: what happened to each? Users: who uses how much?",
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
    due_s, late_s = (loaders.dues(run_id)[name].to_numpy(float) for name in ("due_s", "tardiness_s"))
    late = (late_s > 0) & (due_s >= shown.from_s) & (due_s < shown.to_s)
    worst = ""
    if late.any():
        latest = int(np.where(late, late_s, -np.inf).argmax())
        worst = f"{loaders.jobs(run_id)['job_id'].iloc[latest]} (+{duration(late_s[latest])})"
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


def _node_picture(
    run_id: str, shown: Window, whole: Window, scenario: Scenario, found: pd.Series | None, colour_by: str,
    highlight: str,
) -> None:  # fmt: skip
    """Show bars of single jobs on their nodes; where there are too many, the nodes as a raster."""
    inside, clock = _inside(loaders.segments(run_id), shown), loaders.clock(run_id)
    own = None if found is None else inside[inside["row"] == found["row"]]
    if too_many := crowd_words(len(inside), shown.num_nodes):
        raster = raster_of(run_id, scenario, shown, colour_by)
        alt = counted_of(scenario).say(in_words(run_id, raster, shown))
        chart = charts.drawn(
            gantt.overview,
            raster,
            charts.page_theme(),
            alt=alt,
            highlight=highlight,
            clock=clock,
            height=RASTER_HEIGHT,
            found=own,
        )
        charts.show(
            chart.of(counted_of(scenario)),
            "gantt",
            on_box=lambda box: window.show(run_id, boxed(box, raster, shown, clock), whole),
        )
        st.markdown(f":gray[{too_many} Drag a box over the picture to look closer. {safe(alt, 600)}]")
        return
    free = scenario.cluster.free_slots
    leases = _inside(loaders.rented_stays(run_id, scenario), shown) if scenario.cluster.rents else None
    if inside.empty and (leases is None or leases.empty):
        st.info("Nothing is rented in this window." if free else "Nothing runs in this window.")
        return
    sizes = tallest(leases, whole.num_nodes) if free and leases is not None else sizes_of_nodes(scenario)
    groups = None if colour_by == "state" else loaders.groups(run_id, colour_by)
    chart = charts.drawn(
        bars.node_bars,
        inside,
        charts.page_theme(),
        shown.from_s,
        shown.to_s,
        colour_by=colour_by,
        groups=(highlight,) if highlight else groups,
        gpus_of_node={node: float(sizes[node]) for node in range(shown.first_node, shown.last_node + 1)},
        leases=leases,
        kinds=None if free or leases is None else scenario.cluster.kind_of_node,
        clock=clock,
        found="" if found is None else str(found["job_id"]),
    )
    charts.show(chart.of(counted_of(scenario)), "bars", on_point=to_story)
    if len(inside):
        _open_job(list(dict.fromkeys(inside["job_id"])))


def crowd_words(pieces: int, nodes: int) -> str:
    """Return why a window shows no single jobs: too many nodes or jobs for it; "" where it does."""
    if nodes > bars.MAX_BAR_ROWS:
        return f"{count(nodes)} nodes: single jobs are drawn for up to {bars.MAX_BAR_ROWS} nodes."
    if pieces > bars.MAX_BARS:
        return f"{count(pieces)} jobs: single jobs are drawn for up to {count(bars.MAX_BARS)} in a window."
    return ""


def tallest(leases: pd.DataFrame, slots: int) -> np.ndarray:
    """Return the GPUs of the largest machine on each slot, 0 where there is none."""
    sizes = np.zeros(slots)
    np.maximum.at(sizes, leases["node"].to_numpy(int), leases["gpus"].to_numpy(float))
    return sizes


def one_size(scenario: Scenario) -> float | None:
    """Return the GPUs of every node, where all have as many; None if they differ, have none, or are rented."""
    sizes = set() if scenario.cluster.free_slots else set(sizes_of_nodes(scenario).tolist())
    return sizes.pop() or None if len(sizes) == 1 else None


def _job_picture(run_id: str, shown: Window, scenario: Scenario, found: pd.Series | None, *, by_machine: bool) -> None:
    choices = [name for name in ORDERS if name != "Latest" or loaders.jobs(run_id)["due_s"].notna().any()]
    order = st.segmented_control(
        "Jobs sorted by", choices, default=choices[0], required=True, key="gantt-order",
        help=f"The first {MAX_JOB_ROWS} jobs in the window, in this order",
    )  # fmt: skip
    jobs = loaders.jobs(run_id)
    inside = jobs[(jobs["submit_s"] < shown.to_s) & (jobs["left_s"].fillna(np.inf) > shown.from_s)]
    column, rising = ORDERS[str(order)]
    top = inside.sort_values(column, ascending=rising, na_position="last", kind="stable")
    if found is not None:  # first, or it might not be among those shown
        top = pd.concat([top[top["row"] == found["row"]], top[top["row"] != found["row"]]])
    top = top.head(MAX_JOB_ROWS)
    if top.empty:
        st.info("No job waits or runs in this window.")
        return
    pieces = loaders.segments(run_id)
    of_top = pieces[pieces["row"].isin(set(top["row"]))]
    st.markdown(f":gray[{count(len(top))} of {count(len(inside))} jobs that wait or run in this window, on any node.]")
    machines = loaders.groups(run_id, "gpu_type") if by_machine else None
    chart = charts.drawn(
        job_rows.job_bars, top, of_top, charts.page_theme(), shown.from_s, shown.to_s, machines=machines,
        node_gpus=one_size(scenario), clock=loaders.clock(run_id), found="" if found is None else str(found["job_id"]),
    )  # fmt: skip
    charts.show(chart.of(counted_of(scenario)), "job-bars", on_point=to_story)
    _open_job(list(top["job_id"]))


def _user_picture(run_id: str, shown: Window, whole: Window, scenario: Scenario) -> None:
    choices = loaders.groupings(run_id, ("user", "group", "job_class"))
    by = str(st.segmented_control("Grouped by", choices, format_func=COLOURS.__getitem__, default=choices[0],
                                  required=True, key="gantt-by"))  # fmt: skip
    nodes, units = shown.num_nodes == whole.num_nodes, counted_capacity(scenario.cluster, scenario.counted)
    there = 0 if scenario.cluster.free_slots else units[scenario.cluster.nodes.vm].sum()
    chart = charts.drawn(
        gantt.user_area,
        _inside(loaders.of_headline(loaders.segments(run_id), scenario), shown),
        charts.page_theme(),
        shown.from_s,
        shown.to_s,
        by=by,
        groups=loaders.groups(run_id, by),
        gpus=float(there) if nodes and there else None,
        clock=loaders.clock(run_id),
    )
    charts.show(chart.of(counted_of(scenario)), "users", caption=True)


def _open_job(job_ids: list[str]) -> None:
    """Offer the story of a job in the picture, by keyboard too."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        offered = job_ids[:MAX_OFFERED]
        if st.session_state.get("gantt-job") not in offered:
            st.session_state.pop("gantt-job", None)
        more = f"; the first {MAX_OFFERED} of {count(len(job_ids))}" if len(job_ids) > MAX_OFFERED else ""
        chosen = st.selectbox("Job in this picture", offered, key="gantt-job", width=260, help=f"Its whole story{more}")
        st.button("Show why it waited", key="gantt-open-job", on_click=to_story, args=[[chosen]])


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
            "Whole run": ("all", whole, "All of the time, on all nodes"),
            "Longest queue": ("worst", shown.around(worst_queue_s(loaders.series(run_id))), "Where most jobs wait"),
        }
        for label, (key, to, hint) in steps.items():
            st.button(label, on_click=window.show, args=[run_id, to, whole], key=f"g-{key}", help=hint)
        last_s = st.session_state.get("g-late-at")  # the one that was jumped to last, if it is still in the picture
        after_s = last_s if last_s is not None and shown.from_s <= last_s <= shown.to_s else shown.from_s
        late_s = next_late_s(loaders.dues(run_id), after_s)
        st.button(
            "Next late", on_click=_to_late, args=[run_id, late_s, shown, whole], disabled=late_s is None,
            key="g-late", help="Where the next late job was due" if late_s is not None else "No job was late",
        )  # fmt: skip
        for label, (key, to) in node_blocks(shown, whole).items():
            st.button(label, on_click=window.show, args=[run_id, to, whole], key=f"g-{key}")
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


def next_late_s(dues: pd.DataFrame, after_s: float) -> float | None:
    """Return the due date of the first late job due after a time, else of the first late job at all."""
    late = dues["due_s"][dues["tardiness_s"] > 0]
    if late.empty:
        return None
    after = late[late > after_s]
    return float(after.min() if len(after) else late.min())


def _to_late(run_id: str, late_s: float, shown: Window, whole: Window) -> None:
    st.session_state["g-late-at"] = late_s
    window.show(run_id, shown.around(late_s), whole)


def node_blocks(shown: Window, whole: Window) -> dict[str, tuple[str, Window]]:
    """Return buttons for nodes, label -> (key, window): the next of those that fit a picture, and all of them."""
    fit = bars.MAX_BAR_ROWS
    if whole.num_nodes <= fit:
        return {}
    first = shown.last_node + 1 if shown.num_nodes <= fit and shown.last_node < whole.last_node else whole.first_node
    last = min(first + fit - 1, whole.last_node)
    blocks = {f"Show nodes {first}–{last}": ("block", dataclasses.replace(shown, first_node=first, last_node=last))}
    if shown.num_nodes < whole.num_nodes:
        every = dataclasses.replace(shown, first_node=whole.first_node, last_node=whole.last_node)
        blocks[f"Show all {count(whole.num_nodes)} nodes"] = ("all-nodes", every)
    return blocks


def _find(run_id: str, shown: Window, whole: Window) -> None:
    wanted = str(st.session_state["g-find"]).strip()
    if not wanted:
        return
    jobs = loaders.jobs(run_id)
    job = jobs[jobs["job_id"] == wanted]
    if job.empty:
        st.session_state[PROBLEM] = f"This run has no job {safe(wanted)}."
        return
    jobs_part.choose(loaders.info(run_id).scenario_hash, int(job["row"].iloc[0]))
    window.show(run_id, around_job(job.iloc[0], loaders.segments(run_id), shown, whole), whole)
    st.session_state["gantt-job"] = wanted


def _times_of(job: pd.Series, whole: Window) -> tuple[float, float]:
    """Return from when to when a job ran; from when it waited, where it never started."""
    begin = job["submit_s"] if pd.isna(job["first_start_s"]) else job["first_start_s"]
    return float(begin), float(whole.to_s if pd.isna(job["left_s"]) else job["left_s"])


def around_job(job: pd.Series, pieces: pd.DataFrame, shown: Window, whole: Window) -> Window:
    """Return a window with a job in its middle, as long as is good to see it, on as many nodes as are drawn singly.

    ``pieces``: columns row, node, start_s, end_s. Where the window would hold more pieces than all can be drawn, it
    shows fewer nodes around those of the job.
    """
    from_s, to_s = _times_of(job, whole)
    length_s = to_s - from_s
    half_s = max(1.25 * length_s, min(shown.length_s, DAY_S, max(8 * length_s, HOUR_S)) / 2)
    middle_s = (from_s + to_s) / 2
    around = Window(middle_s - half_s, middle_s + half_s, whole.first_node, whole.last_node).inside(whole)
    nodes = pieces.loc[pieces["row"] == job["row"], "node"]
    if nodes.empty:
        return around
    then = pieces[(pieces["end_s"] > around.from_s) & (pieces["start_s"] < around.to_s)]
    low, high = int(nodes.min()), int(nodes.max())
    fit = bars.MAX_BAR_ROWS
    while True:
        if high - low + 1 > fit:
            high = low + fit - 1
        first = max(min((low + high + 1 - fit) // 2, whole.last_node - fit + 1), whole.first_node)
        last = min(first + fit - 1, whole.last_node)
        if fit <= MOST_NARROW or int(then["node"].between(first, last).sum()) <= bars.MAX_BARS // 3:
            return dataclasses.replace(around, first_node=first, last_node=last)
        fit //= 2
