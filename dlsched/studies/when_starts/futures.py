"""Futures of a queue: run times are drawn, the policy decides from now on, and each waiting job starts or does not."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from dlsched.domain.cluster import Cluster
from dlsched.domain.errors import InputError, PlanError
from dlsched.domain.plan import WaitReason
from dlsched.domain.randomness import stream
from dlsched.domain.scenario import Scenario, SpeedSpec
from dlsched.domain.truth import Truth
from dlsched.domain.units import DAY_S
from dlsched.domain.workload import CPU, GPU, MEM, RESOURCES, Floats, Ints, Workload
from dlsched.placement import can_ever_fit
from dlsched.sim.log import RunLog
from dlsched.sim.prepare import Prepared, Underway
from dlsched.sim.simulate import run_policy
from dlsched.studies.run_all import run_all
from dlsched.studies.simulation import Progress, ResolvedPolicy, resolve_policy
from dlsched.studies.when_starts.on_nodes import OnNodes, on_nodes
from dlsched.studies.when_starts.queue_at import QueueAt, Record
from dlsched.studies.when_starts.run_times import Ended, LikeJobs, drawn_run_s, like_jobs, limits_of
from dlsched.studies.when_starts.together import joined

IN_LINE = ("fifo", "fifo-skip", "easy-backfill", "conservative")
"""Policies that take jobs in the order in which they come; of the queue a file ends with, in that of its priorities."""
A_TASK = 20
"""Futures that are simulated in one piece."""
AT_ONCE_S = 0.001
MOST_LATER_DAYS = 7
WEEK_DAYS = 7


@dataclass(frozen=True, eq=False)
class Ahead:
    """A queue, ready to be simulated from its instant on.

    ``scenario``: its jobs and cluster, nothing recorded, jobs in the order of the queue; ``start_s`` of those that run,
    NaN of others; ``like``: what their run times are drawn from; ``nodes``: where the running ones are. ``too_large``:
    jobs that wait and can never fit; they are not simulated. ``left_out`` running jobs do not fit beside the others.
    """

    scenario: Scenario
    at_s: float
    start_s: Floats
    like: Sequence[LikeJobs]
    nodes: OnNodes
    too_large: Workload
    left_out: int
    queue: QueueAt

    @property
    def waiting(self) -> Ints:
        """Rows that wait."""
        return np.flatnonzero(np.isnan(self.start_s))

    @property
    def longest_s(self) -> Floats:
        """The longest that each job can run, by its limit; what policies believe."""
        return np.array([one.longest_s for one in self.like])

    def run_s(self, seed: int, futures: int) -> Floats:
        """Return drawn run times, shape (futures, jobs); the same for a job whatever the others ask for."""
        return drawn_run_s(self.like, self.scenario.workload.job_id, seed, futures)

    def truth(self, run_s: Floats) -> Truth:
        """Return what happens with these run times; limits are believed."""
        return _truth(run_s * self.nodes.speed, self.longest_s * self.nodes.speed)

    def later_jobs(self, later: Workload, run_s: Floats) -> Prepared:
        """Return a future with these run times in which other jobs arrive later, which run as long as they did."""
        jobs = joined(self.scenario.workload, later)
        old = np.flatnonzero(jobs.order < len(self.start_s))  # rows of the queue keep their order among each other
        work, believed = jobs.work.copy(), np.where(np.isnan(limits_of(jobs)), jobs.work, limits_of(jobs))
        work[old], believed[old] = run_s * self.nodes.speed, self.longest_s * self.nodes.speed
        held = {int(old[row]): what for row, what in self.nodes.held.items()}
        scenario = self.scenario.replace(workload=jobs)
        return Prepared(scenario, _truth(work, believed), underway=Underway(self.at_s, held))


def _truth(work: Floats, believed: Floats) -> Truth:
    return Truth(work, believed, np.zeros(len(work), dtype=bool), np.full(len(work), np.inf))


def ahead_of(queue: QueueAt, ended: Ended, scenario: Scenario, policy: str) -> Ahead:
    """Return a queue on the cluster of its scenario, with nothing in it that is recorded after its instant.

    Raises
    ------
    InputError
        Where nothing says how long jobs run: no limits and no ended jobs.
    """
    jobs, cluster = queue.jobs, _from_now(scenario.cluster, queue.at_s)
    fits = can_ever_fit(jobs, cluster, scenario.options.placement) | queue.running
    rows = np.flatnonzero(fits)
    rows = rows[np.argsort(_in_line(jobs, queue, policy)[rows], kind="stable")]
    start_s = queue.start_s[rows]
    arrive_s = jobs.submit_s[rows]
    if policy in IN_LINE and queue.is_now:  # one after the other at once, so that none is taken for an earlier one
        arrive_s = np.where(np.isnan(start_s) & (arrive_s <= queue.at_s), queue.at_s, arrive_s)
    arrive_s = np.fmin(arrive_s, start_s)
    order = np.argsort(arrive_s, kind="stable")
    start_s = start_s[order]
    later_told = ("recorded_start_s", "recorded_end_s", "recorded_status")
    columns = {name: values for name, values in jobs.select(rows[order]).columns().items() if name not in later_told}
    if policy in IN_LINE:
        columns = {name: values for name, values in columns.items() if name not in _never_short(jobs, cluster)}
    workload = Workload.from_columns(columns | {"submit_s": arrive_s[order]}, jobs.meta)
    like = like_jobs(ended, workload, np.maximum(queue.at_s - start_s, 0.0))
    if not all(len(one.numbers) or np.isfinite(one.limit_s) for one in like):
        raise InputError(
            "queue", "some jobs have no time limit, and no job has ended that would tell how long jobs run",
            "Give a log of ended jobs with --history, or jobs with time limits",
        )  # fmt: skip
    options = scenario.options.model_copy(update={
        "restart_s": 0.0, "horizon_s": None, "bug_share": 0.0, "cancel_share": 0.0, "estimate_error": 0.0,
        "oversize": "refuse",
    })  # fmt: skip
    bare = scenario.replace(
        workload=workload, cluster=cluster, options=options, speed=SpeedSpec(), generator=None, assumptions=()
    )
    held = on_nodes(bare, start_s, queue.at_s)
    left_out = len(held.left_out)
    if left_out:
        kept = np.setdiff1d(np.arange(len(start_s)), held.left_out)
        bare, start_s, like = bare.replace(workload=workload.select(kept)), start_s[kept], [like[row] for row in kept]
        held = on_nodes(bare, start_s, queue.at_s)
    return Ahead(bare, queue.at_s, start_s, like, held, jobs.select(np.flatnonzero(~fits)), left_out, queue)


def _never_short(jobs: Workload, cluster: Cluster) -> set[str]:
    """Return the columns of cores and memory of which no node can be short: compiled loops do without them.

    That is where all jobs ask for GPUs, and for no more of the resource per GPU than every node has per GPU: jobs that
    fit by their GPUs then fit by it too.
    """
    capacity, demand = cluster.nodes.capacity, jobs.demand
    if not len(jobs) or jobs.has_servers or (demand[:, GPU] <= 0).any() or (capacity[:, GPU] <= 0).any():
        return set()
    asked, there = demand / demand[:, [GPU]], capacity / capacity[:, [GPU]]
    return {f"{RESOURCES[r]}_per_worker" for r in (CPU, MEM) if asked[:, r].max() <= there[:, r].min()}


def _in_line(jobs: Workload, queue: QueueAt, policy: str) -> Floats:
    """Return what jobs are sorted by: priorities of the file, where the policy has no order of its own."""
    if policy not in IN_LINE or not queue.is_now or jobs.priority is None:
        return np.arange(len(jobs), dtype=float)
    return np.where(queue.running, -np.inf, -np.nan_to_num(jobs.priority, nan=-np.inf))


def _from_now(cluster: Cluster, at_s: float) -> Cluster:
    """Return a cluster whose absences are known at an instant: failures after it are not."""
    kept = [
        absence.model_copy(update={"start_s": max(absence.start_s, at_s)})
        for absence in cluster.absences
        if absence.until_s > at_s and (absence.planned or absence.start_s <= at_s)
    ]
    return cluster.model_copy(update={"absences": tuple(kept)}) if cluster.absences else cluster


# ---- later jobs ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Jobs of the log that arrived before an instant, to stand for those that arrive after it.

    A future takes the jobs of a stretch of the log that starts at the same time of the day, of the same weekday where
    the log has four weeks, and that is as long as ``span_s``.
    """

    jobs: Workload
    at_s: float
    span_s: float
    back_days: Ints

    def of(self, seed: int, future: int) -> Workload:
        """Return the jobs that arrive later in one future."""
        rng = stream(seed * 1_000_003 + future, "later jobs")
        back_s = float(rng.choice(self.back_days)) * DAY_S
        from_s = self.at_s - back_s
        rows = np.flatnonzero((self.jobs.submit_s > from_s) & (self.jobs.submit_s <= from_s + self.span_s))
        picked = self.jobs.select(rows)
        ids = [f"later {future}/{name}" for name in picked.job_id]
        return dataclasses.replace(
            picked,
            job_id=np.array(ids, dtype=object),
            submit_s=picked.submit_s + back_s,
            recorded_start_s=None,
            recorded_end_s=None,
            recorded_status=None,
            recorded_nodes=None,
        )


def arrivals_of(record: Record, ended: Ints, scenario: Scenario, at_s: float, span_s: float) -> Arrivals:
    """Return the jobs of a log that stand for later ones; InputError where it is too short."""
    span_s = min(max(span_s, DAY_S), MOST_LATER_DAYS * DAY_S)
    jobs = record.jobs.select(ended)
    jobs = dataclasses.replace(jobs, work=(record.end_s - record.start_s)[ended])
    jobs = jobs.select(np.flatnonzero(can_ever_fit(jobs, scenario.cluster, scenario.options.placement)))
    first_s = float(jobs.submit_s[0]) if len(jobs) else at_s
    fewest, most = int(np.ceil(span_s / DAY_S)), int((at_s - first_s) // DAY_S)
    step = WEEK_DAYS if most >= 4 * WEEK_DAYS else 1
    back_days = np.arange(-(-fewest // step) * step, most + 1, step)
    if not len(back_days):
        raise InputError(
            "later jobs", f"the log has {max(most, 0):,} days before the queue, the queue lasts {fewest:,} days",
            "Give a longer log, or leave later jobs out",
        )  # fmt: skip
    return Arrivals(jobs, at_s, span_s, back_days)


# ---- simulation ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FutureTask:
    """Futures of a queue under a policy: run times, shape (futures, jobs), and the jobs that come later in each."""

    ahead: Ahead
    policy: str
    params: Mapping[str, Any]
    run_s: Floats
    later: tuple[Workload, ...] = ()


def starts_of(task: FutureTask, progress: Progress | None = None) -> Floats:
    """Return when each job starts, shape (futures, jobs), in seconds of the record; infinite where it never does."""
    ahead, found = task.ahead, []
    policy = resolved(ahead.scenario, task.policy, task.params)
    for number, run_s in enumerate(task.run_s):
        prepared = (
            ahead.later_jobs(task.later[number], run_s)
            if task.later
            else Prepared(ahead.scenario, ahead.truth(run_s), underway=ahead.nodes.underway(ahead.at_s))
        )
        log = _run(prepared, policy, number)
        mine = prepared.scenario.workload.order < len(run_s) if task.later else slice(None)
        first_s = log.job_first_start_s[mine]
        found.append(np.where(np.isnan(first_s), np.inf, first_s))
        if progress is not None:
            progress((number + 1) / len(task.run_s), "")
    return np.array(found).reshape(len(task.run_s), len(ahead.start_s))


def resolved(scenario: Scenario, policy: str, params: Mapping[str, Any]) -> ResolvedPolicy:
    """Return a policy that can decide about a queue; InputError for one that must know the future."""
    found = resolve_policy(scenario, policy, params)
    if found.spec.clairvoyant:
        why = "must know all jobs that are still to come, so it cannot decide about the queue of now"
        raise InputError(f"policy {policy}", why, "Choose another policy")
    return found


def _run(prepared: Prepared, policy: ResolvedPolicy, seed: int, *, kernel: bool = True) -> RunLog:
    try:
        return run_policy(prepared, policy.build(prepared.scenario.workload), seed, use_kernel=kernel)
    except PlanError as error:
        why = f"cannot take over jobs that run already: {error}"
        raise InputError(f"policy {policy.spec.key}", why, "Choose another policy") from error


def futures_of(
    ahead: Ahead,
    policy: str,
    params: Mapping[str, Any],
    seed: int,
    arrivals: Arrivals | None,
    run_s: Floats,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Floats:
    """Return when each job starts in each future, shape (futures, jobs); ``run_s``: how long the jobs run, same shape.

    ``seed`` decides which jobs arrive later, where ``arrivals`` has any.
    """
    tasks = []
    for first in range(0, len(run_s), A_TASK):
        mine = run_s[first : first + A_TASK]
        later = () if arrivals is None else tuple(arrivals.of(seed, first + number) for number in range(len(mine)))
        tasks.append(FutureTask(ahead, policy, params, mine, later))
    return np.concatenate(run_all(tasks, starts_of, executor, progress, noun="part"))


def by_limits(ahead: Ahead, policy: str, params: Mapping[str, Any]) -> tuple[Floats, list[WaitReason]]:
    """Return when each job starts if all run as long as they may, shape (jobs,), and why each waits now."""
    prepared = Prepared(ahead.scenario, ahead.truth(ahead.longest_s), underway=ahead.nodes.underway(ahead.at_s))
    log = _run(prepared, resolved(ahead.scenario, policy, params), 0, kernel=False)
    first_s = np.where(np.isnan(log.job_first_start_s), np.inf, log.job_first_start_s)
    codes = [WaitReason.NOT_RECORDED] * len(first_s)
    at_once = log.wait_from_s <= ahead.at_s + AT_ONCE_S
    for row, code in zip(log.wait_row[at_once].tolist(), log.wait_reason[at_once].tolist(), strict=True):
        codes[row] = WaitReason(code)
    return first_s, codes
