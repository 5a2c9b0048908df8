"""From a queue to when its jobs start: many futures, and the same futures with one job that asks for less."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.names import names_hint
from dlsched.domain.plan import REASON_TEXT, WaitReason
from dlsched.domain.policy import SlurmRule
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import CPU, GPU, Floats, Ints, Workload
from dlsched.placement import Site, can_ever_fit
from dlsched.policies import registry
from dlsched.sim import kernels
from dlsched.sim.prepare import Prepared, refuse_rented_nodes
from dlsched.store.record import CellStore
from dlsched.studies.queues import separate_queues
from dlsched.studies.simulation import Progress, progress_of_part
from dlsched.studies.study import require_scenario
from dlsched.studies.when_starts.answer import (
    SOON_S,
    TODAY_S,
    AskedForLess,
    Change,
    Quantiles,
    WaitingJob,
    When,
    finite,
)
from dlsched.studies.when_starts.futures import (
    IN_LINE,
    Ahead,
    Arrivals,
    ahead_of,
    arrivals_of,
    by_limits,
    futures_of,
    resolved,
)
from dlsched.studies.when_starts.queue_at import QueueAt, Record, queue_at
from dlsched.studies.when_starts.run_times import Ended, LikeJobs, limits_of
from dlsched.studies.when_starts.spec import ScoreSpec, WhenSpec
from dlsched.workload.import_report import in_seconds

FUTURE_S, JOB_FUTURE_S = 0.002, 2.5e-4
"""CPU seconds of a future, and of each of its jobs, in the general engine, about."""
COMPILED_FUTURE_S, COMPILED_JOB_S = 5e-4, 1e-5
"""The same in the compiled loops."""
SLURM_FUTURE_S, SLURM_JOB_S = 1e-3, 1.3e-4
"""The same in the loop of the policy slurm, whose events are plain Python."""
USUAL_QUEUE = 100
"""Jobs of a queue that is not known yet."""
USUAL_SHARE = 0.95
"""Quantile of the run times of like jobs that is offered as a limit."""
LEAST_LIMIT_S = 60.0


@dataclass(frozen=True, eq=False)
class Question:
    """A queue that can be simulated: its record, what has ended, and what comes later (None: nothing)."""

    record: Record
    ended: Ended
    ahead: Ahead
    arrivals: Arrivals | None


def check(spec: WhenSpec | ScoreSpec, scenario: Scenario) -> None:
    """Raise InputError for another scenario than asked about, rented machines, or a policy that cannot run."""
    require_scenario("when jobs start", spec.scenario, scenario)
    if scenario.cluster.free_slots:
        raise InputError("cluster", "has rented machines, which have no queue of now", "Choose owned nodes")
    refuse_rented_nodes(scenario, "when a job starts is not predicted then")
    resolved(scenario.replace(workload=_decided_about(spec, scenario)), spec.policy, spec.params)


def _decided_about(spec: WhenSpec | ScoreSpec, scenario: Scenario) -> Workload:
    """Return the jobs that the policy is asked about: those of the queue, and later ones where there are any.

    Jobs on hold are not simulated, and jobs that have ended only tell how long jobs run.
    """
    record = Record.of(in_seconds(scenario))
    if isinstance(spec, WhenSpec) and not spec.later:
        return queue_at(record, spec.at_s).jobs
    return record.jobs.select(np.flatnonzero(~record.on_hold))


def estimate_s(spec: WhenSpec, scenario: Scenario | None = None) -> float:
    """Return about how many CPU seconds the answer takes."""
    futures = spec.futures * (1 + 4 * bool(spec.job))
    if scenario is None:
        return futures * (FUTURE_S + JOB_FUTURE_S * USUAL_QUEUE)
    try:
        return 0.2 + futures_s(spec, futures, Record.of(in_seconds(scenario)), scenario, spec.at_s)
    except InputError:  # is told when it is asked
        return 0.2


def futures_s(spec: WhenSpec | ScoreSpec, futures: int, record: Record, scenario: Scenario, at_s: float) -> float:
    """Return about how many CPU seconds futures of a queue take, with the one in which all jobs run to their limits.

    InputError as :func:`run_when`.
    """
    question = asked(record, scenario, spec.model_copy(update={"later": False}), at_s)
    if question is None:
        return 0.0
    ahead, jobs = question.ahead, question.ahead.scenario.workload
    policy = resolved(scenario, spec.policy, spec.params).build(jobs)
    prepared = Prepared(ahead.scenario, ahead.truth(ahead.longest_s), underway=ahead.nodes.underway(ahead.at_s))
    future_s, job_s = FUTURE_S, JOB_FUTURE_S
    if kernels.eligible(prepared, policy):
        of_slurm = isinstance(policy.kernel_rule, SlurmRule)
        future_s, job_s = (SLURM_FUTURE_S, SLURM_JOB_S) if of_slurm else (COMPILED_FUTURE_S, COMPILED_JOB_S)
    return FUTURE_S + JOB_FUTURE_S * len(jobs) + futures * (future_s + job_s * len(jobs))


def asked(record: Record, scenario: Scenario, spec: WhenSpec | ScoreSpec, at_s: float) -> Question | None:
    """Return what is simulated of the queue at an instant; None if no job waits for room then."""
    queue = queue_at(record, at_s)
    ended = Ended.of(record.select(queue.ended))
    if queue.running.all():
        return None
    ahead = ahead_of(queue, ended, scenario, spec.policy)
    if not len(ahead.waiting):
        return None
    arrivals = None
    if spec.later:
        worst_s, _ = by_limits(ahead, spec.policy, spec.params)
        last_s = float(np.max(worst_s, where=np.isfinite(worst_s), initial=at_s))
        arrivals = arrivals_of(record, queue.ended, ahead.scenario, at_s, last_s - at_s)
    return Question(record, ended, ahead, arrivals)


def run_when(
    spec: WhenSpec,
    scenario: Scenario,
    executor: Executor | None = None,
    store: CellStore | None = None,
    progress: Progress | None = None,
) -> When:
    """Return when the waiting jobs start.

    Parameters
    ----------
    executor
        Where to compute; None = here.
    store
        Not used: single futures are not kept.
    progress
        Told the share done; what it raises stops the work and comes through.

    Raises
    ------
    InputError
        As :func:`check`; where nothing says how long jobs run; a job that does not wait for room then.
    """
    check(spec, scenario)
    record = Record.of(in_seconds(scenario))
    queue = queue_at(record, spec.at_s)
    question = asked(record, scenario, spec, spec.at_s)
    if question is None:
        return _answer(spec, scenario, record, queue, None, (), ())
    ahead, waiting = question.ahead, question.ahead.waiting
    names = [str(name) for name in ahead.scenario.workload.job_id[waiting]]
    if spec.job and spec.job not in names:
        raise InputError(f"job {spec.job!r:.80}", "does not wait for room at this instant", names_hint(spec.job, names))
    changes = _changes(question, int(waiting[names.index(spec.job)])) if spec.job else {}
    parts = 1 + len(changes)

    run_s = ahead.run_s(spec.seed, spec.futures)

    def starts(of: Ahead, run_s: Floats, number: int) -> Floats:
        told = progress_of_part(progress, number, parts)
        found = futures_of(of, spec.policy, spec.params, spec.seed, question.arrivals, run_s, executor, told)
        return found - spec.at_s

    starts_s = starts(ahead, run_s, 0)
    told = []
    for number, (change, less) in enumerate(changes.items(), 1):
        other_s = starts(less.ahead, less.run_s(run_s), number)[:, less.row]
        told.append(_less(change, less, starts_s[:, less.row], other_s))
    rows = _jobs(question, starts_s, spec)
    return _answer(spec, scenario, record, queue, question, rows, tuple(told))


def _answer(
    spec: WhenSpec, scenario: Scenario, record: Record, queue: QueueAt, question: Question | None,
    rows: tuple[WaitingJob, ...], changes: tuple[AskedForLess, ...],
) -> When:  # fmt: skip
    ended = Ended.of(record.select(queue.ended)) if question is None else question.ended
    ahead = None if question is None else question.ahead
    return When(
        scenario=spec.scenario,
        scenario_name=scenario.name,
        at_s=spec.at_s,
        policy=spec.policy,
        label=registry.find(spec.policy).label,
        params=spec.params,
        futures=spec.futures,
        seed=spec.seed,
        later=spec.later,
        running=int(queue.running.sum()),
        jobs=rows + _not_simulated(queue, ahead),
        ended=len(ended),
        with_limits=int(np.isfinite(ended.limit_s).sum()),
        placed=0 if ahead is None else ahead.nodes.placed,
        left_out=0 if ahead is None else ahead.left_out,
        unknown=queue.unknown,
        is_now=queue.is_now,
        by_priority=spec.policy in IN_LINE and queue.is_now and queue.jobs.priority is not None,
        counts_cores=scenario.counted == CPU,
        job=spec.job,
        changes=changes,
    )


# ---- the waiting jobs ------------------------------------------------------------------------------------


def _jobs(question: Question, starts_s: Floats, spec: WhenSpec) -> tuple[WaitingJob, ...]:
    """Return the jobs that wait for room, in the order of the queue."""
    ahead, jobs = question.ahead, question.ahead.scenario.workload
    worst_s, codes = by_limits(ahead, spec.policy, spec.params)
    place, told = _places(ahead), _reasons(ahead, codes)
    submit_s = _submitted(ahead)
    return tuple(
        WaitingJob(
            **_about(jobs, row),
            waited_s=max(spec.at_s - submit_s[row], 0.0),
            place=int(place[row]),
            reason=told[row],
            starts=Quantiles.of(starts_s[:, row]),
            within_1h=float((starts_s[:, row] <= SOON_S).mean()),
            within_24h=float((starts_s[:, row] <= TODAY_S).mean()),
            worst_s=finite(float(worst_s[row]) - spec.at_s),
            like=ahead.like[row].level,
            like_jobs=len(ahead.like[row].numbers),
        )
        for row in map(int, ahead.waiting)
    )


def _not_simulated(queue: QueueAt, ahead: Ahead | None) -> tuple[WaitingJob, ...]:
    """Return the jobs for which no start can be told: those on hold, and those larger than the cluster."""
    large = queue.jobs.select(np.zeros(0, dtype=np.int64)) if ahead is None else ahead.too_large
    known = [(large, row, "needs more than the cluster has") for row in range(len(large))]
    known += [(queue.on_hold, row, reason or "on hold") for row, reason in enumerate(queue.on_hold_reason)]
    return tuple(
        WaitingJob(
            **_about(jobs, row), waited_s=max(queue.at_s - float(jobs.submit_s[row]), 0.0), place=0, reason=reason,
            starts=None, within_1h=0.0, within_24h=0.0, worst_s=None, like="limit", like_jobs=0,
        )
        for jobs, row, reason in known
    )  # fmt: skip


def _about(jobs: Workload, row: int) -> dict[str, Any]:
    names = {name: "" if (values := getattr(jobs, name)) is None else str(values[row])
             for name in ("job_id", "user", "group", "partition")}  # fmt: skip
    limit_s = float(limits_of(jobs)[row])
    return names | {"gpus": float(jobs.requested[row, GPU]), "cores": float(jobs.requested[row, CPU]),
                    "limit_s": finite(limit_s)}  # fmt: skip


def _places(ahead: Ahead) -> Ints:
    """Return the place of each waiting job in its queue, from 1, by the order in which jobs come."""
    queue_of, _ = separate_queues(ahead.scenario.workload, ahead.scenario.cluster)
    place = np.zeros(len(queue_of), dtype=np.int64)
    for queue in np.unique(queue_of[ahead.waiting]):
        rows = ahead.waiting[queue_of[ahead.waiting] == queue]
        place[rows] = np.arange(1, len(rows) + 1)
    return place


def _submitted(ahead: Ahead) -> Mapping[int, float]:
    """Return when each waiting job was submitted: in a queue by priorities, it comes at the instant of the queue."""
    of = dict(zip(ahead.queue.jobs.job_id, ahead.queue.jobs.submit_s.tolist(), strict=True))
    return {int(row): of[ahead.scenario.workload.job_id[row]] for row in ahead.waiting}


def _reasons(ahead: Ahead, codes: list[WaitReason]) -> Mapping[int, str]:
    of = dict(zip(ahead.queue.jobs.job_id, ahead.queue.reason, strict=True))
    jobs, told = ahead.scenario.workload, {}
    for row in map(int, ahead.waiting):
        text = REASON_TEXT[codes[row]]
        if codes[row] is WaitReason.NOT_RECORDED:
            text = "could start now" if jobs.submit_s[row] <= ahead.at_s else "may not start yet"
        told[row] = of[jobs.job_id[row]] or (text if jobs.requested[row, GPU] > 0 else text.replace("GPUs", "cores"))
    return told


# ---- one job that asks for less --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Less:
    """A queue in which one job asks for less; ``limit_s``: its new limit, infinite where it keeps its own."""

    ahead: Ahead
    row: int
    before: float
    after: float
    limit_s: float = np.inf
    killed: float | None = None

    def run_s(self, run_s: Floats) -> Floats:
        """Return the run times of the same futures: the job ends at its new limit."""
        changed = run_s.copy()
        changed[:, self.row] = np.minimum(changed[:, self.row], self.limit_s)
        return changed


def _changes(question: Question, row: int) -> dict[Change, Less]:
    """Return what a waiting job could ask for instead; only what differs and fits."""
    ahead, jobs = question.ahead, question.ahead.scenario.workload
    workers = int(jobs.workers[row])
    counted = GPU if jobs.requested[row, GPU] > 0 else CPU
    per_worker = float(jobs.demand[row, counted])
    found: dict[Change, Less] = {}
    options: dict[Change, int] = {"half-gpus": workers // 2, "one-node": _workers_of_a_node(ahead.scenario, row)}
    for change, fewer in options.items():
        if (
            1 <= fewer < workers
            and per_worker > 0
            and fewer not in {round(one.after / per_worker) for one in found.values()}
        ):
            column = jobs.workers.copy()
            column[row] = fewer
            less = ahead.scenario.replace(workload=dataclasses.replace(jobs, workers=column))
            if can_ever_fit(less.workload, less.cluster, less.options.placement)[row]:
                found[change] = Less(
                    dataclasses.replace(ahead, scenario=less), row, workers * per_worker, fewer * per_worker
                )
    like = ahead.like[row]
    if np.isfinite(like.limit_s):
        limits: dict[Change, float] = {"half-limit": like.limit_s / 2}
        if like.pool is not None:
            usual_s = float(np.quantile(like.pool.in_order, USUAL_SHARE, method="inverted_cdf")) * like.unit_s
            limits = {"usual-limit": float(np.ceil(usual_s / LEAST_LIMIT_S) * LEAST_LIMIT_S), **limits}
        for change, limit_s in limits.items():
            if LEAST_LIMIT_S <= limit_s < like.limit_s and limit_s not in {one.after for one in found.values()}:
                found[change] = Less(
                    _with_limit(ahead, row, limit_s), row, like.limit_s, limit_s, limit_s, _killed(like, limit_s)
                )
    return found


def _workers_of_a_node(scenario: Scenario, row: int) -> int:
    """Return how many workers of a job the largest node that it may use holds."""
    jobs, nodes = scenario.workload, scenario.cluster.nodes
    allowed = Site.of(jobs, scenario.cluster, scenario.options.placement).allowed(row)
    capacity = nodes.capacity if allowed is None else nodes.capacity[allowed]
    asks = jobs.demand[row] > 0
    return int(np.floor((capacity[:, asks] + 1e-9) / jobs.demand[row][asks]).min(axis=1, initial=2**31).max(initial=0))


def _with_limit(ahead: Ahead, row: int, limit_s: float) -> Ahead:
    jobs = ahead.scenario.workload
    limits = limits_of(jobs).copy()
    limits[row] = limit_s
    like = [*ahead.like]
    like[row] = dataclasses.replace(like[row], limit_s=limit_s)
    scenario = ahead.scenario.replace(workload=dataclasses.replace(jobs, limit_s=limits))
    return dataclasses.replace(ahead, scenario=scenario, like=like)


def _killed(like: LikeJobs, limit_s: float) -> float | None:
    """Return the share of the like jobs that would not have ended by a limit; None without such jobs."""
    return None if like.pool is None else float((like.pool.in_order * like.unit_s > limit_s).mean())


def _less(change: Change, less: Less, before_s: Floats, after_s: Floats) -> AskedForLess:
    both = np.isfinite(before_s) & np.isfinite(after_s)
    with np.errstate(invalid="ignore"):
        earlier_s = np.where(both, before_s - after_s, np.where(np.isfinite(after_s), np.inf, np.where(
            np.isfinite(before_s), -np.inf, 0.0)))  # fmt: skip
    return AskedForLess(
        change=change, before=less.before, after=less.after, starts=Quantiles.of(after_s),
        earlier=Quantiles.of(earlier_s), sooner=float((earlier_s > 1.0).mean()), killed=less.killed,
    )  # fmt: skip
