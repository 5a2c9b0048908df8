"""Jobs that wait although there is room: a smaller machine, full, is cheaper than a larger one with idle GPUs."""

from __future__ import annotations

import numpy as np

from dlsched.domain.workload import Ints
from dlsched.policies.gpuaas.market_kernels.packing import compiled
from dlsched.policies.gpuaas.market_kernels.spread import LEAST_SAVING, bill
from dlsched.policies.gpuaas.market_kernels.tables import CLOSED, Market, Rules


@compiled
def hold_back(m: Market, rules: Rules) -> None:
    """Let jobs wait where a smaller machine, full, does without them, and they can spare the time.

    Where the machine of a node has idle GPUs, those jobs leave it that save most beyond what their GPUs cost at the
    lowest price, at which they run later; some find a node of their own for part of what that saves. Only those wait
    that have a due date, as nothing else ends their waiting, and, unless jobs may change, that have not begun.
    """
    if m.is_short[0]:
        return
    for node in range(len(m.kind)):
        if m.kind[node] < 0 or m.room[node] > 0:
            continue
        used = m.most[m.kind[node]] - m.free[node]
        if m.vm_gpus[m.kind[node], used - 1] > used:
            _leave(m, node, used, rules)


@compiled
def _leave(m: Market, node: int, used: int, rules: Rules) -> None:
    family, paid = m.kind[node], bill(m, node, 0)
    jobs = _patient(m, node, rules)
    leave, most, gpus = 0, LEAST_SAVING * paid, 0
    for k in range(len(jobs)):
        gpus += m.held[jobs[k]]
        if gpus == used:
            break
        saves = paid - bill(m, node, -gpus) - gpus * m.price[family]
        if saves > most:
            leave, most = k + 1, saves
    for job in jobs[:leave]:
        m.free[node] += m.held[job]
        m.node[job] = -1
    saved, fresh = paid - bill(m, node, 0), 0
    for job in jobs[:leave]:
        while fresh < len(m.kind) and m.kind[fresh] != CLOSED:
            fresh += 1
        own = m.bill[family, m.held[job] - 1]
        if fresh < len(m.kind) and own < saved:
            m.kind[fresh], m.free[fresh], m.node[job] = family, m.most[family] - m.held[job], fresh
            saved -= own
        else:
            m.held[job] = 0


@compiled
def _patient(m: Market, node: int, rules: Rules) -> Ints:
    """Return the jobs of a node that may wait, first those that can spare most time."""
    spare = np.full(len(m.node), -np.inf)
    for job in range(len(m.node)):
        if m.node[job] == node and np.isfinite(m.slack[job]) and (rules.mixing or not m.runs[job]):
            spare[job] = m.slack[job] - m.times[job, m.kind[node], m.held[job] - 1]
    jobs = np.flatnonzero(spare > rules.spare)
    return jobs[np.argsort(-spare[jobs], kind="mergesort")]
