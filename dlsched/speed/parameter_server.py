"""Training with parameter servers: steps per second of w workers and p servers (SMD, Eqs. 4, 5; PD-ORS, Eq. 1).

One step takes

    T(w, p) = batch_s / w + step_s + transfer_s w / p + worker_overhead_s w + server_overhead_s p + spread_s

with ``spread_s`` only where workers and servers are on several nodes. Synchronous workers make one step together, 1 / T
steps per second; asynchronous ones each their own, w / T. A column that is missing counts as 0.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.workload import STEP_TERMS, Floats, Ints, Workload
from dlsched.speed.scaling import slowest

WIDEST = 1_000
"""Most workers of a job that states neither a largest width nor a limit."""
MANY = 1e12
"""Servers that stand for any number: more of them bring nothing that can be told."""
MOST_WORKERS = 100_000
"""Most workers of a job, whatever it states beyond its request: tables over all widths stay small."""


@dataclass(frozen=True, eq=False)
class StepTerms:
    """Seconds per step, each of shape (jobs,); see the head of the module."""

    batch_s: Floats
    step_s: Floats
    transfer_s: Floats
    worker_overhead_s: Floats
    server_overhead_s: Floats
    spread_s: Floats

    @classmethod
    def of(cls, jobs: Workload) -> Self:
        """Return the terms of all jobs."""
        zero = np.zeros(len(jobs))
        columns = {name: getattr(jobs, name) for name in STEP_TERMS}
        return cls(**{name: zero if values is None else values for name, values in columns.items()})

    def step_time_s(self, rows: Ints, workers: Ints, servers: Ints, *, spread: bool = False) -> Floats:
        """Return T, shape of ``rows``; at least 1 worker and 1 server."""
        w, p = np.asarray(workers, dtype=float), np.asarray(servers, dtype=float)
        own = self.batch_s[rows] / w + self.step_s[rows] + self.transfer_s[rows] * w / p
        overhead = self.worker_overhead_s[rows] * w + self.server_overhead_s[rows] * p
        return np.asarray(own + overhead + (self.spread_s[rows] if spread else 0.0))


@dataclass(frozen=True, eq=False)
class ParameterServer:
    """The speed of jobs with parameter servers; a reference gang sits on one node."""

    jobs: Workload
    terms: StepTerms
    synchronous: bool
    speeds: tuple[float, ...] = ()

    @classmethod
    def of(cls, jobs: Workload, *, synchronous: bool, speeds: tuple[float, ...] = ()) -> Self:
        """Return the speed of these jobs; InputError where a job has no servers or its steps take no time."""
        terms = StepTerms.of(jobs)
        if jobs.servers is None or (jobs.servers < 1).any():
            row = 0 if jobs.servers is None else int(np.flatnonzero(jobs.servers < 1)[0])
            raise InputError(
                f"job {jobs.job_id[row]!r}",
                "has no parameter servers, but the speed model needs at least one",
                "Fill in the column servers or choose another speed model",
            )
        rows = np.arange(len(jobs))
        idle = np.flatnonzero(~(terms.step_time_s(rows, jobs.workers, jobs.servers) > 0))
        if idle.size:
            raise InputError(
                f"job {jobs.job_id[idle[0]]!r}",
                "has a step time of 0 s: the columns batch_s to server_overhead_s are empty or 0",
                "Fill them in or choose another speed model",
            )
        return cls(jobs, terms, synchronous, speeds)

    def limits(self) -> tuple[Ints, Ints]:
        """Return the workload's own limits, else 1 and what the user's limit holds beside one server."""
        return self._limits

    @cached_property
    def _limits(self) -> tuple[Ints, Ints]:
        jobs = self.jobs
        smallest = np.ones(len(jobs), dtype=np.int64) if jobs.min_workers is None else jobs.min_workers
        if jobs.max_workers is not None:
            return smallest, np.maximum(np.minimum(jobs.max_workers, MOST_WORKERS), jobs.workers)
        within = most_workers(jobs, np.ones(len(jobs), dtype=np.int64))
        return smallest, np.maximum(np.where(within >= WIDEST, np.maximum(WIDEST, jobs.workers), within), jobs.workers)

    def legal(self, row: int, workers: int, servers: int) -> bool:
        """Whether width, servers for so many workers, and the user's limit allow it."""
        smallest, largest = self._limits
        if not (smallest[row] <= workers <= largest[row] and servers >= 1):
            return False
        ratio = self.jobs.workers_per_server
        if ratio is not None and servers * ratio[row] < workers - 1e-9:  # NaN: any
            return False
        return bool((held(self.jobs, row, workers, servers) <= self.jobs.limit[row] * (1 + 1e-9)).all())

    def rate(self, row: int, workers: int, servers: int, vms: Collection[int], nodes: int = 1) -> float:
        """Return steps per second on so many nodes, times the slowest machine type's speed; 0 where not legal."""
        if not self.legal(row, workers, servers):
            return 0.0
        one = np.array([row])
        time_s = float(self.terms.step_time_s(one, np.array([workers]), np.array([servers]), spread=nodes > 1)[0])
        return (1 if self.synchronous else workers) / time_s * slowest(self.speeds, vms)

    def rates(self, rows: Ints, workers: Ints) -> Floats:
        """Return steps per second with the servers that go with each width, on one node of speed 1."""
        rows, width = np.asarray(rows), np.asarray(workers)
        servers = np.maximum(self.jobs.servers_for(rows, width), 1)
        smallest, largest = self._limits
        legal = (width >= smallest[rows]) & (width <= largest[rows])
        amount = self.jobs.demand[rows] * width[..., None] + self.jobs.server_demand[rows] * servers[..., None]
        legal &= (amount <= self.jobs.limit[rows] * (1 + 1e-9)).all(axis=-1)
        safe = np.maximum(width, 1)
        steps = np.where(self.synchronous, 1.0, safe) / self.terms.step_time_s(rows, safe, servers)
        return np.where(legal, steps, 0.0)

    def rates_on(self, rows: Ints, workers: Ints, vm: int) -> Floats:
        """Return the rates on one node of one machine type."""
        return self.rates(rows, workers) * self.speeds[vm]

    def least_times_s(self, row: int) -> tuple[float, float]:
        """Return the least seconds between two steps and the least worker-seconds of a step that any legal gang needs.

        On one node of speed 1; whatever servers go with a width. Beside w workers the time has one valley in the
        servers, at sqrt(transfer_s w / server_overhead_s). Both infinite where no gang is legal.
        """
        jobs, terms = self.jobs, self.terms
        width = np.arange(self._limits[0][row], self._limits[1][row] + 1).astype(float)
        ratio = np.nan if jobs.workers_per_server is None else jobs.workers_per_server[row]
        fewest = np.maximum(1.0, 0.0 if np.isnan(ratio) else np.ceil(width / ratio - 1e-9))
        most = self._most_servers(row, width)
        with np.errstate(divide="ignore", invalid="ignore"):
            valley = np.nan_to_num(np.sqrt(terms.transfer_s[row] * width / terms.server_overhead_s[row]), nan=1.0)
        step_s = np.full(len(width), np.inf)
        for servers in (np.floor(valley), np.ceil(valley)):
            beside = np.clip(servers, fewest, np.maximum(most, fewest))
            safe = np.minimum(beside, MANY)
            step_s = np.minimum(step_s, terms.step_time_s(np.array([row]), width, safe))
        step_s = np.where(most >= fewest, step_s, np.inf)
        between_s = step_s if self.synchronous else step_s / width
        return float(between_s.min(initial=np.inf)), float((between_s * width).min(initial=np.inf))

    def _most_servers(self, row: int, width: Floats) -> Floats:
        """Return the most servers that the user's limit holds beside these widths; -1 where it does not hold them."""
        left = self.jobs.limit[row] * (1 + 1e-9) - width[:, None] * self.jobs.demand[row]
        of_server = self.jobs.server_demand[row]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(of_server > 0, np.floor(left / of_server + 1e-9), np.inf).min(axis=1)
        return np.where((left >= 0).all(axis=1), room, -1.0)

    def fastest(self) -> Floats:
        """Return the largest rate over the widths, with the servers that go with each."""
        smallest, largest = self._limits
        best = np.zeros(len(self.jobs))
        for row, (low, high) in enumerate(zip(smallest, largest, strict=True)):
            widths = np.arange(low, high + 1)
            best[row] = self.rates(np.full(len(widths), row), widths).max(initial=0.0)
        return best


def held(jobs: Workload, row: int, workers: int, servers: int) -> Floats:
    """Return what a gang of one job holds, shape (resources,)."""
    return np.asarray(workers * jobs.demand[row] + servers * jobs.server_demand[row])


def most_workers(jobs: Workload, servers: Ints) -> Ints:
    """Return the most workers that the user's limit holds beside these servers, at most 10^9, shape (jobs,)."""
    left = jobs.limit - jobs.server_demand * np.asarray(servers)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(jobs.demand > 0, np.floor(left / jobs.demand * (1 + 1e-12) + 1e-9), np.inf)
    room = np.where((left < -1e-9) & (jobs.demand <= 0), 0.0, room)
    return np.asarray(np.clip(room.min(axis=1), 0, 10**9), dtype=np.int64)
