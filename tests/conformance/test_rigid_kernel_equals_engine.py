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
from dlsched.domain.policy import ListRule
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.workload import Workload
from dlsched.policies.baselines import orders
from dlsched.policies.baselines.conservative import conservative
from dlsched.policies.baselines.policy import ListPolicy
from dlsched.policies.registry import find
from dlsched.sim.kernels import eligible, run_kernel
from dlsched.sim.log import PieceEnd, RunLog
from dlsched.sim.prepare import Prepared, Underway, prepare
from dlsched.sim.simulate import run_policy
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


def test_bookings_are_made_anew_when_a_running_job_is_past_its_believed_end():
    """b was booked for the end of a, c for the whole node behind it. As a goes on, e has room now, then beside b."""
    rows = [
        ("a", 0, 300, 100, 3),
        ("b", 1, 50, 50, 3),
        ("c", 2, 100, 100, 4),
        ("d", 3, 300, 300, 1),
        ("e", 160, 40, 40, 1),
    ]
    prepared = on_nodes(rows, nodes=1, gpus=4)
    check_equal(prepared, "conservative", {})
    assert starts(prepared, engine_log(find("conservative"), prepared)) == {
        "a": 0,
        "b": 300,
        "c": 350,
        "d": 450,
        "e": 160,
    }


def test_jobs_past_their_believed_end_may_all_end_now():
    """e is booked where a was to end at 120; then it may go there or where d was to end at 130, and a's node is fuller.

    So g has room beside d. Nothing has happened on d's node since the loop last looked at it, at 4.
    """
    rows = [
        ("a", 0, 400, 120, 5),
        ("b", 0, 1000, 1000, 1),
        ("c", 0, 1000, 1000, 5),
        ("d", 0, 400, 130, 4),
        ("h", 0, 2, 2, 1),
        ("e", 3, 100, 100, 5),
        ("f", 4, 500, 500, 1),
        ("g", 160, 50, 50, 2),
    ]
    prepared = on_nodes(rows, nodes=3, gpus=6)
    check_equal(prepared, "conservative", {})
    began = starts(prepared, engine_log(find("conservative"), prepared))
    assert began == {"a": 0, "b": 0, "c": 0, "d": 0, "h": 0, "e": 400, "f": 4, "g": 160}


def test_a_job_may_start_sooner_than_a_longer_one_that_needs_as_many_nodes():
    """b is booked at 100 on all nodes but one, so that c waits for its end, and d ends before it begins.

    c and d are among the longest few of many jobs, so that the loop looks for both from the same bound on.
    """
    short = [(f"short{number}", 1000 + 20 * number, 10, 10, 1) for number in range(40)]
    rows = [("a", 0, 100, 100, 2), ("b", 1, 50, 50, 4), ("c", 2, 120, 120, 2), ("d", 3, 90, 90, 2), *short]
    prepared = on_nodes(rows, nodes=5, gpus=1)
    check_equal(prepared, "conservative", {})
    began = starts(prepared, engine_log(find("conservative"), prepared))
    assert [began[job] for job in "abcd"] == [0, 100, 150, 3]


def test_a_new_job_that_comes_first_is_booked_before_all_others():
    """b is booked for the whole node when a ends, c behind it; d comes with a higher priority, and has room now."""
    rows = [("a", 0, 100, 100, 3), ("b", 1, 50, 50, 4), ("c", 2, 300, 300, 1), ("d", 3, 120, 120, 1)]
    prepared = on_nodes(rows, nodes=1, gpus=4, priority=[1, 1, 1, 2])
    rule = ListRule("priority", blocking=True, backfill="conservative")
    by_engine = run_policy(prepared, ListPolicy(orders.by_priority, conservative, rule), use_kernel=False)
    assert first_difference(by_engine, run_kernel(prepared, rule)) == ""
    assert starts(prepared, by_engine) == {"a": 0, "b": 123, "c": 173, "d": 3}


def on_nodes(rows: list[tuple[str, int, int, int, int]], nodes: int, gpus: int, **more: list[int]) -> Prepared:
    """Return jobs, each with name, submission, run time, limit and GPUs, on nodes under best-fit."""
    names = ("job_id", "submit_s", "work", "limit_s", "workers")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    cluster = Cluster(pools=(Pool(vm=VmType(name="node", gpus=gpus), count=nodes),))
    return prepare(Scenario(Workload.from_columns({**columns, **more}), cluster, SimulationRules(placement="best-fit")))


def starts(prepared: Prepared, log: RunLog) -> dict[str, float]:
    """Return when each job began, by name."""
    names = prepared.scenario.workload.job_id[log.piece_row].tolist()
    return dict(zip(names, log.piece_start_s.tolist(), strict=True))


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
