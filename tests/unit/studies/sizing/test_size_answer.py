"""What a search for a size says: frontier, tightest target, differences, reversals, words; by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from dlsched.domain.errors import InputError
from dlsched.metrics.stats.basis import Basis
from dlsched.studies.design import Futures
from dlsched.studies.sizing.answer import (
    Counts,
    Headroom,
    Size,
    Sizing,
    VmRange,
    check_at,
    frontier,
    one_more,
    reachable,
    reversals,
    tightest,
    usd_more,
)
from dlsched.studies.sizing.campaigns import Campaign
from dlsched.studies.sizing.rule import Rule
from dlsched.studies.sizing.targets import Target
from dlsched.studies.sizing.words import (
    burst_words,
    cautions_of,
    headroom_words,
    left_out_words,
    neighbour_words,
    one_more_words,
    reached_words,
    reversal_words,
    rows_of,
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
    """Return a size with one future, or twelve within 10 s of this wait."""
    spread = (0.0,) if exact else (-10.0, 10.0) * 6
    draws = draws_of("wait_p95", [None if wait_s is None else wait_s + by for by in spread])
    return Size(**({"counts": (nodes,), "usd_month": 1000.0 * nodes, "gpus": 8 * nodes, "draws": draws} | changes))


def sizing(*sizes: Size, answer: Counts | None = (6,), **changes: Any) -> Sizing:
    given: dict[str, Any] = {
        "scenario": "abc", "scenario_name": "demo", "policy": "fifo", "label": "FIFO", "params": {},
        "futures": Futures(), "rule": Rule(targets=(WAIT,)), "types": (NODES,), "cost_by": "price", "today": (4,),
        "sizes": sizes or tuple(size(nodes, wait) for nodes, wait in WAITS.items()), "answer": answer,
        "neighbours": ((5,), (4,)), "status": "found", "reasons": (),
        "headroom": (), "runs": 6,
    }  # fmt: skip
    return Sizing(**given | changes)


DRAWN, RECORDED = Basis(kind="drawn", futures=11), Basis(kind="recorded", futures=11, days=28)


def random_sizing(waits: Mapping[int, float], basis: Basis = DRAWN, **changes: Any) -> Sizing:
    sizes = tuple(size(nodes, wait, exact=False) for nodes, wait in waits.items())
    given: dict[str, Any] = {"rule": Rule(targets=(WAIT,), basis=basis), "futures": Futures.first(11)}
    return sizing(*sizes, **given | changes)


# ---- the frontier ------------------------------------------------------------------------------------


def test_the_frontier_marks_today_the_answer_and_what_is_beaten() -> None:
    points = frontier(sizing())
    assert [point.counts for point in points] == [(2,), (4,), (5,), (6,), (7,), (9,)]
    assert [point.efficient for point in points] == [True, True, True, True, True, False]  # 9 is as good as 7, dearer
    assert [point.counts for point in points if point.today] == [(4,)]
    assert [point.counts for point in points if point.answer] == [(6,)]
    assert [point.check.verdict for point in points] == ["fails", "fails", "fails", "meets", "meets", "meets"]


def test_of_metrics_that_are_better_high_the_frontier_rises() -> None:
    target = Target(metric="fairness_users_jain", limit=0.8)
    sizes = [
        Size(counts=(nodes,), usd_month=nodes, draws=draws_of(target.metric, [even]))
        for nodes, even in ((1, 0.5), (2, 0.8), (3, 0.7))
    ]
    answer = sizing(*sizes, rule=Rule(targets=(target,)))
    assert [point.efficient for point in frontier(answer)] == [True, True, False]
    best = known(reachable(answer, target.metric))
    assert (best[0], best[1].value) == ((2,), 0.8)


# ---- one size ----------------------------------------------------------------------------------------


def test_a_stopped_size_has_a_verdict_and_no_numbers() -> None:
    """Three of twelve futures missed, where 95% allow none: nothing that was run of it stands beside others."""
    late = draws_of("wait_p95", [9000.0, 9000.0, 9000.0])
    answer = random_sizing(WAITS, rule=Rule(targets=(WAIT,), claim="nearly-every", basis=DRAWN))
    stopped = size(3, 0, draws=late, stopped=True)
    with_it = answer.model_copy(update={"sizes": (*answer.sizes, stopped)})
    check = check_at(with_it, (3,))
    assert (check.verdict, check.why, check.stopped) == ("fails", "stopped after 3 of 12 futures", True)
    assert check.targets[0].value is None
    assert (3,) not in [point.counts for point in frontier(with_it)]
    assert reversals(with_it) == []
    row = rows_of(with_it)[-1]
    assert (row["Size"], row["All targets"], row["Met"], row[WAIT.words]) == ("3 nodes", "fails", "", "")


def test_the_tightest_target_uses_most_of_its_limit() -> None:
    even = Target(metric="fairness_users_jain", limit=0.8)
    both = [one.model_copy(update={"values": dict(one.values) | {even.metric: 0.9}}) for one in size(6, 3000).draws]
    answer = sizing(size(6, 0, draws=tuple(both)), rule=Rule(targets=(WAIT, even)))
    found = known(tightest(answer, (6,)))
    assert found.target == even  # 0.8 / 0.9 of the limit, waits 3,000 / 3,600
    assert reached_words(found) == "0.9, ok"


def test_one_node_more_is_paired() -> None:
    answer = random_sizing(WAITS)
    (more,) = one_more(answer)
    assert more.counts == (7,)
    change = known(more.changes["wait_p95"])
    assert (change.value, change.better, change.n, change.verdict) == (-100, 12, 12, "better")
    assert says(one_more_words(answer, more), "$1,000/month", "p95 wait −1 min 40 s", "better")
    assert usd_more(answer, (6,), (4,)) == 2000
    recorded = random_sizing(WAITS, RECORDED)
    assert says(one_more_words(recorded, one_more(recorded)[0]), "better in 11 of 11 futures")
    useless = random_sizing({6: 3000, 7: 3000})
    assert one_more_words(useless, one_more(useless)[0]) == "One more node ($1,000/month more) would not help."


def test_reversals_are_told_of_next_larger_sizes_only() -> None:
    waits = {2: 1000, 4: 3000, 6: 2500, 7: 2000}
    for basis, futures in ((DRAWN, 12), (RECORDED, 11)):
        answer = random_sizing(waits, basis)
        (found,) = reversals(answer)
        assert (found.smaller, found.larger, found.change.worse) == ((2,), (4,), futures)
        words = reversal_words(answer, found)
        assert says(words, f"4 nodes do worse than 2 nodes in {futures} of {futures} futures", "not always better")


# ---- words -------------------------------------------------------------------------------------------


def test_the_sentence_names_size_claim_cost_and_today() -> None:
    met = "would have met the target (p95 wait at most 1 h) in this trace"
    assert says(sentence(sizing()), "6 nodes", "cheapest", met, "$6,000", "$2,000/month more")
    assert says(sure_words(sizing()), "Exact", "not a forecast")
    drawn = random_sizing(WAITS)
    met = "meets the target (p95 wait at most 1 h) on average over 12 simulated versions of the workload: $6,000"
    assert met in sentence(drawn)
    assert says(sure_words(drawn), "same 12 futures", "in 12 of 12 futures")
    recorded = random_sizing(WAITS, RECORDED)
    assert "in this month and on average over 11 months reshuffled from its days" in sentence(recorded)
    assert says(sure_words(recorded), "as recorded and in 11 of 11 futures", "Only a longer trace helps")
    rule = Rule(targets=(WAIT,), claim="nearly-every", basis=RECORDED)
    assert " in this month and in 11 of 11 months reshuffled from its days: " in sentence(
        random_sizing(WAITS, rule=rule)
    )
    nearly = random_sizing(WAITS, rule=rule.model_copy(update={"basis": DRAWN}))
    assert "in 12 of 12 simulated versions of the workload" in sentence(nearly)
    assert "73.5% to 100% of all months" in sure_words(nearly)
    today = random_sizing(WAITS, today=(6,))
    assert sentence(today).startswith("Today's 6 nodes are the cheapest size tried that meets")
    unpriced = sizing(*(one.model_copy(update={"usd_month": None}) for one in sizing().sizes), cost_by="gpus")
    assert says(sentence(unpriced), "6 nodes", "smallest", "No prices are set", "fewest GPUs")


def test_conditions_come_before_what_is_claimed_under_them() -> None:
    more = sizing(condition={"demand": 1.3, "durations": 0.9})
    assert sentence(more).startswith("With 30% more jobs and run times −10%, 6 nodes are the cheapest size tried that")
    assert sentence(sizing(condition={"demand": 1.3}, answer=None)).startswith("With 30% more jobs, no size tried")


def test_bursts_of_a_user_are_told_of_what_was_recorded() -> None:
    burst = Campaign(user="u", share=0.125, days=28)
    found = random_sizing(WAITS, RECORDED, campaign=burst)
    assert says(burst_words(found), "12.5% of all GPU-hours", "3.5 average days")
    assert [one.level for one in cautions_of(found)] == ["orange"]
    assert burst_words(random_sizing(WAITS, DRAWN, campaign=burst)) == ""
    assert burst_words(random_sizing(WAITS, RECORDED, campaign=burst.model_copy(update={"share": 0.04}))) == ""


def test_no_size_is_told_with_what_was_reached() -> None:
    none = random_sizing({2: 9000, 4: 7200, 5: 3602}, answer=None, status="none", reasons=("something is in the way",))
    assert says(sentence(none), "No size", "up to 5 nodes", "the target (p95 wait at most 1 h)", "on average")
    assert why_none(none) == [
        "something is in the way",
        "p95 wait: the lowest reached is 1 h, with 5 nodes",
        "borderline: 5 nodes",
    ]
    assert why_none(sizing()) == []


def test_neighbours_headroom_and_jobs_left_out_in_words() -> None:
    assert neighbour_words(sizing()) == "5 nodes: fails; 4 nodes: fails."
    told = "5 nodes: fails (met in 0 of 12 futures); 4 nodes: fails (met in 0 of 12 futures)."
    assert neighbour_words(random_sizing(WAITS)) == told
    assert "5 nodes: fails (not as recorded, in 0 of 11 futures)" in neighbour_words(random_sizing(WAITS, RECORDED))
    rooms = {
        (1.2, 1.25): "6 nodes can handle 20% more jobs.",
        (1.0, 1.05): "6 nodes can handle no more jobs than today's.",
        (4.0, None): "6 nodes can handle 300% more jobs, the most tried.",
        (None, 1.0): "6 nodes already miss the target with today's jobs.",
    }
    for (last, first), words in rooms.items():
        assert headroom_words(sizing(), Headroom(counts=(6,), last=last, first=first, loads=())) == words
    assert left_out_words(sizing()) == ""
    left = sizing(size(6, 3000, draws=draws_of("wait_p95", [3000.0], done=8, needed=8)))
    assert left_out_words(left).startswith("With 6 nodes, 2 jobs are rejected or unfinished at the end")


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
