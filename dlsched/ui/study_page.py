"""The one shape of a study's page: a form asks, the background runner answers, a view shows; and a link to it all.

A page of a study is a module with three functions, and a script below ``pages/``::

    SIZES = Answers(sizing.STUDY)

    def fill(scenario, asked):  # first values of the fields; those of a question when one is opened
    def fields(scenario, asked):  # shows the fields, returns an Asked; DlschedError where that cannot be computed
    def view(shown, scenario, is_current):  # shows the answer

    answers.follow_link(SIZES)
    current = page.begin("Capacity")
    study_page(SIZES, current, Form(fill, fields), view, before="What is the cheapest cluster?", how=HOW)

What the pages have in common is here: which answer is shown, the line that says the question, the button with the time
it takes, progress, cancel, how it ended, and that the form asks something else than what is answered below. A page that
works its answer out by itself, without a form, calls :func:`bring`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.errors import DlschedError
from dlsched.domain.scenario import Scenario
from dlsched.ui.answers import Answer, Answers, Shown, Spec, scenario_of
from dlsched.ui.frame import identity, link, writing
from dlsched.ui.frame.parts import error_box, mistakes_shown, sentence
from dlsched.ui.frame.text import safe

MOST_EARLIER = 10


@dataclass(frozen=True, eq=False)
class Asked(Generic[Spec]):
    """What a form asks. ``question``: in words; ``name``: what its progress is called.

    ``button`` returns what the button says, given whether the store has the answer already.
    """

    spec: Spec
    question: str
    name: str
    button: Callable[[bool], str]


@dataclass(frozen=True, eq=False)
class Form(Generic[Spec]):
    """``fill`` gives the fields of a scenario their first values: usual ones, or those of a question that is opened.

    ``fields`` shows them and returns what they ask, and raises a DlschedError where that cannot be computed. Both get
    the scenario and the question of the answer that is shown, None without one.
    """

    fill: Callable[[Scenario, Spec | None], None]
    fields: Callable[[Scenario, Spec | None], Asked[Spec]]


def study_page(
    answers: Answers[Spec, Answer],
    current: Scenario,
    form: Form[Spec],
    view: Callable[[Shown[Spec, Answer], Scenario, bool], None],
    *,
    before: str = "",
    how: str = "",
    above: Callable[[Scenario], None] | None = None,
    next_step: Callable[[Shown[Spec, Answer]], None] | None = None,
    earlier: str = "",
) -> None:
    """Show a study from its question to its answer; call it last on the page.

    Parameters
    ----------
    view
        Shows an answer; told whether it answers what the form asks, so that what comes next is the main button.
    before
        The sentence on top while there is no answer.
    how
        How the numbers are made, in an expander at the end.
    above
        Shows what stands above the form, such as questions that are asked often.
    next_step
        Shows what stands in place of the button where nothing is left to ask.
    earlier
        Label of the menu of earlier answers; without one there is no menu.
    """
    prefix = answers.key
    answers.rejoin(current)
    answers.take_in(current)
    try:
        shown = answers.shown(current)
    except DlschedError as error:
        error_box(error)
        st.button("Continue without it", type="primary", key=f"{prefix}-without")
        link.stop()
    if shown is None:
        sentence(before, ())
    if above is not None:
        above(current)
    answered = None if shown is None or shown.elsewhere else shown.spec
    begun = answers.begun(current)
    left, right = st.columns([5, 2], vertical_alignment="top")
    with left:
        asked = _form(form, current, answered if begun is None else begun.spec, prefix)
    work = answers.work_about(current)
    statuses = work.under_way()
    if answers.take_in(current):  # it has just ended
        st.rerun()
    is_same = asked is not None and asked.spec == answered
    is_current = is_same and shown is not None and not shown.stale and not shown.partial
    with right:
        if asked is not None and not is_current:
            _button(answers, asked, current, prefix, is_begun=begun is not None and begun.spec == asked.spec)
        elif next_step is not None and shown is not None:
            next_step(shown)
        if earlier:
            _earlier(answers, shown, prefix, earlier)
    if work.ended():
        work.show_ended(again=False)
    places = work.board(statuses) if statuses else {}
    if asked is not None and answered is not None and not is_same:
        st.markdown(":gray[Below is the answer to another question than the form asks.]")
    if shown is not None:
        view(shown, current, is_current and not statuses)
    if how:
        with st.expander("How it is computed", key=f"{prefix}-how"):
            st.markdown(how)
    if places:
        work.follow(places)


def fold(prefix: str, *, is_open: bool) -> None:
    """Open or fold the form of a page: a browser keeps what its reader did with it, unless it is another one."""
    st.session_state[f"{prefix}-folded"] = (is_open, st.session_state.get(f"{prefix}-folded", (True, 0))[1] + 1)


def _form(form: Form[Spec], current: Scenario, asked: Spec | None, prefix: str) -> Asked[Spec] | None:
    """Show the form below the line that says its question; None if that cannot be computed, which it says."""
    about = current.content_hash if asked is None else scenario_of(asked)
    mark = (about, None if asked is None else asked.model_dump(mode="json"))
    if st.session_state.get(f"{prefix}-filled") != mark:
        st.session_state[f"{prefix}-filled"] = mark
        form.fill(current, asked)
        fold(prefix, is_open=asked is None)
    is_open, times = st.session_state[f"{prefix}-folded"]
    line = st.empty()
    with st.expander("Change the question", key=f"{prefix}-form-{times}", expanded=is_open):
        try:
            found = form.fields(current, asked)
        except DlschedError as error:
            error_box(error)
            line.markdown(":orange[**Question**: it cannot be computed yet.]")
            return None
    line.markdown(f"**Question**: {safe(found.question, 500)}")
    return found


def _button(
    answers: Answers[Spec, Answer], asked: Asked[Spec], current: Scenario, prefix: str, *, is_begun: bool
) -> None:
    is_stored = answers.stored_id(asked.spec) is not None
    label = "Under way" if is_begun else asked.button(is_stored)
    show = st.button if is_stored else writing.button
    if show(label, type="primary", key=f"{prefix}-ask", disabled=is_begun, width="stretch"):
        with mistakes_shown():
            answers.start(asked.spec, current, asked.name)
            st.rerun()


def _earlier(answers: Answers[Spec, Answer], shown: Shown[Spec, Answer] | None, prefix: str, label: str) -> None:
    """Offer the answers that are kept."""
    kept = [(one, name) for one, name in answers.listed() if shown is None or one != shown.experiment_id]
    if not kept:
        return
    with st.popover(label, key=f"{prefix}-earlier", help="Those in this store, the newest first"):
        for one, name in kept[:MOST_EARLIER]:
            st.button(safe(name, 120), key=f"{prefix}-open-{one}", type="tertiary", on_click=answers.go_to, args=(one,))


def bring(
    answers: Answers[Spec, Answer],
    spec: Spec,
    show: Callable[[Shown[Spec, Answer]], None],
    ask: Callable[[], object],
    *,
    at_once: bool = True,
) -> dict[str, DeltaGenerator]:
    """Show the answer to a question where it is known, else have it worked out; return where progress goes meanwhile.

    ``ask`` starts the work, as by :meth:`Answers.ask`. Without ``at_once`` a button of the page does, and nothing is
    shown until then. Call ``answers.work.follow`` with what this returns last on the page.
    """
    work = answers.work
    statuses = work.under_way()
    try:
        found = answers.answer_to(spec)
    except DlschedError as error:
        error_box(error)
        return {}
    if found is not None:
        show(found)
    elif work.ended():
        work.show_ended()
    elif not (statuses or identity.may_write()):
        st.markdown(f":gray[Not computed yet. {identity.why_not()}.]")
    elif statuses or at_once:
        with mistakes_shown():
            if not statuses:
                ask()
                if not (statuses := work.under_way()):
                    st.rerun()  # it is over already
            return work.board(statuses)
    return {}
