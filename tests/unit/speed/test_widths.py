"""Efficient widths, knee and HELL point, by hand and against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.speed.widths import efficient_widths, fastest_widths, hell_widths, knee_widths, smallest_widths

ONE_SERVER = np.array([1.0, 1.0, 1.9, 2.7, 3.4, 3.9, 4.2, 4.3])
"""A job whose second node is its server: two nodes are no faster than one."""

curves = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 4.1, 5.5, 8.0]), max_size=12).map(np.array)


def test_efficient_widths_step_over_the_server():
    assert efficient_widths(ONE_SERVER).tolist() == [1, 3, 4, 5, 6, 7, 8]
    assert efficient_widths(np.array([0.0, 0.0, 2.0, 1.0, 2.0, 3.0])).tolist() == [3, 6]
    assert efficient_widths(np.zeros(3)).tolist() == []


def test_the_walk_goes_on_where_the_printed_condition_sticks_at_one():
    times = 1 / ONE_SERVER
    printed = [(times[w] - times[w - 1]) / times[w - 1] for w in range(1, len(times))]
    assert printed[0] == 0  # the second node brings nothing: delta(2) >= alpha fails for every alpha above 0
    assert knee_widths(ONE_SERVER, 0.01)[-1] == 8
    # gains a node: 1 - (1/1.9)**(1/2) = .275, .296, .206, .128, .071, .023
    assert [int(knee_widths(ONE_SERVER, alpha)[-1]) for alpha in (0.3, 0.21, 0.2, 0.1, 0.05)] == [1, 4, 5, 6, 7]


def test_the_walk_stops_at_the_first_shortfall():
    rates = np.array([1.0, 1.05, 2.0, 4.0])
    assert knee_widths(rates, 0.1)[-1] == 1  # 3 and 4 would be worth it, but 2 is not
    assert knee_widths(rates, 0.04)[-1] == 4


def test_added_nodes_are_averaged_geometrically():
    rates = np.array([1.0, 1.0, 1.0, 8.0])  # three nodes make it 8 times as fast: each halves the time
    assert knee_widths(rates, 0.5)[-1] == 4
    assert knee_widths(rates, 0.51)[-1] == 1


def test_budgets_from_none_to_all():
    assert knee_widths(ONE_SERVER, 0.1).tolist() == [0, 1, 1, 3, 4, 5, 6, 6, 6]
    assert fastest_widths(ONE_SERVER).tolist() == [0, 1, 1, 3, 4, 5, 6, 7, 8]
    assert smallest_widths(np.array([0.0, 1.0, 2.0])).tolist() == [0, 0, 2, 2]
    assert hell_widths(np.array([1.0, 1.0, 1.9, 2.7])).tolist() == [0, 1, 1, 3, 4]  # w / X**2: 1, 2, .83, .55


def test_hell_of_a_linear_speed_up_takes_all_and_of_a_root_takes_one():
    widths = np.arange(1.0, 9)
    assert hell_widths(widths)[-1] == 8
    assert hell_widths(np.sqrt(widths) * 0.999 ** (widths - 1))[-1] == 1


@given(rates=curves)
def test_hell_is_the_least_of_width_times_time_squared(rates):
    found = hell_widths(rates)
    for budget in range(len(rates) + 1):
        legal = [w for w in range(1, budget + 1) if rates[w - 1] > 0]
        best = min(legal, key=lambda w: (w / rates[w - 1] ** 2, w), default=0)
        assert found[budget] == best


@given(rates=curves)
def test_the_others_are_what_they_say(rates):
    fastest, smallest = fastest_widths(rates), smallest_widths(rates)
    for budget in range(len(rates) + 1):
        legal = [w for w in range(1, budget + 1) if rates[w - 1] > 0]
        assert smallest[budget] == min(legal, default=0)
        assert fastest[budget] == min(legal, key=lambda w: (-rates[w - 1], w), default=0)


@given(rates=curves, alpha=st.sampled_from([0.01, 0.1, 0.3, 0.6]))
def test_the_knee_is_efficient_and_never_grows_with_alpha(rates, alpha):
    knee, tighter = knee_widths(rates, alpha), knee_widths(rates, alpha * 1.5)
    assert set(knee.tolist()) <= {0, *efficient_widths(rates).tolist()}
    assert (tighter <= knee).all()
    assert (np.diff(knee) >= 0).all()


def test_a_curve_without_widths():
    for widths in (hell_widths, fastest_widths, smallest_widths):
        assert widths(np.zeros(0)).tolist() == [0]
        assert widths(np.zeros(2)).tolist() == [0, 0, 0]
    assert knee_widths(np.zeros(2), 0.1).tolist() == [0, 0, 0]


@pytest.mark.parametrize("alpha", [1e-9, 0.999])
def test_the_ends_of_alpha(alpha):
    assert knee_widths(ONE_SERVER, alpha)[-1] == (8 if alpha < 0.5 else 1)
