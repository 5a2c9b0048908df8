"""The page Home: the demo, the questions it answers, a log to bring, recent work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.domain.units import DAY_S, HOUR_S, MINUTE_S
from dlsched.figures.base import Chart
from dlsched.figures.palette import Theme
from dlsched.metrics.kpi import KPIS
from dlsched.metrics.money import cost_keys
from dlsched.metrics.summary import Metrics
from dlsched.policies.registry import find, is_known, policy_label
from dlsched.ui.fields.policy_and_params import usual
from dlsched.ui.frame import charts, loaders, run_state, runs_of, session, uploads, writing
from dlsched.ui.frame.caches import shared
from dlsched.ui.frame.navigation import SCRIPTS
from dlsched.ui.frame.parts import mistakes_shown, sentence
from dlsched.ui.frame.text import dollars, safe
from dlsched.ui.home.demo_result import demo_result
from dlsched.ui.scenario import samples, trace_file
from dlsched.ui.simulate import run
from dlsched.ui.simulate.queue import live_queue
from dlsched.wording.caveats import caveats_of
from dlsched.wording.formats import amount

DEMO_POLICIES = ("fifo", "easy-backfill", "sjf", "las")
BEST = "las"
"""The policy of the demo's finding, which the picture shows beside the baseline."""
MOST_SHOWN = 5
GROWTH = 1.3
"""Jobs after the growth asked about, as a multiple of today's."""


# ---- what there is to do -----------------------------------------------------------------------------


def questions(current: Scenario, runs: pd.DataFrame) -> None:
    """Show three questions about a scenario, each with the button that asks it; ``runs``: all of the store."""
    stored = (runs["state"] == "stored") & (runs["scenario_hash"] == current.content_hash)
    compared = first_runs(runs[stored])
    with st.container(key="cards-questions"):
        with _question(
            "How many nodes do I need?", "The cheapest cluster on which 95% of the jobs wait less than 1\u00a0h."
        ):
            if st.button("Find the size", key="ask-size"):
                session.go("Capacity", part="Size")
        if len(compared) > 1:
            words, label = f"{amount(len(compared), 'policy', 'policies')} on these jobs, side by side.", "Compare them"
        else:
            count = amount(len(usual(current)), "policy", "policies")
            words, label = f"{count} recommended for these jobs, side by side.", "Choose policies"
        with _question("Which policy?", words):
            pressed = st.button(label, key="ask-policy")
        if pressed and len(compared) > 1:
            session.tick(compared)
            session.go("Compare")
        elif pressed:
            session.go("Run")
        with _question("What if we grow?", "30% more jobs on the same nodes: waits, late jobs and cost."):
            if st.button("Add 30% more jobs", key="ask-growth"):
                session.go("What if", set=f"demand:{GROWTH}")


def _question(text: str, words: str) -> Any:
    """Return the card of a question."""
    card = st.container(border=True, gap="small")
    card.header(text, anchor=False)
    card.markdown(words)
    return card


def first_runs(runs: pd.DataFrame) -> list[str]:
    """Return the run of the first future of each policy, of a frame of Store.list_runs; none of older versions."""
    now = runs[~runs["stale"].astype(bool)].sort_values(["seed", "created_at"], kind="stable")
    return [str(run) for run in now.drop_duplicates(["policy", "params"])["run_id"]][: session.MAX_TICKED]


def demo_card(*, primary: bool) -> None:
    """Show the bundled demo with its finding, before and after, and the button that runs it."""
    shown = demo_result()
    with st.container(border=True, gap="small"):
        sentence(shown.sentence, caveats_of(session.demo(), map(find, (DEMO_POLICIES[0], BEST))))
        with st.container(horizontal=True, vertical_alignment="center"):
            pressed = writing.button(
                "Run the demo", key="run-demo", type="primary" if primary else "secondary",
                help=f"{amount(len(DEMO_POLICIES), 'policy', 'policies')}, a few seconds; then the comparison opens",
            )  # fmt: skip
            st.markdown("1,200 example jobs on 8 nodes with 8 A100 each.", width="content")
        charts.show(_demo_chart(charts.page_theme()), "demo")
        st.markdown(":gray[LAS needs no run-time estimates: it pauses long jobs, and a pause costs no time here.]")
        if pressed:
            demo = session.demo()
            session.keep(demo)
            run.plan_of(demo, [find(key) for key in DEMO_POLICIES], {}).start()
            st.rerun()


@shared
def _demo_chart(theme: Theme) -> Chart:
    return demo_result().chart(theme)


# ---- ways in -----------------------------------------------------------------------------------------


def drop_zone() -> None:
    """Take a log to the import on Jobs, or open a scenario file."""
    st.header("Your jobs", anchor=False)
    given = writing.uploader(
        "Drop a job log or a scenario file", key="home-drop",
        help="Slurm sacct, SWF, Philly, Helios, Alibaba openb or any table (CSV, JSON, Parquet), also compressed; or a "
        "scenario of this app (.toml, .json). Up to 200 MB, or 512 MB when unpacked. It stays on this host.",
    )  # fmt: skip
    if given is None:
        return
    if is_scenario_file(given.name, given.getvalue()):
        open_scenario(given.getvalue(), given.name)
    else:
        uploads.put(trace_file.DROP, given.name, given.getvalue())
        session.go("Jobs", source="Upload")


def is_scenario_file(name: str, content: bytes) -> bool:
    """Whether a file is a scenario of this app and no job log; a log may be JSON as well."""
    return name.lower().endswith(".toml") or (name.lower().endswith(".json") and b'"format_version"' in content)


def open_scenario(content: bytes, name: str) -> None:
    """Look at the scenario of a file, or say why it cannot be read."""
    from dlsched.workload.scenario_file import read_scenario

    with mistakes_shown():
        session.keep(uploads.read_once(name, uploads.tag_of(content), read_scenario, content))
        session.tick([])
        session.go("Jobs")


def other_ways() -> None:
    """Offer jobs to readers without a log: a mix to describe, and the examples."""
    with st.container(horizontal=True):
        if st.button("Generate jobs", key="start-generate", help="From arrivals, job classes, sizes and due dates"):
            session.go("Jobs", source="Generate")
        with st.popover("Examples", key="start-examples"):
            if st.button("Sample logs", key="start-sample", type="tertiary"):
                session.go("Jobs", source="Sample")
            for sample in samples.OF_STUDIES:
                if st.button(sample.start, key=f"start-{sample.key}", type="tertiary", help=sample.hint):
                    sample.open()


# ---- work under way and work done --------------------------------------------------------------------


def is_busy() -> bool:
    """Whether work is under way, or has ended that the user waits for."""
    return any(not status.state.is_over for status in run_state.own()) or run_state.is_followed()


def running() -> None:
    """Show running work; call it last, it follows the work to its end."""
    st.header("Running", anchor=False)
    live_queue()


@dataclass(frozen=True, slots=True)
class Recent:
    """One line of the recent list: a policy on a scenario, with its numbers; ``run_id`` is its first run in full.

    ``ran_at``: when its last run was stored (UTC).
    """

    run_id: str
    scenario_hash: str
    title: str
    numbers: Sequence[str]
    ran_at: datetime


def recent_of(runs: pd.DataFrame, most: int = session.MAX_TICKED) -> list[Recent]:
    """Return the newest runs of a frame of Store.list_runs, those of one policy as one line.

    Lines after the first :data:`MOST_SHOWN` are not shown, and come without numbers.
    """
    lines: list[Recent] = []
    stored = runs[runs["state"] == "stored"]
    for _, group in stored.groupby(["scenario_hash", "policy", "params"], sort=False):
        own = group[group["code_version"] == group["code_version"].iloc[0]].sort_values("seed", kind="stable")
        row = own.iloc[0]
        version = "" if pd.isna(row["version"]) else f" v{int(row['version'])}"
        facts = _facts(row) if len(lines) < MOST_SHOWN else []
        title = f"{policy_label(str(row['policy']))} on {row['scenario_name']}{version}"
        ran_at = own["created_at"].max().to_pydatetime()
        lines.append(Recent(str(row["run_id"]), str(row["scenario_hash"]), title, facts, ran_at))
        if len(lines) == most:
            break
    return lines


@shared
def _recent(changes: tuple[object, ...]) -> list[Recent]:
    return recent_of(session.listed_runs())


def _facts(row: pd.Series[Any]) -> list[str]:
    """Return wait and cost of a policy as other pages tell them: of the recorded month, else means over futures.

    Of an older version only its run is known. Costs as in :mod:`dlsched.metrics.money`.
    """
    told: Metrics = {key: None if pd.isna(row[key]) else float(row[key]) for key in ("wait_p95", "cost_month")}
    keys = cost_keys(rents=False)
    if not bool(row.get("stale", True)) and is_known(str(row["policy"])):
        (own,) = runs_of.chosen_of([str(row["run_id"])])
        told = runs_of.numbers_of([own]).headline(own.label)
        keys = cost_keys(rents=loaders.scenario_of(str(row["run_id"])).cluster.rents)
    cost = next((key for key in keys if told.get(key) is not None), "")
    price = f"{KPIS[cost].label.lower()} {KPIS['total_cost'].show(told[cost])}" if cost else "no price set"
    return [f"p95 wait {KPIS['wait_p95'].show(told['wait_p95'])}", price]


def age(seconds: float) -> str:
    """Return how long ago something was, in its largest unit."""
    for unit_s, unit in ((DAY_S, "d"), (HOUR_S, "h"), (MINUTE_S, "min")):
        if seconds >= unit_s:
            return f"{int(seconds // unit_s)} {unit} ago"
    return "just now"


def same_question(found: Sequence[Recent]) -> list[Recent]:
    """Return the lines that can be compared with the newest one, oldest first."""
    return [line for line in found if line.scenario_hash == found[0].scenario_hash][::-1] if found else []


def recent(*, primary: bool) -> None:
    """List the newest runs with open and compare."""
    st.header("Recent work", anchor=False)
    lines = _recent((session.runs_state(), session.store().cell_changes, session.store().setting_changes))
    now = datetime.now(UTC).replace(tzinfo=None)
    if not lines:
        st.markdown(":gray[No run yet.]")
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
            told = [*line.numbers, age((now - line.ran_at).total_seconds())]
            st.markdown(f":gray[{dollars(' · '.join(told))}]")
    alike = same_question(lines)
    kind = "primary" if primary else "secondary"
    with st.container(horizontal=True, vertical_alignment="center"):
        if len(alike) > 1 and st.button(f"Compare the {len(alike)}", key="start-compare", type=kind):  # type: ignore[arg-type]
            session.tick([line.run_id for line in alike])
            session.look_at(alike[0].scenario_hash)
            session.go("Compare")
        if st.button("All runs", key="start-history", type="tertiary"):
            session.go("Run", part="History")
