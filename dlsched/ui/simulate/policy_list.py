"""Choose policies: by what the user wants, with what each must know, what it lacks and the way to it."""

from __future__ import annotations

import streamlit as st

from dlsched.domain.policy import Need, PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import POLICIES, unmet_needs
from dlsched.ui.fields.policy_and_params import books_slots, has_curves, has_servers, is_rented, usual
from dlsched.ui.frame import session
from dlsched.ui.frame.navigation import SCRIPTS
from dlsched.ui.frame.parts import mistakes_shown
from dlsched.ui.frame.text import dollars, safe
from dlsched.ui.scenario import drawn
from dlsched.ui.scenario.fill import OFFERS
from dlsched.workload import fill

GROUP_TITLES = {
    "everyday": "Everyday",
    "elastic": "Elastic: change the width",
    "pay less": "Pay less",
    "who gets in": "Who gets in",
}


def choose(scenario: Scenario) -> list[PolicySpec]:
    """Show the policies by what the user wants and return the ticked ones, found by the search or not."""
    wanted = st.text_input("Search policies", key="policy-search", placeholder="backfill, due, fair …").lower()
    ticked: list[PolicySpec] = []
    shown = 0
    first = _first_group(scenario)
    for group, title in sorted(GROUP_TITLES.items(), key=lambda item: item[0] != first):
        specs = [spec for spec in POLICIES if spec.group == group]
        lacks = {spec.key: unmet_needs(spec, scenario) for spec in specs}
        matching = [spec for spec in specs if _matches(spec, wanted)]
        shown += len(matching)
        told = _lacked_by_all([lacks[spec.key] for spec in matching])
        if matching:
            st.subheader(title, anchor=False)
        with st.container(gap="xsmall"):
            if told:
                _way_to(group, told, scenario)
            if group == "elastic" and matching and scenario.speed.kind == "rigid":
                st.markdown(
                    ":orange[Every job has one fixed width here: these policies can only choose the order. Choose a "
                    "scaling law under the rules below, or a curve on Speed-up.]"
                )
            family, told_here = "", told
            for spec in specs:
                if spec in matching and spec.family != family:
                    family = spec.family
                    told_here = told + _told_of_family(family, matching, lacks, told, scenario)
                if spec in matching:
                    is_ticked = _offer(spec, scenario, lacks[spec.key], told_here)
                else:
                    is_ticked = _is_ticked(spec, scenario, lacks[spec.key])
                ticked += [spec] if is_ticked else []
    if not shown:
        st.markdown(f"No policy matches “{safe(wanted)}”.")
    return ticked


def _told_of_family(
    family: str, specs: list[PolicySpec], lacks: dict[str, tuple[Need, ...]], told: tuple[Need, ...], scenario: Scenario
) -> tuple[Need, ...]:
    """Say what all policies of a family lack beyond what is told of their group; return it."""
    of_all = _lacked_by_all([lacks[spec.key] for spec in specs if spec.family == family])
    own = tuple(need for need in of_all if need not in told)
    if own:
        _way_to(family, own, scenario, rest=told)
    return own


def _first_group(scenario: Scenario) -> str:
    if has_servers(scenario):
        return "who gets in"
    return "pay less" if is_rented(scenario) else "elastic" if has_curves(scenario) else "everyday"


def _lacked_by_all(lacks: list[tuple[Need, ...]]) -> tuple[Need, ...]:
    """Return the needs that no policy of a group of several has met, to be told once."""
    if len(lacks) < 2:
        return ()
    return tuple(need for need in lacks[0] if all(need in other for other in lacks))


def _offer(spec: PolicySpec, scenario: Scenario, lacks: tuple[Need, ...], told: tuple[Need, ...]) -> bool:
    """Show one policy: tick box, what it does, what it must know; or what it lacks beyond what is told already."""
    box, words = st.columns([2, 7], vertical_alignment="top", gap="small")
    ticked = box.checkbox(
        spec.label, value=spec.key in usual(scenario) and not lacks, disabled=bool(lacks),
        key=_tick_key(spec, scenario, lacks), help=dollars(spec.paper) or None,
    )  # fmt: skip
    own = tuple(need for need in lacks if need not in told)
    with words:
        st.markdown(f"{dollars(spec.summary)} :gray[Knows {spec.knows}.]")
        if own:
            _way_to(spec.key, own, scenario, rest=told)
    return ticked and not lacks


def _tick_key(spec: PolicySpec, scenario: Scenario, lacks: tuple[Need, ...]) -> str:
    kinds = {"-rented": is_rented, "-slots": books_slots, "-servers": has_servers, "-curves": has_curves}
    kind = next((name for name, holds in kinds.items() if holds(scenario)), "")
    return f"policy-{spec.key}-{bool(lacks)}{kind}"


def _is_ticked(spec: PolicySpec, scenario: Scenario, lacks: tuple[Need, ...]) -> bool:
    return not lacks and bool(st.session_state.get(_tick_key(spec, scenario, lacks), spec.key in usual(scenario)))


def _way_to(whose: str, lacks: tuple[Need, ...], scenario: Scenario, rest: tuple[Need, ...] = ()) -> None:
    """Say what a policy or a whole group lacks and offer to fill it by its stated rule, or name the page for it.

    ``rest`` is lacked too, but told elsewhere.
    """
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f":orange[Needs {' and '.join(need.value for need in lacks)}.]", width="content")
        for need in lacks:
            if need in OFFERS:
                label, rule, change = OFFERS[need]
                if st.button(label, key=f"fill-{whose}-{need.name}", type="tertiary", help=dollars(rule)):
                    with mistakes_shown():
                        session.keep(change(scenario), based_on=scenario.content_hash)
                        st.rerun()
            elif need in (Need.FREE_SLOTS, Need.FIXED_NODES):
                st.page_link(SCRIPTS["Cluster"], label="Change on Cluster", query_params=session.url_params())
            elif need is Need.SPEED:
                st.markdown("Choose a scaling law under the rules below.", width="content")
            elif need is Need.POOL:
                _to_pool(whose, scenario)
            elif need in (Need.SERVERS, Need.UTILITY):
                _to_servers(whose, need, (*lacks, *rest), scenario)
            elif need is Need.OWN_STEPS:
                _to_own_steps(whose)
            elif need is Need.SHORT_RESTARTS:
                st.markdown("Set shorter restarts under the rules below.", width="content")


def _to_pool(whose: str, scenario: Scenario) -> None:
    """Offer to take all nodes together; free slots first need to become fixed nodes."""
    if scenario.cluster.free_slots:
        st.page_link(SCRIPTS["Cluster"], label="Change to fixed nodes on Cluster", query_params=session.url_params())
        return
    rule = "only the total of all nodes limits jobs: a job may be split over nodes at will, and waits come out short"
    if st.button("Take the nodes together", key=f"fill-{whose}-POOL", type="tertiary", help=rule):
        options = scenario.options.model_copy(update={"placement": "pool"})
        session.keep(scenario.replace(options=options), based_on=scenario.content_hash)
        st.rerun()


def _to_servers(whose: str, need: Need, lacks: tuple[Need, ...], scenario: Scenario) -> None:
    """Offer to use the times of training steps where jobs have them, else to draw jobs with servers and utilities."""
    if need is Need.SERVERS and fill.has_step_times(scenario.workload):
        label, rule = "Use the times of training steps", fill.STEP_TIMES_RULE
        if st.button(label, key=f"fill-{whose}-SERVERS", type="tertiary", help=rule):
            with mistakes_shown():
                session.keep(fill.use_step_times(scenario), based_on=scenario.content_hash)
                st.rerun()
        return
    if need is Need.UTILITY and Need.OWN_STEPS in lacks:
        return  # one way out for both
    if need is Need.UTILITY and Need.SERVERS in lacks and not fill.has_step_times(scenario.workload):
        return  # one way out for both
    if st.button(
        "Draw jobs that have them", key=f"fill-{whose}-{need.name}", type="tertiary",
        help="Opens the page Workload: jobs with workers, parameter servers and utilities",
    ):  # fmt: skip
        drawn.open_form(drawn.SERVERS)


def _to_own_steps(whose: str) -> None:
    """Offer to draw jobs whose steps do not depend on the number of workers."""
    if st.button(
        "Draw jobs that book machines", key=f"fill-{whose}-OWN_STEPS", type="tertiary",
        help="Opens the page Workload: jobs whose workers make steps on their own, as the PD-ORS study has them. "
        "Jobs of a file need asynchronous updates, and steps of step_s and spread_s only",
    ):  # fmt: skip
        drawn.open_form(drawn.SLOTTED)


def _matches(spec: PolicySpec, wanted: str) -> bool:
    return not wanted or wanted in f"{spec.key} {spec.label} {spec.summary} {spec.knows} {spec.paper}".lower()
