"""Months ahead: each is a run by hand, verdicts tell when a target breaks, and orders come in time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dlsched.domain.cluster import Terms
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.studies.design import Futures, changed
from dlsched.studies.growth import GrowthSpec, read_spec, run_growth
from dlsched.studies.growth.answer import (
    Growth,
    breaks_at,
    first_of,
    month_name,
    order_by,
    recovers_at,
    to_order,
)
from dlsched.studies.growth.words import certainty, rows_of, sentence
from dlsched.studies.simulation import simulate
from dlsched.studies.sizing import SizeSpec, run_size
from dlsched.studies.sizing.sizes import default_types
from dlsched.studies.sizing.targets import Target
from tests.support.known import known
from tests.support.runs_for_store import small_scenario

WAITS = {"metric": "wait_mean", "limit": 60.0}
TEN = Futures.first(9)


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
        assert [draw.seed for draw in one.draws] == list(range(10 if one.month else 1))  # today nothing is random
        for draw in (one.draws[0], one.draws[-1]):
            demand = float(f"{1.2**one.month:.12g}")
            hand = changed(scenario, {"demand": demand, "nodes": one.counts[0]}, draw.seed)
            assert draw.values["wait_mean"] == simulate(hand, "fifo", seed=draw.seed).metrics["wait_mean"]
            assert draw.jobs == pytest.approx(60 * one.load, abs=0.5)
    assert not growth.rule.exact  # which jobs are added is drawn
    broken = known(breaks_at(growth))
    assert 0 < broken < 6
    assert recovers_at(growth) == 6
    assert order_by(growth) == known(first_of(growth, "fails", "unsure")) - 3
    assert Growth.from_plain(growth.to_plain()) == growth


def one_owned(rented_nodes: int) -> Scenario:
    """Return the same jobs on one node of one's own, with others to rent."""
    scenario = one_a_minute()
    vm = scenario.cluster.pools[0].vm.model_copy(update={"name": "2-GPU node"})
    owned = scenario.cluster.pools[0].model_copy(update={"vm": vm, "count": 1})
    named = vm.model_copy(update={"name": "the node's twin"})
    terms = Terms(kind="on-demand", boot_s=30.0)
    rented = owned.model_copy(update={"vm": named, "count": rented_nodes, "terms": terms})
    return scenario.replace(cluster=scenario.cluster.model_copy(update={"pools": (owned, rented)}))


def test_months_with_rented_nodes_are_runs_by_hand() -> None:
    scenario = one_owned(rented_nodes=1)
    growth = run_growth(asked(scenario, months=1, percent=100.0, futures=TEN), scenario)
    assert [one.counts for one in growth.months] == [(1,)] * 2
    for one in growth.months[1:]:
        hand = changed(scenario, {"demand": float(f"{one.load:.12g}")}, one.draws[0].seed)
        by_hand = simulate(hand, "fifo", seed=one.draws[0].seed).metrics["wait_mean"]
        assert one.draws[0].values["wait_mean"] == by_hand
    order = known(to_order(growth))
    more = known(order.counts)[0] - 1
    extra = f"Order {more} more node{'s' * (more != 1)} of 2-GPU node "
    assert extra in sentence(growth)
    assert f": {more + 1} nodes of 2-GPU node and up to 1 rented node hold" in sentence(growth)


def test_an_order_may_replace_all_rented_nodes() -> None:
    scenario = one_owned(rented_nodes=4)
    growth = run_growth(asked(scenario, months=1, targets=[WAITS | {"limit": 1.0}]), scenario)
    order = growth.orders[0]  # a rented node takes 30 s to boot
    assert order.planned == (1,)
    assert order.most == tuple(one.most for one in default_types(scenario)) == (20,)


def test_a_month_has_to_do_so_many_times_the_jobs_that_today_does() -> None:
    scenario = one_a_minute(20).replace(options=SimulationRules(horizon_s=500.0))
    growth = run_growth(asked(scenario, months=2), scenario)
    today, *later = (month.draws[0] for month in growth.months)
    assert 0 < today.done < today.jobs == 20
    assert today.needed == today.done
    assert [draw.jobs for draw in later] == [24, 29]
    assert [draw.needed for draw in later] == [round(1.2**month * today.done) for month in (1, 2)]


def test_sentences_say_when_it_breaks_and_what_to_order_by_when() -> None:
    scenario = one_a_minute()
    growth = run_growth(asked(scenario, begin="2026-11", lead_months=1, futures=TEN), scenario)
    broken, first = known(breaks_at(growth)), known(first_of(growth, "fails", "unsure"))
    words = sentence(growth)
    assert f"The target (Mean wait at most 1 min) is first missed in {month_name('2026-11', broken)}" in words
    order = known(to_order(growth))
    more = sum(known(order.counts)) - 2
    assert f"Order {more} more node" in words
    assert f" by {month_name('2026-11', first - 1)}: {2 + more} nodes hold through May 2027" in words
    late = run_growth(asked(scenario, lead_months=first + 2, futures=TEN), scenario)
    assert " now (2 months overdue): " in sentence(late)
    calm = run_growth(asked(scenario, percent=0.0), scenario)
    assert sentence(calm) == "The target holds through month 6 at 0% a month."
    assert (calm.orders, [row["verdict"] for row in rows_of(calm)]) == ((), ["ok"] * 7)


def test_what_is_ordered_is_the_smallest_size_that_holds_with_the_jobs_of_the_month() -> None:
    """The same as a search for a size under the condition of so many more jobs."""
    scenario = one_a_minute()
    growth = run_growth(asked(scenario, futures=TEN, claim="nearly-every"), scenario)
    first = known(first_of(growth, "fails", "unsure"))
    assert [order.month for order in growth.orders] == [first, 6]
    for order in growth.orders:
        demand = {"demand": float(f"{order.load:.12g}")}
        spec = SizeSpec(scenario=scenario.content_hash, targets=(Target(metric="wait_mean", limit=60.0),),
                        claim="nearly-every", condition=demand, futures=Futures.first(9), headroom=False)  # fmt: skip
        assert order.counts == run_size(spec, scenario).answer
        assert order.usd_more is None or order.usd_more > 0
    later = run_growth(asked(scenario, futures=TEN, steps=[{"month": 0, "key": "nodes", "nodes": 9}]), scenario)
    assert later.orders == ()


def test_futures_put_a_month_at_risk() -> None:
    scenario = one_a_minute()
    spec = asked(scenario, futures=Futures.first(5, {"run_time_spread": 1.0}), percent=6.0, months=8)
    growth = run_growth(spec, scenario)
    assert growth.rule.recorded
    verdicts = [growth.check(one.month).verdict for one in growth.months]
    assert verdicts[0] != "meets" or "meets" in verdicts
    first = known(first_of(growth, "unsure", "fails"))
    assert order_by(growth) == first - 3
    assert certainty(growth) == "6 futures a month"
    every = run_growth(spec.model_copy(update={"claim": "nearly-every"}), scenario)
    hits = [every.check(one.month).hits for one in every.months]
    assert hits == [sum(draw.values["wait_mean"] <= 60.0 for draw in one.draws[1:]) for one in every.months]  # type: ignore[operator]


def test_a_condition_holds_in_every_month() -> None:
    scenario = one_a_minute()
    growth = run_growth(asked(scenario, condition={"demand": 1.5}, months=2, futures=TEN), scenario)
    assert [one.draws[0].jobs for one in growth.months] == [90, 108, 130]
    assert sentence(growth).startswith("With 50% more jobs, the target")


def test_a_month_without_nodes_fails_with_its_reason() -> None:
    scenario = one_a_minute()
    growth = run_growth(asked(scenario, steps=[{"month": 2, "key": "nodes", "nodes": -2}], percent=0.0), scenario)
    assert breaks_at(growth) == 2
    assert "at least 1" in growth.check(2).why
    assert "The target is first missed in month 2" in sentence(growth)
    assert "(change nodes" in sentence(growth)


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
        "December 2025", "November 2026", "December 2026", "January 2027", "January 2028",
    ]  # fmt: skip
    assert month_name("2026-11", 3, letters=3) == "Feb 2027"
    assert month_name("", 3) == "month 3"
