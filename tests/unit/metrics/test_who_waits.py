"""The longest queue and the equal part of the cluster, against their definitions job by job, on chaotic runs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.scenario import Scenario
from dlsched.metrics.run_facts import RunFacts
from dlsched.metrics.summary import finish_time_fairness, longest_queue
from dlsched.sim.prepare import prepare
from dlsched.sim.simulate import run_policy
from tests.support.chaos import Chaos
from tests.support.scenarios import scenarios


def chaotic(scenario: Scenario, every_s: float | None) -> RunFacts:
    prepared = prepare(scenario)
    log = run_policy(prepared, Chaos(free_slots=scenario.cluster.free_slots, every_s=every_s))
    return RunFacts(prepared.scenario, prepared.truth, log)


@settings(max_examples=150)
@given(scenarios(), st.sampled_from([None, 5.0]))
def test_the_longest_queue_is_the_most_that_wait_at_any_event(scenario: Scenario, every_s: float | None) -> None:
    facts = chaotic(scenario, every_s)
    log, submit_s = facts.log, facts.jobs.submit_s

    def waiting(at_s: float) -> int:
        runs = set(log.piece_row[(log.piece_start_s <= at_s) & (at_s < log.piece_end_s)].tolist())
        there = np.flatnonzero((submit_s <= at_s) & ~(log.job_end_s <= at_s)).tolist()
        return sum(row not in runs for row in there)

    events_s = {*submit_s.tolist(), *log.piece_start_s.tolist(), *log.piece_end_s.tolist(), *facts.left_s.tolist()}
    assert longest_queue(facts) == max((waiting(at_s) for at_s in events_s if at_s < log.end_s), default=0)


@settings(max_examples=150)
@given(scenarios(), st.sampled_from([None, 5.0]))
def test_an_equal_part_is_of_the_mean_number_of_jobs_there(scenario: Scenario, every_s: float | None) -> None:
    facts = chaotic(scenario, every_s)
    log, submit_s, left_s = facts.log, facts.jobs.submit_s, facts.left_s
    window_s = log.end_s - log.start_s
    for row, found in enumerate(finish_time_fairness(facts).tolist()):
        if not facts.completed[row] or facts.unit_s_up <= 0:
            assert np.isnan(found)
            continue
        shared_s = np.clip(np.minimum(left_s, left_s[row]) - np.maximum(submit_s, submit_s[row]), 0.0, None).sum()
        part = facts.unit_s_up / window_s / (shared_s / (left_s[row] - submit_s[row]))
        asked = facts.jobs.requested[row, facts.scenario.counted]
        assert found == pytest.approx(facts.jct_s[row] / (facts.alone_s[row] * max(1.0, asked / part)), rel=1e-9)
