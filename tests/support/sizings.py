"""Answers of a search for a size and of months ahead, written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dlsched.metrics.stats.basis import Basis
from dlsched.studies.design import Futures
from dlsched.studies.growth.answer import Growth, GrowthStep, Month, Order
from dlsched.studies.sizing.answer import Counts, Headroom, Load, Size, Sizing, VmRange
from dlsched.studies.sizing.rule import Replicate, Rule
from dlsched.studies.sizing.targets import Target

HOUR_S = 3600.0
NODES = VmRange(key="nodes", name="", least=1, most=8, today=2, usd_per_h=10.0, gpus=8)
WAIT = Target(metric="wait_p95", limit=HOUR_S)
LATE = Target(metric="late_share", limit=0.05)
USD_MONTH = 7296.0
"""A node of $10 an hour over 30.4 days."""
DRAWN = Basis(kind="drawn", futures=2)
RECORDED = Basis(kind="recorded", futures=2, days=28)
"""What three futures are of."""


def draws(values: Sequence[Mapping[str, float | None]], **changes: Any) -> tuple[Replicate, ...]:
    """Return one future of ten jobs, all done, for each of these values."""
    plain: dict[str, Any] = {"jobs": 10, "done": 10, "needed": 10} | changes
    return tuple(Replicate(seed=seed, values=dict(one), **plain) for seed, one in enumerate(values))


def waits(hours: Sequence[float | None], **changes: Any) -> tuple[Replicate, ...]:
    """Return futures with these p95 waits."""
    return draws([{"wait_p95": None if one is None else one * HOUR_S} for one in hours], **changes)


SIZES: dict[Counts, Sequence[float]] = {
    (1,): (9.0, 10.0, 11.0), (2,): (4.0, 5.0, 6.0), (3,): (0.8, 1.0, 1.2), (4,): (0.5, 0.5, 0.5), (6,): (0.1, 0.1, 0.1),
}  # fmt: skip
"""p95 waits in hours by nodes: 1 and 2 fail an hour, 3 is borderline, 4 and 6 meet it."""
LOADS: dict[float, Sequence[float]] = {1.0: (0.5, 0.5, 0.5), 1.2: (0.9, 0.9, 0.9), 1.25: (0.6, 1.0, 1.4)}


def sizing(basis: Basis = DRAWN, **changes: Any) -> Sizing:
    """Return an answer: 4 nodes, today 2, an hour of wait on average, headroom 20%."""
    futures = 1 if basis.is_exact else 3
    sizes = tuple(
        Size(counts=counts, usd_month=USD_MONTH * counts[0], gpus=8 * counts[0], draws=waits(hours[:futures]))
        for counts, hours in SIZES.items()
    )
    loads = tuple(Load(factor=factor, draws=waits(hours), basis=DRAWN) for factor, hours in LOADS.items())
    plain: dict[str, Any] = {
        "scenario": "a" * 32, "scenario_name": "by hand", "policy": "fifo", "label": "FIFO", "params": {},
        "futures": Futures.first(futures - 1), "rule": Rule(targets=(WAIT,), basis=basis), "types": (NODES,),
        "cost_by": "price", "today": (2,), "sizes": sizes, "answer": (4,), "neighbours": ((3,),), "status": "found",
        "reasons": (), "headroom": (Headroom(counts=(4,), last=1.2, first=1.25, loads=loads),), "runs": 24,
    }  # fmt: skip
    return Sizing(**plain | changes)


MONTHS: Sequence[Sequence[float]] = (
    (0.5, 0.5, 0.5),
    (0.7, 0.7, 0.7),
    (0.6, 1.0, 1.4),
    (2.0, 2.0, 2.0),
    (0.2, 0.2, 0.2),
)
"""p95 waits in hours by month: good, good, at risk, broken, good again with what is delivered."""
ORDERS = (
    Order(month=2, load=1.21, planned=(2,), counts=(3,), usd_more=USD_MONTH, most=(8,)),
    Order(month=3, load=1.331, planned=(2,), counts=(4,), usd_more=2 * USD_MONTH, most=(8,)),
)


def growth(basis: Basis = DRAWN, **changes: Any) -> Growth:
    """Return five months from 2026-11, of which the fourth breaks an hour of wait and the fifth has two nodes more."""
    months = tuple(
        Month(
            month=place, load=1.1**place, counts=(4,) if place == 4 else (2,), basis=basis,
            usd_month=USD_MONTH * (4 if place == 4 else 2), draws=waits(hours[: 1 if basis.is_exact else 3]),
        )
        for place, hours in enumerate(MONTHS)
    )  # fmt: skip
    plain: dict[str, Any] = {
        "scenario": "a" * 32, "scenario_name": "by hand", "policy": "fifo", "label": "FIFO", "params": {},
        "futures": Futures.first(2), "rule": Rule(targets=(WAIT,), basis=basis), "types": (NODES,), "percent": 10.0,
        "lead_months": 1, "begin": "2026-11", "steps": (GrowthStep(month=4, key="nodes", nodes=2),), "months": months,
        "orders": ORDERS,
    }  # fmt: skip
    return Growth(**plain | changes)
