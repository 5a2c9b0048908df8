"""Which outcomes the page Reproductions shows, and the runs that bring new ones."""

from __future__ import annotations

import streamlit as st

from dlsched.runner.background import StudyTask
from dlsched.store.record import ExperimentInfo
from dlsched.studies import registry
from dlsched.studies.reproductions.reproduction import Reproduction
from dlsched.studies.reproductions.spec import STUDY
from dlsched.studies.reproductions.words import Checked, title_of
from dlsched.ui.frame import session
from dlsched.ui.lab.reproductions_bundled import bundled
from dlsched.ui.pending import PendingTasks

KIND, PARAM = "reproduction", "figure"
WORK = PendingTasks("reproduction")
MOST_READ = 400
"""Newest answers in the store that are looked at: every figure, quick and full, by four versions of the code."""


def checked() -> dict[str, Checked]:
    """Return the outcome to show of each figure that has one: see ``Checked.rank``."""
    today = registry.find(KIND).version
    found = {
        key: Checked(one.outcome, quick=True, version=one.version, on=one.on, stale=one.version != today, bundled=True)
        for key, one in bundled().items()
    }
    path = str(session.store().path)
    for info in session.store().list_experiments(KIND)[:MOST_READ]:
        key, one = _stored(path, info, today)
        if key not in found or one.rank > found[key].rank:
            found[key] = one
    return found


@st.cache_resource(
    max_entries=MOST_READ,
    show_spinner=False,
    hash_funcs={ExperimentInfo: lambda info: (info.experiment_id, info.made_at.isoformat())},
)
def _stored(_path: str, info: ExperimentInfo, today: str) -> tuple[str, Checked]:
    record = session.store().get_experiment(info.experiment_id)
    asked, outcome = STUDY.read_record(record)
    return asked.key, Checked(
        outcome, asked.quick, record.code_version, info.made_at.date().isoformat(),
        stale=record.code_version != today, bundled=False,
    )  # fmt: skip


def start(one: Reproduction, *, quick: bool) -> None:
    """Have a figure computed anew in the background; what this code has computed before is there at once."""
    name = f"{title_of(one)}, {'quick' if quick else 'full'} run"
    WORK.begin([session.runner().ask(StudyTask(KIND, {"key": one.key, "quick": quick}, name))])


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
