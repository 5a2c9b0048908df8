"""Which jobs must stop: by hand, and what holds for every answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.policies.queue_tree.jobs import Rules, may_stop
from dlsched.policies.queue_tree.nominate import victims
from dlsched.policies.queue_tree.order import in_order_of_candidates
from tests.support.queue_trees import job, runs, tree_of, used, waiting_jobs, worlds

CLASSIC, FAIR = Rules(), Rules(fair_sharing=True)


def found(tree, waiting, rules=CLASSIC):
    """Return victims of a job in the one flavor, by name."""
    usage = {0: waiting.podsets[0].all_of_it["gpus"]}
    return sorted((victim.id, reason) for victim, reason in victims(tree, waiting, usage, (0,), rules))


def two(**rules):
    return tree_of(
        {"a": {"parent": "c", "gpus": 4, **rules}, "b": {"parent": "c", "gpus": 4}, "d": {"parent": "c", "gpus": 4}},
        {"c": {}},
    )


def test_lowest_priority_then_newest_of_the_queue_itself():
    tree = tree_of({"a": {"gpus": 6, "within": "lower"}})
    runs(tree, "old", "a", 2, 1, 0.0)
    runs(tree, "new", "a", 2, 1, 9.0)
    runs(tree, "high", "a", 2, 5, 9.0)
    assert found(tree, job(tree, "w", "a", 2, 3)) == [("new", "in-queue")]
    assert found(tree, job(tree, "w", "a", 4, 3)) == [("new", "in-queue"), ("old", "in-queue")]
    assert found(tree, job(tree, "w", "a", 6, 3)) == []  # even without both
    assert found(tree, job(tree, "w", "a", 2, 1)) == []  # none is lower


def test_newer_of_the_same_priority_where_the_policy_says_so():
    tree = tree_of({"a": {"gpus": 2, "within": "lower-or-newer-equal"}})
    runs(tree, "r", "a", 2, 1, 5.0)
    assert found(tree, job(tree, "w", "a", 2, 1, 4.0)) == [("r", "in-queue")]
    assert found(tree, job(tree, "w", "a", 2, 1, 5.0)) == []


def test_the_owner_takes_back_what_others_borrow():
    tree = two(reclaim="any")
    runs(tree, "b1", "b", 4, 9)
    runs(tree, "b2", "b", 4, 9, 1.0)
    runs(tree, "d1", "d", 4, 0)
    assert found(tree, job(tree, "w", "a", 4)) == [("b2", "reclaim")]  # d is within its quota
    assert found(tree, job(tree, "w", "a", 5)) == []  # a would borrow itself
    tree = two(reclaim="lower")
    runs(tree, "b1", "b", 9, 9)
    assert found(tree, job(tree, "w", "a", 4, 9)) == []
    assert found(tree, job(tree, "w", "a", 4, 10)) == [("b1", "reclaim")]


def test_what_turns_out_not_to_be_needed_is_given_back():
    tree = two(reclaim="any")
    runs(tree, "small", "b", 1, 0)
    runs(tree, "big", "b", 7, 1)
    runs(tree, "d1", "d", 4)
    assert found(tree, job(tree, "w", "a", 4)) == [("big", "reclaim")]  # small was taken first


def test_a_borrower_stops_others_only_below_the_threshold():
    rules = {"reclaim": "lower", "while_borrowing": "lower", "while_borrowing_below": 3}
    tree = two(**rules)
    runs(tree, "a1", "a", 4, 9)
    runs(tree, "b1", "b", 8, 4)
    assert found(tree, job(tree, "w", "a", 4, 9)) == []
    tree = two(**rules)
    runs(tree, "a1", "a", 4, 9)
    runs(tree, "b1", "b", 8, 3)
    assert found(tree, job(tree, "w", "a", 4, 9)) == [("b1", "reclaim-while-borrowing")]
    tree = two(**rules | {"while_borrowing_below": None})
    runs(tree, "a1", "a", 4, 9)
    runs(tree, "b1", "b", 8, 4)
    assert found(tree, job(tree, "w", "a", 4, 9)) == [("b1", "reclaim-while-borrowing")]


def test_no_more_is_taken_from_a_queue_than_until_it_is_back_at_its_quota():
    tree = two(reclaim="any")
    for name, gpus, start_s in (("b2", 2, 9.0), ("b1", 4, 8.0), ("d1", 2, 1.0), ("d2", 4, 0.0)):
        runs(tree, name, name[0], gpus, start_s=start_s)
    assert found(tree, job(tree, "w", "a", 4)) == [("b2", "reclaim"), ("d1", "reclaim")]  # without b2, b holds its 4


def test_those_over_whom_the_cohort_has_first_claim_are_near():
    tree = tree_of(
        {"q": {"parent": "mine", "gpus": 0, "reclaim": "any"}, "m": {"parent": "mine", "gpus": 4},
         "far": {"parent": "theirs", "gpus": 4}},
        {"mine": {"parent": "top"}, "theirs": {"parent": "top"}},
    )  # fmt: skip
    runs(tree, "f", "far", 8)
    assert found(tree, job(tree, "w", "q", 4)) == [("f", "reclaim")]  # q borrows in its cohort, far beyond its own
    assert found(tree, job(tree, "w", "q", 5)) == []


def test_a_cohort_back_at_its_quota_shields_its_queues():
    tree = tree_of(
        {"q": {"parent": "top", "gpus": 4, "reclaim": "any"}, "x": {"parent": "top", "gpus": 0},
         "l1": {"parent": "left", "gpus": 0}, "l2": {"parent": "left", "gpus": 0}},
        {"left": {"parent": "top", "gpus": 4}, "top": {}},
    )  # fmt: skip
    for name, queue, gpus, start_s in (("new", "l1", 3, 9.0), ("mid", "l2", 3, 8.0), ("old", "x", 2, 0.0)):
        runs(tree, name, queue, gpus, start_s=start_s)
    assert found(tree, job(tree, "w", "q", 4)) == [("new", "reclaim"), ("old", "reclaim")]


def test_without_near_candidates_a_queue_first_tries_not_to_borrow():
    tree = tree_of(
        {"q": {"parent": "c", "gpus": 4, "within": "lower", "reclaim": "any"}, "b": {"parent": "c", "gpus": 2},
         "d": {"parent": "c", "gpus": 2}},
        {"c": {}},
    )  # fmt: skip
    runs(tree, "one", "q", 1, start_s=2.0)
    runs(tree, "two", "q", 2, start_s=1.0)
    runs(tree, "b1", "b", 3)
    assert found(tree, job(tree, "w", "q", 3, 1)) == [("two", "in-queue")]  # without one alone it would borrow


def test_order_of_candidates():
    tree = two()
    a = tree.number["a"]
    jobs = [
        runs(tree, "own", "a", 1, 0, 9.0),
        runs(tree, "old", "b", 1, 1, 1.0),
        runs(tree, "new", "b", 1, 1, 2.0),
        runs(tree, "low", "b", 1, 0, 0.0),
        runs(tree, "gone", "a", 1, 9, 0.0, leaving=True),
    ]
    assert [each.id for each in in_order_of_candidates(jobs, a)] == ["gone", "low", "new", "old", "own"]
    jobs[1].local, jobs[2].local, jobs[3].local = "x", "y", "y"
    jobs[1].local_usage, jobs[2].local_usage, jobs[3].local_usage = 5.0, 1.0, 1.0
    assert [each.id for each in in_order_of_candidates(jobs, a)] == ["gone", "old", "low", "new", "own"]


def shared(**rules):
    """Return two queues of 2 in a cohort with 12 of its own: example 3 of the worked examples."""
    return tree_of(
        {"vision": {"parent": "c", "gpus": 2, "reclaim": "any"},
         "language": {"parent": "c", "gpus": 2, "reclaim": "any", **rules}},
        {"c": {"gpus": 12}},
    )  # fmt: skip


def test_fair_sharing_stops_where_shares_meet():
    tree = shared()
    for number in range(8):
        runs(tree, f"v{number}", "vision", 2, start_s=float(number))
    assert found(tree, job(tree, "l0", "language", 2), FAIR) == [("v7", "reclaim")]  # within its nominal
    assert found(tree, job(tree, "l0", "language", 2), CLASSIC) == [("v7", "reclaim")]
    taken = [("v7", "l0"), ("v6", "l1"), ("v5", "l2")]
    for number, (victim, name) in enumerate(taken):
        tree.end(victim)
        runs(tree, name, "language", 2, start_s=100.0 + number)
    waiting = job(tree, "l3", "language", 2)
    final = Rules(fair_sharing=True, strategies=("final-share",))
    assert found(tree, waiting, final) == [("v4", "fair-share")]  # 6 / 16 against 6 / 16 without v4
    assert found(tree, waiting, CLASSIC) == []
    tree.end("v4")
    runs(tree, "l3", "language", 2, start_s=103.0)
    assert found(tree, job(tree, "l4", "language", 2), FAIR) == []  # 8 / 16 against 4 / 16


def test_the_queue_with_the_largest_share_is_taken_from_first():
    tree = tree_of({"a": {"parent": "c", "gpus": 4, "reclaim": "any"}, "b": {"parent": "c", "gpus": 2},
                    "d": {"parent": "c", "gpus": 2}}, {"c": {}})  # fmt: skip
    runs(tree, "b1", "b", 3, start_s=9.0)
    runs(tree, "d1", "d", 5)
    assert found(tree, job(tree, "w", "a", 3), FAIR) == [("d1", "reclaim")]


def test_weights_move_where_shares_meet():
    tree = shared(weight=2)
    for number in range(4):
        runs(tree, f"v{number}", "vision", 2, start_s=float(number))
        runs(tree, f"l{number}", "language", 2, start_s=float(number))
    assert found(tree, job(tree, "l4", "language", 2), FAIR) == [("v3", "fair-share")]  # 500 / 2 = 250
    assert found(tree, job(tree, "l4", "language", 4), FAIR) == []


def test_initial_share_takes_what_final_share_does_not():
    tree = tree_of(
        {"a": {"parent": "c", "gpus": 1, "reclaim": "any"}, "b": {"parent": "c", "gpus": 1}}, {"c": {"gpus": 4}}
    )
    runs(tree, "a1", "a", 1)
    runs(tree, "b1", "b", 5)
    waiting = job(tree, "w", "a", 2)  # 2 / 6 with it; b has 4 / 6 now and nothing without b1
    assert found(tree, waiting, Rules(fair_sharing=True, strategies=("final-share",))) == []
    assert found(tree, waiting, Rules(fair_sharing=True, strategies=("initial-share",))) == [("b1", "fair-share")]
    assert found(tree, waiting, FAIR) == [("b1", "fair-share")]


@pytest.mark.parametrize("rules", [CLASSIC, FAIR], ids=["classic", "fair"])
@given(world=worlds(), data=st.data())
def test_victims_make_room_none_can_be_left_out_and_all_may_be_stopped(rules, world, data):
    tree, before = world, used(world)
    waiting = data.draw(waiting_jobs(tree, 1))[0]
    queue, own = waiting.queue, tree.rules[waiting.queue]
    usage = {f: data.draw(st.integers(1, 6)) for f in range(len(tree.keys))}
    need = tuple(f for f in usage if not tree.fits(queue, {f: usage[f]}))
    if not need:
        return
    answer = victims(tree, waiting, usage, need, rules)
    assert used(tree) == before  # the question left no trace
    assert not any(running.gone for running in tree.running.values())
    over = {node for node in tree.queues if tree.over_any(node, need)}
    for victim, reason in answer:
        assert (reason == "in-queue") is (victim.queue == queue)
        assert may_stop(own.within if victim.queue == queue else own.reclaim, waiting, victim)
        assert victim.queue == queue or victim.queue in over
        assert set(victim.usage) & set(need)
    for victim, _ in answer:
        tree.hide(victim)
    if answer:
        assert tree.fits(queue, usage)
    for victim, reason in answer:
        tree.unhide(victim)
        within = reason == "reclaim" and not rules.fair_sharing and not own.while_borrowing
        assert not tree.fits(queue, usage) or (within and not tree.fits(queue, usage, borrowing=False))
        tree.hide(victim)
    for victim, _ in answer:
        tree.unhide(victim)
    assert used(tree) == before


@pytest.mark.parametrize("rules", [CLASSIC, FAIR], ids=["classic", "fair"])
@given(world=worlds(policies=False), data=st.data())
def test_where_every_policy_is_never_no_job_stops(rules, world, data):
    for waiting in data.draw(waiting_jobs(world)):
        assert victims(world, waiting, {0: 3}, (0,), rules) == []
