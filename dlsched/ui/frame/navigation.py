"""The pages of the app, in the order of the work: scenario, simulate, results, plan; then the lab."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from dlsched.ui.frame import glossary, link
from dlsched.ui.frame.options import access

PAGES: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "": (("home/home.py", "Home", "home", ""),),
    "Scenario": (
        ("scenario/jobs.py", "Jobs", "table_rows", "jobs"),
        ("scenario/cluster.py", "Cluster", "dns", "cluster"),
        ("scenario/prices.py", "Prices", "sell", "prices"),
    ),
    "Simulate": (("simulate/run.py", "Run", "play_arrow", "run"),),
    "Results": (
        ("results/compare.py", "Compare", "compare_arrows", "compare"),
        ("results/run_details.py", "Run details", "monitoring", "run-details"),
        ("results/queues.py", "Queues", "account_tree", "queues"),
    ),
    "Plan": (
        ("plan/what_if.py", "What if", "alt_route", "what-if"),
        ("plan/capacity.py", "Capacity", "straighten", "capacity"),
        ("plan/when.py", "When jobs start", "schedule", "when"),
        ("plan/memo.py", "Memo", "description", "memo"),
    ),
}
"""Section -> (script below FOLDER, title, Material symbol, url path)."""
LAB = (
    ("lab/speed_up.py", "Speed-up", "speed", "speed-up"),
    ("lab/steady_state.py", "Load test", "anchor", "load-test"),
    ("lab/reproductions.py", "Paper checks", "fact_check", "paper-checks"),
)
"""Pages of the lab, as in PAGES: folded at the foot of the sidebar, as a planner does not need them."""
TRAIL = ("server/trail.py", "Audit trail", "history", "trail")
"""Page of a server with a login, as in PAGES: at the foot of the sidebar there, reached by its link elsewhere."""
OF_QUEUES = {"Queues"}
"""Pages about scenarios with quotas."""
HAS_QUEUES = "has-queues"
"""Key in the session: whether the scenario that is looked at has quotas."""
FOLDER = "pages"
PART = "part"
"""Parameter of an address, and key in the session, that names the part of a page."""

_ENTRIES = [entry for entries in (*PAGES.values(), LAB, [TRAIL]) for entry in entries]
SCRIPTS = {title: f"{FOLDER}/{script}" for script, title, _, _ in _ENTRIES}
"""Title of a page -> its script."""
ADDRESSES = {title: url for _, title, _, url in _ENTRIES}
"""Title of a page -> its url path."""


@dataclass(frozen=True)
class Moved:
    """Where an address of an earlier version leads.

    ``title``: the page of today; ``added``: what its link says besides; ``renamed``: parameter of the old link ->
    parameter of today and what its values are called now, where they have other names.
    """

    title: str
    added: Mapping[str, str] = field(default_factory=dict)
    renamed: Mapping[str, tuple[str, Mapping[str, str]]] = field(default_factory=dict)

    def query(self, asked: Mapping[str, list[str]]) -> dict[str, Any]:
        """Return the parameters of today's link for those of an old one."""
        found: dict[str, Any] = {}
        for name, values in asked.items():
            today, names = self.renamed.get(name, (name, {}))
            found[today] = [names.get(value, value) for value in values]
        return {**found, **self.added}


_CURVE_SOURCES = {"Four times": "Enter timings", "Network of the study": "Example network"}
OLD_ADDRESSES: dict[str, Moved] = {
    "start": Moved("Home"),
    "workload": Moved("Jobs"),
    "catalogue": Moved("Prices"),
    "runs": Moved("Run", {PART: "History"}),
    "result": Moved("Run details", renamed={"tab": (PART, {"Gantt": "Timeline", "Job": "Jobs"})}),
    "look-ahead": Moved("Run details", {PART: "Inside"}),
    "admissions": Moved("Run details", {PART: "Inside"}),
    "dual-prices": Moved("Run details", {PART: "Inside"}),
    "whatif": Moved("What if"),
    "size": Moved("Capacity"),
    "sweep": Moved("Capacity", {PART: "Range"}),
    "pool-size": Moved("Capacity", {PART: "Range", "preset": "pool-size"}),
    "report": Moved("Memo"),
    "throughput": Moved("Speed-up", {PART: "Throughput"}, {"source": ("source", _CURVE_SOURCES)}),
    "training-time": Moved("Speed-up", {PART: "Training time"}),
    "parameter-servers": Moved("Speed-up", {PART: "Parameter servers"}),
    "steady-state": Moved("Load test"),
    "reproductions": Moved("Paper checks"),
    "glossary": Moved("Home", {glossary.PARAM: ""}),
}
"""Addresses (url paths) of earlier versions; each still opens what it named."""
OLD_PARTS = {"Compare": "ctab", "Prices": "machines"}
"""Pages that kept their address -> the parameter that named their part in links of earlier versions."""
OLD_NAMES = {"Who wins, who loses": "Who gains, who loses"}
"""Parts that have another name today."""


def navigation(*, hidden: bool = False) -> StreamlitPage:
    """Build the sidebar and return the page to run; pages that say nothing of the scenario are reached by links only.

    ``hidden``: without a sidebar.
    """
    left_out = set() if st.session_state.get(HAS_QUEUES) else OF_QUEUES
    sections = {
        section: [_page(*entry, visibility="hidden" if entry[1] in left_out else "visible") for entry in entries]
        for section, entries in PAGES.items()
    }
    sections[""] += [_page(*entry, visibility="hidden") for entry in (*LAB, TRAIL)]
    sections[""] += [
        st.Page(_redirect(there), title="Moved", url_path=old, visibility="hidden")
        for old, there in OLD_ADDRESSES.items()
    ]
    page = st.navigation(sections, position="hidden" if hidden else "sidebar", expanded=True)
    if (old := OLD_PARTS.get(page.title)) and (part := st.query_params.get(old)):
        del st.query_params[old]
        st.session_state[PART] = OLD_NAMES.get(part, part)
        link.rename(old, PART, st.session_state[PART])
    if not hidden:
        is_open = page.title in {title for _, title, _, _ in LAB}
        with st.sidebar.expander("Lab", expanded=is_open, key=f"lab-{is_open}"):
            for script, title, icon, _ in LAB:
                st.page_link(f"{FOLDER}/{script}", label=title, icon=f":material/{icon}:")
        if access().login != "none":
            script, title, icon, _ = TRAIL
            st.sidebar.page_link(f"{FOLDER}/{script}", label=title, icon=f":material/{icon}:")
        st.sidebar.button("Glossary", icon=":material/menu_book:", type="tertiary", key="open-glossary",
                          on_click=glossary.look_up)  # fmt: skip
    return page


def _page(script: str, title: str, icon: str, url: str, *, visibility: Any) -> StreamlitPage:
    return st.Page(
        f"{FOLDER}/{script}", title=title, icon=f":material/{icon}:", url_path=url or None, default=not url,
        visibility=visibility,
    )  # fmt: skip


def _redirect(there: Moved) -> Callable[[], None]:
    """Return the page of an old address: it opens the page of today with the query of the link."""

    def go() -> None:
        asked = {name: st.query_params.get_all(name) for name in st.query_params}
        query = there.query(asked)
        link.asks({name: [values] if isinstance(values, str) else values for name, values in query.items()})
        st.switch_page(SCRIPTS[there.title], query_params=query)

    return go
