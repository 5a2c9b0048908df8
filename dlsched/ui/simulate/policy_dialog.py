"""All policies in a dialog: those that can run by what they are for, the others by what they lack and the way to it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dlsched.domain.policy import Need, PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import policies, problems, unmet_needs
from dlsched.ui.fields.policy_and_params import usual
from dlsched.ui.frame import session, writing
from dlsched.ui.frame.navigation import SCRIPTS
from dlsched.ui.frame.parts import mistakes_shown
from dlsched.ui.frame.text import dollars, safe
from dlsched.ui.scenario import drawn
from dlsched.ui.scenario.fill import OFFERS
from dlsched.ui.simulate.policy_cards import needs_words, tick
from dlsched.ui.simulate.policy_choice import chosen
from dlsched.wording.counted import counted_of
from dlsched.wording.formats import amount, listed
from dlsched.workload import fill

GROUP_TITLES = {
    "everyday": "Everyday",
    "elastic": "Elastic jobs (change GPU count while running)",
    "pay less": "Rent as cheaply as possible",
    "admission": "Admission control",
}


@st.dialog("More policies", width="large", on_dismiss="rerun")
def dialog(scenario: Scenario) -> None:
    """Show all policies over the page."""
    content(scenario)


def content(scenario: Scenario) -> None:
    """Show behind one line the policies that cannot run, then those that can with their ticks, then broken plug-ins."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        wanted = st.text_input(
            "Search policies", key="policy-search", placeholder="backfill, due dates, fair …"
        ).lower()
        if st.button("Done", type="primary", key="policies-done"):
            st.rerun()
    own, ticked, every = usual(scenario), chosen(scenario), policies()
    able = [spec for spec in every if not unmet_needs(spec, scenario)]
    found = [spec for spec in able if matches(spec, wanted)]
    lacking = [spec for spec in every if spec not in able and matches(spec, wanted)]
    if lacking:
        need = "needs" if len(lacking) == 1 else "need"
        line = f"{amount(len(lacking), 'policy', 'policies')} {need} data that this scenario lacks"
        with st.expander(line, key="lacking"):
            for lacks, specs in by_needs(lacking, scenario).items():
                _way_to(specs, lacks, scenario)
    for group, title in GROUP_TITLES.items():
        specs = [spec for spec in found if spec.group == group]
        if specs:
            st.subheader(title, anchor=False)
        if specs and group == "elastic" and scenario.speed.kind == "rigid":
            st.markdown(
                counted_of(scenario).say(
                    ":orange[Every job has a fixed number of GPUs here, so these policies only choose the order. "
                    "Choose a scaling law in the rules of the simulation.]"
                )
            )
        for spec in specs:
            box, words = st.columns([2, 7], vertical_alignment="top", gap="small")
            with box:
                tick(spec, own, is_on=spec in ticked, key=f"more-{spec.key}")
            words.markdown(f"{dollars(spec.summary)} :gray[{needs_words(spec)}]")
    if not found:
        st.markdown(f"No policy that can run here matches “{safe(wanted)}”.")
    if broken := problems():
        with st.expander(f"{amount(len(broken), 'plug-in')} cannot be used", key="broken-plugins"):
            for problem in broken:
                st.markdown(f"**{safe(problem.where)}**: {safe(problem.why, 400)}")


def matches(spec: PolicySpec, wanted: str) -> bool:
    """Whether a policy is found by what was typed, in lower case."""
    return wanted in f"{spec.key} {spec.label} {spec.summary} {spec.knows} {spec.paper} {spec.origin}".lower()


def by_needs(specs: Sequence[PolicySpec], scenario: Scenario) -> dict[tuple[Need, ...], list[PolicySpec]]:
    """Return policies by what they lack, those that lack least first."""
    groups: dict[tuple[Need, ...], list[PolicySpec]] = {}
    for spec in specs:
        groups.setdefault(unmet_needs(spec, scenario), []).append(spec)
    return dict(sorted(groups.items(), key=lambda group: len(group[0])))


# ---- the way to what is lacking ----------------------------------------------------------------------


def _way_to(specs: Sequence[PolicySpec], lacks: tuple[Need, ...], scenario: Scenario) -> None:
    """Say what some policies lack and offer to fill it by its stated rule, or name the page for it."""
    key = specs[0].key
    st.markdown(f"**{listed([spec.label for spec in specs])}**: {listed([need.value for need in lacks])}.")
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"ways-{key}"):
        for need in lacks:
            if need in OFFERS:
                label, rule, change = OFFERS[need]
                if writing.button(label, key=f"fill-{key}-{need.name}", help=dollars(rule)):
                    with mistakes_shown():
                        session.keep(change(scenario), based_on=scenario.content_hash)
                        st.rerun()
            elif need in (Need.FREE_SLOTS, Need.FIXED_NODES, Need.ALWAYS_THERE):
                st.page_link(SCRIPTS["Cluster"], label="Change on Cluster", query_params=session.url_params())
            elif need is Need.SPEED:
                st.markdown("Choose a scaling law in the rules of the simulation.", width="content")
            elif need is Need.POOL:
                _to_pool(key, scenario)
            elif need is Need.SERVERS:
                _to_servers(key, lacks, scenario)
            elif need is Need.UTILITY and not {Need.SERVERS, Need.OWN_STEPS} & {*lacks}:
                _draw_jobs(f"fill-{key}-UTILITY")  # else one way out for all of them
            elif need is Need.OWN_STEPS:
                _to_own_steps(key)
            elif need is Need.SHORT_RESTARTS:
                st.markdown("Set shorter restarts in the rules of the simulation.", width="content")


def _to_pool(key: str, scenario: Scenario) -> None:
    """Offer to treat all nodes as one pool; machines rented on demand first need to become owned nodes."""
    if scenario.cluster.free_slots:
        st.page_link(SCRIPTS["Cluster"], label="Change to owned nodes on Cluster", query_params=session.url_params())
        return
    rule = "Only the total of all nodes limits jobs: a job may be split over nodes at will, so waits come out short"
    if writing.button("Treat nodes as one pool", key=f"fill-{key}-POOL", help=rule):
        options = scenario.options.model_copy(update={"placement": "pool"})
        session.keep(scenario.replace(options=options), based_on=scenario.content_hash)
        st.rerun()


def _to_servers(key: str, lacks: tuple[Need, ...], scenario: Scenario) -> None:
    """Offer to use the times of training steps where jobs have them, else example jobs with servers and utilities."""
    if fill.has_step_times(scenario.workload):
        if writing.button("Use the times of training steps", key=f"fill-{key}-SERVERS", help=fill.STEP_TIMES_RULE):
            with mistakes_shown():
                session.keep(fill.use_step_times(scenario), based_on=scenario.content_hash)
                st.rerun()
    elif Need.OWN_STEPS not in lacks:
        _draw_jobs(f"fill-{key}-SERVERS")


def _draw_jobs(key: str) -> None:
    if st.button("Use example jobs", key=key, help="Opens Jobs: workers, parameter servers and utilities"):
        drawn.open_form(drawn.SERVERS)


def _to_own_steps(key: str) -> None:
    """Offer to draw jobs whose steps do not depend on the number of workers."""
    if st.button(
        "Use example jobs that book machines", key=f"fill-{key}-OWN_STEPS",
        help="Opens Jobs: jobs whose workers make steps on their own, as in the PD-ORS study. "
        "Jobs of a file need asynchronous updates, and steps of step_s and spread_s only",
    ):  # fmt: skip
        drawn.open_form(drawn.SLOTTED)
