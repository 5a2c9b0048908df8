"""The row above the answer of What if: what runs today, what happens, what is chosen; each can be removed."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find, unmet_needs
from dlsched.studies.design import Variant, factor_of
from dlsched.studies.what_if import WhatIfSpec, conditions, moved
from dlsched.studies.what_if.answer import Moved
from dlsched.studies.what_if.words import moved_words
from dlsched.ui.fields.policy_and_params import policy_field, say_todays_policy, todays_policy
from dlsched.ui.frame import identity, session, writing
from dlsched.ui.frame.text import dollars, safe
from dlsched.ui.plan import what_if_form as form
from dlsched.ui.plan import what_if_state as state

EVERYDAY = ("easy-backfill", "las", "sjf", "fifo")
"""Policies that are suggested, in this order, where they are not the present one."""


def changes_row(spec: WhatIfSpec, scenario: Scenario) -> tuple[DeltaGenerator, DeltaGenerator]:
    """Show what is compared: the policy of today, then "With: ..." and "Option: ...", suggestions where there is none.

    Returns the places at its end: for what can be done with the answer, and for the answers that were kept.
    """
    happens, chosen = conditions(spec, scenario), moved(spec, scenario)
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="whatif-row"):
        _today(spec, scenario)
        if happens:
            _chips("With:", happens)
        if chosen:
            _chips("Option:", chosen)
        else:
            tried = "Option: **do nothing**. :gray[Or try]" if happens else ":gray[No changes yet. Try]"
            st.markdown(tried, width="content")
            _suggestions(spec, scenario, conditions_too=not happens)
        st.space("stretch")
        st.button("Undo", key="whatif-undo", on_click=state.undo, disabled=not state.can_undo(),
                  help="Back to the previous question", type="tertiary")  # fmt: skip
        st.button("Reset", key="whatif-reset", on_click=state.reset, disabled=not (happens or chosen), type="tertiary",
                  help="Remove all changes; the futures stay")  # fmt: skip
        return st.container(width="content"), st.container(width="content")


def _chips(heading: str, changes: Sequence[Moved]) -> None:
    st.markdown(f"**{heading}**", width="content")
    for one in changes:
        words = dollars(safe(moved_words(one), 60))
        st.button(f"{words} ✕", key=f"whatif-drop-{one.key}", on_click=_drop, args=(one.key,),
                  help="Remove this change")  # fmt: skip


def _drop(key: str) -> None:
    spec = state.now()
    if key == "policy":
        form.set_policy(spec.baseline.policy)
    elif key.startswith("param."):
        name, params = key.removeprefix("param."), dict(spec.changed.params)
        params.pop(name, None)
        if spec.changed.policy == spec.baseline.policy and name in spec.baseline.params:
            params[name] = spec.baseline.params[name]
        state.put_changed(params=params)
    else:
        form.set_change(key, None)


# ---- the policy of today -----------------------------------------------------------------------------


def baseline_words(spec: WhatIfSpec, scenario: Scenario) -> str:
    """Return how the policy of the baseline is called: today's only where the reader has said so."""
    said, label = todays_policy(scenario), find(spec.baseline.policy).label
    if said is None:
        return f"Today: {label}, assumed"
    return f"Today: {label}" if said == spec.baseline else f"Compared with {label}"


def _today(spec: WhatIfSpec, scenario: Scenario) -> None:
    """Show what all is compared with, and let the reader say which policy runs today: once a scenario."""
    with st.popover(safe(baseline_words(spec, scenario), 60), key="whatif-today",
                    help="The policy that runs now, on the cluster as it is"):  # fmt: skip
        label = safe(find(spec.baseline.policy).label)
        if todays_policy(scenario) is None:
            st.markdown(f"Which policy runs today is not known; {label} is assumed.")
        st.session_state["whatif-baseline"] = spec.baseline.policy
        policy_field(scenario, "whatif-baseline", "Which policy runs today?", keep=spec.baseline.policy,
                     on_change=lambda: _say(Variant(policy=str(st.session_state["whatif-baseline"]))))  # fmt: skip
        if todays_policy(scenario) != spec.baseline:
            writing.button(f"{label} runs today", key="whatif-say-today", on_click=_say, args=(spec.baseline,),
                      help="Saved with this scenario; What if and Capacity start from it")  # fmt: skip


def _say(variant: Variant) -> None:
    if identity.may_write():
        say_todays_policy(session.scenario(), variant)
    state.put_baseline(variant)


# ---- suggestions -------------------------------------------------------------------------------------


def _suggestions(spec: WhatIfSpec, scenario: Scenario, *, conditions_too: bool) -> None:
    nodes = next((key for key in form.usual_keys(scenario) if key.startswith("nodes")), None)
    if nodes is not None:
        kind = nodes.partition(".")[2]
        now = factor_of(scenario, nodes).own(scenario)
        st.button(f"+1 {safe(kind, 20)} node" if kind else "+1 node", key="whatif-try-nodes", type="primary",
                  on_click=form.set_change, args=(nodes, int(now or 0) + 1),
                  help="One more node, same jobs")  # fmt: skip
    if conditions_too:
        st.button("30% more jobs", key="whatif-try-demand", on_click=form.set_change,
                  args=("demand", 1.3), help="1.3 times as many jobs over the same time")  # fmt: skip
    if scenario.cluster.rents_nodes:
        _rental_suggestions(scenario)
    other = next((key for key in EVERYDAY if key != spec.baseline.policy and not unmet_needs(find(key), scenario)), "")
    if other:
        st.button(find(other).label, key="whatif-try-policy", on_click=form.set_policy, args=(other,),
                  help=dollars(find(other).summary))  # fmt: skip


def _rental_suggestions(scenario: Scenario) -> None:
    """Offer to reserve the first type that is rented, and to wait for owned nodes before renting, or not to."""
    cluster = scenario.cluster
    name = cluster.pools[cluster.rented_pools[0]].vm.name
    st.button(f"Reserve {safe(name, 20)}", key="whatif-try-reserved", on_click=form.set_change,
              args=(f"terms.{name}", "reserved"),
              help="Always there and always paid, instead of rented as needed")  # fmt: skip
    waits = cluster.rent_after_s > 0
    st.button("Rent at once" if waits else "Rent after 30 min", key="whatif-try-burst", on_click=form.set_change,
              args=("burst_wait", 0.0 if waits else 1800.0),
              help="How long jobs wait for nodes that are there before others are rented")  # fmt: skip
