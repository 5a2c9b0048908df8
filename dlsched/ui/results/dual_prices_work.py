"""Which run the page Prices and admissions shows, and the work that brings its decisions back, in the background."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from dlsched.domain.errors import DlschedError
from dlsched.policies.registry import find
from dlsched.runner.background import RunTask, StudyTask
from dlsched.store.record import experiment_key
from dlsched.store.runs import RunInfo
from dlsched.studies import registry
from dlsched.studies.inspect.dual_prices import DualPricesSpec
from dlsched.studies.inspect.dual_prices.answer import PricedRun
from dlsched.ui.frame import loaders, parts, session
from dlsched.ui.pending import PendingTasks
from dlsched.ui.results.decision_inspector import Replays
from dlsched.workload.studies.pd_ors import sample_slotted_jobs

PAGE = "results/dual_prices.py"
POLICIES = DualPricesSpec.policies
REPLAYS = Replays("prices", "Prices", "price", "decision", POLICIES)
HINDSIGHT = PendingTasks("hindsight")
DEMO_POLICIES = ("pd-ors-drf", "pd-ors-fifo", "oasis", "pd-ors")
"""The one that the page opens with comes last: it is the newest run then."""


def offer(info: RunInfo) -> None:
    """Show a button that opens the prices of a run, where its policy books at prices."""
    if info.policy in POLICIES:
        REPLAYS.offer(
            info, "See who was worth the price", "Every job: its worth, its price, why it got in or not", PAGE
        )


def offer_job(info: RunInfo) -> None:
    """Show a button to why the job whose story is told was admitted or not; it stays the chosen one."""
    if info.policy in POLICIES and st.button(
        "Why admitted or not", key="job-price", help="What it was worth, what its machines cost, and the alternative"
    ):
        session.look_at_run(info.run_id)
        session.go(PAGE)


def question_of(info: RunInfo) -> dict[str, Any]:
    """Return the question that a run is."""
    return {"scenario": info.scenario_hash, "policy": info.policy, "params": info.params, "seed": info.seed}


def bring(
    kind: str, info: RunInfo, work: PendingTasks, show: Callable[[Mapping[str, Any]], None], *, at_once: bool
) -> dict[str, Any]:
    """Show an answer where the store has it, else have it worked out; return where progress goes while it is.

    Without ``at_once`` a button of the page starts the work: nothing is shown until then.
    """
    statuses = work.under_way()
    try:
        found = answer(kind, info)
    except DlschedError as error:
        parts.error_box(error)
        return {}
    if found is not None:
        show(found)
    elif work.ended():
        work.show_ended()
    elif statuses or at_once:
        with parts.mistakes_shown():
            if not statuses:
                ask(kind, info, work)
                if not (statuses := work.under_way()):
                    st.rerun()  # it is over already
            return dict(work.board(statuses))
    return {}


def ask(kind: str, info: RunInfo, work: PendingTasks) -> None:
    """Have an answer worked out in the background."""
    name = registry.find(kind).label
    question = StudyTask(kind, question_of(info), name, loaders.scenario_of(info.run_id))
    work.begin([session.runner().ask(question)])


def answer(kind: str, info: RunInfo) -> Mapping[str, Any] | None:
    """Return an answer about a run where the store has it."""
    found = registry.find(kind)
    key = experiment_key(kind, found.canonical(question_of(info)), found.version)
    experiment = session.store().find_experiment(key)
    return None if experiment is None else _answer(str(session.store().path), experiment)


@st.cache_resource(max_entries=8, show_spinner=False)
def _answer(_path: str, experiment_id: str) -> Mapping[str, Any]:
    return session.store().get_experiment(experiment_id).answer


@st.cache_resource(max_entries=4, show_spinner=False)
def _priced(_path: str, run_id: str, _plain: Mapping[str, Any]) -> PricedRun:
    return PricedRun.from_plain(_plain)


def priced(info: RunInfo, plain: Mapping[str, Any]) -> PricedRun:
    """Return the decisions of a run from their plain form, kept between clicks."""
    return _priced(str(session.store().path), info.run_id, plain)


def run_demo() -> None:
    """Run both policies that book at prices, and two that do not, on the sample of jobs that book machines."""
    sample = sample_slotted_jobs()
    session.keep(sample)
    session.look_at_run("")
    tasks = [RunTask(sample, key, {}, 0, find(key).label) for key in DEMO_POLICIES]
    REPLAYS.work.begin(session.runner().submit(tasks))
