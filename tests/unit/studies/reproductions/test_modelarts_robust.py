"""Figs 13 to 16 of the ModelArts study: verdicts part by part, the histogram, and small real runs."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dlsched.studies.reproductions.modelarts import robust as figures
from dlsched.studies.reproductions.modelarts import runs
from dlsched.studies.reproductions.modelarts.gain import LOADS
from dlsched.studies.reproductions.modelarts.runs import LONG, AllocatorStudy, Setup, Sizes, TraceResult
from dlsched.studies.reproductions.registry import find
from dlsched.studies.reproductions.reproduction import Setting

NODES = (70, 110)
BASE_GAINS = (8.0, 17.0)


def answer(gain: float, cpu_s=(0.1, 0.2), unproven: int = 0) -> TraceResult:
    return TraceResult((6000.0, 60 * (100 + gain)), (70.0, 100.0), (90, 80), (100, 99), 98, np.array(cpu_s), unproven)


def disturbed(variant: str, gains, spread: float = 0.3) -> AllocatorStudy:
    """Return a study with these gains by size, each a little apart from the baseline's of its seed."""
    cells = {}
    for name, row, part in (("baseline", BASE_GAINS, 0.0), (variant, gains, spread)):
        for nodes, gain in zip(NODES, row, strict=True):
            cells[Setup(LONG, name, 2.0), nodes] = [answer(gain + step * part) for step in (-1, 0, 1)]
    return AllocatorStudy(cells, Sizes(NODES, (1, 2, 3), 1252))


@pytest.fixture
def answered(monkeypatch):
    def answer_with(study: AllocatorStudy) -> None:
        monkeypatch.setattr(figures, "run_study", lambda *_: study)

    return answer_with


@pytest.mark.parametrize(
    ("key", "variant", "gains", "verdict", "said"),
    [
        pytest.param("modelarts-13", "estimates", (7.0, 16.0), "same", "Every part", id="little changes"),
        pytest.param("modelarts-13", "estimates", (7.0, 13.0), "partly", "4.0 ± 0.7 fewer", id="much fewer"),
        pytest.param("modelarts-13", "estimates", (7.0, 15.0), "partly", "2.0 ± 0.7 fewer", id="perhaps more than 2.4"),
        pytest.param("modelarts-15", "delay", (9.0, 16.0), "same", "Every part", id="delay"),
        pytest.param("modelarts-15", "delay", (-4.0, -3.0), "different", "at 70 nodes", id="greedy better"),
        pytest.param("modelarts-14", "mishaps", (7.0, 15.2), "same", "independently", id="mishaps"),
        pytest.param("modelarts-14", "mishaps", (7.0, 20.0), "partly", "(ours up to 20.0 ± 0.7, at 110", id="larger"),
    ],
)
def test_the_verdict_of_the_robustness_figures(answered, key, variant, gains, verdict, said):
    answered(disturbed(variant, gains))
    outcome = find(key).run(Setting())
    assert outcome.verdict == verdict
    assert said in outcome.why
    assert "The baseline has up to 17.0 ± 0.0, at 110 nodes; the study 17.4." in outcome.ours
    data = json.loads(json.dumps(outcome.data, allow_nan=False))
    for nodes, gain, base in zip(NODES, gains, BASE_GAINS, strict=True):
        change = data["change_of_additional_jobs"][str(nodes)]
        assert change["mean"] == pytest.approx(gain - base)
        assert change["half_width"] == pytest.approx(4.302653 * 0.3 / 3**0.5, rel=1e-6)


def timed(cpu_s, unproven: int = 0) -> AllocatorStudy:
    cells = {
        (Setup(LONG, "baseline", load), figures.SPEED_NODES): [answer(5, cpu_s), answer(5, cpu_s, unproven)]
        for load in LOADS
    }
    return AllocatorStudy(cells, Sizes((figures.SPEED_NODES,), (1, 2), 1252))


@pytest.mark.parametrize(
    ("cpu_s", "unproven", "verdict", "said"),
    [
        pytest.param([0.0, 0.002, 0.2, 2.4], 0, "partly", "mean at most 0.4 s", id="mean 0.65 s"),
        pytest.param([0.0, 0.002, 0.2, 0.3], 0, "same", "Every part", id="quick"),
        pytest.param([0.0, 0.002, 0.2, 0.3], 2, "partly", "2 of 8 not proven", id="not proven"),
        pytest.param([5.0, 5.0, 5.0, 5.0], 1, "different", "longest at most 2.48 s", id="slow"),
    ],
)
def test_the_verdict_of_figure_16(answered, cpu_s, unproven, verdict, said):
    answered(timed(cpu_s, unproven))
    outcome = find("modelarts-16").run(Setting())
    assert outcome.verdict == verdict
    assert said in outcome.why
    assert "95% interval" not in outcome.why  # of times of decisions there is none
    found = outcome.data["decision_cpu"]["load scale 1"]
    assert found["seconds"]["mean"] == pytest.approx(np.mean(cpu_s))
    assert found["seconds"]["median"] == pytest.approx(np.median(cpu_s))
    assert found["seconds"]["longest"] == max(cpu_s)
    assert found["decisions"] == 8


def test_the_histogram_counts_every_decision():
    edges = figures.HISTOGRAM_S
    assert figures._histogram(np.array([0.0, 0.0005, 0.002, 0.5, 5000.0])) == [2, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
    assert list(edges) == sorted(edges)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(runs, "QUICK", Sizes((4, 8), (1, 2), 40))


@pytest.mark.parametrize(("key", "variant"), [("modelarts-13", "estimates"), ("modelarts-15", "delay")])
def test_a_disturbance_changes_the_times_of_the_same_jobs(small, key, variant):
    cases = find(key).run(Setting(quick=True)).data["cases"]
    base, found = (cases[f"long jobs, {name}, load scale 2"] for name in ("baseline", variant))
    for nodes in ("4", "8"):
        assert found[nodes]["jobs_compared"] == base[nodes]["jobs_compared"]
        assert found[nodes]["mean_total_min"]["optimal"] != base[nodes]["mean_total_min"]["optimal"]
    if variant == "delay":  # nobody gains by starting later
        assert found["8"]["mean_total_min"]["greedy"]["mean"] > base["8"]["mean_total_min"]["greedy"]["mean"]


def test_mishaps_leave_fewer_jobs_that_complete(small):
    cases = find("modelarts-14").run(Setting(quick=True)).data["cases"]
    base, found = (cases[f"long jobs, {name}, load scale 2"]["8"] for name in ("baseline", "mishaps"))
    assert 0 < found["jobs_compared"] < base["jobs_compared"]


def test_figure_16_in_small(small, monkeypatch):
    monkeypatch.setattr(figures, "SPEED_NODES", 8)
    data = json.loads(json.dumps(find("modelarts-16").run(Setting(quick=True)).data, allow_nan=False))
    for found in data["decision_cpu"].values():
        assert sum(found["histogram"]) == found["decisions"] > 10
        assert found["not_proven"] == 0
        assert 0 <= found["seconds"]["median"] <= found["seconds"]["95th percentile"] <= found["seconds"]["longest"]
