"""Which policies the page Run has chosen for a scenario: kept in the tab, and in the address where it is not usual."""

from __future__ import annotations

import streamlit as st

from dlsched.domain.policy import PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find, policies, unmet_needs
from dlsched.ui.fields.policy_and_params import usual

PARAM = "policies"
"""Parameter of the address: keys of policies with commas between, NONE if there is none."""
NONE = "none"
CHOSEN, FOLLOWED = "policies-chosen", "policies-followed"
"""In the tab: usual policies -> the chosen ones, so that scenarios of one kind share a choice; the last address."""


def follow_link(scenario: Scenario) -> None:
    """Take over the policies that the address names.

    Raises
    ------
    InputError
        A key that is no policy's.
    """
    link = st.query_params.get(PARAM)
    if link is not None and link != st.session_state.get(FOLLOWED):
        st.session_state[FOLLOWED] = link
        _keep(usual(scenario), [] if link == NONE else [find(key).key for key in link.split(",") if key])


def chosen(scenario: Scenario) -> list[PolicySpec]:
    """Return the chosen policies that can run: recommended ones first, the baseline before all; name them in the link.

    The order is the one of the runs: what comes first is what the others are compared with.
    """
    own = usual(scenario)
    order = [*own, *(spec.key for spec in policies() if spec.key not in own)]
    keys = [key for key in order if key in _kept(own) and not unmet_needs(find(key), scenario)]
    link = NONE if not keys else ",".join(keys)
    if tuple(keys) != own:
        st.session_state[FOLLOWED] = link
        if st.query_params.get(PARAM) != link:
            st.query_params[PARAM] = link
    elif PARAM in st.query_params:
        del st.query_params[PARAM]
    return [find(key) for key in keys]


def turn(own: tuple[str, ...], key: str) -> None:
    """Choose a policy, or drop it; ``own``: the usual ones of the scenario."""
    before = _kept(own)
    _keep(own, [one for one in before if one != key] if key in before else [*before, key])


def _kept(own: tuple[str, ...]) -> list[str]:
    return list(st.session_state.get(CHOSEN, {}).get(own, own))


def _keep(own: tuple[str, ...], keys: list[str]) -> None:
    st.session_state[CHOSEN] = st.session_state.get(CHOSEN, {}) | {own: keys}
