"""Stated rules fill only what is missing, say so once, and fill every draw of a generated scenario alike."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.policy import Need
from dlsched.domain.scenario import Scenario, SpeedSpec
from dlsched.domain.workload import Workload
from dlsched.workload import fill
from dlsched.workload.generators.fill_rules import DueRule, LimitRule, PriorityRule, UserRule, WeightRule
from dlsched.workload.studies.registry import canonical, draw
from tests.support.assumptions import read, words_of
from tests.support.server_scenarios import training, with_servers

NODES = Cluster(pools=(Pool(vm=VmType(name="gpu", gpus=8), count=2), Pool(vm=VmType(name="cpu", gpus=0), count=1)))


def due(scenario: Scenario, **limits: float) -> Scenario:
    return fill.fill(scenario, DueRule(**limits))


def users(scenario: Scenario) -> Scenario:
    return fill.fill(scenario, UserRule())


def weights(scenario: Scenario) -> Scenario:
    return fill.fill(scenario, WeightRule())


def priorities(scenario: Scenario) -> Scenario:
    return fill.fill(scenario, PriorityRule())


RULES: dict[str, tuple[Any, Need]] = {
    "due": (due, Need.DUE),
    "weights": (weights, Need.WEIGHT),
    "prices": (fill.fill_prices, Need.PRICE),
    "priorities": (priorities, Need.PRIORITY),
    "users": (users, Need.USER),
}
each_rule = pytest.mark.parametrize(("rule", "need"), RULES.values(), ids=RULES)


def trace(jobs=3, **columns) -> Scenario:
    ids = [f"a{n}" for n in range(jobs)]
    base = {"job_id": ids, "submit_s": np.arange(jobs) * 10.0, "work": np.arange(jobs) + 100.0}
    workload = Workload.from_columns({**base, "workers": np.arange(jobs) % 8 + 1, **columns})
    return Scenario(workload, NODES, seed=5)


def column(workload: Workload, name: str) -> np.ndarray:
    return workload.columns()[name]


def generated() -> Scenario:
    job_class = {"name": "a", "share": 1, "run_time": {"kind": "pareto", "shortest_s": 60}}
    arrivals = {"kind": "poisson", "jobs_per_h": 3}
    spec = canonical({"kind": "job-mix", "jobs": 40, "arrivals": arrivals, "classes": [job_class]})
    return Scenario(draw(spec, 5), NODES, seed=5, generator=spec, data_kind="generated")


@each_rule
def test_filled_once_and_said_once(rule, need):
    before = trace()
    once = rule(before)
    assert need in fill.missing(before)
    assert need not in fill.missing(once)
    assert rule(once) is once
    assert len(words_of(once)) == 1
    assert words_of(before) == ()


@each_rule
def test_rules_do_not_depend_on_their_order(rule, need):
    others = [other for other, _ in RULES.values() if other is not rule]
    first, last = rule(trace()), trace()
    for other in others:
        first, last = other(first), other(last)
    assert first.content_hash == rule(last).content_hash
    assert fill.missing(first) == []


@pytest.mark.parametrize("rule", [due, weights, priorities, users])
def test_generated_scenarios_are_filled_in_every_draw(rule):
    filled = rule(users(generated()))
    assert draw(filled.generator, 5) == filled.workload
    other = draw(filled.generator, 6)
    assert other != filled.workload
    assert set(other.columns()) == set(filled.workload.columns())
    assert rule(filled) is filled


def test_due_times_are_uniform_multiples_of_the_run_time():
    filled = due(trace(20_000)).workload
    factor = (column(filled, "due_s") - filled.submit_s) / filled.work
    assert factor.min() == pytest.approx(1, abs=0.001)
    assert factor.max() == pytest.approx(3, abs=0.001)
    assert factor.mean() == pytest.approx(2, abs=0.02)
    assert factor.var() == pytest.approx(4 / 12, rel=0.03)


def test_due_times_count_the_fastest_width():
    # efficiency 0.8 per doubling, two doublings: 4 * 0.64 = 2.56 times as fast
    elastic = trace(max_workers=[4, 8, 12]).replace(speed=SpeedSpec(kind="scaling", efficiency=0.8))
    filled = due(elastic, low=1, high=1).workload
    assert column(filled, "due_s") - filled.submit_s == pytest.approx(filled.work / 2.56, abs=0.001)


def test_given_values_stay():
    partly = trace(due_s=[math.nan, 7, math.nan], user=["", "ann", ""])
    filled = users(due(partly)).workload
    whole = due(trace()).workload
    assert column(filled, "due_s").tolist() == [column(whole, "due_s")[0], 7, column(whole, "due_s")[2]]
    assert column(filled, "user")[1] == "ann"
    assert column(filled, "user")[0].startswith("user ")


def test_deleting_jobs_changes_no_other_due_time():
    jobs = trace(50)
    part = jobs.replace(workload=jobs.workload.select(slice(10, 20)))
    filled, filled_part = due(jobs).workload, due(part).workload
    assert column(filled_part, "due_s").tolist() == column(filled, "due_s")[10:20].tolist()


@pytest.mark.parametrize(("rule", "name"), [(due, "due_s"), (users, "user")])
def test_what_is_drawn_follows_the_seed(rule, name):
    def drawn(seed: int) -> list:
        return column(rule(trace(50).replace(seed=seed)).workload, name).tolist()

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_weights_priorities_and_prices_by_hand():
    scenario = trace(gpus_per_worker=[1, 0.5, 0], cpus_per_worker=[0, 0, 4])  # 1, 1 and 0 GPUs
    filled = fill.fill(scenario, WeightRule(usd_per_gpu_h=36)).workload.weight_usd_per_s
    assert filled == pytest.approx([0.01, 0.01, 0.01])
    assert column(fill.fill(scenario, PriorityRule(first="small")).workload, "priority").tolist() == [-1, -1, 0]
    assert column(fill.fill(scenario, PriorityRule(first="short")).workload, "priority").tolist() == [-100, -101, -102]
    assert column(fill.fill(scenario, PriorityRule(first="same")).workload, "priority").tolist() == [0, 0, 0]
    priced = fill.fill_prices(scenario)
    assert [pool.vm.usd_per_h for pool in priced.cluster.pools] == [20, 2.5]
    assert words_of(priced) == ("$2.50 per GPU-hour (example price, not a quote)",)


def test_given_prices_stay_and_catalogues_are_priced_too():
    vms = (VmType(name="a", gpus=4), VmType(name="b", gpus=4, usd_per_h=1))
    slots = trace().replace(cluster=Cluster(slots=2, catalogue=vms))
    assert [vm.usd_per_h for vm in fill.fill_prices(slots, 3).cluster.catalogue] == [12, 1]


@pytest.mark.parametrize(
    ("rule", "given"),
    [
        (DueRule, {"low": 3, "high": 1}),
        (DueRule, {"low": math.nan}),
        (WeightRule, {"usd_per_gpu_h": -1}),
        (UserRule, {"users": 0}),
        (PriorityRule, {"first": "tall"}),
    ],
)
def test_bad_rules_are_refused(rule, given):
    with pytest.raises(ValidationError):
        rule(**given)


def test_nodes_without_gpus_are_priced_by_their_cores():
    kinds = [VmType(name="g", gpus=8, cpus=64), VmType(name="c", gpus=0, cpus=12), VmType(name="n", gpus=0)]
    mixed = trace().replace(cluster=Cluster(pools=tuple(Pool(vm=kind, count=1) for kind in kinds)))
    priced = fill.fill_prices(mixed)
    assert [pool.vm.usd_per_h for pool in priced.cluster.pools] == [20, pytest.approx(0.6), 2.5]
    both = "$2.50 per GPU-hour and $0.05 per core-hour of nodes without GPUs (example price, not a quote)"
    assert words_of(priced) == (both,)
    alone = fill.fill_prices(trace().replace(cluster=Cluster(pools=mixed.cluster.pools[1:2])))
    assert words_of(alone) == ("$0.05 per core-hour of nodes without GPUs (example price, not a quote)",)


def test_a_bad_price_is_refused():
    with pytest.raises(InputError, match="price"):
        fill.fill_prices(trace(), math.nan)


def test_step_times_are_used_only_where_every_job_has_them():
    given = with_servers(training((0, 10, 2, 1)), speed=SpeedSpec())
    assert fill.has_step_times(given.workload)
    filled = fill.use_step_times(given.replace(assumptions=read("speed curve: of somebody", "kept")))
    assert (filled.speed.kind, words_of(filled)) == ("parameter-server", ("kept", fill.STEP_TIMES_RULE))
    lacking = given.replace(workload=training((0, 10, 2, 0)))
    assert not fill.has_step_times(lacking.workload)
    with pytest.raises(InputError, match="no parameter servers"):
        fill.use_step_times(lacking)


@given(st.integers(0, 5))
def test_time_limits_are_usual_times_that_hold_the_run_time(seed):
    workload = trace(6).workload
    limit_s = LimitRule(low=1.0, high=3.0).values(workload, seed)
    usual = [60.0 * minutes for minutes in (5, 10, 15, 30, 60, 120, 240, 360, 480, 720, 1440)]
    assert (limit_s >= workload.work).all()
    assert all(value in usual or value % 86_400 == 0 for value in limit_s)
    above = [min([u for u in usual if u >= 3 * run] or [np.ceil(3 * run / 86_400) * 86_400]) for run in workload.work]
    assert (limit_s <= above).all()
