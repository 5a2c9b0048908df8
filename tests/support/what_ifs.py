"""Answers of a what-if, written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dlsched.studies.what_if.answer import Moved, Side, WhatIf

TWO_NODES = Moved(key="nodes", label="Nodes", unit="nodes", before=8, after=10)
POLICY = Moved(key="policy", label="Policy", unit="", before="FIFO", after="EASY backfill")
Draws = Sequence[Mapping[str, float | None]]


def answer(today: Draws, then: Draws, *moved: Moved, **more: Any) -> WhatIf:
    """Return the answer on these draws of both sides; two more nodes unless other things are moved."""
    sides = [Side(policy="fifo", label="FIFO", metrics=tuple(draws)) for draws in (today, then)]
    values: dict[str, Any] = {"moved": moved or (TWO_NODES,), "draws": len(today), "exact": False, "free_slots": False}
    return WhatIf(scenario="s", scenario_name="name", baseline=sides[0], changed=sides[1], vary={}, **values | more)


def draws(late: Sequence[float], wait: Sequence[float], cost: Sequence[float]) -> list[dict[str, float | None]]:
    """Return draws with shares of late jobs, p95 waits in seconds and dollars a month."""
    return [
        {"late_share": a, "wait_p95": b, "wait_p50": b / 2, "cost_month": c, "completed": 100.0, "jobs": 100.0}
        for a, b, c in zip(late, wait, cost, strict=True)
    ]


TODAY = draws((0.14, 0.142, 0.144), (3600, 4000, 3800), (40_000, 40_000, 40_000))
