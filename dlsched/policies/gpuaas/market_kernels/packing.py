"""From what jobs want to which job runs where: best fit, room for those that wait, growth, idle GPUs."""

from __future__ import annotations

import numpy as np
from numba import njit

from dlsched.domain.workload import Ints
from dlsched.policies.gpuaas.market_kernels.tables import CLOSED, SHUT, Market

compiled = njit(nogil=True, error_model="numpy")
LEAST_GAIN = 1e-9


@compiled
def pack(m: Market) -> None:
    """Place the jobs that run, those with most GPUs first, then as many of the others as have room."""
    m.node[:] = -1
    m.held[:] = 0
    for node in range(len(m.room)):
        m.free[node] = max(m.room[node], 0)
        if m.room[node] <= 0:
            m.kind[node] = CLOSED if m.room[node] == 0 else SHUT
    for job in _by_size(m):
        _place(m, job)
    if m.is_short[0]:
        for job in _by_eagerness(m):
            _place(m, job)


@compiled
def _by_size(m: Market) -> Ints:
    """Return the jobs that run: most GPUs first, then those that lose most by waiting."""
    jobs = np.flatnonzero(m.choice >= 0)
    jobs = jobs[np.argsort(m.run_cost[jobs] - m.wait_cost[jobs], kind="mergesort")]
    wide = np.zeros(len(jobs), np.int64)
    for k in range(len(jobs)):
        wide[k] = -m.gpus[jobs[k], m.now[jobs[k]]]
    return jobs[np.argsort(wide, kind="mergesort")]


@compiled
def _by_eagerness(m: Market) -> Ints:
    """Return the jobs that wait and could run, least reluctant first: cost of running over cost of waiting."""
    jobs = np.flatnonzero((m.node < 0) & (m.num_configs > 0))
    return jobs[np.argsort(m.run_cost[jobs] / np.maximum(m.wait_cost[jobs], LEAST_GAIN), kind="mergesort")]


@compiled
def _place(m: Market, job: int) -> None:
    """Put a job on the fullest node with room for what it wants, a new node, or wherever it then costs least."""
    family, gpus = m.family[job, m.now[job]], m.gpus[job, m.now[job]]
    best, closed = -1, -1
    for node in range(len(m.kind)):
        if m.kind[node] == CLOSED:
            closed = node if closed < 0 else closed
        elif m.kind[node] == family and m.free[node] >= gpus and (best < 0 or m.free[node] < m.free[best]):
            best = node
    if best < 0 and closed >= 0:
        best, m.kind[closed], m.free[closed] = closed, family, m.most[family]
    if best < 0:
        best, gpus = _second_choice(m, job)
    if best >= 0:
        m.node[job], m.held[job] = best, gpus
        m.free[best] -= gpus


@compiled
def _second_choice(m: Market, job: int) -> tuple[int, int]:
    """Return the node and the GPUs with which a job costs least at the prices found; node -1 = no room."""
    best, gpus, least = -1, 0, np.inf
    for node in range(len(m.kind)):
        family = m.kind[node]
        for tried in range(1, m.free[node] + 1):
            cost = _cost(m, job, family, tried, m.price[family] + m.extra[family])
            if cost < least:
                best, gpus, least = node, tried, cost
    return best, gpus


@compiled
def _time(m: Market, job: int, family: int, gpus: int) -> float:
    """Return a job's run time; a node that stays may have more GPUs than any job can use."""
    if gpus > m.times.shape[2]:
        return np.inf
    return m.times[job, family, gpus - 1]


@compiled
def _cost(m: Market, job: int, family: int, gpus: int, price: float) -> float:
    time = _time(m, job, family, gpus)
    if not np.isfinite(time):
        return np.inf
    return time * gpus * price + m.weight[job] * max(0.0, time - m.slack[job])


@compiled
def grow(m: Market) -> None:
    """Give free GPUs to jobs whose own cost falls by it, largest saving per GPU first.

    While GPUs are short free ones are used if that saves anything; otherwise only those are given out that are
    paid anyway, to the job whose time falls most.
    """
    for node in range(len(m.kind)):
        if m.kind[node] < 0:
            continue
        jobs = np.flatnonzero(m.node == node)
        if len(jobs) == 0:
            continue
        if m.is_short[0]:
            _grow_for_cost(m, node, jobs)
        _grow_for_time(m, node, jobs)


@compiled
def _grow_for_cost(m: Market, node: int, jobs: Ints) -> None:
    family = m.kind[node]
    price = m.price[family]
    while m.free[node] > 0:
        chosen, more, most = -1, 0, LEAST_GAIN
        for job in jobs:
            cost = _cost(m, job, family, m.held[job], price)
            for added in range(1, m.free[node] + 1):
                saved = (cost - _cost(m, job, family, m.held[job] + added, price)) / added
                if saved > most:
                    chosen, more, most = job, added, saved
        if chosen < 0:
            return
        m.held[chosen] += more
        m.free[node] -= more


@compiled
def _grow_for_time(m: Market, node: int, jobs: Ints) -> None:
    family, used = m.kind[node], m.held[jobs].sum()
    paid = m.room[node] if m.room[node] > 0 else m.vm_gpus[family, used - 1]
    idle = paid - used
    while idle > 0:
        chosen, more, most = -1, 0, 0.0
        for job in jobs:
            time = m.times[job, family, m.held[job] - 1]
            for added in range(1, idle + 1):
                faster = time - _time(m, job, family, m.held[job] + added)
                if faster > most:
                    chosen, more, most = job, added, faster
        if chosen < 0:
            return
        m.held[chosen] += more
        m.free[node] -= more
        idle -= more


@compiled
def next_switch(m: Market) -> float:
    """Return when the first job that runs as it wanted to changes its configuration; infinity = never."""
    first = np.inf
    for job in range(len(m.node)):
        now, node = m.now[job], m.node[job]
        as_wanted = node >= 0 and m.held[job] == m.gpus[job, now] and m.kind[node] == m.family[job, now]
        if as_wanted and m.later[job] >= 0:
            first = min(first, m.span[job])
    return first
