"""Throughput of asynchronous parameter-server training from a closed queueing network (HELL and KNEE, Section III).

Each of K workers has one mini-batch under way: worker (a delay of its own) -> uplink -> server -> downlink -> worker.
Mean value analysis goes through the populations n = 1..K. Unequal workers are in ``queueing_unequal``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt
from typing import Any, Literal, Self, get_args

import numpy as np
from pydantic import Field, ValidationError, model_validator

from dlsched.domain.errors import InputError, from_validation
from dlsched.domain.model import FrozenModel
from dlsched.domain.workload import Floats

Network = Literal["exact", "fcfs", "hybrid"]
Link = tuple[float, float, float]
"""Demand S of a link, its response time first come first served, and what sharing adds to that, all in seconds."""

NETWORKS: tuple[Network, ...] = get_args(Network)
"""exact: links share their bandwidth; fcfs: one transmission after the other; hybrid: in between, by utilisation."""
STATIONS = ("worker", "uplink", "server", "downlink")
MOST_WORKERS = 10_000
SHARED_FROM, SHARED_FULLY = 0.8, 1.0
"""Utilisation of a link at which transmissions begin to overlap, and from which on all share it (Eq. (4))."""
LARGEST_S, SMALLEST_SUM_S = 1e9, 1e-9


class StepTimes(FrozenModel):
    """Seconds of one mini-batch at each station, measured with one worker and one server.

    Each may be 0, not all of them. Made directly, bad times raise InputError.
    """

    worker_s: float = Field(ge=0, le=LARGEST_S, description="Computing a gradient at the worker, seconds.")
    uplink_s: float = Field(ge=0, le=LARGEST_S, description="Sending the gradient to the server, seconds.")
    server_s: float = Field(ge=0, le=LARGEST_S, description="Applying it at the server, seconds.")
    downlink_s: float = Field(ge=0, le=LARGEST_S, description="Sending the parameters back, seconds.")

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise from_validation("times of a mini-batch", error) from error

    @model_validator(mode="after")
    def _takes_time(self) -> Self:
        if sum(self.stations_s) < SMALLEST_SUM_S:
            raise ValueError(f"the four times must sum to {SMALLEST_SUM_S:g} s or more, got {sum(self.stations_s):g} s")
        return self

    @property
    def stations_s(self) -> tuple[float, float, float, float]:
        """The four times in the order of ``STATIONS``."""
        return self.worker_s, self.uplink_s, self.server_s, self.downlink_s

    def with_servers(self, servers: int) -> StepTimes:
        """Return the times with ``servers`` servers that split the parameters: links and server take 1/m (Section VII).

        What is left may be as short as it likes: only measured times have a smallest sum.
        """
        if servers == 1:
            return self
        uplink_s, server_s, downlink_s = (time_s / servers for time_s in self.stations_s[1:])
        return StepTimes.model_construct(
            worker_s=self.worker_s, uplink_s=uplink_s, server_s=server_s, downlink_s=downlink_s
        )


def throughput(times: StepTimes, workers: int, network: str, servers: int = 1) -> Floats:
    """Return mini-batches per second with 1..workers equal workers, shape (workers,).

    exact never passes ``bounds`` and never falls with more workers. Of hybrid that is not proven; searches over
    thousands of random times found no exception. fcfs does both at times: it is an approximation.

    Raises
    ------
    InputError
        An unknown network, or a number of workers or servers outside 1..MOST_WORKERS.
    """
    residence_s = residence_times(times, workers, network, servers)
    return np.asarray(np.arange(1, workers + 1) / residence_s.sum(axis=1))


def station_shares(times: StepTimes, workers: int, network: str, servers: int = 1) -> Floats:
    """Return the share of an iteration's time at each of ``STATIONS`` with 1..workers workers, shape (workers, 4).

    Waiting counts where it happens; each row sums to 1. Errors as in ``throughput``.
    """
    residence_s = residence_times(times, workers, network, servers)
    return np.asarray(residence_s / residence_s.sum(axis=1, keepdims=True))


def residence_times(times: StepTimes, workers: int, network: str, servers: int = 1) -> Floats:
    """Return mean seconds at each of ``STATIONS``, waiting included, with 1..workers workers, shape (workers, 4).

    From Q(n-1) and U(n-1) of a station: T = S (1 + Q) where work is shared and at the server (Eq. (1)),
    T = S (1 + Q - U/2) on a link that serves one after the other (Eq. (2)), on a link of the hybrid network a mixture
    of both by its utilisation at n (Eqs. (3), (4)). Errors as in ``throughput``.
    """
    check_network(network)
    check_count("workers", workers)
    check_count("servers", servers)
    worker, up, server, down = times.with_servers(servers).stations_s
    rows: list[tuple[float, float, float, float]] = []
    rate = queue_up = queue_server = queue_down = 0.0
    for population in range(1, workers + 1):
        at_server = server * (1.0 + queue_server)
        more_up, more_down = up * up * rate / 2, down * down * rate / 2
        first_up, first_down = up * (1.0 + queue_up) - more_up, down * (1.0 + queue_down) - more_down
        share_up = share_down = float(network == "exact")
        if network == "hybrid":
            links = ((up, first_up, more_up), (down, first_down, more_down))
            rate = hybrid_rate(population, worker + at_server, links)
            share_up, share_down = _shared(rate * up), _shared(rate * down)
        at_up, at_down = first_up + share_up * more_up, first_down + share_down * more_down
        rate = population / (worker + at_up + at_server + at_down)
        queue_up, queue_server, queue_down = rate * at_up, rate * at_server, rate * at_down
        rows.append((worker, at_up, at_server, at_down))
    return np.array(rows)


def hybrid_rate(population: int, elsewhere_s: float, links: Sequence[Link]) -> float:
    """Return the throughput X at which both links share as much as their utilisation X S at that X says.

    An iteration takes R(X) = elsewhere + sum over links of T_fcfs + g(X S) (T_shared - T_fcfs). R never falls with X,
    because g does not and sharing never is the faster; so X R(X) rises strictly from 0 without bound and equals the
    population at one X only, although the utilisations of two links are unknown. Between the utilisations at which a
    g has a bend, R is a + b X: the root of b X^2 + a X = n in the one piece that holds it, without iterations.
    """
    width = SHARED_FULLY - SHARED_FROM
    bends = sorted(at / demand for demand, _, more in links if more > 0 for at in (SHARED_FROM, SHARED_FULLY))
    low = 0.0
    for high in (*bends, inf):
        fixed, slope = elsewhere_s, 0.0
        for demand, first, more in links:
            fixed += first
            if more > 0 and low >= SHARED_FULLY / demand:
                fixed += more
            elif more > 0 and low >= SHARED_FROM / demand:
                fixed -= more * SHARED_FROM / width
                slope += more * demand / width
        if high == inf or high * (fixed + slope * high) >= population:
            break
        low = high
    root = sqrt(fixed * fixed + 4.0 * slope * population)
    return 2.0 * population / (fixed + root) if fixed > 0 else (root - fixed) / (2.0 * slope)


def _shared(utilisation: float) -> float:
    """Return g of Eq. (4), the weight of sharing."""
    return min(1.0, max(0.0, (utilisation - SHARED_FROM) / (SHARED_FULLY - SHARED_FROM)))


def node_rates(times: StepTimes, nodes: int, network: str, servers: int = 1, *, shared_server: bool = False) -> Floats:
    """Return the speed curve: mini-batches per second on 1..nodes nodes, shape (nodes,).

    One node is one worker with its server. On w >= 2 nodes ``servers`` nodes are servers, fewer where they would leave
    no worker, and the others workers; with ``shared_server`` every node has a worker and up to ``servers`` of them
    hold a server too. Errors as in ``throughput``.
    """
    check_count("nodes", nodes)
    check_count("servers", servers)
    one = throughput(times, 1, network)
    all_from = max(2, servers if shared_server else servers + 1)  # nodes from which on all servers are used
    few = [
        throughput(times, used if shared_server else 1, network, used if shared_server else used - 1)[-1]
        for used in range(2, min(all_from, nodes + 1))
    ]
    first_workers = all_from if shared_server else all_from - servers
    return np.concatenate([one, few, throughput(times, nodes, network, servers)[first_workers - 1 :]])[:nodes]


def bounds(times: StepTimes, workers: int, servers: int = 1) -> Floats:
    """Return asymptotic bounds min(n / sum of S, 1 / largest S of link or server) for n = 1..workers, shape (workers,).

    No network with these mean times does better, whatever the order of service. Errors as in ``throughput``.
    """
    check_count("workers", workers)
    check_count("servers", servers)
    demands = times.with_servers(servers).stations_s
    largest = max(demands[1:])
    without_queues = np.arange(1, workers + 1) / sum(demands)
    return np.minimum(without_queues, 1.0 / largest) if largest > 0 else without_queues


def bottleneck(times: StepTimes) -> str:
    """Return the one of ``STATIONS`` that limits many workers, the first of equal ones; workers never queue, so
    "worker" only where links and server take no time.
    """
    largest = max(times.stations_s[1:])
    return STATIONS[1 + times.stations_s[1:].index(largest)] if largest > 0 else STATIONS[0]


def check_network(network: str) -> None:
    """Raise InputError for a network that is not one of ``NETWORKS``."""
    if network not in NETWORKS:
        raise InputError(f"network {network!r:.60}", f"is not known; known: {', '.join(NETWORKS)}")


def check_count(what: str, count: int) -> None:
    """Raise InputError for a number of workers, servers or nodes outside 1..MOST_WORKERS."""
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 1 <= count <= MOST_WORKERS:
        why = f"must be a whole number from 1 to {MOST_WORKERS:,}, got {count!r:.60}"
        raise InputError(f"number of {what}", why, "Correct the number")
