"""Placement rules by hand and against enumeration."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.placement.rules import RULES, Ask, holds_all


def place(rule, free, workers, capacity=None, demand=(1.0, 0.0, 0.0), allowed=None):
    free = np.array([[gpus, np.inf, np.inf] for gpus in free], dtype=float)
    full = np.array([[gpus, np.inf, np.inf] for gpus in (capacity or [8] * len(free))], dtype=float)
    mask = None if allowed is None else np.array(allowed)
    return RULES[rule](free, full, asks(full, workers, demand, (0,), mask))


def asks(capacity, workers, demand, binding, allowed=None):
    ask = Ask(workers, demand, binding, binding, allowed, outgrows=False)
    return ask._replace(outgrows=not holds_all(capacity, ask).any())


@pytest.mark.parametrize(
    ("rule", "free", "workers", "picks"),
    [
        pytest.param("best-fit", [8, 3, 5, 3], 3, [(1, 3)], id="best-fit: fewest free that fit, lowest number"),
        pytest.param("best-fit", [2, 3, 4, 7], 8, None, id="best-fit: a job no larger than a node is not split"),
        pytest.param("best-fit", [8, 7, 8, 8], 20, [(0, 8), (2, 8), (3, 4)], id="best-fit: whole empty, rest on one"),
        pytest.param("best-fit", [8, 7, 8, 7], 20, None, id="best-fit: the rest also needs an empty node"),
        pytest.param("pool", [2, 0, 3, 7], 6, [(0, 2), (2, 3), (3, 1)], id="pool: first fit, split anywhere"),
        pytest.param("pool", [2, 0, 3, 0], 6, None, id="pool: total too small"),
        pytest.param("pack", [8, 6, 6], 5, [(1, 5)], id="pack: one node, the fullest"),
        pytest.param("pack", [8, 6, 6], 12, [(1, 6), (2, 6)], id="pack: two nodes do, fullest first"),
        pytest.param("pack", [8, 1, 6, 2], 13, [(2, 6), (0, 7)], id="pack: fewest nodes before fullest"),
        pytest.param("pack", [1, 1, 1], 4, None, id="pack: no room"),
        pytest.param("spread", [2, 8, 5], 3, [(1, 1), (2, 1), (0, 1)], id="spread: one each, emptiest first"),
        pytest.param("spread", [2, 8, 5], 2, [(1, 1), (2, 1)], id="spread: the two emptiest"),
        pytest.param("spread", [1, 8, 5], 8, [(1, 4), (2, 3), (0, 1)], id="spread: rounds of one a node"),
        pytest.param("spread", [1, 0, 1], 3, None, id="spread: no room"),
    ],
)
def test_by_hand(rule, free, workers, picks):
    assert place(rule, free, workers) == picks


def test_larger_than_a_node_means_larger_than_every_allowed_node():
    # 6 workers fit node 0 (capacity 8), so they wait for it rather than take the empty 4s
    assert place("best-fit", [5, 4, 4], 6, capacity=[8, 4, 4]) is None
    # when node 0 is not allowed, 6 is larger than every node
    assert place("best-fit", [5, 4, 4], 6, [8, 4, 4], allowed=[False, True, True]) == [(1, 4), (2, 2)]


def test_all_resources_count():
    free = np.array([[8.0, 3.0, 64.0], [8.0, 8.0, 64.0]])
    ask = asks(free, 2, (1.0, 2.0, 10.0), (0, 1, 2))
    assert RULES["best-fit"](free, free, ask) == [(1, 2)]
    assert RULES["pool"](free, free, ask) == [(0, 1), (1, 1)]
    assert RULES["spread"](free, free, ask) == [(0, 1), (1, 1)]


def test_fractions_add_up():
    free = np.array([[1 - 0.1 - 0.2, np.inf, np.inf]])
    assert RULES["best-fit"](free, free, asks(free, 1, (0.7, 0.0, 0.0), (0,))) == [(0, 1)]


sizes = st.lists(st.integers(0, 4), min_size=1, max_size=5)


@given(sizes, st.integers(1, 12), st.sampled_from(sorted(RULES)))
def test_what_is_placed_fits_and_is_the_whole_job(free, workers, rule):
    picks = place(rule, free, workers, capacity=[4] * len(free))
    if picks is None:
        if rule in ("pool", "pack", "spread"):
            assert sum(free) < workers
        return
    assert sum(count for _, count in picks) == workers
    assert len({node for node, _ in picks}) == len(picks)
    assert all(0 < count <= free[node] for node, count in picks)


@given(sizes, st.integers(1, 12))
def test_pack_uses_fewest_nodes_and_spread_most(free, workers):
    subsets = [s for size in range(1, len(free) + 1) for s in combinations(range(len(free)), size)]
    enough = [s for s in subsets if sum(free[node] for node in s) >= workers]
    packed, spread = place("pack", free, workers), place("spread", free, workers)
    if not enough:
        assert packed is None
        assert spread is None
        return
    fewest = min(len(s) for s in enough)
    assert len(packed) == fewest
    # among the sets of that size, compared from the fullest node on, none is fuller
    rooms = min(sorted(free[node] for node in s) for s in enough if len(s) == fewest)
    assert sorted(free[node] for node, _ in packed) == rooms
    assert len(spread) == min(workers, sum(room > 0 for room in free))
    assert {free[node] for node, _ in spread} <= set(sorted(free, reverse=True)[: len(spread)])


@given(sizes, st.integers(1, 4))
def test_best_fit_takes_the_fullest_node_that_fits(free, workers):
    fitting = [(room, node) for node, room in enumerate(free) if room >= workers]
    picks = place("best-fit", free, workers, capacity=[4] * len(free))
    assert picks == ([(min(fitting)[1], workers)] if fitting else None)
