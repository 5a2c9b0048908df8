"""The stretch of time and nodes that a Gantt shows, and the moves that need no mouse."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import streamlit as st

from dlsched.domain.units import DAY_S
from dlsched.ui.frame import link


@dataclass(frozen=True, slots=True)
class Window:
    """From, to (seconds) and first and last node shown, within the whole run."""

    from_s: float
    to_s: float
    first_node: int
    last_node: int

    @property
    def length_s(self) -> float:
        """Length in seconds."""
        return self.to_s - self.from_s

    @property
    def num_nodes(self) -> int:
        """Number of nodes shown."""
        return self.last_node - self.first_node + 1

    def inside(self, whole: Window) -> Window:
        """Return the window pushed inside the whole, at least a second and one node."""
        length = min(max(self.length_s, 1.0), whole.length_s)
        start = min(max(self.from_s, whole.from_s), whole.to_s - length)
        first = min(max(self.first_node, whole.first_node), whole.last_node)
        return Window(start, start + length, first, min(max(self.last_node, first), whole.last_node))

    def zoomed(self, factor: float) -> Window:
        """Return the window ``factor`` times as long around its middle."""
        middle, half = (self.from_s + self.to_s) / 2, self.length_s * factor / 2
        return replace(self, from_s=middle - half, to_s=middle + half)

    def moved(self, share: float) -> Window:
        """Return the window moved by a share of its length."""
        step = share * self.length_s
        return replace(self, from_s=self.from_s + step, to_s=self.to_s + step)

    def around(self, time_s: float) -> Window:
        """Return a window around a time: as long as now, at most a day."""
        half = min(self.length_s, DAY_S) / 2
        return replace(self, from_s=time_s - half, to_s=time_s + half)


def parse_nodes(text: str) -> tuple[int, int] | None:
    """Return the first and last node of "0-7", "n0–n7" or "3"; None when it says neither."""
    parts = [part.strip().removeprefix("n") for part in text.replace("–", "-").split("-")]
    if not all(part.isascii() and part.isdecimal() and len(part) < 10 for part in parts) or len(parts) > 2:
        return None
    first, last = int(parts[0]), int(parts[-1])
    return (first, last) if first <= last else None


def from_url(whole: Window) -> Window:
    """Return the window that the URL names; the whole where it names none or nonsense."""
    try:
        from_s, to_s = float(st.query_params["from"]), float(st.query_params["to"])
    except (KeyError, ValueError):
        from_s = to_s = math.nan
    nodes = parse_nodes(st.query_params.get("rows", ""))
    if nodes is None:
        link.misread("rows")
    if not from_s < to_s:
        link.misread("from", "to", "rows")
        return whole
    return Window(from_s, to_s, *(nodes or (whole.first_node, whole.last_node))).inside(whole)


def current(run_id: str, whole: Window) -> Window:
    """Return the window of a run: what the session remembers, else the URL, else everything."""
    kept: Window | None = st.session_state.get(f"window-{run_id}")
    return from_url(whole) if kept is None else kept.inside(whole)


def show(run_id: str, window: Window, whole: Window) -> None:
    """Remember a window and put it into the URL."""
    window = window.inside(whole)
    st.session_state[f"window-{run_id}"] = window
    if window == whole:
        for name in ("from", "to", "rows"):
            st.query_params.pop(name, None)
        return
    st.query_params["from"] = f"{window.from_s:.0f}"
    st.query_params["to"] = f"{window.to_s:.0f}"
    st.query_params["rows"] = f"{window.first_node}-{window.last_node}"
