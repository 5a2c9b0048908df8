"""Admission by prices: one plan of all jobs, drawn like those of the study; and rules that share out each slot.

Bandwidths are not in the study; its jobs are mostly too long for 20 slots, so shorter ones are measured too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.measure import Line, cpu_ms
from dlsched.policies.primal_dual.online import PdOrs, bounds_of_all, plan, schedules
from dlsched.policies.primal_dual.problem import Instance, Job, violations
from dlsched.policies.registry import find
from dlsched.sim.prepare import Prepared, prepare
from dlsched.sim.simulate import run_policy
from dlsched.workload.studies.pd_ors import SlottedJobsSpec, slotted_jobs_scenario

JOBS, MACHINES, SLOTS = 50, 100, 20
SEEDS = 5


def drawn(seed: int, length: float) -> Instance:
    """Return an instance of the study's size; ``length`` scales the work of its jobs."""
    rng = np.random.default_rng(seed)
    arrivals = np.sort(rng.integers(0, SLOTS, JOBS))
    jobs = tuple(_job(rng, number, arrival, length) for number, arrival in enumerate(arrivals.tolist()))
    capacity = np.tile(18 * np.array([2.0, 5.5, 17.0, 7.5]), (MACHINES, 1))
    return Instance(SLOTS, capacity, jobs, ("GPUs", "CPUs", "GB of memory", "GB of disk"))


def _job(rng: np.random.Generator, number: int, arrival: int, length: float) -> Job:
    compute, model_mb, external = rng.uniform(1e-5, 1e-4), rng.uniform(30, 575), rng.uniform(2e5, 1e6)
    batch, ratio = int(rng.integers(1, 201)), float(rng.integers(1, 11))
    transfer = 2 * model_mb * ratio / batch
    worker = np.array([rng.integers(0, 5), rng.integers(1, 11), rng.integers(2, 33), rng.integers(5, 11)], dtype=float)
    server = np.array([0, rng.integers(1, 11), rng.integers(2, 33), rng.integers(5, 11)], dtype=float)
    slope = float(rng.choice([0.0, rng.uniform(0.01, 1), rng.uniform(4, 6)], p=[0.1, 0.55, 0.35]))
    return Job(
        name=str(number),
        arrival=arrival,
        first=arrival,
        work=length * float(rng.integers(50, 201) * rng.integers(20_000, 500_001)),
        near=compute + transfer / (10 * external),
        far=compute + transfer / external,
        batch=batch,
        ratio=ratio,
        worker_demand=worker,
        server_demand=server,
        utility=(rng.uniform(1, 100), slope, rng.uniform(1, 15)),
    )


def _planned(instance: Instance) -> int:
    """Return how many jobs are admitted."""
    found = schedules(plan(instance, PdOrs(instance.capacity, instance.slots, bounds_of_all(instance))))
    if violations(instance, found):
        raise RuntimeError(violations(instance, found)[0])
    return sum(schedule is not None for schedule in found)


def lines(folder: Path) -> Iterator[Line]:
    """Yield each promise about plans, measured."""
    for length, name in ((1.0, "the study's length"), (0.05, "a twentieth of it")):
        spent_ms = [cpu_ms(partial(_planned, drawn(seed, length)), tries=3) for seed in range(SEEDS)]
        yield Line(f"PD-ORS, {JOBS} jobs of {name}, worst of {SEEDS}", "CPU ms", 500, max(spent_ms))
    few = drawn(0, 0.05)
    everybody = replace(few, jobs=tuple(sorted(few.jobs * 10, key=lambda job: job.arrival)))
    yield Line(f"PD-ORS, {10 * JOBS} short jobs", "CPU ms", 5_000, cpu_ms(partial(_planned, everybody), tries=1))
    yield from _slot_by_slot()


def _slot_by_slot() -> Iterator[Line]:
    """Yield whole runs of the rules that share out each slot, and the same jobs under plain FIFO."""
    prepared = prepare(slotted_jobs_scenario(SlottedJobsSpec(jobs=150, machines=100, slots=30)))
    plain_s = _run_s(prepared, "fifo")
    for key, target_s, most in (("pd-ors-fifo", 6.0, 80.0), ("pd-ors-drf", 12.0, 150.0)):
        cpu_s = _run_s(prepared, key)
        yield Line(f"{key}, 150 jobs on 100 machines", "CPU s", target_s, cpu_s)
        yield Line(f"{key} over fifo, the same jobs", "", most, cpu_s / plain_s)


def _run_s(prepared: Prepared, key: str) -> float:
    spec = find(key)
    return cpu_ms(lambda: run_policy(prepared, spec.build(spec.parse({}))), tries=1) / 1000
