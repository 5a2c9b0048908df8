"""The page Memo: which options under which condition, a form on the left, the page as it is printed on the right."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from hashlib import blake2b

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.report.alternatives import condition_of
from dlsched.report.evidence import has_names
from dlsched.report.html import to_html
from dlsched.report.memo import LONGEST, MOST_OPTIONS, Memo
from dlsched.report.rerun import file_name
from dlsched.report.write import KINDS, content
from dlsched.studies.design.variants import Value
from dlsched.studies.what_if import WhatIfSpec
from dlsched.ui.frame import loaders, parts, runs_of, session, writing
from dlsched.ui.frame.runs_of import Series
from dlsched.ui.frame.text import safe
from dlsched.ui.plan import memo_build, memo_options
from dlsched.ui.plan.memo_build import Wanted
from dlsched.ui.plan.memo_options import WORK, Kept
from dlsched.wording.formats import amount, listed
from dlsched.workload.scenario_file import scenario_bytes

SOURCES = ("Kept answers", "Runs")
PREVIEW_PX = 1_000
NAMES = ("Shown", "A, B, C")
NO_SITUATIONS = "Needs a stored result from Capacity > Sensitivity with these policies and the same futures"
AS_THEY_ARE = "No condition"
LABELS = {"html": "Download HTML", "pptx": "PPTX", "xlsx": "XLSX"}
HELP = {
    "html": "One file that opens in any browser, offline, and prints on A4",
    "pptx": "Slides with editable charts",
    "xlsx": "All numbers for all futures, as a spreadsheet",
}


# ---- options: runs -----------------------------------------------------------------------------------


def options(ticked: Sequence[str]) -> list[Series]:
    """Let the reader choose baseline and options of the ticked runs; return them, the baseline first."""
    chosen = runs_of.chosen_of(ticked)
    labels = [series.label for series in chosen]
    if len(chosen) < 2:
        return chosen
    which = digest([*ticked, *labels])
    # The key is not one of those that are kept: the answer is the order of the ticks.
    base = st.selectbox("Baseline", labels, key=f"report-base-{which}",
                        help="The policy in use today; the others are compared with it")  # fmt: skip
    if base != labels[0]:
        runs = chosen[labels.index(base)].run_ids
        session.tick(sorted(ticked, key=lambda run: run not in runs))
        st.rerun()
    key = f"memo-options-{which}"
    st.session_state.setdefault(key, labels[1:MOST_OPTIONS])
    kept = st.multiselect("Compared with", labels[1:], key=key, max_selections=MOST_OPTIONS - 1,
                          help="Each becomes a column of the memo, with its difference from the baseline")  # fmt: skip
    return [chosen[0], *(series for series in chosen[1:] if series.label in kept)]


def take(run_ids: Sequence[str]) -> None:
    """Tick these runs and draw the page anew."""
    session.tick(run_ids)
    st.rerun()


def ways_out(chosen: Sequence[Series]) -> None:
    """Offer what helps where no memo can be written: leave out runs that failed their audit, or choose others."""
    clean = [series.run_ids[0] for series in chosen if not any(loaders.info(run).audit for run in series.run_ids)]
    with st.container(horizontal=True):
        if 2 <= len(clean) < len(chosen) and st.button(
            "Leave out runs that failed the audit", type="primary", key="report-clean"
        ):
            take(clean)
        if st.button("Choose other runs", key="report-choose"):
            session.go("Run", part="History")


def digest(parts: Sequence[str]) -> str:
    """Return a short name of these runs for keys of widgets."""
    return blake2b("|".join(parts).encode(), digest_size=6).hexdigest()


# ---- options: kept answers ---------------------------------------------------------------------------


def source(ticked: Sequence[str], *, kept_first: bool) -> bool:
    """Ask whether kept answers are the options, or runs alone; True for kept answers."""
    key = f"memo-source-{digest(ticked)}"
    if key not in st.session_state or memo_options.is_wanted():
        st.session_state[key] = SOURCES[0] if kept_first or memo_options.is_wanted() else SOURCES[1]
    text = "Answers kept on What if and Capacity, with runs beside them, or only runs"
    chosen = st.segmented_control("Options", SOURCES, key=key, required=True, help=text)
    return bool(chosen == SOURCES[0])


def kept_options(kept: Sequence[Kept], runs: Sequence[Kept], first: Sequence[str]) -> list[Kept]:
    """Let the reader choose among kept answers and runs; ``first``: names of the runs that are ticked at first."""
    everything = {one.name: one for one in (*kept, *runs)}
    key = f"memo-kept-{digest(list(everything))}"
    most = MOST_OPTIONS - 1
    if key not in st.session_state:
        st.session_state[key] = [*[one.name for one in kept][-most:], *first][:most]
    wanted = memo_options.take_wanted()
    asked = next((one.name for one in kept if one.experiment_id == wanted), None)
    if asked is not None and asked not in st.session_state[key]:
        st.session_state[key] = [*st.session_state[key], asked][-most:]
    names = st.multiselect("Options", list(everything), key=key, max_selections=most,
                           help="Kept on What if and Capacity, and runs of this scenario")  # fmt: skip
    return [one for name, one in everything.items() if name in names]


def lacking(missing: Sequence[Kept], frame: WhatIfSpec, scenario: Scenario) -> None:
    """Say which options have no numbers in the futures of the others, with a way to compute them."""
    names = listed([one.name for one in missing])
    what = f"option {names}" if len(missing) == 1 else f"options {names}"
    has = "has" if len(missing) == 1 else "have"
    why = f"{has} no numbers for this memo (today {memo_options.frame_words(frame, scenario)})"
    do = "Options must be compared under one condition and in the same futures. Compute them, or deselect them"
    parts.error_box(InputError(what, why, do))
    words = f"Compute {amount(len(missing), 'option')} in {amount(len(frame.futures.seeds), 'future')}"
    writing.button(words, type="primary", key="report-compute", on_click=memo_options.ask,
                   args=(missing, frame, scenario),
                   help="Runs in the background; the kept answers stay unchanged")  # fmt: skip


def condition(scenario: Scenario) -> dict[str, Value]:
    """Let the reader choose the condition all options meet, where answers were kept under several; the newest first."""
    found = memo_options.conditions_kept(scenario)
    if len(found) < 2:
        return found[0] if found else {}
    words = [condition_of(scenario, one).words or AS_THEY_ARE for one in found]
    key = f"memo-condition-{digest(words)}"
    if memo_options.is_wanted():
        st.session_state.pop(key, None)
    chosen = st.selectbox("Condition", words, key=key,
                          help="What happens whatever you choose; all options are compared under it")  # fmt: skip
    return found[words.index(chosen)]


def show_kept(
    scenario: Scenario, chosen: Sequence[Kept], frame: WhatIfSpec, left: DeltaGenerator, right: DeltaGenerator
) -> None:
    """Show the memo of kept answers, or what is still to be computed for it."""
    kept = [one for one in chosen if one.series is None]
    if not kept:
        with left:
            parts.error_box(InputError("options", "include no kept answer", "Select one, or choose Runs"))
        return
    with left:
        st.markdown(f":gray[Today: the scenario unchanged {safe(memo_options.frame_words(frame, scenario), 300)}.]")
    places = {}
    with right:
        statuses = WORK.under_way()
        missing = memo_options.missing(chosen, frame, scenario)
        if missing and not statuses and memo_options.ask_about_sizes(missing, frame, scenario):
            WORK.wait_shortly()
            statuses, missing = WORK.under_way(), memo_options.missing(chosen, frame, scenario)
        if missing and statuses:
            places = WORK.board(statuses)
        elif missing:
            if WORK.ended():
                WORK.show_ended(again=False)
            lacking(missing, frame, scenario)
    if places:
        WORK.follow(places)
    if not missing:
        _memo_of_kept(scenario, chosen, frame, left, right)


def _memo_of_kept(
    scenario: Scenario, chosen: Sequence[Kept], frame: WhatIfSpec, left: DeltaGenerator, right: DeltaGenerator
) -> None:
    try:
        plain = memo_build.memo_of_kept(scenario, chosen, frame, Wanted())
        with left:
            names = [scenario.content_hash, *(memo_options.aligned(one, frame).model_dump_json() for one in chosen)]
            wanted = form(names, plain, has_situations=plain.sensitivity is not None)
        memo = memo_build.memo_of_kept(scenario, chosen, frame, wanted)
        with right:
            downloads(memo, scenario)
            preview(memo)
    except InputError as error:
        with right:
            parts.error_box(error)


# ---- texts and files ---------------------------------------------------------------------------------


def form(which: Sequence[str], plain: Memo, *, has_situations: bool) -> Wanted:
    """Show the three texts and the sections.

    ``which`` names the options; ``plain`` is the memo before anything is typed: question and recommendation are filled
    in from it, and anew for other options or where they were emptied.
    """
    tag = digest(which)
    for name, text in (("question", plain.question), ("recommendation", plain.recommendation)):
        if not st.session_state.get(f"memo-{name}-{tag}"):
            st.session_state[f"memo-{name}-{tag}"] = text[: LONGEST[name]]
    st.session_state.setdefault("memo-who", True)
    st.session_state.setdefault("memo-situations", True)
    question = st.text_area("Question", key=f"memo-question-{tag}", max_chars=LONGEST["question"], height=80,
                            help="The title of the memo: the decision to be made")  # fmt: skip
    typed = st.text_area(
        "Recommendation", key=f"memo-recommendation-{tag}", max_chars=LONGEST["recommendation"], height=230,
        help="Written from the numbers. Edit it, or clear it to restore the text.",
    )  # fmt: skip
    note = st.text_area(
        "Note", key="memo-note", max_chars=LONGEST["note"], height=80, placeholder="What else the reader should know",
        help="Printed below the recommendation, exactly as written",
    )  # fmt: skip
    named = any(has_names(found) for found in plain.winners)
    who = st.checkbox("Who gains, who loses", key="memo-who",
                      help="Users or job classes whose mean wait changes")  # fmt: skip
    situations = st.checkbox(
        "What could change this", key="memo-situations", disabled=not has_situations,
        help="From the newest result of Capacity > Sensitivity" if has_situations else NO_SITUATIONS,
    )  # fmt: skip
    names = st.segmented_control("Names of users and groups", NAMES, default=NAMES[0], required=True,
                                 key="memo-names", disabled=not named,
                                 help="Letters hide the names in all files of the memo")  # fmt: skip
    return Wanted(question, typed, note, who, situations and has_situations, names != NAMES[0])


def downloads(memo: Memo, scenario: Scenario) -> None:
    """Offer the files; each is written when it is asked for."""
    stem = file_name(memo.origin.name).removesuffix(".json")
    with st.container(horizontal=True, gap="small"):
        for kind, media in KINDS.items():
            st.download_button(
                LABELS[kind], partial(content, memo, kind), file_name=f"memo-{stem}.{kind}", mime=media,
                key=f"report-{kind}", type="primary" if kind == "html" else "secondary", on_click="ignore",
                help=HELP[kind],
            )  # fmt: skip
        st.download_button(
            "Scenario file", lambda: scenario_bytes(scenario), file_name=f"{stem}.json",
            mime="application/json", key="report-scenario", on_click="ignore",
            help="Input for the commands listed in the memo",
        )  # fmt: skip


def preview(memo: Memo) -> None:
    """Show the page. All texts in it are escaped, and its own policy lets nothing run or load."""
    with st.container(border=True):
        st.iframe(to_html(memo, with_appendix=False), height=PREVIEW_PX, alt=memo.recommendation)
    st.markdown(
        ":gray[Preview of the printed page. The files add an appendix with all numbers, definitions and seeds.]"
    )
