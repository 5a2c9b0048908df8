"""The answers of the page Size: searches for a size and months ahead; which is meant, and how long others take."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import streamlit as st

from dlsched.domain.errors import DlschedError
from dlsched.domain.scenario import Scenario
from dlsched.studies import growth, sizing
from dlsched.studies.design import Variant
from dlsched.studies.growth import GrowthSpec
from dlsched.studies.growth.answer import Growth
from dlsched.studies.sizing import SizeSpec
from dlsched.studies.sizing.answer import Sizing
from dlsched.studies.sizing.words import caveats_of_goal
from dlsched.studies.what_if import WhatIfSpec, guess_s, unchanged
from dlsched.ui import answers
from dlsched.ui.answers import Answers, Shown
from dlsched.ui.frame import session
from dlsched.ui.scenario import trust
from dlsched.wording.caveats import Caveat
from dlsched.wording.formats import about_seconds

PART = "part"
SIZE, HEADROOM, GROWTH = PARTS = ("Size", "Headroom", "Growth")
"""Draws that What if begins with: it answers at once."""

SIZES = Answers(sizing.STUDY)
MONTHS = Answers(growth.STUDY)


def newest_size(scenario_hash: str) -> Sizing | None:
    """Return the search for a size that is shown, else the newest, about a scenario; None where there is none."""
    found = SIZES.newest(scenario_hash)
    named = st.session_state.get(SIZES.shown_key)
    if named and found is not None and found.experiment_id != named:
        with suppress(DlschedError):
            opened = SIZES.stored(named)
            found = opened if opened.spec.scenario == scenario_hash else found
    return None if found is None else found.answer


def follow_link() -> None:
    """Take over the answer the URL names, and the part it belongs to; before the page is begun."""
    parts = (MONTHS, SIZES) if st.query_params.get(PART) == GROWTH else (SIZES, MONTHS)
    if answers.follow_link(*parts) is MONTHS and PART not in st.query_params:
        st.session_state[PART] = GROWTH


def caveats(shown: Shown[SizeSpec, Sizing] | Shown[GrowthSpec, Growth], scenario: Scenario) -> tuple[Caveat, ...]:
    """Return what stands beside an answer about targets; nothing is known where its scenario is elsewhere."""
    if shown.elsewhere:
        return ()
    answer = shown.answer
    return caveats_of_goal(scenario, answer.policy, answer.rule, answer.futures.vary, trust.known_trust(scenario))


# ---- how long it takes -------------------------------------------------------------------------------


def about(runs: int, scenario: Scenario, variant: Variant) -> str:
    """Return about how long so many runs take: "about 20 s"."""
    return about_seconds(runs * _run_s(scenario.content_hash, variant.policy, variant.params, scenario))


@st.cache_data(max_entries=32, ttl=60, show_spinner=False)
def _run_s(scenario_hash: str, policy: str, params: dict[str, Any], _scenario: Scenario) -> float:
    return guess_s(unchanged(_scenario, policy, params).first_future, _scenario, session.store())


# ---- next steps --------------------------------------------------------------------------------------


def what_if_of(spec: SizeSpec, answer: Sizing, scenario: Scenario) -> WhatIfSpec:
    """Return the what-if of the size found against today, in the same futures; ValueError without one."""
    if answer.answer is None:
        raise ValueError("there is no size to ask about")
    changes = {vm.key: count for vm, count in zip(answer.types, answer.answer, strict=True)}
    baseline = Variant(policy=spec.policy, params=spec.params)
    changed_case = Variant(policy=spec.policy, params=spec.params, changes=changes)
    return WhatIfSpec(scenario=scenario.content_hash, baseline=baseline, changed=changed_case, futures=spec.futures)
