"""Learning speed curves job by job."""

from __future__ import annotations

import numpy as np
import pytest

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.elastic_queueing.curves import CurveBook, by_hell, by_time
from dlsched.speed.widths import fastest_widths, hell_widths

LAWS: dict[int, Floats] = {
    0: np.array([0.0, 1.0, 1.5]),
    1: np.array([0.0, 1.0, 1.5, 0.0]),
    2: np.array([0.0, 0.0, 2.0, 1.0, 3.0, 2.5]),
    3: np.array([0.0, 1.0, 1.5]),
    4: np.zeros(1),
}


def rate(rows: Ints, workers: Ints) -> Floats:
    return np.array([LAWS[row][w] if w < len(LAWS[row]) else 0.0 for row, w in zip(rows, workers, strict=True)])


def test_equal_curves_share_a_row_and_wider_ones_widen_the_tables():
    book = CurveBook(fastest_widths, by_time, 2)
    book.add(np.array([0, 1]), rate)
    assert book.of(np.array([0, 1])).tolist() == [0, 0]
    assert book.curves.width.tolist() == [[0, 1, 2]]
    book.add(np.array([2, 3, 4]), rate, np.ones(3, dtype=np.int64), np.array([9, 2, 0]))
    assert book.of(np.arange(5)).tolist() == [0, 0, 1, 0, 2]
    assert book.curves.width.tolist() == [[0, 1, 2, 2, 2, 2], [0, 0, 2, 2, 4, 4], [0, 0, 0, 0, 0, 0]]
    assert book.curves.rate.tolist() == [[0, 1, 1.5, 0, 0, 0], [0, 0, 2, 1, 3, 2.5], [0, 0, 0, 0, 0, 0]]
    assert book.curves.weight[1].tolist() == pytest.approx([0, np.inf, 0.5, 1, 1 / 3, 0.4])
    assert book.smallest(np.arange(5)).tolist() == [1, 1, 2, 1, 0]
    assert book.fastest(np.arange(5)).tolist() == [2, 2, 4, 2, 0]
    assert [book.efficient(curve).tolist() for curve in range(3)] == [[1, 2], [2, 4], []]


def test_only_the_legal_widths_are_asked_for():
    asked: list[tuple[int, int]] = []

    def listening(rows: Ints, workers: Ints) -> Floats:
        asked.extend(zip(rows.tolist(), workers.tolist(), strict=True))
        return np.ones(len(rows))

    book = CurveBook(hell_widths, by_hell)
    book.add(np.array([0, 1]), listening, np.array([2, 4]), np.array([3, 4]))
    assert asked == [(0, 2), (0, 3), (1, 4)]
    assert book.smallest(np.arange(2)).tolist() == [2, 4]


def test_the_weight_of_hell_counts_from_the_smallest_legal_width():
    # S/E with E(w) = S(2) 2 / (w S(w)): at the smallest width itself it is S(2)
    weights = by_hell(np.array([0.0, 2.0, 2.5, 4.0]))
    assert weights.tolist() == pytest.approx([np.inf, 1 / 2, (3 / 2) * 2 / 2.5**2, (4 / 2) * 2 / 16])


def test_curves_are_tables_and_not_endless():
    book = CurveBook(fastest_widths, by_time)
    with pytest.raises(InputError, match="row 1: needs 70,000 workers; policies of this family handle at most 65,536"):
        book.add(np.array([0]), rate, np.array([70_000]), np.array([70_000]))
    book.add(np.array([0]), rate, np.array([70_000]), np.array([0]))  # can never fit: no curve
    assert book.smallest(np.array([0])).tolist() == [0]


def test_hundreds_of_curves_on_a_large_cluster_stay_small():
    book = CurveBook(fastest_widths, by_time)
    count, widest = 300, 2_000
    largest = np.arange(widest - count, widest)
    book.add(np.arange(count), lambda rows, workers: np.sqrt(workers), np.ones_like(largest), largest)
    assert sum(table.nbytes for table in book.curves) <= 3 * 8 * count * widest
    assert book.fastest(np.arange(count)).tolist() == largest.tolist()
