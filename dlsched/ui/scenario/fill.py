"""What no job of a scenario has, each with the rule that fills it by one click."""

from __future__ import annotations

from collections.abc import Callable, Collection

import streamlit as st

from dlsched.domain.errors import validated
from dlsched.domain.policy import Need
from dlsched.domain.scenario import Scenario
from dlsched.ui.frame import session, writing
from dlsched.ui.frame.parts import mistakes_shown
from dlsched.ui.frame.text import dollars
from dlsched.workload.fill import EXAMPLE_USD_PER_CORE_H, EXAMPLE_USD_PER_GPU_H, fill, fill_prices, missing
from dlsched.workload.generators.fill_rules import DueRule, FillRule, LimitRule, PriorityRule, UserRule, WeightRule


def _by(rule: FillRule) -> Callable[[Scenario], Scenario]:
    return lambda scenario: fill(scenario, rule)


OFFERS: dict[Need, tuple[str, str, Callable[[Scenario], Scenario]]] = {
    Need.DUE: (
        "Add example due dates",
        "submission + 1 to 3 times the shortest run time, drawn uniformly",
        _by(DueRule()),
    ),
    Need.WEIGHT: ("Add example lateness costs", "$1 per GPU for each hour late", _by(WeightRule())),
    Need.PRICE: (
        "Set example prices",
        f"${EXAMPLE_USD_PER_GPU_H:.2f} per GPU-hour; an example, not a quote",
        fill_prices,
    ),
    Need.PRIORITY: ("Add example priorities", "smaller jobs first", _by(PriorityRule())),
    Need.USER: ("Add example users", "8 made-up users, drawn uniformly", _by(UserRule())),
}


OF_CLUSTER = (Need.PRICE,)
"""What belongs to the cluster; the rest to the jobs."""


def _of_cores(scenario: Scenario, need: Need) -> str:
    """Return the rule of example prices where nodes without GPUs are priced by their cores; "" elsewhere."""
    kinds = scenario.cluster.vm_types
    if need != Need.PRICE or not any(vm.cpus and not vm.gpus for vm in kinds):
        return ""
    rates = [f"${EXAMPLE_USD_PER_GPU_H:.2f} per GPU-hour"] if any(vm.gpus for vm in kinds) else []
    rates.append(f"${EXAMPLE_USD_PER_CORE_H:.2f} per core-hour of nodes without GPUs")
    return f"{' and '.join(rates)}; an example, not a quote"


def boxes(scenario: Scenario, needs: Collection[Need] = tuple(OFFERS), *, disabled: bool = False) -> None:
    """Offer a stated rule for each of these things that is missing; a click makes a new version with an assumption."""
    lacking = [need for need in missing(scenario) if need in needs]
    if not lacking:
        return
    st.subheader("Missing data", anchor=False)
    st.markdown(
        ":gray[Only some policies need these. Each click makes a new version and adds its rule to the assumptions.]"
        + (" :orange[Save the cluster first.]" if disabled else "")
    )
    for need, (label, rule, change) in OFFERS.items():
        if need not in lacking:
            continue
        with st.container(horizontal=True, vertical_alignment="center"):
            pressed = writing.button(label, key=f"fill-{need.name}", width=240, disabled=disabled)
            st.markdown(dollars(_of_cores(scenario, need) or rule))
        if pressed:
            with mistakes_shown():
                session.keep(change(scenario), based_on=scenario.content_hash)
                st.rerun()


def time_limits(scenario: Scenario) -> None:
    """Offer time limits to jobs that have none; policies that use run times then believe these."""
    if scenario.workload.limit_s is not None:
        return
    with st.expander("Time limits", key="time-limits"):
        st.markdown(
            ":gray[These jobs have no time limits, so policies that use run times are told the true ones. With limits "
            "they believe those, as a scheduler does.]"
        )
        left, right = st.columns(2)
        low = left.number_input("Smallest, times the run time", 1.0, 1000.0, LimitRule().low, key="limit-low",
                                help="A limit is at least this multiple of the run time")  # fmt: skip
        high = right.number_input("Largest, times the run time", 1.0, 1000.0, LimitRule().high, key="limit-high",
                                  help="Limits are drawn uniformly up to this multiple, then rounded up")  # fmt: skip
        if writing.button("Add example time limits", key="fill-limits", help="Makes a new version of the scenario"):
            with mistakes_shown():
                rule = validated(LimitRule, {"low": low, "high": high}, "time limits")
                session.keep(fill(scenario, rule), based_on=scenario.content_hash)
                st.rerun()
