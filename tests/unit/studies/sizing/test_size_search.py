"""Which sizes are tried: the cheapest where more is never worse, and only what meets over all futures comes back."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.studies.sizing.answer import Counts
from dlsched.studies.sizing.headroom import last_good
from dlsched.studies.sizing.search import OutOfRuns, below, cheapest, smallest
from tests.support.size_runs import GivenTrials, one


@given(least=st.integers(0, 5), span=st.integers(0, 40), start=st.integers(0, 60), limit=st.integers(0, 60))
def test_one_type_finds_the_smallest_and_tries_few(least: int, span: int, start: int, limit: int) -> None:
    span_of = one(least, max(1, least + span))
    trials = GivenTrials(lambda counts: counts[0] >= limit)
    found = cheapest(trials, [span_of], (start,))
    assert found == (None if limit > span_of.most else (max(limit, least),))
    assert len(trials.asked) <= 2 * (span_of.most - least + 1).bit_length() + 4
    if found is not None:
        assert set(below([span_of], found)[:1]) <= trials.asked


@given(st.data())
def test_several_types_cost_what_the_best_of_all_combinations_costs(data: st.DataObject) -> None:
    types = data.draw(st.integers(2, 3))
    ranges = [one(low := data.draw(st.integers(0, 2)), low + data.draw(st.integers(1, 5)), f"nodes.{n}")
              for n in range(types)]  # fmt: skip
    corners = data.draw(st.lists(st.tuples(*[st.integers(0, 7)] * types), max_size=4))
    prices = data.draw(st.tuples(*[st.sampled_from([0.0, 1.0, 1.5, 2.0, 7.0])] * types))
    start = data.draw(st.tuples(*[st.integers(0, 9)] * types))

    def good(counts: Counts) -> bool:
        return any(all(a >= b for a, b in zip(counts, corner, strict=True)) for corner in corners)

    trials = GivenTrials(good, prices)
    found = cheapest(trials, ranges, start)
    every = [counts for counts in product(*(range(r.least, r.most + 1) for r in ranges)) if good(counts)]
    if not every:
        assert found is None
    else:
        assert found is not None
        assert good(found)
        assert trials.cost(found) == min(map(trials.cost, every))


def test_of_two_types_only_few_sizes_are_run() -> None:
    trials = GivenTrials(lambda counts: 3 * counts[0] + 5 * counts[1] >= 61, (2.0, 3.0))
    found = cheapest(trials, [one(0, 30, "nodes.a"), one(0, 20, "nodes.b")], (8, 0))
    assert found == (2, 11)  # 37 dollars; 12 b alone 36 fall short by one
    assert len(trials.asked) < 80  # of 651


@given(st.data())
def test_whatever_verdicts_and_guesses_only_a_good_size_with_none_just_below_comes_back(
    data: st.DataObject,
) -> None:
    types = data.draw(st.integers(1, 2))
    ranges = [one(1, data.draw(st.integers(2, 12 if types == 1 else 5)), f"nodes.{n}") for n in range(types)]
    every = list(product(*(range(r.least, r.most + 1) for r in ranges)))

    def drawn() -> dict[Counts, bool]:
        return dict(
            zip(every, data.draw(st.lists(st.booleans(), min_size=len(every), max_size=len(every))), strict=True)
        )

    good, guess, served = drawn(), drawn(), drawn()
    trials = GivenTrials(good.__getitem__, tuple(range(1, types + 1)), guess.__getitem__, served.__getitem__)
    found = cheapest(trials, ranges, data.draw(st.sampled_from(every)))
    if found is not None:
        assert good[found]
        assert not any(good[counts] for counts in (below(ranges, found)[:1] if types == 1 else below(ranges, found)))


def test_a_size_that_misses_over_all_futures_gives_way_to_the_next_larger_one() -> None:
    trials = GivenTrials(lambda counts: counts[0] >= 9, guess=lambda counts: counts[0] >= 7)
    assert cheapest(trials, [one(1, 40)], (4,)) == (9,)
    assert trials.in_full == {(7,), (8,), (9,), (10,)}


def test_an_unlucky_guess_is_put_right_by_all_futures() -> None:
    """A few futures say 8, all of them 6: the answer goes down to it."""
    trials = GivenTrials(lambda counts: counts[0] >= 6, guess=lambda counts: counts[0] >= 8)
    assert cheapest(trials, [one(1, 40)], (4,)) == (6,)
    assert cheapest(GivenTrials(lambda counts: False, guess=lambda counts: counts[0] >= 8), [one(1, 40)], (4,)) is None
    only_top = GivenTrials(lambda counts: counts[0] >= 3, guess=lambda counts: False)
    assert cheapest(only_top, [one(1, 4)], (2,)) == (3,)


def test_a_cost_that_falls_again_is_looked_for_above_the_smallest_that_serves() -> None:
    """From 6 nodes on all serve; lateness makes the total cost too high below 15 and above 25."""
    trials = GivenTrials(lambda counts: 15 <= counts[0] <= 25, served=lambda counts: counts[0] >= 6)
    assert cheapest(trials, [one(1, 40)], (8,)) == (15,)
    rising = GivenTrials(lambda counts: False, served=lambda counts: counts[0] >= 6, falls=False)
    assert cheapest(rising, [one(1, 40)], (8,)) is None
    assert (max(rising.asked), rising.in_full) == ((8,), {(6,)})


def test_the_staircase_looks_at_its_best_with_the_runs_kept_back() -> None:
    def good(counts: Counts) -> bool:
        return 2 * counts[0] + 3 * counts[1] >= 24

    ranges = [one(0, 20, "nodes.a"), one(0, 10, "nodes.b")]
    free = cheapest(GivenTrials(good, (1.0, 1.0)), ranges, (5, 0))
    short = GivenTrials(good, (1.0, 1.0), most_asked=6)
    found = cheapest(short, ranges, (5, 0))
    assert free == (0, 8)
    assert found is not None
    assert good(found)
    assert short.reserve_used
    with pytest.raises(OutOfRuns):
        cheapest(GivenTrials(lambda counts: counts[0] >= 30, most_asked=2), [one(1, 40)], (1,))


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.data())
def test_a_bracket_ends_between_a_bad_and_a_good_count(good: list[bool], data: st.DataObject) -> None:
    """Also where good and bad counts alternate."""
    found = smallest(lambda count: good[count], 0, len(good) - 1, data.draw(st.integers(0, len(good) - 1)))
    if found is None:
        assert not good[-1]
    else:
        assert good[found]
        assert found == 0 or not good[found - 1]


@given(st.lists(st.booleans(), min_size=2, max_size=80), st.data())
def test_headroom_ends_between_the_last_good_and_the_first_bad_load(good: list[bool], data: st.DataObject) -> None:
    """The first of them is known to be good."""
    good[0] = True
    start = data.draw(st.integers(1, len(good)))
    last, first = last_good(lambda step: good[step - 1], start, 1, len(good))
    if first is None:
        assert last == len(good)
        assert good[-1]
    else:
        assert first == last + 1
        assert good[last - 1]
        assert not good[first - 1]
