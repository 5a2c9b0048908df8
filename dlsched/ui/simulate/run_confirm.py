"""Start a batch; one that takes long is asked about first."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.runner.background import RunTask
from dlsched.ui.frame import run_state, session
from dlsched.ui.simulate.run_view import ASK_ABOVE_S, LEAST_JOBS_FOR_TENTH, Expected, first_tenth
from dlsched.wording.formats import amount, duration


def facts(expected: Expected, num_tasks: int) -> str:
    """Return what a batch will take, in words."""
    if not num_tasks:
        return "tick at least one policy"
    parts = []
    if num_tasks > expected.stored:
        parts.append(f"about {duration(expected.seconds)}")
    if expected.stored:
        parts.append(f"{expected.stored} of {num_tasks} answered from the store")
    return ", ".join(parts)


def start_or_ask(scenario: Scenario, tasks: list[RunTask], expected: Expected) -> None:
    """Start the tasks, or ask first when they take over a minute."""
    if expected.seconds > ASK_ABOVE_S:
        _ask(scenario, tasks, expected)
    else:
        run_state.start(tasks)
        st.rerun()


@st.dialog("This takes a while")
def _ask(scenario: Scenario, tasks: list[RunTask], expected: Expected) -> None:
    cores = amount(expected.cores, "core")
    st.markdown(
        f"About **{duration(expected.seconds)}** on {cores} for {amount(len(tasks), 'run')}. "
        "You can leave the page or cancel; finished runs are kept."
    )
    with st.container(horizontal=True):
        if st.button("Run all of it", type="primary", key="ask-run"):
            run_state.start(tasks)
            st.rerun()
        tenth = st.button(
            "Try a tenth of the jobs", key="ask-tenth", disabled=len(scenario.workload) < LEAST_JOBS_FOR_TENTH,
            help="The first tenth by submission, as a scenario of its own",
        )  # fmt: skip
        if tenth:
            part = first_tenth(scenario)
            session.keep(part)
            run_state.start([replace(task, scenario=part) for task in tasks])
            st.rerun()
        if st.button("Not now", key="ask-back"):
            st.rerun()
