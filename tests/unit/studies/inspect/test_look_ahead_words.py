"""What is said of a decision, word by word."""

from __future__ import annotations

import pytest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.studies.inspect.look_ahead.answer import LookAhead, unit_of
from dlsched.studies.inspect.look_ahead.words import (
    MOST_ROWS,
    cards_of,
    cautions_of,
    gap_words,
    named_of,
    order_of,
    sentence_of,
    unlike,
    waiting_of,
)
from tests.support.look_ahead_runs import elastic_scenario
from tests.support.models import replaced


def decided(held: list[int], first: list[int], greedy: list[int], **changes: object) -> LookAhead:
    given = {
        "number": 1, "time_s": 600.0, "step_s": 300.0, "jobs": tuple("abcdefgh"[: len(held)]),
        "row": tuple(range(len(held))), "held": tuple(held), "plan": tuple((width, width) for width in first),
        "greedy": tuple(greedy), "objective": 2.0, "bound": 2.0, "status": "optimal", "method": "columns", "reason": "",
        "scenarios": "scenario 3", "idle": (0, 0), "rest": 0, "got": tuple(first),
    }  # fmt: skip
    return LookAhead(**(given | changes))


@pytest.mark.parametrize(
    ("held", "first", "greedy", "idle", "words"),
    [
        ([4, 2], [8, 2], [4, 2], (0, 3), "Job a gets 8 nodes instead of 4, as nodes were free. Greedy would keep it "
         "at 4 and leave 3 nodes "
         "idle, not 0."),
        ([4, 0], [4, 2], [4, 0], (0, 0), "Job b starts on 2 nodes, as nodes were free. Greedy would let it wait."),
        ([4, 1], [0, 1], [2, 1], (0, 0), "Job a loses its 4 nodes. Greedy would give it 2 nodes."),
        ([4, 1], [2, 2], [2, 2], (0, 0), "Job a gets 2 nodes instead of 4, so that 1 job can grow. Greedy would do "
         "the same with it."),
        ([4, 1], [4, 1], [4, 1], (0, 0), "Every job keeps what it has. Greedy would do the same."),
        ([4, 1], [4, 1], [4, 2], (1, 0), "Every job keeps what it has. Greedy would give job b 2 nodes and leave 0 "
         "nodes idle, not 1."),
        ([], [], [], (6, 6), "Every job keeps what it has. Greedy would do the same."),
    ],
)  # fmt: skip
def test_the_sentence_names_the_largest_change_and_what_greedy_would_do(held, first, greedy, idle, words):
    assert sentence_of(decided(held, first, greedy, idle=idle), "node", follows_plan=True) == words


def test_in_a_greedy_run_the_plan_is_the_other():
    one = decided([4, 2], [8, 2], [4, 4], idle=(0, 3), got=(4, 4))
    assert sentence_of(one, "node", follows_plan=False) == (
        "Job b gets 4 nodes instead of 2, as nodes were free. The optimal allocator would keep it at 2 and "
        "leave 0 nodes idle, not 3."
    )
    assert waiting_of(decided([1, 0], [1, 1], [1, 0], rest=5, got=(1, 0)), follows_plan=False) == (6, 5)
    assert waiting_of(decided([1, 0], [1, 1], [1, 0], rest=5), follows_plan=True) == (5, 6)


def test_what_jobs_got_is_told_where_it_is_not_what_was_decided():
    short = decided([2, 2, 0], [8, 2, 1], [4, 2, 1], got=(4, 2, 0), idle=(0, 3))
    words = "Job a gets 4 nodes instead of 2, as nodes were free; 8 were decided. Greedy would do the same with it."
    assert sentence_of(short, "node", follows_plan=True) == words  # nothing of idle nodes: they are not as decided
    assert unlike(short, follows_plan=True) == 2
    assert waiting_of(short, follows_plan=True) == (1, 0)
    assert named_of(short) == 0
    stuck = decided([2, 0], [2, 1], [2, 1], got=(2, 0))
    assert sentence_of(stuck, "node", follows_plan=True) == (
        "Every job keeps what it has, though 1 job was to change. Greedy would decide the same."
    )
    assert named_of(decided([], [], [])) == -1


def test_cards_say_how_sure_the_plan_is():
    proven = cards_of(decided([1], [1], [1]), 0.042, follows_plan=True)
    assert [card[1] for card in proven] == ["2", "2, proven", "42 ms", "0"]
    loose = decided([1], [1], [1], objective=1.99, status="feasible")
    assert gap_words(loose) == "at most 0.5% from best"
    none = decided([1], [1], [1], objective=None, bound=None, status="infeasible")
    assert [card[1] for card in cards_of(none, None, follows_plan=True)] == ["–", "–", "–", "0"]


def test_banners_tell_an_older_run_another_objective_and_what_is_not_proven():
    one = decided([1], [1], [1])
    assert cautions_of(one, 2.0, stale=False, follows_plan=True) == []
    assert cautions_of(one, 2.0 + 1e-9, stale=False, follows_plan=True) == []
    (other,) = cautions_of(one, 2.1, stale=False, follows_plan=True)
    assert other.level == "orange"
    assert "the plan is worth 2; in the run it was worth 2.1" in other.text
    assert cautions_of(one, None, stale=False, follows_plan=False) == []
    (old,) = cautions_of(one, 2.0, stale=True, follows_plan=True)
    assert (old.level, "older version" in old.text) == ("orange", True)
    (loose,) = cautions_of(replaced(one, objective=1.99, status="feasible"), 1.99, stale=False, follows_plan=True)
    assert loose.text == "Feasible, at most 0.5% from best: not proven to be the best plan."
    no_plan = replaced(one, objective=None, bound=None, status="infeasible", reason="too few nodes")
    (none,) = cautions_of(no_plan, 0.0, stale=False, follows_plan=True)
    assert none.text == "No plan: too few nodes. Jobs keep what they have."


def test_beyond_forty_jobs_those_that_change_or_differ_come_first():
    count = MOST_ROWS + 10
    same = [1] * count
    first = [*same[:-2], 2, 1]
    one = replaced(
        decided([], [], []), jobs=tuple(map(str, range(count))), row=tuple(range(count)), held=tuple(same),
        plan=tuple((width,) for width in first), greedy=(1, 1, 0, *first[3:]), got=tuple(first),
    )  # fmt: skip
    rows, shown = order_of(one, follows_plan=True)
    assert rows[:4] == [2, count - 2, 0, 1]
    assert (sorted(rows), shown) == (list(range(count)), 2)
    few = decided([1, 1], [1, 2], [1, 2])
    assert order_of(few, follows_plan=True) == ([0, 1], 2)


def test_a_worker_that_takes_a_whole_node_is_called_a_node():
    scenario = elastic_scenario()
    assert unit_of(scenario) == "node"
    larger = Cluster(pools=(Pool(vm=VmType(name="node", gpus=16), count=3),))
    assert unit_of(scenario.replace(cluster=larger)) == "worker"
