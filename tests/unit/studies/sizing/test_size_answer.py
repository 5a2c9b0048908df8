"""What a search for a size says: knee, frontier, tightest target, differences, words; by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.metrics.stats.knee import knee_of
from dlsched.studies.sizing.answer import (
    Counts,
    Headroom,
    Load,
    Size,
    Sizing,
    VmRange,
    check_at,
    cost_difference,
    frontier,
    one_more,
    reachable,
    reversals,
    tightest,
)
from dlsched.studies.sizing.rule import Rule
from dlsched.studies.sizing.targets import Target
from dlsched.studies.sizing.words import (
    headroom_words,
    left_out_words,
    neighbour_words,
    one_more_words,
    reached_words,
    reversal_words,
    sentence,
    sure_words,
    why_none,
)
from tests.support.known import known
from tests.support.size_runs import draws_of
from tests.support.wording import says

WAIT = Target(metric="wait_p95", limit=3600)
NODES = VmRange(key="nodes", name="", least=1, most=9, today=4, usd_per_h=10.0, gpus=8)
WAITS = {2: 9000.0, 4: 7200.0, 5: 4500.0, 6: 3000.0, 7: 2900.0, 9: 2900.0}


def size(nodes: int, wait_s: float | None, *, exact: bool = True, **changes: Any) -> Size:
    """Return a size with one draw, or four within 10 s of this wait."""
    spread = (0.0,) if exact else (-10.0, 10.0, -10.0, 10.0)
    draws = draws_of("wait_p95", [None if wait_s is None else wait_s + by for by in spread])
    return Size(**({"counts": (nodes,), "usd_month": 1000.0 * nodes, "gpus": 8 * nodes, "draws": draws} | changes))


def sizing(*sizes: Size, answer: Counts | None = (6,), **changes: Any) -> Sizing:
    given: dict[str, Any] = {
        "scenario": "abc", "scenario_name": "demo", "policy": "fifo", "label": "FIFO", "params": {}, "vary": {},
        "rule": Rule(targets=(WAIT,), exact=True), "types": (NODES,), "cost_by": "price", "today": (4,),
        "sizes": sizes or tuple(size(nodes, wait) for nodes, wait in WAITS.items()), "answer": answer,
        "neighbours": ((5,), (4,)), "search_seeds": (0,), "confirm_seeds": (), "status": "found", "reasons": (),
        "headroom": (), "runs": 6,
    }  # fmt: skip
    return Sizing(**given | changes)


def random_sizing(waits: dict[int, float], **changes: Any) -> Sizing:
    sizes = tuple(size(nodes, wait, exact=False) for nodes, wait in waits.items())
    given: dict[str, Any] = {"rule": Rule(targets=(WAIT,)), "search_seeds": (0, 1), "confirm_seeds": (2, 3)}
    return sizing(*sizes, **given | changes)


# ---- knee and frontier -------------------------------------------------------------------------------


def test_the_knee_is_furthest_below_the_chord() -> None:
    """Costs 0 1 2 3 4, service 10 4 2 1 0: scaled, 1 - x - y is 0, .35, .3, .15, 0."""
    assert knee_of([0, 1, 2, 3, 4], [10, 4, 2, 1, 0]) == 1
    assert knee_of([0, 1, 2], [2, 1, 0]) is None  # on the chord
    assert knee_of([0, 1, 2], [2, 1.9, 0]) is None  # above it
    assert knee_of([0, 1], [1, 0]) is None
    assert knee_of([1, 1, 1], [3, 2, 1]) is None


@given(
    points=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=3, max_size=9),
    by=st.sampled_from([0.25, 2.0, 1024.0]),
    plus=st.sampled_from([0.0, 64.0]),
)
def test_units_do_not_move_the_knee_and_it_is_below_the_chord(
    points: list[tuple[int, int]], by: float, plus: float
) -> None:
    costs = [float(cost) for cost in sorted(cost for cost, _ in points)]
    services = [float(service) for service in sorted((service for _, service in points), reverse=True)]
    found = knee_of(costs, services)
    assert knee_of([by * cost + plus for cost in costs], [2 * by * service for service in services]) == found
    if found is not None:
        part = (costs[found] - costs[0]) / (costs[-1] - costs[0])
        assert services[found] < services[0] + part * (services[-1] - services[0])


def test_the_frontier_marks_today_the_answer_the_knee_and_what_is_beaten() -> None:
    points = frontier(sizing())
    assert [point.counts for point in points] == [(2,), (4,), (5,), (6,), (7,), (9,)]
    assert [point.efficient for point in points] == [True, True, True, True, True, False]  # 9 is as good as 7, dearer
    assert [point.counts for point in points if point.knee] == [(6,)]
    assert [point.counts for point in points if point.today] == [(4,)]
    assert [point.counts for point in points if point.answer] == [(6,)]
    assert [point.check.verdict for point in points] == ["fails", "fails", "fails", "meets", "meets", "meets"]


def test_of_metrics_that_are_better_high_the_frontier_rises() -> None:
    target = Target(metric="fairness_users_jain", limit=0.8)
    sizes = [
        Size(counts=(nodes,), usd_month=nodes, draws=draws_of(target.metric, [even]))
        for nodes, even in ((1, 0.5), (2, 0.8), (3, 0.7))
    ]
    answer = sizing(*sizes, rule=Rule(targets=(target,), exact=True))
    assert [point.efficient for point in frontier(answer)] == [True, True, False]
    best = known(reachable(answer, target.metric))
    assert (best[0], best[1].mean) == ((2,), 0.8)


# ---- one size ----------------------------------------------------------------------------------------


def test_a_size_whose_fresh_draws_do_not_meet_is_never_ok() -> None:
    """Twenty draws of the search at 100 s, two fresh ones at 3,590 and 3,610: all together are well inside."""
    draws = draws_of("wait_p95", [100.0] * 20 + [3590.0, 3610.0])
    rule = Rule(targets=(WAIT,))
    answer = sizing(size(6, 0, draws=draws), rule=rule, search_seeds=range(20), confirm_seeds=(20, 21))
    check = check_at(answer, (6,))
    assert (check.verdict, check.why) == ("unsure", "the fresh draws alone do not meet the targets")
    assert check_at(answer.model_copy(update={"confirm_seeds": ()}), (6,)).verdict == "meets"


def test_the_tightest_target_uses_most_of_its_limit() -> None:
    even = Target(metric="fairness_users_jain", limit=0.8)
    both = [one.model_copy(update={"values": dict(one.values) | {even.metric: 0.9}}) for one in size(6, 3000).draws]
    answer = sizing(size(6, 0, draws=tuple(both)), rule=Rule(targets=(WAIT, even), exact=True))
    found = known(tightest(answer, (6,)))
    assert found.target == even  # 0.8 / 0.9 of the limit, waits 3,000 / 3,600
    assert reached_words(found) == "0.9, ok"


def test_one_node_more_is_paired() -> None:
    answer = random_sizing(WAITS)
    (more,) = one_more(answer)
    assert more.counts == (7,)
    change = known(more.changes["wait_p95"])
    assert (change.mean, change.half_width, change.n) == (-100, 0, 4)
    assert says(one_more_words(answer, more), "$1,000/month", "4 draws", "Wait, p95 −1 min 40 s", "better")
    assert known(cost_difference(answer, (6,), (4,))).mean == 2000


def test_reversals_are_told_of_next_larger_sizes_only() -> None:
    answer = random_sizing({2: 1000, 4: 3000, 6: 2500, 7: 2000})
    (found,) = reversals(answer)
    assert (found.smaller, found.larger) == ((2,), (4,))
    assert says(reversal_words(answer, found), "4 nodes do worse than 2 nodes", "Wait, p95 +33 min")


# ---- words -------------------------------------------------------------------------------------------


def test_the_sentence_names_size_claim_cost_and_today() -> None:
    assert says(sentence(sizing()), "6 nodes", "cheapest", "“Wait, p95 at most 1 h”", "$6,000", "$2,000/month more")
    assert says(sure_words(sizing()), "Exact", "not a forecast")
    drawn = random_sizing(WAITS)
    assert "meet “Wait, p95 at most 1 h” in the average month: $6,000/month" in sentence(drawn)
    assert says(sure_words(drawn), "4 of 4 draws", "39.8% to 100%", "2 draws found it", "2 fresh ones confirm it")
    of_days = drawn.model_copy(update={"vary": {"days": 1.0}})
    assert sure_words(of_days).endswith("; 2 draws put together from its days found it, 2 fresh ones confirm it.")
    nearly = random_sizing(WAITS, rule=Rule(targets=(WAIT,), claim="nearly-every"))
    assert " in nearly every month, at least 95% of the draws run: " in sentence(nearly)
    today = random_sizing(WAITS, today=(6,))
    assert sentence(today).startswith("Today's 6 nodes are the cheapest we tried that meet")
    unpriced = sizing(*(one.model_copy(update={"usd_month": None}) for one in sizing().sizes), cost_by="gpus")
    assert says(sentence(unpriced), "6 nodes", "smallest", "No prices are set", "fewest GPUs")


def test_no_size_is_told_with_what_was_reached() -> None:
    none = random_sizing({2: 9000, 4: 7200, 5: 3602}, answer=None, status="none", reasons=("something is in the way",))
    assert says(sentence(none), "No size", "up to 5 nodes", "“Wait, p95 at most 1 h”", "average month")
    assert why_none(none) == [
        "something is in the way",
        "Wait, p95: the lowest mean reached is 1 h ± 18 s, with 5 nodes",
        "unsure with 5 nodes: more draws may tell",
    ]
    assert why_none(sizing()) == []


def test_neighbours_headroom_and_jobs_left_out_in_words() -> None:
    assert neighbour_words(sizing()) == "Just below: 5 nodes fails; 4 nodes fails."
    assert neighbour_words(random_sizing(WAITS)) == "Just below: 5 nodes fails (4 draws); 4 nodes fails (4 draws)."
    loads = (Load(factor=1.2, draws=size(6, 3000).draws), Load(factor=1.25, draws=size(6, 4000).draws))
    rooms = {
        (1.2, 1.25): "6 nodes can handle 20% more jobs; with 25% more jobs: unsure.",
        (1.0, 1.05): "6 nodes can handle no more jobs than today; with 5% more jobs: fails.",
        (4.0, None): "6 nodes can handle 300% more jobs, the most that were tried.",
        (None, 0.05): "6 nodes cannot meet the targets even with 95% fewer jobs, the fewest that were tried.",
    }
    for (last, first), words in rooms.items():
        assert headroom_words(sizing(), Headroom(counts=(6,), last=last, first=first, loads=loads)) == words
    assert left_out_words(sizing()) == ""
    left = sizing(size(6, 3000, draws=draws_of("wait_p95", [3000.0], done=8, needed=8)))
    assert left_out_words(left).startswith("With 6 nodes 2 jobs a draw are rejected or not done at the end")


def test_several_types_are_named_and_none_of_a_type_is_left_out() -> None:
    types = tuple(NODES.model_copy(update={"key": f"nodes.{name}", "name": name}) for name in ("a100", "h100"))
    answer = sizing(types=types, today=(4, 0))
    assert answer.words((4, 2)) == "4 nodes of a100 and 2 nodes of h100"
    assert answer.words((1, 0)) == "1 node of a100"
    assert answer.words((0, 0)) == "no nodes"


def test_plain_values_and_back() -> None:
    answer = random_sizing(WAITS, headroom=(Headroom(counts=(6,), last=None, first=0.05, loads=()),))
    assert Sizing.from_plain(answer.to_plain()) == answer
    with pytest.raises(InputError, match="answer Sizing, "):
        Sizing.from_plain({"scenario": "abc"})
