"""Steps per second with parameter servers, by hand (SMD, Eqs. 4, 5; PD-ORS, Eq. 1)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import SpeedSpec
from dlsched.speed import build_speed
from dlsched.speed.parameter_server import WIDEST, most_workers
from dlsched.testing.scenarios import many
from tests.support.server_scenarios import training


def model(jobs, updates="sync", **more):
    return build_speed(SpeedSpec(kind="parameter-server", updates=updates), jobs, **more)


ONE = training((0, 100, 3, 2), worker_overhead_s=[0.1], server_overhead_s=[0.05], spread_s=[0.7])
FULL_S = 6 / 3 + 1 + 3 / 2 + 0.3 + 0.1


@pytest.mark.parametrize(("updates", "steps"), [("sync", 1), ("async", 3)])
def test_equations_4_and_5_and_a_spread_gang(updates, steps):
    speed = build_speed(SpeedSpec(kind="parameter-server", updates=updates), ONE, (_vm(1.0), _vm(2.0)))
    assert speed.rate(0, 3, 2, {0}) == pytest.approx(steps / FULL_S)
    assert speed.rate(0, 3, 2, {1}) == pytest.approx(2 * steps / FULL_S)
    assert speed.rate(0, 3, 2, {0, 1}, 2) == pytest.approx(steps / (FULL_S + 0.7))


def _vm(speed):
    from dlsched.domain.cluster import VmType

    return VmType(name=f"vm{speed:g}", speed=speed)


def test_eq_1_of_pd_ors_is_the_asynchronous_law_with_a_ratio():
    # a worker trains 1 / (tau + 2 g gamma / (b F)) samples a second; far 10 times slower than near
    tau, near, far = 0.2, 0.01, 0.1
    jobs = training((0, 100, 4, 2), batch_s=[0.0], transfer_s=[0.0], step_s=[tau + near], spread_s=[far - near],
                    workers_per_server=[2.0])  # fmt: skip
    speed = model(jobs, "async", vm_types=(_vm(1.0),))
    assert speed.rate(0, 4, 2, {0}) == pytest.approx(4 / (tau + near))
    assert speed.rate(0, 4, 2, {0}, 3) == pytest.approx(4 / (tau + far))
    assert not speed.legal(0, 5, 2)
    assert speed.rate(0, 5, 2, {0}) == 0
    assert speed.legal(0, 5, 3)


def test_limits_count_workers_and_servers():
    jobs = training((0, 1, 2, 1), limit_gpus=[4.0], limit_cpus=[9.0])
    speed = model(jobs)
    # CPUs: 2 w + p <= 9, GPUs: w <= 4
    assert [speed.legal(0, w, p) for w, p in ((4, 1), (4, 2), (3, 3), (5, 1), (3, 0))] == [
        True,
        False,
        True,
        False,
        False,
    ]
    assert [limit.tolist() for limit in speed.limits()] == [[1], [4]]
    assert most_workers(jobs, np.array([4])).tolist() == [2]


def test_widths_bring_servers_in_the_requested_ratio():
    jobs = training((0, 1, 4, 2), (0, 1, 3, 1), workers_per_server=[np.nan, 2.0])
    assert jobs.servers_for(np.array([0, 0, 0, 1, 1]), np.array([4, 5, 1, 3, 8])).tolist() == [2, 3, 1, 2, 4]
    speed = model(jobs)
    assert speed.rates(np.array([0]), np.array([5]))[0] == pytest.approx(1 / (6 / 5 + 1 + 5 / 3))
    assert speed.limits()[1].tolist() == [WIDEST, WIDEST]


def test_rates_agree_with_single_gangs_and_fastest_is_the_best_of_them():
    given = many(12, seed=3)
    speed = build_speed(given.speed, given.workload, given.cluster.vm_types)
    _, high = speed.limits()
    for row in range(12):
        widths = np.arange(1, high[row] + 2)
        servers = given.workload.servers_for(np.full(len(widths), row), widths)
        single = [speed.rate(row, int(w), int(p), {0}) for w, p in zip(widths, servers, strict=True)]
        assert speed.rates(np.full(len(widths), row), widths) == pytest.approx(single)
        assert speed.fastest()[row] == pytest.approx(max(single))


@given(
    terms=st.lists(st.floats(0, 1e3), min_size=3, max_size=3).filter(any), w=st.integers(1, 50), p=st.integers(1, 50)
)
def test_asynchronous_is_w_times_synchronous(terms, w, p):
    jobs = training((0, 1, w, p), batch_s=terms[:1], step_s=terms[1:2], transfer_s=terms[2:])
    both = [model(jobs, updates, vm_types=(_vm(1.0),)).rate(0, w, p, {0}) for updates in ("sync", "async")]
    assert both[1] == pytest.approx(w * both[0])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"servers": [0]}, "has no parameter servers"),
        ({"batch_s": [0.0], "step_s": None, "transfer_s": None}, "step time of 0 s"),
    ],
)
def test_jobs_the_law_cannot_time(columns, message):
    jobs = training((0, 1, 2, 1)).with_columns(**columns)
    with pytest.raises(InputError, match=message):
        model(jobs)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"servers": [-1]}, "servers.*at least 0"),
        ({"cpus_per_server": [-1.0]}, "cpus_per_server"),
        ({"limit_cpus": [0.0]}, "limit_cpus.*above 0"),
        ({"workers_per_server": [-2.0]}, "workers_per_server"),
        ({"transfer_s": [np.inf]}, "transfer_s"),
    ],
)
def test_bad_columns(columns, message):
    with pytest.raises(InputError, match=message):
        training((0, 1, 2, 1), **columns)
