"""The best schedules in hindsight, for tiny cases: Problem DMLRS (Eqs. 3-7) as a mixed-integer program over slots.

In every slot a job is off, on one machine (at the internal speed) or spread over several (at the external one). Both
kinds have their own numbers of workers and servers by machine, so that all is linear. A job has at most one last slot;
it trains nothing later, and all of its work before or in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Ints
from dlsched.optimise.milp import PROVEN, Milp, MilpAnswer
from dlsched.policies.primal_dual.problem import ROOM, Booking, Instance, Job, Schedule, utility_of, violations
from dlsched.policies.primal_dual.reach import fits, most_samples, most_together

MOST_SLOTS = 6
MOST_CELLS = 600
"""Jobs x machines x slots."""
NODE_LIMIT = 5_000
MARGIN = 1e-5
"""How much tighter the program is written where its first answer was legal within the solver's tolerance only."""


@dataclass(frozen=True, eq=False)
class Best:
    """Legal schedules and what is proven: none have more utility than ``bound``.

    ``status``: optimal where utility and bound agree within PROVEN, else feasible.
    """

    schedules: list[Schedule | None]
    utility: float
    bound: float
    status: Literal["optimal", "feasible"]


def solve(instance: Instance, node_limit: int = NODE_LIMIT) -> Best:
    """Return the schedules with the most utility, or the best that ``node_limit`` nodes of the search found.

    Raises
    ------
    InputError
        If there are more than MOST_SLOTS slots or MOST_CELLS jobs x machines x slots.
    """
    _check_size(instance)
    nobody: list[Schedule | None] = [None] * len(instance.jobs)
    bound = math.fsum(_best_worth(instance, job) for job in instance.jobs)
    schedules = nobody
    for margin in (0.0, MARGIN):
        program = _Program(instance, margin)
        answer = program.milp.solve(node_limit=node_limit)
        if margin == 0.0:
            bound = min(bound, -answer.bound)
        if answer.values is None:
            break
        schedules = program.decode(answer)
        if not violations(instance, schedules):
            break
        schedules = nobody
    utility = utility_of(instance.jobs, schedules)
    bound = max(utility, bound)
    status: Literal["optimal", "feasible"] = "optimal" if bound - utility <= PROVEN * bound else "feasible"
    return Best(schedules, utility, bound, status)


def _check_size(instance: Instance) -> None:
    if instance.slots > MOST_SLOTS:
        why = f"takes at most {MOST_SLOTS} slots, got {instance.slots}"
        raise InputError("method offline", why, "Use fewer slots or an online method")
    jobs, machines, slots = len(instance.jobs), len(instance.capacity), instance.slots
    if jobs * machines * slots > MOST_CELLS:
        why = (
            f"takes at most {MOST_CELLS} jobs x machines x slots, "
            f"got {jobs} x {machines} x {slots} = {jobs * machines * slots:,}"
        )
        raise InputError("method offline", why, "Use a smaller case or an online method")


def _best_worth(instance: Instance, job: Job) -> float:
    return max((job.worth(slot) for slot in range(job.first, instance.slots)), default=0.0)


def _needed(job: Job, workers: list[int], servers: list[int]) -> list[int]:
    """Return the servers by machine without those that no worker needs.

    Beside workers they go first: so a job that is spread stays so, which may be the faster case.
    """
    left, spare = list(servers), sum(servers) - job.servers_for(sum(workers))
    for machine in sorted(range(len(left)), key=lambda h: (workers[h] == 0, h)):
        off = min(spare, left[machine])
        left[machine] -= off
        spare -= off
    return left


# ---- the program --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Columns:
    """Columns of one job: its slots (S,); ``last`` (S,) says which is its last one.

    Workers and servers (S, H) on one machine and spread; ``machine`` (S, H) and ``several`` (S,): which case it is.
    """

    slots: Ints
    last: Ints
    one_workers: Ints
    one_servers: Ints
    workers: Ints
    servers: Ints
    machine: Ints
    several: Ints


class _Program:
    """The program of an instance; ``margin`` makes work and capacity tighter by this part."""

    def __init__(self, instance: Instance, margin: float) -> None:
        self.instance, self.margin, self.milp = instance, margin, Milp()
        self.columns = [self._job(job) for job in instance.jobs]
        self._capacity()

    def decode(self, answer: MilpAnswer) -> list[Schedule | None]:
        """Return the schedules that the values stand for."""
        values = answer.values
        assert values is not None
        schedules: list[Schedule | None] = []
        for job, columns in zip(self.instance.jobs, self.columns, strict=True):
            workers = (values[columns.one_workers] + values[columns.workers]).astype(int).tolist()
            servers = (values[columns.one_servers] + values[columns.servers]).astype(int).tolist()
            schedule = {
                slot: Booking.of(dict(enumerate(at_work)), dict(enumerate(_needed(job, at_work, serving))))
                for slot, at_work, serving in zip(columns.slots.tolist(), workers, servers, strict=True)
                if sum(at_work)
            }
            schedules.append(schedule or None)
        return schedules

    def _job(self, job: Job) -> _Columns:
        """Add one job: its columns, and what has to hold whatever the others do."""
        milp, capacity = self.milp, self.instance.capacity
        slots = np.arange(job.first, self.instance.slots)
        shape = (len(slots), len(capacity))
        reachable = (slots - job.first + 1) * most_samples(job, capacity) >= job.work * (1 - ROOM)
        worth = np.array([job.worth(slot) for slot in slots.tolist()])
        last = milp.columns(-worth, upper=reachable.astype(float), integer=True)

        most_one = most_together(job, capacity)
        most_workers = fits(capacity, job.worker_demand, job.batch)
        most_servers = fits(capacity, job.server_demand, job.servers_for(job.batch))
        columns = _Columns(
            slots,
            last,
            one_workers=self._counts(shape, most_one),
            one_servers=self._counts(shape, np.array([job.servers_for(int(count)) for count in most_one])),
            workers=self._counts(shape, most_workers),
            servers=self._counts(shape, most_servers),
            machine=self._counts(shape, np.ones(shape[1], dtype=np.int64)),
            several=milp.columns(np.zeros(len(slots)), upper=1.0, integer=True),
        )
        self._when(columns)
        self._cases(job, columns, most_one, most_servers)
        self._work(job, columns)
        return columns

    def _counts(self, shape: tuple[int, int], most: Ints) -> Ints:
        return self.milp.columns(np.zeros(shape), upper=np.broadcast_to(most, shape), integer=True)

    def _when(self, columns: _Columns) -> None:
        """At most one last slot; it has workers; a slot is off, on one machine or spread, and off after the last."""
        each = range(len(columns.slots))
        self._row(columns.last, 1.0, high=1.0)
        for slot in each:
            now = [*columns.machine[slot], columns.several[slot]]
            self._row([*now, *columns.last[slot:]], [1.0] * len(now) + [-1.0] * (len(each) - slot), high=0.0)
            workers = [*columns.one_workers[slot], *columns.workers[slot]]
            self._row([*workers, columns.last[slot]], [1.0] * len(workers) + [-1.0], low=0.0)

    def _cases(self, job: Job, columns: _Columns, most_one: Ints, most_servers: Ints) -> None:
        """Batch and servers in both cases; where spreading is the faster one, it takes two machines."""
        machines = range(len(most_one))
        for slot in range(len(columns.slots)):
            for h in machines:
                one, servers, case = (
                    part[slot, h] for part in (columns.one_workers, columns.one_servers, columns.machine)
                )
                self._row([one, case], [1.0, -float(most_one[h])], high=0.0)
                self._row([servers, case], [1.0, -float(job.servers_for(int(most_one[h])))], high=0.0)
                self._row([one, servers], [1.0, -job.ratio], high=0.0)
                self._row([columns.servers[slot, h], columns.several[slot]], [1.0, -float(most_servers[h])], high=0.0)
            spread = [*columns.workers[slot]]
            self._row([*spread, columns.several[slot]], [1.0] * len(spread) + [-float(job.batch)], high=0.0)
            both = [*spread, *columns.servers[slot]]
            self._row(both, [1.0] * len(spread) + [-job.ratio] * len(spread), high=0.0)
            if job.far < job.near:
                used = self.milp.columns(np.zeros(len(spread)), upper=1.0, integer=True)
                for h in machines:
                    tasks = [columns.workers[slot, h], columns.servers[slot, h]]
                    self._row([used[h], *tasks], [1.0, -1.0, -1.0], high=0.0)
                self._row([*used, columns.several[slot]], [1.0] * len(used) + [-2.0], low=0.0)

    def _work(self, job: Job, columns: _Columns) -> None:
        """All work is trained, if there is a last slot; counted in worker-slots of a spread job."""
        one, spread = columns.one_workers.ravel(), columns.workers.ravel()
        needed = job.work * job.far * (1 - ROOM / 2) * (1 + self.margin)
        values = [job.far / job.near] * len(one) + [1.0] * len(spread) + [-needed] * len(columns.last)
        self._row([*one, *spread, *columns.last], values, low=0.0)

    def _capacity(self) -> None:
        """What all jobs hold of a machine in a slot, in units of the least demand, so that tolerances are small."""
        jobs = self.instance.jobs
        if not jobs:
            return
        demands = np.array([[job.worker_demand, job.server_demand] for job in jobs])  # (I, 2, R)
        unit = np.where(demands > 0, demands, np.inf).min(axis=(0, 1))
        for resource in np.flatnonzero(np.isfinite(unit)).tolist():
            of_task = demands[:, :, resource] / unit[resource]
            room = self.instance.capacity[:, resource] / unit[resource] * (1 + ROOM / 2) * (1 - self.margin)
            for slot in range(self.instance.slots):
                for machine, high in enumerate(room.tolist()):
                    self._held(slot, machine, of_task, high)

    def _held(self, slot: int, machine: int, of_task: np.ndarray, high: float) -> None:
        columns, values = [], []
        for job, (of_worker, of_server) in zip(self.columns, of_task.tolist(), strict=True):
            row = slot - (self.instance.slots - len(job.slots))
            if row >= 0:
                for part, amount in (
                    (job.one_workers, of_worker), (job.workers, of_worker),
                    (job.one_servers, of_server), (job.servers, of_server),
                ):  # fmt: skip
                    columns.append(part[row, machine])
                    values.append(amount)
        if columns:
            self._row(columns, values, high=high)

    def _row(
        self, columns: Sequence[int] | Ints, values: Sequence[float] | float, low: float = -np.inf, high: float = np.inf
    ) -> None:
        if len(columns):
            self.milp.rows(np.zeros(len(columns), dtype=np.int64), columns, values, low=low, high=high)
