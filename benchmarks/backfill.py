"""Backfill on requested times under overload: CPU seconds of the loop, and how they grow with the jobs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import Line, cpu_ms
from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.workload import Workload
from dlsched.policies.registry import find
from dlsched.sim.prepare import Prepared, prepare
from dlsched.sim.simulate import run_policy

WIDTHS, SHARES = (1, 2, 4, 8, 16, 32), (0.6, 0.1, 0.12, 0.12, 0.04, 0.02)


def lines(folder: Path) -> Iterator[Line]:
    """Yield each promise; nothing is read or written, so ``folder`` stays empty."""
    for key in ("easy-backfill", "sjf", "fifo-skip", "conservative"):
        gpus, rule = (1, "pool") if key == "conservative" else (8, "best-fit")
        cpu_s(key, made_up(100, 40, 1.2, gpus, rule))  # loads the compiled code
        few_s, many_s = (cpu_s(key, made_up(jobs, 100, 1.2, gpus, rule)) for jobs in (40_000, 160_000))
        yield Line(f"{key}, 40,000 jobs at load 1.2", "CPU s", 0.6, few_s)
        yield Line(f"{key}, exponent up to 160,000 jobs", "", 1.2, math.log(many_s / few_s, 4))
    yield Line(
        "easy-backfill, 187,520 on 32x8, load 3", "CPU s", 20.0, cpu_s("easy-backfill", made_up(187_520, 32, 3.0))
    )
    overloaded = made_up(187_520, nodes=256, load=3.0, gpus=1, placement="pool")
    yield Line("conservative, 187,520 in a pool of 256, load 3", "CPU s", 20.0, cpu_s("conservative", overloaded))
    for jobs, load, promised_s in ((10_000, 0.97, 0.5), (10_000, 1.2, 1.0)):
        name = f"conservative, {jobs:,} on 100x8, best-fit, load {load}"
        yield Line(name, "CPU s", promised_s, cpu_s("conservative", made_up(jobs, 100, load)))
    few_s, many_s = (cpu_s("conservative", made_up(jobs, 100, 1.2)) for jobs in (40_000, 160_000))
    yield Line("conservative, 40,000 on 100x8, best-fit, load 1.2", "CPU s", 1.5, few_s)
    yield Line("conservative, exponent up to 160,000 on 100x8", "", 1.2, math.log(many_s / few_s, 4))
    pool = made_up(28_000, nodes=100, load=0.75, gpus=1, placement="pool")
    for key in ("easy-backfill", "conservative"):
        yield Line(f"{key}, 28,000 jobs in a pool of 100", "CPU s", 0.3, cpu_s(key, pool))


def made_up(jobs: int, nodes: int, load: float, gpus: int = 8, placement: str = "best-fit") -> Prepared:
    """Return jobs over five orders of magnitude of run time, with limits of 1 to 5 times that, of 300 users."""
    dice = np.random.default_rng(jobs)
    workers = dice.choice(WIDTHS, jobs, p=SHARES)
    run_s = np.maximum(1, np.round(dice.lognormal(7.0, 1.6, jobs)))
    span_s = float(workers @ run_s) / (nodes * gpus) / load
    columns = {
        "job_id": np.arange(jobs).astype(str),
        "submit_s": np.sort(np.round(dice.uniform(0, span_s, jobs))),
        "work": run_s,
        "workers": workers,
        "limit_s": np.ceil(run_s * dice.uniform(1, 5, jobs) / 300) * 300,
        "user": np.char.add("u", (300 * dice.random(jobs) ** 3).astype(int).astype(str)),
    }
    cluster = Cluster(pools=(Pool(vm=VmType(name="node", gpus=gpus), count=nodes),))
    return prepare(Scenario(Workload.from_columns(columns), cluster, SimulationRules(placement=placement)))


def cpu_s(key: str, prepared: Prepared) -> float:
    """Return CPU seconds of a run, the cheaper of two."""
    spec = find(key)
    return cpu_ms(lambda: run_policy(prepared, spec.build(spec.parse({}))), tries=2) / 1000
