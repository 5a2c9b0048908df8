"""In which metric costs are compared: of a month where machines are owned, of a job where policies rent them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.metrics.findings import headline_rows
from dlsched.metrics.money import COSTS, cost_key, cost_keys
from dlsched.metrics.stats.basis import Basis
from dlsched.metrics.stats.compare import Numbers, compare

EXACT = Basis(kind="exact")
PRICED = {"completed": 10, "vm_cost": 90.0, "total_cost": 95.0, "cost_month": 700.0, "usd_per_job": 9.0}


@pytest.mark.parametrize(
    ("rents", "without", "key"),
    [
        (False, (), "cost_month"),
        (False, ("cost_month",), "usd_per_job"),  # all jobs at once
        (True, (), "usd_per_job"),
        (True, ("usd_per_job",), "total_cost"),  # no job completed
        (False, COSTS, None),
        (True, COSTS, None),
    ],
)
def test_the_metric_that_decides(rents: bool, without: tuple[str, ...], key: str | None) -> None:
    runs = [(name, {k: v for k, v in PRICED.items() if k not in without}) for name in ("a", "b")]
    assert cost_key(compare(runs, "a", basis=EXACT, rents=rents)) == key


def test_all_runs_must_have_it() -> None:
    runs: list[tuple[str, Numbers]] = [("a", PRICED), ("b", {**PRICED, "cost_month": None})]
    assert cost_key(compare(runs, "a", basis=EXACT)) == "usd_per_job"


@given(st.booleans(), st.sets(st.sampled_from(COSTS)))
def test_owned_machines_are_never_compared_by_totals_and_sentences_name_one_cost(rents: bool, known: set[str]) -> None:
    metrics = {"completed": 10, **dict.fromkeys(known, 5.0)}
    comparison = compare([("a", metrics), ("b", metrics)], "a", basis=EXACT, rents=rents)
    key = cost_key(comparison)
    assert key is None or key in known & set(cost_keys(rents=rents))
    assert rents or key not in ("vm_cost", "total_cost", "idle_cost")
    assert not rents or key != "cost_month"  # it would flatter who rents late
    named = [row.kpi.key for row in headline_rows(comparison) if row.kpi.key in COSTS]
    assert named == [key] * (key is not None)
