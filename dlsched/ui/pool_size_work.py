"""Which answer the page Pool size shows, the computation of another one, and the runs behind one size."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from dlsched.domain.errors import DlschedError, InputError, StoreError
from dlsched.domain.scenario import Scenario
from dlsched.experiments import computations
from dlsched.experiments.background import Question, Task
from dlsched.experiments.estimate import estimate_s
from dlsched.experiments.pool_sizes import (
    PoolSizesSpec,
    guess_s,
    num_rounds,
    pool_of,
    read_spec,
    scenario_at,
)
from dlsched.metrics.formats import amount, duration
from dlsched.metrics.pool_sizes import PoolSizes
from dlsched.policies.registry import find
from dlsched.store.record import experiment_key
from dlsched.ui import run_state, session
from dlsched.ui.pool_size_words import question_words
from dlsched.ui.waiting import Waiting
from dlsched.ui.workload_modelarts import ON_NODES
from dlsched.workload.modelarts import on_whole_nodes, sample_elastic

KIND, PARAM = "pool-sizes", "experiment"
SHOWN, ASKED = "pool-shown", "pool-asked"
WORK = Waiting("pool")
MOST_LOOKED_AT = 20
"""Newest answers among which one about the scenario is looked for."""


@dataclass(frozen=True, eq=False)
class Shown:
    """An answer on the page. ``stale``: by other code than today's; ``elsewhere``: its scenario is not in the store."""

    spec: PoolSizesSpec
    answer: PoolSizes
    experiment_id: str
    stale: bool
    elsewhere: bool = False


def follow_link() -> None:
    """Take over the answer the URL names, and its scenario where the store has it; before the page is begun."""
    named = st.query_params.get(PARAM)
    if not named or st.session_state.get(SHOWN) == named:
        return
    st.session_state[SHOWN] = named
    try:
        found = _stored(str(session.store().path), named)
    except DlschedError:  # told by shown(), under the page's title
        return
    if session.store().scenario_info(found.spec.scenario) is not None:
        session.look_at(found.spec.scenario)


def shown(current: Scenario) -> Shown | None:
    """Return the answer that was opened, else the newest about the scenario; None where there is none.

    Raises
    ------
    StoreError
        When the URL names one that is not in this store, or is no sweep.
    """
    if named := st.session_state.get(SHOWN):
        try:
            found = _stored(str(session.store().path), named)
        except DlschedError:
            open_answer(None)
            raise
        if found.spec.scenario == current.content_hash:
            open_answer(named)
            return found
        if session.store().scenario_info(found.spec.scenario) is None:
            return Shown(found.spec, found.answer, found.experiment_id, found.stale, elsewhere=True)
        open_answer(None)  # the reader went on to another scenario
    newest = _newest(current.content_hash)
    if newest is not None:
        open_answer(newest.experiment_id)
    return newest


def _newest(scenario_hash: str) -> Shown | None:
    path = str(session.store().path)
    listed = session.store().list_experiments(KIND)[:MOST_LOOKED_AT]
    found = (_stored(path, info.experiment_id) for info in listed)
    return next((one for one in found if one.spec.scenario == scenario_hash), None)


@st.cache_resource(max_entries=MOST_LOOKED_AT + 5, show_spinner=False)
def _stored(_path: str, experiment_id: str) -> Shown:
    record = session.store().get_experiment(experiment_id)
    if record.kind != KIND:
        raise StoreError(f"Experiment {experiment_id[:12]} is no sweep of pool sizes. Open it where it was made.")
    stale = record.code_version != computations.find(KIND).version
    return Shown(read_spec(record.spec), PoolSizes.from_plain(record.answer), experiment_id, stale)


def open_answer(experiment_id: str | None) -> None:
    """Show a stored answer from now on; None = none in particular."""
    if experiment_id is None:
        st.session_state.pop(SHOWN, None)
        st.query_params.pop(PARAM, None)
        return
    st.session_state[SHOWN] = experiment_id
    if st.query_params.get(PARAM) != experiment_id:
        st.query_params[PARAM] = experiment_id


def known(spec: PoolSizesSpec) -> str | None:
    """Return the id of the stored answer to a question; None when it was not asked yet."""
    found = computations.find(KIND)
    return session.store().find_experiment(experiment_key(KIND, spec.model_dump(mode="json"), found.version))


def num_runs(spec: PoolSizesSpec, scenario: Scenario) -> int:
    """Return how many runs a sweep is."""
    return num_rounds(spec, scenario) * len(spec.policies)


def button_words(spec: PoolSizesSpec, scenario: Scenario) -> str:
    """Return what the button says: Compute 30 runs, about 4 min."""
    runs = amount(num_runs(spec, scenario), "run")
    if known(spec) is not None:
        return f"Show {runs} from the store"
    about_s = _about_s(spec, scenario)
    return f"Compute {runs}, about {duration(60 * round(about_s / 60) if about_s >= 90 else round(about_s))}"


def _about_s(spec: PoolSizesSpec, scenario: Scenario) -> float:
    """Return about how long a sweep takes: by earlier runs of its policies in the store, else by a guess."""
    rounds, total_s = num_rounds(spec, scenario), 0.0
    for policy in spec.policies:
        past = estimate_s(scenario, policy, session.store())
        each_s = guess_s((policy,), len(scenario.workload), 1)
        total_s += rounds * (past.seconds if past.source == "earlier runs" else each_s)
    return total_s


def start(spec: PoolSizesSpec, scenario: Scenario) -> None:
    """Show the answer where the store has it, else ask the background runner."""
    if (experiment := known(spec)) is not None:
        open_answer(experiment)
        return
    question = Question(KIND, spec.model_dump(mode="json"), f"Pool size, {question_words(spec)}", scenario)
    st.session_state[ASKED] = [session.runner().ask(question)]
    WORK.begin(st.session_state[ASKED])


def take_in() -> bool:
    """Open the answer this tab asked for once it is there; return whether it did."""
    asked = st.session_state.get(ASKED, [])
    statuses = session.runner().status(asked)
    if not asked or not all(status.state.is_over for status in statuses):
        return False
    st.session_state.pop(ASKED)
    found = [status.experiment_id for status in statuses if status.experiment_id is not None]
    if found:
        open_answer(found[0])
    return bool(found)


def look_at_runs(scenario: Scenario, answer: PoolSizes, nodes: int, variant: str) -> None:
    """Run the policies of an answer on one size, first draw, on the page Run, which opens their Result."""
    made = scenario_at(scenario, nodes, variant)
    if made.content_hash != scenario.content_hash:
        made = made.replace(name=f"{scenario.name[:60]}, {amount(nodes, 'node')}")
    session.keep(made)
    session.look_at_run("")
    run_state.start([Task(made, policy, {}, 0, find(policy).label) for policy in answer.policies])
    session.go("run/run.py")


def put_on_whole_nodes(scenario: Scenario) -> None:
    """Make a version of the scenario with its jobs on whole nodes, in one pool."""
    made = on_whole_nodes(scenario)
    try:
        pool_of(made)
    except InputError:
        made = on_whole_nodes(scenario, scenario.cluster.num_nodes)
    name = scenario.name.removesuffix(ON_NODES) + ON_NODES
    session.keep(made.replace(name=name), based_on=scenario.content_hash)


def open_demo() -> None:
    """Look at the demo of elastic training."""
    session.keep(sample_elastic())
    session.look_at_run("")
