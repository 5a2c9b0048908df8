"""One pass over the first jobs of all queues: by hand, and what holds for every pass."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.policies.queue_tree.cycle import Head, hint, reserve, run_cycle
from dlsched.policies.queue_tree.flavors import Assignment, pairs_of, too_large
from dlsched.policies.queue_tree.jobs import Rules
from dlsched.policies.queue_tree.rooms import Rooms
from tests.support.queue_trees import carry_out, job, runs, tree_of, used, waiting_jobs, worlds

CLASSIC, FAIR = Rules(), Rules(fair_sharing=True)


def outcomes(tree, *jobs, rules=CLASSIC, has_room=None):
    result = run_cycle(tree, [Head(each) for each in jobs], rules, has_room)
    return result, result.outcomes


def free(gpus=4, **rules):
    return tree_of({name: {"parent": "c", "gpus": 0, **rules} for name in "abd"}, {"c": {"gpus": gpus}})


def test_who_borrows_less_then_priority_then_time():
    tree = tree_of(
        {"a": {"parent": "c", "gpus": 2}, "b": {"parent": "c", "gpus": 0}, "d": {"parent": "c", "gpus": 0}},
        {"c": {"gpus": 2}},
    )
    within = job(tree, "within", "a", 2, 0, 9.0)
    high, early = job(tree, "high", "b", 2, 5, 8.0), job(tree, "early", "d", 2, 0, 1.0)
    result, became = outcomes(tree, early, high, within)
    assert [entry.job.id for entry in result.entries] == ["within", "high", "early"]
    assert became == {"within": "admitted", "high": "admitted", "early": "lost_race"}
    assert outcomes(tree, early, high, within, rules=Rules(priority_between_queues=False))[1] == {
        "within": "admitted", "early": "admitted", "high": "lost_race",
    }  # fmt: skip


def test_a_job_whose_victims_are_leaving_goes_first_where_the_rules_say_so():
    tree = free(2)
    jobs = [Head(job(tree, "high", "a", 2, 5)), Head(job(tree, "low", "b", 2), preemptor=True)]
    assert run_cycle(tree, jobs, CLASSIC).outcomes["high"] == "admitted"
    assert run_cycle(tree, jobs, Rules(preemptor_first=True)).outcomes["low"] == "admitted"
    assert run_cycle(tree, jobs, Rules(preemptor_first=True, fair_sharing=True)).outcomes["low"] == "admitted"


def test_no_room_on_nodes_keeps_nothing():
    tree = free(2)
    first, second = job(tree, "first", "a", 2, 5), job(tree, "second", "b", 2)
    _, became = outcomes(tree, first, second, has_room=lambda each, _: each.id != "first")
    assert became == {"first": "no_room", "second": "admitted"}


def test_what_waits_in_vain_is_kept_unless_the_queue_can_always_take_it_back():
    def world(reclaim):
        tree = tree_of(
            {"a": {"parent": "c", "gpus": 4, "reclaim": reclaim, "borrow": 0}, "b": {"parent": "c", "gpus": 2},
             "d": {"parent": "c", "gpus": 2}},
            {"c": {}},
        )  # fmt: skip
        runs(tree, "b1", "b", 4, priority=9)
        return outcomes(tree, job(tree, "owner", "a", 4), job(tree, "other", "d", 4))[1]

    assert world("lower") == {"owner": "admitted", "other": "lost_race"}
    tree = tree_of(
        {"a": {"parent": "c", "gpus": 4, "reclaim": "lower"}, "b": {"parent": "c", "gpus": 0},
         "d": {"parent": "c", "gpus": 0}},
        {"c": {}},
    )  # fmt: skip
    runs(tree, "b1", "b", 2, priority=9)
    assert outcomes(tree, job(tree, "owner", "a", 4), job(tree, "other", "d", 2))[1] == {
        "owner": "no_victims", "other": "lost_race",
    }  # fmt: skip
    tree = tree_of(
        {"a": {"parent": "c", "gpus": 4, "within": "lower"}, "b": {"parent": "c", "gpus": 0}}, {"c": {"gpus": 0}}
    )
    runs(tree, "b1", "b", 2)
    assert outcomes(tree, job(tree, "owner", "a", 4), job(tree, "other", "b", 1))[1]["other"] == "lost_race"


def overlap(**rules):
    """Return two queues that both reclaim from a third, and from its jobs the newest first."""
    tree = tree_of(
        {"a": {"parent": "c", "gpus": 2, "reclaim": "any"}, "b": {"parent": "c", "gpus": 2, "reclaim": "any"},
         "x": {"parent": "c", "gpus": 0}},
        {"c": {}},
    )  # fmt: skip
    runs(tree, "x1", "x", 2, start_s=1.0)
    runs(tree, "x2", "x", 2, start_s=2.0)
    return run_cycle(tree, [Head(job(tree, "wa", "a", 2, 1)), Head(job(tree, "wb", "b", 2))], Rules(**rules))


def test_a_job_whose_victims_were_taken_looks_for_others():
    result = overlap()
    assert [(told.victim, told.taker) for told in result.told] == [("x2", "wa"), ("x1", "wb")]
    result = overlap(retarget=False)
    assert [(told.victim, told.taker) for told in result.told] == [("x2", "wa")]
    assert result.outcomes["wb"] == "lost_race"


def test_a_job_that_fits_once_the_victims_of_another_leave_waits_for_them():
    tree = tree_of(
        {"a": {"parent": "c", "gpus": 1, "reclaim": "any"}, "b": {"parent": "c", "gpus": 1, "reclaim": "any"},
         "x": {"parent": "c", "gpus": 0}},
        {"c": {}},
    )  # fmt: skip
    runs(tree, "x1", "x", 2)
    result = run_cycle(tree, [Head(job(tree, "wa", "a", 1, 1)), Head(job(tree, "wb", "b", 1))], CLASSIC)
    assert [(told.victim, told.taker) for told in result.told] == [("x1", "wa")]
    assert result.outcomes == {"wa": "waits_for_victims", "wb": "waits_for_victims"}


def test_the_tournament_is_won_by_who_does_not_borrow_then_by_the_smaller_share():
    tree = tree_of(
        {"a": {"parent": "left", "gpus": 0}, "b": {"parent": "right", "gpus": 0}, "d": {"parent": "right", "gpus": 2}},
        {"left": {"parent": "top"}, "right": {"parent": "top"}, "top": {"gpus": 6}},
    )  # fmt: skip
    runs(tree, "a1", "a", 2)
    jobs = [job(tree, "wa", "a", 2, 9), job(tree, "wb", "b", 3), job(tree, "wd", "d", 2)]
    result, became = outcomes(tree, *jobs, rules=FAIR)
    # d and its cohort stay within their own; then right borrows 3 with wb, and left 4 with wa
    assert [entry.job.id for entry in result.entries] == ["wd", "wb", "wa"]
    assert became == {"wd": "admitted", "wb": "admitted", "wa": "lost_race"}
    assert outcomes(tree, *jobs)[1] == {"wa": "admitted", "wb": "lost_race", "wd": "admitted"}  # by priority


def test_borrowing_on_what_a_job_does_not_ask_for_does_not_count_in_the_tournament():
    tree = tree_of(
        {"a": {"parent": "c", "quota": [{"flavor": "f", "nominal": 2}, {"flavor": "g", "nominal": 0}]},
         "b": {"parent": "c", "quota": [{"flavor": "f", "nominal": 0}, {"flavor": "g", "nominal": 0}]}},
        {"c": {"quota": [{"flavor": "f", "nominal": 1}, {"flavor": "g", "nominal": 8}]}},
    )  # fmt: skip
    runs(tree, "a1", "a", 8, flavor="g")
    jobs = [job(tree, "wb", "b", 1, 9), job(tree, "wa", "a", 2)]  # b borrows 1 of f, a within its 2 of f
    assert [entry.job.id for entry in outcomes(tree, *jobs, rules=FAIR)[0].entries] == ["wa", "wb"]


def test_a_job_that_looks_for_other_victims_keeps_its_flavor():
    quota = [{"flavor": "f", "nominal": 3}, {"flavor": "g", "nominal": 3}]
    tree = tree_of(
        {"a": {"parent": "c", "quota": [{"flavor": "f", "nominal": 2}], "reclaim": "lower", "when_can_preempt": "stop"},
         "b": {"parent": "c", "quota": quota, "reclaim": "lower", "when_can_preempt": "stop"},
         "x": {"parent": "c", "quota": [{"flavor": "f", "nominal": 0}, {"flavor": "g", "nominal": 0}]}},
        {"c": {}},
    )  # fmt: skip
    for name, gpus, priority, flavor in (("x1", 3, -1, "f"), ("fixed", 2, 9, "f"), ("x2", 3, -1, "g")):
        runs(tree, name, "x", gpus, priority, flavor=flavor)
    result, became = outcomes(tree, job(tree, "wa", "a", 2, 1), job(tree, "wb", "b", 3))
    assert [(told.victim, told.taker) for told in result.told] == [("x1", "wa")]
    assert became["wb"] == "no_victims"  # x2 holds the other flavor


def test_what_is_reserved_ends_at_nominal_or_at_the_limit_of_borrowing():
    tree = tree_of({"q": {"parent": "c", "gpus": 4, "borrow": 3}, "free": {"parent": "c", "gpus": 4}}, {"c": {}})
    runs(tree, "r", "q", 1)

    def kept(queue, borrow, amount, mode="preempt"):
        return reserve(tree, tree.number[queue], Assignment(usage={0: amount}, borrow=borrow, mode=mode))[0]

    assert (kept("q", 0, 2), kept("q", 0, 9), kept("q", 1, 9), kept("q", 1, 5)) == (2, 3, 6, 5)
    assert (kept("free", 1, 99), kept("q", 0, 9, "fit")) == (99, 9)
    runs(tree, "s", "q", 5)
    assert kept("q", 0, 1) == 0


def test_hints_say_why_a_job_waits():
    tree = tree_of({"a": {"parent": "c", "gpus": 4}, "b": {"parent": "c", "gpus": 0}}, {"c": {}})
    runs(tree, "b1", "b", 2)

    def why(queue, amount, outcome):
        waits = job(tree, "w", queue, amount)
        return hint(tree, waits.queue, outcome, too_large(tree, waits, False), list(pairs_of(tree, waits)))

    assert why("a", 4, "no_victims") == "quota_lent"
    assert why("b", 3, "no_fit") == "over_quota"
    assert why("b", 5, "no_fit") == "too_large"
    assert why("b", 3, "waits_for_victims") == "leaving"


@pytest.mark.parametrize("rules", [CLASSIC, FAIR], ids=["classic", "fair"])
@given(world=worlds(), data=st.data())
def test_a_cycle_leaves_no_trace_admits_within_limits_and_stops_no_job_of_its_own(rules, world, data):
    tree, before = world, used(world)
    first = {each.queue: each for each in data.draw(waiting_jobs(tree))}
    result = run_cycle(tree, [Head(each) for each in first.values()], rules)
    assert used(tree) == before
    assert sorted(result.outcomes) == sorted(each.id for each in first.values())
    told = [one.victim for one in result.told]
    assert len(set(told)) == len(told)
    assert set(told) <= set(tree.running)
    for entry in result.entries:
        if entry.outcome == "admitted":
            assert tree.fits(entry.job.queue, entry.assignment.usage) or result.told
    for victim in told:
        tree.end(victim)
    for admitted, assignment in result.admitted:
        assert tree.fits(admitted.queue, assignment.usage)
        tree.add(admitted.queue, assignment.usage)


@pytest.mark.parametrize("rules", [CLASSIC, FAIR], ids=["classic", "fair"])
@given(world=worlds(policies=False), data=st.data())
@settings(max_examples=40)
def test_where_every_policy_is_never_cycles_come_to_rest_and_no_job_stops(rules, world, data):
    tree, jobs = world, data.draw(waiting_jobs(world, 10))
    rooms = Rooms(tree, rules)
    for each in jobs:
        rooms.add(each)
    for _ in range(200):
        result = run_cycle(tree, rooms.heads(), rules)
        assert not result.told
        carry_out(tree, result)
        parked = rooms.take_back(result)
        cut = any(entry.assignment.cut for entry in result.entries if entry.outcome != "admitted")
        if not (result.admitted or parked or cut):
            break
    else:
        pytest.fail("cycles did not come to rest")


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3), st.integers(0, 9)), min_size=1, max_size=12))
def test_one_strict_queue_with_all_quota_takes_jobs_by_priority(asked):
    tree = tree_of({"q": {"gpus": 8, "strategy": "strict"}})
    rooms = Rooms(tree, CLASSIC)
    jobs = [job(tree, f"j{n:02}", "q", gpus, priority, float(at)) for n, (gpus, priority, at) in enumerate(asked)]
    for each in jobs:
        rooms.add(each)
    admitted: list[str] = []
    while (result := run_cycle(tree, rooms.heads(), CLASSIC)).admitted:
        carry_out(tree, result)
        rooms.take_back(result)
        admitted += [each.id for each, _ in result.admitted]
    ordered = sorted(jobs, key=lambda each: (-each.priority, each.order_s, each.id))
    left, expected = 8, []
    for each in ordered:
        left -= each.podsets[0].all_of_it["gpus"]
        if left < 0:
            break
        expected.append(each.id)
    assert admitted == expected
