"""The pages of the app, in the order of the work: describe, run, understand, decide; then what lies behind."""

from __future__ import annotations

import streamlit as st
from streamlit.navigation.page import StreamlitPage

PAGES: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "": (("start/start.py", "Start", "🏁", ""),),
    "Describe": (
        ("describe/workload.py", "Workload", "📥", "workload"),
        ("describe/cluster.py", "Cluster", "🖥️", "cluster"),
        ("describe/catalogue.py", "Catalogue", "🏷️", "catalogue"),
    ),
    "Run": (("run/run.py", "Run", "▶️", "run"), ("run/runs.py", "Runs", "🗂️", "runs")),
    "Understand": (
        ("understand/result.py", "Result", "📊", "result"),
        ("understand/compare.py", "Compare", "⚖️", "compare"),
    ),
    "Decide": (
        ("decide/what_if.py", "What if", "🔀", "whatif"),
        ("decide/sweep.py", "Sweep", "🌊", "sweep"),
        ("decide/size.py", "Size", "📏", "size"),
        ("decide/report.py", "Report", "📝", "report"),
    ),
    "How jobs speed up": (
        ("speed_up/throughput.py", "Throughput", "📈", "throughput"),
        ("speed_up/training_time.py", "Training time", "⏱️", "training-time"),
        ("speed_up/parameter_servers.py", "Parameter servers", "🧮", "parameter-servers"),
        ("speed_up/steady_state.py", "Steady state", "⚓", "steady-state"),
    ),
    "Inside the policies": (
        ("inside/look_ahead.py", "Look-ahead", "🔭", "look-ahead"),
        ("inside/admissions.py", "Admissions", "🚪", "admissions"),
        ("inside/prices.py", "Prices and admissions", "💰", "prices"),
        ("inside/pool_size.py", "Pool size", "📐", "pool-size"),
        ("inside/reproductions.py", "Reproductions", "🔁", "reproductions"),
    ),
    "Help": (("help/glossary.py", "Glossary", "📖", "glossary"),),
}
"""Section -> (script below FOLDER, title, icon, url path)."""
FOLDER = "pages"


SCRIPTS = {title: f"{FOLDER}/{script}" for entries in PAGES.values() for script, title, _, _ in entries}
"""Title of a page -> its script."""


def navigation(*, hidden: bool = False) -> StreamlitPage:
    """Build the sidebar and return the page to run."""
    sections = {
        section: [
            st.Page(f"{FOLDER}/{script}", title=title, icon=icon, url_path=url or None, default=not url)
            for script, title, icon, url in entries
        ]
        for section, entries in PAGES.items()
    }
    return st.navigation(sections, position="hidden" if hidden else "sidebar", expanded=True)
