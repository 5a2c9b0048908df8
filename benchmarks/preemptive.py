"""Policies that stop jobs, against FIFO in the same run: CPU seconds of the loop, with what costs extra."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.backfill import made_up
from benchmarks.measure import Line, cpu_ms
from benchmarks.traces import LARGE, trace
from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find
from dlsched.sim.prepare import Prepared, prepare
from dlsched.sim.simulate import run_policy
from dlsched.workload.readers import read_trace

KEYS = ("srtf", "las", "dlas", "gittins")


def lines(folder: Path) -> Iterator[Line]:
    """Yield each promise; ``folder`` holds a made-up trace where the public one is not at hand."""
    quiet, loaded = made_up(60_000, nodes=200, load=0.5), made_up(40_000, nodes=100, load=1.2)
    large = made_up(250_000, nodes=600, load=0.97)
    for key in ("fifo", *KEYS):
        _cpu_s(key, made_up(100, nodes=10, load=1.2))  # loads the compiled code
    fifo_s = _cpu_s("fifo", quiet)
    for key in KEYS:
        yield Line(f"{key} / fifo, 60,000 jobs that hardly wait", "", 3.0, _cpu_s(key, quiet) / fifo_s)
    for key in KEYS:
        yield Line(f"{key}, 40,000 jobs at load 1.2", "CPU s", 1.0, _cpu_s(key, loaded))
    yield Line("fifo, 250,000 jobs on 600x8 at load 0.97", "CPU s", 6.0, _cpu_s("fifo", large))
    for key in KEYS:
        yield Line(f"{key}, 250,000 jobs on 600x8 at load 0.97", "CPU s", 6.0, _cpu_s(key, large))
    machines = Cluster(pools=(Pool(vm=VmType(name="node", gpus=8), count=75),))
    philly = prepare(Scenario(read_trace(trace(folder, LARGE)).workload, machines))
    for key in KEYS:
        yield Line(f"{key}, {LARGE:,} jobs of Philly on 75x8", "CPU s", 3.0, _cpu_s(key, philly))
    for key, plain in (("srtf", made_up(40_000, nodes=100, load=0.9)), ("slurm", made_up(4_000, nodes=20, load=0.9))):
        plain_s = _cpu_s(key, plain)
        for what, extra in _extras(plain):
            yield Line(f"{key} with {what} / plain", "", 3.0, _cpu_s(key, extra) / plain_s)


def _extras(plain: Prepared) -> Iterator[tuple[str, Prepared]]:
    """Yield the same scenario with what loops once left to the engine."""
    scenario, dice = plain.scenario, np.random.default_rng(7)
    span_s = float(scenario.workload.submit_s[-1])

    def changed(**options: Any) -> Prepared:
        return prepare(scenario.replace(options=scenario.options.model_copy(update=options)))

    yield "restart cost", changed(restart_s=60.0)
    yield "cancelled jobs", changed(cancel_share=0.1)
    yield "limits that kill, bugs", changed(limits="kill", bug_share=0.05)
    starts = zip(dice.integers(0, scenario.cluster.num_nodes, 400).tolist(), dice.uniform(0, span_s, 400), strict=True)
    absences = tuple(Absence(node=node, start_s=at_s, end_s=at_s + 7200.0) for node, at_s in starts)
    failing = scenario.replace(cluster=Cluster(pools=scenario.cluster.pools, absences=absences))
    yield "400 absences", prepare(failing)
    lossy = scenario.options.model_copy(update={"restart_s": 60.0, "checkpoint_s": 3600.0})
    yield "400 absences, checkpoints, restart cost", prepare(failing.replace(options=lossy))
    pool = scenario.cluster.pools[0]
    halves = tuple(pool.model_copy(update={"count": pool.count // 2, "partition": name}) for name in ("a", "b"))
    split = scenario.workload.with_columns(partition=dice.choice(["a", "b"], len(scenario.workload)))
    yield "two partitions", prepare(scenario.replace(cluster=Cluster(pools=halves), workload=split))
    machines = [pool.vm.model_copy(update={"name": name, "gpu_type": name}) for name in ("A", "B")]
    types = tuple(pool.model_copy(update={"count": pool.count // 2, "vm": vm}) for vm in machines)
    wants = scenario.workload.with_columns(gpu_types=dice.choice(["", "A", "B"], len(scenario.workload)))
    yield "two GPU types", prepare(scenario.replace(cluster=Cluster(pools=types), workload=wants))


def _cpu_s(key: str, prepared: Prepared) -> float:
    spec = find(key)
    return cpu_ms(lambda: run_policy(prepared, spec.build(spec.parse({}))), tries=2) / 1000
