"""The waits of a run with quotas against the recorded ones."""

from __future__ import annotations

import numpy as np
import pytest

from dlsched.domain.workload import Workload
from dlsched.studies.inspect.queues import queues_of_run
from dlsched.studies.inspect.queues.record import by_queue
from dlsched.studies.inspect.queues.words import trust_frame, trust_words
from dlsched.studies.simulation import simulate
from tests.support.known import known
from tests.support.quota_runs import queues_of_teams, scenario_of_teams


def recorded(start_s: list[float]) -> Workload:
    end_s = np.array(start_s) + 100.0
    return scenario_of_teams().workload.with_columns(recorded_start_s=np.array(start_s), recorded_end_s=end_s)


def test_measures_by_hand() -> None:
    jobs = recorded([0.0, 70.0, 15.0, 130.0])  # waits of 0, 60, 0 and 60 s
    found = by_queue(jobs, np.array([0.0, 180.0, 0.0, 60.0]), ["vision"] * 3 + ["language"])
    vision, left_out = found["vision"]
    assert left_out == 0
    assert known(vision).jobs == 3
    assert known(vision).mean_factor == pytest.approx(2 ** (1 / 3))  # (180 + 60) / (60 + 60) of one of three
    assert known(vision).explained == pytest.approx(1 - 120**2 / (40**2 + 20**2 + 20**2))
    assert known(found["language"][0]).typical_factor == 1


def test_jobs_without_a_start_on_either_side() -> None:
    jobs = recorded([np.nan, 10.0, 15.0, 70.0])
    found = by_queue(jobs, np.array([0.0, 0.0, np.nan, np.nan]), ["vision"] * 3 + ["language"])
    vision, left_out = found["vision"]
    assert (known(vision).jobs, known(vision).never_start, left_out) == (1, 1, 1)
    assert found["language"] == (None, 0)


def test_a_run_of_its_own_record_replays_it() -> None:
    scenario = scenario_of_teams()
    first = simulate(scenario, "queue-tree")
    start_s = first.jobs["first_start_s"].to_numpy(float)
    answer = queues_of_run(simulate(scenario.replace(workload=recorded(start_s.tolist())), "queue-tree"))
    assert all(known(one.replayed).mean_factor == 1 for one in answer.queues)
    assert trust_words(answer) == "Against the recorded starts: too few jobs for vision and language."
    assert trust_frame(answer)["Jobs"].tolist() == ["3", "1"]
    assert trust_words(queues_of_teams()) == ""
