"""The pages of the app, in the order of the work: scenario, simulate, results, plan; then the lab."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st
from streamlit.navigation.page import StreamlitPage

PAGES: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "": (("home/home.py", "Home", "home", ""),),
    "Scenario": (
        ("scenario/workload.py", "Workload", "table_rows", "workload"),
        ("scenario/cluster.py", "Cluster", "dns", "cluster"),
        ("scenario/catalogue.py", "Catalogue", "sell", "catalogue"),
    ),
    "Simulate": (("simulate/run.py", "Run", "play_arrow", "run"), ("simulate/runs.py", "Runs", "history", "runs")),
    "Results": (
        ("results/result.py", "Result", "monitoring", "result"),
        ("results/compare.py", "Compare", "compare_arrows", "compare"),
        ("results/look_ahead.py", "Look-ahead", "visibility", "look-ahead"),
        ("results/admissions.py", "Admissions", "door_open", "admissions"),
        ("results/dual_prices.py", "Prices and admissions", "payments", "prices"),
    ),
    "Plan": (
        ("plan/what_if.py", "What if", "alt_route", "whatif"),
        ("plan/sweep.py", "Sweep", "stacked_line_chart", "sweep"),
        ("plan/size.py", "Size", "straighten", "size"),
        ("plan/report.py", "Report", "description", "report"),
    ),
    "Lab": (
        ("lab/throughput.py", "Throughput", "speed", "throughput"),
        ("lab/training_time.py", "Training time", "timer", "training-time"),
        ("lab/parameter_servers.py", "Parameter servers", "calculate", "parameter-servers"),
        ("lab/steady_state.py", "Steady state", "anchor", "steady-state"),
        ("lab/reproductions.py", "Reproductions", "fact_check", "reproductions"),
    ),
    "Help": (("help/glossary.py", "Glossary", "menu_book", "glossary"),),
}
"""Section -> (script below FOLDER, title, Material symbol, url path)."""
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
            st.Page(f"{FOLDER}/{script}", title=title, icon=f":material/{icon}:", url_path=url or None, default=not url)
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
