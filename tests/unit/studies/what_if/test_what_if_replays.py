"""What-ifs under Slurm on a recorded log rest on replays that differ by a second, the same for both sides."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import dlsched
from dlsched.cli.main import main
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.studies.design import Futures, Variant, changed, usual_futures
from dlsched.studies.fitting.replay import Replay, replayed
from dlsched.studies.what_if import read_link, run_what_if, unchanged
from dlsched.studies.what_if import run as what_if_run
from dlsched.studies.what_if.answer import comparison_of
from dlsched.studies.what_if.words import sentence
from dlsched.workload.scenario_file import write_scenario
from tests.support.known import known
from tests.support.recorded_jobs import recorded_scenario

PARAMS = {"bf_interval": 60}
REPLAYS = Futures.first(19, {"shaking": 1})


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    what_if_run.forget_runs()


def log() -> Scenario:
    return recorded_scenario("fifo", jobs=60)


def test_replays_are_usual_where_the_baseline_is_slurm_on_a_log_with_recorded_starts() -> None:
    assert usual_futures(log(), "slurm") == unchanged(log(), "slurm").futures == REPLAYS
    assert read_link({}, log(), "slurm").futures == REPLAYS
    bare = log().workload.with_columns(recorded_start_s=None)
    random = SimulationRules(estimate_error=0.2)
    for scenario in (log().replace(workload=bare), log().replace(options=random)):
        assert usual_futures(scenario, "slurm") == usual_futures(scenario)
    assert not usual_futures(log(), "easy-backfill").are_replays
    assert usual_futures(log()).count != REPLAYS.count


def test_each_future_is_a_replay_as_a_fit_makes_them_and_both_sides_have_the_same() -> None:
    option = Variant(policy="slurm", params=PARAMS, changes={"nodes": 3})
    answer = run_what_if(unchanged(log(), "slurm", PARAMS).model_copy(update={"changed": option}), log())
    assert answer.basis.are_replays
    for side, scenario in ((answer.baseline, log()), (answer.changed, changed(log(), {"nodes": 3}))):
        waits_s = [np.mean(replayed(Replay(scenario, "slurm", PARAMS, 0, n)).wait_s) for n in range(20)]
        assert [known(one["wait_mean"]) for one in side.metrics] == pytest.approx(waits_s)
        assert len(set(waits_s)) > 10
    comparison = comparison_of(answer)
    row = known(comparison.row("wait_mean"))
    before, after = ([known(one["wait_mean"]) for one in side.metrics] for side in (answer.baseline, answer.changed))
    cell = row.cells[1]
    assert known(cell.value).value == pytest.approx(np.mean(after))
    assert (known(cell.value).low, known(cell.value).high) == (sorted(after)[2], sorted(after)[17])
    assert known(cell.delta).value == pytest.approx(np.mean(np.subtract(after, before)))
    assert "mean of 20 replays of this log" in sentence(answer, comparison)


def test_python_and_the_command_have_the_same_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    option = Variant(policy="slurm", changes={"nodes": 3})
    answer = run_what_if(unchanged(log(), "slurm").model_copy(update={"changed": option}), log())
    asked = dlsched.what_if(log(), {"nodes": 3}, policy="slurm")
    assert asked.answer.changed.metrics == answer.changed.metrics
    path = str(tmp_path / "log.json")
    write_scenario(log(), path)
    typed = ["compare", path, "--policies", "slurm", "--set", "nodes=3", "--json"]
    assert main([*typed, "--processes", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["futures"]["vary"] == {"shaking": 1}
    assert found["certainty"] == comparison_of(answer).certainty
    waits_s = [run["metrics"]["wait_mean"] for run in found["runs"] if run["name"] != found["baseline"]]
    assert waits_s == [known(one["wait_mean"]) for one in answer.changed.metrics]
    assert main([*typed, "--processes", "1", "--vary", "none", "--futures", "0"]) == 0
    assert json.loads(capsys.readouterr().out)["basis"]["kind"] == "exact"
