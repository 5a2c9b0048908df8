"""The frame of every part of the page Size: form, button, progress, and the answer that is shown below."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.errors import DlschedError
from dlsched.domain.scenario import Scenario
from dlsched.ui.answers import Answer, Answers, Shown, Spec
from dlsched.ui.fields.goal import Goal
from dlsched.ui.frame.parts import error_box, sentence

Form = Callable[[Scenario, Spec | None], tuple[Spec, Goal] | None]
ButtonWords = Callable[[Spec, Goal, Scenario], str]


@dataclass(frozen=True, eq=False)
class Board(Generic[Spec, Answer]):
    """What is shown, whether it answers what the form asks, and where progress goes."""

    desk: Answers[Spec, Answer]
    shown: Shown[Spec, Answer] | None
    is_current: bool
    places: dict[str, DeltaGenerator]

    def follow(self) -> None:
        """Follow what is under way to its end; call it last on the page."""
        if self.places:
            self.desk.work.follow(self.places)


def ask(
    desk: Answers[Spec, Answer], current: Scenario, form: Form[Spec], button_words: ButtonWords[Spec], before: str
) -> Board[Spec, Answer]:
    """Show the form with its button, and progress; return what is to be shown below. ``before``: without an answer."""
    desk.take_in()
    try:
        shown = desk.shown(current)
    except DlschedError as error:
        error_box(error)
        st.button("Go on without it", type="primary", key="size-without")
        st.stop()
    if shown is None:
        sentence(before)
    asked = None if shown is None or shown.elsewhere else shown.spec
    left, right = st.columns([5, 2], vertical_alignment="top")
    with left:
        ready = form(current, asked)
    statuses = desk.work.under_way()
    if desk.take_in():  # it has just ended
        st.rerun()
    is_same = ready is not None and ready[0] == asked
    is_current = is_same and shown is not None and not shown.stale
    if ready is not None and not is_current:
        label = button_words(*ready, current)
        if right.button(label, type="primary", key="size-find", disabled=bool(statuses), width="stretch"):
            desk.start(ready[0], current, f"{desk.kind.capitalize()}, {current.name[:60]}")
            st.rerun()
    if desk.work.ended():
        desk.work.show_ended(again=False)
    places = desk.work.board(statuses) if statuses else {}
    if asked is not None and ready is not None and not is_same:
        st.markdown(":gray[Below is the answer to another question than the form asks.]")
    return Board(desk, shown, is_current and not statuses, places)
