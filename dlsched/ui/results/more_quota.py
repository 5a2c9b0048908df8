"""The part More quota of the page Queues: which queues are asked about, the answer as a table, and who loses."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.store.runs import RunInfo
from dlsched.studies.design import Futures
from dlsched.studies.inspect.queues.answer import Queues
from dlsched.studies.more_quota import STUDY, MoreQuotaSpec, estimate_s
from dlsched.studies.more_quota.answer import MoreQuota
from dlsched.studies.more_quota.words import errors_of, frame_of, outcome_words, sentence_of
from dlsched.ui.answers import Answers, Shown
from dlsched.ui.frame import charts, tables, writing
from dlsched.ui.frame.futures import futures_of
from dlsched.ui.frame.parts import guard_rails
from dlsched.ui.frame.text import safe
from dlsched.ui.plan import what_if_state
from dlsched.ui.study_page import bring
from dlsched.wording.cautions import Caution
from dlsched.wording.formats import Kind, about_seconds, amount, number

MORE = Answers(STUDY)
MOST_FUTURES = 5
"""Beside future 0: each takes as many runs as there are rows, and one."""
MOST_QUEUES = 6


def more_quota_part(answer: Queues, info: RunInfo, current: Scenario) -> None:
    """Ask about more quota for some queues and show what it does."""
    tree = current.queues
    assert tree is not None
    names = [name for name, queue in tree.tree.items() if any(one.resource == answer.resource for one in queue.quota)]
    if not names:
        st.markdown("No queue has a quota of its own.")
        return
    worst = answer.worst()
    usual = [worst.queue] if worst is not None and worst.queue in names else names[:1]
    queues = st.multiselect(
        "More quota for", names, usual, key="more-quota-queues", max_selections=MOST_QUEUES, persist_state="session",
        help="One queue at a time gets 1, 4 or 8 more, and as much as the nodes have; the nodes stay as they are",
    )  # fmt: skip
    if not queues:
        return
    all_futures = futures_of(current)
    futures = Futures(seeds=all_futures.seeds[: MOST_FUTURES + 1], vary=all_futures.vary)
    spec = MoreQuotaSpec(
        scenario=info.scenario_hash, policy=info.policy, params=info.params, queues=tuple(queues), futures=futures
    )

    def show(shown: Shown[MoreQuotaSpec, MoreQuota]) -> None:
        _answer(shown.answer, info)

    def ask() -> None:
        MORE.ask([spec], current, f"More quota for {', '.join(queues)}")

    if MORE.stored_id(spec) is None and not MORE.work.under_way():
        took = about_seconds(estimate_s(spec, current))
        st.markdown(
            f":gray[The same jobs run again with each quota, in {amount(len(futures.seeds), 'future')}; {took} of "
            "computing.]"
        )
        if writing.button("Compute", type="primary", key="more-quota-ask"):
            ask()
            st.rerun()
        if MORE.work.ended():
            MORE.work.show_ended()
        return
    places = bring(MORE, spec, show, ask, at_once=False)
    if places:
        MORE.work.follow(places)


def _answer(answer: MoreQuota, info: RunInfo) -> None:
    guard_rails([Caution("orange", f"Runs failed: {error}") for error in errors_of(answer)[:3]])
    st.markdown(f"**{safe(sentence_of(answer), 600)}**")
    frame = frame_of(answer)
    kinds: dict[str, Kind | Callable[[float], str]] = {}
    for name in map(str, frame):
        if "p95 wait" in name:
            kinds[name] = "duration"
        elif name.startswith(("Quota (", "Lost (", "Unused (")):
            kinds[name] = number
    shown = tables.in_words(frame, kinds)
    st.dataframe(shown, hide_index=True, key="more-quota-table", placeholder="–", alt="What more quota does, by queue",
                 column_config={name: st.column_config.Column(help=text) for name, text in HELP.items()})  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        charts.csv_button(frame, "more-quota", "Download this table")
        labels = [f"+{number(one.choice.more)} for {one.choice.queue}" for one in answer.outcomes]
        chosen = st.selectbox("Choice", range(len(labels)), format_func=labels.__getitem__, key="more-quota-choice",
                              width=260, help="One line of the table")  # fmt: skip
        outcome = answer.outcomes[chosen]
        if st.button("Open in What if", key="more-quota-whatif", help="All numbers of this change, in all futures"):
            what_if_state.open_about(info.run_id, outcome.choice.changes)
    st.markdown(f":gray[{safe(outcome_words(answer, outcome), 600)}]")


HELP = {
    "p95 wait then": "p95 wait of the queue that is given more; of future 0",
    "Falls in": "Futures in which this p95 wait falls by more than a minute",
    "Loses most": "The other queue whose p95 wait rises most, by more than a minute; of future 0",
    "Change in jobs stopped": "More or fewer jobs stopped than now",
}
