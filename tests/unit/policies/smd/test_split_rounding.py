"""Algorithm 2: whole numbers at random, within the limit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.policies.smd.problem import Choice, Split
from dlsched.policies.smd.ratios import Relaxed, approximate
from dlsched.policies.smd.rounding import lemma_3, round_up_or_down, theorem_4_ratio
from dlsched.policies.smd.split import exact
from tests.support.split_problems import real_problems, whole_problems

ROOMY = Split("sync", [1, 0, 0, 0, 16], [1], [1], [99])  # w + 16/w


def at(workers, servers):
    return Relaxed(workers, servers, math.nan, 0.0, (), (), 0)


def rng(seed=0):
    return np.random.default_rng(seed)


def test_the_best_of_the_draws_is_kept():
    assert round_up_or_down(ROOMY, at(3.5, 1), rng()) == Choice(4, 1, 8)  # 3 would take 8.33
    assert round_up_or_down(ROOMY, at(4.5, 1), rng()) == Choice(4, 1, 8)  # 5 would take 8.2


def test_whole_numbers_stay():
    assert round_up_or_down(ROOMY, at(6.0, 7.0), rng()) == Choice(6, 7, ROOMY.time_of(6, 7))


def test_draws_that_exceed_the_limit_do_not_count():
    tight = Split("sync", [1, 0, 0, 0, 99], [1, 0], [0, 1], [3.6, 9])
    assert round_up_or_down(tight, at(3.6, 1), rng()).workers == 3  # 4 would be faster


def test_without_a_draw_within_the_limit_both_are_rounded_down():
    # up with a probability of all but 1e-6 each, and up never fits
    tight = Split("async", [1, 1, 1, 1], [1, 0], [0, 1], [2.999999, 3.999999])
    assert round_up_or_down(tight, at(2.999999, 3.999999), rng(), draws=3) == Choice(2, 3, tight.time_of(2, 3))


def test_up_as_often_as_what_is_behind_the_point():
    free = Split("async", [1, 1, 1, 1], [1], [1], [99])
    generator = rng(3)
    found = [round_up_or_down(free, at(2.3, 5.8), generator, draws=1) for _ in range(4_000)]
    assert np.mean([choice.workers == 3 for choice in found]) == pytest.approx(0.3, abs=0.03)
    assert np.mean([choice.servers == 6 for choice in found]) == pytest.approx(0.8, abs=0.03)
    assert np.mean([(choice.workers, choice.servers) == (3, 6) for choice in found]) == pytest.approx(0.24, abs=0.03)


def test_m_delta_shrinks_what_is_rounded():
    free = Split("async", [1, 1, 1, 1], [1], [1], [99])
    assert round_up_or_down(free, at(8, 4), rng(), m_delta=0.5) == Choice(4, 2, free.time_of(4, 2))
    assert round_up_or_down(free, at(1.5, 1), rng(), m_delta=0.01) == Choice(1, 1, free.time_of(1, 1))


def test_no_draw_is_lost_to_less_than_one():
    free = Split("async", [1, 1, 1, 1], [1], [1], [99])
    found = [round_up_or_down(free, at(15, 1), rng(seed), m_delta=0.1, draws=1) for seed in range(400)]
    assert {choice.servers for choice in found} == {1}
    assert np.mean([choice.workers == 2 for choice in found]) == pytest.approx(0.5, abs=0.1)


@given(whole_problems() | real_problems(), st.integers(0, 9), st.sampled_from((0.2, 0.7, 1.0)))
def test_keeps_the_limit_and_has_one_of_each(problem, seed, m_delta):
    relaxed = approximate(problem, 0.5)
    found = round_up_or_down(problem, relaxed, rng(seed), m_delta)
    assert problem.feasible(found.workers, found.servers)
    assert found.time == problem.time_of(found.workers, found.servers)
    assert found.time >= exact(problem).time * (1 - 1e-11)
    assert found == round_up_or_down(problem, relaxed, rng(seed), m_delta)
    if m_delta == 1:
        assert abs(found.workers - relaxed.workers) < 1 + 1e-6
        assert abs(found.servers - relaxed.servers) < 1 + 1e-6


def test_lemma_3_by_hand():
    # two limits; the fewest that one allows alone: min(20/1, 20/2, 30/3) = 10; as printed
    problem = Split("async", [1, 1, 1, 1], [1, 0], [2, 3], [20, 30])
    share = 3 * math.log(2 * 2 / 0.5) / (2 * 10)
    assert lemma_3(problem, 0.5) == pytest.approx(1 + share - math.sqrt(share**2 + 3 * math.log(8) / 10))
    assert lemma_3(problem, 0.5) == pytest.approx(0.4627, abs=5e-5)


@given(real_problems(), st.floats(1e-6, 1))
def test_lemma_3_is_a_share_that_grows_with_delta(problem, delta):
    assert 0 < lemma_3(problem, delta / 2) < lemma_3(problem, delta) < 1


def test_lemma_3_keeps_the_limit_as_often_as_it_says():
    problem = Split("async", [0, 0, 1, 0], [1], [1], [40], most_servers=39)
    delta = 0.5
    scaled = lemma_3(problem, delta) * np.array([39.0, 1.0])
    draws = np.floor(scaled) + (rng(1).random((20_000, 2)) < scaled % 1)
    assert (draws.sum(axis=1) > 40).mean() <= delta / (2 * len(problem.rows))


def test_theorem_4_by_hand():
    assert theorem_4_ratio(1, 1) == 28
    assert theorem_4_ratio(0.5, 0.5) == 104


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: round_up_or_down(ROOMY, at(2, 2), rng(), m_delta=0), "m_delta: must be above 0 and at most 1, got 0"),
        (lambda: round_up_or_down(ROOMY, at(2, 2), rng(), m_delta=1.1), "m_delta: must be above 0 and at most 1"),
        (lambda: round_up_or_down(ROOMY, at(2, 2), rng(), draws=0), "draws: must be at least 1, got 0"),
        (
            lambda: round_up_or_down(ROOMY, at(99.5, 2), rng()),
            "relaxed: exceeds the limit with 99.5 workers and 2 servers. Give the answer of Algorithm 1",
        ),
        (lambda: lemma_3(ROOMY, 0), "delta: must be above 0 and at most 1, got 0"),
        (lambda: theorem_4_ratio(1, math.nan), "delta: must be above 0 and at most 1, got nan"),
    ],
    ids=["m_delta-0", "m_delta-above-1", "no-draws", "other-problem", "delta-0", "delta-nan"],
)
def test_what_is_refused(call, message):
    with pytest.raises(InputError) as caught:
        call()
    assert message in str(caught.value)
