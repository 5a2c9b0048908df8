"""Runs of the policy slurm against its passes written down plainly: every second, every pass, no short cuts.

Cores of a node are its GPUs here. Nothing of the policy's code is used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario
from dlsched.domain.slurm import SlurmOptions, SlurmPartition, SlurmSetup
from dlsched.domain.workload import Workload
from dlsched.policies.registry import find
from dlsched.sim.prepare import prepare
from dlsched.sim.simulate import run_policy

MAIN_S, DELAY_S, BACKFILL_S, MINUTE_S, GROUP_S = 60, 3, 30, 60, 30
GPUS = 4
PARTITIONS = {"a": ("n1", "n2"), "b": ("n2", "n3"), "c": ("n4",)}
NODES = ("n1", "n2", "n3", "n4")
POOLS = {"n1": "a", "n2": "a|b", "n3": "b", "n4": "c"}
TIERS = {"a": 1, "b": 1, "c": 2}


@dataclass
class Job:
    submit_s: int
    run_s: int
    limit_s: int
    width: int
    partition: str
    user: str
    priority: int
    start_s: int | None = None
    held: dict[str, int] = field(default_factory=dict)


@dataclass
class Reference:
    """Slurm by its rules (sched_config of Slurm), in order of submission or by a fixed priority."""

    jobs: list[Job]
    in_order: bool
    max_jobs: int | None
    waiting: list[Job] = field(default_factory=list)
    running: list[Job] = field(default_factory=list)
    free: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NODES, GPUS))

    def starts(self) -> list[int | None]:
        now, last_main, due = 0, -math.inf, math.inf
        while now < 20_000 and any(job.start_s is None for job in self.jobs):
            ended = [job for job in self.running if self._end(job) == now]
            for job in ended:
                self.running.remove(job)
                for node, count in job.held.items():
                    self.free[node] += count
            arrived = [job for job in self.jobs if job.submit_s == now]
            for job in arrived:
                self._arrive(job, now)
            if ended or arrived:
                due = min(due, max(now, last_main + DELAY_S))
            if due <= now or now % MAIN_S == 0:
                self._main(now)
                last_main, due = now, math.inf
            if now % BACKFILL_S == 0:
                self._backfill(now)
            now += 1
        return [job.start_s for job in self.jobs]

    @staticmethod
    def _end(job: Job) -> int:
        assert job.start_s is not None
        return job.start_s + job.run_s

    def _order(self) -> list[Job]:
        def key(job: Job) -> tuple[int, int, int, int]:
            return -TIERS[job.partition], 0 if self.in_order else -job.priority, job.submit_s, self.jobs.index(job)

        return sorted(self.waiting, key=key)

    def _over(self, job: Job) -> bool:
        return self.max_jobs is not None and sum(other.user == job.user for other in self.running) >= self.max_jobs

    @staticmethod
    def _choose(job: Job, nodes: set[str], free: dict[str, int]) -> dict[str, int]:
        """Return whole nodes by name, the rest on one that has room for all of it; empty = no room."""
        chosen, left = dict[str, int](), job.width
        for node in NODES:
            if left and node in nodes and free[node] >= min(left, GPUS):
                chosen[node] = min(left, GPUS)
                left -= chosen[node]
        return {} if left else chosen

    def _start(self, job: Job, now: int, held: dict[str, int]) -> None:
        job.start_s, job.held = now, held
        self.waiting.remove(job)
        self.running.append(job)
        for node, count in held.items():
            self.free[node] -= count

    def _arrive(self, job: Job, now: int) -> None:
        self.waiting.append(job)
        for other in self._order():
            if other is job:
                break
            if not set(PARTITIONS[other.partition]) & set(PARTITIONS[job.partition]) or self._over(other):
                continue
            if self.in_order or other.priority > job.priority or TIERS[other.partition] > TIERS[job.partition]:
                return
        held = self._choose(job, set(PARTITIONS[job.partition]), self.free)
        if held and not self._over(job):
            self._start(job, now, held)

    def _main(self, now: int) -> None:
        closed, shut = set[str](), set[str]()
        for job in self._order():
            if job.partition in closed or self._over(job):
                continue
            held = self._choose(job, set(PARTITIONS[job.partition]) - shut, self.free)
            if held:
                self._start(job, now, held)
            else:
                closed.add(job.partition)
                shut |= set(PARTITIONS[job.partition])

    def _backfill(self, now: int) -> None:
        booked: list[tuple[int, int, set[str]]] = []
        borders = set[int]()
        for job in self._order():
            if self._over(job):
                continue
            try_s: float = now
            while try_s < math.inf:
                nodes = set(PARTITIONS[job.partition])
                for begin_s, end_s, taken in booked:
                    if begin_s < try_s + job.limit_s and end_s > try_s:
                        nodes -= taken
                later_s = min((border for border in borders if border > try_s), default=math.inf)
                start_s, held = self._will_run(job, nodes, now)
                start_s = max(start_s, try_s)
                if start_s <= now:
                    self._start(job, now, held)
                    break
                if start_s > later_s or start_s == math.inf:
                    try_s = later_s
                    continue
                crosses = any(b < start_s + job.limit_s and e > start_s and taken & set(held) for b, e, taken in booked)
                if start_s > try_s and crosses:
                    try_s = start_s
                    continue
                begin_s, end_s = (int(at // MINUTE_S) * MINUTE_S for at in (start_s, start_s + job.limit_s))
                borders |= {border for border in (begin_s, end_s) if border > now}
                if end_s > begin_s:
                    booked.append((begin_s, end_s, set(held)))
                break

    def _will_run(self, job: Job, nodes: set[str], now: int) -> tuple[float, dict[str, int]]:
        """Return when and where there is room: by groups of running jobs within 30 s of their first, 60 s, ..."""
        free, within_s = dict(self.free), GROUP_S
        held = self._choose(job, nodes, free)
        if held:
            return now, held
        believed = sorted(
            (max((other.start_s or 0) + other.limit_s, now + 1), self.jobs.index(other))
            for other in self.running
            if nodes & set(other.held)
        )
        while believed:
            until_s, end_s = believed[0][0] + within_s, 0
            while believed and believed[0][0] <= until_s:
                end_s, number = believed.pop(0)
                for node, count in self.jobs[number].held.items():
                    free[node] += count
            held = self._choose(job, nodes, free)
            if held:
                return end_s, held
            within_s *= 2
        return math.inf, {}


@st.composite
def workloads(draw: st.DrawFn) -> list[Job]:
    jobs = list[Job]()
    for submit_s in sorted(draw(st.lists(st.integers(0, 240), min_size=4, max_size=14))):
        partition = draw(st.sampled_from("aabbc"))
        run_s = draw(st.sampled_from([1, 7, 29, 60, 97, 150, 300]))
        limit_s = run_s if draw(st.booleans()) else run_s + draw(st.sampled_from([13, 60, 200]))
        width = draw(st.integers(1, GPUS * len(PARTITIONS[partition])))
        user, priority = draw(st.sampled_from("uvw")), draw(st.integers(1, 4))
        jobs.append(Job(submit_s, run_s, limit_s, width, partition, user, priority))
    return jobs


@pytest.mark.parametrize("use_kernel", [True, False], ids=["loop", "engine"])
@settings(max_examples=120)
@given(jobs=workloads(), in_order=st.booleans(), max_jobs=st.sampled_from([None, None, 1, 2]))
def test_starts_are_those_of_the_rules(jobs: list[Job], in_order: bool, max_jobs: int | None, use_kernel: bool):
    for job in jobs:
        job.start_s, job.held = None, {}
    columns: dict[str, Any] = {
        "job_id": [f"j{row}" for row in range(len(jobs))],
        "submit_s": [float(job.submit_s) for job in jobs],
        "work": [float(job.run_s) for job in jobs],
        "limit_s": [float(job.limit_s) for job in jobs],
        "workers": [job.width for job in jobs],
        "partition": [job.partition for job in jobs],
        "user": [job.user for job in jobs],
        "nice": [float(-job.priority) for job in jobs],
    }
    vm = VmType(name="node", gpus=GPUS)
    cluster = Cluster(pools=tuple(Pool(vm=vm, count=1, nodes=node, partition=POOLS[node]) for node in NODES))
    partitions = tuple(SlurmPartition(name=name, PriorityTier=tier) for name, tier in TIERS.items())
    options = SlurmOptions(PriorityWeightQOS=0 if in_order else 1)
    setup = SlurmSetup(options=options, partitions=partitions)
    prepared, spec = prepare(Scenario(Workload.from_columns(columns), cluster, slurm=setup)), find("slurm")
    log = run_policy(prepared, spec.build(spec.parse({"MaxJobsPerUser": max_jobs})), use_kernel=use_kernel)
    assert log.job_first_start_s.tolist() == Reference(jobs, in_order, max_jobs).starts()
