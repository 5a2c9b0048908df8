"""The part Inside of Run details: the decisions of a run, where its policy has a view into them; demos of such runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from dlsched.ui.frame import session, writing
from dlsched.ui.results.admissions import ADMISSIONS, admissions_part
from dlsched.ui.results.decision_inspector import Inspector, OpenedRun
from dlsched.ui.results.dual_prices import DUAL_PRICES, dual_prices_part
from dlsched.ui.results.look_ahead import LOOK_AHEAD, look_ahead_part

INSPECTORS: Mapping[Inspector[Any], Callable[[OpenedRun], None]] = {
    LOOK_AHEAD: look_ahead_part,
    ADMISSIONS: admissions_part,
    DUAL_PRICES: dual_prices_part,
}


def part_of(policy: str) -> Callable[[OpenedRun], None] | None:
    """Return what shows the decisions of runs of a policy; None if nothing does."""
    return next((show for one, show in INSPECTORS.items() if policy in one.policies), None)


def demos() -> None:
    """Say that no run here can be looked into, offer samples of three kinds that can, and show them under way."""
    for one in INSPECTORS:
        work = one.answers.work
        if statuses := work.under_way():
            work.follow(work.board(statuses))
        if work.ended():
            work.show_ended()
    with st.container(border=True):
        st.markdown(
            "No run of this scenario shows how its policy decided. Policies that plan ahead, admit jobs or set prices "
            "do. Run one of them here, or open a sample:"
        )
        with st.container(horizontal=True, gap="small"):
            for one in INSPECTORS:
                writing.button(
                    one.run_demo, key=f"{one.answers.key}-empty", help=one.demo_help, on_click=one.start_demo
                )
            st.space("stretch")
            if st.button("Choose a policy", type="primary", key="inside-run"):
                session.go("Run")
