"""Throughput with unequal workers: mean value analysis over all subsets of them (HELL and KNEE, Section III-B).

The population of a closed network of K classes with one mini-batch each is a subset of the workers; it is written as
a number whose bit k stands for worker k. Subsets of one size follow from those one smaller, all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats
from dlsched.speed.queueing import SHARED_FROM, SHARED_FULLY, StepTimes, check_count, check_network

MOST_UNEQUAL = 12
HALVINGS = 34
"""Steps of each bisection: the weight of sharing is found to 1e-10."""
UP, SERVER, DOWN = range(3)
Bools = NDArray[np.bool_]


def unequal_throughput(times: Sequence[StepTimes], network: str, servers: int = 1) -> Floats:
    """Return mini-batches per second of all workers together with the first 1..K of them, shape (K,).

    exact: Eq. (1) for each class, which is exact where links and server are shared, or all server times equal (a
    server that takes one after the other has no product form otherwise). fcfs: Eq. (2). hybrid: their mixture by the
    total utilisation of the link. With equal workers the answers are those of ``throughput``.

    Raises
    ------
    InputError
        No worker or more than MOST_UNEQUAL, an unknown network, servers outside 1..MOST_WORKERS.
    """
    check_network(network)
    check_count("servers", servers)
    if not 1 <= len(times) <= MOST_UNEQUAL:
        why = f"must be from 1 to {MOST_UNEQUAL}, because all subsets are enumerated, got {len(times)}"
        raise InputError("number of unequal workers", why, "Give equal workers one time at each station")
    seconds = np.array([own.with_servers(servers).stations_s for own in times])
    delay_s, demand_s = seconds[:, 0], seconds[:, 1:]
    workers = len(times)
    ahead = np.zeros((1 << workers, 3))  # of each subset: sum over its workers of Q at each station
    first_s = np.zeros((1 << workers, 3))  # sum of S (Q - U/2), the wait where one is served after the other
    total = np.zeros(1 << workers)
    size = np.bitwise_count(np.arange(1 << workers))
    bits = 1 << np.arange(workers)
    for population in range(1, workers + 1):
        sets = np.flatnonzero(size == population)
        inside = (sets[:, None] & bits) > 0
        others = np.where(inside, sets[:, None] ^ bits, 0)
        shared = demand_s * (1.0 + ahead[others])
        first = demand_s + first_s[others]
        first[..., SERVER] = shared[..., SERVER]
        if network == "exact":
            first = shared  # not as first + (shared - first): the digits of a quick worker would be lost
        level = _Level(inside, delay_s, demand_s, first, shared - first)
        weight = np.full((len(sets), 2), float(network == "exact"))
        if network == "hybrid":
            weight = level.weights()
        rate, residence_s = level.rates(weight)
        queue = rate[..., None] * residence_s
        ahead[sets] = queue.sum(axis=1)
        first_s[sets] = (demand_s * (queue - rate[..., None] * demand_s / 2)).sum(axis=1)
        total[sets] = rate.sum(axis=1)
    return np.asarray(total[(1 << np.arange(1, workers + 1)) - 1])


class _Level:
    """All subsets of one size: ``inside`` (subsets, K); times of each worker there, first come first served and what
    sharing adds, (subsets, K, 3).
    """

    def __init__(self, inside: Bools, delay_s: Floats, demand_s: Floats, first: Floats, more: Floats) -> None:
        self.inside, self.first, self.more = inside, first, more
        self.link_s = demand_s[:, [UP, DOWN]]
        self.iteration_s = delay_s + first.sum(axis=-1)

    def rates(self, weight: Floats) -> tuple[Floats, Floats]:
        """Return the throughput of each worker (subsets, K) and its residence times (subsets, K, 3)."""
        added_s = np.zeros_like(self.more)
        added_s[..., [UP, DOWN]] = weight[:, None, :] * self.more[..., [UP, DOWN]]
        return self.inside / (self.iteration_s + added_s.sum(axis=-1)), self.first + added_s

    def weights(self) -> Floats:
        """Return weights of sharing g (subsets, 2) of uplink and downlink that agree with the utilisations they give.

        Bisection on the downlink's, and for each on the uplink's; both sides differ in sign at 0 and at 1, so that
        each bisection ends at a root. With equal workers it is the only one (``queueing.hybrid_rate``). Where one
        sends far longer than another there can be several, because the quick one gains by sharing; what is returned
        is then always the same one, not the only possible answer.
        """

        def both(down: Floats) -> Floats:
            fixed_s = self.iteration_s + down[:, None] * self.more[..., DOWN]
            up = _bisect(lambda up: self._wanted(fixed_s, up)[:, 0], len(down))
            return np.column_stack([up, self._wanted(fixed_s, up)[:, 1]])

        down = _bisect(lambda down: both(down)[:, 1], len(self.inside))
        return np.column_stack([both(down)[:, 0], down])

    def _wanted(self, fixed_s: Floats, up: Floats) -> Floats:
        """Return g (subsets, 2) of the utilisations, given iterations without sharing on the uplink."""
        used = (self.inside / (fixed_s + up[:, None] * self.more[..., UP])) @ self.link_s
        return np.clip((used - SHARED_FROM) / (SHARED_FULLY - SHARED_FROM), 0.0, 1.0)


def _bisect(wanted: Callable[[Floats], Floats], count: int) -> Floats:
    """Return x in [0, 1] with x = wanted(x), for ``count`` equations at once."""
    low, high = np.zeros(count), np.ones(count)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        above = middle < wanted(middle)
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return (low + high) / 2
