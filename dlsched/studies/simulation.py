"""One scenario under one policy: the public call ``simulate`` and the run it returns."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.model import FrozenModel
from dlsched.domain.policy import Need, Policy, PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.domain.slurm import SlurmSetup
from dlsched.domain.truth import Truth
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Workload
from dlsched.metrics.run_facts import RunFacts
from dlsched.metrics.summary import Metrics, summarise_facts
from dlsched.placement import largest_width
from dlsched.policies import registry
from dlsched.policies.outside import Watched
from dlsched.policies.slurm.params import SlurmParams
from dlsched.sim.log import RunLog
from dlsched.sim.prepare import Prepared, prepare, refuse_beyond_limits
from dlsched.sim.simulate import run_policy, soon_done
from dlsched.sim.turns import MOST_PASSES, MOST_TURNS, active_at_least_s, waiting_at_least_s
from dlsched.speed import build_speed
from dlsched.store.record import RunRecord, run_key
from dlsched.studies.code_version import origins_of, version_of
from dlsched.wording.counted import counted_of

if TYPE_CHECKING:
    import pandas as pd

    from dlsched.metrics.journal_tables import QuotaTables

Progress = Callable[[float, str], None]
"""Called with the share done (0 to 1) and a text; may raise ``sim.simulate.Cancelled``."""


def progress_of_part(progress: Progress | None, part: int, parts: int) -> Progress | None:
    """Return where one of ``parts`` pieces of work, as long as each other, tells its own progress; 0 = the first."""
    if progress is None:
        return None
    return lambda share, text: progress((part + share) / parts, text)


@dataclass(frozen=True, eq=False)
class Run:
    """A finished simulation. Numbers and tables are computed from the log when asked for, once.

    ``scenario`` as it was given; ``prepared`` as it was run (jobs drawn, oversize ones dropped or capped), with the
    truth; ``params`` validated and complete; ``cpu_s`` CPU seconds of each phase so far; ``wall_s`` of the simulation;
    ``code_version`` of all code that decided it; ``plugin``: origin of a policy or speed model from outside, as
    in "mypkg 1.0".
    """

    scenario: Scenario
    prepared: Prepared
    policy: str
    params: Mapping[str, Any]
    seed: int
    log: RunLog
    cpu_s: dict[str, float] = field(default_factory=dict)
    wall_s: float = 0.0
    code_version: str = ""
    plugin: str = ""

    def __repr__(self) -> str:
        return f"<Run of {self.policy} on {self.scenario.name!r}, seed {self.seed}: {self.sentence}>"

    @property
    def sentence(self) -> str:
        """What the run says, in one sentence: waits, lateness, money or use, and jobs that did not complete."""
        from dlsched.metrics.findings import result_sentence  # it needs pandas, which most command lines do not

        scenario, label = self.prepared.scenario, registry.find(self.policy).label
        rents = scenario.cluster.rents
        return result_sentence(label, self.metrics, money_first=rents, counted=counted_of(scenario))

    @property
    def truth(self) -> Truth:
        """True and believed work, bug jobs, cancel times."""
        return self.prepared.truth

    @property
    def key(self) -> str:
        """Hash of scenario, policy, parameters, seed and code version: the same question has the same key."""
        return run_key(self.scenario.content_hash, self.policy, self.params, self.seed, self.code_version)

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
    def journal(self) -> QuotaTables:
        """Holds of quota, and preemptions; empty for policies without quotas."""
        from dlsched.metrics.journal_tables import quota_tables

        return quota_tables(self._facts)

    @cached_property
    def _violations(self) -> tuple[str, ...]:
        from dlsched.metrics.tables import some_of_jobs
        from dlsched.sim.audit import JUDGED, audit, check_metrics  # only where a run is checked

        scenario, metrics = self.prepared.scenario, self.metrics
        with timed(self.cpu_s, "audit"):
            found = audit(scenario, self.truth, self.log, self._rows_expected)
            if not found:
                found = check_metrics(
                    scenario, self.truth, self.log, metrics, some_of_jobs(self._facts, JUDGED), self.nodes
                )
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
        question = (self.scenario, self.policy, self.params, self.seed, self.code_version)
        return RunRecord(*question, metrics, audit, self.cpu_s, self.wall_s, tables, name, self.read, self.plugin)


def simulate(
    scenario: Scenario,
    policy: str | PolicySpec | object,
    params: Mapping[str, Any] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    *,
    one_off: bool = False,
) -> Run:
    """Run a scenario under a policy.

    Parameters
    ----------
    scenario
        What to run; ``dlsched.load`` makes one of a file.
    policy
        Key of a policy in ``dlsched.policies()``, or a policy of your own: a PolicySpec, or an object with
        ``plan(state)`` and optionally ``review``. Each run gets a copy of an object as it was given.
    params
        Parameters that differ from their defaults.
    seed
        Seed of the draw, on top of the scenario's seed; two policies at one seed see the same jobs.
    progress
        Told how far the run is; what it raises stops the run and comes through.
    one_off
        The process makes no other run: few jobs are then simulated without compiled code, with the same result.

    Raises
    ------
    InputError
        Unknown policy, bad parameters, a need of the policy that the scenario does not meet, jobs that can never
        fit or ask for more than their user's limit when the option oversize is "refuse", or no jobs.
    PlanError
        If the policy asks for something impossible; one from outside also if it raises or answers no Plan.
    """
    resolved = resolve_policy(scenario, registry.given(policy).key, params)
    return run_resolved(scenario, resolved, seed, progress, one_off=one_off)


def run_resolved(
    scenario: Scenario,
    policy: ResolvedPolicy,
    seed: int = 0,
    progress: Progress | None = None,
    *,
    one_off: bool = False,
) -> Run:
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
        _refuse_endless(policy, prepared)
        _refuse_endless_evictions(prepared)
        _refuse_small_vm(policy, prepared)
        built = policy.build(prepared.scenario.workload)
        if spec.origin:
            log = _run_watched(prepared, built, seed, progress)
        else:
            compiled = not (one_off and soon_done(prepared, built))
            log = run_policy(prepared, built, seed, progress, use_kernel=compiled)
    wall_s, version = time.perf_counter() - started, version_of(scenario, [spec.key])
    plugin = origins_of(scenario, [spec.key])
    return Run(scenario, prepared, spec.key, policy.values, seed, log, cpu_s, wall_s, version, plugin)


def _run_watched(prepared: Prepared, policy: Policy, seed: int, progress: Progress | None) -> RunLog:
    """Run a policy from outside: what its plans break in the engine is an error with the name of the policy."""
    assert isinstance(policy, Watched)
    stopped: list[BaseException] = []

    def tell(share: float, text: str) -> None:
        try:
            if progress is not None:
                progress(share, text)
        except BaseException as error:
            stopped.append(error)
            raise

    try:
        return run_policy(prepared, policy, seed, tell if progress is not None else None)
    except Exception as error:
        if error in stopped:
            raise
        raise policy.named(error) from error


@dataclass(frozen=True, eq=False)
class ResolvedPolicy:
    """A policy with its checked parameters; ``values`` are all of them in JSON's own types."""

    spec: PolicySpec
    params: FrozenModel
    values: dict[str, Any]

    def build(self, jobs: Workload) -> Policy:
        """Return the policy, ready to run these jobs."""
        given = (self.params, jobs) if self.spec.clairvoyant else (self.params,)
        return self.spec.build(*given)


def resolve_policy(scenario: Scenario, policy: str, params: Mapping[str, Any] | None = None) -> ResolvedPolicy:
    """Return the policy with all its parameters; InputError when it cannot run the scenario."""
    resolved = read_policy(policy, params)
    spec = resolved.spec
    for name in ("quantum_s", "lease_s", "period_s"):
        _check_turn(spec.key, name, getattr(resolved.params, name, None), scenario.options.restart_s)
    unmet = registry.unmet_needs(spec, scenario)
    if unmet:
        names = " and ".join(need.value for need in unmet)
        raise InputError(
            f"policy {spec.key}",
            f"needs {names}, which the scenario does not have",
            "Add what is missing, or choose another policy",
        )
    if spec.check is not None:
        spec.check(scenario)
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


_WHILE_WAITING = ("quantum_s", "lease_s", "bf_interval", "PriorityCalcPeriod_s")
"""Times between decisions that count only while some job waits."""


def _refuse_endless(policy: ResolvedPolicy, prepared: Prepared) -> None:
    """Refuse a time between decisions so short that the run would not end: months of jobs, decided every second."""
    names = ("quantum_s", "lease_s", "period_s", "every_s", "interval_s")
    turns = {name: getattr(policy.params, name, None) for name in names}
    if isinstance(policy.params, SlurmParams):
        settings = policy.params.over((prepared.scenario.slurm or SlurmSetup()).options)
        turns["bf_interval"] = settings.bf_interval if settings.backfills else None
        turns["PriorityCalcPeriod_s"] = None if settings.in_order else settings.period_s
    for name, turn_s in turns.items():
        if turn_s is None:
            continue
        most = MOST_PASSES if name in ("bf_interval", "PriorityCalcPeriod_s") else MOST_TURNS
        lasts_s = (waiting_at_least_s if name in _WHILE_WAITING else active_at_least_s)(prepared)
        if lasts_s > most * turn_s:
            what = "wait" if name in _WHILE_WAITING else "are in the system"
            why = (
                f"of {turn_s:,g} s would be {lasts_s / turn_s:,.0f} decisions or more, because jobs {what} for at "
                f"least {lasts_s:,.0f} s; at most {most:,} can be run"
            )
            do = f"Give at least {math.ceil(lasts_s / most):,} s, or end the simulation earlier (horizon_s)"
            raise InputError(f"policy {policy.spec.key}, {name}", why, do)


def _refuse_endless_evictions(prepared: Prepared) -> None:
    """Refuse nodes that are taken back so often that the run would not end, where jobs have no others."""
    scenario = prepared.scenario
    rates = [pool.terms.evictions_per_h if pool.terms else 0.0 for pool in scenario.cluster.pools if pool.count]
    if not min(rates, default=0.0):
        return
    expected = min(rates) * active_at_least_s(prepared) / HOUR_S
    if expected > MOST_TURNS:
        why = (
            f"of {min(rates):,g} or more would be about {expected:,.0f} evictions, because jobs are in the system for "
            f"{expected / min(rates):,.0f} h; at most {MOST_TURNS:,} can be run"
        )
        do = "Give a lower rate, add nodes that are always there, or end the simulation earlier (horizon_s)"
        raise InputError("cluster, evictions_per_h", why, do)


def _refuse_small_vm(policy: ResolvedPolicy, prepared: Prepared) -> None:
    """Refuse a machine type on which some job could never run though others of the catalogue hold it."""
    scenario, name = prepared.scenario, getattr(policy.params, "vm_type", None)
    chosen = tuple(vm for vm in scenario.cluster.catalogue if vm.name == name)
    if not scenario.cluster.free_slots or not chosen:  # an unknown name is told by the policy
        return
    jobs, rented = scenario.workload, scenario.cluster.model_copy(update={"catalogue": chosen})
    width = jobs.workers
    if policy.spec.group == "elastic":
        width = build_speed(scenario.speed, jobs, scenario.cluster.vm_types).limits()[0]
    lost = np.flatnonzero(largest_width(jobs, rented, scenario.options.placement) < width)
    if lost.size:
        row, slots = int(lost[0]), scenario.cluster.slots
        raise InputError(
            f"policy {policy.spec.key}, vm_type",
            f"{name!r} cannot run {len(lost):,} of {len(jobs):,} jobs: {slots:,} of these machines never hold job "
            f"{jobs.job_id[row]!s:.60} with {width[row]:,} x {jobs.gpus_per_worker[row]:g} GPUs",
            "Choose another machine type, or leave vm_type empty",
        )


def key_of(scenario: Scenario, policy: str, params: Mapping[str, Any] | None = None, seed: int = 0) -> str:
    """Return the key a run of this question would have; InputError when it cannot be run."""
    resolved = resolve_policy(scenario, policy, params)
    version = version_of(scenario, [resolved.spec.key])
    return run_key(scenario.content_hash, resolved.spec.key, resolved.values, seed, version)


@contextmanager
def timed(cpu_s: dict[str, float], phase: str) -> Iterator[None]:
    """Add the CPU seconds of the block to a phase."""
    before = time.process_time()
    try:
        yield
    finally:
        cpu_s[phase] = cpu_s.get(phase, 0.0) + time.process_time() - before
