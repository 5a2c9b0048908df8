"""Measures of a replay: values by hand, against scipy, and what must hold of any waits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from dlsched.studies.calibration.measures import Measures, explained_share, measures, rank_correlation
from tests.support.known import known

PAIRS = st.lists(st.tuples(st.integers(0, 50_000), st.integers(0, 50_000)), min_size=1, max_size=40)


def of(recorded: list[float], replayed: list[float], never_start: int = 0) -> Measures:
    return known(measures(np.array(recorded, float), np.array(replayed, float), never_start))


def test_five_jobs_by_hand() -> None:
    # With the minute: 60, 120, 660, 1260, 6060 against 60, 240, 1320, 2520 + 1, 606: factors 1, 2, 2, over 2, 10.
    found = of([0, 60, 600, 1200, 6000], [0, 180, 1260, 2461, 546], never_start=3)
    assert (found.jobs, found.never_start) == (5, 3)
    assert found.typical_factor == pytest.approx(2)
    assert found.mean_factor == pytest.approx((1 * 2 * 2 * (2521 / 1260) * 10) ** 0.2)
    assert found.within_2x == pytest.approx(3 / 5)  # 2521 / 1260 is above 2
    # Over 10 min in either: the last three; in the record the last two, as 600 s is not over 600 s.
    assert (found.long_waits, found.recorded_long_waits) == (3, 2)
    assert found.within_2x_of_long == pytest.approx(1 / 3)
    assert found.mean_ratio == pytest.approx((4447 / 5 + 60) / (7860 / 5 + 60))
    assert found.rank_correlation == pytest.approx(0.7)  # 1 - 6 (0 + 0 + 1 + 1 + 4) / (5 x 24)
    residual = 120**2 + 660**2 + 1261**2 + 5454**2
    spread = sum((wait - 1572) ** 2 for wait in (0, 60, 600, 1200, 6000))
    assert found.explained == pytest.approx(1 - residual / spread)
    assert (found.recorded_p95_s, found.replayed_p95_s) == pytest.approx((5040, 2220.8))


def test_nothing_and_one_job() -> None:
    assert measures(np.zeros(0), np.zeros(0)) is None
    one = of([700], [700])
    assert (one.explained, one.rank_correlation, one.within_2x_of_long) == (None, None, 1)
    assert of([5], [7]).within_2x_of_long is None


def graded(explained: float, typical_factor: float, ranks: float | None, **more: int) -> str:
    plain = of([900] * 30, [900] * 30)
    return plain.model_copy(
        update={"explained": explained, "typical_factor": typical_factor, "rank_correlation": ranks, **more}
    ).grade


@pytest.mark.parametrize(
    ("numbers", "grade"),
    [
        ((0.8, 1.5, 0.1), "replays"),
        ((0.79, 1.0, 0.5), "ranks"),
        ((0.99, 1.51, 0.5), "ranks"),
        ((0.99, 1.51, 0.49), "fails"),
        ((-3.0, 9.0, None), "fails"),
    ],
)
def test_grades_at_their_thresholds(numbers: tuple[float, float, float | None], grade: str) -> None:
    assert graded(*numbers) == grade
    assert graded(*numbers, jobs=19) == "few"


@pytest.mark.parametrize(("long_waits", "grade"), [(0, "no-waits"), (1, "no-waits"), (2, "fails")])
def test_a_log_without_waits_contradicts_a_replay_with_waits(long_waits: int, grade: str) -> None:
    assert graded(0.9, 1.0, 0.9, recorded_long_waits=0, long_waits=long_waits) == grade  # of 30 jobs


def test_equal_waits_contradict_a_replay_that_is_far_from_them() -> None:
    assert of([3600] * 30, [3600 + n for n in range(30)]).grade == "no-waits"
    assert of([3600] * 30, [36_000 + n for n in range(30)]).grade == "fails"


@pytest.mark.parametrize(("lost", "grade"), [(1, "replays"), (2, "ranks")])
def test_a_replay_that_loses_jobs_does_not_replay_the_log(lost: int, grade: str) -> None:
    assert graded(1.0, 1.0, 1.0, never_start=lost) == grade  # beside 30 that start


@given(pairs=PAIRS)
def test_ranks_are_those_of_scipy(pairs: list[tuple[int, int]]) -> None:
    recorded, replayed = np.array(pairs, float).T
    assume(np.ptp(recorded) and np.ptp(replayed))
    assert rank_correlation(recorded, replayed) == pytest.approx(spearmanr(recorded, replayed).statistic, abs=1e-9)


@given(pairs=PAIRS)
def test_what_holds_of_any_waits(pairs: list[tuple[int, int]]) -> None:
    recorded, replayed = np.array(pairs, float).T
    there, back = of(recorded.tolist(), replayed.tolist()), of(replayed.tolist(), recorded.tolist())
    assert there.typical_factor >= 1
    assert there.mean_factor >= 1
    for name in ("typical_factor", "mean_factor", "within_2x", "long_waits"):
        assert getattr(there, name) == pytest.approx(getattr(back, name))
    assert there.mean_ratio == pytest.approx(1 / back.mean_ratio)
    if there.typical_factor <= 1.999:
        assert there.within_2x >= 0.5
    assert there.explained is None or there.explained <= 1


@given(waits=st.lists(st.integers(0, 50_000), min_size=1, max_size=40), ratio=st.floats(1, 9))
def test_a_replay_that_is_longer_by_a_factor_is_off_by_it(waits: list[int], ratio: float) -> None:
    recorded = np.array(waits, float)
    found = known(measures(recorded, (recorded + 60) * ratio - 60))
    assert (found.typical_factor, found.mean_factor, found.mean_ratio) == pytest.approx((ratio, ratio, ratio))
    if ratio > 1.001 and len(set(waits)) > 1:
        assert found.rank_correlation == pytest.approx(1)


def test_weights_are_jobs() -> None:
    alone = explained_share(np.array([1.0, 1, 4]), np.array([2.0, 2, 4]))
    assert explained_share(np.array([1.0, 4]), np.array([2.0, 4]), np.array([2.0, 1])) == pytest.approx(alone)
