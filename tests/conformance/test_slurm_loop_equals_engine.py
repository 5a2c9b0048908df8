"""The loop for the policy slurm and the engine write the same log."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.cluster import Cluster, Pool
from dlsched.domain.plan import WaitReason
from dlsched.domain.scenario import Scenario
from dlsched.domain.slurm import (
    SlurmAssociation,
    SlurmLimits,
    SlurmOptions,
    SlurmPartition,
    SlurmQos,
    SlurmReservation,
    SlurmSetup,
)
from dlsched.policies.registry import find
from dlsched.sim.audit import audit
from dlsched.sim.kernels import eligible, run_kernel
from dlsched.sim.log import JobStatus, PieceEnd, RunLog
from dlsched.sim.prepare import Prepared, prepare
from dlsched.testing.logs import first_difference
from dlsched.testing.scenarios import ABSENCES, fixed_nodes, many, scenario
from tests.support.conformance_scenarios import built, engine_log, kernel_scenarios
from tests.support.eventful_scenarios import eventful, joined_at

SPEC = find("slurm")
PARAMS: tuple[dict[str, Any], ...] = (
    {},
    {"bf_interval": 7.0, "sched_interval": 11.0, "batch_sched_delay": 2.0, "bf_resolution": 5.0, "phase": 3.0},
    {"PriorityWeightAge": 100.0, "PriorityMaxAge_s": 50.0, "PriorityCalcPeriod_s": 10.0, "PriorityWeightJobSize": 30.0},
    {"PriorityWeightFairshare": 1000.0, "PriorityCalcPeriod_s": 10.0, "PriorityDecayHalfLife_s": 40.0},
    {"PriorityWeightFairshare": 1000.0, "PriorityFlags": "NO_FAIR_TREE", "PriorityCalcPeriod_s": 10.0},
    {"MaxJobsPerUser": 1, "defer": "YES", "default_queue_depth": 2, "bf_max_job_test": 3},
    {"MaxGPUsPerUser": 3.0, "bf_max_job_user": 2, "SchedulerType": "sched/builtin"},
    {"closed_hours": "0- all 0-1", "monday": -3550.0},
)


def check_equal(drawn: Scenario, params: dict[str, Any]) -> None:
    check_run(prepare(drawn), params)


def check_run(prepared: Prepared, params: dict[str, Any]) -> RunLog:
    """Compare both ways of running it and return the log."""
    policy = built(SPEC, prepared, params)
    assert eligible(prepared, policy)
    assert policy.kernel_rule is not None
    by_engine, by_loop = engine_log(SPEC, prepared, params), run_kernel(prepared, policy.kernel_rule)
    assert first_difference(by_engine, by_loop) == ""
    assert (by_engine.start_s, by_engine.end_s) == pytest.approx((by_loop.start_s, by_loop.end_s))
    assert by_engine.stalled == by_loop.stalled
    assert by_engine.journal == by_loop.journal
    assert by_loop.stalled or audit(prepared.scenario, prepared.truth, by_loop, len(prepared.scenario.workload)) == []
    return by_loop


@settings(max_examples=40)
@given(drawn=kernel_scenarios(), params=st.sampled_from(PARAMS), users=st.lists(st.sampled_from("abc"), min_size=25))
def test_small_workloads_with_many_ties(drawn: Scenario, params: dict[str, Any], users: list[str]):
    jobs = drawn.workload.with_columns(user=users[: len(drawn.workload)])
    check_equal(drawn.replace(workload=jobs), params)


@pytest.mark.parametrize("params", PARAMS, ids=lambda params: next(iter(params), "defaults"))
@pytest.mark.parametrize("feature", ["estimates", "bugs"])
def test_standard_scenario_with_nodes_that_go_away(feature: str, params: dict[str, Any]):
    check_equal(scenario(feature, fixed_nodes(8, 8, 4, absences=ABSENCES)), params)


def test_where_much_happens_to_jobs_and_nodes():
    ends = set[int]()
    for number in range(80):
        prepared = eventful(number)
        if len(prepared.scenario.workload):
            ends |= set(check_run(prepared, PARAMS[number % len(PARAMS)]).piece_end.tolist())
    assert {PieceEnd.COMPLETED, PieceEnd.FAILED, PieceEnd.CANCELLED, PieceEnd.NODE_LOST, PieceEnd.RUN_ENDED} <= ends


def test_jobs_that_are_stopped_for_others():
    statuses, ends = set[int](), set[int]()
    for number in range(40):
        modes: list[Any] = [("CANCEL", "REQUEUE")[number % 2], None, ("REQUEUE", "CANCEL", "OFF")[number % 3]]
        setup = SlurmSetup(
            options=SlurmOptions(
                PreemptType=("preempt/partition_prio", "preempt/qos")[number // 2 % 2], PreemptMode=modes[0]
            ),
            partitions=(
                SlurmPartition(name="p", PriorityTier=2, PreemptMode=modes[1]),
                SlurmPartition(name="q", PriorityTier=1, PreemptMode=modes[2]),
            ),
            qos=(SlurmQos(name="high", Preempt=("low",)), SlurmQos(name="low", PreemptMode=modes[2])),
        )
        prepared = eventful(number)
        dice, count = np.random.default_rng(number), len(prepared.scenario.workload)
        if not count:
            continue
        jobs = prepared.scenario.workload.with_columns(
            partition=dice.choice(["p", "q"], count), job_class=dice.choice(["high", "low"], count)
        )
        pools = tuple(pool.model_copy(update={"partition": "p|q"}) for pool in prepared.scenario.cluster.pools)
        cluster = Cluster(pools=pools, absences=prepared.scenario.cluster.absences)
        log = check_run(prepare(prepared.scenario.replace(workload=jobs, cluster=cluster, slurm=setup)), {})
        statuses |= set(log.job_status.tolist())
        ends |= set(log.piece_end.tolist())
    assert JobStatus.REJECTED in statuses
    assert PieceEnd.PREEMPTED in ends


def test_runs_that_are_joined_in_the_middle():
    compared = 0
    for number in range(60):
        prepared = joined_at(number)
        if prepared is not None:
            check_run(prepared, PARAMS[number % len(PARAMS)])
            compared += 1
    assert compared > 40


@pytest.mark.parametrize("updates", ["sync", "async"])
def test_jobs_with_parameter_servers(updates: Literal["sync", "async"]):
    for seed in range(4):
        check_equal(many(30, seed, updates), {})


def test_cores_of_a_user_are_limited_alike():
    given = scenario()
    rng = np.random.default_rng(6)
    count = len(given.workload)
    jobs = given.workload.with_columns(
        cpus_per_worker=rng.choice([1.0, 2.0, 4.0], count), user=rng.choice(["ann", "bob"], count)
    )
    limits = {"MaxCPUsPerUser": 6.0, "MaxJobsPerUser": 3}
    check_equal(given.replace(workload=jobs), limits)
    prepared = prepare(given.replace(workload=jobs))
    assert (engine_log(SPEC, prepared, limits).wait_reason == WaitReason.OVER_LIMIT).any()


def test_jobs_beyond_a_given_limit_never_start_in_both():
    given = scenario()
    count = len(given.workload)
    jobs = given.workload.with_columns(group=["lab"] * count)
    most = float(jobs.gpus.max())
    limits = SlurmLimits(GrpTRES={"gres/gpu": most - 1})
    setup = SlurmSetup(associations=(SlurmAssociation(account="lab", limits=limits),))
    prepared = prepare(given.replace(workload=jobs, slurm=setup))
    log = check_run(prepared, {})
    beyond = np.flatnonzero(jobs.gpus == most)
    assert np.array_equal(np.unique(log.wait_row[log.wait_reason == WaitReason.BEYOND_LIMIT]), beyond)
    assert np.array_equal(np.flatnonzero(log.job_status == JobStatus.UNFINISHED), beyond)
    assert audit(prepared.scenario, prepared.truth, log, count) == []


def test_partitions_qos_limits_and_reservations():
    given = scenario()
    rng = np.random.default_rng(4)
    count = len(given.workload)
    jobs = given.workload.with_columns(
        partition=rng.choice(["a", "b", "a|b"], count),
        job_class=rng.choice(["high", "low"], count),
        group=rng.choice(["x", "y"], count),
        nice=rng.choice([0.0, 50.0], count),
    )
    vm = given.cluster.pools[0].vm
    cluster = Cluster(
        pools=(
            Pool(vm=vm, count=2, partition="a", nodes="a[1-2]"),
            Pool(vm=vm, count=2, partition="a|b", nodes="b[1-2]"),
        )
    )
    setup = SlurmSetup(
        options=SlurmOptions(PriorityWeightQOS=100, PriorityWeightPartition=50, PriorityCalcPeriod_s=20.0),
        partitions=(SlurmPartition(name="a", PriorityTier=2), SlurmPartition(name="b", exclusive=True, QOS="low")),
        qos=(
            SlurmQos(name="high", Priority=10, limits=SlurmLimits(GrpJobs=2)),
            SlurmQos(name="low", limits=SlurmLimits(MaxTRESPU={"gres/gpu": 6})),
        ),
        reservations=(SlurmReservation(name="r", nodes="a1,b[1-2]", start_s=200.0, end_s=900.0, users=("ann",)),),
        node_weights={"a[1-2]": 5},
        switches={"left": "a1,b1", "right": "a2,b2"},
    )
    check_equal(given.replace(workload=jobs, cluster=cluster, slurm=setup), {})
