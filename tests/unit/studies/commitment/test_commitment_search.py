"""The search over whole numbers: what it looks at, and what it promises."""

from __future__ import annotations

import numpy as np
import pytest

from dlsched.studies.commitment.search import EVERY_UP_TO, least, usual_looks


@pytest.mark.parametrize("seed", range(20))
def test_every_number_finds_the_least_and_a_coarse_search_one_without_a_better_neighbour(seed: int) -> None:
    """Also of functions with many dips; both ends are looked at."""
    most = 17 + 11 * seed
    values = np.random.default_rng(seed).random(most + 1)
    found = least(lambda number: (float(values[number]),), most, every=True)
    assert sorted(found) == list(range(most + 1))
    assert min(found, key=lambda number: found[number]) == values.argmin()
    coarse = least(lambda number: (float(values[number]),), most)
    best = min(coarse, key=lambda number: coarse[number])
    assert {0, most, *(number for number in (best - 1, best + 1) if 0 <= number <= most)} <= set(coarse)
    assert len(coarse) <= 3 * usual_looks(most)
    assert all(values[best] <= values[number] for number in coarse)


@pytest.mark.parametrize("least_at", [0, 1, 37, 200, 399, 400])
def test_of_a_function_with_one_dip_a_coarse_search_finds_the_least(least_at: int) -> None:
    found = least(lambda number: (abs(number - least_at),), 400)
    assert min(found, key=lambda number: found[number]) == least_at
    assert len(found) < 30


def test_few_numbers_are_all_looked_at_once() -> None:
    looked: list[int] = []

    def rank(number: int) -> tuple[int]:
        looked.append(number)
        return (0,)

    assert sorted(least(rank, EVERY_UP_TO)) == sorted(looked) == list(range(EVERY_UP_TO + 1))
    assert usual_looks(EVERY_UP_TO) == len(looked)
    assert sorted(least(rank, 0)) == [0]
