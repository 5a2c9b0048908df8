"""A sweep: 200 runs of 1,000 jobs under list policies, on one process and on two."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Line, command
from dlsched.domain.scenario import Scenario
from dlsched.runner.executor import open_pool
from dlsched.studies.sweep import SweepSpec, read_spec, run_sweep
from dlsched.workload.load import load
from dlsched.workload.scenario_file import write_scenario
from dlsched.workload.studies.registry import draw

POLICIES = ("fifo", "fifo-skip", "sjf", "edf", "easy-backfill")
JOBS, RUNS = 1000, 200
RESTART_S = 30.0
"""With restarts the general engine runs the jobs, not the loop that is compiled for them."""


def lines(folder: Path) -> Iterator[Line]:
    """Yield each promise about sweeps, measured."""
    path = str(folder / "sweep.json")
    write_scenario(scenario(), path)
    typed = ["--vary", "nodes=8,9", "--vary", "arrivals=0.8:1.2:5", "--policies", ",".join(POLICIES), "--futures", "3"]
    cost = command("sweep", path, *typed, "--processes", "1", "--json")
    if cost.answer["computed"] != RUNS or any(cell["audit"] or cell["error"] for cell in cost.answer["cells"]):
        raise RuntimeError("the sweep is not 200 clean runs")
    yield Line(f"sweep, {RUNS} runs of {JOBS:,} jobs, 1 process", "CPU s", 60.0, cost.cpu_s)
    slower = load(path).replace(options=load(path).options.model_copy(update={"restart_s": RESTART_S}))
    yield Line("2 processes and 1, general engine, CPU on the way", "times", 1 / 1.7, _share_of_two(slower))


def scenario(jobs: int = JOBS) -> Scenario:
    """Return the jobs of the demo, of which every draw has so many."""
    demo = load("data/demo.toml")
    spec = {**(demo.generator or {}), "jobs": jobs}
    return demo.replace(generator=spec, workload=draw(spec, demo.seed))


def _spec(scenario: Scenario) -> SweepSpec:
    axes = [{"key": "nodes", "values": [8, 9]}, {"key": "arrivals", "values": [0.8, 0.9, 1.0, 1.1, 1.2]}]
    futures = {"seeds": list(range(RUNS // (10 * len(POLICIES))))}
    return read_spec({"scenario": scenario.content_hash, "axes": axes, "policies": POLICIES, "futures": futures})


@dataclass(frozen=True)
class _Spent:
    """CPU seconds: of this process, and of each worker with its start."""

    here_s: float
    workers_s: tuple[float, ...]


def _share_of_two(scenario: Scenario) -> float:
    """Return the least time of two processes on two free cores over that of one process, both with their starts.

    On two cores nobody is done before the busier worker, nor before half of all that was computed. Counted in CPU time,
    so that other programs on the machine do not matter.
    """
    one, two = _spent(scenario, 1), _spent(scenario, 2)
    whole_s = one.here_s + sum(one.workers_s)
    return max(*two.workers_s, (two.here_s + sum(two.workers_s)) / 2) / whole_s


def _spent(scenario: Scenario, processes: int) -> _Spent:
    before = time.process_time()
    with open_pool(workers=processes).executor as executor:
        run_sweep(_spec(scenario), scenario, executor)
        here_s = time.process_time() - before
        return _Spent(here_s, _cpu_of_workers(executor, processes))


def _cpu_of_workers(executor: Executor, processes: int) -> tuple[float, ...]:
    """Return what each worker has spent so far; asked often enough that every one answers."""
    spent_s: dict[int, float] = defaultdict(float)
    while len(spent_s) < processes:
        for future in [executor.submit(_own_cpu) for _ in range(4 * processes)]:
            pid, cpu_s = future.result()
            spent_s[pid] = cpu_s
    return tuple(spent_s.values())


def _own_cpu() -> tuple[int, float]:
    time.sleep(0.05)  # so that one worker does not answer for both
    return os.getpid(), time.process_time()
