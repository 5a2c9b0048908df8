"""The page Paper checks: a cell a figure, lists by paper, and one figure: why, chart, parts of its claim, runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from dlsched.domain.errors import StaleAnswer
from dlsched.figures.reproductions import compared
from dlsched.runner.background import StudyTask
from dlsched.store.record import ExperimentInfo
from dlsched.studies.reproductions.bundled import bundled
from dlsched.studies.reproductions.panels import Panel, panels_of, tables_of
from dlsched.studies.reproductions.registry import REPRODUCTIONS
from dlsched.studies.reproductions.reproduction import Outcome, Reproduction
from dlsched.studies.reproductions.spec import STUDY
from dlsched.studies.reproductions.words import (
    COLOURS,
    HINTS,
    MARKS,
    PAPERS,
    STATES,
    Checked,
    State,
    by_what,
    cell_of,
    chosen,
    command,
    counts,
    finding,
    headline,
    origin,
    row_of,
    state_of,
    time_words,
    title_of,
)
from dlsched.ui.frame import charts, session, writing
from dlsched.ui.frame.parts import cards, sentence
from dlsched.ui.frame.text import safe
from dlsched.ui.pending import PendingTasks
from dlsched.wording.formats import amount

PARAM = "figure"
WORK = PendingTasks(STUDY.kind)
MOST_READ = 400
"""Newest answers in the store that are looked at: every figure, quick and full, by four versions of the code."""
ROW_PX = 78
WIDTHS = {
    "Figure": 68, "Claim": 290, "Paper's number": 118, "Ours": 290, "Verdict": 92, "By": 88, "Takes": 100,
}  # fmt: skip
WHY = {"same": "Basis.", "partly": "Why only partly.", "different": "Why different."}
CELL_PX = 62
CELLS: Mapping[State, str] = {
    "same": "background:#1558d6;color:#fff;border-color:#1558d6",
    "partly": "background:#d3e2fd;color:#0b2f70;border-color:#7da7f0",
    "different": "background:#9b1c1c;color:#fff;border-color:#9b1c1c",
    "not checked": "border-style:dashed",
}
"""Look of a cell: dark, light and red differ in lightness too; each also has a mark of its own."""
ROUND = "reproduction-round"
"""Counts how often a row was ticked: each list begins anew, or coming back would open the same figure again."""

# ---- which outcomes are shown, and new ones ---------------------------------------------------------------


def checked() -> dict[str, Checked]:
    """Return the outcome to show of each figure that has one: see ``Checked.rank``."""
    today = STUDY.version
    outcomes = {
        key: Checked(one.outcome, quick=True, version=one.version, on=one.on, stale=one.version != today, bundled=True)
        for key, one in bundled().items()
    }
    path = str(session.store().path)
    for info in session.store().list_experiments(STUDY.kind)[:MOST_READ]:
        try:
            key, one = _stored(path, info, today)
        except StaleAnswer:  # by code of long ago: the figure shows what is bundled, or can be run again
            continue
        if key not in outcomes or one.rank > outcomes[key].rank:
            outcomes[key] = one
    return outcomes


@st.cache_resource(
    max_entries=MOST_READ,
    show_spinner=False,
    hash_funcs={ExperimentInfo: lambda info: (info.experiment_id, info.made_at.isoformat())},
)
def _stored(_path: str, info: ExperimentInfo, today: str) -> tuple[str, Checked]:
    record = session.store().get_experiment(info.experiment_id)
    spec, outcome = STUDY.read_record(record)
    return spec.key, Checked(
        outcome, spec.quick, record.code_version, info.made_at.date().isoformat(),
        stale=record.code_version != today, bundled=False,
    )  # fmt: skip


def start(one: Reproduction, *, quick: bool) -> None:
    """Have a figure computed anew in the background; what this code has computed before is there at once."""
    name = f"{title_of(one)}, {'quick' if quick else 'full'} run"
    WORK.begin([session.runner().ask(StudyTask(STUDY.kind, {"key": one.key, "quick": quick}, name))])


def figure_in_url() -> str | None:
    """Return the key of the figure that is looked at; None on the list."""
    return st.query_params.get(PARAM)


def look_at(key: str | None) -> None:
    """Look at a figure from now on; None = at the list."""
    if key is None:
        st.query_params.pop(PARAM, None)
        WORK.forget_ended()
    else:
        st.query_params[PARAM] = key


# ---- the list --------------------------------------------------------------------------------------------


def overview(outcomes: Mapping[str, Checked]) -> None:
    """Show a strip of cells and the counts, then the figures by paper, folded."""
    sentence(finding(outcomes), ())
    _strip(outcomes)
    cards(
        [
            (f"{MARKS[state][0]} {state.capitalize()}", f"{number:,}", HINTS[state])
            for state, number in counts(outcomes).items()
        ]
    )
    st.markdown(f":gray[{safe(by_what(outcomes), 300)}]")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        states = st.pills(
            "Verdict", STATES, selection_mode="multi", key="reproduction-states", format_func=MARKS.__getitem__,
            help="Lists below show only figures with these verdicts; without a choice, all",
        )  # fmt: skip
        listed = chosen(outcomes, states or ())
        picked = _picker(listed)
    if picked:
        look_at(picked)
        st.rerun()
    if not listed:
        st.info("No figure has this verdict. Choose another one, or none to see all.", icon="ℹ️")
    for name in dict.fromkeys(one.paper.name for one in listed):
        _paper([one for one in listed if one.paper.name == name], outcomes, is_open=bool(states))


def _strip(outcomes: Mapping[str, Checked]) -> None:
    """Show a row of cells for each paper, one a figure: colour and mark tell its verdict, a click opens it."""
    rounds = st.session_state.get(ROUND, 0)
    look = []
    with st.container(key="checks-strip", gap="xxsmall"):
        for row, name in enumerate(PAPERS):
            ours = {one.key: one for one in REPRODUCTIONS if one.paper.name == name}
            states = [state_of(outcomes.get(key)) for key in ours]
            look += [
                f".st-key-checks-{row}-{rounds} button:nth-of-type({place}){{{CELLS[state]}}}"
                for place, state in enumerate(states, start=1)
            ]
            labels = {key: cell_of(one, outcomes.get(key)) for key, one in ours.items()}
            left, right = st.columns([2, 11], vertical_alignment="center", gap="xsmall")
            left.markdown(f"**{name}**")
            picked = right.pills(
                name, list(ours), key=f"checks-{row}-{rounds}", format_func=labels.__getitem__, wrap=True,
                label_visibility="collapsed",
            )  # fmt: skip
            if picked is not None:
                st.session_state[ROUND] = rounds + 1
                look_at(picked)
                st.rerun()
    st.html(f"<style>.st-key-checks-strip button{{min-width:{CELL_PX}px}}{''.join(look)}</style>")


def _picker(listed: Sequence[Reproduction]) -> str | None:
    titles = {one.key: f"{title_of(one)}: {one.claim}" for one in listed}
    return st.selectbox(
        "Find a figure", list(titles), index=None, format_func=titles.__getitem__,
        placeholder="Search in papers and claims", key=f"reproduction-pick-{st.session_state.get(ROUND, 0)}",
        help="Opens the numbers of the paper, ours beside them, and why they differ",
    )  # fmt: skip


def _paper(ours: Sequence[Reproduction], outcomes: Mapping[str, Checked], *, is_open: bool) -> None:
    """Show the figures of one paper as a table; a ticked row opens."""
    name = ours[0].paper.name
    with st.expander(f"{name}: {amount(len(ours), 'figure')}", expanded=is_open, key=f"checks-of-{name}-{is_open}"):
        st.markdown(f":gray[{safe(ours[0].paper.reference, 200)}]")
        _rows(name, ours, outcomes)


def _rows(name: str, ours: Sequence[Reproduction], outcomes: Mapping[str, Checked]) -> None:
    rows = pd.DataFrame([row_of(one, outcomes.get(one.key)) for one in ours])
    picked = st.dataframe(
        rows, hide_index=True, row_height=ROW_PX, height="content", on_select="rerun", selection_mode="single-row",
        key=f"reproduction-list-{name}-{st.session_state.get(ROUND, 0)}",
        column_config={column: st.column_config.TextColumn(width=width) for column, width in WIDTHS.items()},
        alt=f"Figures of {name} with claim, the paper's number, ours and the verdict",
    )  # fmt: skip
    if picked.selection.rows:
        st.session_state[ROUND] = st.session_state.get(ROUND, 0) + 1
        look_at(ours[picked.selection.rows[0]].key)
        st.rerun()


# ---- one figure -------------------------------------------------------------------------------------------


def detail(one: Reproduction, checked: Checked | None, *, busy: bool) -> None:
    """Show one figure; ``busy``: this tab waits for a run."""
    sentence(headline(one, checked), ())
    st.markdown(f"**Claim.** {safe(one.claim, 400)}  \n:gray[{safe(one.paper.reference, 200)}]")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        state = state_of(checked)
        st.badge(MARKS[state], color=COLOURS[state], help=HINTS[state])
        if checked is not None:
            st.badge("quick run" if checked.quick else "full run", color="gray", help=origin(checked))
            if checked.stale:
                st.badge("earlier version", color="gray", help="The code has changed since: run it again to be sure")
        st.badge(f"paper: {one.printed.words}", color="gray", help="What the paper prints as numbers")
    _run(one, checked, busy=busy)
    if checked is None:
        return
    why = "  \n".join(safe(part, 5000) for part in checked.outcome.reasons)
    st.markdown(f"**{WHY[checked.outcome.verdict]}** {why}")
    st.markdown(f"**Ours.** {safe(checked.outcome.ours, 5000)}")
    st.markdown(f":gray[{safe(origin(checked), 300)}.]")
    _picture(one, checked.outcome)
    _parts(one, checked.outcome)


def _run(one: Reproduction, checked: Checked | None, *, busy: bool) -> None:
    """Show the ways to compute it: two buttons, and the command line."""
    left, right = st.columns([1, 1], vertical_alignment="center")
    with left, st.container(horizontal=True, gap="small"):
        for quick in (True, False):
            words = f"Run {'quick' if quick else 'full'}, {time_words(one.time, quick=quick)}"
            primary = quick and (checked is None or checked.stale)
            writing.button(
                words, key=f"reproduction-{'quick' if quick else 'full'}", disabled=busy,
                on_click=start, args=(one,), kwargs={"quick": quick},
                type="primary" if primary else "secondary",
                help="CPU time, by two processes. What this code has computed before is shown at once.",
            )  # fmt: skip
    with right:
        st.code(command(one.key, quick=checked is None or checked.quick), language="bash")


def _picture(one: Reproduction, outcome: Outcome) -> None:
    panels = panels_of(outcome.data)
    if not panels:
        return
    panels.sort(key=lambda panel: panel.key != one.printed.first_panel)  # the rest stays in its order
    titles = {panel.key: panel.kind.title for panel in panels}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        key = panels[0].key
        if len(panels) > 1:
            key = str(
                st.selectbox("Number", list(titles), key=f"reproduction-panel-{one.key}", width=260,
                             format_func=titles.__getitem__)
            )  # fmt: skip
        panel = _narrowed(next(panel for panel in panels if panel.key == key), one.key)
    charts.show(compared(panel, one.printed.points, charts.page_theme()), f"reproduction-{one.key}-{key}", caption=True)


def _narrowed(panel: Panel, key: str) -> Panel:
    """Return as many series as a chart can show; the reader chooses which."""
    depth = 0
    while (choices := panel.choices) is not None:
        place, names = choices
        label = "Of" if depth == 0 else "And of"
        name = st.selectbox(label, names, key=f"reproduction-part-{key}-{panel.key}-{depth}-{len(names)}", width=300)
        panel, depth = panel.only(place, str(name)), depth + 1
    return panel


def _parts(one: Reproduction, outcome: Outcome) -> None:
    """Show the parts of the claim, and data that are tables."""
    if checks := outcome.checks:
        st.subheader("Parts of the claim", anchor=False)
        rows = pd.DataFrame([{"Confirmed": "✓ yes" if holds else "✗ no", "Part": text} for text, holds in checks])
        widths = {name: st.column_config.TextColumn(width=width) for name, width in (("Confirmed", 90), ("Part", 960))}
        st.dataframe(rows, hide_index=True, key=f"reproduction-checks-{one.key}", alt="Parts of the claim",
                     column_config=widths)  # fmt: skip
    for name, table in tables_of(outcome.data).items():
        st.subheader(name.capitalize(), anchor=False)
        st.dataframe(pd.DataFrame(table), hide_index=True, key=f"reproduction-table-{one.key}-{name}", alt=name)
    st.download_button(
        "All numbers (JSON)", lambda: json.dumps(dict(outcome.data), indent=1), file_name=f"{one.key}.json",
        mime="application/json", key=f"reproduction-json-{one.key}", type="tertiary", on_click="ignore",
    )  # fmt: skip
