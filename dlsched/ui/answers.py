"""Stored answers of one study: which one a page shows, its link, and asking the background runner for another.

A page has one :class:`Answers`, made once at the top of its module. ``study_page`` shows a whole page of them; pages of
another shape use them directly: :meth:`Answers.answer_to` a question, :meth:`Answers.ask`, :attr:`Answers.work`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import streamlit as st

from dlsched.domain.errors import DlschedError, StoreError
from dlsched.domain.scenario import Scenario
from dlsched.runner.background import StudyTask
from dlsched.speed.outside import outside_models
from dlsched.store.record import ExperimentRecord, experiment_key
from dlsched.studies.study import PlainAnswer, Study
from dlsched.ui.frame import session
from dlsched.ui.frame.caches import drop_oldest, shared
from dlsched.ui.pending import PendingTasks

PARAM = "experiment"
MOST_LOOKED_AT = 20
"""Newest answers among which one about the scenario is looked for."""
MOST_BEGUN = 1000
"""Questions of a server that a tab opened anew finds again."""

Spec = TypeVar("Spec", bound=Any)
Answer = TypeVar("Answer", bound=PlainAnswer)


@dataclass(frozen=True, eq=False)
class Shown(Generic[Spec, Answer]):
    """An answer on a page; ``experiment_id`` is "" for one that is not in the store.

    ``stale``: by other code than today's; ``elsewhere``: its scenario is not in the store; ``partial``: some of its
    runs are not computed yet.
    """

    spec: Spec
    answer: Answer
    experiment_id: str
    stale: bool = False
    elsewhere: bool = False
    partial: bool = False


@dataclass(frozen=True, eq=False)
class Begun(Generic[Spec]):
    """A question under way, and the ids of the tasks that answer it."""

    spec: Spec
    ids: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Answers(Generic[Spec, Answer]):
    """The answers of one study.

    ``bundled``: returns the answer that is shown where none is open, instead of the newest about the scenario.
    ``prefix`` begins the keys of the page's widgets, the kind without one.
    """

    study: Study[Spec, Answer]
    bundled: Callable[[], Shown[Spec, Answer]] | None = None
    prefix: str = ""

    @property
    def kind(self) -> str:
        """Key of the study in the store."""
        return self.study.kind

    @property
    def key(self) -> str:
        """What the keys of the page's widgets start with."""
        return self.prefix or self.kind

    @property
    def work(self) -> PendingTasks:
        """What this tab waits for."""
        return PendingTasks(self.key)

    def work_about(self, current: Scenario) -> PendingTasks:
        """Return what a page about a scenario waits for."""
        return self.work

    @property
    def shown_key(self) -> str:
        """Under which the tab remembers the answer that is open."""
        return f"{self.key}-shown"

    @property
    def _asked_key(self) -> str:
        return f"{self.key}-asked"

    # ---- which one is shown --------------------------------------------------------------------------

    def shown(self, current: Scenario) -> Shown[Spec, Answer] | None:
        """Return the answer that was opened, else the bundled or the newest about the scenario; None without any.

        Raises
        ------
        StoreError
            When the URL names one that is not in this store, or is of another kind.
        """
        if (opened := self.opened(current)) is not None:
            return opened
        if self.bundled is not None:
            return self.bundled()
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
        about = scenario_of(found.spec)
        if about in ("", current.content_hash):
            self.open(named)
            return found
        if session.info_of(about) is None:
            return replace(found, elsewhere=True)
        self.open(None)
        return None

    def newest(self, scenario_hash: str) -> Shown[Spec, Answer] | None:
        """Return the newest answer about a scenario; None if there is none."""
        return next((found for found in self.readable() if scenario_of(found.spec) == scenario_hash), None)

    def readable(self) -> Iterator[Shown[Spec, Answer]]:
        """Return the newest answers that the code of today can read, the newest first."""
        for experiment_id, _ in self.listed():
            try:
                yield self.stored(experiment_id)
            except DlschedError:  # of an older version of this program, with other fields
                continue

    def listed(self) -> list[tuple[str, str]]:
        """Return id and name of the newest answers in the store."""
        return [(one.experiment_id, one.name) for one in session.store().list_experiments(self.kind)[:MOST_LOOKED_AT]]

    def takes(self, record: ExperimentRecord) -> bool:
        """Whether a stored answer is one of these."""
        return record.kind == self.kind

    def stored(self, experiment_id: str) -> Shown[Spec, Answer]:
        """Return a stored answer; DlschedError where there is none of this kind."""
        found: Shown[Spec, Answer] = _stored(experiment_id, self)
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

    def go_to(self, experiment_id: str) -> None:
        """Open a stored answer with its scenario, at the next look at the page."""
        st.session_state.pop(self.shown_key, None)
        self.work.forget_ended()
        st.query_params[PARAM] = experiment_id

    # ---- another one ---------------------------------------------------------------------------------

    def stored_id(self, spec: Spec) -> str | None:
        """Return the id of the stored answer to a question; None when it was not asked yet."""
        key = experiment_key(self.kind, spec.model_dump(mode="json"), self.study.version_of(spec, _about(spec)))
        return session.store().find_experiment(key)

    def answer_to(self, spec: Spec) -> Shown[Spec, Answer] | None:
        """Return the stored answer to a question; None when it was not asked yet."""
        found = self.stored_id(spec)
        return None if found is None else _stored(found, self, spec)

    def start(self, spec: Spec, subject: Any, name: str) -> None:
        """Show the answer where the store has it, else ask for it and show it once it is there."""
        self.work.forget_ended()
        if (experiment := self.stored_id(spec)) is not None:
            self.open(experiment)
            return
        begun = Begun(spec, tuple(self.ask([spec], subject, name)))
        st.session_state[self._asked_key] = begun.ids
        self.note(begun)

    def ask(self, specs: Sequence[Spec], subject: Any, name: str) -> list[str]:
        """Ask the background runner, wait for it on this page, and return the ids of the tasks.

        ``subject``: what a question names and is about, a scenario as a rule; ``name``: what the progress is called.
        """
        ids = session.runner().submit(self.task(spec, subject, name) for spec in specs)
        self.work.begin(ids)
        return ids

    def task(self, spec: Spec, subject: Any, name: str) -> StudyTask:
        """Return a question for the background runner."""
        return StudyTask(self.kind, spec, name, subject)

    def begun(self, current: Scenario) -> Begun[Spec] | None:
        """Return the question under way about a scenario, or about jobs of its own, that a tab here has begun."""
        found = self.last_begun(current)
        statuses = session.runner().status(found.ids) if found is not None else []
        return None if all(status.state.is_over for status in statuses) else found

    def last_begun(self, current: Scenario) -> Begun[Spec] | None:
        """Return what was begun last, as :meth:`begun`, also where it is over."""
        begun = _all_begun()
        return begun.get((self.key, current.content_hash)) or begun.get((self.key, ""))

    def note(self, begun: Begun[Spec]) -> None:
        """Let every tab on this server know what was begun."""
        key, all_begun = (self.key, scenario_of(begun.spec)), _all_begun()
        all_begun.pop(key, None)  # so that it is the latest
        all_begun[key] = begun
        drop_oldest(all_begun, MOST_BEGUN)

    def forget_begun(self, current: Scenario) -> None:
        """Forget what was begun last about a scenario."""
        _all_begun().pop((self.key, current.content_hash), None)

    def rejoin(self, current: Scenario) -> None:
        """Wait for what is under way where this tab waits for nothing: who opens a tab anew finds his work again."""
        if not self.work.is_waiting() and (begun := self.begun(current)) is not None:
            st.session_state[self._asked_key] = begun.ids
            self.work.begin(begun.ids)

    def take_in(self, current: Scenario) -> bool:
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


def follow_link(*studies: Answers[Any, Any]) -> Answers[Any, Any] | None:
    """Take over the answer the URL names, with its scenario where the store has it; call it before the page is begun.

    Returns whose answer it is, None without a new one. What is not in the store, or of none of these studies, is left
    to the first of them: its ``shown`` says so under the page's title.
    """
    named = st.query_params.get(PARAM)
    if not named or any(st.session_state.get(one.shown_key) == named for one in studies):
        return None
    try:
        record = session.store().get_experiment(named)
        whose = next((one for one in studies if one.takes(record)), studies[0])
        about = scenario_of(whose.stored(named).spec)
    except DlschedError:
        st.session_state[studies[0].shown_key] = named
        return None
    st.session_state[whose.shown_key] = named
    if about and session.info_of(about) is not None:
        session.look_at(about)
    return whose


def scenario_of(spec: object) -> str:
    """Return the hash of the scenario a question is about; "" for one that brings its own jobs and nodes."""
    return str(getattr(spec, "scenario", ""))


def _about(spec: Any) -> Scenario | None:
    """Return the scenario a question is about where the version of its answer may rest on it; None else."""
    if not outside_models() or not (asked := scenario_of(spec)):
        return None
    with suppress(DlschedError):
        return session.load_scenario(asked)
    return None


@st.cache_resource(show_spinner=False)
def _all_begun() -> dict[tuple[str, str], Begun[Any]]:
    """Return what was begun last on this server, by key of the answers and scenario; the latest of them."""
    return {}


@shared
def _stored(experiment_id: str, _answers: Answers[Any, Any], _spec: Any = None) -> Shown[Any, Any]:
    """Return a stored answer; ``_spec``: its question, where that is known."""
    record = session.store().get_experiment(experiment_id)
    if record.kind != _answers.kind:
        what = _answers.study.label.lower()
        raise StoreError(f"Experiment {experiment_id[:12]} is no {what}. Open it where it was made.")
    stale = _answers.study.is_older(record)
    if _spec is not None:
        return Shown(_spec, _answers.study.read_answer(record.answer), experiment_id, stale=stale)
    return Shown(*_answers.study.read_record(record), experiment_id, stale=stale)
