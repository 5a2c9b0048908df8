"""The pages of the app, in the order of the work: scenario, simulate, results, plan; then the lab."""

from __future__ import annotations

import streamlit as st
from streamlit.navigation.page import StreamlitPage

PAGES: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "": (("home/home.py", "Start", "🏁", ""),),
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
        ("plan/pool_size.py", "Pool size", "📐", "pool-size"),
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
