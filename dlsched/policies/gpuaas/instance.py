"""One rescheduling point of GPU as a service as arrays, a schedule for it, and what a schedule is worth.

The pure cores of this family take an :class:`Instance` and return a :class:`Schedule`; they know neither the
simulator nor the policy protocol. Symbols of the paper: t = times, d_j - now = slack, omega = weight, H = period,
rho = postpone_factor, mu = idle_penalty.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.workload import Floats, Ints

FREE_PRICE = 1e-9
"""Added to what a job pays in Eq. (1): a job on a free machine would divide by zero."""


@dataclass(frozen=True, eq=False)
class Instance:
    """A rescheduling point with J jobs, N nodes, V machine types of F GPU types with up to G GPUs.

    times         (J, F, G) residual run time with g+1 GPUs of one node; infinity = this job cannot run so
    slack         (J,) time left to the due date, negative when it has passed, infinity = no due date
    weight        (J,) $ per time unit of lateness
    vm_family     (V,) GPU type of a machine type, 0..F-1
    vm_gpus       (V,) GPUs of a machine type
    vm_price      (V,) $ per time unit
    node_vm       (N,) machine type of a node that is there already and stays, -1 = free to choose
    running       (J,) whether the job holds GPUs now; ties go to it
    ``period``    time to the next rescheduling point if nothing happens
    ``exactly``   min(N, J) nodes must be open, as (P1n) is printed; else at most
    """

    times: Floats
    slack: Floats
    weight: Floats
    vm_family: Ints
    vm_gpus: Ints
    vm_price: Floats
    node_vm: Ints
    running: NDArray[np.bool_]
    period: float = 3600.0
    postpone_factor: float = 100.0
    idle_penalty: float = 1.0
    exactly: bool = False

    @property
    def num_jobs(self) -> int:
        """J."""
        return len(self.slack)

    @property
    def num_nodes(self) -> int:
        """N."""
        return len(self.node_vm)

    def of_jobs(self, times: Floats, slack: Floats, weight: Floats, running: NDArray[np.bool_]) -> Instance:
        """Return the same machines with other jobs, and what is known of the machines."""
        other = replace(self, times=times, slack=slack, weight=weight, running=running)
        for name in ("most_gpus", "holder", "config_price"):
            other.__dict__[name] = getattr(self, name)  # as cached_property keeps it
        return other

    def on_nodes(self, node_vm: Ints) -> Instance:
        """Return the same jobs where nodes with a machine type stay, and what is known of jobs and machines."""
        other = replace(self, node_vm=node_vm)
        for name in ("most_gpus", "holder", "config_price", "config_times"):
            other.__dict__[name] = getattr(self, name)
        return other

    @cached_property
    def most_gpus(self) -> Ints:
        """GPUs of the largest machine type of each GPU type, shape (F,)."""
        most = np.zeros(self.times.shape[1], dtype=np.int64)
        np.maximum.at(most, self.vm_family, self.vm_gpus)
        return most

    @cached_property
    def holder(self) -> Ints:
        """Machine type that holds g+1 GPUs of a GPU type: the cheapest, then the smallest; (F, G), -1 = none."""
        families, largest = self.times.shape[1:]
        chosen = np.full((families, largest), -1, dtype=np.int64)
        for vm in np.lexsort((self.vm_gpus, self.vm_price))[::-1].tolist():
            chosen[self.vm_family[vm], : self.vm_gpus[vm]] = vm
        return chosen

    @cached_property
    def config_price(self) -> Floats:
        """Price of the machine that holds g+1 GPUs of a GPU type, (F, G); infinity = none does."""
        return np.where(self.holder >= 0, self.vm_price[self.holder], np.inf)

    @cached_property
    def config_times(self) -> Floats:
        """``times`` with infinity where no machine type has so many GPUs, (J, F, G)."""
        return np.where(self.holder[None] >= 0, self.times, np.inf)

    @cached_property
    def fastest(self) -> Floats:
        """Smallest residual time of each job, (J,); infinity = it can run nowhere."""
        return np.asarray(self.config_times.min(axis=(1, 2), initial=np.inf))

    @cached_property
    def slowest(self) -> Floats:
        """Largest finite residual time of each job, (J,): M_j of the paper; 0 = it can run nowhere."""
        finite_times = np.where(np.isfinite(self.config_times), self.config_times, 0.0)
        return np.asarray(finite_times.max(axis=(1, 2), initial=0.0))

    @cached_property
    def postponed_cost(self) -> Floats:
        """What (P1a) charges for leaving a job in the queue: rho omega max(0, H + M_j - slack), (J,)."""
        late = np.maximum(0.0, self.period + self.slowest - self.slack)
        return np.asarray(self.postpone_factor * self.weight * late)


@dataclass(frozen=True, eq=False)
class Schedule:
    """Who runs where: ``node`` and ``gpus`` (J,), node -1 and gpus 0 = left in the queue; ``vm`` (N,), -1 = closed."""

    node: Ints
    gpus: Ints
    vm: Ints

    @classmethod
    def empty(cls, instance: Instance) -> Schedule:
        """Return the schedule in which no job runs; nodes that stay are open."""
        jobs = instance.num_jobs
        return cls(np.full(jobs, -1, dtype=np.int64), np.zeros(jobs, dtype=np.int64), instance.node_vm.copy())

    @cached_property
    def runs(self) -> Ints:
        """Jobs that run."""
        return np.flatnonzero(self.node >= 0)

    @cached_property
    def used(self) -> Ints:
        """GPUs in use on each node, (N,)."""
        used = np.zeros(len(self.vm), dtype=np.int64)
        np.add.at(used, self.node[self.runs], self.gpus[self.runs])
        return used


def run_times(instance: Instance, schedule: Schedule) -> Floats:
    """Return the residual time of each job as scheduled, (J,); infinity for those that wait."""
    times = np.full(instance.num_jobs, np.inf)
    rows = schedule.runs
    family = instance.vm_family[schedule.vm[schedule.node[rows]]]
    times[rows] = instance.times[rows, family, schedule.gpus[rows] - 1]
    return times


def objective(instance: Instance, schedule: Schedule) -> float:
    """Return (P1a) in its clean reading.

    omega tau of executed jobs + rho omega tau_hat of postponed ones + mu x idle GPUs of open nodes + for every node
    the smallest t c_v of its jobs: the bill until its first job ends. A node that stays open without a job costs
    its idle GPUs only.
    """
    times = run_times(instance, schedule)
    rows = schedule.runs
    waits = np.ones(instance.num_jobs, dtype=bool)
    waits[rows] = False
    late = np.maximum(0.0, times[rows] - instance.slack[rows])
    cost = float(instance.weight[rows] @ late) + float(instance.postponed_cost[waits].sum())
    is_open = schedule.vm >= 0
    idle = instance.vm_gpus[schedule.vm[is_open]].sum() - schedule.used.sum()
    first_end = np.full(instance.num_nodes, np.inf)
    np.minimum.at(first_end, schedule.node[rows], times[rows])
    busy = np.isfinite(first_end)
    bill = float(first_end[busy] @ instance.vm_price[schedule.vm[busy]])
    return cost + instance.idle_penalty * float(idle) + bill


def proxy(instance: Instance, schedule: Schedule) -> float:
    """Return Eq. (1), larger is better: the sum of M_j / (pi_j + omega_j tau_j) over the scheduled jobs.

    pi_j is the job's share of its node's bill, by GPUs in use, over its whole residual run.
    """
    rows = schedule.runs
    times, node = run_times(instance, schedule)[rows], schedule.node[rows]
    price = instance.vm_price[schedule.vm[node]] * schedule.gpus[rows] / schedule.used[node]
    late = np.maximum(0.0, times - instance.slack[rows])
    return float((instance.slowest[rows] / (times * price + FREE_PRICE + instance.weight[rows] * late)).sum())


def violations(instance: Instance, schedule: Schedule) -> list[str]:
    """Return what is wrong with a schedule, in words; empty = feasible for (P1)."""
    violations = []
    for job in range(instance.num_jobs):
        node, gpus = int(schedule.node[job]), int(schedule.gpus[job])
        if node < 0:
            if gpus:
                violations.append(f"job {job} waits and holds {gpus} GPUs")
            continue
        vm = int(schedule.vm[node])
        if vm < 0:
            violations.append(f"job {job} runs on node {node}, which is closed")
        elif not 1 <= gpus <= instance.vm_gpus[vm]:
            violations.append(f"job {job} holds {gpus} of {instance.vm_gpus[vm]} GPUs of node {node}")
        elif not np.isfinite(instance.times[job, instance.vm_family[vm], gpus - 1]):
            violations.append(f"job {job} cannot run with {gpus} GPUs on machine type {vm}")
    for node in range(instance.num_nodes):
        vm, used = int(schedule.vm[node]), int(schedule.used[node])
        if vm >= 0 and used > instance.vm_gpus[vm]:
            violations.append(f"node {node} has {instance.vm_gpus[vm]} GPUs, {used} are in use")
        if instance.node_vm[node] >= 0 and vm != instance.node_vm[node]:
            violations.append(f"node {node} is machine type {instance.node_vm[node]}, the schedule makes it {vm}")
        if instance.node_vm[node] < 0 and vm >= 0 and used == 0:
            violations.append(f"node {node} is open and empty")
    num_open = int((schedule.vm >= 0).sum())
    if instance.exactly and num_open != min(instance.num_nodes, instance.num_jobs):
        violations.append(f"{num_open} nodes are open, {min(instance.num_nodes, instance.num_jobs)} must be")
    return violations
