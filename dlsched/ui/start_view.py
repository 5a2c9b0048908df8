"""The Start page: demo, recent runs, what to do next."""

from __future__ import annotations

import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.metrics.formats import money
from dlsched.metrics.kpi import KPIS
from dlsched.policies.registry import find
from dlsched.ui import charts, run_view, session
from dlsched.ui.demo_result import demo_result
from dlsched.ui.parts import sentence
from dlsched.ui.text import safe

DEMO_POLICIES = ("fifo", "easy-backfill", "sjf")
DEMO_DRAWS = 5
STARTERS = (
    ("fifo", "what most clusters do by default; your baseline."),
    ("easy-backfill", "when users state time limits; nobody is delayed by being overtaken."),
    ("las", "when run times are unknown and short jobs should not wait."),
)


def demo_card() -> None:
    """Show the bundled demo with its finding, and the button that runs it."""
    shown = demo_result()
    with st.container(border=True):
        sentence(shown.sentence)
        charts.show(shown.chart(charts.page_theme()), "demo-thumb")
        st.markdown(
            ":orange-badge[example data] 1,200 made-up jobs on 8 nodes with 8 A100 each; three policies, five draws."
        )
        if st.button(
            "Run the demo",
            type="primary",
            key="run-demo",
            help="Three policies, five draws, a few seconds; then the result opens",
        ):
            demo = session.demo()
            session.keep(demo)
            run_view.start(run_view.tasks_of(demo, [find(key) for key in DEMO_POLICIES], {}, DEMO_DRAWS))
            st.rerun()


def other_ways() -> None:
    """Offer the other ways in."""
    with st.container(horizontal=True):
        if st.button("Bring a trace", key="start-upload", help="Philly, Helios, openb, SWF, sacct, CSV, Parquet"):
            session.go("describe/workload.py", source="Upload")
        if st.button("Build a job mix", key="start-generate", help="Arrivals, classes, sizes, due times"):
            session.go("describe/workload.py", source="Generate")
        if st.button("Look at a sample", key="start-sample", help="Small bundled traces"):
            session.go("describe/workload.py", source="Sample")
    with st.expander("Open a scenario file (.json, .toml)"):
        open_file()


def open_file() -> None:
    """Open an uploaded scenario file."""
    from dlsched.ui.parts import mistakes_shown
    from dlsched.workload.scenario_file import read_scenario

    file = st.file_uploader("Scenario file", type=["json", "toml"], key="scenario-file")
    if file is not None and st.button("Open", key="open-scenario"):
        with mistakes_shown():
            session.keep(read_scenario(file.getvalue()))
            session.go("describe/workload.py")


def starter_policies() -> None:
    """Name three policies to begin with, and when to use which."""
    st.subheader("Three policies to begin with", anchor=False)
    for key, when in STARTERS:
        st.markdown(f"**{find(key).label}**: {when}")


def running() -> None:
    """Show running work on top."""
    if any(not status.state.is_over for status in session.runner().status()) or st.session_state.get("batch-open"):
        st.subheader("Running", anchor=False)
        run_view.live_queue()
    if st.session_state.pop("batch-done", None):
        session.go("understand/result.py")


def recent() -> None:
    """List the newest runs with open and compare."""
    st.subheader("Recent runs", anchor=False)
    runs = session.store().list_runs()
    runs = runs[runs["state"] == "stored"].head(5)
    if runs.empty:
        st.markdown("No run yet. The demo takes a few seconds.")
        return
    for row in runs.itertuples():
        numbers = session.store().metrics(str(row.run_id))
        with st.container(horizontal=True, vertical_alignment="center"):
            wait, cost = KPIS["wait_p95"].show(numbers.get("wait_p95")), money(numbers.get("cost_month"))
            text = f"**{safe(find(str(row.policy)).label)}** · {safe(row.scenario_name, 30)} · wait p95 {wait} · {cost}/month"
            st.markdown(text.replace("$", "\\$"))
            if st.button("Open", key=f"open-{row.run_id}", type="tertiary"):
                session.look_at(str(row.scenario_hash))
                session.look_at_run(str(row.run_id))
                session.go("understand/result.py")
    if (
        len(runs) > 1
        and runs["scenario_hash"].nunique() == 1
        and st.button(f"Compare the {len(runs)}", key="start-compare")
    ):
        session.tick(runs["run_id"].tolist()[::-1])
        session.look_at(str(runs["scenario_hash"].iloc[0]))
        session.go("understand/compare.py")


def steps(current: Scenario) -> None:
    """Tick what there is already."""
    runs = session.runs_of(current.content_hash)
    st.subheader("Where you are", anchor=False)
    done = {
        f"Describe: {len(current.workload):,} jobs on {current.cluster.num_nodes:,} nodes": True,
        f"Run: {len(runs)} runs of this scenario": len(runs) > 0,
        "Understand: look at a result, compare policies": len(runs) > 1,
        "Decide: what if, size, report (not in this version)": False,
    }
    for text, is_done in done.items():
        st.markdown(f"{'✅' if is_done else '▫️'} {text}")
