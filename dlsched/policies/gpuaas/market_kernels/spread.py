"""Move jobs one by one to where they make the bill smaller, while there are GPUs enough."""

from __future__ import annotations

from dlsched.policies.gpuaas.kernels.compiled import compiled
from dlsched.policies.gpuaas.market_kernels.tables import CLOSED, Market

PASSES = 2
LEAST_SAVING = 1e-6
"""Part of a node's bill that a move must save, so that rounding moves no job."""


@compiled
def spread(m: Market) -> None:
    """Let jobs leave shared nodes where other nodes, open or new, cost less for them.

    Packing is tight so that no job is left without a node. Where machines with many GPUs have a price of their own,
    or two jobs need more than one machine holds and less than the next, it is not the cheapest.
    """
    if m.is_short[0]:
        return
    for _ in range(PASSES):
        for job in range(len(m.node)):
            if m.node[job] >= 0:
                _move(m, job)


@compiled
def _move(m: Market, job: int) -> None:
    here, gpus = m.node[job], m.held[job]
    family = m.kind[here]
    paid = bill(m, here, 0)
    best, most = -1, LEAST_SAVING * paid
    for node in range(len(m.kind)):
        is_closed = m.kind[node] == CLOSED
        if node == here or (not is_closed and (m.kind[node] != family or m.free[node] < gpus)):
            continue
        added = m.bill[family, gpus - 1] if is_closed else bill(m, node, gpus) - bill(m, node, 0)
        saves = paid - bill(m, here, -gpus) - added
        if saves > most:
            best, most = node, saves
        if is_closed:
            break  # closed nodes are all alike, and there are no open ones beyond
    if best >= 0:
        if m.kind[best] == CLOSED:
            m.kind[best], m.free[best] = family, m.most[family]
        m.node[job] = best
        m.free[best] -= gpus
        m.free[here] += gpus


@compiled
def bill(m: Market, node: int, more: int) -> float:
    """Return what a node costs with so many more GPUs in use; nodes that stay are paid anyway."""
    used = m.most[m.kind[node]] - m.free[node] + more
    if m.room[node] > 0 or used == 0:
        return 0.0
    return m.bill[m.kind[node], used - 1]
