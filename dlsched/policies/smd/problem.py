"""The inner problem of SMD (Eqs. 6 to 10 of the paper): how many workers and servers one job uses within its limit.

Every core of this family takes a :class:`Split` and returns a :class:`Choice`. Symbols of the paper: theta = theta,
O = worker_demand, G = server_demand, v = limit, w = workers, p = servers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar, get_args

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats, Ints

Mode = Literal["sync", "async"]
MODES: tuple[Mode, ...] = get_args(Mode)
NUM_THETA = {"sync": 5, "async": 4}

NO_LIMIT_COUNT = 1_000
"""The most workers, and the most servers, of a job whose limit leaves them open."""
MOST_COUNT = 100_000
SMALLEST, LARGEST = 1e-30, 1e30
"""Positive numbers in a problem are within these, so that no time overflows."""
WITHIN = 1e-9
"""A limit is kept up to this relative error, so that three workers of 0.1 fit into 0.3."""

Number = TypeVar("Number", float, Floats)


@dataclass(frozen=True, slots=True)
class Choice:
    """Workers and servers of a job, and the time it takes with them, in the unit of theta."""

    workers: int
    servers: int
    time: float


@dataclass(frozen=True)
class Split:
    """Workers and servers of one job: minimise its time, at least one of each, within its limit on each of R resources.

    Time with w workers and p servers, in the unit of theta:
    sync (Eq. 9)    theta1 w + theta2 p + theta3 + theta4 w/p + theta5/w
    async (Eq. 10)  theta1 + theta2 p/w + theta3/w + theta4/p

    theta           5 numbers for sync, 4 for async; 0 or more, one of them positive
    worker_demand   (R,) what a worker asks of each resource; 0 or more
    server_demand   (R,) what a server asks
    limit           (R,) what the job may use in all; infinite = no limit
    most_workers    the most workers, besides the limit; None: the limit alone decides, or NO_LIMIT_COUNT without one
    most_servers    the same for servers
    resources       (R,) names for messages; numbered where not given

    Raises InputError when a number is outside its range, a length is wrong, one worker and one server exceed the limit,
    or more than MOST_COUNT workers or servers would be possible.
    """

    mode: Mode
    theta: Sequence[float]
    worker_demand: Sequence[float]
    server_demand: Sequence[float]
    limit: Sequence[float]
    most_workers: int | None = None
    most_servers: int | None = None
    resources: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("theta", "worker_demand", "server_demand", "limit"):
            object.__setattr__(self, name, tuple(map(float, getattr(self, name))))
        object.__setattr__(self, "resources", tuple(self.resources))
        if self.mode not in MODES:
            raise InputError("mode", f"must be one of {', '.join(MODES)}, got {self.mode!r}")
        self._check_lengths()
        self._check_numbers()
        self._check_one_of_each()
        for name, most in (("workers", self.workers_most), ("servers", self.servers_most)):
            if most > MOST_COUNT:
                raise InputError("limit", f"allows more than {MOST_COUNT:,} {name}", f"Give most_{name}")

    @cached_property
    def rows(self) -> Floats:
        """The finite constraints a w + b p <= c as rows (a, b, c): the limits, then the counts that were given."""
        demands = zip(self.worker_demand, self.server_demand, self.limit, strict=True)
        rows = [(a, b, c) for a, b, c in demands if c < math.inf and (a > 0 or b > 0)]
        most_workers = self.most_workers or (None if any(a > 0 for a, _, _ in rows) else NO_LIMIT_COUNT)
        most_servers = self.most_servers or (None if any(b > 0 for _, b, _ in rows) else NO_LIMIT_COUNT)
        if most_workers:
            rows.append((1.0, 0.0, most_workers))
        if most_servers:
            rows.append((0.0, 1.0, most_servers))
        return np.array(rows, dtype=float)

    @cached_property
    def workers_most(self) -> int:
        """The most workers that fit beside one server."""
        return int(self.workers_beside(np.ones(1))[0])

    @cached_property
    def servers_most(self) -> int:
        """The most servers that fit beside one worker."""
        return int(_most_beside(self.rows[:, [1, 0, 2]], np.ones(1))[0])

    @property
    def assumed(self) -> tuple[str, ...]:
        """What was taken because nothing limits it, as sentences."""
        finite = [resource for resource, most in enumerate(self.limit) if most < math.inf]
        kinds = (
            ("workers", self.most_workers, self.worker_demand),
            ("servers", self.most_servers, self.server_demand),
        )
        return tuple(
            f"Nothing limits the {name}: {NO_LIMIT_COUNT:,} is used as the limit."
            for name, most, demand in kinds
            if most is None and not any(demand[resource] > 0 for resource in finite)
        )

    @property
    def fixed_time(self) -> float:
        """The part of the time that neither workers nor servers change: theta3 of sync, theta1 of async."""
        return self.theta[2] if self.mode == "sync" else self.theta[0]

    def time_of(self, workers: float, servers: float) -> float:
        """Return the time with these workers and servers, which need not be whole; inside or outside the limit."""
        return self.fixed_time + self.varying_time(workers, servers)

    def varying_time(self, workers: Number, servers: Number) -> Number:
        """Return the time without ``fixed_time``, of single numbers or of arrays."""
        if self.mode == "sync":
            per_worker, per_server, _, ratio, shared = self.theta
            return per_worker * workers + per_server * servers + ratio * (workers / servers) + shared / workers
        _, ratio, per_worker, per_server = self.theta
        return ratio * (servers / workers) + per_worker / workers + per_server / servers

    def feasible(self, workers: float, servers: float) -> bool:
        """Tell whether there is one of each at least and they keep the limit and the most that was given."""
        used = self.rows[:, 0] * workers + self.rows[:, 1] * servers
        return workers >= 1 and servers >= 1 and bool((used <= self.rows[:, 2] * (1 + WITHIN)).all())

    def exceeded(self, workers: float, servers: float) -> tuple[str, ...]:
        """Return the resources of which these workers and servers ask more than the limit."""
        demands = zip(self.worker_demand, self.server_demand, self.limit, strict=True)
        over = (a * workers + b * servers > c * (1 + WITHIN) for a, b, c in demands)
        return tuple(self._name(resource) for resource, is_over in enumerate(over) if is_over)

    def workers_beside(self, servers: Floats) -> Ints:
        """Return the most workers that fit beside each of these numbers of servers; below 1 where none fits."""
        return _most_beside(self.rows, servers)

    def grid(self, most_workers: int = 20, most_servers: int = 20) -> Floats:
        """Return the time by workers (rows, from 1) and servers (columns, from 1), NaN where they do not fit.

        As far as anything fits, at most ``most_workers`` x ``most_servers``.
        """
        servers = np.arange(1.0, min(self.servers_most, most_servers) + 1)
        workers = np.arange(1.0, min(self.workers_most, most_workers) + 1)[:, None]
        times = self.fixed_time + self.varying_time(workers, servers)
        return np.where(workers <= self.workers_beside(servers), times, np.nan)

    def _name(self, resource: int) -> str:
        return self.resources[resource] if self.resources else f"resource {resource + 1}"

    def _check_lengths(self) -> None:
        wanted = NUM_THETA[self.mode]
        if len(self.theta) != wanted:
            raise InputError("theta", f"must have {wanted} numbers for {self.mode} training, got {len(self.theta)}")
        for name in ("worker_demand", "server_demand", "resources"):
            length = len(getattr(self, name))
            if length != len(self.limit) and not (name == "resources" and length == 0):
                why = f"must have {len(self.limit)} entries, one for each resource of limit, got {length}"
                raise InputError(name, why, "Give one entry for each resource")

    def _check_numbers(self) -> None:
        for name in ("theta", "worker_demand", "server_demand", "limit"):
            for place, value in enumerate(getattr(self, name)):
                good = value == 0 or SMALLEST <= value <= LARGEST or (name == "limit" and value == math.inf)
                if not good:
                    what = f"{name}{place + 1}" if name == "theta" else f"{name} of {self._name(place)}"
                    rule = f"must be 0 or within {SMALLEST:g} and {LARGEST:g}"
                    do = "Write an infinite limit where there is none" if name == "limit" else ""
                    raise InputError(what, f"{rule}, got {value:g}", do)
        if not any(self.theta):
            raise InputError("theta", "must have a positive entry, got zeros only", "Every job must take some time")
        for name in ("most_workers", "most_servers"):
            most = getattr(self, name)
            if most is not None and not 1 <= most <= MOST_COUNT:
                raise InputError(name, f"must be within 1 and {MOST_COUNT:,}, got {most:,}")

    def _check_one_of_each(self) -> None:
        if over := self.exceeded(1, 1):
            resource = [self._name(place) for place in range(len(self.limit))].index(over[0])
            asked = self.worker_demand[resource] + self.server_demand[resource]
            why = f"one worker and one server need {asked:g} together; the limit is {self.limit[resource]:g}"
            raise InputError(over[0], why, "Raise the limit of the job or request less")


def _most_beside(rows: Floats, others: Floats) -> Ints:
    """Return the largest whole x with a x + b other <= c in every row (a, b, c), for each of ``others``.

    Below 1 where no x >= 1 will do. Agrees to the last digit with the test of ``Split.feasible``.
    """
    a, b, c = rows[:, 0, None], rows[:, 1, None], rows[:, 2, None] * (1 + WITHIN)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        room = (c - b * others) / a  # rows without a: infinite, or not a number where they are just full
    counts = np.floor(np.where(a > 0, room, np.where(b * others <= c, np.inf, 0.0)).min(axis=0))
    counts = np.clip(counts, 0.0, 2.0 * MOST_COUNT)
    # Rounding in the division may be off by one either way.
    counts += (a * (counts + 1) + b * others <= c).all(axis=0)
    counts -= ~(a * counts + b * others <= c).all(axis=0)
    return np.asarray(counts, dtype=np.int64)
