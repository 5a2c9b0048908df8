"""The audit of quotas finds what a policy does against the rules."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from benchmarks.queue_tree import made
from dlsched.domain.journal import Evicted, Journal, QuotaFreed, QuotaHeld, Told
from dlsched.domain.scenario import Scenario
from dlsched.policies.queue_tree.fast_cycle import FastCycles
from dlsched.policies.queue_tree.jobs import QueueRules
from dlsched.policies.queue_tree.kai import _Session
from dlsched.policies.queue_tree.rooms import Room, Rooms
from dlsched.policies.queue_tree.tree import Tree
from dlsched.sim.audit import audit
from dlsched.studies.simulation import simulate
from tests.support.quota_scenarios import Row, queues, quota_scenario

TEAMS = {"vision": 8.0, "language": 8.0}
JOBS: list[Row] = [
    ("v1", "vision", 0, 8, 500, 0),
    ("v2", "vision", 50, 8, 300, 5),
    ("l1", "language", 60, 4, 100, 0),
    ("l2", "language", 70, 8, 100, 10),
    ("l3", "language", 71, 8, 100, 0),
    ("l4", "language", 72, 4, 100, 0),
]


def scenario(**rules: Any) -> Scenario:
    usual = {"within": "lower", "reclaim": "any"}
    return quota_scenario(JOBS, queues(TEAMS, rules=usual | rules))


def found(base: Scenario, change: Callable[[Journal], Journal] | None = None) -> str:
    """Return what the audit says of a run, with another journal."""
    done = simulate(base, "queue-tree")
    log = done.log if change is None else dataclasses.replace(done.log, journal=change(done.log.journal))
    return "\n".join(audit(done.prepared.scenario, done.truth, log))


def test_a_run_by_the_rules_is_clean() -> None:
    assert found(scenario()) == ""
    assert found(scenario(strategy="strict")) == ""


def test_quota_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Tree.available
    monkeypatch.setattr(Tree, "available", lambda self, node, f: right(self, node, f) + 4000)
    monkeypatch.setattr(FastCycles, "can_answer", lambda tree: False)
    assert "with 4 gpus of all, but only 0 are within quota" in found(scenario())


def test_jobs_that_may_not_be_stopped() -> None:
    done = simulate(scenario(), "queue-tree")

    def under(**rules: Any) -> str:
        base = done.prepared.scenario.replace(queues=scenario(**rules).queues)
        return "\n".join(audit(base, done.truth, done.log))

    assert under() == ""
    assert "job v1 of vision is stopped for job l1 of language (reclaim), but reclaim = lower" in under(reclaim="lower")
    assert "job l1 of language is stopped for job l2 of language (in-queue), but within = never" in under(
        within="never"
    )


def test_strict_queues_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def last(rooms: Rooms, room: Room, rules: QueueRules) -> Any:
        jobs = [rooms.jobs[places[-1][1]] for places in room.places.values()]
        return max(jobs, key=lambda job: job.order_s, default=None)

    monkeypatch.setattr(Rooms, "_first", last)
    monkeypatch.setattr(FastCycles, "can_answer", lambda tree: False)
    assert "which is ahead of it in the strict queue language" in found(scenario(strategy="strict"))


def kai(jobs: Sequence[Row] = JOBS, nodes: int = 16, **rules: Any) -> Scenario:
    return quota_scenario(jobs, queues(TEAMS, rules=rules, rule="kai"), nodes)


def test_a_run_by_the_rules_of_kai_is_clean_and_stops_jobs() -> None:
    log = simulate(kai(), "queue-tree").log
    assert {entry.reason for _, entry in log.journal if isinstance(entry, Told)} == {"in-queue", "reclaim"}
    assert found(kai()) == ""


def test_kai_keeps_to_limits_and_to_quota_for_jobs_that_are_never_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    limited = kai(nodes=100, quota=[{"nominal": 8.0, "borrow": 0.0}])
    assert found(limited) == ""
    right = Tree.available
    monkeypatch.setattr(Tree, "available", lambda self, node, f: right(self, node, f) + 4000)
    assert "with 4 gpus of all, but only 0 are within quota" in found(limited)
    monkeypatch.undo()
    fixed = [("v1", "vision", 0.0, 8, 500.0, 100.0), ("v2", "vision", 50.0, 8, 300.0, 100.0)]
    assert found(kai(fixed)) == ""
    monkeypatch.setattr(_Session, "_may_hold", lambda self, job, usage: True)
    assert "with 8 gpus of all, but only 0 are within quota" in found(kai(fixed))


def test_kai_stops_only_what_it_may() -> None:
    def with_priority(priority: float) -> str:
        """Return what the audit says of the usual run had the jobs that were stopped had another priority."""
        done = simulate(kai(), "queue-tree")
        stopped = {entry.row for _, entry in done.log.journal if isinstance(entry, Told)}
        rows = [(*row[:5], priority if number in stopped else row[5]) for number, row in enumerate(JOBS)]
        return "\n".join(audit(kai(rows), done.truth, done.log))

    assert with_priority(0) == ""
    assert "but its priority is not lower" in with_priority(50)
    assert "but jobs of priority 100 and above are never stopped" in with_priority(100)
    other = found(kai(), lambda journal: change_told(journal, reason="fair-share"))
    assert "but KAI has no such reason" in other


def change_told(journal: Journal, **fields: Any) -> Journal:
    return tuple((at_s, entry._replace(**fields) if isinstance(entry, Told) else entry) for at_s, entry in journal)


@pytest.mark.parametrize(
    ("without", "words"),
    [
        (Told, "was not told to leave 0 s before"),
        (QuotaFreed, "is told to leave, and never does"),
        (Evicted, ""),
    ],
)
def test_entries_that_are_missing(without: type, words: str) -> None:
    text = found(scenario(), lambda journal: tuple(one for one in journal if not isinstance(one[1], without)))
    assert words in text


def test_amounts_and_queues_that_are_wrong() -> None:
    def changed(**fields: Any) -> Callable[[Journal], Journal]:
        return lambda journal: tuple(
            (at_s, entry._replace(**fields) if isinstance(entry, QuotaHeld) else entry) for at_s, entry in journal
        )

    assert "uses 8 gpus, with quota for 2" in found(scenario(), changed(amount=2.0))
    assert "holds quota of vision, but its queue is language" in found(scenario(), changed(queue="vision"))


def test_leaving_takes_as_long_as_the_scenario_says() -> None:
    base = quota_scenario(JOBS, queues(TEAMS, rules={"within": "lower", "reclaim": "any"}, stop_s=20))
    assert found(base) == ""

    def later(journal: Journal) -> Journal:
        return tuple((at_s - 5, entry) if isinstance(entry, Told) else (at_s, entry) for at_s, entry in journal)

    assert "leaves 25 s later, not after 20 s" in found(base, later)


def test_who_is_stopped_loses_what_the_scenario_says() -> None:
    def all_of_it(journal: Journal) -> Journal:
        return tuple((at_s, Evicted(one.row, "all") if isinstance(one, Evicted) else one) for at_s, one in journal)

    assert "loses all, but the rule is checkpoint" in found(scenario(), all_of_it)


@pytest.mark.parametrize("fair_sharing", [False, True])
def test_a_job_may_be_admitted_on_quota_that_a_job_told_in_the_same_cycle_still_holds(fair_sharing: bool) -> None:
    """Language's job of 8 makes room for vision's of 4: within the cycle its other 4 are there for the next heads."""
    jobs: list[Row] = [
        ("v1", "vision", 0, 4, 500, 0), ("l1", "language", 1, 8, 500, 0), ("s1", "speech", 2, 3, 500, 0),
        ("v2", "vision", 60, 4, 100, 0), ("l2", "language", 60, 1, 100, 0), ("s2", "speech", 60, 1, 100, 0),
    ]  # fmt: skip
    teams = {"vision": 8.0, "language": 4.0, "speech": 4.0}
    tree = queues(teams, rules={"within": "lower", "reclaim": "any"}, stop_s=30, fair_sharing=fair_sharing)
    done = simulate(quota_scenario(jobs, tree), "queue-tree")
    held = sum(entry.amount for _, entry in done.log.journal[:6] if isinstance(entry, QuotaHeld))
    assert (held, [type(entry) for _, entry in done.log.journal[:6]]) == (17, [QuotaHeld] * 5 + [Told])
    assert done.audit() == []


@pytest.mark.slow
def test_a_queue_may_be_over_with_what_its_head_was_promised_in_the_cycle() -> None:
    """Twenty queues under fair sharing, with more work than the nodes can do."""
    assert simulate(made(1.1, fair_sharing=True, jobs=1000), "queue-tree").audit() == []
