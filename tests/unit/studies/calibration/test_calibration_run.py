"""Replays of jobs whose recorded starts are those of a known policy, and questions that cannot be answered."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.studies import registry
from dlsched.studies.calibration import default_policies, offered_policies, read_spec, run_calibration
from dlsched.studies.calibration.answer import Calibration
from dlsched.studies.simulation import simulate
from dlsched.workload.load import load
from tests.support.known import known
from tests.support.recorded_jobs import recorded_scenario

POLICIES = ["sjf", "easy-backfill", "fifo"]


def answered(scenario: Scenario, policies: list[str] | None = None, **more: Any) -> Calibration:
    spec = read_spec({"scenario": scenario.content_hash, "policies": policies or POLICIES, **more})
    return run_calibration(spec, scenario)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_record_made_by_a_policy_is_explained_by_that_policy(policy: str) -> None:
    answer = answered(recorded_scenario(policy))
    assert answer.nearest == policy
    best = answer.best
    for half in (known(best.first), best.second):
        assert (known(half.explained), known(half.rank_correlation)) == pytest.approx((1, 1))
        assert (half.typical_factor, half.mean_factor, half.within_2x) == pytest.approx((1, 1, 1))
    assert best.second.grade == "replays"
    assert best.idle_wanted == pytest.approx(answer.idle_wanted)
    assert best.wait.recorded.mean_s > 600  # the cluster is full enough for the order to matter
    assert all(group.wait.ratio == pytest.approx(1) for groups in best.groups.values() for group in groups)
    others = [replay for replay in answer.replays if replay.policy != policy]
    assert all(replay.second.mean_factor > 1.05 for replay in others)
    assert {one.audit for one in answer.replays} == {()}


def test_a_record_late_by_a_constant_shows_as_bias_alone() -> None:
    answer = answered(recorded_scenario("fifo", late_s=300), ["fifo"])
    assert answer.best.bias_s.mean == pytest.approx(-300)
    assert answer.best.bias_s.half_width == pytest.approx(0, abs=1e-6)
    assert answer.best.second.rank_correlation == pytest.approx(1)
    scenario = recorded_scenario("fifo", late_s=300)
    second = scenario.workload.submit_s >= answer.split_s
    assert answer.best.second.explained == pytest.approx(1 - 300**2 / recorded_waits(scenario)[second].var())
    assert answer.best.jct is not None
    gap_s = answer.best.jct.recorded.mean_s - answer.best.jct.replayed.mean_s
    assert gap_s == pytest.approx(300)


def recorded_waits(scenario: Scenario) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    assert scenario.workload.recorded_start_s is not None
    return scenario.workload.recorded_start_s - scenario.workload.submit_s


def test_the_numbers_are_those_of_single_runs() -> None:
    scenario = recorded_scenario("fifo")
    answer = answered(scenario, ["sjf"])
    run = simulate(scenario, "sjf")
    jobs = run.jobs.sort_values("submit_s", kind="stable")
    later = jobs[jobs["submit_s"] >= answer.complete_from_s]["wait_s"].to_numpy(float)
    judged = later[int(0.05 * len(later)) :]
    assert (answer.judged, answer.compared) == (len(judged), len(judged))
    assert answer.best.wait.replayed.mean_s == pytest.approx(judged.mean())
    second = jobs[jobs["submit_s"] >= answer.split_s]["wait_s"]
    assert answer.best.second.replayed_p95_s == pytest.approx(np.percentile(second, 95))


def test_jobs_left_out_of_the_replay_are_counted_and_the_others_keep_their_place() -> None:
    scenario = recorded_scenario("fifo")
    workers = scenario.workload.workers.copy()
    workers[50] = 500
    oversize = scenario.replace(
        workload=scenario.workload.with_columns(workers=workers),
        options=scenario.options.model_copy(update={"oversize": "drop"}),
    )
    answer = answered(oversize, ["fifo", "sjf"])
    assert (answer.recorded, answer.compared) == (len(workers), answer.judged - 1)
    assert [replay.never_start for replay in answer.replays] == [1, 1]
    kept = (np.arange(len(workers)) != 50) & (np.arange(len(workers)) >= len(workers) - answer.judged)
    assert answer.best.wait.recorded.mean_s == pytest.approx(recorded_waits(scenario)[kept].mean())


def test_processes_give_the_same_answer_as_one_after_the_other() -> None:
    scenario = recorded_scenario("fifo")
    spec = read_spec({"scenario": scenario.content_hash, "policies": POLICIES})
    told: list[float] = []
    with ThreadPoolExecutor(1) as executor:
        spread = run_calibration(spec, scenario, executor, progress=lambda share, _: told.append(share))
    assert spread == run_calibration(spec, scenario)
    assert told == pytest.approx([1 / 3, 2 / 3, 1])


def test_parameters_reach_the_policy_and_complete_the_question() -> None:
    scenario = recorded_scenario("fifo")
    bare: dict[str, Any] = {"scenario": scenario.content_hash, "policies": ["las"]}
    assert read_spec(bare) == read_spec(bare | {"params": {"las": {}}})
    short = answered(scenario, ["las"], params={"las": {"quantum_s": 7200}})
    assert short.best.params["quantum_s"] == 7200
    assert short.best.jct != answered(scenario, ["las"]).best.jct


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"policies": []}, "policies"),
        ({"policies": ["fifo", "fifo"]}, "policies must differ, 'fifo' is listed twice"),
        ({"policies": ["fifoo"]}, "no policy has this key"),
        ({"policies": ["fifo"], "params": {"sjf": {}}}, "not asked for, got 'sjf'"),
        ({"policies": ["las"], "params": {"las": {"quantum_s": -1}}}, "quantum_s"),
        ({"policies": ["fifo"], "seed": -1}, "seed"),
        ({"policies": ["edf"]}, "needs due dates"),
        ({"policies": ["fifo"], "scenario": "other"}, "asks about scenario other"),
    ],
    ids=["none", "twice", "unknown", "stray-params", "bad-params", "seed", "unmet-need", "other-scenario"],
)
def test_bad_questions_say_what_is_wrong(asked: Mapping[str, Any], message: str) -> None:
    scenario = recorded_scenario("fifo")
    with pytest.raises(InputError, match=message):
        run_calibration(read_spec({"scenario": scenario.content_hash, **asked}), scenario)


def test_a_trace_without_starts_is_refused_with_a_way_out() -> None:
    scenario = load("data/samples/campus.csv")
    with pytest.raises(InputError, match=r"none of 2,000 jobs has a recorded start.*Load a trace with start times"):
        answered(scenario, ["fifo"])


def test_the_computation_takes_the_scenario_along() -> None:
    scenario = recorded_scenario("fifo")
    spec = {"scenario": scenario.content_hash, "policies": ["fifo"]}
    record = registry.compute("calibration", spec, subject=scenario)
    assert Calibration.from_plain(record.answer).best.second.explained == pytest.approx(1)
    assert record.spec["params"] == {"fifo": {"vm_type": None}}
    with pytest.raises(InputError, match="was asked without its scenario"):
        registry.compute("calibration", spec)
    study = registry.find("calibration")
    assert study.estimate_s(study.read_spec(record.spec)) > 0
    assert study.estimate_s(study.read_spec(record.spec), scenario) == pytest.approx(0.5)


def test_offered_policies_are_those_whose_needs_are_met() -> None:
    scenario = recorded_scenario("fifo")
    assert default_policies(scenario) == ("fifo", "fifo-skip", "easy-backfill", "sjf")
    assert "edf" not in offered_policies(scenario)
    ranked = scenario.workload.with_columns(priority=np.arange(len(scenario.workload), dtype=float))
    assert default_policies(scenario.replace(workload=ranked))[-1] == "priority"


@pytest.mark.parametrize(
    ("file", "grade", "factor", "ranks", "idle"),
    [
        ("xdmod/phillips.log", "replays", 1.04, 0.99, 0.02),
        ("swf/hpc2n_alea.swf", "fails", 7.8, 0.27, 0.43),
    ],
)
def test_published_replays_come_out_again(
    file: str, grade: str, factor: float, ranks: float, idle: float, shared_data: Path
) -> None:
    answer = answered(load(shared_data / "real" / file), ["easy-backfill"])
    second = answer.best.second
    assert second.grade == grade
    assert second.typical_factor == pytest.approx(factor, rel=0.02)
    assert second.rank_correlation == pytest.approx(ranks, abs=0.01)
    assert answer.idle_wanted == pytest.approx(idle, abs=0.005)
    assert (answer.best.idle_wanted or 0.0) < 0.01


def test_jobs_picked_from_a_large_cluster_are_a_sample(shared_data: Path) -> None:
    picked = load(shared_data / "real" / "sacct" / "hb-jobinfo_sacct.txt")
    with pytest.raises(InputError, match=r"98\.7% of the cluster stood idle .* a sample of the jobs"):
        answered(picked, ["fifo"])


def test_pods_of_openb_are_a_sample(shared_data: Path) -> None:
    """Pods wait for hours while almost all of its nodes are idle."""
    from dlsched.workload.load import scenario_of
    from dlsched.workload.readers import ReadOptions, read_trace

    folder = shared_data / "openb"
    options = ReadOptions(cluster=(folder / "openb_node_list_all_node.csv").read_bytes())
    trace = scenario_of(read_trace(folder / "openb_pod_list_default.csv", options=options), "openb")
    with pytest.raises(InputError, match=r"99\.4% of the cluster stood idle .* a sample of the jobs"):
        answered(trace, ["fifo-skip"])
