"""The page Report about kept answers: which of them, on which draws, what is still to be computed, the memo."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.report.memo import MOST_OPTIONS
from dlsched.studies.what_if import WhatIfSpec
from dlsched.ui.frame import parts
from dlsched.ui.frame.text import safe
from dlsched.ui.plan import report_joined, report_kept
from dlsched.ui.plan.report_kept import WORK, Kept
from dlsched.ui.plan.report_view import digest, downloads, form, preview
from dlsched.ui.plan.report_work import Wanted
from dlsched.wording.formats import amount, listed

SOURCES = ("Kept answers", "Runs")


def source(ticked: Sequence[str], *, kept_first: bool) -> bool:
    """Ask whether kept answers are the options, or runs alone; True for kept answers."""
    key = f"memo-source-{digest(ticked)}"
    if key not in st.session_state or report_kept.is_wanted():
        st.session_state[key] = SOURCES[0] if kept_first or report_kept.is_wanted() else SOURCES[1]
    text = "Answers kept on What if and Size, with runs beside them, or runs alone"
    chosen = st.segmented_control("Options", SOURCES, key=key, required=True, help=text)
    return bool(chosen == SOURCES[0])


def kept_options(kept: Sequence[Kept], runs: Sequence[Kept], first: Sequence[str]) -> list[Kept]:
    """Let the reader choose among kept answers and runs; ``first``: names of the runs that are ticked at first."""
    everything = {one.name: one for one in (*kept, *runs)}
    key = f"memo-kept-{digest(list(everything))}"
    most = MOST_OPTIONS - 1
    if key not in st.session_state:
        st.session_state[key] = [*[one.name for one in kept][-most:], *first][:most]
    wanted = report_kept.take_wanted()
    asked = next((one.name for one in kept if one.experiment_id == wanted), None)
    if asked is not None and asked not in st.session_state[key]:
        st.session_state[key] = [*st.session_state[key], asked][-most:]
    names = st.multiselect("Compared with today", list(everything), key=key, max_selections=most,
                           help="Kept on What if and Size, and runs of this scenario")  # fmt: skip
    return [one for name, one in everything.items() if name in names]


def lacking(missing: Sequence[Kept], frame: WhatIfSpec, scenario: Scenario) -> None:
    """Say which options have no numbers on the draws of the others, with a way to compute them."""
    names = listed([one.name for one in missing])
    what = f"option {names}" if len(missing) == 1 else f"options {names}"
    has = "has" if len(missing) == 1 else "have"
    why = f"{has} no numbers on the draws of this memo (today {report_kept.frame_words(frame, scenario)})"
    parts.error_box(InputError(what, why, "Options can only be paired on the same draws: compute again, or untick"))
    draws = amount(len(frame.draws.seeds), "draw")
    words = f"Compute {amount(len(missing), 'option')} on {draws}"
    st.button(words, type="primary", key="report-compute", on_click=report_kept.ask, args=(missing, frame, scenario),
              help="In the background; what was kept stays as it is")  # fmt: skip


def show(scenario: Scenario, chosen: Sequence[Kept], left: DeltaGenerator, right: DeltaGenerator) -> None:
    """Show the memo of kept answers, or what is still to be computed for it."""
    kept = [one for one in chosen if one.series is None]
    if not kept:
        with left:
            parts.error_box(InputError("options", "none of them is a kept answer", "Tick one, or take runs alone"))
        return
    frame = report_kept.frame_of(kept)
    with left:
        st.markdown(f":gray[Today: the scenario as it is {safe(report_kept.frame_words(frame, scenario), 300)}.]")
    places = {}
    with right:
        statuses = WORK.under_way()
        missing = report_kept.missing(chosen, frame, scenario)
        if missing and not statuses and report_kept.ask_about_sizes(missing, frame, scenario):
            report_kept.wait_shortly()
            statuses, missing = WORK.under_way(), report_kept.missing(chosen, frame, scenario)
        if missing and statuses:
            places = WORK.board(statuses)
        elif missing:
            if WORK.ended():
                WORK.show_ended(again=False)
            lacking(missing, frame, scenario)
    if places:
        WORK.follow(places)
    if not missing:
        _memo(scenario, chosen, frame, left, right)


def _memo(
    scenario: Scenario, chosen: Sequence[Kept], frame: WhatIfSpec, left: DeltaGenerator, right: DeltaGenerator
) -> None:
    try:
        plain = report_joined.memo_of(scenario, chosen, frame, Wanted())
        with left:
            names = [scenario.content_hash, *(report_kept.aligned(one, frame).model_dump_json() for one in chosen)]
            wanted = form(names, plain, has_situations=plain.sensitivity is not None)
        memo = report_joined.memo_of(scenario, chosen, frame, wanted)
        with right:
            downloads(memo, scenario)
            preview(memo)
    except InputError as error:
        with right:
            parts.error_box(error)
