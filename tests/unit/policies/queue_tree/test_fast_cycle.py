"""Compiled cycles against the plain rule, and the shortcut for one flavor against the search through flavors."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.queue_tree import QueueTree
from dlsched.domain.scenario import SimulationRules
from dlsched.policies.queue_tree.cycle import CycleResult, run_cycle
from dlsched.policies.queue_tree.fast_cycle import FastCycles
from dlsched.policies.queue_tree.flavors import FIT, NO_CANDIDATES, PREEMPT, assign
from dlsched.policies.queue_tree.jobs import Rules
from dlsched.policies.queue_tree.rooms import Rooms
from dlsched.policies.queue_tree.rows import job_name
from dlsched.testing.logs import first_difference
from tests.support.queue_trees import job, tree_of, used, waiting_jobs, worlds
from tests.support.quota_scenarios import run
from tests.unit.policies.queue_tree.test_random_replays import random_scenario

STRATEGIES = [("final-share", "initial-share"), ("initial-share",), ("final-share",)]
RULES = st.builds(
    Rules,
    fair_sharing=st.booleans(),
    strategies=st.sampled_from(STRATEGIES),
    priority_between_queues=st.booleans(),
    retarget=st.booleans(),
    preemptor_first=st.booleans(),
)


def plain_cycles(tree, rooms, rules, has_room):
    """Run plain cycles until one changes more than who is parked; return what those before it said, and that one."""
    passed = list[tuple[str, object]]()
    while True:
        result = run_cycle(tree, rooms.heads(), rules, has_room)
        if {"admitted", "waits_for_victims", "no_room"} & {*result.outcomes.values()}:
            return passed, result
        passed += result.outcomes.items()
        if not rooms.take_back(result):
            return passed, CycleResult()


@given(worlds(most_jobs=20, most_flavors=1, names="{:09}"), RULES, st.data())
def test_compiled_cycles_answer_as_plain_ones(tree, rules, data):
    assert FastCycles.can_answer(tree)
    fast, before = FastCycles(tree, rules), used(tree)
    for running in tree.running.values():
        running.leaving = data.draw(st.booleans())
        fast.start(running)
    jobs = [
        replace(each, id=job_name(100 + n)) for n, each in enumerate(data.draw(waiting_jobs(tree, 10, fewer=False)))
    ]
    preemptors, refused = (data.draw(st.sets(st.sampled_from([each.id for each in jobs]))) for _ in range(2))
    plain_rooms, rooms = Rooms(tree, rules), Rooms(tree, rules)
    for each in (plain_rooms, rooms):
        for waiting in jobs:
            each.add(waiting)
        for waiting in jobs:
            if waiting.id in preemptors:
                each.put_back(waiting, "waits_for_victims")

    def has_room(job, assignment):
        return job.id not in refused

    assert fast.look_at(rooms)
    passed, one = plain_cycles(tree, plain_rooms, rules, has_room)
    other = fast.run(rooms, has_room)
    assert used(tree) == before
    expected = dict(passed) | one.outcomes
    assert [*expected.items()] == [(job_name(row), outcome) for row, outcome in other.outcomes.items()]
    assert one.told == other.told
    assert one.admitted == other.admitted
    for row in other.dropped:
        rooms.passed_over(rooms.jobs[job_name(row)])
    any_parked = [rooms.put_back(job, outcome) for job, outcome in other.left]
    assert plain_rooms.take_back(one) == (other.any_parked or any(any_parked))
    assert np.array_equal(plain_rooms.parked, rooms.parked)
    for queue, room in rooms.rooms.items():
        assert room.preemptor == plain_rooms.rooms[queue].preemptor
        assert rooms.first(queue) is plain_rooms.first(queue)


def test_jobs_that_may_start_with_fewer_pods_are_left_to_the_plain_rule():
    tree = tree_of({"q": {"gpus": 4}})
    fast, rooms = FastCycles(tree, Rules()), Rooms(tree, Rules())
    rooms.add(replace(job(tree, "", "q", 2, 0, 0.0, count=2), id=job_name(0)))
    assert fast.look_at(rooms)
    fewer = replace(job(tree, "", "q", 2, 1, 0.0, count=2, min_count=1), id=job_name(1))
    rooms.add(fewer)
    assert not fast.look_at(rooms)
    rooms.remove(fewer)
    assert fast.look_at(rooms)


def scenario_of_one_flavor(seed):
    """Return jobs of a random replay in a random tree with one flavor; queues may be on any level, or alone."""
    rng = np.random.default_rng(seed)

    def quota(most):
        borrow, lend = ((None, None, 0, 4, 16)[number] for number in rng.integers(0, 5, 2))
        return [{"nominal": int(rng.integers(0, most)), "borrow": borrow, "lend": lend}]

    def queue():
        return {
            "parent": (None, "top", "c0", "c1", "c2", "c2")[rng.integers(6)],
            "weight": float(rng.choice([0, 1, 1, 2, 0.3])),
            "strategy": str(rng.choice(["best-effort", "best-effort", "strict"])),
            "within": str(rng.choice(["never", "lower", "lower-or-newer-equal"])),
            "reclaim": str(rng.choice(["never", "lower", "any"])),
            "while_borrowing": str(rng.choice(["never", "lower"])),
            "while_borrowing_below": (None, None, 0, 1)[rng.integers(4)],
            "quota": quota(12),
        }

    cohorts = {
        name: {"parent": above, "weight": float(rng.integers(3)), "quota": quota(6) if rng.random() < 0.4 else []}
        for name, above in (("c0", "top"), ("c1", "top"), ("c2", "c1"))
    }
    tree = QueueTree.model_validate(
        {
            "cohorts": cohorts, "tree": {f"q{number}": queue() for number in range(6)}, "stop_s": (0, 30)[seed % 2],
            "fair_sharing": seed % 4 > 1, "strategies": STRATEGIES[seed % 3], "retarget": bool(rng.integers(2)),
            "preemptor_first": bool(rng.integers(2)), "priority_between_queues": bool(rng.random() < 0.7),
            "changes": [{"at_s": 4000.0, "set": {"q1.all.gpus.nominal": 9}}] if seed % 5 == 0 else [],
        }
    )  # fmt: skip
    base = random_scenario(seed)
    options = SimulationRules(placement="pack", checkpoint_s=300.0, restart_s=20.0, oversize="drop")
    return base.replace(workload=base.workload.head(80), queues=tree, options=options)


@pytest.mark.parametrize("seed", range(16))
def test_runs_are_the_same_with_compiled_cycles(seed, monkeypatch):
    one = run(scenario_of_one_flavor(seed))
    monkeypatch.setattr(FastCycles, "can_answer", lambda tree: False)
    other = run(scenario_of_one_flavor(seed))
    assert first_difference(one.log, other.log) == ""
    assert one.log.journal == other.log.journal


def test_trees_that_are_left_to_the_plain_rule():
    two = [{"flavor": flavor, "nominal": 4} for flavor in "ab"]
    assert FastCycles.can_answer(tree_of({"q": {"gpus": 4}}))
    assert not FastCycles.can_answer(tree_of({"q": {"quota": two}}))
    assert not FastCycles.can_answer(tree_of({"q": {"gpus": 4}}, rule="kai"))
    assert not FastCycles.can_answer(tree_of({"q": {"gpus": 4, "order": "usage"}}))
    assert not FastCycles.can_answer(tree_of({"q": {"gpus": 10**6, "weight": 0.123456}}))  # products beyond 64 bits


@given(worlds(most_jobs=20, most_flavors=1), RULES, st.data())
def test_the_only_flavor_is_found_as_by_the_search(tree, rules, data):
    grade = data.draw(st.sampled_from([(NO_CANDIDATES, 1), (PREEMPT, 0), (FIT, 2)]))
    for each in data.draw(waiting_jobs(tree)):
        flavors = data.draw(st.sampled_from([None, frozenset({"a"}), frozenset({"b"})]))
        waiting = job(tree, each.id, tree.names[each.queue], 2, each.priority, count=3, flavors=flavors)
        short = assign(tree, waiting, rules, lambda f, amount: grade)
        counts = [podset.count for podset in waiting.podsets]  # given, the search goes through all flavors
        assert short == assign(tree, waiting, rules, lambda f, amount: grade, counts)
