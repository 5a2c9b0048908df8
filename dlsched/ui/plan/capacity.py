"""The page Capacity: its parts, and which of them a link opens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.studies.commitment.words import BEFORE
from dlsched.studies.sweep.presets import PRESETS, Mode
from dlsched.ui import answers
from dlsched.ui.answers import Answers
from dlsched.ui.frame import link
from dlsched.ui.frame.navigation import PART, SCRIPTS
from dlsched.ui.frame.parts import part_of_page
from dlsched.ui.plan import commitment, growth, headroom, size, size_state, sweep_form, sweep_view
from dlsched.ui.plan.sweep_form import PRESET
from dlsched.ui.plan.sweep_runs import SWEEPS
from dlsched.ui.study_page import Form, study_page


@dataclass(frozen=True, eq=False)
class Part:
    """A part of the page: what :func:`study_page` shows, by the names of its parameters."""

    answers: Answers[Any, Any]
    before: str
    form: Form[Any]
    view: Callable[..., None]
    how: str
    above: Callable[[Scenario], None] | None = None
    earlier: str = ""


def _of_sweeps(mode: Mode, before: str, earlier: str) -> Part:
    asked = Form(partial(sweep_form.fill, mode), partial(sweep_form.fields, mode))
    above = partial(sweep_form.presets, mode)
    return Part(SWEEPS[mode], before, asked, sweep_view.show, sweep_view.HOW[mode], above, earlier)


PARTS = {
    "Size": Part(
        size_state.SIZES, "How many nodes do I need?", Form(size.fill, size.fields), size.view, size.HOW
    ),
    "Commit or rent": Part(
        size_state.COMMITMENTS, BEFORE, Form(commitment.fill, commitment.fields), commitment.view, commitment.HOW
    ),
    "Headroom": Part(
        size_state.SIZES, "How many more jobs can the cluster handle?", Form(size.fill, headroom.fields),
        headroom.view, size.HOW,
    ),
    "Growth": Part(
        size_state.MONTHS, "Until when does the cluster meet my targets, and by when must more be ordered?",
        Form(growth.fill, growth.fields), growth.view, size.HOW,
    ),
    "Range": _of_sweeps(
        "grid", "How does the result change over a range of values, and which policy is the safe choice?",
        "Earlier ranges",
    ),
    "Sensitivity": _of_sweeps(
        "one-at-a-time", "Which assumption matters most, and which policy is safe whatever happens?",
        "Earlier answers",
    ),
}  # fmt: skip


def follow_link() -> None:
    """Take over what the address names: an answer or a preset, with the part it belongs to; before the page is begun.

    The kind of the answer counts more than the part, as an address of earlier versions may name another part.
    """
    own = PARTS.get(st.query_params.get(PART, ""), PARTS["Size"]).answers
    opened = answers.follow_link(*dict.fromkeys([own, *(part.answers for part in PARTS.values())]))
    asked = next((one for one in PRESETS if one.key == st.query_params.get(PRESET)), None)
    if asked is None:
        link.misread(PRESET)
    wanted = opened if asked is None else SWEEPS[asked.mode]
    if wanted is not None and wanted is not own:
        name = next(name for name, part in PARTS.items() if part.answers is wanted)
        asked_for = {key: st.query_params.get_all(key) for key in st.query_params}
        st.switch_page(SCRIPTS["Capacity"], query_params={**asked_for, PART: name})
    size_state.note_wanted()


def show(current: Scenario) -> None:
    """Show the part that is open; the others compute nothing."""
    part = PARTS[part_of_page(PARTS)]
    study_page(
        part.answers, current, part.form, part.view, before=part.before, how=part.how, above=part.above,
        earlier=part.earlier,
    )  # fmt: skip
