"""Steady-state experiments: the one that the page asks first, with audit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Line, command


def lines(folder: Path) -> Iterator[Line]:
    """Yield the promise, measured; the smallest experiment before it fills the cache of compiled code."""
    command("steady", "--loads", "0.1", "--jobs-most", "200", "--json")
    cost = command("steady", "--json")
    broken = [text for point in cost.answer["points"] for text in point["audit"]]
    if broken:
        raise RuntimeError(f"steady: {broken[0]}")
    yield Line("steady state, 4 policies at 5 loads, ± 5%", "CPU s", 60.0, cost.cpu_s)
    yield Line("steady state, 4 policies at 5 loads, ± 5%", "MiB", 1536.0, cost.peak_mib)
