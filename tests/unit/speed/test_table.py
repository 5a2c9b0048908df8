"""Rates from a table of run times."""

import numpy as np
import pytest
from pydantic import ValidationError

from dlsched.domain.cluster import VmType
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import SpeedSpec
from dlsched.domain.timetable import TimeTable
from dlsched.domain.workload import Workload
from dlsched.speed import build_speed

TIMES = TimeTable(rows={"a": {"K80": (4.0, 2.5), "M60": (2.0, 1.0, 0.8)}, "b": {"K80": (10.0,)}})
VMS = (
    VmType(name="k1", gpu_type="K80", gpus=1),
    VmType(name="m4", gpu_type="M60", gpus=4),
    VmType(name="k4", gpu_type="K80", gpus=4),
    VmType(name="t4", gpu_type="T4", gpus=4),
    VmType(name="fast", gpu_type="M60", gpus=4, speed=2.0),
)


def jobs(*profiles, **columns):
    count = len(profiles)
    given = {"job_id": [f"j{i}" for i in range(count)], "submit_s": [0.0] * count, "work": [10.0] * count}
    return Workload.from_columns({**given, "profile": list(profiles), **columns})


def model_of(*profiles, vms=VMS):
    return build_speed(SpeedSpec(kind="table", times=TIMES), jobs(*profiles), vms)


@pytest.mark.parametrize(
    ("gpus", "vms", "rate"),
    [
        pytest.param(1, {0}, 1 / 4, id="one K80"),
        pytest.param(2, {2}, 1 / 2.5, id="two K80"),
        pytest.param(3, {2}, 1 / 2.5, id="past the end of the row nothing more is gained"),
        pytest.param(3, {1}, 1 / 0.8, id="three M60"),
        pytest.param(3, {4}, 2 / 0.8, id="a machine type twice as fast"),
        pytest.param(2, {1, 2}, 1 / 2.5, id="the slowest node counts"),
        pytest.param(2, {3}, 0.0, id="no times on this GPU type"),
        pytest.param(4, {1}, 0.0, id="more than the whole table"),
        pytest.param(0, {1}, 0.0, id="nothing"),
    ],
)
def test_rates_by_type_and_gpus(gpus, vms, rate):
    model = model_of("b", "a")
    assert model.rate(1, gpus, 0, vms) == pytest.approx(rate)
    if len(vms) == 1:
        assert model.rates_on(np.array([1]), np.array([gpus]), *vms) == pytest.approx([rate])


def test_the_reference_is_the_fastest_type_at_hand():
    rows, gpus = np.array([0, 0, 1]), np.array([1, 3, 2])
    assert model_of("a", "b").rates(rows, gpus) == pytest.approx([1 / 2, 1 / 0.8, 1 / 10])
    only_k80 = model_of("a", "b", vms=VMS[:1])
    assert only_k80.rates(rows, gpus) == pytest.approx([1 / 4, 1 / 2.5, 1 / 10])
    assert only_k80.fastest() == pytest.approx([1 / 2.5, 1 / 10])
    assert model_of("a", "b", vms=()).fastest() == pytest.approx([1 / 0.8, 1 / 10])


def test_limits_and_legal_widths():
    model = model_of("a", "b")
    assert [limit.tolist() for limit in model.limits()] == [[1, 1], [3, 3]]
    assert [model.legal(1, gpus, 0) for gpus in (0, 1, 3, 4)] == [False, True, True, False]
    assert not model.legal(0, 1, 1)


def test_a_job_without_a_row_is_named():
    with pytest.raises(InputError, match="job j1, column profile: 'c' is not in the time table"):
        model_of("a", "c")
    bare = Workload.from_columns({"job_id": ["x"], "submit_s": [0], "work": [1]})
    with pytest.raises(InputError, match="no column 'profile'"):
        build_speed(SpeedSpec(kind="table", times=TIMES), bare, VMS)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        pytest.param({}, "at least one profile", id="empty"),
        pytest.param({"a": {}}, "'a' has no GPU type", id="no type"),
        pytest.param({"a": {"K80": ()}}, "has 0 times", id="no time"),
        pytest.param({"a": {"K80": (1.0, 0.0)}}, "with 2 GPUs: the time must be above 0, got 0", id="zero"),
        pytest.param({"a": {"K80": (-1.0,)}}, "with 1 GPUs: the time must be above 0, got -1", id="negative"),
        pytest.param({"a": {"K80": (float("inf"),)}}, "finite", id="infinite"),
    ],
)
def test_impossible_tables_are_refused(rows, words):
    with pytest.raises(ValidationError, match=words):
        TimeTable(rows=rows)


def test_a_speed_by_table_needs_the_table():
    with pytest.raises(ValidationError, match="needs run times"):
        SpeedSpec(kind="table")


def test_the_table_goes_by_gpus_and_not_by_workers():
    wide = jobs("a", "a", gpus_per_worker=[2.0, 0.5])
    model = build_speed(SpeedSpec(kind="table", times=TIMES), wide, VMS)
    assert model.rate(0, 1, 0, {2}) == pytest.approx(1 / 2.5)
    assert model.rate(1, 3, 0, {2}) == pytest.approx(1 / 2.5)  # one and a half GPUs count as two
    assert model.rates(np.array([0, 1]), np.array([1, 1])) == pytest.approx([1 / 1.0, 1 / 2])
    assert model.limits()[1].tolist() == [1, 6]
    assert model.fastest() == pytest.approx([1 / 1.0, 1 / 0.8])


def test_no_width_is_beyond_the_users_limit():
    model = build_speed(SpeedSpec(kind="table", times=TIMES), jobs("a", "a", limit_gpus=[np.nan, 2.0]), VMS)
    assert model.limits()[1].tolist() == [3, 2]
    assert [model.legal(row, 3, 0) for row in (0, 1)] == [True, False]
    assert model.rates(np.array([0, 1]), np.array([3, 3])).tolist() == [1 / 0.8, 0.0]
    assert model.fastest().tolist() == [1 / 0.8, 1.0]
