"""Requests above the user's own limit, and what fails or is taken back where work counts training steps."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.domain.randomness import job_uniforms
from dlsched.domain.scenario import Scenario, SpeedSpec
from dlsched.domain.workload import CPU, GPU, Workload
from dlsched.sim.audit import audit
from dlsched.sim.prepare import prepare
from dlsched.studies.simulation import simulate
from tests.support.server_scenarios import machines, training, with_servers

UTILITY = {"utility_1": [10.0] * 2, "utility_2": [1.0] * 2, "utility_3": [1.0] * 2}


def narrow(**options: Any) -> Scenario:
    """Return a, which holds 2 x 3 + 1 = 7 CPUs where 5 are allowed, and b, which holds 3 of 10."""
    jobs = training((0, 10, 3, 1), (0, 10, 1, 1), limit_cpus=[5.0, 10.0], min_workers=[1, 1], max_workers=[8, 8])
    return with_servers(jobs.with_columns(**UTILITY), **options)


# ---- requests ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["fifo", "srtf", "easy-backfill", "hell-malleable", "modelarts-greedy"])
def test_a_request_above_the_limit_is_refused_before_the_run(policy: str):
    with pytest.raises(InputError, match=r"1 job of 2.*the first is 'a' with 3 workers and 1 parameter servers"):
        simulate(narrow(), policy)


@pytest.mark.parametrize("kind", ["rigid", "scaling", "parameter-server"])
@pytest.mark.parametrize(("oversize", "gangs"), [("drop", {"b": (1, 1)}), ("cap", {"a": (2, 1), "b": (1, 1)})])
def test_dropped_or_capped_to_what_the_limit_holds(kind: Any, oversize: str, gangs: dict[str, tuple[int, int]]):
    run = simulate(narrow(oversize=oversize).replace(speed=SpeedSpec(kind=kind)), "fifo")
    log, names = run.log, run.prepared.scenario.workload.job_id
    rows = zip(log.piece_row.tolist(), log.piece_workers.tolist(), log.piece_servers.tolist(), strict=True)
    assert {names[row]: (workers, servers) for row, workers, servers in rows} == gangs
    assert run.audit() == []


def test_who_chooses_gangs_itself_needs_no_request_within_the_limit():
    run = simulate(narrow(placement="pool"), "smd")
    assert run.metrics["completed"] == 2
    assert run.audit() == []


@pytest.mark.parametrize("policy", ["hell-malleable", "srpt-all-nodes", "waterfill"])
def test_no_job_grows_above_its_limit(policy: str):
    jobs = Workload.from_columns(
        {"job_id": ["a"], "submit_s": [0.0], "work": [100.0], "workers": [2], "max_workers": [8], "limit_gpus": [3.0]}
    )
    run = simulate(Scenario(jobs, machines(), speed=SpeedSpec(kind="scaling")), policy)
    assert run.log.piece_workers.max() == 3
    assert run.audit() == []


def test_a_job_that_no_gang_is_small_enough_for_is_rejected_without_a_slowdown():
    jobs = training((0, 10, 1, 1), (0, 10, 1, 1), limit_cpus=[2.5, 10.0]).with_columns(**UTILITY)
    run = simulate(with_servers(jobs, placement="pool"), "smd")
    assert (run.metrics["rejected"], run.metrics["completed"]) == (1, 1)
    assert run.audit() == []


@given(
    st.tuples(st.integers(1, 6), st.integers(0, 6), st.integers(0, 3), st.integers(0, 3)),
    st.sampled_from([None, 1.0, 2.5]),
    st.tuples(st.floats(0.5, 40), st.sampled_from([np.nan, 1.0, 4.5, 30.0])),
    st.integers(0, 40),
)
def test_the_widest_within_the_limit_is_that_of_trying_all(gang, ratio, limits, most):
    workers, servers, of_worker, of_server = gang
    columns = {"cpus_per_worker": [of_worker * 1.0], "cpus_per_server": [of_server * 1.0]}
    columns |= {"limit_cpus": [limits[0]], "limit_gpus": [limits[1]]}
    jobs = training((0, 1, workers, servers), **columns, workers_per_server=[np.nan if ratio is None else ratio])
    amounts = [
        (width, width * of_worker + int(jobs.servers_for(0, width)) * of_server, float(width))
        for width in range(1, most + 1)
    ]
    limit = jobs.limit[0]
    fitting = [width for width, cpus, gpus in amounts if cpus <= limit[CPU] + 1e-6 and gpus <= limit[GPU] + 1e-6]
    assert jobs.widest_within_limit(np.array([most])).tolist() == [max(fitting, default=0)]


def test_a_server_for_hardly_any_worker_asks_for_no_more_servers_than_can_be_counted():
    jobs = training((0, 1, 2, 1), workers_per_server=[1e-300])
    assert int(jobs.servers_for(0, 2)) == 10**9


# ---- seconds, not steps ------------------------------------------------------------------------------------------


def test_bug_jobs_die_within_seconds_and_not_steps():
    # a step of 2 workers and 1 server takes 6/2 + 1 + 2 = 6 s
    given_ = with_servers(training((0, 1000, 2, 1)), bug_share=1.0, bug_within_s=60.0)
    draw_s = 60.0 * job_uniforms(0, "bug", np.array(["a"], dtype=object), 2)[0, 1]
    run = simulate(given_, "fifo")
    assert run.log.job_end_s[0] == pytest.approx(draw_s)
    assert run.truth.work[0] == pytest.approx(draw_s / 6)


def test_users_take_jobs_back_within_twice_their_run_time():
    given_ = with_servers(training((5, 1000, 2, 1)), cancel_share=1.0)
    draw = job_uniforms(0, "cancel", np.array(["a"], dtype=object), 2)[0, 1]
    assert prepare(given_).truth.cancel_s[0] == pytest.approx(5 + 2 * draw * 6000)


# ---- audit -------------------------------------------------------------------------------------------------------


def test_the_audit_sees_who_blocks_more_than_its_limit():
    run = simulate(with_servers(training((0, 10, 1, 1), limit_cpus=[5.0]), placement="pool"), "fifo")
    blocked = np.zeros((1, 4))
    blocked[0, CPU] = 2.0  # 3 CPUs held of 5
    checked = run.prepared.scenario, run.truth
    assert audit(*checked, dataclasses.replace(run.log, piece_blocked=blocked)) == []
    blocked[0, CPU] = 3.0
    found = audit(*checked, dataclasses.replace(run.log, piece_blocked=blocked.copy()))
    assert "blocks 3 cpus beyond its use, above its user's limit" in found[0]


def test_the_audit_wants_one_column_a_resource_of_what_is_blocked():
    run = simulate(with_servers(training((0, 10, 1, 1)), placement="pool"), "fifo")
    found = audit(run.prepared.scenario, run.truth, dataclasses.replace(run.log, piece_blocked=np.zeros((1, 3))))
    assert "piece_blocked has the shape (1, 3)" in found[0]
