"""Months ahead: each is a run by hand, verdicts tell when a target breaks, and orders come in time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.studies.design import RunResult, changed
from dlsched.studies.growth import GrowthSpec, read_spec, run_growth
from dlsched.studies.growth.answer import (
    Growth,
    breaks_at,
    first_of,
    month_name,
    order_by,
    recovers_at,
)
from dlsched.studies.growth.run import _done, _draw
from dlsched.studies.growth.words import rows_of, sentence
from dlsched.studies.simulation import simulate
from tests.support.known import known
from tests.support.runs_for_store import small_scenario

WAITS = {"metric": "wait_mean", "limit": 60.0}
TEN = {"seeds": tuple(range(10))}


def one_a_minute(jobs: int = 60) -> Scenario:
    """Return jobs of one minute, one every 50 s, on two nodes of one GPU: a wait comes with more jobs."""
    scenario = small_scenario(jobs)
    nodes = scenario.cluster.pools[0].model_copy(update={"count": 2})
    columns: dict[str, Any] = {"submit_s": 50.0 * np.arange(jobs), "work": np.full(jobs, 60.0)}
    columns |= {"gpus_per_worker": np.full(jobs, float(nodes.vm.gpus)), "workers": np.ones(jobs)}
    return scenario.replace(
        workload=scenario.workload.with_columns(**columns),
        cluster=scenario.cluster.model_copy(update={"pools": (nodes,)}),
        options=SimulationRules(),
    )


def asked(scenario: Scenario, **spec: Any) -> GrowthSpec:
    plain = {"scenario": scenario.content_hash, "policy": "fifo", "targets": [WAITS], "percent": 20.0, "months": 6}
    return read_spec(plain | spec)


def test_every_month_is_a_run_by_hand() -> None:
    scenario = one_a_minute()
    steps = [{"month": 6, "key": "nodes", "nodes": 2}]
    growth = run_growth(asked(scenario, steps=steps, futures=TEN), scenario)
    assert [one.counts for one in growth.months] == [(2,)] * 6 + [(4,)]
    for one in growth.months:
        assert one.load == pytest.approx(1.2**one.month)
        assert [draw.seed for draw in one.draws] == list(range(10))
        for draw in (one.draws[0], one.draws[-1]):
            demand = float(f"{1.2**one.month:.12g}")
            hand = changed(scenario, {"demand": demand, "nodes": one.counts[0]}, draw.seed)
            assert draw.values["wait_mean"] == simulate(hand, "fifo", seed=draw.seed).metrics["wait_mean"]
            assert draw.jobs == pytest.approx(60 * one.load, abs=0.5)
    assert not growth.rule.exact  # which jobs are added is drawn
    broken = known(breaks_at(growth))
    assert 0 < broken < 6
    assert recovers_at(growth) == 6
    assert order_by(growth) == broken - 3
    assert Growth.from_plain(growth.to_plain()) == growth


def test_a_month_has_to_do_as_large_a_share_of_its_jobs_as_today() -> None:
    scenario = one_a_minute(20).replace(options=SimulationRules(horizon_s=500.0))
    growth = run_growth(asked(scenario, months=2), scenario)
    today, *later = (month.draws[0] for month in growth.months)
    assert 0 < today.done < today.jobs == 20
    assert today.needed == today.done
    assert [draw.jobs for draw in later] == [24, 29]
    assert [draw.needed for draw in later] == [round(today.done / 20 * draw.jobs) for draw in later]
    idle = RunResult(metrics={"jobs": 40, "rejected": 10, "unfinished": 2})
    assert _done(idle) == 0.7
    assert _draw(RunResult(metrics={"jobs": 20}), 3, asked(scenario), 0.7).needed == 14
    assert _done(RunResult(error="it cannot be")) == 0.0


def test_sentences_say_when_it_breaks_and_by_when_to_order() -> None:
    scenario = one_a_minute()
    growth = run_growth(asked(scenario, begin="2026-11", lead_months=1, futures=TEN), scenario)
    broken = known(breaks_at(growth))
    words = sentence(growth)
    assert f"Wait, mean at most 1 min breaks in {month_name('2026-11', broken)}" in words
    assert f"Order by {month_name('2026-11', broken - 1)} (1 month of delivery)." in words
    assert "(10 draws a month)" in words
    late = run_growth(asked(scenario, lead_months=broken + 2, futures=TEN), scenario)
    assert sentence(late).endswith(f"With {broken + 2} months of delivery, the order is 2 months late.")
    calm = run_growth(asked(scenario, percent=0.0), scenario)
    assert sentence(calm).startswith("The targets hold through month 6 at 0% a month, on average (")
    assert [row["verdict"] for row in rows_of(calm)] == ["ok"] * 7


def test_draws_make_a_month_unsure() -> None:
    scenario = one_a_minute()
    spec = asked(scenario, vary={"run_time_spread": 1.0}, seeds=range(6), percent=6.0, months=8)
    growth = run_growth(spec, scenario)
    verdicts = [growth.check(one.month).verdict for one in growth.months]
    assert verdicts[0] == "meets"
    assert "unsure" in verdicts
    first = known(first_of(growth, "unsure", "fails"))
    assert order_by(growth) == first - 3
    assert "(6 draws a month)" in sentence(growth)
    assert "(6 draws put together from its days a month)" in sentence(growth.model_copy(update={"vary": {"days": 1.0}}))
    every = run_growth(spec.model_copy(update={"claim": "nearly-every"}), scenario)
    hits = [every.check(one.month).hits for one in every.months]
    assert hits == [sum(draw.values["wait_mean"] <= 60.0 for draw in one.draws) for one in every.months]  # type: ignore[operator]


def test_a_month_without_nodes_fails_with_its_reason() -> None:
    scenario = one_a_minute()
    growth = run_growth(asked(scenario, steps=[{"month": 2, "key": "nodes", "nodes": -2}], percent=0.0), scenario)
    assert breaks_at(growth) == 2
    assert "at least 1" in growth.check(2).why
    assert "The targets break in month 2" in sentence(growth)
    assert ": change nodes" in sentence(growth)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"steps": [{"month": 9, "key": "nodes", "nodes": 1}]}, "a step is in month 9, after the last of 6"),
        ({"percent": 100.0, "months": 12}, "demand would be 4096 times today's"),
        ({"begin": "2026-13"}, "begin"),
        ({"steps": [{"month": 1, "key": "nodes.x", "nodes": 1}]}, "nodes.x"),
        ({"targets": [{"metric": "utility_total", "limit": 1}]}, "has no number on these jobs"),
    ],
)
def test_bad_questions_are_refused(spec: dict[str, Any], words: str) -> None:
    scenario = one_a_minute()
    with pytest.raises(InputError, match=words):
        run_growth(asked(scenario, **spec), scenario)


def test_jobs_that_all_arrive_at_once_become_more() -> None:
    scenario = one_a_minute()
    scenario = scenario.replace(workload=scenario.workload.with_columns(submit_s=np.full(60, 5.0)))
    grown = run_growth(asked(scenario, months=2), scenario)
    assert [month.draws[0].jobs for month in grown.months] == [60, 72, 86]
    waits = [known(month.draws[0].values["wait_mean"]) for month in grown.months]
    assert waits[0] < waits[1] < waits[2]
    assert {one.load for one in run_growth(asked(scenario, percent=0.0), scenario).months} == {1.0}


def test_month_names_count_over_years_and_back() -> None:
    assert [month_name("2026-11", month) for month in (-11, 0, 1, 2, 14)] == [
        "2025-12", "2026-11", "2026-12", "2027-01", "2028-01",
    ]  # fmt: skip
    assert month_name("", 3) == "month 3"
