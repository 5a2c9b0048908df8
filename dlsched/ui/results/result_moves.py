"""Moves through the Gantt that need no mouse: typed times and nodes, steps, jumps, a job by its name."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from dlsched.figures.base import TimeAxis
from dlsched.ui.frame import loaders, window
from dlsched.ui.frame.text import safe
from dlsched.ui.frame.window import Window

PROBLEM = "gantt-problem"


def moves(run_id: str, shown: Window, whole: Window) -> None:
    """Show the controls; each changes the window before the tab is drawn anew."""
    unit_s = _fill_inputs(run_id, shown)
    unit = TimeAxis.over(shown.from_s, shown.to_s).unit
    typed: Any = {"on_change": _typed, "args": [run_id, whole, unit_s]}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall"):
        st.number_input(f"From ({unit})", format="%.3f", key="g-from", width=132, **typed)
        st.number_input(f"To ({unit})", format="%.3f", key="g-to", width=132, **typed)
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
            st.button(label, on_click=_move, args=[run_id, to, whole], key=f"g-{key}", help=hint)
        late_s = next_late_s(loaders.jobs(run_id), _late_so_far(shown))
        st.button(
            "Next late", on_click=_to_late, args=[run_id, late_s, shown, whole], disabled=late_s is None,
            key="g-late", help="Where the next late job was due" if late_s is not None else "No job was late",
        )  # fmt: skip
        st.text_input("Find job", key="g-find", width=120, placeholder="job id", on_change=_find,
                      args=[run_id, shown, whole], help="Moves the window to where it starts")  # fmt: skip
    if problem := st.session_state.pop(PROBLEM, None):
        st.warning(problem)


def _fill_inputs(run_id: str, shown: Window) -> float:
    """Let the inputs say what is shown, unless they just did; return their unit in seconds."""
    unit_s = TimeAxis.over(shown.from_s, shown.to_s).unit_s
    if st.session_state.get("g-said") != (run_id, shown) or "g-from" not in st.session_state:
        st.session_state["g-from"], st.session_state["g-to"] = shown.from_s / unit_s, shown.to_s / unit_s
        st.session_state["g-nodes"] = f"{shown.first_node}-{shown.last_node}"
        st.session_state["g-said"] = (run_id, shown)
    return unit_s


def _move(run_id: str, to: Window, whole: Window) -> None:
    window.show(run_id, to, whole)


def _typed(run_id: str, whole: Window, unit_s: float) -> None:
    nodes = window.parse_nodes(st.session_state["g-nodes"])
    from_s, to_s = st.session_state["g-from"] * unit_s, st.session_state["g-to"] * unit_s
    st.session_state.pop("g-said", None)
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


def _late_so_far(shown: Window) -> float:
    """Return the due time that was jumped to last, if it is still in the picture; else the begin of the window."""
    last_s = st.session_state.get("g-late-at")
    return last_s if last_s is not None and shown.from_s <= last_s <= shown.to_s else shown.from_s


def _to_late(run_id: str, late_s: float, shown: Window, whole: Window) -> None:
    st.session_state["g-late-at"] = late_s
    window.show(run_id, shown.around(late_s), whole)


def _find(run_id: str, shown: Window, whole: Window) -> None:
    wanted = str(st.session_state["g-find"]).strip()
    if not wanted:
        return
    jobs = loaders.jobs(run_id)
    found = jobs[jobs["job_id"] == wanted]
    if found.empty:
        st.session_state[PROBLEM] = f"No job is called {safe(wanted)} in this run."
        return
    start_s = found["first_start_s"].iloc[0]
    at_s = float(found["submit_s"].iloc[0] if pd.isna(start_s) else start_s)
    window.show(run_id, shown.around(at_s), whole)
    st.session_state["gantt-job"] = wanted
