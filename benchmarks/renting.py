"""GPU as a service: one rescheduling point, the first one of a fresh process, and whole runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.measure import Line, cpu_ms, script
from dlsched.policies.gpuaas.instance import Instance, Schedule, violations
from dlsched.policies.gpuaas.market import market
from dlsched.policies.gpuaas.search import greedy, path_relinking

SIZES = {"K80": (0.56, 1.13, 2.25, 4.48), "M60": (0.62, 1.24, 2.48, 4.96)}
"""$/h of 1, 2, 4 and 8 GPUs (Table 2 of the path relinking paper)."""
PARALLEL = (0.88, 0.82, 0.80, 0.72, 0.95, 0.93)
M60_BY_K80 = (0.85, 0.80, 0.93, 1.02, 0.88, 0.95)
FIRST_DECISIONS = {
    "path relinking": """
import numpy as np
from benchmarks.renting import point
from dlsched.policies.gpuaas.search import path_relinking
path_relinking(point(450, 100), np.random.default_rng(0))
""",
    "Market": """
from benchmarks.renting import point
from dlsched.policies.gpuaas.market import market
market(point(450, 100))
""",
}
WHOLE_RUN = """
from dlsched.studies.simulation import simulate
from dlsched.workload.studies.gpu_as_a_service import GpuaasSpec
from dlsched.workload.studies.gpu_as_a_service import gpuaas_scenario
simulate(gpuaas_scenario(GpuaasSpec(nodes=100, rate="high450")), "{policy}")
"""


def point(jobs: int, nodes: int) -> Instance:
    """Return a rescheduling point as Section 4.1 draws jobs: partly done, due after 1 to 3 times their fastest run."""
    dice = np.random.default_rng(jobs)
    network = dice.integers(0, len(PARALLEL), jobs)
    share = np.take(PARALLEL, network)[:, None]
    alone_s = dice.uniform(40, 160, jobs) * 3600
    times = (alone_s * dice.uniform(0.2, 1, jobs))[:, None] * (1 - share + share / np.arange(1, 9))
    times = np.stack([times, times * np.take(M60_BY_K80, network)[:, None]], axis=1)
    return Instance(
        times=times,
        slack=times.min(axis=(1, 2)) * dice.uniform(0.5, 3, jobs),
        weight=dice.uniform(0.003, 0.015, jobs),
        vm_family=np.repeat([0, 1], 4),
        vm_gpus=np.tile([1, 2, 4, 8], 2),
        vm_price=np.concatenate([SIZES["K80"], SIZES["M60"]]) / 3600,
        node_vm=np.full(nodes, -1),
        running=np.zeros(jobs, dtype=bool),
    )


def lines(folder: Path) -> Iterator[Line]:
    """Yield each promise about rescheduling points, measured."""
    for jobs, nodes, target_ms in ((150, 100, 20), (450, 100, 20), (3000, 1000, 500)):
        given = point(jobs, nodes)
        if violations(given, _relinked(given)):
            raise RuntimeError(f"path relinking: infeasible with {jobs} jobs")
        spent_ms = cpu_ms(partial(_relinked, given))
        yield Line(f"path relinking, {jobs:,} jobs, {nodes:,} nodes", "CPU ms", target_ms, spent_ms)
    given = point(450, 100)
    if violations(given, market(given).schedule):
        raise RuntimeError("Market: infeasible with 450 jobs")
    yield Line("Market, 450 jobs, 100 nodes", "CPU ms", 10, cpu_ms(partial(market, given)))
    yield Line("greedy, 450 jobs, 100 nodes", "CPU ms", 2, cpu_ms(partial(greedy, given)))
    for name, code in FIRST_DECISIONS.items():
        yield Line(f"first decision of a process, {name}", "CPU s", 1.0, script(code, repeat=3).cpu_s)
    for policy, target_s in (("gpuaas-market", 20), ("gpuaas-path-relinking", 60)):
        code = WHOLE_RUN.format(policy=policy)
        yield Line(f"1,000 jobs, 100 nodes, rate high450, {policy}", "CPU s", target_s, script(code, repeat=1).cpu_s)


def _relinked(given: Instance) -> Schedule:
    return path_relinking(given, np.random.default_rng(0))
