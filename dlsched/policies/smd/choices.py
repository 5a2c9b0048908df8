"""From a waiting job to its inner problem, and the workers and servers that a method chooses within it.

All parts of a training step's time take their share of the steps that are left, so that the choice does not depend on
how many these are: the problem is of one step, and theta is in seconds. With the terms of
:mod:`dlsched.speed.parameter_server`, synchronous workers need T for a step and asynchronous ones T / w:

    sync   theta = worker_overhead, server_overhead, step, transfer, batch
    async  theta = worker_overhead, server_overhead, step + batch, transfer, less batch (1/w - 1/w^2)

Eq. 10 of the study has no part that asynchronous workers share, so :class:`SharedBatch` takes back what theta has too
much. The seconds a step takes longer on several nodes are not counted: the study knows no nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.state import State
from dlsched.domain.workload import Floats
from dlsched.placement.rules import ROOM_TOLERANCE
from dlsched.policies.shared.facts import JobFacts
from dlsched.policies.smd.problem import MOST_COUNT, NO_LIMIT_COUNT, WITHIN, Choice, Number, Split
from dlsched.policies.smd.split import SAME
from dlsched.speed.parameter_server import StepTerms

Choose = Callable[[Split, np.random.Generator], Choice]
"""A method: from an inner problem to workers and servers, which need not keep to the job's own widths."""
Asked = tuple[Sequence[float], Sequence[float], Sequence[float], int | None, int | None]
"""What a problem asks besides its times: demand of a worker and of a server, limit, most workers, most servers."""
WHOLE = 1e-9


@dataclass(frozen=True)
class SharedBatch(Split):
    """An asynchronous job with ``batch_s`` of each step shared by the workers, which theta3 counts whole."""

    batch_s: float = 0.0

    def varying_time(self, workers: Number, servers: Number) -> Number:
        """Return the time without ``fixed_time``: Eq. 10 with batch_s / w^2 instead of batch_s / w."""
        whole: Number = super().varying_time(workers, servers)
        return whole - self.batch_s * (1 / workers - 1 / workers**2)


class Widths(NamedTuple):
    """What a job may have besides its limit: at least ``fewest`` workers, at most ``per_server`` to a server."""

    fewest: int = 1
    per_server: float = math.inf

    def servers_needed(self, workers: int) -> int:
        """Return the fewest servers for so many workers."""
        return max(1, math.ceil(workers / self.per_server - WHOLE))

    def allow(self, workers: int, servers: int) -> bool:
        """Whether so many workers and servers may be together."""
        return workers >= self.fewest and servers >= self.servers_needed(workers)


class Gang(NamedTuple):
    """What is chosen for a job: workers, servers, and the seconds from step to step on the nodes it may use."""

    workers: int
    servers: int
    step_s: float


class Ask(NamedTuple):
    """A job that could run: its problem of one step, its widths, and the speed of the slowest node it may use."""

    problem: Split
    widths: Widths
    speed: float

    def gang(self, workers: int, servers: int) -> Gang:
        """Return so many workers and servers with their time."""
        return Gang(workers, servers, self.problem.time_of(workers, servers) / self.speed)


class ChoiceBook:
    """The gang of every job that was looked at, worked out again when nodes come or go."""

    def __init__(self, choose: Choose, facts: JobFacts, *, is_exact: bool) -> None:
        self._choose, self._facts, self._is_exact = choose, facts, is_exact
        self._found: dict[int, tuple[Ask, Gang] | None] = {}
        self._terms: StepTerms | None = None
        self._up = b""

    def update(self, state: State) -> None:
        """Take in the rows submitted and the nodes that changed since the last call; after the facts did."""
        up = state.nodes.up.tobytes()
        if up != self._up:
            self._found.clear()
            self._up = up
        if self._terms is None or len(self._terms.step_s) < len(state.jobs):
            self._terms = StepTerms.of(state.jobs)

    def of(self, state: State, row: int) -> tuple[Ask, Gang] | None:
        """Return what a row asks and the gang chosen for it; None if the nodes that are up cannot hold one."""
        if row not in self._found:
            ask = self._ask(state, row, state.nodes.up)
            self._found[row] = None if ask is None else (ask, self._chosen(ask, state.rng))
        return self._found[row]

    def could_ever(self, state: State, row: int) -> bool:
        """Whether some gang would be within the row's limit if all nodes were up."""
        return self._ask(state, row, np.ones_like(state.nodes.up)) is not None

    def _chosen(self, ask: Ask, rng: np.random.Generator) -> Gang:
        choice = self._choose(ask.problem, rng)
        workers, servers = choice.workers, choice.servers
        if not ask.widths.allow(workers, servers):
            workers, servers = best_allowed(ask) if self._is_exact else near_allowed(ask, workers, servers)
        return ask.gang(workers, servers)

    def _ask(self, state: State, row: int, there: NDArray[np.bool_]) -> Ask | None:
        """Return the problem of a row on those nodes that are there; None if its smallest gang exceeds it."""
        jobs, nodes = state.jobs, state.nodes
        usable = there & self._facts.kind(row).allowed(nodes)
        capacity = nodes.capacity[usable]
        demand, of_server = jobs.demand[row], jobs.server_demand[row]
        limit = np.minimum(jobs.limit[row], capacity.sum(axis=0))
        fewest, most = (int(bound[0]) for bound in state.width_limits(np.array([row])))
        per_server = math.nan if jobs.workers_per_server is None else float(jobs.workers_per_server[row])
        widths = Widths(fewest, math.inf if math.isnan(per_server) else per_server)
        servers = widths.servers_needed(fewest)
        most_workers, most_servers = min(most, _room(capacity, demand)), _room(capacity, of_server)
        if fewest > most_workers or servers > most_servers:
            return None
        if (fewest * demand + servers * of_server > limit * (1 + WITHIN)).any():
            return None
        asked = demand.tolist(), of_server.tolist(), limit.tolist(), most_workers, most_servers
        if self._terms is None:
            raise RuntimeError("the book was not updated")
        return Ask(step_problem(state.updates, self._terms, row, asked), widths, float(nodes.speed[usable].min()))


def step_problem(updates: str, terms: StepTerms, row: int, asked: Asked, resources: Sequence[str] = ()) -> Split:
    """Return the problem of one training step of a row; ``resources`` are names for messages."""
    per_worker, per_server = float(terms.worker_overhead_s[row]), float(terms.server_overhead_s[row])
    step_s, transfer_s, batch_s = (float(t[row]) for t in (terms.step_s, terms.transfer_s, terms.batch_s))
    if updates == "sync":
        return Split("sync", (per_worker, per_server, step_s, transfer_s, batch_s), *asked, resources)
    theta = (per_worker, per_server, step_s + batch_s, transfer_s)
    if batch_s:
        return SharedBatch("async", theta, *asked, resources, batch_s=batch_s)
    return Split("async", theta, *asked, resources)


def best_allowed(ask: Ask) -> tuple[int, int]:
    """Return the workers and servers with the least time that limit and widths allow; ties as in ``split.exact``.

    Beside each number of servers, sync time has one valley in the workers, and async time falls with every worker.
    """
    problem, widths = ask.problem, ask.widths
    servers = np.arange(1.0, problem.servers_most + 1)
    most = np.minimum(problem.workers_beside(servers), np.floor(widths.per_server * servers + WHOLE))
    servers, most = servers[most >= widths.fewest], most[most >= widths.fewest]
    low, high = np.full_like(most, widths.fewest), most
    if problem.mode == "sync":
        per_worker, _, _, ratio, shared = problem.theta
        with np.errstate(divide="ignore"):  # nothing grows with the workers: as many as may be
            valley = np.sqrt(shared / (per_worker + ratio / servers)) if shared else np.zeros_like(most)
        low, high = np.clip(np.floor(valley), low, most), np.clip(np.ceil(valley), low, most)
    workers, beside = np.concatenate((low, high)), np.tile(servers, 2)
    times = problem.varying_time(workers, beside)
    ties = np.flatnonzero(times <= times.min() * (1 + SAME))
    best = ties[np.lexsort((beside[ties], workers[ties]))[0]]
    return int(workers[best]), int(beside[best])


def near_allowed(ask: Ask, workers: int, servers: int) -> tuple[int, int]:
    """Return what limit and widths allow near to these: servers are added, then workers left out."""
    problem, widths = ask.problem, ask.widths
    for fewer in range(min(max(workers, widths.fewest), problem.workers_most), widths.fewest - 1, -1):
        needed = widths.servers_needed(fewer)
        for beside in (max(servers, needed), needed):
            if problem.feasible(fewer, beside):
                return fewer, beside
    raise ValueError("the smallest gang exceeds the limit")


def smaller(widths: Widths, workers: int, servers: int) -> Iterator[tuple[int, int]]:
    """Yield smaller and smaller gangs, one worker or server less each: of what there is more of, while allowed."""
    while True:
        spare = servers > widths.servers_needed(workers)
        if workers > widths.fewest and (workers >= servers or not spare):
            workers -= 1
        elif spare:
            servers -= 1
        else:
            return
        yield workers, servers


def _room(capacity: Floats, demand: Floats) -> int:
    """Return how many parts with this demand empty nodes (nodes, resources) hold, node by node."""
    asked = demand > 0
    if not asked.any():
        return NO_LIMIT_COUNT if len(capacity) else 0
    each = np.floor((capacity[:, asked] + ROOM_TOLERANCE) / demand[asked]).min(axis=1)
    return int(min(each.sum(), MOST_COUNT))
