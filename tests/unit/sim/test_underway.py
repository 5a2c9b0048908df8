"""Runs that are joined in the middle: from there on they go on as the run that they are a part of."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.plan import Share
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.policies.registry import find
from dlsched.sim import kernels
from dlsched.sim.audit import audit
from dlsched.sim.log import RunLog
from dlsched.sim.prepare import Prepared, Underway, prepare
from dlsched.sim.simulate import run_policy
from dlsched.testing.logs import first_difference
from tests.support.elastic_scenarios import one_gpu_nodes
from tests.support.eventful_scenarios import joined
from tests.support.sim_fakes import jobs, nodes, scenario

POLICIES = ("fifo", "easy-backfill", "conservative", "fifo-skip", "sjf", "srtf", "drf")
"""Policies that decide by what there is, not by what they remember."""


def random_scenario(seed: int, nodes: int = 3, count: int = 30) -> Scenario:
    rng = np.random.default_rng(seed)
    work = rng.integers(1, 60, count).astype(float)
    columns = {
        "job_id": [f"j{row}" for row in range(count)],
        "submit_s": np.sort(rng.integers(0, 150, count)).astype(float),
        "work": work,
        "limit_s": np.ceil(work * rng.uniform(1, 3, count)),
        "workers": rng.choice([1, 2, 4, 6], count),
    }
    return Scenario(Workload.from_columns(columns), Cluster(pools=(Pool(vm=VmType(name="n", gpus=4), count=nodes),)))


def run(prepared: Prepared, key: str, **more: Any) -> RunLog:
    spec = find(key)
    return run_policy(prepared, spec.build(spec.parse({})), **more)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(POLICIES), st.integers(5, 140), st.booleans())
def test_a_joined_run_goes_on_as_the_whole_run(seed: int, key: str, at: int, kernel: bool) -> None:
    whole = prepare(random_scenario(seed))
    log = run(whole, key, use_kernel=False)
    at_s = at + 0.5  # between two events
    if key == "srtf" and len(np.unique(log.piece_row)) < len(log.piece_row):
        return  # what was stopped has work done that a joined run does not know of
    part, rows = joined(whole, log, at_s)
    if not len(rows) or part.scenario.workload.submit_s[0] > at_s:
        return
    rest = run(part, key, use_kernel=kernel)
    np.testing.assert_allclose(rest.job_first_start_s, log.job_first_start_s[rows])
    np.testing.assert_allclose(rest.job_end_s, log.job_end_s[rows])


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from(("fifo", "easy-backfill", "conservative", "las", "sjf")),
    st.integers(5, 140),
)
def test_the_kernel_writes_the_log_of_the_engine_and_the_audit_agrees(seed: int, key: str, at: int) -> None:
    whole = prepare(random_scenario(seed))
    part, rows = joined(whole, run(whole, "fifo"), at + 0.5)
    if not len(rows) or part.scenario.workload.submit_s[0] > at + 0.5:
        return
    engine = run(part, key, use_kernel=False)
    assert first_difference(engine, run(part, key)) == ""
    assert audit(part.scenario, part.truth, engine, len(rows)) == []
    assert (engine.decision_s >= at + 0.5).all()


@pytest.mark.parametrize("seed", range(6))
def test_slurm_goes_on_but_for_the_phase_of_its_passes(seed: int) -> None:
    whole = prepare(random_scenario(seed))
    log = run(whole, "slurm", use_kernel=False)
    part, rows = joined(whole, log, 60.5)
    rest = run(part, "slurm")
    np.testing.assert_allclose(rest.job_first_start_s, log.job_first_start_s[rows], atol=3.5)
    assert audit(part.scenario, part.truth, rest, len(rows)) == []


def test_a_row_that_runs_keeps_its_own_node_until_its_end() -> None:
    prepared = prepare(scenario(jobs((0, 100, 2), (3, 30, 2), (4, 10, 4)), nodes(2, gpus=4)))
    # Placed anew, all would be on node 0, and the whole node could start at once.
    held = {0: (2.0, (Share(1, 2),)), 1: (5.0, (Share(0, 2),))}
    log = run(dataclasses.replace(prepared, underway=Underway(20.0, held)), "fifo")
    assert log.job_first_start_s.tolist() == [2.0, 5.0, 35.0]
    assert log.job_end_s.tolist() == [102.0, 35.0, 45.0]


def test_loops_that_cannot_join_leave_it_to_the_engine() -> None:
    spec = find("hell-malleable")
    policy = spec.build(spec.parse({}))
    whole = prepare(scenario(jobs((0, 10, 1), (1, 10, 2)), one_gpu_nodes(4)))
    assert kernels.eligible(whole, policy)
    assert not kernels.eligible(dataclasses.replace(whole, underway=Underway(5.0, {})), policy)
