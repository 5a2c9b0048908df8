"""Which run and decision the Look-ahead page shows, and the work that brings the decision back, in the background."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.errors import InputError
from dlsched.experiments import computations
from dlsched.experiments.background import Question, Task, TaskState, TaskStatus
from dlsched.experiments.look_ahead import POLICIES, Subject, known_of
from dlsched.metrics.formats import duration
from dlsched.metrics.look_ahead import LookAhead, changes_at, decisions_of
from dlsched.policies.registry import find
from dlsched.store.record import experiment_key
from dlsched.store.runs import RunInfo
from dlsched.ui import loaders, session
from dlsched.ui.text import safe
from dlsched.workload.modelarts import sample_elastic

KIND, PARAM = "look-ahead", "decision"
BLOCK = 25
"""Decisions that are worked out together: the steps before and after are there at once."""
DEMO, TASKS, ENDED = "look-demo", "look-tasks", "look-ended"
LOOK_EVERY_S = 0.3


def runs() -> pd.DataFrame:
    """Return the stored runs of the scenario under a policy that plans ahead, newest first."""
    found: pd.DataFrame = session.runs_of(session.scenario().content_hash)
    ahead: pd.DataFrame = found[found["policy"].isin(POLICIES)].reset_index(drop=True)
    return ahead


@st.cache_resource(max_entries=12, show_spinner=False)
def _decisions(_path: str, run_id: str) -> pd.DataFrame:
    return decisions_of(session.store().decisions(run_id))


def decisions(run_id: str) -> pd.DataFrame:
    """Return the decisions of a run, numbered from 1."""
    return _decisions(str(session.store().path), run_id)


@st.cache_resource(max_entries=4, show_spinner=False)
def _pieces(_path: str, run_id: str) -> pd.DataFrame:
    return session.store().segments(run_id)


def pieces(run_id: str) -> pd.DataFrame:
    """Return the run's pieces, as metrics.segments_table."""
    return _pieces(str(session.store().path), run_id)


@st.cache_resource(max_entries=12, show_spinner=False)
def _busiest(_path: str, run_id: str) -> int:
    return int(np.argmax(changes_at(_pieces(_path, run_id), _decisions(_path, run_id)["time_s"].to_numpy(float)))) + 1


def busiest(run_id: str) -> int:
    """Return the decision at which most workers change hands, the first of them."""
    return _busiest(str(session.store().path), run_id)


def chosen(run_id: str, last: int) -> int:
    """Return the decision that is looked at: of this tab, else of the URL, else the one with the largest change."""
    key = number_key(run_id)
    if key not in st.session_state:
        named = st.query_params.get(PARAM, "")
        wanted = int(named) if named.isdecimal() and len(named) < 9 else busiest(run_id)
        st.session_state[key] = min(max(wanted, 1), last)
    number = int(st.session_state[key])
    if st.query_params.get(PARAM) != str(number):
        st.query_params[PARAM] = str(number)
    return number


def number_key(run_id: str) -> str:
    """Return the key of the field with the decision's number."""
    return f"look-number-{run_id}"


def choose(run_id: str, number: int) -> None:
    """Look at another decision; a callback of the buttons."""
    st.session_state[number_key(run_id)] = number
    forget_ended()


def question_of(info: RunInfo, number: int, last: int) -> dict[str, Any]:
    """Return the question whose answer holds a decision: the block around it."""
    first = (number - 1) // BLOCK * BLOCK + 1
    return {
        "scenario": info.scenario_hash, "policy": info.policy, "params": info.params, "seed": info.seed,
        "first": first, "last": min(first + BLOCK - 1, last),
    }  # fmt: skip


def known(spec: dict[str, Any], number: int) -> LookAhead | None:
    """Return a decision where the store has it; InputError when the run comes out shorter today."""
    found = computations.find(KIND)
    experiment = session.store().find_experiment(experiment_key(KIND, found.canonical(spec), found.version))
    if experiment is None:
        return None
    answer = _answer(str(session.store().path), experiment)
    if number not in answer:
        raise InputError(f"decision {number:,}", "does not come again with today's code", "Run the policy again")
    return answer[number]


@st.cache_resource(max_entries=16, show_spinner=False)
def _answer(_path: str, experiment_id: str) -> dict[int, LookAhead]:
    record = session.store().get_experiment(experiment_id)
    return {one["number"]: LookAhead.from_plain(one) for one in record.answer["decisions"]}


def ask(info: RunInfo, spec: dict[str, Any]) -> None:
    """Have a block of decisions worked out in the background."""
    subject = Subject(loaders.scenario_of(info.run_id), known_of(decisions(info.run_id), pieces(info.run_id)))
    name = f"Look-ahead, decisions {spec['first']:,} to {spec['last']:,}"
    st.session_state.pop(ENDED, None)
    st.session_state[TASKS] = [session.runner().ask(Question(KIND, spec, name, subject))]


def run_demo() -> None:
    """Run both allocators on the sample of elastic training."""
    sample = sample_elastic()
    session.keep(sample)
    session.look_at_run("")
    st.session_state.pop(ENDED, None)
    st.session_state[TASKS] = session.runner().submit([Task(sample, key, {}, 0, find(key).label) for key in POLICIES])


def under_way() -> list[TaskStatus]:
    """Return what this tab waits for on this page; note how it ended where it failed or was cancelled."""
    statuses = session.runner().status(st.session_state.get(TASKS, []))
    if all(status.state.is_over for status in statuses):  # also where the runner has forgotten them
        st.session_state.pop(TASKS, None)
        bad = [status for status in statuses if status.state is not TaskState.STORED]
        if bad:
            st.session_state[ENDED] = (bad[0].state, bad[0].message)
        return []
    return statuses


def ended() -> tuple[TaskState, str] | None:
    """Return how the last work ended where it brought nothing, and why."""
    found: tuple[TaskState, str] | None = st.session_state.get(ENDED)
    return found


def forget_ended() -> None:
    """Let the work be started again."""
    st.session_state.pop(ENDED, None)


def show_ended() -> None:
    """Say that the last work was cancelled or stopped, with a way to try again."""
    state, message = st.session_state[ENDED]
    if state is TaskState.CANCELLED:
        st.info("Cancelled. Nothing was kept.", icon="ℹ️")
    else:
        st.error(f"**The computation stopped.** {safe(message, 600)}", icon="⛔")
    st.button("Try again", type="primary", key="look-again", on_click=forget_ended)


def board(statuses: Sequence[TaskStatus]) -> dict[str, DeltaGenerator]:
    """Show progress with one way to cancel all; return where progress goes."""
    places: dict[str, DeltaGenerator] = {}
    for status in statuses:
        places[status.id] = st.empty()
        _show(places[status.id], status)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button("Cancel", key="look-cancel", on_click=session.runner().cancel, args=([s.id for s in statuses],))
        st.markdown(":gray[You can leave this page: it goes on, and the answer is kept.]")
    return places


def _show(place: DeltaGenerator, status: TaskStatus) -> None:
    left = "" if status.eta_s is None else f", about {duration(max(1.0, round(status.eta_s)))} left"
    text = f"{status.name}: {status.text or 'waiting'}{left}"
    place.progress(min(max(status.share, 0.0), 1.0), text=safe(text, 300))


def follow(places: dict[str, DeltaGenerator]) -> None:
    """Follow what is under way to its end; call it last on the page. Any click on the page interrupts it."""
    while now := under_way():
        for status in now:
            _show(places[status.id], status)
        time.sleep(LOOK_EVERY_S)
    st.rerun()
