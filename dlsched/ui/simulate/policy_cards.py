"""The recommended policies as cards, those added to them, each with what it must know."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dlsched.domain.policy import PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find
from dlsched.ui.fields.policy_and_params import todays_policy, usual
from dlsched.ui.fields.recommended import recommended
from dlsched.ui.frame.text import dollars, safe
from dlsched.ui.simulate import policy_choice

RUNS_TODAY = "Runs today: the baseline that the others are compared with."


def cards(scenario: Scenario, chosen: Sequence[PolicySpec]) -> None:
    """Show a card for each recommended policy, ticked where it is chosen, and one for each that was added."""
    own, said = usual(scenario), todays_policy(scenario)
    why = {one.key: one.why for one in recommended(scenario)}
    with st.container(key="cards-policies"):
        for key in own:
            spec = find(key)
            with st.container(border=True, gap="xsmall"):
                tick(spec, own, is_on=spec in chosen, key=f"policy-{spec.key}")
                st.markdown(dollars(RUNS_TODAY if said is not None and said.policy == key else why[key]))
                st.markdown(f":gray[{needs_words(spec)}]")
        for spec in (spec for spec in chosen if spec.key not in own):
            with st.container(border=True, gap="xsmall", key=f"added-{spec.key}"):
                st.markdown(f"**{dollars(spec.label)}**")
                st.markdown(dollars(spec.summary))
                st.markdown(f":gray[{needs_words(spec)}]")
                st.button("Remove", key=f"remove-{spec.key}", type="tertiary", icon=":material/close:",
                          on_click=policy_choice.turn, args=(own, spec.key))  # fmt: skip


def tick(spec: PolicySpec, own: tuple[str, ...], *, is_on: bool, key: str) -> None:
    """Show the box that chooses a policy."""
    st.session_state[key] = is_on
    st.checkbox(f"**{dollars(spec.label)}**", key=key, help=dollars(spec.paper) or None,
                on_change=policy_choice.turn, args=(own, spec.key))  # fmt: skip


def needs_words(spec: PolicySpec) -> str:
    """Return what a policy must know of the jobs, as a sentence, and where one of a plug-in comes from."""
    origin = f" From {safe(spec.origin)}." if spec.origin else ""
    return f"Needs {dollars(spec.knows)}.{origin}"
