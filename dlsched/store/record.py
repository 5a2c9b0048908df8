"""What is kept of a run and of an experiment, and the keys that make the same question the same answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Any, Protocol

from dlsched.domain.scenario import Scenario

RUN_ID_LENGTH = 12
VERSIONS_JOINED_BY = " | "
"""Stands in the version of an answer between our code and each plug-in that decided it."""


def run_key(scenario_hash: str, policy: str, params: Mapping[str, Any], seed: int, code_version: str) -> str:
    """Return the hash of all that determines a result (32 hex digits)."""
    parts = [scenario_hash, policy, dict(params), seed, code_version]
    return blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=16).hexdigest()


def run_id_of(key: str) -> str:
    """Return the short name of a run for links and tables: the first digits of its key."""
    return key[:RUN_ID_LENGTH]


@dataclass(frozen=True, eq=False)
class RunLabel:
    """Which question a run answers: enough to list it while it is running."""

    key: str
    scenario_hash: str
    scenario_name: str
    policy: str
    params: Mapping[str, Any]
    seed: int


@dataclass(frozen=True, eq=False)
class RunRecord:
    """A finished run on its way into the store.

    ``params`` are validated and complete; ``metrics`` maps a key to a number or None; ``audit`` lists violations
    (empty = clean); ``cpu_s`` CPU seconds per phase; ``wall_s`` time it took; ``tables`` maps the names in
    ``schema.TABLES`` to a DataFrame or an Arrow table; ``plugin`` names distribution and version of a policy from
    outside, as in ``mypkg 1.0``.
    """

    scenario: Scenario
    policy: str
    params: Mapping[str, Any]
    seed: int
    code_version: str
    metrics: Mapping[str, float | None]
    audit: tuple[str, ...]
    cpu_s: Mapping[str, float]
    wall_s: float
    tables: Mapping[str, Any]
    name: str = ""
    read: Mapping[str, int] = field(default_factory=dict)
    plugin: str = ""

    @property
    def key(self) -> str:
        """The run's key."""
        return run_key(self.scenario.content_hash, self.policy, self.params, self.seed, self.code_version)

    @property
    def label(self) -> RunLabel:
        """The question this run answers."""
        scenario = self.scenario
        return RunLabel(self.key, scenario.content_hash, scenario.name, self.policy, self.params, self.seed)


@dataclass(frozen=True, eq=False)
class CellRecord:
    """The numbers of one of many runs, without its tables; ``scenario_hash`` before the changes of this run."""

    key: str
    scenario_hash: str
    policy: str
    seed: int
    metrics: Mapping[str, float | int | None]
    audit: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Finished:
    """What a task leaves in the store: a run, numbers of runs, an answer; ``made_by`` names who asked for it."""

    run: RunRecord | None = None
    cells: Sequence[CellRecord] = ()
    experiment: ExperimentRecord | None = None
    made_by: str = ""


class CellStore(Protocol):
    """Where numbers of runs are kept by key: the store, or what of it travels with a question to a worker."""

    def find_cells(self, keys: Sequence[str]) -> dict[str, CellRecord]:
        """Return what is known of these keys."""

    def save_cells(self, records: Sequence[CellRecord]) -> None:
        """Keep the numbers of runs."""


@dataclass(frozen=True, eq=False)
class ExperimentRecord:
    """An experiment that was computed: its kind, question and answer in JSON's own types.

    ``plugin`` names the origins of its policies from outside, as in ``mypkg 1.0``.
    """

    kind: str
    spec: Mapping[str, Any]
    answer: Mapping[str, Any]
    code_version: str
    name: str = ""
    plugin: str = ""

    @property
    def key(self) -> str:
        """The experiment's key."""
        return experiment_key(self.kind, self.spec, self.code_version)


@dataclass(frozen=True, slots=True)
class ExperimentInfo:
    """One line of the list of experiments; ``made_at`` is UTC."""

    experiment_id: str
    kind: str
    name: str
    code_version: str
    made_at: datetime


def experiment_key(kind: str, spec: Mapping[str, Any], code_version: str) -> str:
    """Return the hash of all that determines an answer (32 hex digits); ``spec`` in its canonical form."""
    parts = [kind, dict(spec), code_version]
    return blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=16).hexdigest()
