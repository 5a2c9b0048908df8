"""PD-ORS and its rivals on the same jobs over slots: the runs behind Figs 6 to 9 and 12 to 17, paired by seed.

No simulation: every policy plans all slots with what it knows at each arrival, as in the study.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from dlsched.domain.errors import DlschedError
from dlsched.domain.randomness import stream
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import RESOURCES, Floats
from dlsched.metrics.stats.intervals import Interval, ratio_draws
from dlsched.policies.primal_dual import dorm, drf, fifo, oasis
from dlsched.policies.primal_dual.from_workload import instance_of
from dlsched.policies.primal_dual.online import PdOrs, bounds_of_all, plan, schedules
from dlsched.policies.primal_dual.problem import Instance, Job, Schedule, utility_of, violations
from dlsched.policies.primal_dual.slot_cost import SlotMethod
from dlsched.studies.reproductions.paired import PairedStudy, by_cell, compute_all
from dlsched.studies.reproductions.reproduction import Paper, Setting
from dlsched.wording.formats import amount, listed
from dlsched.workload.generators.arrivals import Bursts
from dlsched.workload.studies.pd_ors import MACHINE, SlottedJobsSpec, assumptions_of, draw_slotted_jobs

PAPER = Paper(
    "pd-ors",
    "PD-ORS",
    "Yu et al., Toward efficient online scheduling for distributed machine learning systems (PD-ORS), 2021",
)

Policy = Literal["PD-ORS", "OASiS", "FIFO", "DRF", "Dorm"]
Schedules = list[Schedule | None]
DORM_EFFORT = (0.05, 1)
"""Relative gap and nodes of Dorm's search in each slot; with its own it takes 40 CPU seconds for 100 jobs over 80."""
BURSTS = Bursts(jobs_per_h=1.0)
"""Arrivals that stand for a trace's: busy and calm times in turn, 8 times as dense when busy."""

QUICK_SEEDS, SEEDS = tuple(range(1, 11)), tuple(range(1, 41))
DORM_SEEDS = {20: (4, 20), 80: (2, 8)}
"""Dorm runs on so many of the seeds only, for its time: in a quick and in a full reproduction, by slots."""


class Mix(NamedTuple):
    """Shares of jobs to which time does not matter, and to which it is critical; it matters somewhat to the rest."""

    insensitive: float
    critical: float

    @property
    def words(self) -> str:
        """Percentages of insensitive, sensitive and critical jobs."""
        return f"({self.insensitive:.0%}, {1 - self.insensitive - self.critical:.0%}, {self.critical:.0%})"


USUAL, PATIENT = Mix(0.10, 0.35), Mix(0.30, 0.01)


class JobsOnMachines(NamedTuple):
    """So many jobs on machines over slots; ``bursts`` of arrivals, or the study's rates; ``work`` times their work."""

    jobs: int
    machines: int
    slots: int
    mix: Mix = USUAL
    bursts: bool = False
    work: float = 1.0

    @property
    def spec(self) -> SlottedJobsSpec:
        """What the jobs are drawn from."""
        return SlottedJobsSpec(
            jobs=self.jobs,
            machines=self.machines,
            slots=self.slots,
            insensitive=self.mix.insensitive,
            critical=self.mix.critical,
        )


Cell = tuple[JobsOnMachines, Policy]


class PlanTask(NamedTuple):
    """One policy on the jobs of a seed."""

    cell: Cell
    seed: int


@dataclass(frozen=True, slots=True)
class PlanResult:
    """Total utility, and for each job the slots from arrival to its end, all slots where it does not complete."""

    utility: float
    training_slots: tuple[int, ...]
    completed: int


def capacity_of(spec: SlottedJobsSpec) -> Floats:
    """Return what the machines have, (H, R)."""
    return np.tile([float(MACHINE[resource]) for resource in RESOURCES], (spec.machines, 1))


def drawn(case: JobsOnMachines, seed: int) -> Instance:
    """Return the jobs of a seed; fewer jobs are the first ones of more, but for bursts, which are drawn anew."""
    spec = case.spec
    instance = instance_of(draw_slotted_jobs(spec, seed), capacity_of(spec), case.slots, spec.slot_s)
    jobs = [replace(job, work=job.work * case.work) for job in instance.jobs]
    if case.bursts:
        jobs = in_bursts(sorted(jobs, key=lambda job: int(job.name[1:])), case.slots, seed)
    return replace(instance, jobs=tuple(jobs))


def in_bursts(jobs: Sequence[Job], slots: int, seed: int) -> list[Job]:
    """Return jobs that arrive in their order, in bursts; drawn arrivals are stretched over all slots."""
    pattern = BURSTS.scaled(len(jobs) / slots)  # an hour of the pattern is a slot
    hours = pattern.times_s(len(jobs) + 1, stream(seed, "workload")) / HOUR_S
    arrival = np.floor(hours[:-1] / hours[-1] * slots).astype(int).clip(max=slots - 1).tolist()
    return [replace(job, arrival=slot, first=slot) for job, slot in zip(jobs, arrival, strict=True)]


def pd_ors(instance: Instance, method: SlotMethod | None = None) -> Schedules:
    """Return PD-ORS's schedules at price bounds of all jobs, as in the study."""
    bounds = bounds_of_all(instance)
    scheduler = PdOrs(instance.capacity, instance.slots, bounds)
    return schedules(plan(instance, scheduler if method is None else replace(scheduler, method=method)))


SOLVERS: Mapping[Policy, Callable[[Instance, np.random.Generator], Schedules]] = {
    "PD-ORS": lambda instance, _: pd_ors(instance),
    "OASiS": oasis.solve,
    "FIFO": fifo.solve,
    "DRF": drf.solve,
    "Dorm": partial(dorm.solve, effort=DORM_EFFORT),
}
RIVALS: tuple[Policy, ...] = ("FIFO", "DRF", "Dorm")


def legal_utility(instance: Instance, plans: Sequence[Schedule | None]) -> float:
    """Return the utility of schedules; DlschedError where they break a rule of the instance."""
    wrong = violations(instance, plans)
    if wrong:
        raise DlschedError(wrong[0])
    return utility_of(instance.jobs, plans)


def plan_jobs(task: PlanTask) -> PlanResult:
    """Run one policy; DlschedError where its schedules are not legal."""
    case, policy = task.cell
    instance = drawn(case, task.seed)
    plans = SOLVERS[policy](instance, stream(task.seed, "policy"))
    slots = tuple(
        max(schedule) + 1 - job.arrival if schedule else instance.slots
        for job, schedule in zip(instance.jobs, plans, strict=True)
    )
    return PlanResult(legal_utility(instance, plans), slots, sum(schedule is not None for schedule in plans))


def utility_in(result: PlanResult) -> float:
    """Return the total utility."""
    return result.utility


@dataclass(frozen=True)
class PolicyStudy(PairedStudy[Cell, PlanResult]):
    """Results by case and policy, over the seeds; Dorm's over the first of them only."""

    seeds: tuple[int, ...]

    def utility(self, case: JobsOnMachines, policy: Policy) -> Interval:
        """Return the mean total utility."""
        return self.mean((case, policy), utility_in)

    def beside(self, case: JobsOnMachines, rival: Policy) -> tuple[float, float]:
        """Return PD-ORS's and a rival's mean total utility over the seeds both have."""
        ours, theirs = self.pair((case, "PD-ORS"), (case, rival), utility_in)
        return float(ours.mean()), float(theirs.mean())

    def gain(self, case: JobsOnMachines, rival: Policy, far: float = 0.0) -> Interval:
        """Return PD-ORS's total utility minus 1 + ``far`` times a rival's, paired by seed."""
        return self.difference((case, "PD-ORS"), (case, rival), utility_in, times=1 + far)

    def gain_growth(self, first: JobsOnMachines, last: JobsOnMachines, rival: Policy) -> Interval:
        """Return how much larger PD-ORS's gain on a rival is in the last case than in the first, paired by seed."""
        return self.growth([((case, "PD-ORS"), (case, rival)) for case in (first, last)], utility_in)

    def ratio(self, case: JobsOnMachines, rival: Policy) -> Floats:
        """Return draws of PD-ORS's total utility over a rival's, of all seeds together; see ``ratio_draws``."""
        return ratio_draws(*self.pair((case, "PD-ORS"), (case, rival), utility_in))


def run_study(setting: Setting, cases: Sequence[JobsOnMachines], policies: Sequence[Policy]) -> PolicyStudy:
    """Return the results of all policies in all cases."""
    seeds = QUICK_SEEDS if setting.quick else SEEDS
    tasks = [
        PlanTask((case, policy), seed)
        for policy in sorted(policies, key=lambda name: name != "Dorm")  # the long ones first
        for case in cases
        for seed in (seeds[: DORM_SEEDS[case.slots][0 if setting.quick else 1]] if policy == "Dorm" else seeds)
    ]
    results = compute_all(setting, tasks, plan_jobs, "plans")
    return PolicyStudy(by_cell((task.cell, result) for task, result in zip(tasks, results, strict=True)), seeds)


def sample_of(study: PolicyStudy) -> str:
    """Return on how many seeds the numbers stand."""
    dorm_seeds = {len(results) for (_, policy), results in study.results.items() if policy == "Dorm"}
    few = f", under Dorm those of the first {max(dorm_seeds)}" if dorm_seeds else ""
    return (
        f"Means over {amount(len(study.seeds), 'seed')}, the same jobs under every policy{few}; ± is the 95% interval, "
        "of differences paired by seed; a part of the claim counts as seen where all of it agrees."
    )


def assumed(case: JobsOnMachines, policies: Sequence[Policy], more: Sequence[str] = ()) -> str:
    """Return what the numbers assume."""
    drawn_from, bandwidth, mix, _, machine, fixed = (one.words for one in assumptions_of(case.spec))
    given = [
        *more,
        drawn_from,
        bandwidth,
        mix,
        machine,
        f"{case.slots} slots, numbered from 0; a job may use the slot it arrives in, and what is not done by the last "
        "slot is worth nothing",
        "price bounds of all jobs in advance, as in the study",
        "arrivals in bursts, generated, stretched over all slots: the study's trace is not shipped here"
        if case.bursts
        else "half as many jobs arrive in the first, third, ... slot as in the others",
    ]
    given += [fixed] if "FIFO" in policies else []
    if "Dorm" in policies:
        gap, nodes = DORM_EFFORT
        tree = f"after {amount(nodes, 'node')} of its tree"
        given.append(f"Dorm's search in a slot ends within {gap:.0%} of its bound or {tree}")
    return f"Assumed: {'; '.join(given)}."


def sizes_words(cases: Sequence[JobsOnMachines], axis: str) -> str:
    """Return the sizes of a figure in words."""
    return listed([str(getattr(case, axis)) for case in cases])
