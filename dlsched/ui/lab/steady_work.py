"""Which answer the Steady state page shows, and the computation of another one in the background."""

from __future__ import annotations

import time
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.errors import DlschedError, StoreError
from dlsched.runner.background import StudyTask, TaskState, TaskStatus
from dlsched.store.record import experiment_key
from dlsched.studies import registry
from dlsched.studies.steady import STUDY, SteadyAnswer, SteadySpec
from dlsched.studies.steady.words import spec_words
from dlsched.ui.frame import session
from dlsched.ui.frame.text import safe
from dlsched.ui.lab.steady_bundled import bundled_answer
from dlsched.wording.formats import amount, duration

KIND, PARAM = "steady", "experiment"
SHOWN, TASK, SPEC, ENDED = "steady-shown", "steady-task", "steady-spec", "steady-ended"
LOOK_EVERY_S = 0.3


@dataclass(frozen=True, eq=False)
class Shown:
    """The answer on the page; ``experiment_id`` is None for the bundled one. ``stale``: by other code than today's."""

    answer: SteadyAnswer
    experiment_id: str | None
    stale: bool


def shown() -> tuple[Shown, bool]:
    """Return the answer the URL or the session names, else the bundled one, and whether it is another than before.

    Raises
    ------
    StoreError
        When the URL names one that is not in this store, or is no steady state.
    """
    named = st.query_params.get(PARAM) or st.session_state.get(SHOWN)
    before = st.session_state.get(SHOWN)
    st.session_state[SHOWN] = named
    if not named:
        return Shown(bundled_answer(), None, stale=False), False
    try:
        found = _stored(str(session.store().path), named)
    except DlschedError:
        st.session_state.pop(SHOWN)
        raise
    st.query_params[PARAM] = named
    return found, named != before


@st.cache_resource(max_entries=8, show_spinner=False)
def _stored(_path: str, experiment_id: str) -> Shown:
    record = session.store().get_experiment(experiment_id)
    if record.kind != KIND:
        raise StoreError(f"Experiment {experiment_id[:12]} is no steady state. Open it where it was made.")
    stale = record.code_version != registry.find(KIND).version
    return Shown(SteadyAnswer.from_plain(record.answer), experiment_id, stale)


def open_answer(experiment_id: str | None) -> None:
    """Show a stored answer from now on; None = the bundled one."""
    st.session_state[SHOWN] = experiment_id
    if experiment_id is None:
        st.query_params.pop(PARAM, None)
    else:
        st.query_params[PARAM] = experiment_id


def known(spec: SteadySpec) -> str | None:
    """Return the id of the stored answer to a question; None when it was not asked yet."""
    found = registry.find(KIND)
    return session.store().find_experiment(experiment_key(KIND, spec.model_dump(mode="json"), found.version))


def button_words(spec: SteadySpec, *, stored: bool) -> str:
    """Return what the button says: Compute 20 points, about 1 min."""
    points = amount(num_points(spec), "point")
    if stored:
        return f"Show {points} from the store"
    return f"Compute {points}, about {duration(STUDY.estimate_s(spec))}"


def start(spec: SteadySpec) -> None:
    """Ask the background runner; a question that was asked before is answered at once."""
    st.session_state.pop(ENDED, None)
    question = StudyTask(KIND, spec.model_dump(mode="json"), f"Steady state, {spec_words(spec)}")
    st.session_state[TASK] = session.runner().ask(question)
    st.session_state[SPEC] = spec


def is_asked(spec: SteadySpec) -> bool:
    """Whether this tab waits for the answer to this question."""
    return bool(st.session_state.get(TASK)) and st.session_state.get(SPEC) == spec


def under_way() -> list[TaskStatus]:
    """Return the steady states that are being computed, of every session."""
    return [status for status in session.runner().questions(KIND) if not status.state.is_over]


def take_in() -> None:
    """Open the answer of this tab's question when it is there; keep the message when there will be none."""
    task = st.session_state.get(TASK)
    status = next(iter(session.runner().status([task])), None) if task else None
    if status is None or not status.state.is_over:
        return
    st.session_state.pop(TASK)
    if status.state is TaskState.STORED:
        open_answer(status.experiment_id)
    else:
        st.session_state[ENDED] = (status.state, status.message)


def board() -> dict[str, DeltaGenerator]:
    """Show what is under way with a way to cancel it, and how the last question ended; return where progress goes."""
    if ended := st.session_state.get(ENDED):
        state, message = ended
        if state is TaskState.CANCELLED:
            st.info("Cancelled. Nothing was kept.", icon="ℹ️")
        else:
            st.error(f"**The computation stopped.** {safe(message, 600)}", icon="⛔")
    places: dict[str, DeltaGenerator] = {}
    for status in under_way():
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            places[status.id] = st.empty()
            st.button("Cancel", key=f"cancel-{status.id}", on_click=session.runner().cancel, args=([status.id],),
                      help="Nothing of it is kept")  # fmt: skip
        _show(places[status.id], status)
    if places:
        st.markdown(":gray[You can leave this page: it goes on, and the answer is kept.]")
    return places


def _show(place: DeltaGenerator, status: TaskStatus) -> None:
    spec: SteadySpec | None = st.session_state.get(SPEC) if status.id == st.session_state.get(TASK) else None
    text = progress_words(status, None if spec is None else num_points(spec))
    place.progress(min(max(status.share, 0.0), 1.0), text=safe(text, 300))


def num_points(spec: SteadySpec) -> int:
    """Return how many points an experiment has."""
    return len(spec.loads) * len(spec.policies)


def progress_words(status: TaskStatus, points: int | None) -> str:
    """Return how far a question is: 14 of 20 points, SRPT at load 0.5: 4,000 jobs; its name where it is another's."""
    done = status.name if points is None else f"{int(status.share * points)} of {amount(points, 'point')}"
    left = "" if status.eta_s is None else f", about {duration(max(1.0, round(status.eta_s)))} left"
    return f"{done}, {status.text or 'waiting'}{left}"


def follow(places: dict[str, DeltaGenerator]) -> None:
    """Follow what is under way to its end; call it last on the page. Any click on the page interrupts it."""
    if not places:
        return
    while (now := {status.id: status for status in under_way()}).keys() == places.keys():
        for task_id, status in now.items():
            _show(places[task_id], status)
        time.sleep(LOOK_EVERY_S)
    st.rerun()
