"""What the part Headroom shows: how much more load today's cluster and the size found take."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.figures.size import headroom
from dlsched.studies.sizing import SizeSpec
from dlsched.studies.sizing.answer import Sizing, check_load
from dlsched.studies.sizing.words import VERDICTS, headroom_words
from dlsched.ui.answers import Shown
from dlsched.ui.frame import charts
from dlsched.ui.frame.parts import cards, chips, sentence
from dlsched.ui.frame.text import safe
from dlsched.ui.plan.size_words import headroom_card, load_words, metric_names, rule_chips, target_words
from dlsched.wording.assumptions import Assumption
from dlsched.wording.formats import amount

ASSUMED = Assumption(
    "load by arrivals alone",
    "The same jobs arrive closer together; sizes and run times stay. Loads are tried in steps of 5%, and more load is "
    "supposed never to serve better.", "",
)  # fmt: skip


NONE = "This answer has no headroom: it was not asked, or the search ran out of runs before."
NONE_AT_ONCE = "There is no headroom to tell: all jobs arrive at once, so they cannot arrive faster."


def show(shown: Shown[SizeSpec, Sizing], scenario: Scenario, _: bool) -> None:
    """Show how much more load a size takes."""
    answer = shown.answer
    if not answer.headroom:
        sentence(NONE_AT_ONCE if scenario.workload.all_at_once else NONE)
        return
    sentence(" ".join(headroom_words(answer, room) for room in answer.headroom))
    cards([(label, value, hint) for label, value, hint in cards_of(answer)])
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge(safe(answer.label), color="gray", help="The policy that all loads run under")
        chips([ASSUMED, *rule_chips(answer.rule, answer.vary)], "headroom")
    names = metric_names(answer)
    metric = next(iter(names))
    if len(names) > 1:
        metric = str(st.segmented_control("Target", list(names), default=metric, required=True,
                                          key=f"headroom-metric-{'-'.join(names)}", format_func=names.__getitem__,
                                          label_visibility="collapsed"))  # fmt: skip
    charts.show(headroom(answer, metric, charts.page_theme()), "size-headroom", caption=True)
    frame = pd.DataFrame(rows_of(answer))
    st.dataframe(frame, hide_index=True, key="headroom-table", placeholder="–",
                 alt=f"{amount(len(frame), 'load')} tried, with each target's verdict")  # fmt: skip


def cards_of(answer: Sizing) -> list[tuple[str, str, str]]:
    """Return two cards a size: the headroom, and what the next load says."""
    found = []
    for room in answer.headroom:
        whose = "today" if room.counts == answer.today else "answer"
        found.append((f"Headroom, {whose}", headroom_card(room), f"{answer.words(room.counts)}: the last load tried "
                      "that meets all targets, against the present one."))  # fmt: skip
        first = next((load for load in room.loads if load.factor == room.first), None)
        if first is not None:
            verdict = VERDICTS[check_load(answer, first).verdict]
            found.append((f"At {load_words(first.factor)}, {whose}", verdict, "The first load tried that does not meet "
                          "all targets: it fails, or the draws do not tell."))  # fmt: skip
    return found


def rows_of(answer: Sizing) -> list[dict[str, str]]:
    """Return every load tried as a row."""
    rows = []
    for room in answer.headroom:
        for load in room.loads:
            check = check_load(answer, load)
            rows.append(
                {"Size": answer.words(room.counts), "Load": f"{load.factor:g}x"}
                | {one.target.words: target_words(one) for one in check.targets}
                | {"All targets": VERDICTS[check.verdict]}
                | ({} if answer.rule.exact else {"Draws held": f"{check.hits} of {check.n}"})
            )
    return rows
