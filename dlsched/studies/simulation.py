"""One scenario under one policy: the public call ``simulate`` and the run it returns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dlsched.domain.errors import InputError
from dlsched.domain.model import FrozenModel
from dlsched.domain.policy import Need, Policy, PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.domain.truth import Truth
from dlsched.domain.workload import Workload
from dlsched.metrics.run_facts import RunFacts
from dlsched.metrics.summary import Metrics, summarise_facts
from dlsched.policies import registry
from dlsched.sim.log import RunLog
from dlsched.sim.prepare import Prepared, prepare, refuse_beyond_limits
from dlsched.sim.simulate import run_policy
from dlsched.store.record import RunRecord, run_key
from dlsched.studies.code_version import code_version

if TYPE_CHECKING:
    import pandas as pd

Progress = Callable[[float, str], None]
"""Called with the share done (0 to 1) and a text; may raise ``sim.simulate.Cancelled``."""


@dataclass(frozen=True, eq=False)
class Run:
    """A finished simulation. Numbers and tables are computed from the log when asked for, once.

    ``scenario`` as it was given; ``prepared`` as it was run (jobs drawn, oversize ones dropped or capped), with the
    truth; ``params`` validated and complete; ``cpu_s`` CPU seconds of each phase so far; ``wall_s`` of the simulation.
    """

    scenario: Scenario
    prepared: Prepared
    policy: str
    params: Mapping[str, Any]
    seed: int
    log: RunLog
    cpu_s: dict[str, float] = field(default_factory=dict)
    wall_s: float = 0.0

    @property
    def truth(self) -> Truth:
        """True and believed work, bug jobs, cancel times."""
        return self.prepared.truth

    @property
    def key(self) -> str:
        """Hash of scenario, policy, parameters, seed and code version: the same question has the same key."""
        return run_key(self.scenario.content_hash, self.policy, self.params, self.seed, code_version())

    @property
    def read(self) -> dict[str, int]:
        """Counts of the reader: rows, kept, repaired, dropped; every row kept when the scenario came from no reader."""
        rows = len(self.scenario.workload)
        return {"rows": rows, "kept": rows, "repaired": 0, "dropped": 0} | dict(self.scenario.read)

    @cached_property
    def _facts(self) -> RunFacts:
        return RunFacts(self.prepared.scenario, self.truth, self.log)

    @cached_property
    def metrics(self) -> Metrics:
        """The numbers of the run by metric key: seconds and dollars; None if a number is undefined."""
        with timed(self.cpu_s, "metrics"):
            return summarise_facts(self._facts)

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """One row a job."""
        from dlsched.metrics.tables import jobs_of  # the tables need pandas, which most command lines do not

        return jobs_of(self._facts)

    @cached_property
    def segments(self) -> pd.DataFrame:
        """One row for each node a piece of a job held."""
        from dlsched.metrics.tables import segments_of

        return segments_of(self._facts)

    @cached_property
    def nodes(self) -> pd.DataFrame:
        """One row for each billed stay of a node."""
        from dlsched.metrics.tables import nodes_of

        return nodes_of(self._facts)

    @cached_property
    def decisions(self) -> pd.DataFrame:
        """One row for each call of the policy."""
        from dlsched.metrics.tables import decisions_table

        return decisions_table(self.log)

    @cached_property
    def waits(self) -> pd.DataFrame:
        """One row for each span in which a job waited for a reason the policy gave."""
        from dlsched.metrics.tables import waits_of

        return waits_of(self._facts)

    @cached_property
    def series(self) -> pd.DataFrame:
        """Use, queue and money over time."""
        from dlsched.metrics.tables import series_of

        return series_of(self._facts)

    @cached_property
    def _violations(self) -> tuple[str, ...]:
        from dlsched.sim.audit import audit, check_metrics  # only where a run is checked

        scenario, metrics = self.prepared.scenario, self.metrics
        with timed(self.cpu_s, "audit"):
            found = audit(scenario, self.truth, self.log, self._rows_expected)
            if not found:
                found = check_metrics(scenario, self.truth, self.log, metrics, self.jobs, self.nodes)
            return tuple(found)

    @property
    def _rows_expected(self) -> int | None:
        """How many jobs the log must account for; a new draw of a generator may have any number."""
        drawn_anew = self.scenario.generator is not None and self.seed != 0
        return None if drawn_anew else len(self.scenario.workload) - self.prepared.oversize["dropped"]

    def audit(self) -> list[str]:
        """Return what the auditor found, the first violation first; empty = clean."""
        return list(self._violations)

    def record(self, name: str = "") -> RunRecord:
        """Return what the store keeps: everything computed, audited and frozen."""
        tables = {
            "job_outcomes": self.jobs,
            "segments": self.segments,
            "node_intervals": self.nodes,
            "decisions": self.decisions,
            "waits": self.waits,
            "series": self.series,
        }
        metrics, audit = self.metrics, self._violations
        resolve_policy = (self.scenario, self.policy, self.params, self.seed, code_version())
        return RunRecord(*resolve_policy, metrics, audit, self.cpu_s, self.wall_s, tables, name, self.read)


def simulate(
    scenario: Scenario,
    policy: str,
    params: Mapping[str, Any] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Run:
    """Run a scenario under a policy.

    Parameters
    ----------
    scenario
        What to run; ``dlsched.load`` makes one of a file.
    policy
        Key of a policy in ``dlsched.policies()``.
    params
        Parameters that differ from their defaults.
    seed
        Seed of the draw, on top of the scenario's seed; two policies at one seed see the same jobs.
    progress
        Told how far the run is; what it raises stops the run and comes through.

    Raises
    ------
    InputError
        Unknown policy, bad parameters, a need of the policy that the scenario does not meet, jobs that can never
        fit or ask for more than their user's limit when the option oversize is "refuse", or no jobs.
    PlanError
        If the policy asks for something impossible.
    """
    resolved = resolve_policy(scenario, policy, params)
    return run_resolved(scenario, resolved, seed, progress)


def run_resolved(scenario: Scenario, policy: ResolvedPolicy, seed: int = 0, progress: Progress | None = None) -> Run:
    """Run a scenario under a policy whose parameters are known to be good; the rest as :func:`simulate`."""
    spec = policy.spec
    cpu_s: dict[str, float] = {}
    started = time.perf_counter()
    with timed(cpu_s, "simulate"):
        prepared = prepare(scenario, seed)
        if not len(prepared.scenario.workload):
            raise InputError(f"scenario {scenario.name!r}", "has no jobs to run", "Load a trace, or keep more jobs")
        if Need.SERVERS not in spec.needs:
            refuse_beyond_limits(prepared.scenario)
        built = policy.build(prepared.scenario.workload)
        log = run_policy(prepared, built, seed, progress)
    return Run(scenario, prepared, spec.key, policy.values, seed, log, cpu_s, time.perf_counter() - started)


@dataclass(frozen=True, eq=False)
class ResolvedPolicy:
    """A policy with its checked parameters; ``values`` are all of them in JSON's own types."""

    spec: PolicySpec
    params: FrozenModel
    values: dict[str, Any]

    def build(self, jobs: Workload) -> Policy:
        """Return the policy, ready to run these jobs."""
        return self.spec.build(self.params, jobs) if self.spec.clairvoyant else self.spec.build(self.params)


def resolve_policy(scenario: Scenario, policy: str, params: Mapping[str, Any] | None = None) -> ResolvedPolicy:
    """Return the policy with all its parameters; InputError when it cannot run the scenario."""
    resolved = read_policy(policy, params)
    spec = resolved.spec
    for name in ("quantum_s", "period_s"):
        _check_turn(spec.key, name, getattr(resolved.params, name, None), scenario.options.restart_s)
    unmet = registry.unmet_needs(spec, scenario)
    if unmet:
        names = " and ".join(need.value for need in unmet)
        raise InputError(
            f"policy {spec.key}", f"needs {names}; the scenario has none", "Add them, or choose another policy"
        )
    return resolved


def read_policy(policy: str, params: Mapping[str, Any] | None = None) -> ResolvedPolicy:
    """Return the policy with all its parameters, for whatever scenario; InputError for one that is bad."""
    spec = registry.find(policy)
    parsed = spec.parse(dict(params or {}))
    return ResolvedPolicy(spec, parsed, parsed.model_dump(mode="json"))


def _check_turn(key: str, name: str, turn_s: float | None, restart_s: float) -> None:
    """Refuse a time between decisions no longer than a restart: jobs could change for ever without progress."""
    if turn_s is not None and turn_s <= restart_s:
        why = f"must be above the restart time of {restart_s:g} s, or no job ever makes progress, got {turn_s:g} s"
        raise InputError(f"policy {key}, {name}", why, f"Give more than {restart_s:g} s, or lower the option restart_s")


def key_of(scenario: Scenario, policy: str, params: Mapping[str, Any] | None = None, seed: int = 0) -> str:
    """Return the key a run of this question would have; InputError when it cannot be run."""
    resolved = resolve_policy(scenario, policy, params)
    return run_key(scenario.content_hash, resolved.spec.key, resolved.values, seed, code_version())


@contextmanager
def timed(cpu_s: dict[str, float], phase: str) -> Iterator[None]:
    """Add the CPU seconds of the block to a phase."""
    before = time.process_time()
    try:
        yield
    finally:
        cpu_s[phase] = cpu_s.get(phase, 0.0) + time.process_time() - before
