"""The page Report: a form on the left, the page as it will be printed on the right, files to download."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from hashlib import blake2b

import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.report.evidence import has_names
from dlsched.report.html import to_html
from dlsched.report.memo import LONGEST, MOST_OPTIONS, Memo
from dlsched.report.rerun import file_name
from dlsched.report.write import KINDS, content
from dlsched.ui.frame import loaders, runs_of, session
from dlsched.ui.frame.runs_of import Series
from dlsched.ui.plan.report_work import Wanted
from dlsched.workload.scenario_file import scenario_bytes

PREVIEW_PX = 1_000
NAMES = ("Shown", "A, B, C")
NO_SITUATIONS = "Needs a stored sweep of this scenario, one thing at a time, with two policies or more"
LABELS = {"html": "Download HTML", "pptx": "PPTX", "xlsx": "XLSX"}
HELP = {
    "html": "One file that opens anywhere and prints on A4: no network, no account, no store",
    "pptx": "Slides with charts that can be edited, for a meeting",
    "xlsx": "All numbers of all draws, for a spreadsheet",
}


def options(ticked: Sequence[str]) -> list[Series]:
    """Let the reader choose baseline and options of the ticked runs; return them, the baseline first."""
    chosen = runs_of.chosen_of(ticked)
    labels = [series.label for series in chosen]
    if len(chosen) < 2:
        return chosen
    which = digest([*ticked, *labels])
    # The key is not one of those that are kept: the answer is the order of the ticks.
    base = st.selectbox("Baseline", labels, key=f"report-base-{which}",
                        help="What is in use today: the others are compared with it")  # fmt: skip
    if base != labels[0]:
        runs = chosen[labels.index(base)].run_ids
        session.tick(sorted(ticked, key=lambda run: run not in runs))
        st.rerun()
    key = f"memo-options-{which}"
    st.session_state.setdefault(key, labels[1:MOST_OPTIONS])
    kept = st.multiselect("Compared with", labels[1:], key=key, max_selections=MOST_OPTIONS - 1,
                          help="Each is a column of the memo, with its difference from the baseline")  # fmt: skip
    return [chosen[0], *(series for series in chosen[1:] if series.label in kept)]


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
                            help="The title of the memo: what is to be decided")  # fmt: skip
    typed = st.text_area(
        "Recommendation", key=f"memo-recommendation-{tag}", max_chars=LONGEST["recommendation"], height=230,
        help="Written from the numbers. Change it, or empty it to have it written again.",
    )  # fmt: skip
    note = st.text_area(
        "Note", key="memo-note", max_chars=LONGEST["note"], height=80, placeholder="What else the reader should know",
        help="Printed below the recommendation, as you write it",
    )  # fmt: skip
    named = any(has_names(found) for found in plain.winners)
    who = st.checkbox("Who gains, who loses", key="memo-who",
                      help="Users or job classes whose mean wait changes")  # fmt: skip
    situations = st.checkbox(
        "What could change this", key="memo-situations", disabled=not has_situations,
        help="From the newest stored sweep of one thing at a time" if has_situations else NO_SITUATIONS,
    )  # fmt: skip
    names = st.segmented_control("Names of users and groups", NAMES, default=NAMES[0], required=True,
                                 key="memo-names", disabled=not named,
                                 help="Letters hide who is who in all files of the memo")  # fmt: skip
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
            help="What the commands of the memo compute again",
        )  # fmt: skip


def preview(memo: Memo) -> None:
    """Show the page. All texts in it are escaped, and its own policy lets nothing run or load."""
    with st.container(border=True):
        st.iframe(to_html(memo, with_appendix=False), height=PREVIEW_PX, alt=memo.recommendation)
    st.markdown(":gray[The page as it prints; the files add an appendix with all numbers, definitions and seeds.]")


def take(run_ids: Sequence[str]) -> None:
    """Tick these runs and draw the page anew."""
    session.tick(run_ids)
    st.rerun()


def ways_out(chosen: Sequence[Series]) -> None:
    """Offer what helps where no memo can be written: leave out runs that failed their audit, or choose others."""
    clean = [series.run_ids[0] for series in chosen if not any(loaders.info(run).audit for run in series.run_ids)]
    with st.container(horizontal=True):
        if 2 <= len(clean) < len(chosen) and st.button(
            "Leave out what failed its audit", type="primary", key="report-clean"
        ):
            take(clean)
        if st.button("Choose other runs", key="report-choose"):
            session.go("simulate/runs.py")


def digest(parts: Sequence[str]) -> str:
    """Return a short name of these runs for keys of widgets."""
    return blake2b("|".join(parts).encode(), digest_size=6).hexdigest()
