"""What machines cost, and which job pays which part of it.

A node's bill is price x time it is billed. At each instant the jobs on it share the price in proportion to the GPUs
they hold there; where no GPU is in use (CPU nodes, CPU jobs) in proportion to their dominant resource; where none of
that is held (parameter servers without a demand) in equal parts. Time without jobs, and what rounding up to the hour
adds, is idle. So shares + idle = bill. The shares are what the jobs' own GPUs
cost, and the spare GPUs beside them; cores or memory instead of GPUs where those count.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.cluster import Absence, Cluster, vm_capacity
from dlsched.domain.counted import counted_of_vm
from dlsched.domain.scenario import Scenario
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import CPU, GPU, Floats, Ints
from dlsched.sim.log import RunLog

SAME_INSTANT_S, SAME_TIME = 1e-9, 1e-12
"""Times this close, absolute or relative to their size, are one instant (the engine's rule)."""
ROUNDING_H = 1e-9
TINY_PER_UNIT = 1e9
"""Amounts are summed as whole billionths, so that a node that empties is empty and not 1e-16 full."""


@dataclass(frozen=True, eq=False)
class Stays:
    """Time spans of nodes: number, index into Cluster.vm_types, from and to."""

    node: Ints
    vm: Ints
    start_s: Floats
    end_s: Floats


@dataclass(frozen=True, eq=False)
class Bill:
    """``stay_usd`` per stay, ``job_usd`` per row of the workload, ``idle_usd`` what no job pays.

    ``own_usd`` per share of the log: the GPUs (cores) it holds at the machine's price per GPU (core), without the spare
    ones beside them that the jobs of the machine pay for too (``spare_usd`` over all shares).
    """

    stay_usd: Floats
    job_usd: Floats
    idle_usd: float
    own_usd: Floats
    spare_usd: float

    @property
    def total_usd(self) -> float:
        """The whole bill."""
        return float(self.stay_usd.sum())


def billed_stays(scenario: Scenario, log: RunLog) -> Stays:
    """Return the billed stays: leases, and nodes that are always there, from first submission to the end of the run,
    less absences. Reserved nodes are paid while they are down; not before they arrive, nor after they leave.
    """
    cluster = scenario.cluster
    pools = [number for number, pool in enumerate(cluster.pools) if pool.kind == "reserved"]
    reserved = {node for number in pools for node in cluster.nodes_of(number)}
    paid = [a for a in cluster.absences if a.billed or (a.node in reserved and a.cause in ("maintenance", "fails"))]
    return _stays(cluster, log, [a for a in cluster.absences if a not in paid])


def up_stays(scenario: Scenario, log: RunLog) -> Stays:
    """Return the stays in which nodes can be used: as billed, less every absence and the boots of rented nodes."""
    cluster = scenario.cluster
    stays = _stays(cluster, log, cluster.absences)
    if not cluster.rents_nodes:
        return stays
    boot_s = np.zeros(cluster.num_nodes)
    for number in cluster.rented_pools:
        terms = cluster.pools[number].terms
        boot_s[cluster.nodes_of(number)] = 0.0 if terms is None else terms.boot_s
    from_s = stays.start_s + boot_s[stays.node]
    booted = from_s < stays.end_s
    return Stays(stays.node[booted], stays.vm[booted], from_s[booted], stays.end_s[booted])


def usd_by_kind(cluster: Cluster, stays: Stays, usd: Floats) -> dict[str, float]:
    """Return the bills of owned, reserved, on-demand and spot nodes; a kind that no pool has is left out."""
    kind = np.array(cluster.kind_of_node)
    kinds = dict.fromkeys(pool.kind for pool in cluster.pools)
    return {name: float(usd[kind[stays.node] == name].sum()) for name in kinds}


def instant_s(time_s: Floats | float) -> Floats:
    """Return how far apart two times around these may be and still be one instant, seconds."""
    return np.asarray(np.maximum(SAME_INSTANT_S, SAME_TIME * np.abs(time_s)))


def usd_per_h(cluster: Cluster) -> Floats:
    """Return the price by VM type; NaN where none is set."""
    return np.array([np.nan if vm.usd_per_h is None else vm.usd_per_h for vm in cluster.vm_types])


def stay_usd(scenario: Scenario, stays: Stays) -> Floats:
    """Return the bill of each stay (NaN without a price): per second, or each stay rounded up to the hour."""
    hours = (stays.end_s - stays.start_s) / HOUR_S
    if scenario.options.billing == "hour":
        hours = np.ceil(hours - ROUNDING_H * np.maximum(1.0, hours))
    return hours * usd_per_h(scenario.cluster)[stays.vm]


def usd_in_window(stays: Stays, usd: Floats, from_s: float, to_s: float) -> float:
    """Return the part of the bills that falls into a window; a stay's bill accrues evenly."""
    length_s = stays.end_s - stays.start_s
    inside_s = np.clip(np.minimum(stays.end_s, to_s) - np.maximum(stays.start_s, from_s), 0.0, None)
    return float(np.sum(usd * np.divide(inside_s, length_s, out=np.zeros(len(usd)), where=length_s > 0)))


def bill_jobs(scenario: Scenario, log: RunLog, bills: Floats, piece_of_share: Ints, share_held: Floats) -> Bill:
    """Return what each job pays of the ``bills`` of all stays, none of which may be NaN.

    ``piece_of_share`` and ``share_held`` (shares, resources) belong to the shares of the log.
    """
    vm = vm_of_share(scenario.cluster, log, log.piece_start_s[piece_of_share])
    price = usd_per_h(scenario.cluster)[vm] / HOUR_S
    gpus = share_held[:, GPU]
    dominant = _dominant(scenario.cluster, vm, share_held)
    start_s, end_s = log.piece_start_s[piece_of_share], log.piece_end_s[piece_of_share]
    paid, busy_usd = _split(log.share_node, start_s, end_s, price, _whole(gpus), _whole(dominant))
    job_usd = np.bincount(log.piece_row[piece_of_share], paid, minlength=len(scenario.workload)).astype(float)
    bill_usd = float(bills.sum())
    idle_usd = _less(bill_usd, busy_usd, bill_usd)
    own_usd = _own_part(scenario, vm, share_held) * price * (end_s - start_s)
    own_usd = np.where(np.isnan(own_usd), paid, own_usd)
    return Bill(bills, job_usd, idle_usd, own_usd, _less(busy_usd, float(own_usd.sum()), bill_usd))


def _own_part(scenario: Scenario, vm: Ints, share_held: Floats) -> Floats:
    """Return the part of its machine's counted resource that each share holds.

    NaN on a machine that has nothing to count, and so nothing to spare: its jobs use all they pay.
    """
    kinds = scenario.cluster.vm_types
    counted = np.array([counted_of_vm(kind, scenario.counted) for kind in kinds], dtype=np.int64)
    size = np.array([vm_capacity(kind)[of] for kind, of in zip(kinds, counted, strict=True)])[vm]
    held = share_held[np.arange(len(vm)), counted[vm]]
    has = np.isfinite(size) & (size > 0)
    return np.asarray(np.divide(held, size, out=np.full(len(vm), np.nan), where=has))


def _less(usd: float, other_usd: float, bill_usd: float) -> float:
    """Return a difference of sums of the bill; its rounding must not show as a cost of 1e-12 or of -1e-12."""
    difference = usd - other_usd
    return difference if difference > SAME_TIME * bill_usd else 0.0


def _stays(cluster: Cluster, log: RunLog, absences: Iterable[Absence]) -> Stays:
    if cluster.free_slots:
        return Stays(log.lease_node, log.lease_vm, log.lease_start_s, log.lease_end_s)
    gone: dict[int, list[Absence]] = {}
    for absence in absences:
        gone.setdefault(absence.node, []).append(absence)
    rented = [node for number in cluster.rented_pools for node in cluster.nodes_of(number)]
    always = np.setdiff1d(np.arange(cluster.num_nodes), np.array([*gone, *rented], dtype=np.int64))
    parts = [
        (node, start_s, end_s)
        for node, away in sorted(gone.items())
        for start_s, end_s in _present(log.start_s, log.end_s, away)
    ]
    parts += zip(log.lease_node.tolist(), log.lease_start_s.tolist(), log.lease_end_s.tolist(), strict=True)
    node = np.concatenate([always, np.array([p[0] for p in parts], dtype=np.int64)])
    start_s = np.concatenate([np.full(len(always), log.start_s), np.array([p[1] for p in parts], dtype=float)])
    end_s = np.concatenate([np.full(len(always), log.end_s), np.array([p[2] for p in parts], dtype=float)])
    order = np.lexsort((start_s, node))
    return Stays(node[order], cluster.nodes.vm[node[order]], start_s[order], end_s[order])


def _present(from_s: float, to_s: float, away: list[Absence]) -> list[tuple[float, float]]:
    """Return what is left of a window without the absences, which may overlap."""
    spans, at_s = [], from_s
    for absence in sorted(away, key=lambda a: a.start_s):
        if absence.start_s > at_s:
            spans.append((at_s, min(absence.start_s, to_s)))
        at_s = max(at_s, absence.until_s)
        if at_s >= to_s:
            return [(a, b) for a, b in spans if b > a]
    return [(a, b) for a, b in [*spans, (at_s, to_s)] if b > a]


def vm_of_share(cluster: Cluster, log: RunLog, start_s: Floats) -> Ints:
    """Return the VM type under each share: that of the node, or of the last lease opened there by then."""
    if not cluster.free_slots:
        return cluster.nodes.vm[log.share_node]
    late_s = start_s + instant_s(start_s)
    node = np.concatenate([log.lease_node, log.share_node])
    is_share = np.repeat([0, 1], [len(log.lease_node), len(log.share_node)])
    order = np.lexsort((is_share, np.concatenate([log.lease_start_s, late_s]), node))
    last_lease = np.maximum.accumulate(np.where(is_share[order] == 0, np.arange(len(order)), 0))
    lease = np.empty(len(order), dtype=np.int64)
    lease[order] = order[last_lease]
    return log.lease_vm[lease[len(log.lease_node) :]]


def _dominant(cluster: Cluster, vm: Ints, share_held: Floats) -> Floats:
    """Return the largest part of a node's CPUs or memory that each share holds (its CPUs where neither is modelled)."""
    capacity = np.array([vm_capacity(kind) for kind in cluster.vm_types])[vm][:, CPU:]
    limited = np.isfinite(capacity) & (capacity > 0)
    part = np.divide(share_held[:, CPU:], capacity, out=np.zeros_like(capacity), where=limited)
    return np.where(limited.any(axis=1), part.max(axis=1, initial=0.0), share_held[:, CPU])


def _whole(amount: Floats) -> Ints:
    return np.asarray(np.rint(amount * TINY_PER_UNIT), dtype=np.int64)


def _split(
    node: Ints, start_s: Floats, end_s: Floats, usd_per_s: Floats, gpus: Ints, dominant: Ints
) -> tuple[Floats, float]:
    """Return what each share pays, and the bill of all time in which nodes hold jobs.

    On each node the price of the time between two changes is divided by what is in use; the running sum F of
    that makes the part of a share amount x (F(end) - F(start)). ``dominant`` counts while no GPU is in use, and the
    number of shares while none of that is either.
    """
    count = len(node)
    times = np.concatenate([start_s, end_s])
    nodes = np.concatenate([node, node])
    order = np.lexsort((times, nodes))
    sign = np.repeat([1, -1], count)[order]
    share = np.tile(np.arange(count), 2)[order]

    next_s = np.append(times[order][1:], np.nan)
    same_node = np.append(nodes[order][1:] == nodes[order][:-1], False)
    lasts_s = np.where(same_node, next_s - times[order], 0.0)
    opened = np.maximum.accumulate(np.where(sign > 0, np.arange(2 * count), 0))
    present = np.cumsum(sign)
    usd = lasts_s * usd_per_s[share[opened]] * (present > 0)

    gpus_used = np.cumsum(sign * gpus[share])
    other_used = np.cumsum(sign * dominant[share])
    position = np.empty(2 * count, dtype=np.int64)
    position[order] = np.arange(2 * count)

    def paid_by(amount: Ints, used: NDArray[np.int64], counts: NDArray[np.bool_]) -> Floats:
        each = np.divide(usd, used, out=np.zeros(2 * count), where=counts & (used > 0))
        before = np.concatenate([[0.0], np.cumsum(each)])
        return np.asarray(amount * (before[position[count:]] - before[position[:count]]))

    no_gpu = gpus_used == 0
    paid = paid_by(gpus, gpus_used, ~no_gpu) + paid_by(dominant, other_used, no_gpu)
    if (dominant == 0).any():
        paid += paid_by(np.ones(count, dtype=np.int64), present, no_gpu & (other_used == 0))
    return paid, float(usd.sum())
