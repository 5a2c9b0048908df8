"""Decisions that are worked out again: the same as in the run, with and without its stored pieces."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from dlsched.domain.errors import InputError
from dlsched.policies.rolling_horizon import problem as problems
from dlsched.policies.rolling_horizon.solver import solve
from dlsched.studies import registry
from dlsched.studies.inspect.look_ahead import StoredRun, StoredWidths
from dlsched.studies.inspect.look_ahead.answer import LookAheads, changes_at, decisions_of
from dlsched.studies.simulation import simulate
from tests.support.known import known
from tests.support.look_ahead_runs import (
    CROWDED,
    GREEDY,
    OPTIMAL,
    POLICIES,
    at,
    crowded_scenario,
    elastic_run,
    elastic_scenario,
    window,
)


def asked(policy: str, first: int, last: int) -> dict[str, object]:
    return {
        "scenario": elastic_scenario().content_hash, "policy": policy, "params": {}, "first": first, "last": last,
    }  # fmt: skip


@pytest.mark.parametrize("policy", POLICIES)
def test_every_decision_comes_again_as_it_was_carried_out(policy):
    run = elastic_run(policy)
    decisions = decisions_of(run.decisions)
    found = window(run.scenario, policy, 1, len(decisions))
    stored = StoredWidths.of(decisions, run.segments)
    assert [one.number for one in found] == decisions["number"].tolist()
    assert [one.time_s for one in found] == decisions["time_s"].tolist()
    assert len(found) > 20
    for one in found:
        carried_out = one.first if policy == OPTIMAL else one.greedy
        assert stored.held_after(one.time_s, np.array(one.row)).tolist() == list(carried_out)
        assert stored.held_after(one.time_s - 1, np.array(one.row)).tolist() == list(one.held)
        assert one.idle == (6 - sum(one.first), 6 - sum(one.greedy))
        assert one.got == carried_out


@pytest.mark.parametrize("cluster", CROWDED)
@pytest.mark.parametrize("policy", POLICIES)
def test_what_jobs_got_is_what_the_run_has_stored_wherever_they_share_nodes(policy, cluster):
    run = simulate(crowded_scenario(cluster), policy)
    assert run.audit() == []
    decisions = decisions_of(run.decisions)
    stored = StoredWidths.of(decisions, run.segments)
    found = window(run.scenario, policy, 1, len(decisions))
    assert [one.time_s for one in found] == decisions["time_s"].tolist()
    for one in found:
        order = np.argsort(one.row)  # jobs stand by what they share, then in order of submission
        rows, got = np.array(one.row)[order], np.array(one.got)[order]
        assert stored.held_after(one.time_s, rows).tolist() == got.tolist()
        assert (np.array(one.held)[order] == stored.held_after(one.time_s - 1, rows)).all()
    if cluster == "unequal nodes":
        assert any(one.got != one.decided(follows_plan=policy == OPTIMAL) for one in found)
    middle = len(found) // 2
    assert window(run.scenario, policy, middle, middle + 2, stored) == found[middle - 1 : middle + 2]


def test_objective_and_bound_are_those_of_the_run():
    run = elastic_run(OPTIMAL)
    decisions = decisions_of(run.decisions)
    found = window(run.scenario, OPTIMAL, 1, len(decisions))
    np.testing.assert_allclose([known(one.objective) for one in found], decisions["objective"], rtol=1e-12)
    np.testing.assert_allclose([known(one.bound) for one in found], decisions["bound"], rtol=1e-12)
    assert [one.method for one in found] == decisions["note"].tolist()
    assert {one.status for one in found} == {"optimal"}


@pytest.mark.parametrize("policy", POLICIES)
def test_taking_earlier_widths_from_the_stored_run_changes_nothing(policy):
    run = elastic_run(policy)
    decisions = decisions_of(run.decisions)
    stored = StoredWidths.of(decisions, run.segments)
    whole = window(run.scenario, policy, 1, len(decisions))
    for number in range(1, len(decisions) + 1, 3):
        assert at(run.scenario, policy, number, stored) == whole[number - 1]
    assert window(run.scenario, policy, 11, 20, stored) == whole[10:20]


def test_the_first_decision_by_hand():
    # at 600 s: job 0 runs since 308 s on 4 nodes, job 1 since 339 s on the 2 that were left, job 2 waits
    scenario = elastic_scenario().replace(workload=elastic_scenario().workload.head(3))
    jobs = scenario.workload
    assert jobs.submit_s.tolist() == [308, 339, 409]
    one = at(scenario, OPTIMAL, 1)
    assert (one.jobs, one.held, one.rest) == (("job 0", "job 1", "job 2"), (4, 2, 0), 0)
    left_h = (jobs.work - np.array([1.6**2 * 292, 1.6 * 261, 0])) / 3600
    problem = problems.of(left_h, 6, [1, 2, 4], steps=5)
    best = solve(problem, "enumerate")
    assert one.objective == pytest.approx(best.objective, rel=1e-9)
    assert problems.objective_of(problem, np.array(one.plan)) == pytest.approx(best.objective, rel=1e-9)
    # the oldest that can be halved is job 0: 2 of its 4 nodes go to job 2
    assert one.greedy == (2, 2, 2)


def test_the_greedy_run_is_told_what_the_optimal_one_would_plan():
    one = at(elastic_scenario(), GREEDY, 3)
    assert one.steps == 5
    assert one.status == "optimal"
    assert one.scenarios == "scenario 3"
    assert one.gap == pytest.approx(0, abs=1e-5)


def test_an_answer_survives_the_store():
    answer = LookAheads(decisions=tuple(window(elastic_scenario(), OPTIMAL, 2, 3, steps=3)))
    assert answer.by_number[2].steps == 3
    assert LookAheads.from_plain(json.loads(json.dumps(answer.to_plain()))).decisions == answer.decisions


def test_a_computation_answers_a_stretch_of_decisions_and_tells_how_far_it_is():
    run = elastic_run(OPTIMAL)
    stored = StoredWidths.of(decisions_of(run.decisions), run.segments)
    told: list[tuple[float, str]] = []
    record = registry.compute(
        "look-ahead", asked(OPTIMAL, 5, 7), lambda share, text: told.append((share, text)),
        subject=StoredRun(run.scenario, stored),
    )  # fmt: skip
    assert [one["number"] for one in record.answer["decisions"]] == [5, 6, 7]
    assert told[-1] == (1.0, "decision 7 of 7")
    assert record.spec["first"] == 5
    assert json.loads(json.dumps(record.answer)) is not None


def test_beyond_the_end_there_is_nothing():
    number = len(decisions_of(elastic_run(OPTIMAL).decisions)) + 1
    assert window(elastic_scenario(), OPTIMAL, number, number + 5) == []


def test_bad_questions_say_what_is_wrong():
    with pytest.raises(InputError, match="policy must be one of"):
        registry.find("look-ahead").canonical(asked("fifo", 1, 2))
    with pytest.raises(InputError, match="last must be at least first = 3"):
        registry.find("look-ahead").canonical(asked(OPTIMAL, 3, 2))
    with pytest.raises(InputError, match="without its scenario"):
        registry.compute("look-ahead", asked(OPTIMAL, 1, 2))
    other = StoredRun(elastic_scenario(jobs=3))
    with pytest.raises(InputError, match="asks about scenario"):
        registry.compute("look-ahead", asked(OPTIMAL, 1, 2), subject=other)


def test_changes_count_growing_shrinking_and_starting_but_not_ending():
    # job 0: 4 workers on two nodes, 2 from 10 on, ends at 20; job 1 starts at 10 with 3 and is resumed at 30 with 1
    pieces = pd.DataFrame(
        {
            "piece": [0, 0, 1, 2, 3], "row": [0, 0, 0, 1, 1], "workers": [2, 2, 2, 3, 1],
            "start_s": [0.0, 0.0, 10.0, 10.0, 30.0], "end_s": [10.0, 10.0, 20.0, 25.0, 40.0],
        }
    )  # fmt: skip
    assert changes_at(pieces, np.array([10.0, 20.0, 30.0, 35.0])).tolist() == [2 + 3, 0, 1, 0]
    assert changes_at(pieces, np.array([])).tolist() == []
    assert changes_at(pieces.head(0), np.array([1.0])).tolist() == [0]


def test_calls_without_a_note_are_no_decisions():
    calls = pd.DataFrame({"time_s": [0.0, 1.0, 2.0, 3.0], "note": ["", "direct", None, "x-model"]})
    found = decisions_of(calls)
    assert found["time_s"].tolist() == [1.0, 3.0]
    assert found["number"].tolist() == [1, 2]
