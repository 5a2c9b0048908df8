"""The greedy construction of METHODS in plain Python, written without looking at the compiled one; and an instance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dlsched.policies.gpuaas.instance import Instance, Schedule


def instance(times: Any, slack: Any, machines: Any, nodes: Any = 1, weight: Any = 1.0, **more: Any) -> Instance:
    """Return an instance; machines as (GPU type, GPUs, price); ``nodes`` a number, or machine types with -1 = free."""
    times = np.asarray(times, dtype=float)
    jobs = len(times)
    node_vm = np.full(nodes, -1) if isinstance(nodes, int) else np.asarray(nodes)
    running = more.pop("running", np.zeros(jobs, dtype=bool))
    return Instance(
        times=times,
        slack=np.broadcast_to(np.asarray(slack, dtype=float), (jobs,)),
        weight=np.broadcast_to(np.asarray(weight, dtype=float), (jobs,)),
        vm_family=np.array([m[0] for m in machines], dtype=np.int64),
        vm_gpus=np.array([m[1] for m in machines], dtype=np.int64),
        vm_price=np.array([m[2] for m in machines], dtype=float),
        node_vm=node_vm,
        running=np.asarray(running),
        **more,
    )


@dataclass
class _Node:
    family: int
    free: int
    machine: int = -1
    crew: dict[int, int] = field(default_factory=dict)


def plain_greedy(given: Instance) -> Schedule:
    """Return the greedy schedule: by pressure, best configuration, best fit, new node, else what fits; tidied up."""
    node_vm = given.node_vm.tolist()
    nodes = {n: _Node(int(given.vm_family[vm]), int(given.vm_gpus[vm]), vm) for n, vm in enumerate(node_vm) if vm >= 0}
    to_open = [n for n, vm in enumerate(node_vm) if vm < 0]
    for job in _by_pressure(given):
        ranked = _ranked(given, job)
        family, gpus = ranked[0]
        if not _fitting(nodes, family, gpus):
            if to_open:
                nodes[to_open.pop(0)] = _Node(family, int(given.most_gpus[family]))
            else:
                family, gpus = next((c for c in ranked if _fitting(nodes, *c)), (family, 0))
        if gpus:
            n = min(_fitting(nodes, family, gpus), key=lambda n: (nodes[n].free, n))
            nodes[n].free -= gpus
            nodes[n].crew[job] = gpus
    return _tidied(given, nodes)


def _by_pressure(given: Instance) -> list[int]:
    jobs = [job for job in range(given.num_jobs) if np.isfinite(given.fastest[job])]
    return sorted(jobs, key=lambda job: (given.slack[job] - given.fastest[job], not given.running[job], job))


def _ranked(given: Instance, job: int) -> list[tuple[int, int]]:
    """Return (GPU type, GPUs), the best first."""
    found = []
    for family, row in enumerate(given.config_times[job].tolist()):
        for place, time in enumerate(row):
            if np.isfinite(time):
                in_time = time <= given.slack[job]
                key = time * given.config_price[family, place] if in_time else time
                found.append((not in_time, key, family, place + 1))
    return [(family, gpus) for *_, family, gpus in sorted(found)]


def _fitting(nodes: dict[int, _Node], family: int, gpus: int) -> list[int]:
    return [n for n, node in nodes.items() if node.family == family and node.free >= gpus]


def _tidied(given: Instance, nodes: dict[int, _Node]) -> Schedule:
    schedule = Schedule.empty(given)
    for n, node in nodes.items():
        crew = node.crew
        if not crew:
            continue
        used = sum(crew.values())
        vm = node.machine if node.machine >= 0 else int(given.holder[node.family, used - 1])
        idle = int(given.vm_gpus[vm]) - used
        falls = {job: _fall(given, job, node.family, gpus, idle) for job, gpus in crew.items()} if idle else {0: 0.0}
        winner = max(falls, key=lambda job: falls[job])
        if falls[winner] > 0:
            crew[winner] += idle
        schedule.vm[n] = vm
        for job, gpus in crew.items():
            schedule.node[job], schedule.gpus[job] = n, gpus
    return schedule


def _fall(given: Instance, job: int, family: int, gpus: int, idle: int) -> float:
    if gpus + idle > given.times.shape[2]:
        return 0.0
    return float(given.times[job, family, gpus - 1] - given.times[job, family, gpus + idle - 1])
