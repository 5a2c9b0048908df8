"""Which answers the page Size shows, of its search for a size and of its months ahead, and how others are computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import streamlit as st

from dlsched.domain.errors import DlschedError, StoreError
from dlsched.domain.scenario import Scenario
from dlsched.experiments import computations, growth, sizing
from dlsched.experiments.background import Question
from dlsched.experiments.cases import Case, Draws, changed
from dlsched.experiments.growth import GrowthSpec
from dlsched.experiments.sizing import SizeSpec
from dlsched.experiments.what_if import WhatIfSpec, guess_s, unchanged, written_link
from dlsched.metrics.formats import duration
from dlsched.metrics.growth import Growth
from dlsched.metrics.sizing import Sizing
from dlsched.store.record import experiment_key
from dlsched.ui import session
from dlsched.ui.navigation import SCRIPTS
from dlsched.ui.waiting import Waiting

PARAM, PART = "experiment", "part"
SIZE, HEADROOM, GROWTH = PARTS = ("Size", "Headroom", "Growth")
MOST_LOOKED_AT = 20
"""Newest answers among which one about the scenario is looked for."""
MOST_DRAWS_SHOWN = 10
"""Draws that What if begins with: it answers at once."""

Spec = TypeVar("Spec", SizeSpec, GrowthSpec)
Answer = TypeVar("Answer", Sizing, Growth)


@dataclass(frozen=True, eq=False)
class Shown(Generic[Spec, Answer]):
    """An answer on the page. ``stale``: by other code than today's; ``elsewhere``: its scenario is not in the store."""

    spec: Spec
    answer: Answer
    experiment_id: str
    stale: bool = False
    elsewhere: bool = False


@dataclass(frozen=True, eq=False)
class Desk(Generic[Spec, Answer]):
    """The answers of one kind: which one is shown, which one is being computed."""

    kind: str
    read_spec: Callable[[Mapping[str, Any]], Spec]
    read_answer: Callable[[Mapping[str, Any]], Answer]

    @property
    def work(self) -> Waiting:
        """What this tab waits for."""
        return Waiting(self.kind)

    @property
    def shown_key(self) -> str:
        """Under which the tab remembers the answer that is open."""
        return f"{self.kind}-shown"

    @property
    def _asked_key(self) -> str:
        return f"{self.kind}-asked"

    def shown(self, current: Scenario) -> Shown[Spec, Answer] | None:
        """Return the answer that was opened, else the newest about the scenario; None where there is none.

        Raises
        ------
        StoreError
            When the URL names one that is not in this store, or is of another kind.
        """
        if named := st.session_state.get(self.shown_key):
            try:
                found = self.stored(named)
            except DlschedError:
                self.open_answer(None)
                raise
            if found.spec.scenario == current.content_hash:
                self.open_answer(named)
                return found
            if session.store().scenario_info(found.spec.scenario) is None:
                return Shown(found.spec, found.answer, found.experiment_id, found.stale, elsewhere=True)
        newest = self.newest(current.content_hash)
        self.open_answer(None if newest is None else newest.experiment_id)
        return newest

    def newest(self, scenario_hash: str) -> Shown[Spec, Answer] | None:
        """Return the newest answer about a scenario; None where there is none."""
        for info in session.store().list_experiments(self.kind)[:MOST_LOOKED_AT]:
            try:
                found = self.stored(info.experiment_id)
            except DlschedError:  # of an older version of this program
                continue
            if found.spec.scenario == scenario_hash:
                return found
        return None

    def stored(self, experiment_id: str) -> Shown[Spec, Answer]:
        """Return a stored answer; DlschedError where there is none of this kind."""
        found: Shown[Spec, Answer] = _stored(str(session.store().path), self, experiment_id)
        return found

    def open_answer(self, experiment_id: str | None) -> None:
        """Show a stored answer from now on; None = none in particular."""
        if experiment_id is None:
            st.session_state.pop(self.shown_key, None)
            st.query_params.pop(PARAM, None)
            return
        st.session_state[self.shown_key] = experiment_id
        if st.query_params.get(PARAM) != experiment_id:
            st.query_params[PARAM] = experiment_id

    def known(self, spec: Spec) -> str | None:
        """Return the id of the stored answer to a question; None when it was not asked yet."""
        version = computations.find(self.kind).version
        return session.store().find_experiment(experiment_key(self.kind, spec.model_dump(mode="json"), version))

    def start(self, spec: Spec, scenario: Scenario, name: str) -> None:
        """Show the answer where the store has it, else ask the background runner."""
        self.work.forget_ended()
        if (experiment := self.known(spec)) is not None:
            self.open_answer(experiment)
            return
        ids = [session.runner().ask(Question(self.kind, spec.model_dump(mode="json"), name, scenario))]
        st.session_state[self._asked_key] = ids
        self.work.begin(ids)

    def take_in(self) -> bool:
        """Open the answer this tab asked for once it is there; return whether it did."""
        asked = st.session_state.get(self._asked_key, [])
        statuses = session.runner().status(asked)
        if not asked or not all(status.state.is_over for status in statuses):
            return False
        st.session_state.pop(self._asked_key)
        found = [status.experiment_id for status in statuses if status.experiment_id is not None]
        if found:
            st.session_state[self.shown_key] = found[0]
        return bool(found)


@st.cache_resource(max_entries=2 * MOST_LOOKED_AT, show_spinner=False, hash_funcs={Desk: lambda desk: desk.kind})
def _stored(_path: str, desk: Desk[Any, Any], experiment_id: str) -> Shown[Any, Any]:
    record = session.store().get_experiment(experiment_id)
    if record.kind != desk.kind:
        raise StoreError(f"Experiment {experiment_id[:12]} is no answer about {desk.kind}. Open it where it was made.")
    stale = record.code_version != computations.find(desk.kind).version
    return Shown(desk.read_spec(record.spec), desk.read_answer(record.answer), experiment_id, stale)


SIZES: Desk[SizeSpec, Sizing] = Desk("size", sizing.read_spec, Sizing.from_plain)
MONTHS: Desk[GrowthSpec, Growth] = Desk("growth", growth.read_spec, Growth.from_plain)


def newest_size(scenario_hash: str) -> Sizing | None:
    """Return the search for a size that is shown, else the newest, about a scenario; None where there is none."""
    found = SIZES.newest(scenario_hash)
    named = st.session_state.get(SIZES.shown_key)
    if named and found is not None and found.experiment_id != named:
        with suppress(DlschedError):
            opened = SIZES.stored(named)
            found = opened if opened.spec.scenario == scenario_hash else found
    return None if found is None else found.answer


def follow_link() -> None:
    """Take over the answer the URL names, its part and its scenario where the store has it; before the page begins."""
    named = st.query_params.get(PARAM)
    if not named or named in (st.session_state.get(SIZES.shown_key), st.session_state.get(MONTHS.shown_key)):
        return
    try:
        record = session.store().get_experiment(named)
    except DlschedError:  # told by shown(), under the page's title
        st.session_state[(MONTHS if st.query_params.get(PART) == GROWTH else SIZES).shown_key] = named
        return
    is_growth = record.kind == MONTHS.kind
    st.session_state[(MONTHS if is_growth else SIZES).shown_key] = named
    if is_growth and PART not in st.query_params:
        st.session_state[PART] = GROWTH
    about = str(record.spec.get("scenario", ""))
    if session.store().scenario_info(about) is not None:
        session.look_at(about)


# ---- how long it takes -------------------------------------------------------------------------------


def button_seconds(runs: int, scenario: Scenario, policy: str, params: Mapping[str, Any]) -> str:
    """Return about how long so many runs take: "about 20 s"."""
    seconds = runs * _run_s(scenario.content_hash, policy, dict(params), scenario)
    return f"about {duration(60 * round(seconds / 60) if seconds >= 90 else max(1.0, round(seconds)))}"


@st.cache_data(max_entries=32, ttl=60, show_spinner=False)
def _run_s(_scenario_hash: str, policy: str, params: dict[str, Any], _scenario: Scenario) -> float:
    spec = unchanged(_scenario, policy, params).first_draw  # both sides are the same: two runs
    return guess_s(spec, _scenario, session.store()) / 2


# ---- next steps --------------------------------------------------------------------------------------


def what_if_of(spec: SizeSpec, answer: Sizing, scenario: Scenario) -> WhatIfSpec:
    """Return the what-if of the size found against today, on the first draws of the search; ValueError without one."""
    if answer.answer is None:
        raise ValueError("there is no size to ask about")
    changes = {vm.key: count for vm, count in zip(answer.types, answer.answer, strict=True)}
    baseline = Case(policy=spec.policy, params=spec.params)
    changed_case = Case(policy=spec.policy, params=spec.params, changes=changes)
    draws = Draws(seeds=answer.search_seeds[:MOST_DRAWS_SHOWN], vary=spec.vary)
    return WhatIfSpec(scenario=scenario.content_hash, baseline=baseline, changed=changed_case, draws=draws)


def open_in_what_if(spec: SizeSpec, answer: Sizing, scenario: Scenario) -> None:
    """Open What if with the size found."""
    link = written_link(what_if_of(spec, answer, scenario))
    st.switch_page(SCRIPTS["What if"], query_params={**session.url_params(), **link})


def save_as_scenario(answer: Sizing, scenario: Scenario) -> None:
    """Make a version of the scenario with the nodes found, and look at it from now on."""
    if answer.answer is None:
        return
    made = changed(scenario, {vm.key: count for vm, count in zip(answer.types, answer.answer, strict=True)})
    session.keep(made.replace(name=scenario.name), based_on=scenario.content_hash)
    session.look_at_run("")
