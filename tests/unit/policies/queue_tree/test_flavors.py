"""Which flavor a job gets, and with how many pods."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.policies.queue_tree.flavors import (
    FIT,
    NO_CANDIDATES,
    NO_FIT,
    PREEMPT,
    RECLAIM,
    assign,
    better,
    most_pods,
    too_large,
)
from dlsched.policies.queue_tree.jobs import Job, PodSet, Rules
from dlsched.policies.queue_tree.nominate import nominate
from tests.support.queue_trees import job, runs, tree_of

BIG = ("no-fit", "preempt", "fit")


def flavored(cohort_gpus=0, **rules):
    """Return a queue with 4 of flavor a and 4 of flavor b, in a cohort with more of a."""
    quota = [{"flavor": "a", "nominal": 4}, {"flavor": "b", "nominal": 4}]
    return tree_of(
        {"q": {"parent": "c", "quota": quota, **rules}},
        {"c": {"quota": [{"flavor": "a", "nominal": cohort_gpus}]}},
    )


def chosen(tree, gpus, brings=(PREEMPT, 0), tried=(), pins=None, rules=Rules(), **more):  # noqa: B008
    found = assign(tree, job(tree, "w", "q", gpus, **more), rules, lambda f, amount: brings, None, tried, pins)
    choice = found.podsets[0][2].get("gpus")
    return found.mode, None if choice is None else choice.flavor, found.borrow, None if choice is None else choice.tried


def test_the_first_flavor_that_fits_and_where_the_search_stopped():
    tree = flavored()
    assert chosen(tree, 4) == ("fit", "a", 0, 0)
    runs(tree, "r", "q", 1, flavor="a")
    assert chosen(tree, 4) == ("fit", "b", 0, -1)  # a would stop jobs, and the next flavor is looked at
    assert chosen(tree, 5) == ("no-fit", None, 0, None)
    assert chosen(tree, 1, tried=({"gpus": 0},)) == ("fit", "b", 0, -1)  # the search goes on after a
    assert chosen(tree, 4, pins={"main": {"gpus": "a"}}) == ("preempt", "a", 0, -1)
    assert chosen(tree, 4, flavors=frozenset({"b"})) == ("fit", "b", 0, -1)
    assert chosen(tree, 4, flavors=frozenset()) == ("no-fit", None, 0, None)


def test_stopping_jobs_may_end_the_search():
    tree = flavored(when_can_preempt="stop")
    runs(tree, "r", "q", 1, flavor="a")
    assert chosen(tree, 4) == ("preempt", "a", 0, 0)
    assert chosen(tree, 4, (NO_CANDIDATES, 0)) == ("fit", "b", 0, -1)  # without candidates it goes on all the same


def test_borrowing_ends_the_search_unless_the_queue_looks_on():
    tree = flavored(cohort_gpus=4)
    runs(tree, "r", "q", 1, flavor="a")
    assert chosen(tree, 4) == ("fit", "a", 1, 0)
    tree = flavored(cohort_gpus=4, when_can_borrow="next")
    runs(tree, "r", "q", 1, flavor="a")
    assert chosen(tree, 4) == ("fit", "b", 0, -1)
    runs(tree, "s", "q", 1, flavor="b")
    assert chosen(tree, 4) == ("fit", "a", 1, -1)  # fit is preferred to stopping jobs
    tree = flavored(cohort_gpus=4, when_can_borrow="next", preference="preempt")
    runs(tree, "r", "q", 1, flavor="a")
    runs(tree, "s", "q", 1, flavor="b")
    assert chosen(tree, 4) == ("preempt", "b", 0, -1)


def test_a_borrower_asks_for_victims_only_where_it_may():
    quota = [{"flavor": "a", "nominal": 2}]
    for rules, brought in (({}, "no-fit"), ({"while_borrowing": "lower"}, "preempt")):
        tree = tree_of({"q": {"parent": "c", "quota": quota, **rules}, "r": {"parent": "c", "quota": quota}}, {"c": {}})
        runs(tree, "x", "r", 3, flavor="a")
        assert chosen(tree, 3)[0] == brought, rules
    tree = tree_of(
        {"q": {"parent": "c", "quota": quota, "reclaim": "any"}, "r": {"parent": "c", "quota": quota}}, {"c": {}}
    )
    runs(tree, "x", "r", 3, flavor="a")
    assert chosen(tree, 3)[0] == "no-fit"
    assert chosen(tree, 3, rules=Rules(fair_sharing=True))[0] == "preempt"


def test_a_queue_below_the_root_may_ask_its_cohort_back():
    tree = tree_of(
        {"q": {"parent": "low", "gpus": 0}, "o": {"parent": "top", "gpus": 4}},
        {"low": {"parent": "top", "gpus": 4}, "top": {}},
    )
    runs(tree, "x", "o", 8)
    assert chosen(tree, 4) == ("preempt", "all", 0, -1)  # 4 of its cohort's own
    assert chosen(tree, 5) == ("no-fit", None, 0, None)


def test_resources_of_a_group_share_a_flavor_and_others_do_not():
    quota = [
        {"flavor": "a", "resource": "gpus", "nominal": 4}, {"flavor": "a", "resource": "cpus", "nominal": 8},
        {"flavor": "b", "resource": "gpus", "nominal": 4}, {"flavor": "b", "resource": "cpus", "nominal": 64},
        {"flavor": "a", "resource": "mem_gib", "nominal": 100, "group": 1},
    ]  # fmt: skip
    tree = tree_of({"q": {"quota": quota}})
    found = assign(
        tree, job(tree, "w", "q", {"gpus": 1, "cpus": 16, "mem_gib": 50}), Rules(), lambda f, x: (PREEMPT, 0)
    )
    assert {resource: choice.flavor for resource, choice in found.podsets[0][2].items()} == {
        "gpus": "b", "cpus": "b", "mem_gib": "a",
    }  # fmt: skip
    assert found.usage == {tree.index["b", "gpus"]: 1, tree.index["b", "cpus"]: 16, tree.index["a", "mem_gib"]: 50}


def test_parts_of_a_job_count_together():
    tree = tree_of({"q": {"gpus": 4}})
    parts = (PodSet("workers", 3, {"gpus": 1}), PodSet("servers", 2, {"gpus": 1}))
    found = assign(tree, Job("w", 0, parts), Rules(), lambda f, amount: (PREEMPT, 0))
    assert (found.mode, [name for name, _, _ in found.podsets]) == ("no-fit", ["workers", "servers"])
    assert found.usage == {0: 3}
    assert not found.podsets[1][2]


def test_resources_without_quota_are_refused_or_ignored():
    tree = tree_of({"q": {"gpus": 4}})
    asked = {"gpus": 1, "cpus": 8}
    assert chosen(tree, asked)[0] == "no-fit"
    assert chosen(tree, asked, rules=Rules(ignore_uncovered=True)) == ("fit", "all", 0, -1)
    assert chosen(tree, {"gpus": 1, "cpus": 0}) == ("fit", "all", 0, -1)
    assert too_large(tree, job(tree, "w", "q", asked))
    assert not too_large(tree, job(tree, "w", "q", asked), ignore_uncovered=True)
    assert too_large(tree, job(tree, "w", "q", 5))
    assert not too_large(tree, job(tree, "w", "q", 1, count=5, min_count=4))


GRADES = st.tuples(st.sampled_from([NO_FIT, NO_CANDIDATES, PREEMPT, RECLAIM, FIT]), st.integers(0, 3))


@given(GRADES, GRADES, GRADES, st.booleans())
def test_preference_is_an_order(a, b, c, prefer):
    assert not (better(a, b, prefer) and better(b, a, prefer))
    if better(a, b, prefer) and better(b, c, prefer):
        assert better(a, c, prefer)
    if a[0] >= PREEMPT and b[0] < PREEMPT:
        assert better(a, b, prefer)
    if a[0] >= PREEMPT and b[0] >= PREEMPT and a[1] < b[1]:
        assert not prefer or better(a, b, prefer)


SETS = st.lists(st.tuples(st.integers(1, 9), st.none() | st.integers(0, 9)), min_size=1, max_size=4)


@given(SETS, st.integers(0, 40))
def test_as_many_pods_as_fit(sets, limit):
    podsets = [
        PodSet(str(n), count, {}, None if least is None else min(least, count)) for n, (count, least) in enumerate(sets)
    ]
    found = most_pods(podsets, lambda counts: sum(counts) <= limit)
    fewest = sum(each.count if each.min_count is None else each.min_count for each in podsets)
    whole = sum(each.count for each in podsets)
    if fewest == whole or fewest > limit:
        assert found is None
        return
    assert found is not None
    assert sum(found) <= limit
    for count, each in zip(found, podsets, strict=True):
        assert (each.count if each.min_count is None else each.min_count) <= count <= each.count
    spare = [each.count - (each.count if each.min_count is None else each.min_count) for each in podsets]
    steps = [
        sum(each.count - part * k // sum(spare) for each, part in zip(podsets, spare, strict=True))
        for k in range(sum(spare) + 1)
    ]
    assert sum(found) == max(step for step in steps if step <= limit)


@pytest.mark.parametrize(("running", "pods", "stopped"), [(2, 2, []), (4, 1, ["r"]), (0, 4, [])])
def test_fewer_pods_only_where_all_neither_fit_nor_find_victims(running, pods, stopped):
    tree = tree_of({"q": {"gpus": 4, "within": "lower"}})
    if running:
        runs(tree, "r", "q", running, 0 if stopped else 9)
        runs(tree, "fixed", "q", 0, 9)
    waiting = job(tree, "w", "q", 1, 1, count=4, min_count=1)
    assignment, victims = nominate(tree, waiting, Rules())
    if stopped:  # with victims at full size
        pods = 4
    assert assignment.podsets[0][1] == pods
    assert [victim.id for victim, _ in victims] == stopped
    without = nominate(tree, waiting, Rules(fewer_pods=False))[0]
    assert without.podsets[0][1] == 4
