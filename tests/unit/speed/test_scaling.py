"""Rigid and scaling laws against hand calculations."""

import numpy as np
import pytest

from dlsched.domain.cluster import VmType
from dlsched.domain.scenario import SpeedSpec
from dlsched.domain.workload import Workload
from dlsched.speed import build_speed

VMS = (VmType(name="plain"), VmType(name="half", speed=0.5), VmType(name="double", speed=2.0))


def trace(workers, **columns):
    count = len(workers)
    given = {"job_id": [f"j{i}" for i in range(count)], "submit_s": [0.0] * count, "work": [10.0] * count}
    return Workload.from_columns({**given, "workers": workers, **columns})


def test_rigid_runs_only_at_the_requested_width():
    model = build_speed(SpeedSpec(), trace([4, 1]), VMS)
    assert [model.rate(0, width, 0, {0}) for width in (2, 4, 8)] == [0.0, 1.0, 0.0]
    assert model.rate(1, 1, 0, {1}) == 0.5
    assert model.rates_on(np.array([1, 0]), np.array([1, 2]), 2).tolist() == [2.0, 0.0]
    assert model.rates(np.array([0, 1, 1]), np.array([4, 4, 1])).tolist() == [1.0, 0.0, 1.0]
    assert [limit.tolist() for limit in model.limits()] == [[4, 1], [4, 1]]


@pytest.mark.parametrize(
    ("width", "rate"),
    [
        pytest.param(4, 1.0, id="as requested"),
        pytest.param(8, 1.6, id="one doubling: 2 x 0.8"),
        pytest.param(16, 2.56, id="two doublings: 1.6 x 1.6"),
        pytest.param(2, 0.625, id="half: 1 / 1.6"),
        pytest.param(1, 0.390625, id="quarter: 1 / 2.56"),
        pytest.param(17, 0.0, id="above floor(4 x 4)"),
        pytest.param(0, 0.0, id="nothing"),
    ],
)
def test_scaling_per_doubling(width, rate):
    model = build_speed(SpeedSpec(kind="scaling", efficiency=0.8, max_factor=4), trace([4]), VMS)
    assert model.rate(0, width, 0, {0}) == pytest.approx(rate)
    assert model.rates(np.array([0]), np.array([width])) == pytest.approx([rate])
    assert model.rate(0, width, 0, {2}) == pytest.approx(2 * rate)
    assert model.rates_on(np.array([0]), np.array([width]), 1) == pytest.approx([0.5 * rate])
    assert model.legal(0, width, 0) == (rate > 0)


def test_own_limits_win_and_the_default_largest_width_is_rounded_down():
    spec = SpeedSpec(kind="scaling", max_factor=1.5)
    assert [limit.tolist() for limit in build_speed(spec, trace([3, 1])).limits()] == [[1, 1], [4, 1]]
    own = trace([3, 1], min_workers=[2, 1], max_workers=[6, 2])
    assert [limit.tolist() for limit in build_speed(spec, own).limits()] == [[2, 1], [6, 2]]


def test_a_gang_is_as_fast_as_its_slowest_node():
    assert build_speed(SpeedSpec(), trace([1]), VMS).rate(0, 1, 0, {0, 1, 2}) == 0.5


def test_the_fastest_rate_is_that_of_the_largest_width():
    assert build_speed(SpeedSpec(), trace([4]), VMS).fastest().tolist() == [1.0]
    model = build_speed(SpeedSpec(kind="scaling", efficiency=0.8, max_factor=4), trace([4]), VMS)
    assert model.fastest() == pytest.approx([2.56])
