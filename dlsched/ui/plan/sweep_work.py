"""Which sweep the page shows, its runs in the background, what is kept of it, and the runs behind one situation."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import streamlit as st

from dlsched.domain.errors import DlschedError
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find
from dlsched.runner.background import RunTask, StudyTask, TaskState
from dlsched.runner.executor import num_workers
from dlsched.store.record import ExperimentRecord
from dlsched.studies.code_version import code_version
from dlsched.studies.design import changed
from dlsched.studies.design.run import Plan, RunResult, known
from dlsched.studies.sweep import SweepSpec, answer_of, planned, read_spec
from dlsched.studies.sweep.answer import Sweep
from dlsched.studies.sweep.batches import batches, run_seconds
from dlsched.studies.sweep.cells import KIND as CELLS
from dlsched.studies.sweep.cells import outcomes_of, spec_of
from dlsched.studies.sweep.findings import question_words
from dlsched.studies.sweep.words import point_words
from dlsched.ui import answers
from dlsched.ui.frame import run_state, session
from dlsched.wording.formats import amount

KIND, ENDED = "sweep", "sweep-ended"
SOURCES = ("studies/sweep", "studies/design", "workload")
INTERRUPTED = "sweep-interrupted"
SWEEPS = answers.Answers(KIND, "sweep", read_spec, Sweep.from_plain, lambda: code_version(SOURCES))
Shown = answers.Shown[SweepSpec, Sweep]


@dataclass(frozen=True, eq=False)
class Ready:
    """A question before it is asked: what there is to run, what the store has of it, how long the rest may take."""

    spec: SweepSpec
    scenario: Scenario
    plan: Plan
    found: Mapping[str, RunResult]
    each_s: Mapping[str, float]

    @property
    def seconds(self) -> float:
        """About how long the missing runs take on all workers."""
        return sum(self.each_s[key] for key in self.missing) / num_workers()

    @property
    def missing(self) -> list[str]:
        """Keys of the runs that are still to be computed."""
        return [key for key in self.plan.tasks if key not in self.found]


@dataclass(frozen=True, eq=False)
class Asked:
    """A sweep under way: how many runs each task of the runner has, how many were there, and since when."""

    ready: Ready
    runs_of: Mapping[str, int]
    began_s: float = field(default_factory=time.monotonic)


@dataclass(frozen=True, slots=True)
class Progress:
    """Runs that are done of all, and about how many seconds are left."""

    done: int
    runs: int
    left_s: float


# ---- which answer ------------------------------------------------------------------------------------


def shown(current: Scenario) -> Shown | None:
    """Return the answer that was opened, else what there is of a sweep that was stopped, else the newest one.

    Raises
    ------
    StoreError
        When the URL names one that is not in this store, or is no sweep.
    """
    if (opened := SWEEPS.opened(current)) is not None:
        return opened
    if under_way(current) is None and (stopped := interrupted(current)) is not None:
        return stopped
    return SWEEPS.shown(current)


def go_to(experiment_id: str) -> None:
    """Open a stored answer with its scenario, at the next look at the page."""
    st.session_state.pop(SWEEPS.shown_key, None)
    st.session_state.pop(ENDED, None)
    st.query_params[answers.PARAM] = experiment_id


# ---- a sweep that was stopped ------------------------------------------------------------------------


def interrupted(current: Scenario) -> Shown | None:
    """Return what there is of the last sweep of a scenario that did not come to its end, and is not under way."""
    plain = session.store().get_setting(f"{INTERRUPTED}/{current.content_hash}")
    if plain is None:
        return None
    try:
        spec = read_spec(plain)
        ready = prepare(spec, current)
    except DlschedError:  # of an older version of this program
        forget_interrupted(current)
        return None
    answer = answer_of(spec, current, _outcomes(ready.plan, spec, ready.found), exact=ready.plan.exact)
    return Shown(spec, answer, "")


def forget_interrupted(current: Scenario) -> None:
    """Ask no more about the sweep that was stopped; its runs stay in the store."""
    session.store().set_setting(f"{INTERRUPTED}/{current.content_hash}", None)


# ---- computing ---------------------------------------------------------------------------------------


def prepare(spec: SweepSpec, scenario: Scenario) -> Ready:
    """Return what there is to run for a question; InputError where it cannot be run."""
    plan = _planned(spec.model_dump_json(), spec, scenario)
    found = known(session.store(), plan.tasks)
    each_s = run_seconds(plan, scenario, session.store())
    return Ready(spec, scenario, plan, found, each_s)


@st.cache_resource(max_entries=8, show_spinner=False)
def _planned(question: str, _spec: SweepSpec, _scenario: Scenario) -> Plan:
    return planned(_spec, _scenario)


@st.cache_resource(show_spinner=False)
def _all_asked(path: str) -> dict[str, Asked]:
    """Return the sweeps under way on this server, by scenario: a tab that is opened anew finds its own again."""
    return {}


def under_way(current: Scenario) -> Asked | None:
    """Return the sweep of a scenario that is being computed."""
    return _all_asked(str(session.store().path)).get(current.content_hash)


def start(ready: Ready) -> None:
    """Show the answer where the store has all runs, else ask the background runner for the missing ones."""
    scenario = ready.scenario
    st.session_state.pop(ENDED, None)
    if (experiment := SWEEPS.known(ready.spec)) is not None:
        SWEEPS.open(experiment)
        return
    if not ready.missing:
        _finish(ready, ready.found)
        return
    session.store().set_setting(f"{INTERRUPTED}/{scenario.content_hash}", ready.spec.model_dump(mode="json"))
    parts = batches(ready.missing, ready.each_s, num_workers())
    name = f"Sweep of {scenario.name[:60]}"
    questions = [
        StudyTask(CELLS, spec_of({key: ready.plan.tasks[key] for key in part}), name, scenario) for part in parts
    ]
    ids = session.runner().ask_all(questions)
    runs_of = {one: len(part) for one, part in zip(ids, parts, strict=True)}
    _all_asked(str(session.store().path))[scenario.content_hash] = Asked(ready, runs_of)


def progress_of(asked: Asked) -> Progress | None:
    """Return how far a sweep is; None when nothing of it is under way any more."""
    statuses = session.runner().status(list(asked.runs_of))
    if all(status.state.is_over for status in statuses):
        return None
    here = sum(
        asked.runs_of[status.id] * (1.0 if status.state in (TaskState.STORED, TaskState.DONE) else status.share)
        for status in statuses
        if status.state not in (TaskState.CANCELLED, TaskState.FAILED)
    )
    runs, stored = len(asked.ready.plan.tasks), len(asked.ready.found)
    gone_s = time.monotonic() - asked.began_s
    left_s = gone_s * (runs - stored - here) / here if here >= 1 else max(asked.ready.seconds - gone_s, 1.0)
    return Progress(stored + int(here), runs, left_s)


def cancel(asked: Asked) -> None:
    """Drop what has not begun and stop what has; batches of runs that are finished stay."""
    session.runner().cancel(list(asked.runs_of))


def take_in(current: Scenario) -> bool:
    """Take in what a sweep brought once nothing of it is under way; return whether there was one."""
    asked = under_way(current)
    if asked is None or progress_of(asked) is not None:
        return False
    _all_asked(str(session.store().path)).pop(current.content_hash, None)
    runner, ids = session.runner(), list(asked.runs_of)
    statuses = runner.status(ids)
    found = dict(known(session.store(), asked.ready.plan.tasks))
    for task_id in ids:
        rest = runner.answer(task_id)
        found |= {} if rest is None else outcomes_of(rest)
    runner.forget(ids)
    missing = len(asked.ready.plan.tasks) - len(found)
    if not missing:
        _finish(asked.ready, found)
        return True
    bad = next((status for status in statuses if status.state is TaskState.FAILED), None)
    kept = f"{len(found):,} of {amount(len(asked.ready.plan.tasks), 'run')} are kept, {missing:,} are missing"
    st.session_state[ENDED] = (bad is not None, f"{bad.message} {kept}." if bad else f"Cancelled. {kept}.")
    SWEEPS.open(None)
    return True


def _finish(ready: Ready, found: Mapping[str, RunResult]) -> None:
    """Make the answer of all outcomes, keep and open it."""
    spec = ready.spec
    answer = answer_of(spec, ready.scenario, _outcomes(ready.plan, spec, found), exact=ready.plan.exact)
    record = ExperimentRecord(
        KIND, spec.model_dump(mode="json"), answer.to_plain(), code_version(SOURCES),
        f"{ready.scenario.name[:60]}: {question_words(answer)}",
    )  # fmt: skip
    SWEEPS.open(session.store().save_experiment(record))
    forget_interrupted(ready.scenario)


def _outcomes(plan: Plan, spec: SweepSpec, found: Mapping[str, RunResult]) -> list[list[RunResult | None]]:
    draws = len(spec.seeds)
    return [[found.get(key) for key in plan.keys[at : at + draws]] for at in range(0, len(plan.keys), draws)]


# ---- the runs behind a situation ---------------------------------------------------------------------


def look_at_runs(scenario: Scenario, shown_now: Shown, point: int) -> None:
    """Run the policies of an answer in one situation, first draw, on the page Run, which opens their Result."""
    spec, answer = shown_now.spec, shown_now.answer
    seed = spec.seeds[0]
    cases = [spec.case(spec.points[point], policy) for policy in spec.policies]
    made = changed(scenario, {**cases[0].changes, **spec.vary}, seed)
    if made.content_hash != scenario.content_hash:
        made = made.replace(name=f"{scenario.name[:60]}, {point_words(answer, point)}")
    session.keep(made)
    session.look_at_run("")
    run_state.start([RunTask(made, case.policy, dict(case.params), seed, find(case.policy).label) for case in cases])
    session.go("simulate/run.py")
