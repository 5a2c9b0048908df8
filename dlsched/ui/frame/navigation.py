"""The pages of the app, in the order of the work: scenario, simulate, results, plan; then the lab."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st
from streamlit.navigation.page import StreamlitPage

PAGES: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "": (("home/home.py", "Home", "🏁", ""),),
    "Scenario": (
        ("scenario/workload.py", "Workload", "📥", "workload"),
        ("scenario/cluster.py", "Cluster", "🖥️", "cluster"),
        ("scenario/catalogue.py", "Catalogue", "🏷️", "catalogue"),
    ),
    "Simulate": (("simulate/run.py", "Run", "▶️", "run"), ("simulate/runs.py", "Runs", "🗂️", "runs")),
    "Results": (
        ("results/result.py", "Result", "📊", "result"),
        ("results/compare.py", "Compare", "⚖️", "compare"),
        ("results/look_ahead.py", "Look-ahead", "🔭", "look-ahead"),
        ("results/admissions.py", "Admissions", "🚪", "admissions"),
        ("results/dual_prices.py", "Prices and admissions", "💰", "prices"),
    ),
    "Plan": (
        ("plan/what_if.py", "What if", "🔀", "whatif"),
        ("plan/sweep.py", "Sweep", "🌊", "sweep"),
        ("plan/size.py", "Size", "📏", "size"),
        ("plan/report.py", "Report", "📝", "report"),
    ),
    "Lab": (
        ("lab/throughput.py", "Throughput", "📈", "throughput"),
        ("lab/training_time.py", "Training time", "⏱️", "training-time"),
        ("lab/parameter_servers.py", "Parameter servers", "🧮", "parameter-servers"),
        ("lab/steady_state.py", "Steady state", "⚓", "steady-state"),
        ("lab/reproductions.py", "Reproductions", "🔁", "reproductions"),
    ),
    "Help": (("help/glossary.py", "Glossary", "📖", "glossary"),),
}
"""Section -> (script below FOLDER, title, icon, url path)."""
FOLDER = "pages"


SCRIPTS = {title: f"{FOLDER}/{script}" for entries in PAGES.values() for script, title, _, _ in entries}
"""Title of a page -> its script."""

OLD_ADDRESSES: dict[str, tuple[str, Mapping[str, str]]] = {
    "start": ("", {}),
    "pool-size": ("sweep", {"preset": "pool-size"}),
}
"""Addresses of earlier versions -> (url path of today, what is added to the query of the link)."""


def navigation(*, hidden: bool = False) -> StreamlitPage:
    """Build the sidebar and return the page to run."""
    sections = {
        section: [
            st.Page(f"{FOLDER}/{script}", title=title, icon=icon, url_path=url or None, default=not url)
            for script, title, icon, url in entries
        ]
        for section, entries in PAGES.items()
    }
    sections[""] += [
        st.Page(_redirect(*there), title="Moved", url_path=old, visibility="hidden")
        for old, there in OLD_ADDRESSES.items()
    ]
    return st.navigation(sections, position="hidden" if hidden else "sidebar", expanded=True)


def _redirect(url_path: str, added: Mapping[str, str]) -> Callable[[], None]:
    """Return the page of an old address: it opens the page of today with the query of the link."""
    script = next(script for entries in PAGES.values() for script, _, _, url in entries if url == url_path)

    def go() -> None:
        asked = {name: st.query_params.get_all(name) for name in st.query_params}
        st.switch_page(f"{FOLDER}/{script}", query_params={**asked, **added})

    return go
