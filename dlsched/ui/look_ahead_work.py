"""Which run and decision the Look-ahead page shows, and the work that brings the decision back, in the background."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dlsched.domain.errors import InputError
from dlsched.experiments import computations
from dlsched.experiments.background import Question, Task
from dlsched.experiments.look_ahead import POLICIES, Subject, known_of
from dlsched.metrics.look_ahead import LookAhead, changes_at, decisions_of
from dlsched.policies.registry import find
from dlsched.store.record import experiment_key
from dlsched.store.runs import RunInfo
from dlsched.ui import loaders, session
from dlsched.ui.waiting import Waiting
from dlsched.workload.modelarts import sample_elastic

KIND, PARAM = "look-ahead", "decision"
BLOCK = 25
"""Decisions that are worked out together: the steps before and after are there at once."""
WORK = Waiting("look")


def runs() -> pd.DataFrame:
    """Return the stored runs of the scenario under a policy that plans ahead, newest first."""
    found: pd.DataFrame = session.runs_of(session.scenario().content_hash)
    ahead: pd.DataFrame = found[found["policy"].isin(POLICIES)].reset_index(drop=True)
    return ahead


def offer(info: RunInfo) -> None:
    """Show a button that opens the decisions of a run, where its policy is one that this page knows."""
    if info.policy not in POLICIES:
        return
    label = "See what it planned" if info.policy == POLICIES[0] else "See its decisions"
    if st.button(label, key="result-look", help="Every decision, with what the other allocator would have done"):
        session.look_at_run(info.run_id)
        session.go("inside/look_ahead.py")


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
    WORK.forget_ended()


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
    WORK.begin([session.runner().ask(Question(KIND, spec, name, subject))])


def run_demo() -> None:
    """Run both allocators on the sample of elastic training."""
    sample = sample_elastic()
    session.keep(sample)
    session.look_at_run("")
    WORK.begin(session.runner().submit([Task(sample, key, {}, 0, find(key).label) for key in POLICIES]))
