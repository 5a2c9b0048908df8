"""What several rules need to know, derived once from scenario, truth and log."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.cluster import Absence, Terms, VmType, vm_capacity
from dlsched.domain.randomness import job_uniforms
from dlsched.domain.scenario import Scenario
from dlsched.domain.truth import Truth
from dlsched.domain.workload import CPU, GPU, MEM, RESOURCES, Floats, Ints
from dlsched.sim.log import RunLog

SAME_INSTANT_S = 2e-9
SAME_TIME = 2e-12
JOINED_PART = 0.5
"""The part of :func:`slack_s` within which the engine joins instants."""
SAME_NUMBER = 1e-6
SECONDS_PER_H = 3600.0
MIXED_VMS = -2


def slack_s(time_s: Any) -> Any:
    """Return how far two times may lie apart and still be one instant."""
    return np.maximum(SAME_INSTANT_S, SAME_TIME * np.abs(time_s))


@dataclass(frozen=True, eq=False)
class Facts:
    """The three inputs of an audit and what follows from them.

    Only valid for a log whose columns are well-formed.
    """

    scenario: Scenario
    truth: Truth
    log: RunLog

    def job(self, row: int) -> str:
        """Return the name of a row for messages."""
        return f"job {self.scenario.workload.job_id[row]}"

    def piece(self, p: int) -> str:
        """Return the name of a piece for messages."""
        log = self.log
        where = ", ".join(str(n) for n in log.share_node[log.share_first[p] : log.share_first[p + 1]][:4])
        span = f"{log.piece_start_s[p]:.10g} to {log.piece_end_s[p]:.10g} s"
        return f"{self.job(int(log.piece_row[p]))} (piece {span} on node {where})"

    @cached_property
    def vm_types(self) -> tuple[VmType, ...]:
        """VM types by the numbers of the log."""
        return self.scenario.cluster.vm_types

    @cached_property
    def rented(self) -> dict[int, Terms]:
        """The terms of each node that comes and goes."""
        kinds = [pool.terms for pool in self.scenario.cluster.pools for _ in range(pool.count)]
        return {node: terms for node, terms in enumerate(kinds) if terms is not None and terms.kind != "reserved"}

    @cached_property
    def absences(self) -> tuple[Absence, ...]:
        """When nodes cannot be used: as the scenario says, and rented nodes outside of their leases and in boots."""
        log, since_s = self.log, dict.fromkeys(self.rented, 0.0)
        away: list[Absence] = []
        for lease in np.argsort(log.lease_start_s, kind="stable") if self.rented else ():
            node, end_s = int(log.lease_node[lease]), float(log.lease_end_s[lease])
            booted_s = float(log.lease_start_s[lease]) + self.rented[node].boot_s if node in self.rented else end_s
            if booted_s < end_s and node in self.rented:
                if booted_s > since_s[node]:
                    away.append(Absence(node=node, start_s=since_s[node], end_s=booted_s))
                since_s[node] = end_s
        away += [Absence(node=node, start_s=from_s) for node, from_s in since_s.items()]
        return (*self.scenario.cluster.absences, *away)

    @cached_property
    def evicted_s(self) -> Floats:
        """When each lease of a rented node is taken back, shape (leases,); infinity where it never is."""
        log, at_s = self.log, np.full(len(self.log.lease_node), np.inf)
        before: dict[int, int] = {}
        for lease in np.argsort(log.lease_start_s, kind="stable").tolist():
            node, start_s = int(log.lease_node[lease]), float(log.lease_start_s[lease])
            terms = self.rented.get(node)
            if terms is None:
                continue
            number = before[node] = before.get(node, -1) + 1
            times_s = [outage.start_s for outage in terms.outages if outage.start_s > start_s]
            if terms.evictions_per_h > 0:
                draw = job_uniforms(self.truth.seed, "eviction", [f"{node}/{number}"])[0, 0]
                times_s.append(start_s + terms.boot_s - math.log(draw) * SECONDS_PER_H / terms.evictions_per_h)
            at_s[lease] = min(times_s, default=np.inf)
        return at_s

    @cached_property
    def evictions(self) -> list[tuple[int, float, float]]:
        """Node, time and notice of every lease that ended by being taken back after its boot."""
        log, at_s = self.log, self.evicted_s
        ends = np.flatnonzero(np.abs(log.lease_end_s - at_s) <= slack_s(log.lease_end_s)) if self.rented else ()
        found = [(int(log.lease_node[i]), float(log.lease_start_s[i]), float(log.lease_end_s[i])) for i in ends]
        return [
            (node, end_s, self.rented[node].notice_s)
            for node, start_s, end_s in found
            if end_s >= start_s + self.rented[node].boot_s
        ]

    @cached_property
    def vm_capacity(self) -> Floats:
        """Capacity by VM type, shape (types + 1, resources); the last row is a slot without a VM."""
        return np.array([*(vm_capacity(vm) for vm in self.vm_types), (0.0,) * len(RESOURCES)])

    @cached_property
    def counted(self) -> int:
        """What the metrics count: GPUs if a job asks for some and a machine has some, else cores, else memory.

        GPUs of under a twentieth of the nodes and of the jobs give way to cores and memory.
        """
        jobs, cluster = self.scenario.workload, self.scenario.cluster
        kinds = cluster.catalogue or [pool.vm for pool in cluster.pools if pool.count > 0]
        each = [1] * len(kinds) if cluster.catalogue else [pool.count for pool in cluster.pools if pool.count > 0]
        with_gpus = sum(count for count, vm in zip(each, kinds, strict=True) if vm.gpus > 0)
        asking = int(np.count_nonzero(jobs.gpus_per_worker))
        if with_gpus and asking and (20 * with_gpus >= sum(each) or 20 * asking >= len(jobs)):
            return GPU
        for place, name in ((CPU, "cpus"), (MEM, "mem_gib")):
            asked = [getattr(jobs, f"{name}_per_worker")]
            asked += [getattr(jobs, f"{name}_per_server")] if jobs.has_servers else []
            if not any(column is not None and (column > 0).any() for column in asked):
                continue
            room = [getattr(vm, name) for vm in kinds]
            if None not in room and sum(room) > 0:
                return place
        return GPU

    def counted_on(self, vm: VmType) -> int:
        """What is counted on a machine: as the scenario, but cores on the CPU nodes among GPU nodes."""
        return CPU if self.counted == GPU and vm.gpus == 0 and (vm.cpus or 0) > 0 else self.counted

    @cached_property
    def counted_size(self) -> Floats:
        """What each VM type has of :attr:`counted`; 0 where it is not stated."""
        size = self.vm_capacity[:-1, self.counted]
        return np.where(np.isinf(size), 0.0, size)

    @cached_property
    def piece_of_share(self) -> Ints:
        """The piece each share belongs to."""
        return np.repeat(np.arange(len(self.log.piece_row)), np.diff(self.log.share_first))

    @cached_property
    def row_of_share(self) -> Ints:
        """The job each share belongs to."""
        return self.log.piece_row[self.piece_of_share]

    @cached_property
    def vm_of_share(self) -> Ints:
        """The VM type under each share when its piece starts; -1 where there is none."""
        cluster, log = self.scenario.cluster, self.log
        if not cluster.free_slots:
            return cluster.nodes.vm[log.share_node]
        lease = self.lease_at(log.share_node, log.piece_start_s[self.piece_of_share])
        return np.where(lease >= 0, log.lease_vm[lease], -1) if log.lease_vm.size else np.full(lease.shape, -1)

    def lease_at(self, node: Ints, time_s: Floats) -> Ints:
        """Return the last lease of each node that began at or before the time; -1 where there is none."""
        return last_before(self.log.lease_node, self.log.lease_start_s, node, time_s)

    def piece_at(self, row: Ints, time_s: Floats) -> Ints:
        """Return the last piece of each row that began at or before the time; -1 where there is none."""
        return last_before(self.log.piece_row, self.log.piece_start_s, row, time_s)

    def held(self, shares: Ints | NDArray[np.bool_] | slice = slice(None)) -> Floats:
        """Return what each of these shares holds of its node, shape (shares, resources)."""
        jobs, row = self.scenario.workload, self.row_of_share[shares]
        held: Floats = self.log.share_workers[shares, None] * jobs.demand[row]
        if self.log.share_servers.any():
            held += self.log.share_servers[shares, None] * jobs.server_demand[row]
        return held

    def held_of(self, resource: int, shares: Ints | slice = slice(None)) -> Floats:
        """Return what each of these shares holds of one resource, shape (shares,)."""
        jobs, log, row = self.scenario.workload, self.log, self.row_of_share[shares]
        held: Floats = log.share_workers[shares] * jobs.demand[row, resource]
        if log.share_servers.any():
            held += log.share_servers[shares] * jobs.server_demand[row, resource]
        return held

    def counted_held(self) -> Floats:
        """Return what each share holds of :attr:`counted`, shape (shares,)."""
        return self.held_of(self.counted)

    @cached_property
    def only_vm(self) -> Ints:
        """The machine type of each piece; -1 where a node has none, :data:`MIXED_VMS` where nodes differ."""
        first = self.log.share_first[:-1]
        least, most = np.minimum.reduceat(self.vm_of_share, first), np.maximum.reduceat(self.vm_of_share, first)
        return np.where(least == most, least, MIXED_VMS)

    def vms_of(self, p: int) -> str:
        """Return the machine types under a piece for messages."""
        numbers = self.vm_of_share[self.log.share_first[p] : self.log.share_first[p + 1]].tolist()
        return ", ".join(self.vm_types[vm].name if vm >= 0 else "no machine" for vm in dict.fromkeys(numbers))

    @cached_property
    def by_job(self) -> Ints:
        """Pieces sorted by job and then by start."""
        return np.lexsort((self.log.piece_start_s, self.log.piece_row))

    @cached_property
    def previous(self) -> Ints:
        """The piece of the same job before each piece; -1 for the first."""
        order, row = self.by_job, self.log.piece_row
        before = np.full(len(row), -1)
        same = row[order[1:]] == row[order[:-1]]
        before[order[1:][same]] = order[:-1][same]
        return before

    @cached_property
    def following(self) -> Ints:
        """The piece of the same job after each piece; -1 for the last."""
        after = np.full(len(self.previous), -1)
        has = np.flatnonzero(self.previous >= 0)
        after[self.previous[has]] = has
        return after

    @cached_property
    def last_piece(self) -> Ints:
        """The last piece of each job; -1 for jobs that never ran."""
        last = np.full(len(self.scenario.workload), -1)
        last[self.log.piece_row[self.by_job]] = self.by_job
        return last

    @cached_property
    def joined(self) -> NDArray[np.bool_]:
        """Whether each piece starts at the instant at which the job's previous piece ends."""
        log, before = self.log, self.previous
        gap_s = log.piece_start_s - log.piece_end_s[before]
        joined: NDArray[np.bool_] = (before >= 0) & (np.abs(gap_s) <= slack_s(log.piece_start_s))
        return joined

    @cached_property
    def same_shares(self) -> NDArray[np.bool_]:
        """Whether each piece holds exactly what the job's previous piece held."""
        log, before = self.log, self.previous
        size = np.diff(log.share_first)
        alike: NDArray[np.bool_] = (before >= 0) & (size == size[before])
        pieces = np.flatnonzero(alike)
        if not pieces.size:
            return alike
        columns = np.column_stack([log.share_node, log.share_workers, log.share_servers])
        columns = columns[np.lexsort((log.share_node, self.piece_of_share))]
        mine = _ranges(log.share_first[pieces], size[pieces])
        theirs = _ranges(log.share_first[before[pieces]], size[pieces])
        differs = (columns[mine] != columns[theirs]).any(axis=1)
        alike[np.repeat(pieces, size[pieces])[differs]] = False
        return alike

    @cached_property
    def progress(self) -> Floats:
        """Work done by each piece, net of lost work."""
        log = self.log
        slow_s = np.minimum(log.piece_progress_from_s, log.piece_end_s) - log.piece_start_s
        fast_s = np.maximum(log.piece_end_s - log.piece_progress_from_s, 0.0)
        return log.piece_restart_rate * slow_s + log.piece_rate * fast_s - log.piece_lost_work

    @cached_property
    def work_done(self) -> Floats:
        """Work done by each job."""
        return _sum_by(self.log.piece_row, self.progress, len(self.scenario.workload))


def last_before(key: Ints, start_s: Floats, asked_key: Ints, asked_s: Floats) -> Ints:
    """Return, for each (key, time) asked, the last entry of that key with start at or before the time; -1 = none.

    Times are compared exactly: a piece and the lease it starts on begin at the same number.
    """
    if not key.size:
        return np.full(len(asked_key), -1)
    order = np.lexsort((start_s, key))
    moments = np.unique(np.concatenate([start_s, asked_s]))
    begins = key[order] * moments.size + np.searchsorted(moments, start_s[order])
    asked = asked_key * moments.size + np.searchsorted(moments, asked_s)
    position = np.searchsorted(begins, asked, side="right") - 1
    found = order[position]
    return np.where((position >= 0) & (key[found] == asked_key), found, -1)


def _ranges(first: Ints, size: Ints) -> Ints:
    """Return the numbers first[0], first[0] + 1, ..., of ``size`` numbers each, one after the other."""
    before = np.cumsum(size) - size
    return np.repeat(first - before, size) + np.arange(size.sum())


def _sum_by(group: Ints, values: Floats, groups: int) -> Floats:
    return np.bincount(group, weights=values, minlength=groups).astype(np.float64)
