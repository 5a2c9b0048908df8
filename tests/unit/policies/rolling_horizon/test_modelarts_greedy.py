"""The four scenarios of the greedy allocator: both examples of Fig. 4, the limits, and what always holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.policies.rolling_horizon import problem as problems
from dlsched.policies.rolling_horizon.greedy import GreedyAnswer, greedy
from dlsched.policies.rolling_horizon.problem import Problem

WIDTHS = (1, 2, 4, 8, 16)


def problem(nodes: int, jobs: int, least: int | list[int] = 1, most: int | list[int] = 16) -> Problem:
    return problems.of(np.ones(jobs), nodes, WIDTHS, min_nodes=least, max_nodes=most)


def decide(given_: Problem, held: list[int], minutes: Sequence[float], *, repeated: bool = False) -> GreedyAnswer:
    return greedy(given_, np.array(held), 60 * np.array(minutes), repeated=repeated)


def test_figure_4_above_two_idle_nodes_go_to_the_job_that_trains_shortest():
    answer = decide(problem(10, 4), [2, 2, 2, 2], [15, 12, 5, 1])
    assert answer.nodes.tolist() == [2, 2, 2, 4]
    assert answer.scenarios == (2,)


def test_figure_4_below_the_job_that_trains_longest_is_halved_for_the_one_that_waits():
    answer = decide(problem(10, 4), [4, 4, 2, 0], [15, 12, 5, 0])
    assert answer.nodes.tolist() == [2, 4, 2, 2]
    assert answer.scenarios == (3,)


def test_scenario_1_gives_the_head_of_the_queue_all_it_can_and_goes_on():
    # 11 idle: 8 to the first, 2 of the 3 left to the second, the last node to the third; the fourth finds none,
    # and 16 nodes are halved for it, of which it gets 8
    answer = decide(problem(27, 5), [16, 0, 0, 0, 0], [9, 0, 0, 0, 0])
    assert answer.nodes.tolist() == [8, 8, 2, 1, 8]
    assert answer.scenarios == (1, 3)
    assert decide(problem(27, 4), [16, 0, 0, 0], [9, 0, 0, 0]).nodes.tolist() == [16, 8, 2, 1]


def test_scenario_2_passes_over_a_job_at_its_cap_and_goes_on_until_no_node_is_idle():
    # 9 idle: the youngest is at its cap of 2, the next grows 2 -> 8 (11 would do, 8 is a power of two), the next
    # 2 -> 4; the one node left doubles nobody
    answer = decide(problem(17, 4, most=[16, 16, 16, 2]), [2, 2, 2, 2], [15, 12, 5, 1])
    assert answer.nodes.tolist() == [2, 4, 8, 2]
    assert answer.scenarios == (2,)


def test_scenario_3_never_goes_below_the_least_a_job_needs_and_takes_the_next_oldest():
    answer = decide(problem(10, 4, least=[4, 1, 1, 1]), [4, 4, 2, 0], [15, 12, 5, 0])
    assert answer.nodes.tolist() == [4, 2, 2, 2]


def test_scenario_3_halves_at_least():
    # the first holds 3 and could go to 2, which is more than half; the second goes 4 -> 2
    given_ = problems.of(np.ones(3), 7, (2, 3, 4), min_nodes=2)
    assert decide(given_, [3, 4, 0], [15, 5, 0]).nodes.tolist() == [3, 2, 2]


def test_scenario_3_once_or_until_nobody_waits_or_can_be_halved():
    held, minutes = [4, 2, 0, 0, 0, 0], [15, 5, 0, 0, 0, 0]
    once = decide(problem(6, 6), held, minutes)
    assert once.nodes.tolist() == [2, 2, 2, 0, 0, 0]
    # 4 -> 2 starts one job with 2, 2 -> 1 another with 1, then the younger 2 -> 1 a third; nobody is left to halve
    repeated = decide(problem(6, 6), held, minutes, repeated=True)
    assert repeated.nodes.tolist() == [1, 1, 2, 1, 1, 0]


def test_scenario_3_saves_up_for_a_head_that_needs_more_than_one_half():
    # two nodes come free, the head needs four: it goes on waiting, and with 2 + 2 it runs
    given_ = problem(8, 3, least=[1, 1, 4])
    first = decide(given_, [4, 4, 0], [15, 5, 0])
    assert first.nodes.tolist() == [2, 4, 0]
    again = decide(given_, first.nodes.tolist(), [20, 10, 0])
    assert again.nodes.tolist() == [1, 4, 0]
    assert decide(given_, [4, 4, 0], [15, 5, 0], repeated=True).nodes.tolist() == [1, 2, 4]


def test_scenario_4_changes_nothing():
    answer = decide(problem(8, 2), [4, 4], [3, 5])
    assert answer.nodes.tolist() == [4, 4]
    assert answer.scenarios == (4,)


def test_ties_go_to_the_earlier_job():
    assert decide(problem(6, 2), [2, 2], [5, 5]).nodes.tolist() == [4, 2]
    assert decide(problem(8, 3), [4, 4, 0], [5, 5, 0]).nodes.tolist() == [2, 4, 2]


@st.composite
def states(draw: st.DrawFn) -> tuple[Problem, list[int], list[float]]:
    held = draw(st.lists(st.sampled_from([0, 0, 1, 2, 4, 8]), min_size=1, max_size=9))
    least = [draw(st.sampled_from([k for k in WIDTHS if k <= (width or 8)])) for width in held]
    most = [
        draw(st.sampled_from([k for k in WIDTHS if k >= max(width, low)]))
        for width, low in zip(held, least, strict=True)
    ]
    minutes = [draw(st.integers(0, 5)) if width else 0 for width in held]
    return problem(sum(held) + draw(st.integers(0, 20)), len(held), least, most), held, [float(m) for m in minutes]


@pytest.mark.parametrize("repeated", [False, True])
def test_who_starts_in_a_decision_is_not_halved_in_it(repeated: bool):
    # the first takes all 8 nodes; the second, which needs 2, waits for the next decision
    answer = decide(problem(8, 2, least=2), [0, 0], [0, 0], repeated=repeated)
    assert (answer.nodes.tolist(), answer.scenarios) == ([8, 0], (1,))


@given(state=states(), repeated=st.booleans())
def test_what_always_holds(state: tuple[Problem, list[int], list[float]], repeated: bool):
    given_, held, minutes = state
    before = np.array(held)
    nodes = decide(given_, held, minutes, repeated=repeated).nodes
    assert nodes.sum() <= given_.nodes
    for job, width in enumerate(nodes.tolist()):
        assert width == 0 or given_.legal[job, given_.widths.tolist().index(width)]
    assert (nodes[before > 0] > 0).all(), "nobody is stopped"
    started = nodes[before == 0] > 0
    assert not (np.diff(started.astype(int)) > 0).any(), "nobody overtakes in the queue"
    shrunk, grown = (nodes < before).sum(), ((nodes > before) & (before > 0)).sum()
    assert not (shrunk and grown)
    assert repeated or shrunk <= 1
    idle = given_.nodes - nodes.sum()
    if (nodes == 0).any():
        head = int(np.flatnonzero(nodes == 0)[0])
        assert idle < given_.widths[given_.smallest[head]]
    elif not shrunk:
        for job, width in enumerate(nodes.tolist()):
            bigger = given_.widths[given_.legal[job] & (given_.widths > width)]
            assert not len(bigger) or idle < bigger[0] - width, "idle nodes that somebody could use"


@pytest.mark.parametrize("repeated", [False, True])
def test_nobody_at_all(repeated: bool):
    answer = decide(problem(4, 0), [], [], repeated=repeated)
    assert answer.nodes.tolist() == []
    assert answer.scenarios == (4,)
