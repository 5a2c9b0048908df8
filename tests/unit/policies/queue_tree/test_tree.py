"""Numbers of a tree of quotas: by hand, and what holds in every tree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.queue_tree import QueueTree
from dlsched.policies.queue_tree.tree import NO_SHARE, Quota, Share, Tree
from tests.support.queue_trees import runs, tree_of, used, worlds


def lending():
    """Return two queues of 10, of which one lends 4 and may borrow 3, and a cohort with 2 of its own."""
    return tree_of(
        {"a": {"parent": "c", "gpus": 10, "lend": 4}, "b": {"parent": "c", "gpus": 10, "borrow": 3}},
        {"c": {"gpus": 2}},
    )


def test_what_is_kept_is_not_seen_above():
    tree = lending()
    a, b, c = (tree.number[name] for name in "abc")
    assert [tree.pool[0][node] for node in (a, b, c)] == [10, 10, 16]  # 2 + 4 lent by a + 10
    assert [tree.kept[0][node] for node in (a, b, c)] == [6, 0, 0]
    assert [tree.most[0][node] for node in (a, b, c)] == [22, 13, 16]
    assert [tree.available(node, 0) for node in (a, b, c)] == [22, 13, 16]


def test_use_goes_up_beyond_what_is_kept():
    tree = lending()
    a, b, c = (tree.number[name] for name in "abc")
    runs(tree, "j", "a", 5)
    assert [tree.used[0][node] for node in (a, b, c)] == [5, 0, 0]
    assert (tree.free_kept(a, 0), tree.available(a, 0), tree.available(b, 0)) == (1, 17, 13)
    runs(tree, "k", "a", 9)  # 14 of its 10: 8 beyond what it keeps
    assert [tree.used[0][node] for node in (a, b, c)] == [14, 0, 8]
    assert (tree.available(a, 0), tree.available(b, 0)) == (8, 8)
    assert tree.over(a, 0)
    assert not tree.over(b, 0)
    tree.end("j")
    assert [tree.used[0][node] for node in (a, b, c)] == [9, 0, 3]


def test_quota_taken_away_while_jobs_run_leaves_less_than_nothing():
    tree = lending()
    runs(tree, "j", "b", 12)
    b = tree.number["b"]
    tree.set_quota(b, 0, Quota(4, 0, None))
    tree.refresh()
    assert tree.available(b, 0) == -8
    assert not tree.fits(b, {0: 1})
    assert tree.fits(b, {0: 0})


def test_height_of_the_cohort_borrowed_from():
    tree = tree_of(
        {"q": {"parent": "low", "gpus": 2}, "r": {"parent": "low", "gpus": 2}, "s": {"parent": "top", "gpus": 4},
         "alone": {"gpus": 1}},
        {"low": {"parent": "top"}, "top": {}},
    )  # fmt: skip
    q = tree.number["q"]
    assert tree.borrows_from(q, 0, 2) == (0, True)
    assert tree.borrows_from(q, 0, 4) == (1, True)
    assert tree.borrows_from(q, 0, 5) == (2, False)
    assert tree.borrows_from(q, 0, 99) == (2, False)  # no cohort covers it: the root
    assert tree.borrows_from(tree.number["alone"], 0, 9) == (0, False)


def test_what_a_queue_keeps_for_itself_is_not_borrowed():
    tree = tree_of(
        {"q": {"parent": "low", "gpus": 4, "lend": 0}}, {"low": {"parent": "top", "gpus": 2}, "top": {"gpus": 9}}
    )
    assert tree.borrows_from(0, 0, 6) == (1, True)
    assert tree.borrows_from(0, 0, 7) == (2, False)
    tree = tree_of(
        {"q": {"parent": "low", "gpus": 0}},
        {"low": {"parent": "mid", "gpus": 2, "lend": 0}, "mid": {"parent": "top", "gpus": 2}, "top": {"gpus": 9}},
    )
    assert tree.borrows_from(0, 0, 4) == (2, True)  # 2 of what low keeps, 2 of mid


def test_share_is_what_is_borrowed_of_what_could_be():
    tree = tree_of({"a": {"parent": "c", "gpus": 2, "weight": 2}, "b": {"parent": "c", "gpus": 6}}, {"c": {}})
    runs(tree, "j", "a", 5)
    a = tree.number["a"]
    assert tree.share(a).shown == 188  # 1000 x 3 / 8 / 2 = 187.5, shown rounded up
    assert tree.share(tree.number["b"]) is NO_SHARE
    assert tree.share(tree.number["c"]) is NO_SHARE  # a root borrows from nobody


def test_shares_are_compared_without_rounding():
    assert Share(10**18 + 1, 10**18).exceeds(Share(1, 1))
    assert not Share(1, 3).exceeds(Share(2, 6))
    assert Share(1, 10, endless=True).exceeds(Share(99, 1))
    assert Share(2, 10, endless=True).exceeds(Share(1, 10, endless=True))
    assert Share(1, 10, endless=True).shown == 2**63 - 1


def test_weight_zero_ranks_above_all():
    tree = tree_of({"a": {"parent": "c", "gpus": 0, "weight": 0}, "b": {"parent": "c", "gpus": 8}}, {"c": {}})
    a = tree.number["a"]
    assert not tree.share(a).endless
    runs(tree, "j", "a", 1)
    assert tree.share(a).endless


def test_branches_below_the_lowest_common_cohort():
    tree = tree_of(
        {"q": {"parent": "low", "gpus": 1}, "r": {"parent": "low", "gpus": 1}, "s": {"parent": "top", "gpus": 1},
         "t": {"gpus": 1}},
        {"low": {"parent": "top"}},
    )  # fmt: skip
    q, r, s, t = (tree.number[name] for name in "qrst")
    assert tree.branch(q, r) == (q, r)
    assert tree.branch(q, s) == (tree.number["low"], s)
    with pytest.raises(ValueError, match="no cohort in common"):
        tree.branch(q, t)


def test_resources_of_a_group_need_no_quota_of_their_own():
    tree = Tree.of(
        QueueTree.model_validate(
            {"tree": {"q": {"quota": [{"flavor": "a", "nominal": 2}, {"flavor": "a", "resource": "cpus", "nominal": 8},
                                      {"flavor": "b", "nominal": 1}]}}}
        )
    )  # fmt: skip
    assert tree.keys == (("a", "gpus"), ("a", "cpus"), ("b", "gpus"), ("b", "cpus"))
    assert tree.most[tree.index["b", "cpus"]][0] == 0
    assert tree.most[tree.index["a", "gpus"]][0] == 2000


@given(worlds(), st.data())
def test_use_is_kept_up_and_undone(tree, data):
    before = used(tree)
    tree.refresh()
    assert used(tree) == before  # step by step as from scratch
    queue = data.draw(st.sampled_from(tree.queues))
    usage = {f: data.draw(st.integers(0, 9)) for f in range(len(tree.keys))}
    tree.add(queue, usage)
    for f in usage:
        assert tree.used[f][queue] == before[f][queue] + usage[f]
    tree.remove(queue, usage)
    assert used(tree) == before
    for running in list(tree.running.values()):
        tree.hide(running)
    assert not any(map(any, tree.used))
    for running in list(tree.running.values()):
        tree.unhide(running)
    assert used(tree) == before


@given(worlds())
def test_available_is_never_above_most_and_is_all_of_it_in_an_empty_tree(tree):
    for f in range(len(tree.keys)):
        for queue in tree.queues:
            assert tree.available(queue, f) <= tree.most[f][queue]
            for node in tree.above[queue]:
                borrow = tree.borrow[f][node]
                if tree.parent[node] >= 0 and borrow is not None:
                    assert tree.used[f][node] <= tree.pool[f][node] + borrow
        for root in (node for node in range(len(tree.names)) if tree.parent[node] < 0):
            assert tree.used[f][root] <= tree.pool[f][root]
    for name in list(tree.running):
        tree.end(name)
    for f in range(len(tree.keys)):
        for queue in tree.queues:
            assert tree.available(queue, f) == tree.most[f][queue]


@given(worlds())
def test_what_is_available_can_be_held_and_no_more(tree):
    """A reference of available: the largest amount that breaks no limit on the way up."""
    for f in range(len(tree.keys)):
        for queue in tree.queues:
            free = max(0, tree.available(queue, f))
            assert legal(tree, queue, f, free) or free == 0
            assert not legal(tree, queue, f, free + 1)


def legal(tree, queue, f, amount):
    tree.add(queue, {f: amount})
    fine = all(
        tree.used[f][node] <= tree.pool[f][node]
        if tree.parent[node] < 0
        else (borrow := tree.borrow[f][node]) is None or tree.used[f][node] <= tree.pool[f][node] + borrow
        for node in (queue, *tree.above[queue])
    )
    tree.remove(queue, {f: amount})
    return fine
