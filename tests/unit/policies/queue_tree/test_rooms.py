"""Who waits, who is parked and who is first, over time; past use of sub-queues."""

from math import inf

import pytest

from dlsched.policies.queue_tree.cycle import Head, run_cycle
from dlsched.policies.queue_tree.jobs import Rules
from dlsched.policies.queue_tree.order import in_queue
from dlsched.policies.queue_tree.rooms import Rooms, goes_back
from dlsched.policies.queue_tree.usage import PastUse, decay
from tests.support.queue_trees import carry_out, job, runs, tree_of

RULES = Rules()


def names(jobs):
    return [each.id for each in jobs]


def step(tree, rooms, rules=RULES):
    """Run one cycle; return the outcomes."""
    result = run_cycle(tree, rooms.heads(), rules)
    carry_out(tree, result)
    rooms.take_back(result)
    return result.outcomes


def test_first_is_by_priority_then_time_then_name():
    tree = tree_of({"q": {"gpus": 1}})
    jobs = [
        job(tree, name, "q", 1, priority, at)
        for name, priority, at in (("b", 1, 5.0), ("a", 1, 5.0), ("c", 2, 9.0), ("d", 1, 1.0))
    ]
    rooms = Rooms(tree, RULES)
    for each in jobs:
        rooms.add(each)
    order = []
    while (head := rooms.first(0)) is not None:
        order.append(head.id)
        rooms.remove(head)
    assert order == ["c", "d", "a", "b"] == names(sorted(jobs, key=in_queue))


def test_jobs_alike_are_parked_together_and_wait_again_when_a_job_of_the_tree_leaves():
    tree = tree_of({"q": {"parent": "c", "gpus": 4}, "r": {"parent": "c", "gpus": 0}, "alone": {"gpus": 4}}, {"c": {}})
    runs(tree, "x", "r", 3)
    runs(tree, "y", "alone", 1)
    rooms = Rooms(tree, RULES)
    for number in range(3):
        rooms.add(job(tree, f"big{number}", "q", 2, 1, float(number)))
    rooms.add(job(tree, "small", "q", 1))
    assert step(tree, rooms) == {"big0": "no_victims"}
    assert names(rooms.waiting(0)) == ["small"]
    assert sorted(names(rooms.waiting(0, parked=True))) == ["big0", "big1", "big2"]
    assert rooms.add(job(tree, "big3", "q", 2, 1))  # parked as it arrives
    assert not rooms.add(job(tree, "other", "q", 2, 0))  # another priority
    tree.end("y")
    rooms.freed(tree.number["alone"])  # another tree
    assert "big0" not in names(rooms.waiting(0))
    tree.end("x")
    rooms.freed(tree.number["r"])
    assert names(rooms.waiting(0, parked=True)) == []
    assert step(tree, rooms) == {"big0": "admitted"}


def test_a_strict_head_stays_and_blocks():
    tree = tree_of({"q": {"gpus": 4, "strategy": "strict"}})
    rooms = Rooms(tree, RULES)
    rooms.add(job(tree, "big", "q", 5, 1))
    rooms.add(job(tree, "small", "q", 1))
    assert step(tree, rooms) == step(tree, rooms) == {"big": "no_fit"}
    rooms.remove(rooms.jobs["big"])
    assert step(tree, rooms) == {"small": "admitted"}


def test_a_job_whose_victims_are_leaving_stays_first_in_a_best_effort_queue():
    for strict, first in ((False, "w"), (True, "late")):
        tree = tree_of({"q": {"gpus": 2, "within": "lower", "strategy": "strict" if strict else "best-effort"}})
        runs(tree, "r", "q", 2)
        rooms = Rooms(tree, RULES)
        rooms.add(job(tree, "w", "q", 2, 1))
        result = run_cycle(tree, rooms.heads(), RULES)
        assert names_told(result) == ["r"]
        rooms.take_back(result)
        rooms.add(job(tree, "late", "q", 1, 9))
        assert [head.job.id for head in rooms.heads()] == [first]
    rooms.remove(rooms.jobs["w"])
    assert rooms.rooms[0].preemptor is None


def names_told(result):
    return [told.victim for told in result.told]


def two_flavors(rules):
    """Return a head whose search was cut after flavor a, because another took what it had found."""
    quota = [{"flavor": "a", "nominal": 0}, {"flavor": "b", "nominal": 0}]
    tree = tree_of(
        {"q": {"parent": "c", "quota": quota}, "r": {"parent": "c", "quota": quota}},
        {"c": {"quota": [{"flavor": "a", "nominal": 2}, {"flavor": "b", "nominal": 2}]}},
    )
    rooms = Rooms(tree, rules)
    rooms.add(job(tree, "first", "q", 2, 1))
    rooms.add(job(tree, "second", "r", 2))
    assert step(tree, rooms, rules) == {"first": "admitted", "second": "lost_race"}
    return tree, rooms


def test_a_cut_search_goes_on_in_the_next_cycle_even_if_quota_was_freed():
    tree, rooms = two_flavors(RULES)
    tree.end("first")
    rooms.freed(0)
    assert rooms.heads() == [Head(rooms.jobs["second"], ({"gpus": 0},), False)]
    assert rooms.heads()[0].tried == ()  # a cycle later what was freed counts
    tree, rooms = two_flavors(RULES)
    rooms.heads()
    assert rooms.heads()[0].tried == ({"gpus": 0},)  # and so it does while nothing was freed
    _, rooms = two_flavors(Rules(keep_scan=False))
    assert rooms.heads()[0].tried == ()


@pytest.mark.parametrize("outcome", ["waits_for_victims", "lost_race", "no_room", "no_fit", "no_victims"])
def test_who_waits_again(outcome):
    assert goes_back(outcome, strict=False) is (outcome not in ("no_fit", "no_victims"))
    assert goes_back(outcome, strict=True)
    assert goes_back(outcome, strict=False, cut=True)


def test_who_used_less_goes_first():
    use = PastUse(
        100.0, 100.0, {"x": 1.0, "y": 4.0, "zero": 0.0}, {"gpus": 1.0}, {"x": {"gpus": 4.0}, "y": {"gpus": 12.0}}
    )
    assert (use.of("x"), use.of("y"), use.of("new"), use.of("zero")) == (4.0, 3.0, 0.0, inf)
    tree = tree_of({"q": {"gpus": 2, "order": "usage"}})
    rooms = Rooms(tree, RULES, use.of)
    rooms.add(job(tree, "of x", "q", 1, 9, local="x"))
    rooms.add(job(tree, "of y", "q", 1, 0, local="y"))
    rooms.add(job(tree, "of zero", "q", 1, 99, local="zero"))
    assert [head.job.id for head in rooms.heads()] == ["of y"]
    use.admitted("y", {"gpus": 16.0})  # half of it counts at once: the sampling time is one half-life
    assert use.of("y") == (12.0 + 8.0) / 4
    assert [head.job.id for head in rooms.heads()] == ["of x"]


def test_history_decays_towards_what_is_used_now():
    use = PastUse(100.0, 50.0, {}, {}, {"x": {"gpus": 8.0}})
    use.sample({}, 100.0)
    assert use.of("x") == 4.0
    use.sample({"x": {"gpus": 6.0}}, 100.0)
    assert use.of("x") == 5.0
    use.admitted("x", {"gpus": 1.0})
    before = use.of("x")
    use.sample({"x": {"gpus": before}}, 0.0)
    assert use.of("x") == pytest.approx(before)  # the penalty became part of the history
    assert decay(0.0, 100.0) == 0.0
    assert decay(5.0, 0.0) == 1.0
