"""Measurements: what is refused, what is averaged, what is found, means of profiled times by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dlsched.domain.errors import InputError
from dlsched.speed.measurements import MOST_MEASURED_WORKERS, Measurements, mean_times


def measured(points: dict[float, float]) -> Measurements:
    return Measurements(np.array(list(points)), np.array(list(points.values())))


def test_repeated_numbers_of_workers_are_averaged_and_sorted():
    found = Measurements(np.array([4, 1, 4, 2]), np.array([3.0, 1.0, 5.0, 2.0]))
    assert found.workers.tolist() == [1, 2, 4]
    assert found.throughput.tolist() == [1, 2, 4]
    assert found.runs.tolist() == [1, 1, 2]
    assert len(found) == 3


def test_a_fall_is_named_with_its_numbers():
    found = measured({1: 5, 4: 13, 5: 13.2, 6: 12.8, 7: 12.7}).findings
    assert len(found) == 1
    assert found[0].startswith(
        "Throughput falls from 13.2 mini-batches/s at 5 workers to 12.8 at 6: the exact and hybrid"
    )


def test_growth_above_linear_is_named_by_its_worst_point():
    found = measured({1: 5, 2: 10.5, 4: 22, 8: 40}).findings
    assert found == ("Throughput grows faster than the workers: 4.4 times from 1 worker to 4; no network does that",)
    assert "from 2 workers to 4" in measured({2: 5, 4: 11}).findings[0]


def test_a_usual_curve_has_no_finding():
    assert measured({1: 5, 2: 10, 4: 13, 8: 13}).findings == ()


@pytest.mark.parametrize(
    ("workers", "rates", "message"),
    [
        ([1, 2], [1.0], "two lists of one length"),
        ([[1, 2]], [[1.0, 2.0]], "two lists of one length"),
        ([], [], "a fit needs 2 different numbers of workers, got 0"),
        ([3, 3, 3], [1.0, 1.0, 2.0], "a fit needs 2 different numbers of workers, got 1"),
        ([1, 0], [1.0, 2.0], "measurement 2, workers: must be a whole number from 1 to 1,000, got 0"),
        ([1, 2.5], [1.0, 2.0], "got 2.5"),
        ([1, MOST_MEASURED_WORKERS + 1], [1.0, 2.0], "got 1001"),
        ([1, np.nan], [1.0, 2.0], "measurement 2, workers"),
        ([1, 2], [1.0, 0.0], "measurement 2, throughput: must be from 1e-06 to 1,000,000 mini-batches/s, got 0"),
        ([1, 2], [-1.0, 1.0], "measurement 1, throughput"),
        ([1, 2], [1.0, np.nan], "measurement 2, throughput"),
        ([1, 2], [1.0, np.inf], "measurement 2, throughput"),
    ],
)
def test_bad_measurements(workers, rates, message):
    with pytest.raises(InputError) as raised:
        Measurements(np.array(workers), np.array(rates))
    assert message in str(raised.value)


def test_means_of_profiled_times_with_their_intervals():
    """Two rows 1 and 3: mean 2, standard error 1, t of one degree of freedom 12.706: half width 6.353 of the mean."""
    found = mean_times(np.array([[1.0, 2.0, 0.0, 5.0], [3.0, 2.0, 0.0, 5.0]]))
    assert list(found.times.stations_s) == [2, 2, 0, 5]
    assert found.half_widths == pytest.approx([6.3531, 0, 0, 0], abs=1e-4)
    assert found.rows == 2


def test_one_row_has_no_interval():
    found = mean_times(np.array([[1.0, 2.0, 0.0, 5.0]]))
    assert list(found.times.stations_s) == [1, 2, 0, 5]
    assert np.isnan(found.half_widths).all()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros((0, 4)), "must be rows of 4 times"),
        (np.ones((2, 3)), "must be rows of 4 times"),
        (np.ones(4), "must be rows of 4 times"),
        (np.array([[1.0, 2, 3, 4], [1, -2, 3, 4]]), "profiled row 2, uplink_s: must be 0 or more and finite, got -2"),
        (np.array([[1.0, 2, 3, np.inf]]), "profiled row 1, downlink_s"),
        (np.zeros((3, 4)), "the four times must sum to"),
    ],
)
def test_bad_profiled_times(rows, message):
    with pytest.raises(InputError) as raised:
        mean_times(rows)
    assert message in str(raised.value)
