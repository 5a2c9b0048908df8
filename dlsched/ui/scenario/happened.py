"""The part What happened of the page Jobs: waits, hours, cost and idle time of a recorded log; nothing is simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pandas as pd
import streamlit as st
from pandas.api.types import is_numeric_dtype
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.scenario import Scenario
from dlsched.figures.history import queue_over_time, use_over_time, wait_by_month
from dlsched.studies.history import STUDY, History, HistorySpec, spec_of
from dlsched.studies.history.answer import GROUPING_WORDS
from dlsched.studies.history.spec import MOST_USD
from dlsched.studies.history.words import (
    FIT_NOTE,
    SAMPLE,
    capacity_rows,
    cards_of,
    charge_rows,
    idle_rows,
    kind_of,
    longest_rows,
    notes_of,
    outcome_rows,
    outlier_words,
    sentence,
    title_of,
    wait_rows,
)
from dlsched.ui.answers import Answers, Shown
from dlsched.ui.frame import charts
from dlsched.ui.frame.parts import cards, guard_rails, pick
from dlsched.ui.frame.parts import sentence as headline
from dlsched.ui.frame.tables import in_words
from dlsched.ui.frame.text import safe
from dlsched.ui.study_page import bring
from dlsched.wording.cautions import Caution
from dlsched.wording.clock import clock_of

HISTORIES = Answers(STUDY, prefix="happened")
WORK = HISTORIES.work
MOST_ROWS, IN_FULL = 1000, 20


def part(scenario: Scenario) -> dict[str, DeltaGenerator]:
    """Show the part; return where progress goes while it is computed."""
    if not scenario.workload.has_recorded_starts:
        st.markdown("These jobs have no recorded start times, so nothing is known of what happened. **Run** shows what "
                    "would happen.")  # fmt: skip
        return {}
    top, controls, below = st.container(), st.container(horizontal=True), st.container()
    with controls:
        spec = spec_of(scenario, *_prices(scenario))

    def ask() -> None:
        HISTORIES.ask([spec], scenario, "What happened")
        WORK.wait_shortly()

    def show(shown: Shown[HistorySpec, History]) -> None:
        _overview(shown.answer, scenario)
        with below:
            _details(shown.answer, scenario)

    with top:
        return bring(HISTORIES, spec, show, ask)


def _prices(scenario: Scenario) -> tuple[float | None, float | None]:
    """Ask what an hour of a GPU and of a core costs; None: not typed."""
    jobs, tag = scenario.workload, scenario.content_hash[:8]
    gpu_usd = core_usd = None
    if jobs.gpus.any():
        gpu_usd = st.number_input("Price ($ per GPU-hour)", 0.0, MOST_USD, None, key=f"happened-price-{tag}", width=220,
                                  placeholder="of the node types", help="Empty: the prices of the cluster's node "
                                  "types; without them an example price")  # fmt: skip
    if (jobs.gpus == 0).any():
        core_usd = st.number_input("Price ($ per core-hour)", 0.0, MOST_USD, None, key=f"happened-core-{tag}",
                                   width=220, placeholder="of the node types",
                                   help="For jobs without GPUs")  # fmt: skip
    return gpu_usd, core_usd


def _overview(answer: History, scenario: Scenario) -> None:
    """Show the sentence, the cards, and use and queue over time."""
    clock, theme = clock_of(scenario.workload), charts.page_theme()
    if answer.is_sample:
        guard_rails([Caution("orange", f"{SAMPLE}: idle hours and queues say nothing about the cluster.",
                             "Export all jobs of all users")])  # fmt: skip
    headline(sentence(answer), ())
    cards(cards_of(answer))
    left, right = st.columns(2)
    with left:
        charts.show(use_over_time(answer, theme, clock), "happened-use")
    with right:
        charts.show(queue_over_time(answer, theme, clock), "happened-queue")


def _details(answer: History, scenario: Scenario) -> None:
    """Show waits and cost by group, what stood idle while jobs waited, the longest waits, and what must be known."""
    clock = clock_of(scenario.workload)
    _groups(answer)
    charts.show(wait_by_month(answer, charts.page_theme()), "happened-months")
    if words := outlier_words(answer, clock):
        st.subheader("Idle while jobs waited", anchor=False)
        st.markdown(f"{safe(words, 600)} :gray[{FIT_NOTE}]")
        if answer.worst:
            _table(idle_rows(answer, clock), "happened-idle", "Times with most idle beside jobs that waited")
    if answer.unusual_months:
        months = safe(", ".join(answer.unusual_months), 300)
        st.markdown(f"Unusual use, over 2x or under half of a usual month: {months}.")
    left, right = st.columns(2)
    with left:
        st.subheader("Longest waits", anchor=False)
        _table(longest_rows(answer, clock), "happened-longest", "Jobs that waited longest")
    with right:
        st.subheader("How jobs ended", anchor=False)
        _table(outcome_rows(answer), "happened-outcomes", "Jobs and hours by recorded outcome")
        if answer.capacity and not answer.is_sample:
            st.subheader("Use of the cluster", anchor=False)
            _table(capacity_rows(answer), "happened-capacity", "Hours of the cluster that there were, used and idle")
    st.markdown(f":gray[{safe(' '.join(notes_of(answer, clock)), 2000)}]")


def _groups(answer: History) -> None:
    """Show waits and the chargeback table by what the reader chooses."""
    if not answer.groups:
        return
    names = {by: GROUPING_WORDS[by].capitalize() for by in answer.groups}
    by = pick("By", names, "happened-by")
    word = GROUPING_WORDS[by]
    st.subheader(f"Waits by {word}", anchor=False)
    _table(wait_rows(answer, by), f"happened-waits-{by}", f"Waits by {word}, most hours first")
    st.subheader(f"Hours and cost by {word}", anchor=False)
    _table(charge_rows(answer, by), f"happened-cost-{by}", f"Hours used and their cost by {word}, with the total")


def _table(rows: Sequence[Mapping[str, Any]], key: str, alt: str) -> None:
    """Show rows, numbers as their columns say, with the CSV of all of them."""
    frame = pd.DataFrame(rows)
    shown = frame if len(frame) <= MOST_ROWS else pd.concat([frame.head(MOST_ROWS - 5), frame.tail(5)])
    kinds = {title_of(str(name)): kind_of(str(name)) for name in frame if is_numeric_dtype(frame[name])}
    named = in_words(shown.rename(columns=lambda name: title_of(str(name))), kinds)
    height: Literal["content", "auto"] = "content" if len(shown) <= IN_FULL else "auto"
    st.dataframe(named, hide_index=True, key=f"{key}-table", alt=alt, placeholder="–", height=height)
    charts.csv_button(frame, key, "Download all rows")
