"""The compiled loop for list policies that never stop a job writes the engine's log, also for cores and partitions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.plan import Share
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.workload import Workload
from dlsched.policies.registry import find
from dlsched.sim.kernels import eligible, run_kernel
from dlsched.sim.log import PieceEnd
from dlsched.sim.prepare import Prepared, Underway, prepare
from dlsched.testing.logs import first_difference
from tests.support.conformance_scenarios import ON_NODES, built, engine_log, rigid_scenarios
from tests.support.eventful_scenarios import eventful, joined_at

POLICIES: list[tuple[str, dict[str, Any]]] = [
    ("fifo", {}),
    ("fifo-skip", {}),
    ("sjf", {}),
    ("priority", {}),
    ("easy-backfill", {}),
    ("easy-backfill", {"events": "single"}),
    ("drf", {}),
    ("conservative", {}),
    ("conservative", {"events": "single"}),
]
every_policy = pytest.mark.parametrize(("key", "params"), POLICIES, ids=lambda value: str(value))


@every_policy
@settings(max_examples=60)
@given(data=st.data())
def test_small_workloads_with_many_ties(key: str, params: dict[str, Any], data: st.DataObject):
    prepared = prepare(data.draw(rigid_scenarios(**what_is_compiled(key, pool=data.draw(st.booleans())))))
    if len(prepared.scenario.workload):
        check_equal(prepared, key, params)


@every_policy
def test_where_much_happens_to_jobs_and_nodes(key: str, params: dict[str, Any]):
    for number in range(40):
        prepared = eventful(number, **what_is_compiled(key, pool=number % 4 == 0))
        if len(prepared.scenario.workload):
            check_equal(prepared, key, params)


@every_policy
def test_runs_that_are_joined_in_the_middle(key: str, params: dict[str, Any]):
    parts = [joined_at(number, **what_is_compiled(key, pool=number % 4 == 0)) for number in range(25)]
    for prepared in parts:
        if prepared is not None:
            check_equal(prepared, key, params)
    assert sum(prepared is not None for prepared in parts) > 15


@pytest.mark.parametrize("placement", ON_NODES)
def test_conservative_backfill_of_long_queues_on_nodes(placement: str):
    """Most of a queue is passed over, and some are booked only when a later job may be placed beside them."""
    for number in range(2):
        for events in ("batch", "single"):
            check_equal(long_queue(number, placement), "conservative", {"events": events})


def test_a_job_that_started_from_behind_moves_the_bookings_before_it():
    """c is booked at 100 on node 0, the first of two that are empty then. d starts on node 1, which is the fuller then.

    So c goes there as soon as e comes, and e no longer fits beside it.
    """
    columns = {
        "job_id": list("abcde"),
        "submit_s": [0, 0, 1, 2, 3],
        "work": [100, 100, 100, 200, 200],
        "limit_s": [100, 100, 100, 200, 200],
        "workers": [4, 2, 3, 1, 1],
    }
    cluster = Cluster(pools=(Pool(vm=VmType(name="node", gpus=4), count=2),))
    prepared = prepare(Scenario(Workload.from_columns(columns), cluster, SimulationRules(placement="best-fit")))
    check_equal(prepared, "conservative", {})
    log = engine_log(find("conservative"), prepared)
    assert dict(zip(log.piece_row.tolist(), log.piece_start_s.tolist(), strict=True)) == {
        0: 0,
        1: 0,
        2: 100,
        3: 2,
        4: 100,
    }


def long_queue(number: int, placement: str) -> Prepared:
    dice, jobs = np.random.default_rng(number), 140
    work = np.ceil(dice.lognormal(3.0, 1.5, jobs))
    columns = {
        "job_id": np.arange(jobs).astype(str),
        "submit_s": np.sort(dice.integers(0, 400, jobs)),
        "work": work,
        "workers": dice.choice([1, 1, 1, 2, 3, 4, 8, 16], jobs),
        "limit_s": np.ceil(work * dice.uniform(1, 5, jobs) / 10) * 10,
    }
    cluster = Cluster(pools=(Pool(vm=VmType(name="node", gpus=8), count=5),))
    return prepare(Scenario(Workload.from_columns(columns), cluster, SimulationRules(placement=placement)))


def what_is_compiled(key: str, *, pool: bool) -> dict[str, Any]:
    """Return which random scenarios the loop can run under a policy; ``pool``: in a pool, for conservative backfill."""
    if key != "conservative":
        return {"pool": False, "lasting": key == "drf"}
    return {"pool": pool, "lasting": False, "placements": ON_NODES}


def check_equal(prepared: Prepared, key: str, params: dict[str, Any]) -> None:
    spec = find(key)
    policy = built(spec, prepared, params)
    assert eligible(prepared, policy)
    assert policy.kernel_rule is not None
    by_kernel = run_kernel(prepared, policy.kernel_rule)
    by_engine = engine_log(spec, prepared, params)
    assert first_difference(by_engine, by_kernel) == ""
    assert (by_kernel.stalled, by_kernel.start_s) == (by_engine.stalled, by_engine.start_s)
    assert by_kernel.end_s == pytest.approx(by_engine.end_s, rel=1e-12)


def test_a_job_that_joins_two_queues_is_left_to_the_engine():
    columns = {"job_id": ["a", "b"], "submit_s": [0, 1], "work": [5, 5], "workers": [1, 1], "partition": ["p", "p|r"]}
    pools = tuple(Pool(vm=VmType(name=name, gpus=1), count=1, partition=name) for name in ("p", "r"))
    spec, cluster = find("fifo"), Cluster(pools=pools)
    together = prepare(Scenario(Workload.from_columns(columns), cluster, SimulationRules()))
    apart = prepare(Scenario(Workload.from_columns(columns | {"partition": ["p", "r"]}), cluster, SimulationRules()))
    assert not eligible(together, built(spec, together))
    assert eligible(apart, built(spec, apart))


@pytest.mark.parametrize("key", ["fifo", "sjf", "easy-backfill"])
def test_a_run_that_is_joined_as_a_node_goes_and_loses_another_later(key: str):
    columns = {
        "job_id": list("abcdef"),
        "submit_s": [0, 1, 2, 5, 6, 7],
        "work": [20, 30, 9, 4, 3, 2],
        "workers": [2, 1, 2, 1, 2, 2],
    }
    away = (Absence(node=2, start_s=5.0, end_s=30.0, cause="maintenance"), Absence(node=0, start_s=12.0, end_s=14.0))
    cluster = Cluster(pools=(Pool(vm=VmType(name="vm", gpus=2), count=3),), absences=away)
    rules = SimulationRules(checkpoint_s=3.0, restart_s=1.0)
    prepared = prepare(Scenario(Workload.from_columns(columns), cluster, rules))
    held = {0: (0.0, (Share(0, 2),)), 1: (1.0, (Share(1, 1),))}
    prepared = replace(prepared, underway=Underway(5.0, held))
    policy = built(find(key), prepared)
    assert eligible(prepared, policy)
    assert policy.kernel_rule is not None
    log = run_kernel(prepared, policy.kernel_rule)
    assert log.piece_end[0] == PieceEnd.NODE_LOST
    assert log.piece_lost_work[0] == 2.0  # 11 s of progress since 1 s, checkpoints after 3, 6 and 9
    assert first_difference(engine_log(find(key), prepared), log) == ""
    early = replace(prepared, underway=Underway(6.0, held))
    assert not eligible(early, built(find(key), early))
