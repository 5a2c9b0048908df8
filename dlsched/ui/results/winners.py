"""Winners, losers and fairness as a page shows them: choices, sentence, chart, tables, what each number means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
import streamlit as st

from dlsched.figures import winners as figures
from dlsched.metrics.fairness_change import MEASURES, Fairness, Measured
from dlsched.metrics.job_classes import NOUNS, Grouping
from dlsched.metrics.stats.basis import Basis
from dlsched.metrics.stats.compare import delta_words
from dlsched.metrics.stats.intervals import Interval
from dlsched.metrics.winner_words import jobs_sentence, notes, noticed_words, sentence, shown_rows, with_letters
from dlsched.metrics.winners import QUANTITIES, Winners
from dlsched.ui.frame import charts
from dlsched.ui.frame.text import dollars, safe
from dlsched.wording.certainty import interval_note
from dlsched.wording.counted import Counted
from dlsched.wording.formats import MISSING, amount, show

COLOURS = {"better": "blue", "worse": "orange"}
HOW = {
    "Users, groups, job classes": "By the names in the jobs. Groups of fewer than 5 jobs a future are folded into one: "
    "a mean over them says little.",
    "Size classes": "By GPUs requested: 1, 2–4, 5–8, 9–16, more. Where more than 80% of the jobs are in one of these: "
    "quarters of the jobs.",
    "Length classes": "By run time alone, as in slowdown: up to 10 min, to 2 h, to 24 h, longer; else quarters as "
    "above. Not known for jobs that completed under neither run.",
    "Left out": "A mean is over the jobs that have the quantity under both runs. The others are counted separately: a "
    "run that starts or completes fewer jobs can have the better mean over those that are left.",
    "Ranges": "95% interval of the mean change over paired simulations. It covers one group at a time.",
    "One future": "Where nothing is random, a change is exact for this trace and has no range. Otherwise it is "
    "rough, and no verdict is given. The middle half of the jobs shows how much jobs differ; it is not an error of the "
    "mean.",
}


class WinnersChoice(NamedTuple):
    """What the reader wants to see: grouping, quantity, and from which size on a change counts."""

    by: Grouping
    quantity: str
    noticed: float


def quantities_of(jobs: pd.DataFrame) -> list[str]:
    """Return the quantities that some job of a jobs table has; the wait in any case."""
    return [key for key in QUANTITIES if key == "wait_s" or (key in jobs and jobs[key].notna().any())]


def choose(groupings: Sequence[Grouping], quantities: Sequence[str], key: str) -> WinnersChoice:
    """Ask how jobs are grouped, what is compared and what counts; call it inside a horizontal container."""
    by = st.selectbox(
        "Group by", groupings, key=f"{key}-by", format_func=lambda one: NOUNS[one][0].capitalize(), width=150,
        help="Jobs of a group are averaged; see below how groups are formed",
    )  # fmt: skip
    quantity = st.selectbox(
        "Quantity", quantities, key=f"{key}-quantity", format_func=lambda one: QUANTITIES[one].kpi.label, width=170,
        help="  \n".join(f"**{QUANTITIES[one].kpi.label}**: {QUANTITIES[one].kpi.tooltip}" for one in quantities),
    )  # fmt: skip
    noticed = st.selectbox(
        "Counts when it changes", QUANTITIES[quantity].noticed, key=f"{key}-noticed-{quantity}", width=190,
        format_func=lambda size: noticed_words(quantity, size),
        help="Smaller changes of a group's mean or of a job are no gain and no loss",
    )  # fmt: skip
    return WinnersChoice(by, quantity, noticed)


def show_winners(answer: Winners, key: str, *, hide_names: bool = False) -> None:
    """Show who gains and who loses: sentence, chart by group, table with counts and shares, what to know."""
    answer = with_letters(answer) if hide_names else answer
    if answer.total.change is None:
        st.info(safe(sentence(answer), 400))
        return
    st.markdown(f"**{safe(sentence(answer), 600)}** {safe(jobs_sentence(answer), 200)}")
    charts.show(figures.changes(answer, charts.page_theme()), key)
    st.markdown(f":gray[{safe(' '.join(notes(answer)), 1500)}]")
    rows = pd.DataFrame(shown_rows(answer))
    st.dataframe(
        rows.head(charts.MAX_TABLE_ROWS), hide_index=True, key=f"{key}-rows",
        column_config={rows.columns[0]: st.column_config.TextColumn(width=150)},
        alt=f"{amount(len(answer.groups), *NOUNS[answer.by])} with jobs, means and changes; {sentence(answer)}",
    )  # fmt: skip


def show_fairness(fairness: Fairness) -> None:
    """Show how fair both runs are to users, with the differences."""
    st.subheader("Fairness", anchor=False)
    there = [one for one in fairness.measures if one.baseline is not None or one.other is not None]
    if not there:
        st.info("Neither run has two users with jobs to compare, nor GPUs to share.")
        return
    rows = [
        {
            "Measure": MEASURES[one.key].label,
            f"{safe(fairness.baseline, 40)} (B)": show(MEASURES[one.key].kind, one.baseline),
            safe(fairness.other, 40): show(MEASURES[one.key].kind, one.other),
            "Difference": _difference(one),
            "Better is": MEASURES[one.key].better,
            "Over": _counted(one),
        }
        for one in there
    ]
    st.table(
        pd.DataFrame(rows), hide_index=True, border="horizontal",
        alt=f"{amount(len(rows), 'measure')} of fairness of {fairness.baseline} and {fairness.other}",
    )  # fmt: skip
    if fairness.draws > 1:
        st.markdown(f":gray[{interval_note(Basis(kind='drawn', futures=fairness.draws - 1), fairness.draws)}.]")


def show_how(counted: Counted) -> None:
    """Show what every number means."""
    with st.expander("How it is counted", key="winners-how"):
        for what, text in HOW.items():
            st.markdown(f"**{what}.** {counted.say(text)}")
        for kpi in (measure.of(counted) for measure in MEASURES.values()):
            st.markdown(dollars(f"**{kpi.label}.** {kpi.tooltip}"))
        st.markdown(
            "Sources: Jain, Chiu and Hawe, A quantitative measure of fairness, 1984; finish-time fairness as in "
            "Themis, NSDI 2020. Evenness is not all of fairness: it asks whether users fare alike, not whether they "
            "should."
        )


def _difference(one: Measured) -> str:
    """Return a difference in words, coloured where it is better or worse."""
    if one.change is None:
        return MISSING
    text = dollars(delta_words(MEASURES[one.key], Interval(one.change, one.half_width, 1), one.verdict))
    colour = COLOURS.get(one.verdict, "gray")
    return f":{colour}[{text}]"


def _counted(one: Measured) -> str:
    """Return over whom a measure goes; users under the baseline and under the other run where they differ."""
    if one.users_baseline is None or one.users_other is None:
        return "completed jobs"
    if one.users_baseline == one.users_other:
        return f"{show('number', one.users_baseline)} users"
    return f"{show('number', one.users_baseline)} and {show('number', one.users_other)} users"
