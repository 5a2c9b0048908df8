"""Rollouts against hand calculation and against the simulator, and Market that looks ahead."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.renting_grid import CELLS, scenario_of
from dlsched.policies.gpuaas.instance import Instance, Schedule
from dlsched.policies.gpuaas.look_ahead import Ahead, cheapest_rule, played_out
from dlsched.policies.gpuaas.params import MarketParams
from dlsched.policies.gpuaas.portfolio import _rules
from dlsched.studies.simulation import Run, simulate
from tests.support.gpuaas_plain import instance

ONE_TO_TWO = [(0, 1, 1.0), (0, 2, 2.0)]
RULES = _rules(MarketParams(), mixing_pays=True)


def ahead_of(point: Instance, **more: Any) -> Ahead:
    jobs = point.num_jobs
    nothing = Schedule(np.full(jobs, -1), np.zeros(jobs, dtype=np.int64), point.node_vm.copy())
    return replace(Ahead(point, np.zeros(jobs), nothing, np.zeros(jobs)), **more)


def test_machines_and_lateness_by_hand():
    point = instance([[[100.0, 60.0]]] * 2, 100.0, ONE_TO_TWO, nodes=1, weight=0.01)
    # one node for one job each: 100 s, then 100 s more that end 100 s late with one GPU, or 60 s with two
    assert played_out(ahead_of(point), RULES["FIFO renting"]) == pytest.approx(100 + 120 + 0.01 * 60)


def test_a_job_that_comes_later_waits_for_nothing_and_costs_nothing_before():
    point = instance([[[100.0, 60.0]]] * 2, [100.0, 1100.0], ONE_TO_TWO, nodes=1)
    ahead = ahead_of(point, arrives_s=np.array([0.0, 1000.0]))
    assert played_out(ahead, RULES["EDF renting"]) == pytest.approx(200)


def test_restarts_at_a_start_and_at_a_change():
    point = instance([[[100.0, 60.0]]], 1000.0, ONE_TO_TWO, nodes=1)
    waiting = ahead_of(point, start_s=10.0, change_s=10.0)
    assert played_out(waiting, RULES["FIFO renting"]) == pytest.approx(110)
    runs = replace(point, running=np.array([True]))
    wide = Schedule(np.array([0]), np.array([2]), np.array([1]))
    going = ahead_of(runs, held=wide, ahead_s=np.array([4.0]), start_s=10.0, change_s=10.0)
    assert played_out(going, RULES["FIFO renting"]) == pytest.approx(2 * 64)
    assert played_out(going, RULES["Market without changes"]) == pytest.approx(110)


def test_hours_are_paid_in_advance_and_not_given_back():
    point = instance([[[5000.0, 3000.0]]], 9000.0, ONE_TO_TWO, nodes=1)
    waiting = ahead_of(point, paid_s=np.zeros(1))
    assert played_out(waiting, RULES["FIFO renting"]) == pytest.approx(2 * 3600)
    held = Schedule(np.array([0]), np.array([1]), np.array([0]))
    paid = ahead_of(replace(point, running=np.array([True])), held=held, paid_s=np.array([2000.0]))
    assert played_out(paid, RULES["FIFO renting"]) == pytest.approx(3600)


def test_the_first_rule_stays_unless_another_is_cheaper_by_the_margin():
    def only(gpus: int) -> Any:
        return lambda point, held: (Schedule(np.array([0]), np.array([gpus]), np.array([gpus - 1])), None)

    point = instance([[[100.0, 49.0]]], 1000.0, ONE_TO_TWO, nodes=1)  # $100 with one GPU, $98 with two
    rules = {"one": only(1), "two": only(2)}
    assert cheapest_rule(ahead_of(point), rules, 0.01) == "two"
    assert cheapest_rule(ahead_of(point), rules, 0.03) == "one"


def test_a_rule_that_never_runs_anything_is_out():
    idle = Schedule(np.array([-1]), np.array([0]), np.array([-1]))
    point = instance([[[100.0, 60.0]]], 1000.0, ONE_TO_TWO, nodes=1)
    assert played_out(ahead_of(point), lambda point, held: (idle, None)) == np.inf


def usd_of(run: Run) -> float:
    assert run.audit() == []
    return float(run.metrics["total_cost"] or 0.0)


@pytest.mark.parametrize("cell", ["base 0.9", "restart 600 0.9", "hourly 0.9"])
@pytest.mark.parametrize(
    ("policy", "rule"),
    [
        ("gpuaas-market", "Market"),
        ("gpuaas-greedy", "Greedy"),
        ("gpuaas-fifo", "FIFO renting"),
        ("gpuaas-edf", "EDF renting"),
    ],
)
def test_a_rollout_costs_what_the_simulation_then_costs(cell: str, policy: str, rule: str, monkeypatch):
    """All jobs at once and no decisions by time alone: what is played out at the first decision is the run."""
    whole = scenario_of(CELLS[cell], 0)
    jobs = whole.workload.head(12)
    assert jobs.due_s is not None
    early = jobs.due_s - jobs.submit_s
    whole = whole.replace(workload=replace(jobs, submit_s=np.zeros(12), due_s=early))
    seen: list[Ahead] = []

    def note_and_stay(ahead: Ahead, *_: Any) -> str:
        seen.append(ahead)
        return "Market"

    monkeypatch.setattr("dlsched.policies.gpuaas.portfolio.cheapest_rule", note_and_stay)
    monkeypatch.setattr("dlsched.policies.gpuaas.portfolio.FEWEST_GAPS", 100)  # nobody else is expected
    simulate(whole, "gpuaas-market", {"period_s": None, "look_ahead": 50})
    costs = usd_of(simulate(whole, policy, {"period_s": None}))
    rules = _rules(MarketParams(), mixing_pays=cell == "base 0.9")
    within = 1e-6
    if cell == "hourly 0.9":
        within = 0.02  # of machines of one type the engine gives up the one whose jobs leave, not the one least paid
    elif cell == "restart 600 0.9" and rule == "Market":
        within = 0.05  # among matchings of slots in which as many jobs stay the engine may take another one
    assert played_out(seen[0], rules[rule]) == pytest.approx(costs, rel=within)


def test_short_jobs_billed_by_the_hour_no_longer_cost_half_as_much_again():
    given = scenario_of(CELLS["hourly short 0.15"], 1)
    plain = usd_of(simulate(given, "gpuaas-market"))
    ahead = usd_of(simulate(given, "gpuaas-market", {"look_ahead": 60}))
    best = usd_of(simulate(given, "gpuaas-edf"))
    assert plain > 1.3 * best
    assert ahead < 1.05 * best


def test_more_jobs_than_it_may_look_at_leave_plain_market():
    given = scenario_of(CELLS["hourly short 0.15"], 1)
    given = given.replace(workload=replace(given.workload, submit_s=np.zeros(40)))
    plain = simulate(given, "gpuaas-market", {"period_s": None})
    ahead = simulate(given, "gpuaas-market", {"period_s": None, "look_ahead": 39})
    assert plain.segments.equals(ahead.segments)
