"""The part Headroom: how many more jobs today's cluster and the size found can handle."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.figures.size import headroom
from dlsched.studies.sizing import SizeSpec
from dlsched.studies.sizing.answer import Sizing
from dlsched.studies.sizing.words import (
    LOAD_ASSUMED,
    NO_HEADROOM,
    headroom_cards,
    headroom_rows,
    headroom_words,
    metric_names,
    rented_premises,
    rule_premises,
)
from dlsched.ui.answers import Shown
from dlsched.ui.frame import charts
from dlsched.ui.frame.parts import cards, pick, sentence
from dlsched.ui.frame.text import safe
from dlsched.ui.plan import size, size_state
from dlsched.ui.scenario import trust
from dlsched.ui.study_page import Asked
from dlsched.wording.formats import amount


def fields(scenario: Scenario, _: SizeSpec | None) -> Asked[SizeSpec]:
    """Show the fields and return what they ask: a search for a size looks for its headroom too; errors as there."""
    question = "How many more jobs can today's cluster and the cheapest size handle with {goal}?"
    return size.ask(scenario, question, "the headroom")


def view(shown: Shown[SizeSpec, Sizing], scenario: Scenario, _: bool) -> None:
    """Show how many more jobs a size can handle."""
    answer = shown.answer
    if not answer.headroom:
        sentence(NO_HEADROOM, ())
        return
    own = [] if shown.elsewhere else trust.premises(scenario)
    sentence(
        " ".join(headroom_words(answer, room) for room in answer.headroom), size_state.caveats(shown, scenario),
        [LOAD_ASSUMED, *rule_premises(answer.rule, answer.futures.vary), *rented_premises(answer.rented_nodes),
         *own], key="headroom",
    )  # fmt: skip
    cards(headroom_cards(answer))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge(safe(answer.label), color="gray", help="The policy that all loads run under")
    names = metric_names(answer)
    metric = pick("Target", names, "headroom-metric")
    charts.show(headroom(answer, metric, charts.page_theme()), "size-headroom", caption=True)
    frame = pd.DataFrame(headroom_rows(answer))
    charts.table(frame, "headroom", f"{amount(len(frame), 'load')} tried, with each target's verdict")
