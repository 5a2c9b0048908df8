"""What no job of a scenario has, each with the rule that fills it by one click."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dlsched.domain.policy import Need
from dlsched.domain.scenario import Scenario
from dlsched.ui.frame import session
from dlsched.ui.frame.parts import mistakes_shown
from dlsched.ui.frame.text import dollars
from dlsched.workload import fill

OFFERS: dict[Need, tuple[str, str, Callable[[Scenario], Scenario]]] = {
    Need.DUE: ("Make due times", "submission + 1 to 3 times the fastest run time, drawn evenly", fill.fill_due),
    Need.WEIGHT: ("Make lateness weights", "$1 per GPU for each hour late", fill.fill_weights),
    Need.PRICE: (
        "Set example prices",
        f"${fill.EXAMPLE_USD_PER_GPU_H:.2f} per GPU-hour, an example and not a quote",
        fill.fill_prices,
    ),
    Need.PRIORITY: ("Make priorities", "smaller jobs first", fill.fill_priorities),
    Need.USER: ("Make users", "8 made-up users, drawn evenly", fill.fill_users),
}


def boxes(scenario: Scenario, *, disabled: bool = False) -> None:
    """Offer a stated rule for each thing that is missing; a click makes a new version with an assumption chip."""
    lacking = fill.missing(scenario)
    if not lacking:
        return
    st.subheader("Not in the data", anchor=False)
    st.markdown(
        ":gray[Only some policies need these. Each click makes a new version and adds its rule to the assumptions.]"
        + (" :orange[Save the cluster first.]" if disabled else "")
    )
    for need, (label, rule, change) in OFFERS.items():
        if need not in lacking:
            continue
        with st.container(horizontal=True, vertical_alignment="center"):
            pressed = st.button(label, key=f"fill-{need.name}", width=190, disabled=disabled)
            st.markdown(dollars(rule))
        if pressed:
            with mistakes_shown():
                session.keep(change(scenario), based_on=scenario.content_hash)
                st.rerun()
