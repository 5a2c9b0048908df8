"""Answers of a what-if, written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dlsched.metrics.stats.basis import Basis
from dlsched.studies.design import Futures
from dlsched.studies.what_if.answer import Moved, Side, WhatIf

TWO_NODES = Moved(key="nodes", label="Nodes", unit="nodes", before=8, after=10)
POLICY = Moved(key="policy", label="Policy", unit="", before="FIFO", after="EASY backfill")
MORE_JOBS = Moved(key="demand", label="Demand", unit="x", before=1.0, after=1.3)
Draws = Sequence[Mapping[str, float | None]]


def answer(today: Draws, then: Draws, *moved: Moved, **more: Any) -> WhatIf:
    """Return the answer on these draws of both sides; two more nodes unless other things are moved."""
    sides = [Side(policy="fifo", label="FIFO", metrics=tuple(draws)) for draws in (today, then)]
    futures = Futures.first(len(today) - 1)
    values: dict[str, Any] = {"moved": moved or (TWO_NODES,), "free_slots": False, "today": sides[0],
                              "futures": futures, "basis": Basis(kind="drawn", futures=futures.count)}  # fmt: skip
    return WhatIf(scenario="s", scenario_name="name", baseline=sides[0], changed=sides[1], **values | more)


def draws(late: Sequence[float], wait: Sequence[float], cost: Sequence[float]) -> list[dict[str, float | None]]:
    """Return draws with shares of late jobs, p95 waits in seconds and dollars a month."""
    return [
        {"late_share": a, "wait_p95": b, "wait_p50": b / 2, "cost_month": c, "completed": 100.0, "jobs": 100.0}
        for a, b, c in zip(late, wait, cost, strict=True)
    ]


TODAY = draws((0.14, 0.142, 0.144), (3600, 4000, 3800), (40_000, 40_000, 40_000))
