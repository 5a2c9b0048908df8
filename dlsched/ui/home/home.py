"""The page Home: demo, recent runs, other ways in, what there is already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.domain.units import DAY_S, HOUR_S, MINUTE_S
from dlsched.metrics.kpi import KPIS
from dlsched.metrics.money import cost_keys
from dlsched.metrics.summary import Metrics
from dlsched.policies.registry import LABELS, find
from dlsched.ui.frame import charts, loaders, run_state, runs_of, session
from dlsched.ui.frame.navigation import SCRIPTS
from dlsched.ui.frame.parts import mistakes_shown, sentence
from dlsched.ui.frame.scenario_bar import policy_label
from dlsched.ui.frame.text import dollars, safe
from dlsched.ui.home.demo_result import demo_result
from dlsched.ui.scenario import samples
from dlsched.ui.simulate import run
from dlsched.ui.simulate.queue import live_queue
from dlsched.wording.caveats import caveats_of
from dlsched.wording.formats import amount

DEMO_POLICIES = ("fifo", "easy-backfill", "sjf")
STARTERS = (
    ("fifo", "what most clusters do by default; your baseline."),
    ("easy-backfill", "when users state time limits; the first in line is never delayed."),
    ("las", "when run times are unknown and short jobs should not wait."),
)
MOST_SHOWN = 5
DECIDE = ("What if", "Capacity", "Memo")


def demo_card(*, primary: bool) -> None:
    """Show the bundled demo with its finding, and the button that runs it."""
    shown = demo_result()
    with st.container(border=True, gap="small"):
        sentence(shown.sentence, caveats_of(session.demo(), map(find, DEMO_POLICIES)))
        charts.show(shown.chart(charts.page_theme()), "demo-thumb")
        st.markdown(
            "1,200 made-up jobs on 8 nodes with 8 A100 each. "
            "Picture: FIFO, one row a node; blue busy, orange busy past due."
        )
        if st.button(
            "Run the demo", type="primary" if primary else "secondary", key="run-demo",
            help="Three policies, a few seconds; then the comparison opens",
        ):  # fmt: skip
            demo = session.demo()
            session.keep(demo)
            run.plan_of(demo, [find(key) for key in DEMO_POLICIES], {}).start()
            st.rerun()


def other_ways() -> None:
    """Offer the other ways in."""
    with st.container(horizontal=True):
        if st.button("Bring a trace", key="start-upload", help="Philly, Helios, openb, SWF, sacct, CSV, Parquet"):
            session.go("Jobs", source="Upload")
        if st.button("Build a job mix", key="start-generate", help="Arrivals, classes, sizes, due times"):
            session.go("Jobs", source="Generate")
        if st.button("Look at a sample", key="start-sample", help="Small bundled traces"):
            session.go("Jobs", source="Sample")
        for sample in samples.OF_STUDIES:
            if st.button(sample.start, key=f"start-{sample.key}", help=f"A sample: {sample.hint}"):
                sample.open()
        with st.popover("Open a file", key="start-file", help="A scenario file, .json or .toml"):
            open_file()


def open_file() -> None:
    """Open an uploaded scenario file."""
    from dlsched.workload.scenario_file import read_scenario

    file = st.file_uploader("Scenario file (.json, .toml)", type=["json", "toml"], key="scenario-file")
    if file is not None and st.button("Open", key="open-scenario"):
        with mistakes_shown():
            session.keep(read_scenario(file.getvalue()))
            session.look_at_run("")
            session.go("Jobs")


def starter_policies() -> None:
    """Name three policies to begin with, and when to use which."""
    st.subheader("Three policies to begin with", anchor=False)
    st.markdown("\n".join(f"- **{find(key).label}**: {when}" for key, when in STARTERS))


def is_busy() -> bool:
    """Whether work is under way, or has ended that the user waits for."""
    return any(not status.state.is_over for status in run_state.everything()) or run_state.is_followed()


def running() -> None:
    """Show running work; call it last, it follows the work to its end."""
    st.subheader("Running", anchor=False)
    live_queue()


@dataclass(frozen=True, slots=True)
class Recent:
    """One line of the recent list: a policy on a scenario, with its numbers; ``run_id`` is its first run in full."""

    run_id: str
    scenario_hash: str
    title: str
    numbers: str


def recent_of(runs: pd.DataFrame, now: datetime, most: int = session.MAX_TICKED) -> list[Recent]:
    """Return the newest runs of a frame of Store.list_runs, those of one policy as one line."""
    lines = []
    stored = runs[runs["state"] == "stored"]
    for _, group in stored.groupby(["scenario_hash", "policy", "params"], sort=False):
        own = group[group["code_version"] == group["code_version"].iloc[0]].sort_values("seed", kind="stable")
        row = own.iloc[0]
        version = "" if pd.isna(row["version"]) else f" v{int(row['version'])}"
        facts = [*_facts(row), age((now - own["created_at"].max()).total_seconds())]
        title = f"{policy_label(str(row['policy']))} on {row['scenario_name']}{version}"
        lines.append(Recent(str(row["run_id"]), str(row["scenario_hash"]), title, " · ".join(facts)))
        if len(lines) == most:
            break
    return lines


def _facts(row: pd.Series[Any]) -> list[str]:
    """Return wait and cost of a policy as other pages tell them: of the recorded month, else means over futures.

    Of an older version only its run is known. Costs as in :mod:`dlsched.metrics.money`.
    """
    told: Metrics = {key: None if pd.isna(row[key]) else float(row[key]) for key in ("wait_p95", "cost_month")}
    keys = cost_keys(rents=False)
    if not bool(row.get("stale", True)) and row["policy"] in LABELS:
        (own,) = runs_of.chosen_of([str(row["run_id"])])
        told = runs_of.numbers_of([own]).headline(own.label)
        keys = cost_keys(rents=loaders.scenario_of(str(row["run_id"])).cluster.free_slots > 0)
    cost = next((key for key in keys if told.get(key) is not None), "")
    price = f"{KPIS[cost].label.lower()} {KPIS['total_cost'].show(told[cost])}" if cost else "no price set"
    return [f"wait p95 {KPIS['wait_p95'].show(told['wait_p95'])}", price]


def age(seconds: float) -> str:
    """Return how long ago something was, in its largest unit."""
    for unit_s, unit in ((DAY_S, "d"), (HOUR_S, "h"), (MINUTE_S, "min")):
        if seconds >= unit_s:
            return f"{int(seconds // unit_s)} {unit} ago"
    return "just now"


def same_question(found: Sequence[Recent]) -> list[Recent]:
    """Return the lines that can be compared with the newest one, oldest first."""
    return [line for line in found if line.scenario_hash == found[0].scenario_hash][::-1] if found else []


def has_own_runs(runs: pd.DataFrame) -> bool:
    """Whether any stored run is not of the bundled demo."""
    return bool(((runs["state"] == "stored") & (runs["scenario_hash"] != session.demo().content_hash)).any())


def recent(runs: pd.DataFrame, *, primary: bool) -> None:
    """List the newest runs with open and compare."""
    st.subheader("Recent runs", anchor=False)
    lines = recent_of(runs, datetime.now(UTC).replace(tzinfo=None))
    if not lines:
        st.markdown("No run yet. The demo takes a few seconds.")
        return
    with st.container(gap=None, key="recent"):
        for line in lines[:MOST_SHOWN]:
            run = {"scenario": line.scenario_hash[: session.HASH_DIGITS], "run": line.run_id}
            st.page_link(
                SCRIPTS["Run details"],
                label=f":primary[**{safe(line.title, 60)}**]",
                query_params=run,
                help="Open its result",
            )
            st.markdown(f":gray[{dollars(line.numbers)}]")
    alike = same_question(lines)
    kind = "primary" if primary else "secondary"
    if len(alike) > 1 and st.button(f"Compare the {len(alike)}", key="start-compare", type=kind):  # type: ignore[arg-type]
        session.tick([line.run_id for line in alike])
        session.look_at(alike[0].scenario_hash)
        session.go("Compare")


def steps(current: Scenario) -> None:
    """Tick what there is already."""
    runs = session.runs_of(current.content_hash)
    policies = runs.drop_duplicates(["policy", "params"])
    st.subheader("Where you are", anchor=False)
    cluster = current.cluster
    machines = amount(cluster.slots, "free slot") if cluster.free_slots else amount(cluster.num_nodes, "node")
    done = (
        (f"1 Scenario: {amount(len(current.workload), 'job')} on {machines}", True),
        (f"2 Simulate: {amount(len(runs), 'run')} of {amount(len(policies), 'policy', 'policies')}", len(runs) > 0),
        ("3 Results: results to look at and compare", len(policies) > 1),
    )
    lines = [f"{'✅' if is_done else '▫️'} {safe(text)}" for text, is_done in done]
    st.markdown("  \n".join([*lines, "▫️ 4 Plan: what if something changes, and what to hand on"]))
    with st.container(horizontal=True, gap="small"):
        for title in (title for title in DECIDE if title in SCRIPTS):
            st.page_link(SCRIPTS[title], label=title, query_params=session.url_params())
