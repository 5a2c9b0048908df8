"""(P1) solved exactly, by a mixed-integer program that counts nodes instead of naming them.

Equal nodes make the printed program hopeless. Here the GPUs of a machine type are positions 0 to its size; a node
is a path from position 0 to an end, an arc over g positions is a job with g GPUs, and integers say how many nodes
take an arc. The first job of a path pays t c_v for its node. All jobs of a node share c_v, so minimising makes the
payer the first to end: the cheapest choice of paths, jobs and payers is the optimum of (P1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats, Ints
from dlsched.optimise.milp import PROVEN, Milp
from dlsched.policies.gpuaas.instance import Instance, Schedule, objective
from dlsched.policies.gpuaas.repair import can_open_enough, must_open, open_enough

MAX_NODE_GPUS = 64
NODE_LIMIT = 20_000


@dataclass(frozen=True, eq=False)
class Solved:
    """A schedule and what is proven of it: no schedule of the instance costs less than ``bound``.

    ``schedule`` is None exactly when the instance is infeasible, which only ``Instance.exactly`` can make it.
    """

    schedule: Schedule | None
    status: Literal["optimal", "feasible", "infeasible"]
    objective: float
    bound: float


def solve_exact(instance: Instance, gap: float = 0.0, node_limit: int = NODE_LIMIT) -> Solved:
    """Return a schedule of least (P1a), or one within ``gap`` of it, or the best of ``node_limit`` search nodes.

    Raises
    ------
    InputError
        If a machine type has more than MAX_NODE_GPUS GPUs.
    """
    most = int(instance.vm_gpus.max(initial=0))
    if most > MAX_NODE_GPUS:
        raise InputError(
            "method exact", f"accepts machine types with at most {MAX_NODE_GPUS} GPUs, got {most}", "Choose a search"
        )
    if not can_open_enough(instance):
        return Solved(None, "infeasible", np.inf, np.inf)
    program = _Program(instance)
    answer = program.milp.solve(relative_gap=gap, node_limit=node_limit)
    if answer.values is None:  # the node limit came before the first solution
        schedule = open_enough(instance, Schedule.empty(instance))
    else:
        schedule = program.decode(answer.values)
    cost = objective(instance, schedule)
    bound = min(cost, max(0.0, answer.bound))  # every term of (P1a) is at least 0
    # What the solver proves of scaled costs may still be far off in $ where a penalty is much dearer than the jobs.
    near = PROVEN * (max(1.0, cost) if answer.status == "optimal" else cost)
    proven = cost - bound <= near
    return Solved(schedule, "optimal" if proven else "feasible", cost, bound)


def solve_or_open_fewer(instance: Instance, gap: float = 0.0, node_limit: int = NODE_LIMIT) -> tuple[Schedule, Solved]:
    """Return the schedule and what is proven of it; where (P1n) as printed is impossible, at most N nodes open."""
    solved = solve_exact(instance, gap, node_limit)
    if solved.schedule is None:
        solved = solve_exact(replace(instance, exactly=False), gap, node_limit)
    assert solved.schedule is not None  # only (P1n) as printed can be impossible
    return solved.schedule, solved


# ---- the program --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Network:
    """Columns of the nodes of one machine type: how many have this first arc, further arc, or end.

    ``first`` and ``end`` go by ``first_gpus`` and ``end_at``; a further arc begins at ``tail``. An end at 0 is a node
    that stays without a job.
    """

    vm: int
    stays: bool
    first: Ints
    first_gpus: Ints
    more: Ints
    tail: Ints
    more_gpus: Ints
    end: Ints
    end_at: Ints


@dataclass(eq=False)
class _Program:
    """The program of an instance: its columns, its rows, and the way back from values to a schedule."""

    instance: Instance
    milp: Milp = field(default_factory=Milp)

    def __post_init__(self) -> None:
        instance = self.instance
        family_gpus = np.zeros(len(instance.most_gpus), dtype=np.int64)
        offered = self._offered()
        for vm, _ in offered:
            family = instance.vm_family[vm]
            family_gpus[family] = max(family_gpus[family], instance.vm_gpus[vm])
        place = np.arange(1, instance.times.shape[2] + 1) <= family_gpus[:, None]
        self.job, self.family, self.gpus = np.nonzero(np.isfinite(instance.times) & place)
        self.gpus += 1
        self.time = instance.times[self.job, self.family, self.gpus - 1]
        late = np.maximum(0.0, self.time - instance.slack[self.job])
        self.runs = self.milp.columns(instance.weight[self.job] * late, upper=1.0, integer=True)
        self.networks = [self._network(vm, stays) for vm, stays in offered]
        self._run_once()
        self._cover()
        self._pay()
        self._count_nodes()

    def _offered(self) -> list[tuple[int, bool]]:
        """Machine types there can be, each with whether it is one of a node that stays."""
        stay = np.unique(self.instance.node_vm[self.instance.node_vm >= 0])
        free = range(len(self.instance.vm_gpus)) if (self.instance.node_vm < 0).any() else ()
        return [(int(vm), True) for vm in stay] + [(vm, False) for vm in free]

    def _network(self, vm: int, stays: bool) -> _Network:
        instance, milp = self.instance, self.milp
        size = int(instance.vm_gpus[vm])
        gpus = np.unique(self.gpus[self.family == instance.vm_family[vm]])
        gpus = gpus[gpus <= size]
        tail, more_gpus = (part.ravel() for part in np.meshgrid(np.arange(1, size), gpus, indexing="ij"))
        fits = tail + more_gpus <= size
        tail, more_gpus = tail[fits], more_gpus[fits]
        end_at = np.arange(0 if stays else 1, size + 1)
        if not stays:
            end_at = end_at[[self._is_needed(vm, int(used)) for used in end_at]]
        most = instance.num_nodes
        return _Network(
            vm=vm,
            stays=stays,
            first=milp.columns(np.zeros(len(gpus)), upper=most, integer=True),
            first_gpus=gpus,
            more=milp.columns(np.zeros(len(tail)), upper=most * size, integer=True),
            tail=tail,
            more_gpus=more_gpus,
            end=milp.columns(instance.idle_penalty * (size - end_at), upper=most, integer=True),
            end_at=end_at,
        )

    def _is_needed(self, vm: int, used: int) -> bool:
        """Whether no other machine type of the GPU type holds ``used`` GPUs at no more money and no more idle GPUs."""
        instance = self.instance
        others = np.flatnonzero((instance.vm_family == instance.vm_family[vm]) & (instance.vm_gpus >= used))
        price, gpus = instance.vm_price[others], instance.vm_gpus[others]
        better = (price <= instance.vm_price[vm]) & (gpus <= instance.vm_gpus[vm])
        equal = (price == instance.vm_price[vm]) & (gpus == instance.vm_gpus[vm])
        return not bool((better & (~equal | (others < vm))).any())

    def _run_once(self) -> None:
        """Every job runs in one configuration or waits."""
        jobs = np.arange(self.instance.num_jobs)
        waits = self.milp.columns(self.instance.postponed_cost, upper=1.0, integer=True)
        row, column = np.concatenate([self.job, jobs]), np.concatenate([self.runs, waits])
        self.milp.rows(row, column, 1.0, low=np.ones(len(jobs)), high=1.0)

    def _cover(self) -> None:
        """Paths are paths, and for every configuration there are as many arcs as jobs."""
        largest = self.instance.times.shape[2]
        arcs: list[tuple[Ints, Ints]] = []
        for net in self.networks:
            family = int(self.instance.vm_family[net.vm])
            arcs += [(family * largest + net.first_gpus - 1, net.first)]
            arcs += [(family * largest + net.more_gpus - 1, net.more)]
            positions = int(self.instance.vm_gpus[net.vm])
            inner = net.end_at > 0
            parts = (
                (net.first_gpus, net.first, 1.0),
                (net.tail + net.more_gpus, net.more, 1.0),
                (net.tail, net.more, -1.0),
                (net.end_at[inner], net.end[inner], -1.0),
            )
            row = np.concatenate([at - 1 for at, _, _ in parts])
            column = np.concatenate([columns for _, columns, _ in parts])
            value = np.concatenate([np.full(len(columns), sign) for _, columns, sign in parts])
            self.milp.rows(row, column, value, low=np.zeros(positions), high=0.0)
        config = self.family * largest + self.gpus - 1
        row = np.concatenate([config, *(rows for rows, _ in arcs)])
        column = np.concatenate([self.runs, *(columns for _, columns in arcs)])
        value = np.concatenate([np.full(len(config), -1.0), np.ones(len(row) - len(config))])
        self.milp.rows(row, column, value, low=np.zeros(self.instance.times.shape[1] * largest), high=0.0)

    def _pay(self) -> None:
        """Every node has one payer, who runs with the GPUs of its first arc."""
        instance, milp = self.instance, self.milp
        rows, columns = [np.arange(len(self.runs))], [self.runs]
        for vm in sorted({net.vm for net in self.networks}):
            mine = np.flatnonzero((self.family == instance.vm_family[vm]) & (self.gpus <= instance.vm_gpus[vm]))
            pays = milp.columns(self.time[mine] * instance.vm_price[vm], upper=1.0, integer=True)
            rows.append(mine)
            columns.append(pays)
            nets = [net for net in self.networks if net.vm == vm]
            row = np.concatenate([self.gpus[mine], *(net.first_gpus for net in nets)]) - 1
            column = np.concatenate([pays, *(net.first for net in nets)])
            value = np.concatenate([np.ones(len(pays)), np.full(len(column) - len(pays), -1.0)])
            milp.rows(row, column, value, low=np.zeros(int(instance.vm_gpus[vm])), high=0.0)
        value = np.concatenate([np.full(len(self.runs), -1.0), np.ones(sum(map(len, columns)) - len(self.runs))])
        milp.rows(np.concatenate(rows), np.concatenate(columns), value, high=np.zeros(len(self.runs)))

    def _count_nodes(self) -> None:
        """All nodes that stay are there; of the others at most, or exactly, as many as may be open."""
        instance = self.instance
        for net in self.networks:
            if net.stays:
                column = np.concatenate([net.first, net.end[net.end_at == 0]])
                there = float((instance.node_vm == net.vm).sum())
                self.milp.rows(np.zeros(len(column), dtype=int), column, 1.0, low=there, high=there)
        column = np.concatenate([net.first for net in self.networks if not net.stays] or [np.zeros(0, dtype=int)])
        if len(column):
            stay = int((instance.node_vm >= 0).sum())
            most = must_open(instance) if instance.exactly else instance.num_nodes
            low = most - stay if instance.exactly else 0
            self.milp.rows(np.zeros(len(column), dtype=int), column, 1.0, low=low, high=most - stay)

    # ---- the way back ---------------------------------------------------------------------------------------

    def decode(self, values: Floats) -> Schedule:
        """Return the schedule of a solution; the jobs that end first pay, the shortest for the dearest machine."""
        instance = self.instance
        schedule = Schedule.empty(instance)
        waiting: dict[tuple[int, int], list[int]] = {}
        runs = np.flatnonzero(values[self.runs] > 0.5)
        for place in runs[np.argsort(self.time[runs], kind="stable")].tolist():
            waiting.setdefault((int(self.family[place]), int(self.gpus[place])), []).append(int(self.job[place]))
        nodes = sorted(self._nodes(values), key=lambda node: -instance.vm_price[node[1]])
        for rest in (False, True):  # payers first
            for node, vm, sizes in nodes:
                for gpus in sizes[1:] if rest else sizes[:1]:
                    job = waiting[int(instance.vm_family[vm]), gpus].pop(0)
                    schedule.node[job], schedule.gpus[job], schedule.vm[node] = node, gpus, vm
        return schedule

    def _nodes(self, values: Floats) -> Iterator[tuple[int, int, list[int]]]:
        """Yield node, machine type and GPUs of its jobs, the payer's first."""
        node_vm = self.instance.node_vm
        free = iter(np.flatnonzero(node_vm < 0).tolist())
        for net in self.networks:
            there = iter(np.flatnonzero(node_vm == net.vm).tolist()) if net.stays else free
            left = np.round(values[net.more]).astype(np.int64)
            for gpus, count in zip(net.first_gpus.tolist(), np.round(values[net.first]).astype(int), strict=True):
                for _ in range(count):
                    yield next(there), net.vm, [gpus, *_walk(net, left, gpus)]


def _walk(net: _Network, left: Ints, position: int) -> Iterator[int]:
    """Yield the GPUs of the arcs of one path from ``position`` on and take them off ``left``."""
    while len(arcs := np.flatnonzero((net.tail == position) & (left > 0))):
        arc = int(arcs[0])
        left[arc] -= 1
        position += int(net.more_gpus[arc])
        yield int(net.more_gpus[arc])
