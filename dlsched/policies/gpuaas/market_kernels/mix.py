"""The cheapest way to finish a job: one configuration, or a fast one first and a cheap one later."""

from __future__ import annotations

import numpy as np

from dlsched.domain.workload import Floats
from dlsched.policies.gpuaas.kernels.compiled import compiled
from dlsched.policies.gpuaas.market_kernels.tables import Market

IN_TIME = 1e-7
"""Ending later than this part of the run time is late; without it a switch would be put off for ever."""


@compiled
def list_configs(m: Market) -> None:
    """List each job's configurations by time; leave out those that take as long and cost as much at any price."""
    num_jobs, families, _ = m.times.shape
    for job in range(num_jobs):
        size = 0
        for family in range(families):
            for gpus in range(1, m.most[family] + 1):
                time = m.times[job, family, gpus - 1]
                if np.isfinite(time):
                    _insert(m, job, size, time, gpus, family)
                    size += 1
        kept = 0
        for k in range(size):
            if not _is_beaten(m, job, kept, k):
                _write(m, job, kept, m.time[job, k], m.gpus[job, k], m.family[job, k])
                kept += 1
        m.num_configs[job] = kept


@compiled
def _write(m: Market, job: int, k: int, time: float, gpus: int, family: int) -> None:
    m.time[job, k] = time
    m.gpus[job, k] = gpus
    m.family[job, k] = family


@compiled
def _insert(m: Market, job: int, size: int, time: float, gpus: int, family: int) -> None:
    k = size
    while k > 0 and m.time[job, k - 1] > time:
        _write(m, job, k, m.time[job, k - 1], m.gpus[job, k - 1], m.family[job, k - 1])
        k -= 1
    _write(m, job, k, time, gpus, family)


@compiled
def _is_beaten(m: Market, job: int, kept: int, k: int) -> bool:
    """Whether one of the ``kept`` faster ones needs no more GPU time in dollars and in parts of a node."""
    held, family = m.time[job, k] * m.gpus[job, k], m.family[job, k]
    for better in range(kept):
        by, of = m.time[job, better] * m.gpus[job, better], m.family[job, better]
        if by * m.price[of] <= held * m.price[family] and by * m.most[family] <= held * m.most[of]:
            return True
    return False


@compiled
def cheapest(m: Market, job: int, quote: Floats, slack: float, mixing: bool) -> tuple[float, int, int, float]:
    """Return the least cost of finishing a job at prices per GPU, what it does first, what later, and when.

    The cost of a mixture that takes T is the lower convex hull over (time, cost) at T, plus omega max(0, T - slack);
    it is convex in T, so walking the hull from its fast end until it rises finds the minimum.
    """
    size = _hull(m, job, quote) if mixing else 0
    if not mixing:
        return _single(m, job, quote, slack)
    weight, k = m.weight[job], 0
    while k + 1 < size:
        fast, slow = m.hull[k], m.hull[k + 1]
        here, there = m.time[job, fast], m.time[job, slow]
        saves = (m.cost[fast] - m.cost[slow]) / (there - here)
        if there > slack + IN_TIME * there and saves <= weight:
            if here < slack:
                share = (there - slack) / (there - here)
                cost = share * m.cost[fast] + (1.0 - share) * m.cost[slow]
                return cost, fast, slow, share * here
            break
        k += 1
    fast = m.hull[k]
    return m.cost[fast] + weight * max(0.0, m.time[job, fast] - slack), fast, -1, np.inf


@compiled
def _hull(m: Market, job: int, quote: Floats) -> int:
    """Put the lower left convex hull over (time, cost) into ``hull``, fastest first; return its size."""
    size = 0
    for k in range(m.num_configs[job]):
        time, cost = m.time[job, k], m.time[job, k] * m.gpus[job, k] * quote[m.family[job, k]]
        m.cost[k] = cost
        if size > 0 and cost >= m.cost[m.hull[size - 1]]:
            continue
        if size > 0 and time == m.time[job, m.hull[size - 1]]:
            size -= 1
        while size > 1:
            a, b = m.hull[size - 2], m.hull[size - 1]
            rise = (m.cost[b] - m.cost[a]) * (time - m.time[job, a])
            if rise < (cost - m.cost[a]) * (m.time[job, b] - m.time[job, a]):
                break
            size -= 1
        m.hull[size] = k
        size += 1
    return size


@compiled
def _single(m: Market, job: int, quote: Floats, slack: float) -> tuple[float, int, int, float]:
    best, least = -1, np.inf
    for k in range(m.num_configs[job]):
        late = max(0.0, m.time[job, k] - slack)
        cost = m.time[job, k] * m.gpus[job, k] * quote[m.family[job, k]] + m.weight[job] * late
        if cost < least:
            best, least = k, cost
    return least, best, -1, np.inf
