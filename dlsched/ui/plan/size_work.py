"""Which answers the page Size shows, of its search for a size and of its months ahead, and how others are computed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import streamlit as st

from dlsched.domain.errors import DlschedError
from dlsched.domain.scenario import Scenario
from dlsched.studies import growth, sizing
from dlsched.studies.design import Replications, Variant, changed
from dlsched.studies.sizing import SizeSpec
from dlsched.studies.sizing.answer import Sizing
from dlsched.studies.what_if import WhatIfSpec, guess_s, unchanged, written_link
from dlsched.ui import answers
from dlsched.ui.answers import Answers
from dlsched.ui.frame import session
from dlsched.ui.frame.navigation import SCRIPTS
from dlsched.wording.cautions import Caution, overload_cautions
from dlsched.wording.formats import duration
from dlsched.workload.import_report import in_seconds, offered_load

PART = "part"
SIZE, HEADROOM, GROWTH = PARTS = ("Size", "Headroom", "Growth")
MOST_DRAWS_SHOWN = 10
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


# ---- how long it takes -------------------------------------------------------------------------------


def button_seconds(runs: int, scenario: Scenario, policy: str, params: Mapping[str, Any]) -> str:
    """Return about how long so many runs take: "about 20 s"."""
    seconds = runs * _run_s(scenario.content_hash, policy, dict(params), scenario)
    return f"about {duration(60 * round(seconds / 60) if seconds >= 90 else max(1.0, round(seconds)))}"


@st.cache_data(max_entries=32, ttl=60, show_spinner=False)
def _run_s(_scenario_hash: str, policy: str, params: dict[str, Any], _scenario: Scenario) -> float:
    spec = unchanged(_scenario, policy, params).first_draw  # both sides are the same: two runs
    return guess_s(spec, _scenario, session.store()) / 2


# ---- next steps --------------------------------------------------------------------------------------


def what_if_of(spec: SizeSpec, answer: Sizing, scenario: Scenario) -> WhatIfSpec:
    """Return the what-if of the size found against today, on the first draws of the search; ValueError without one."""
    if answer.answer is None:
        raise ValueError("there is no size to ask about")
    changes = {vm.key: count for vm, count in zip(answer.types, answer.answer, strict=True)}
    baseline = Variant(policy=spec.policy, params=spec.params)
    changed_case = Variant(policy=spec.policy, params=spec.params, changes=changes)
    draws = Replications(seeds=answer.search_seeds[:MOST_DRAWS_SHOWN], vary=spec.vary)
    return WhatIfSpec(scenario=scenario.content_hash, baseline=baseline, changed=changed_case, draws=draws)


def open_in_what_if(spec: SizeSpec, answer: Sizing, scenario: Scenario) -> None:
    """Open What if with the size found."""
    link = written_link(what_if_of(spec, answer, scenario))
    st.switch_page(SCRIPTS["What if"], query_params={**session.url_params(), **link})


def overload(answer: Sizing, scenario: Scenario) -> list[Caution]:
    """Return the banner of a size that meets the targets of these jobs and still cannot keep up with them."""
    if answer.answer is None:
        return []
    try:
        made = changed(scenario, {vm.key: count for vm, count in zip(answer.types, answer.answer, strict=True)})
    except DlschedError:
        return []
    load = offered_load(in_seconds(made), made.cluster)
    return overload_cautions(load, made.cluster, "On the size found", "Take a longer trace, or a tighter target")


def save_as_scenario(answer: Sizing, scenario: Scenario) -> None:
    """Make a version of the scenario with the nodes found, and look at it from now on."""
    if answer.answer is None:
        return
    made = changed(scenario, {vm.key: count for vm, count in zip(answer.types, answer.answer, strict=True)})
    session.keep(made.replace(name=scenario.name), based_on=scenario.content_hash)
    session.look_at_run("")
