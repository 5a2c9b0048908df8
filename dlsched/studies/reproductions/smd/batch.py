"""One batch of jobs with parameter servers as in the SMD study: what each policy chooses, and which jobs it admits.

No simulation: all jobs are there at once and complete within the interval, as in the study.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.randomness import stream
from dlsched.domain.scenario import SimulationRules
from dlsched.domain.utility import utility_at
from dlsched.domain.workload import RESOURCES, Floats, Workload
from dlsched.policies.smd import knapsack
from dlsched.policies.smd.choices import step_problem
from dlsched.policies.smd.problem import Choice, Split
from dlsched.policies.smd.ratios import approximate
from dlsched.policies.smd.rounding import round_up_or_down
from dlsched.policies.smd.rules import equal, optimus
from dlsched.policies.smd.split import exact
from dlsched.speed.parameter_server import StepTerms
from dlsched.studies.reproductions.reproduction import Paper
from dlsched.workload.studies.smd import UNIT, UTILITY_UNIT_S, ServerJobsSpec, draw_server_jobs

PAPER = Paper(
    "smd",
    "SMD",
    "Yu et al., A sum-of-ratios multi-dimensional-knapsack decomposition for DNN resource scheduling, 2021",
)

Mask = NDArray[np.bool_]
Policy = Literal["SMD", "Optimus", "ESW"]
METHODS: Mapping[Policy, Callable[[Split], Choice]] = {"SMD": exact, "Optimus": optimus, "ESW": equal}
"""Workers and servers of one job by policy; SMD's are the exact optimum, Fig. 11 says what approximations lose."""

Admission = Literal["knapsack", "first come", "first come, others pass"]
ADMISSIONS: tuple[Admission, ...] = ("knapsack", "first come", "first come, others pass")
"""Which jobs are admitted: those worth most together; in order of number up to the first that does not fit, or
all that fit."""

EPSILON = 0.01
"""Of Algorithm 1, as in the study."""
M_DELTA = 1.0
"""Of Algorithm 2, as in the study."""
DRAWS = 20
"""F of Algorithm 2; the study does not say."""

INSTANCES = 1000
"""Capacity of Fig. 11 in virtual instances."""
UNIT_OF_CAPACITY: Floats = np.array([UNIT[resource] for resource in RESOURCES], dtype=float)


@dataclass(frozen=True, eq=False)
class Batch:
    """I jobs at one time: ``problems`` of one training step each; ``unit_s`` is the unit of time of the utility."""

    jobs: Workload
    problems: tuple[Split, ...]
    unit_s: float

    @property
    def reserved(self) -> Floats:
        """The users' limits, (I, R): what an admitted job blocks."""
        return self.jobs.limit

    def value(self, choices: Sequence[Choice], times_longer: float = 1.0) -> Floats:
        """Return the utility of each job when it starts now, (I,); ``times_longer`` stretches all completion times."""
        step_s = np.array([choice.time for choice in choices])
        options = SimulationRules(placement="pool", utility_unit_s=self.unit_s)
        end_s = self.jobs.submit_s + self.jobs.work * step_s * times_longer
        return utility_at(self.jobs, options, np.arange(len(self.jobs)), end_s)

    def used(self, choices: Sequence[Choice]) -> Floats:
        """Return what each job uses of each resource, (I, R)."""
        workers, servers = np.array([(choice.workers, choice.servers) for choice in choices], dtype=float).T
        return np.asarray(workers[:, None] * self.jobs.demand + servers[:, None] * self.jobs.server_demand)

    def choices(self, policy: Policy) -> list[Choice]:
        """Return the workers and servers of each job under a policy."""
        return [METHODS[policy](problem) for problem in self.problems]


def draw_batch(spec: ServerJobsSpec, seed: int) -> Batch:
    """Return the jobs of a seed; the first jobs of a larger batch are those of a smaller one."""
    jobs = draw_server_jobs(spec, seed)
    terms = StepTerms.of(jobs)
    per_job = zip(jobs.demand.tolist(), jobs.server_demand.tolist(), jobs.limit.tolist(), strict=True)
    problems = tuple(
        step_problem(spec.updates, terms, row, (*demands, None, None), RESOURCES) for row, demands in enumerate(per_job)
    )
    return Batch(jobs, problems, utility_unit_s(spec))


def utility_unit_s(spec: ServerJobsSpec) -> float:
    """Return the unit of time in which jobs are worth something: days where forward passes are timed per sample of a
    whole batch, else hours.
    """
    slow = spec.updates == "sync" and spec.forward_per == "sample"
    return UTILITY_UNIT_S["sync" if slow else "async"]


def instance_of(spec: ServerJobsSpec) -> Floats:
    """Return what a virtual instance has of each resource, (R,)."""
    return np.array([getattr(spec, f"instance_{resource}") for resource in RESOURCES], dtype=float)


def approximated(problems: Sequence[Split], seed: int, draws: int = DRAWS) -> list[Choice]:
    """Return the choices of Algorithms 1 and 2, with the study's numbers."""
    rng = stream(seed, "policy")
    return [round_up_or_down(one, approximate(one, EPSILON), rng, M_DELTA, draws) for one in problems]


def admitted(value: Floats, reserved: Floats, capacity: Floats, admission: Admission) -> Mask:
    """Return which jobs are admitted, (I,): worth ``value`` (I,), they block ``reserved`` (I, R) of a capacity (R,)."""
    if admission == "knapsack":
        return knapsack.solve(value, reserved, capacity).selected
    taken = np.zeros(len(value), dtype=bool)
    most, blocked = capacity * (1 + knapsack.ROOM), np.zeros_like(capacity)
    for job, weight in enumerate(reserved):
        if (blocked + weight <= most).all():
            taken[job], blocked = True, blocked + weight
        elif admission == "first come":
            break
    return taken
