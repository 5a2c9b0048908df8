"""Answers of the page What if that were kept as options: the button that keeps one, and the list of them."""

from __future__ import annotations

import streamlit as st

from dlsched.domain.errors import DlschedError
from dlsched.studies.what_if import read_spec
from dlsched.studies.what_if.answer import WhatIf, comparison_of
from dlsched.studies.what_if.words import sentence
from dlsched.ui.frame import session
from dlsched.ui.frame.text import safe
from dlsched.ui.plan import shortlist, what_if_work
from dlsched.ui.plan.what_if_work import KIND, Shown
from dlsched.wording.formats import amount


def keep_button(shown: Shown) -> None:
    """Offer to keep an answer as an option, or to take it off again."""
    scenario_hash = shown.spec.scenario
    if shortlist.is_kept(scenario_hash, shown.experiment_id):
        st.button("Kept as option ✕", key="whatif-unkeep", on_click=shortlist.drop,
                  args=(scenario_hash, shown.experiment_id), help="Take it off the options")  # fmt: skip
    elif shown.answer.is_changed:
        st.button("Keep as option", key="whatif-keep", on_click=shortlist.keep, disabled=not is_usable(shown),
                  type="primary", args=(scenario_hash, shown.experiment_id),
                  help="Remembered with this scenario, to look at again and for the report")  # fmt: skip


def is_usable(shown: Shown) -> bool:
    """Whether an answer can be an option: a change with an interval or exact, all runs done, their books clean."""
    answer = shown.answer
    return answer.is_changed and (answer.exact or answer.draws > 1) and not answer.errors and not answer.audit


def kept_list(scenario_hash: str) -> None:
    """List the what-ifs that were kept, each with its sentence and a way back to it."""
    found = [(one, answer) for one in shortlist.kept(scenario_hash) if (answer := _answer(one)) is not None]
    if not found:
        return
    with st.popover(amount(len(found), "option"), key="whatif-kept", help="What was kept of this scenario"):
        for experiment_id, answer in found:
            st.markdown(safe(sentence(answer, comparison_of(answer)), 400))
            with st.container(horizontal=True, gap="small"):
                st.button("Open", key=f"whatif-open-{experiment_id}", on_click=_open, args=(experiment_id,))
                st.button("Remove", key=f"whatif-forget-{experiment_id}", on_click=shortlist.drop,
                          args=(scenario_hash, experiment_id), type="tertiary")  # fmt: skip


def _answer(experiment_id: str) -> WhatIf | None:
    """Return a kept answer; None where it is gone, or is of another page."""
    try:
        record = session.store().get_experiment(experiment_id)
        return WhatIf.from_plain(record.answer) if record.kind == KIND else None
    except DlschedError:
        return None


def _open(experiment_id: str) -> None:
    what_if_work.open_spec(read_spec(session.store().get_experiment(experiment_id).spec))
