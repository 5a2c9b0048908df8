"""Stored answers of one kind about a scenario: which one a page shows, its link, and the computation of another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import streamlit as st

from dlsched.domain.errors import DlschedError, StoreError
from dlsched.domain.scenario import Scenario
from dlsched.runner.background import StudyTask
from dlsched.store.record import experiment_key
from dlsched.studies import registry
from dlsched.ui.frame import session
from dlsched.ui.pending import PendingTasks

PARAM = "experiment"
MOST_LOOKED_AT = 20
"""Newest answers among which one about the scenario is looked for."""


class AboutScenario(Protocol):
    """A question that names its scenario by its hash."""

    @property
    def scenario(self) -> str:
        """Hash of the scenario."""

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        """Return the question in JSON's own types."""


Spec = TypeVar("Spec", bound=AboutScenario)
Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False)
class Shown(Generic[Spec, Answer]):
    """An answer on a page; ``experiment_id`` is "" for one that is not in the store.

    ``stale``: by other code than today's; ``elsewhere``: its scenario is not in the store.
    """

    spec: Spec
    answer: Answer
    experiment_id: str
    stale: bool = False
    elsewhere: bool = False


@dataclass(frozen=True, eq=False)
class Answers(Generic[Spec, Answer]):
    """The answers of one kind. ``what``: what one is called in a message; ``version``: of today's code."""

    kind: str
    what: str
    read_spec: Callable[[Mapping[str, Any]], Spec]
    read_answer: Callable[[Mapping[str, Any]], Answer]
    version: Callable[[], str]

    @property
    def work(self) -> PendingTasks:
        """What this tab waits for."""
        return PendingTasks(self.kind)

    @property
    def shown_key(self) -> str:
        """Under which the tab remembers the answer that is open."""
        return f"{self.kind}-shown"

    @property
    def _asked_key(self) -> str:
        return f"{self.kind}-asked"

    # ---- which one is shown --------------------------------------------------------------------------

    def follow_link(self) -> None:
        """Take over the answer the URL names, and its scenario where the store has it; before the page is begun."""
        named = st.query_params.get(PARAM)
        if not named or st.session_state.get(self.shown_key) == named:
            return
        st.session_state[self.shown_key] = named
        try:
            found = self.stored(named)
        except DlschedError:  # told by shown(), under the page's title
            return
        if session.store().scenario_info(found.spec.scenario) is not None:
            session.look_at(found.spec.scenario)

    def shown(self, current: Scenario) -> Shown[Spec, Answer] | None:
        """Return the answer that was opened, else the newest about the scenario; None where there is none.

        Raises
        ------
        StoreError
            When the URL names one that is not in this store, or is of another kind.
        """
        if (opened := self.opened(current)) is not None:
            return opened
        newest = self.newest(current.content_hash)
        self.open(None if newest is None else newest.experiment_id)
        return newest

    def opened(self, current: Scenario) -> Shown[Spec, Answer] | None:
        """Return the answer that was opened, unless the reader went on to another scenario; errors as :meth:`shown`."""
        named = st.session_state.get(self.shown_key)
        if not named:
            return None
        try:
            found = self.stored(named)
        except DlschedError:
            self.open(None)
            raise
        if found.spec.scenario == current.content_hash:
            self.open(named)
            return found
        if session.store().scenario_info(found.spec.scenario) is None:
            return Shown(found.spec, found.answer, found.experiment_id, found.stale, elsewhere=True)
        self.open(None)
        return None

    def newest(self, scenario_hash: str) -> Shown[Spec, Answer] | None:
        """Return the newest answer about a scenario; None where there is none."""
        return next((found for found in self._readable() if found.spec.scenario == scenario_hash), None)

    def _readable(self) -> Iterator[Shown[Spec, Answer]]:
        for experiment_id, _ in self.listed():
            try:
                yield self.stored(experiment_id)
            except DlschedError:  # of an older version of this program, with other fields
                continue

    def listed(self) -> list[tuple[str, str]]:
        """Return id and name of the newest answers in the store."""
        return [(one.experiment_id, one.name) for one in session.store().list_experiments(self.kind)[:MOST_LOOKED_AT]]

    def stored(self, experiment_id: str) -> Shown[Spec, Answer]:
        """Return a stored answer; DlschedError where there is none of this kind."""
        found: Shown[Spec, Answer] = _stored(str(session.store().path), self, experiment_id)
        return found

    def open(self, experiment_id: str | None) -> None:
        """Show a stored answer from now on; None = none in particular."""
        if experiment_id is None:
            st.session_state.pop(self.shown_key, None)
            st.query_params.pop(PARAM, None)
            return
        st.session_state[self.shown_key] = experiment_id
        if st.query_params.get(PARAM) != experiment_id:
            st.query_params[PARAM] = experiment_id

    # ---- another one ---------------------------------------------------------------------------------

    def known(self, spec: Spec) -> str | None:
        """Return the id of the stored answer to a question; None when it was not asked yet."""
        return session.store().find_experiment(experiment_key(self.kind, spec.model_dump(mode="json"), self.version()))

    def start(self, spec: Spec, scenario: Scenario, name: str) -> None:
        """Show the answer where the store has it, else ask the background runner."""
        self.work.forget_ended()
        if (experiment := self.known(spec)) is not None:
            self.open(experiment)
            return
        ids = [session.runner().ask(StudyTask(self.kind, spec.model_dump(mode="json"), name, scenario))]
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
            self.open(found[0])
        return bool(found)


def computed(
    kind: str,
    what: str,
    read_spec: Callable[[Mapping[str, Any]], Spec],
    read_answer: Callable[[Mapping[str, Any]], Answer],
) -> Answers[Spec, Answer]:
    """Return the answers of a named computation."""
    return Answers(kind, what, read_spec, read_answer, lambda: registry.find(kind).version)


@st.cache_resource(max_entries=4 * MOST_LOOKED_AT, show_spinner=False, hash_funcs={Answers: lambda one: one.kind})
def _stored(_path: str, of: Answers[Any, Any], experiment_id: str) -> Shown[Any, Any]:
    record = session.store().get_experiment(experiment_id)
    if record.kind != of.kind:
        raise StoreError(f"Experiment {experiment_id[:12]} is no {of.what}. Open it where it was made.")
    return Shown(
        of.read_spec(record.spec), of.read_answer(record.answer), experiment_id, record.code_version != of.version()
    )
