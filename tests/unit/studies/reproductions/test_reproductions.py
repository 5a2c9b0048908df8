"""Reproductions: verdicts follow from the numbers, and the numbers from audited runs."""

from __future__ import annotations

import pytest

from dlsched.domain.errors import InputError
from dlsched.metrics.summary import Metrics
from dlsched.studies.reproductions import path_relinking
from dlsched.studies.reproductions.path_relinking import grid, prototype
from dlsched.studies.reproductions.registry import REPRODUCTIONS, find
from dlsched.studies.reproductions.reproduction import Outcome, Setting
from dlsched.studies.simulation import simulate
from dlsched.workload.studies.gpu_as_a_service import prototype_scenario

PLAN = grid.Plan((1, 2), (0,), jobs_per_node=1, most_for_hierarchical=1)


@pytest.fixture
def small(monkeypatch):
    """Quick reproductions on 1 and 2 nodes, in this process."""
    monkeypatch.setattr(grid, "QUICK", PLAN)


def costs(*total_costs: float) -> list[Metrics]:
    return [{"total_cost": cost} for cost in total_costs]


def test_keys_are_unique_and_an_unknown_one_names_near_ones():
    keys = [one.key for one in REPRODUCTIONS]
    assert len(set(keys)) == len(keys)
    with pytest.raises(InputError, match="'path-relinking-3a'"):
        find("path_relinking_3")
    with pytest.raises(InputError, match="Known: path-relinking-3a"):
        find("zzz")


def test_a_saving_is_a_share_of_what_the_other_method_costs():
    ours, theirs = ("high", 5, "a"), ("high", 5, "b")
    study = grid.GridStudy({ours: costs(30, 60), theirs: costs(40, 50)})
    assert grid.savings(study, ours, theirs) == pytest.approx([0.25, -0.2])


@pytest.mark.parametrize(
    ("relinking", "greedy", "edf", "verdict"),
    [
        pytest.param(10, 12, 20, "same", id="cheapest"),
        pytest.param(10.04, 10, 20, "same", id="as good as the cheapest"),
        pytest.param(12, 10, 20, "partly", id="another search is cheaper"),
        pytest.param(22, 10, 20, "different", id="EDF is cheaper"),
    ],
)
def test_the_verdict_of_figure_3(monkeypatch, relinking, greedy, edf, verdict):
    cells = {
        (rate, nodes, policy): costs(cost, cost)
        for rate, nodes in (("high", n) for n in grid.FULL.nodes)
        for policy, cost in {
            grid.RELINKING: relinking, "gpuaas-greedy": greedy, grid.EDF: edf, grid.MARKET: 1.0,
        }.items()
    }  # fmt: skip
    monkeypatch.setattr(grid, "run_grid", lambda *_: grid.GridStudy(cells))
    outcome = path_relinking.figure_3(Setting(), "high")
    assert outcome.verdict == verdict
    assert outcome.data["ratio_to_edf"][grid.RELINKING]["20"] == pytest.approx(relinking / edf)
    assert outcome.data["mean_total_cost_usd"][grid.EDF]["10"] == {"mean": edf, "half_width": 0.0, "n": 2}


def test_figure_3_runs_every_method_of_the_paper(small):
    told: list[float] = []
    outcome = find("path-relinking-3c").run(Setting(quick=True, progress=lambda share, _: told.append(share)))
    by_policy = outcome.data["mean_total_cost_usd"]
    assert set(by_policy) == {*grid.OF_THE_PAPER, grid.MARKET}
    assert set(by_policy[grid.HIERARCHICAL]) == {"1"}
    assert set(by_policy[grid.RELINKING]) == {"1", "2"}
    assert told == sorted(told)
    assert told[-1] == 1


@pytest.mark.parametrize("key", ["path-relinking-4", "path-relinking-5"])
def test_figures_4_and_5_answer(small, key):
    outcome = find(key).run(Setting(quick=True))
    assert isinstance(outcome, Outcome)
    table = outcome.data.get("saving") or outcome.data["mean_decision_cpu_s"]["gpuaas-path-relinking"]
    assert set(table) == set(path_relinking.RATES)


def test_the_slots_of_table_4_add_up_to_the_bill():
    outcome = prototype.table_4(Setting())
    run = simulate(prototype_scenario(), prototype.POLICY, {"period_s": None})
    slots = outcome.data["slots"]
    assert sum(slot["predicted_usd"] or 0 for slot in slots) == pytest.approx(run.metrics["vm_cost"])
    assert outcome.verdict in ("partly", "different")  # no cloud was used


def test_figure_6_lists_every_piece():
    outcome = prototype.figure_6(Setting())
    jobs = {piece["job_id"] for piece in outcome.data["pieces"]}
    assert len(jobs) == 6
    assert {piece["node"] for piece in outcome.data["pieces"]} <= {0, 1}
