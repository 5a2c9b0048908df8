"""What a study is, for its callers: the background runner, the command line and the pages.

A study folder declares its own ``STUDY``, and ``registry.STUDIES`` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar, cast

from pydantic import BaseModel

from dlsched.domain.errors import DlschedError, InputError, StaleAnswer, validated
from dlsched.domain.scenario import Scenario
from dlsched.store.record import CellRecord, CellStore, ExperimentRecord
from dlsched.studies.code_version import code_version, is_older, origins_of, policies_in, version_of
from dlsched.studies.simulation import Progress


class PlainAnswer(Protocol):
    """An answer that the store can hold; ``domain.model.Answer`` is one."""

    def to_plain(self) -> dict[str, Any]:
        """Return it in JSON's own types."""

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the answer written by :meth:`to_plain`."""


S = TypeVar("S", bound=BaseModel)
A = TypeVar("A", bound=PlainAnswer)
X = TypeVar("X")
_S = TypeVar("_S", bound=BaseModel, contravariant=True)
_A = TypeVar("_A", bound=PlainAnswer, covariant=True)


class RunStudy(Protocol[_S, _A]):
    """From a question to its answer.

    ``executor``: where to compute, None = here; ``store``: answers what was computed before, where a study keeps parts
    of its answers; ``progress``: told the share done, and what it raises stops the work and comes through.
    """

    def __call__(
        self,
        spec: _S,
        scenario: Any,
        executor: Executor | None = None,
        store: CellStore | None = None,
        progress: Progress | None = None,
    ) -> _A:
        """Return the answer; InputError where the question cannot be answered."""


class EstimateStudy(Protocol[_S]):
    """From a question to about how many CPU seconds its answer takes; better with the scenario."""

    def __call__(self, spec: _S, scenario: Any = None) -> float:
        """Return CPU seconds."""


@dataclass(frozen=True, eq=False)
class Study(Generic[S, A]):
    """A kind of question with its answer.

    Parameters
    ----------
    kind
        Key in the store.
    label
        What an answer is called: "Steady state".
    spec, answer
        Types of question and answer.
    check
        Raises InputError when a question cannot be answered, before anything is computed.
    run
        Computes the answer.
    estimate_s
        About how many CPU seconds it takes.
    words
        The answer in one sentence.
    sources
        Folders of the package that decide the answer, beyond those that decide a run.
    page
        Title of the page that asks it, where that is not the label.
    about
        What a question travels with, as it is too large for it: a scenario, or None for a question that needs none.
        ``scenario`` in ``check``, ``run`` and ``estimate_s`` is one of these.
    split
        Takes an answer that is no experiment apart: numbers of runs, which the store keeps, and question and answer of
        the rest, which it does not.
    shared_out
        Whether a worker that is asked in the background shares the work out among processes of its own.
    by_future
        Whether it is answered from numbers of single futures: those that the store knows travel with the question, and
        new ones come back, so that no other page asks for them again.
    """

    kind: str
    label: str
    spec: type[S]
    answer: type[A]
    check: Callable[[S, Any], object]
    run: RunStudy[S, A]
    estimate_s: EstimateStudy[S]
    words: Callable[[A], str]
    sources: tuple[str, ...]
    page: str = ""
    about: type[Any] | None = Scenario
    split: Callable[[ExperimentRecord], tuple[list[CellRecord], ExperimentRecord]] | None = None
    shared_out: bool = False
    by_future: bool = False

    @property
    def version(self) -> str:
        """Our code that decides the answer."""
        return code_version(self.sources)

    def version_of(self, spec: S, about: Any = None) -> str:
        """Return the version of all code that decides an answer: ours, and that of plug-ins that the question names.

        ``about``: its scenario, where that may have the speed model of a plug-in.
        """
        policies = policies_in(spec.model_dump(mode="json"))
        return version_of(about if isinstance(about, Scenario) else None, policies, self.sources)

    def is_older(self, record: ExperimentRecord) -> bool:
        """Whether a stored answer was made by other code than today's."""
        return is_older(record.code_version, self.sources)

    def read_spec(self, plain: Mapping[str, Any]) -> S:
        """Return the question of plain data; InputError naming the field."""
        return validated(self.spec, dict(plain), self.label.lower())

    def read_answer(self, plain: Mapping[str, Any]) -> A:
        """Return the answer of plain data; StaleAnswer where today's code does not know it."""
        try:
            return self.answer.from_plain(plain)
        except (DlschedError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise StaleAnswer(self.label) from error

    def read_record(self, record: ExperimentRecord) -> tuple[S, A]:
        """Return question and answer as they are stored; StaleAnswer where today's code does not know one of them."""
        try:
            spec = self.read_spec(record.spec)
        except DlschedError as error:
            raise StaleAnswer(self.label) from error
        return spec, self.read_answer(record.answer)

    def question(self, given: S | Mapping[str, Any]) -> S:
        """Return a question, read where it is plain; InputError for a bad one, without a scenario also as ``check``."""
        spec = self._read(given)
        if self.about is None:
            self.check(spec, None)
        return spec

    def _read(self, given: S | Mapping[str, Any]) -> S:
        return given if isinstance(given, self.spec) else self.read_spec(cast("Mapping[str, Any]", given))

    def canonical(self, plain: Mapping[str, Any]) -> dict[str, Any]:
        """Return the one plain form of a question; InputError as :meth:`question`."""
        return self.question(plain).model_dump(mode="json")

    def compute(
        self,
        given: S | Mapping[str, Any],
        scenario: Any = None,
        progress: Progress | None = None,
        name: str = "",
        executor: Executor | None = None,
        store: CellStore | None = None,
    ) -> ExperimentRecord:
        """Return question and answer, ready for the store; InputError for a bad question."""
        spec = self._read(given)
        if self.about is not None and not isinstance(scenario, self.about):
            raise InputError(self.label, "was asked without its scenario", f"Ask on the page {self.page or self.label}")
        answer = self.run(spec, scenario, executor, store, progress)
        return self.record(spec, answer, scenario, name)

    def record(self, spec: S, answer: A, about: Any = None, name: str = "") -> ExperimentRecord:
        """Return question and answer as the store keeps them; ``about``: as in :meth:`version_of`."""
        plain, version = spec.model_dump(mode="json"), self.version_of(spec, about)
        plugin = origins_of(about if isinstance(about, Scenario) else None, policies_in(plain))
        return ExperimentRecord(self.kind, plain, answer.to_plain(), version, name or self.label, plugin)


def require_scenario(what: str, asked: str, scenario: Scenario) -> None:
    """Raise InputError where a question names another scenario by its hash than the one that came with it."""
    if asked != scenario.content_hash:
        why = f"asks about scenario {asked[:8]}, got {scenario.content_hash[:8]}"
        raise InputError(what, why, "Ask with that scenario")


def one_piece(compute: Callable[[S, X, Progress | None], A]) -> RunStudy[S, A]:
    """Return the run of a study that is computed in one piece: it has no use for an executor or a store."""

    def run(
        spec: S,
        scenario: X,
        executor: Executor | None = None,
        store: CellStore | None = None,
        progress: Progress | None = None,
    ) -> A:
        return compute(spec, scenario, progress)

    return run
