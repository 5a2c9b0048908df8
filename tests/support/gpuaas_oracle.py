"""Small random rescheduling points, and (P1) solved by trying everything."""

from __future__ import annotations

from itertools import product

import numpy as np

from dlsched.policies.gpuaas.instance import Instance


def random_instance(
    rng: np.random.Generator,
    *,
    jobs: int = 3,
    nodes: int = 2,
    families: int = 2,
    gpus: int = 3,
    staying: bool = False,
    exactly: bool = False,
    holes: bool = True,
) -> Instance:
    """Return an instance with some infinite times, late jobs and equal prices; ``staying``: some nodes have a type."""
    vm_family = np.arange(max(families, int(rng.integers(families, families + 2)))) % families
    times = rng.integers(1, 20, (jobs, families, gpus)).astype(float)
    if holes:
        times[rng.random(times.shape) < 0.2] = np.inf
    node_vm = np.full(nodes, -1)
    if staying:
        node_vm = np.where(rng.random(nodes) < 0.6, rng.integers(0, len(vm_family), nodes), -1)
    slack = rng.integers(-5, 25, jobs).astype(float)
    slack[rng.random(jobs) < 0.15] = np.inf
    return Instance(
        times=times,
        slack=slack,
        weight=rng.integers(0, 4, jobs) / 2,
        vm_family=vm_family,
        vm_gpus=rng.integers(1, gpus + 1, len(vm_family)),
        vm_price=rng.integers(1, 5, len(vm_family)) / 4,
        node_vm=node_vm,
        running=rng.random(jobs) < 0.5,
        period=float(rng.integers(1, 6)),
        postpone_factor=float(rng.choice([1.0, 2.0, 100.0])),
        idle_penalty=float(rng.choice([0.0, 0.5, 1.0])),
        exactly=exactly,
    )


def least_cost(instance: Instance) -> float:
    """Return the least (P1a) over all ways to give jobs nodes and GPUs and nodes machine types; infinity = none."""
    nodes = range(instance.num_nodes)
    seats = [None, *product(nodes, range(1, int(instance.vm_gpus.max(initial=0)) + 1))]
    best = np.inf
    known: dict[tuple[int, tuple[tuple[int, int], ...]], float] = {}
    for choice in product(seats, repeat=instance.num_jobs):
        on_node = [
            tuple((job, seat[1]) for job, seat in enumerate(choice) if seat and seat[0] == node) for node in nodes
        ]
        open_nodes = sum(bool(crew) or instance.node_vm[node] >= 0 for node, crew in enumerate(on_node))
        if instance.exactly and open_nodes != min(instance.num_nodes, instance.num_jobs):
            continue
        cost = sum(_left_behind(instance, job) for job, seat in enumerate(choice) if seat is None)
        for node, crew in enumerate(on_node):
            key = (int(instance.node_vm[node]), crew)
            if key not in known:
                known[key] = _node_cost(instance, *key)
            cost += known[key]
        best = min(best, cost)
    return float(best)


def _left_behind(instance: Instance, job: int) -> float:
    slowest = max((t for t in _known_times(instance, job) if np.isfinite(t)), default=0.0)
    late = max(0.0, instance.period + slowest - instance.slack[job])
    return float(instance.postpone_factor * instance.weight[job] * late)


def _known_times(instance: Instance, job: int) -> list[float]:
    return [
        float(instance.times[job, family, place])
        for vm, family in enumerate(instance.vm_family.tolist())
        for place in range(int(instance.vm_gpus[vm]))
    ]


def _node_cost(instance: Instance, node_vm: int, crew: tuple[tuple[int, int], ...]) -> float:
    if not crew and node_vm < 0:
        return 0.0
    best = np.inf
    for vm in [node_vm] if node_vm >= 0 else range(len(instance.vm_gpus)):
        idle = int(instance.vm_gpus[vm]) - sum(gpus for _, gpus in crew)
        if idle < 0:
            continue
        times = [float(instance.times[job, instance.vm_family[vm], gpus - 1]) for job, gpus in crew]
        if not np.isfinite(times).all():
            continue
        late = sum(
            instance.weight[job] * max(0.0, time - instance.slack[job])
            for (job, _), time in zip(crew, times, strict=True)
        )
        bill = min(times) * instance.vm_price[vm] if times else 0.0
        best = min(best, instance.idle_penalty * idle + late + bill)
    return float(best)
