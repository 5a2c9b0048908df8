"""Elastic policies on nodes of several GPUs: CPU seconds of the loop, and beside FIFO on the same jobs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.backfill import made_up
from benchmarks.measure import Line, cpu_ms
from dlsched.domain.scenario import SpeedSpec
from dlsched.policies.registry import find
from dlsched.sim.prepare import Prepared, prepare
from dlsched.sim.simulate import run_policy

POLICIES = ("hell-malleable", "knee-malleable", "hell-moldable", "knee-moldable", "srpt-all-nodes", "waterfill")


def lines(folder: Path) -> Iterator[Line]:
    """Yield each promise; nothing is read or written, so ``folder`` stays empty."""
    rigid = made_up(68_503, nodes=75, load=0.9)
    elastic = prepare(rigid.scenario.replace(speed=SpeedSpec(kind="scaling")))
    fifo_s = _cpu_s("fifo", rigid)
    for key in POLICIES:
        for given, word in ((rigid, "fixed widths"), (elastic, "a scaling law")):
            cpu_s = _cpu_s(key, given)
            yield Line(f"{key}, 68,503 on 75x8, {word}", "CPU s", 20.0, cpu_s)
            yield Line(f"{key} over fifo, {word}", "", 15.0, cpu_s / fifo_s)
    for given, word in ((rigid, "fixed widths"), (elastic, "a scaling law")):  # a queue of 40,000: it runs 18 at a time
        yield Line(f"jsq-chunk, 68,503 on 75x8, {word}", "CPU s", 20.0, _cpu_s("jsq-chunk", given))


def _cpu_s(key: str, prepared: Prepared) -> float:
    spec = find(key)
    run_policy(made_up(100, nodes=10, load=1.2), spec.build(spec.parse({})))  # loads the compiled code
    return cpu_ms(lambda: run_policy(prepared, spec.build(spec.parse({}))), tries=1) / 1000
