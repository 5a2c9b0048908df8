"""Dominant resource fairness on a busy cluster: CPU seconds of the loop, and beside FIFO on the same jobs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.backfill import made_up
from benchmarks.measure import Line, cpu_ms
from dlsched.policies.registry import find
from dlsched.sim.prepare import Prepared
from dlsched.sim.simulate import run_policy


def lines(folder: Path) -> Iterator[Line]:
    """Yield each promise; nothing is read or written, so ``folder`` stays empty."""
    for load in (0.75, 0.97):
        jobs = made_up(68_503, nodes=75, load=load)
        fifo_s, drf_s = (_cpu_s(key, jobs) for key in ("fifo", "drf"))
        yield Line(f"drf, 68,503 jobs on 75x8 at load {load}", "CPU s", 3.0, drf_s)
        yield Line(f"drf over fifo, the same jobs at load {load}", "", 3.0, drf_s / fifo_s)


def _cpu_s(key: str, prepared: Prepared) -> float:
    spec = find(key)
    run_policy(made_up(100, nodes=10, load=1.2), spec.build(spec.parse({})))  # loads the compiled code
    return cpu_ms(lambda: run_policy(prepared, spec.build(spec.parse({}))), tries=2) / 1000
