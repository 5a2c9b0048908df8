"""Figs 9 to 12 of the ModelArts study: paired numbers, verdicts part by part, and a small real run."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dlsched.domain.errors import DlschedError, InputError
from dlsched.studies.reproductions.modelarts import gain as figures
from dlsched.studies.reproductions.modelarts import runs
from dlsched.studies.reproductions.modelarts.runs import AllocatorStudy, Setup, Sizes, TraceResult, TraceTask
from dlsched.studies.reproductions.registry import REPRODUCTIONS, find
from dlsched.studies.reproductions.reproduction import Setting
from dlsched.studies.simulation import Run, simulate
from dlsched.workload.studies.modelarts import VARIANTS, ModelArtsSpec, modelarts_scenario

NODES = (70, 110, 150, 190)
SEEDS = (1, 2, 3)
BASELINE = figures.baseline(Setting())
(DENSE,) = figures.DENSE


def answer(gain: float, wait_s: tuple[float, float] = (70.0, 100.0), optimal_s: float = 6000.0) -> TraceResult:
    return TraceResult(
        (optimal_s, optimal_s * (1 + gain / 100)), wait_s, (90, 80), (100, 99), 98, np.array([0.1, 0.2]), 1
    )


def study_of(gains, waits=None, totals=None, spread=0.5) -> AllocatorStudy:
    """Return a study whose gains, by size, lie ``spread`` around the given ones; the same at every case."""
    waits = waits or [(70.0, 100.0)] * len(NODES)
    totals = totals or [6000.0] * len(NODES)
    cells = {
        (case, nodes): [answer(gain + step * spread, wait, total) for step in (-1, 0, 1)]
        for case in (*BASELINE, *(Setup(jobs, "baseline", DENSE) for jobs in (runs.ALL, runs.FILTERED)))
        for nodes, gain, wait, total in zip(NODES, gains, waits, totals, strict=True)
    }
    return AllocatorStudy(cells, Sizes(NODES, SEEDS, 1252))


@pytest.fixture
def answered(monkeypatch):
    def answer_with(study: AllocatorStudy) -> None:
        monkeypatch.setattr(figures, "run_study", lambda *_: study)

    return answer_with


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(runs, "QUICK", Sizes((3, 8), (1, 2), 40))


def pair_of_runs(task: TraceTask) -> tuple[Run, Run]:
    setup, nodes = task.cell
    spec = ModelArtsSpec(nodes=nodes, jobs=task.trace_jobs, only_long=True, load_scale=setup.load)
    scenario = modelarts_scenario(spec, task.seed, options=VARIANTS[setup.variant])
    return simulate(scenario, runs.OPTIMAL), simulate(scenario, runs.GREEDY)


def test_the_gain_is_how_much_longer_greedy_takes_in_percent():
    assert answer(17.4).gain == pytest.approx(17.4)
    assert TraceResult((50, 60), (0, 0), (1, 1), (1, 1), 1, np.zeros(0), 0).gain == pytest.approx(20)


def test_numbers_are_paired_by_seed():
    study = study_of([10, 20, 15, 5])
    case = BASELINE[0]
    assert study.gain(case, 110).mean == pytest.approx(20)
    assert study.gain(case, 110).half_width == pytest.approx(4.302653 * 0.5 / 3**0.5, rel=1e-6)
    beyond = study.gain_beyond((case, 110), (case, 70))  # both spread alike: the difference is known exactly
    assert beyond.mean == pytest.approx(10)
    assert beyond.half_width == pytest.approx(0, abs=1e-9)
    assert study.best(case) == 110
    assert study.saved(runs.wait_min, case, 70).mean == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("gains", "verdict", "said"),
    [
        pytest.param([8, 17.4, 12, 6], "same", "Every part", id="all of it"),
        pytest.param([30, 17.4, 12, 6], "partly", "bell-shaped, load scale 1 (largest at 70 nodes)", id="falls only"),
        pytest.param([8, 30, 12, 6], "partly", "up to 17.4, load scale 1 (ours 30.0 ± 1.2)", id="larger than printed"),
        pytest.param([8, 17.4, 12, 0], "partly", "optimal, load scale 2, at 190 nodes (0.0 ± 1.2)", id="none left"),
        pytest.param([0, -1, -2, -3], "different", "at 70 nodes", id="greedy better"),
    ],
)
def test_the_verdict_of_figure_11(answered, gains, verdict, said):
    answered(study_of(gains))
    outcome = find("modelarts-11").run(Setting())
    assert outcome.verdict == verdict
    assert said in outcome.why
    assert "synthetic" in outcome.why
    assert "with optimal and with greedy: 270 and 240 at 70, 270 and 240 at 110" in outcome.ours
    assert ("nearly every job has its most nodes" in outcome.why) is (gains[-1] == 0)
    assert "empty" not in outcome.why
    data = json.loads(json.dumps(outcome.data, allow_nan=False))
    row = data["cases"]["long jobs, baseline, load scale 2"]["110"]
    assert row["additional_jobs_per_100"] == {
        "mean": pytest.approx(gains[1]), "half_width": pytest.approx(1.242068, rel=1e-6), "n": 3,
    }  # fmt: skip
    assert row["completed_by_last_submission"] == {"optimal": 270, "greedy": 240}
    assert row["completed"] == {"optimal": 300, "greedy": 297}
    assert (row["jobs_compared"], row["decisions"], row["decisions_without_proof"]) == (294, 6, 3)


@pytest.mark.parametrize(
    ("waits", "verdict", "said"),
    [
        pytest.param([(85.0, 100.0), (40.0, 50.0), (6.8, 10.0), (4.0, 5.0)], "same", "Every part", id="all of it"),
        pytest.param([(85.0, 100.0), (40.0, 50.0), (8.8, 10.0), (4.0, 5.0)], "partly", "(ours 20% at 110)", id="less"),
        pytest.param([(85.0, 100.0), (40.0, 50.0), (6.8, 10.0), (0.0, 0.0)], "partly", "at 190", id="nobody waits"),
        pytest.param(
            [(85.0, 100.0), (40.0, 110.0), (6.8, 10.0), (4.0, 5.0)], "partly", "of greedy falls", id="not falling"
        ),
    ],
)
def test_the_verdict_of_figure_9(answered, waits, verdict, said):
    answered(study_of([1, 1, 1, 1], waits))
    outcome = find("modelarts-9").run(Setting())
    assert outcome.verdict == verdict
    assert said in outcome.why
    assert outcome.data["wait_saved"]["load scale 1"]["150"] == pytest.approx(1 - waits[2][0] / waits[2][1])


@pytest.mark.parametrize(
    ("totals", "verdict"),
    [pytest.param([9e3, 8e3, 7e3, 6e3], "same", id="falls"), pytest.param([9e3, 9e3, 9e3, 9.1e3], "partly", id="not")],
)
def test_the_verdict_of_figure_10(answered, totals, verdict):
    answered(study_of([5, 5, 5, 5], totals=totals))
    outcome = find("modelarts-10").run(Setting())
    assert outcome.verdict == verdict
    assert f"70 nodes {totals[0] / 60:.1f} and {1.05 * totals[0] / 60:.1f} min" in outcome.ours


def test_figure_12_wants_a_larger_gain_than_with_long_jobs_only(answered):
    study = study_of([8, 17.4, 12, 6])
    cells = dict(study.results)
    every = Setup(runs.ALL, "baseline", DENSE)
    cells[every, 70] = [answer(gain) for gain in (23.1, 24.1, 25.1)]
    answered(AllocatorStudy(cells, study.sizes))
    same = find("modelarts-12").run(Setting())
    assert same.verdict == "same"
    assert "the gain at 70 nodes changes by -16.1" in same.ours
    answered(study)
    assert "difference 0.0" in find("modelarts-12").run(Setting()).why
    cells[Setup(runs.LONG, "baseline", DENSE), 110] = [answer(gain) for gain in (20.6, 21.0, 21.4)]
    answered(AllocatorStudy(cells, study.sizes))
    partly = find("modelarts-12").run(Setting())
    assert partly.verdict == "partly"
    assert "Not seen: up to 17.4 with long jobs only (ours up to 21.0 ± 1.0)" in partly.why


def test_an_answer_says_what_two_runs_say():
    task = TraceTask((Setup(runs.LONG, "mishaps", 2.0), 4), 3, 60)
    optimal, greedy = pair_of_runs(task)
    found = runs.run_trace(task)
    both = optimal.jobs["jct_s"].notna() & greedy.jobs["jct_s"].notna()
    assert 0 < found.compared == both.sum() < len(both)  # bug jobs and cancelled ones do not count
    means_s = [float(run.jobs["jct_s"][both].mean()) for run in (optimal, greedy)]
    assert list(found.total_s) == pytest.approx(means_s)
    assert found.completed == (optimal.metrics["completed"], greedy.metrics["completed"])
    last_s = optimal.prepared.scenario.workload.submit_s.max()
    for run, done in zip((optimal, greedy), found.done, strict=True):
        ended = (run.log.job_end_s <= last_s) & run.jobs["jct_s"].notna().to_numpy()
        assert done == ended.sum()
    assert len(found.decision_cpu_s) == (optimal.decisions["status"] != "").sum() > 0
    assert (found.decision_cpu_s >= 0).all()


def test_the_gain_vanishes_in_pools_larger_than_all_jobs_can_use():
    # 447 jobs x 232.6 min within 178,898 s on one node each; 16 nodes are 16 x 0.8^4 times as fast
    assert pytest.approx(34.87, abs=0.01) == figures.NODES_NEEDED
    assert pytest.approx(34.87 * 16 / 6.5536, abs=0.03) == figures.NODES_USED
    words = "With 110 and 190 nodes at load scale 1 and with 190 nodes at load scale 2 nearly every job has its most"
    assert words in figures.basis(study_of([0.0, 0.4, 0.6, -0.4]))  # 70 nodes are fewer than the 85 of use
    assert "nearly every" not in figures.basis(study_of([5, 5, 5, 5]))


def test_figures_of_the_published_density_say_why_they_are_run_at_another():
    assert figures.density_of(2.0).endswith("hence load scale 2.")
    assert figures.density_of(1.0) == ""


def test_jobs_that_wait_make_the_optimal_allocator_better(small):
    told: list[float] = []
    outcome = find("modelarts-11").run(Setting(quick=True, progress=lambda share, _: told.append(share)))
    data = json.loads(json.dumps(outcome.data, allow_nan=False))
    assert data["nodes"] == [3, 8]
    rows = data["cases"]["long jobs, baseline, load scale 2"]
    assert all(row["decisions_without_proof"] == 0 and row["decisions"] > 0 for row in rows.values())
    assert rows["8"]["mean_total_min"]["optimal"]["mean"] < rows["8"]["mean_total_min"]["greedy"]["mean"]
    assert rows["3"]["mean_total_min"]["optimal"]["mean"] > rows["8"]["mean_total_min"]["optimal"]["mean"]
    assert "So short a trace" in outcome.why
    assert told == sorted(told)
    assert told[-1] == 1


@pytest.mark.parametrize(
    ("key", "cases"),
    [
        ("modelarts-9", ["long jobs, baseline, load scale 3"]),
        (
            "modelarts-12",
            [
                f"{jobs}, baseline, load scale 3"
                for jobs in ("long jobs", "all jobs", "all jobs, short ones not scaled")
            ],
        ),
        ("modelarts-14", ["long jobs, baseline, load scale 3", "long jobs, mishaps, load scale 3"]),
    ],
)
def test_arrivals_are_as_dense_as_asked_for(small, key, cases):
    reproduction = find(key)
    outcome = reproduction.run(Setting(quick=True, load_scale=3))
    assert list(outcome.data["cases"]) == cases
    assert "load scale 3: " in outcome.ours
    assert 3 not in reproduction.load_scales  # what it runs at unless told


def test_denser_arrivals_wait_longer(small):
    waits = [
        find("modelarts-9").run(Setting(quick=True, load_scale=load)).data["cases"] for load in (0.5, 5.0)
    ]  # fmt: skip
    sparse, dense = (next(iter(cases.values()))["3"]["mean_wait_min"]["greedy"]["mean"] for cases in waits)
    assert dense > 2 * sparse > 0


@pytest.mark.parametrize("load", [0.0, -1.0, 0.09, 11.0, float("nan"), float("inf")])
def test_a_load_scale_out_of_bounds_is_refused(load):
    with pytest.raises(InputError, match=r"load scale: must be from 0.1 to 10, got"):
        Setting(load_scale=load)


def test_a_load_scale_is_refused_where_there_is_none():
    with pytest.raises(InputError, match="'modelarts-4': has no load scale to choose"):
        find("modelarts-4").run(Setting(load_scale=1))
    scaled = [one.key for one in REPRODUCTIONS if one.load_scales]
    assert scaled == [f"modelarts-{number}" for number in range(9, 17)]


def test_a_complaint_of_the_auditor_ends_a_reproduction(monkeypatch):
    monkeypatch.setattr(Run, "audit", lambda _: ["two jobs on node 3"])
    with pytest.raises(DlschedError, match="modelarts-optimal, 8 nodes, seed 1: two jobs on node 3"):
        runs.run_trace(TraceTask((Setup(runs.LONG, "baseline", 1.0), 8), 1, 20))


def test_two_runs_without_a_common_end_have_no_gain(monkeypatch):
    optimal, greedy = pair_of_runs(TraceTask((Setup(runs.LONG, "baseline", 1.0), 8), 1, 20))
    optimal.jobs["jct_s"] = np.nan
    with pytest.raises(DlschedError, match="no job completed"):
        runs.compared(optimal, greedy)
