"""The lower bound on total cost where policies choose workers and servers: by hand and by trying all gangs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.scenario import SpeedSpec
from dlsched.speed.parameter_server import ParameterServer, held
from dlsched.studies.simulation import simulate
from tests.support.server_scenarios import machines, training, with_servers

UTILITY = {"utility_1": [10.0], "utility_2": [1.0], "utility_3": [1.0]}


def speed_of(jobs: Any, *, synchronous: bool = True) -> ParameterServer:
    return ParameterServer.of(jobs, synchronous=synchronous, speeds=(1.0,))


def test_more_servers_than_asked_for_are_cheaper_than_the_request():
    # 1 worker, p servers: 6 + 1 + 1 / p + 0.01 p s, least at p = 10; the request, p = 1, needs 8.01
    jobs = training((0, 100, 1, 1), server_overhead_s=[0.01], limit_gpus=[1.0], **UTILITY)
    assert speed_of(jobs).least_times_s(0) == pytest.approx((7.2, 7.2))
    run = simulate(with_servers(jobs, placement="pool"), "smd")
    assert run.log.piece_servers.tolist() == [10]
    assert run.metrics["total_cost_bound"] == pytest.approx(720 / 3600 / 8)  # a node of 8 GPUs at $1 an hour
    assert run.audit() == []


def test_asynchronous_workers_are_cheapest_together():
    # w workers make a step every (6 / w + 1 + w / p) / w s; their GPU-seconds fall with w
    jobs = training((0, 100, 1, 1), max_workers=[4], cpus_per_server=[0.0])
    assert speed_of(jobs, synchronous=False).least_times_s(0) == pytest.approx((2.5 / 4, 2.5), rel=1e-9)
    scenario = with_servers(jobs, machines(), SpeedSpec(kind="parameter-server", updates="async"))
    run = simulate(scenario, "hell-malleable")
    assert run.metrics["total_cost_bound"] == pytest.approx(250 / 3600 / 8)
    assert run.audit() == []  # the bound is below the cost


seconds = st.sampled_from([0.0, 0.01, 0.3, 1.0, 5.0])


@settings(max_examples=200)
@given(st.tuples(seconds, seconds, seconds, seconds, seconds), st.booleans(), st.integers(0, 2**32 - 1))
def test_no_legal_gang_is_faster_or_cheaper(terms: tuple[float, ...], synchronous: bool, seed: int):
    rng = np.random.default_rng(seed)
    names = ("batch_s", "transfer_s", "worker_overhead_s", "server_overhead_s", "spread_s")
    columns = {name: [value] for name, value in zip(names, terms, strict=True)} | {"step_s": [0.5]}
    columns |= {"workers_per_server": [rng.choice([np.nan, 1.0, 2.5])], "min_workers": [int(rng.integers(1, 3))]}
    columns |= {"limit_cpus": [float(rng.integers(5, 40))]}
    speed = speed_of(training((0, 1, 2, 1), max_workers=[int(rng.integers(2, 12))], **columns), synchronous=synchronous)
    jobs, one = speed.jobs, np.array([0])
    least, worker_seconds = np.inf, np.inf
    for workers in range(1, 13):
        for servers in range(1, 41):
            if speed.legal(0, workers, servers):
                assert (held(jobs, 0, workers, servers) <= jobs.limit[0] + 1e-6).all()
                step_s = float(speed.terms.step_time_s(one, np.array([workers]), np.array([servers]))[0])
                between_s = step_s if synchronous else step_s / workers
                least, worker_seconds = min(least, between_s), min(worker_seconds, between_s * workers)
    assert speed.least_times_s(0) == pytest.approx((least, worker_seconds))


def test_a_largest_width_beyond_all_sense_costs_no_memory():
    run = simulate(with_servers(training((0, 10, 2, 1), max_workers=[10**9])), "fifo")
    assert run.metrics["completed"] == 1
    assert speed_of(run.scenario.workload).limits()[1].tolist() == [100_000]
    assert run.audit() == []
