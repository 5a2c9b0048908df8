"""The command line: CPU, memory and growth of whole commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Cost, Line, command
from benchmarks.traces import LARGE, SMALL, first, tiled, trace

GROWTH_TIMES = (8, 16)
"""Copies of the small trace that are compared: large enough that starting up does not hide the growth."""
FEW = 1_000


def simulate(path: Path, nodes: int, policy: str = "fifo", repeat: int = 2) -> Cost:
    """Return what simulating costs, with log, audit and metrics, best-fit on nodes of 8 GPUs."""
    cluster = ["--nodes", str(nodes), "--gpus-per-node", "8", "--placement", "best-fit", "--oversize", "cap"]
    cost = command("simulate", str(path), "--policy", policy, *cluster, "--json", repeat=repeat)
    if cost.answer["audit"]:
        raise RuntimeError(f"{policy} on {path.name}: {cost.answer['audit'][0]}")
    return cost


def lines(folder: Path) -> Iterator[Line]:
    """Yield each promise about commands, measured."""
    small, large = trace(folder, SMALL), trace(folder, LARGE)
    for policy in ("fifo", "srtf", "easy-backfill"):
        simulate(small, 8, policy, repeat=1)  # fills the cache of compiled code
    yield Line("dlsched --help", "CPU s", 1.0, command("--help", repeat=3).cpu_s)
    few = first(folder, small, FEW)
    for policy in ("fifo", "easy-backfill"):
        yield Line(f"{policy}, {FEW:,} jobs, 8 x 8", "CPU s", 1.0, simulate(few, 8, policy, repeat=5).cpu_s)
    yield Line(f"FIFO, {SMALL:,} jobs, 8 x 8", "CPU s", 3.0, simulate(small, 8).cpu_s)
    for policy in ("srtf", "easy-backfill"):
        yield Line(f"{policy}, {SMALL:,} jobs, 8 x 8", "CPU s", 10.0, simulate(small, 8, policy).cpu_s)
    heavy = simulate(large, 75)
    yield Line(f"FIFO, {LARGE:,} jobs, 75 x 8", "CPU s", 12.0, heavy.cpu_s)
    yield Line(f"FIFO, {LARGE:,} jobs, 75 x 8", "MiB", 1536.0, heavy.peak_mib)
    half, whole = (simulate(tiled(folder, small, times), 8) for times in GROWTH_TIMES)
    yield Line(f"FIFO, {GROWTH_TIMES[0] * SMALL:,} jobs and twice as many", "times", 2.3, whole.cpu_s / half.cpu_s)
    start_s = simulate(first(folder, small, 100), 8, repeat=3).cpu_s
    growth = (whole.cpu_s - start_s) / (half.cpu_s - start_s)
    yield Line("the same without start-up", "times", 2.3, growth)
