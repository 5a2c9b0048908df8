"""Rollouts against hand calculation and against the simulator, and Market that looks ahead."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.renting_grid import CELLS, scenario_of
from dlsched.policies.gpuaas.hours import Leases
from dlsched.policies.gpuaas.instance import Instance, Schedule
from dlsched.policies.gpuaas.look_ahead import Known, Play, Rule
from dlsched.policies.gpuaas.params import MarketParams
from dlsched.policies.gpuaas.portfolio import MOST_NODES_BY_HOUR, TRIED, Portfolio, _known, _rules
from dlsched.studies.simulation import Run, simulate
from tests.support.gpuaas_plain import instance

ONE_TO_TWO = [(0, 1, 1.0), (0, 2, 2.0)]
RULES = _rules(MarketParams())


def known_of(point: Instance, **more: Any) -> Known:
    """Return the jobs of a point in time as submitted, on a clock that is 0 now."""
    return Known(point, point.times, point.slack, point.weight, **more)


def start_of(point: Instance, **more: Any) -> Play:
    """Return a play in which nothing has been done and nobody runs."""
    jobs = point.num_jobs
    nothing = np.zeros(jobs, dtype=np.int64)
    return replace(Play(0.0, np.ones(jobs), nothing - 1, nothing, point.node_vm.copy(), np.zeros(jobs)), **more)


def running(point: Instance, gpus: int, vm: int, **more: Any) -> Play:
    """Return a play in which the only job runs on the only node."""
    return start_of(point, node=np.array([0]), gpus=np.array([gpus]), vm=np.array([vm]), **more)


def only(gpus: int) -> Rule:
    """Return the rule that gives the first job so many GPUs of a machine with just as many."""
    return lambda point, held, paid_s: (Schedule(np.array([0]), np.array([gpus]), np.array([gpus - 1])), None)


def test_machines_and_lateness_by_hand():
    point = instance([[[100.0, 60.0]]] * 2, 100.0, ONE_TO_TWO, nodes=1, weight=0.01)
    # one node for one job each: 100 s, then 100 s more that end 100 s late with one GPU, or 60 s with two
    assert start_of(point).usd_at_end(known_of(point), RULES["FIFO renting"]) == pytest.approx(100 + 120 + 0.01 * 60)


def test_a_play_goes_on_from_where_it_was_and_takes_in_new_jobs():
    point = instance([[[100.0, 60.0]]] * 2, 1000.0, ONE_TO_TWO, nodes=1)
    play = start_of(point)
    assert play.go_on(known_of(point), RULES["EDF renting"], 150.0)
    assert [play.now_s, play.usd, *play.left.tolist()] == [150.0, 150.0, 0.0, 0.5]
    play.of_jobs(np.array([1, -1]))
    assert play.usd_at_end(known_of(point), RULES["EDF renting"]) == pytest.approx(300)
    assert [play.now_s, play.usd] == [150.0, 150.0]  # to look at its end changes nothing
    assert play.usd_at_end(known_of(point), RULES["EDF renting"], 200.0) == np.inf
    assert play.go_on(known_of(point), RULES["EDF renting"], 1000.0)
    assert [play.now_s, play.usd] == pytest.approx([1000.0, 300.0])  # nobody is there from 350 s on


def test_restarts_at_a_start_and_at_a_change():
    point = instance([[[100.0, 60.0]]], 1000.0, ONE_TO_TWO, nodes=1)
    known = known_of(point, start_s=10.0, change_s=10.0)
    assert start_of(point).usd_at_end(known, RULES["FIFO renting"]) == pytest.approx(110)
    going = running(point, gpus=2, vm=1, restart_s=np.array([4.0]))
    assert going.usd_at_end(known, RULES["FIFO renting"]) == pytest.approx(2 * 64)
    assert going.usd_at_end(known, RULES["Market without changes"]) == pytest.approx(110)


def test_hours_are_paid_in_advance_and_not_given_back():
    point = instance([[[5000.0, 3000.0]]], 9000.0, ONE_TO_TWO, nodes=1)
    nothing = Leases(point.vm_price, point.node_vm, np.zeros(1))
    waiting = start_of(point, leases=nothing)
    assert waiting.usd_at_end(known_of(point), RULES["FIFO renting"]) == pytest.approx(2 * 3600)
    paid = running(point, gpus=1, vm=0)
    held = Schedule(paid.node, paid.gpus, paid.vm)
    paid.leases = Leases.of(point, held, np.array([2000.0]))
    assert paid.usd_at_end(known_of(point), RULES["FIFO renting"]) == pytest.approx(3600)
    assert paid.go_on(known_of(point), RULES["FIFO renting"], 6000.0)
    paid.of_jobs(np.array([-1]))  # nobody was there: a new job pays a new hour
    assert paid.usd_at_end(known_of(point), only(2)) == pytest.approx(3600 + 2 * 3600)


def test_a_rule_that_never_runs_anything_is_out():
    idle = Schedule(np.array([-1]), np.array([0]), np.array([-1]))
    point = instance([[[100.0, 60.0]]], 1000.0, ONE_TO_TWO, nodes=1)
    assert start_of(point).usd_at_end(known_of(point), lambda point, held, paid_s: (idle, None)) == np.inf
    assert start_of(point).usd_at_end(known_of(point), lambda point, held, paid_s: (idle, 1.0)) == np.inf


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
    seen: list[tuple[Play, Known]] = []
    cheapest = Portfolio._cheapest

    def note_and_stay(self: Portfolio, instance: Instance, adapter: Any, *more: Any) -> str:
        cheapest(self, instance, adapter, *more)
        if not seen:
            shadow, known = self._shadows[rule], _known(instance, adapter, self._rows)
            seen.append((shadow.copy(), known))
        return "Market"

    monkeypatch.setattr(Portfolio, "_cheapest", note_and_stay)
    simulate(whole, "gpuaas-market", {"period_s": None, "look_ahead": 50})
    alone = {"look_ahead": 0} if policy == "gpuaas-market" else {}
    costs = usd_of(simulate(whole, policy, {"period_s": None} | alone))
    given = CELLS[cell]
    rules = _rules(MarketParams(period_s=None), change_s=given.restart_s, by_hour=given.hourly)
    ties = cell != "base 0.9" and rule in ("Market", "Greedy")
    within = 0.05 if ties else 1e-6  # among matchings of slots in which as many jobs stay the engine may take another
    shadow, known = seen[0]
    assert shadow.usd_at_end(known, rules[rule]) == pytest.approx(costs, rel=within)


@pytest.mark.parametrize("cell", ["linear 0.9", "restart 600 0.4", "hourly short 0.4"])
def test_a_shadow_has_cost_at_the_end_what_the_policy_costs(cell: str, monkeypatch):
    """Jobs that come one by one: a shadow carried on from submission to submission is a run of its policy."""
    given = scenario_of(CELLS[cell], 0)
    given = given.replace(workload=given.workload.head(20))
    policies = {"Greedy": "gpuaas-greedy", "EDF renting": "gpuaas-edf"}
    found: list[dict[str, float]] = []
    cheapest = Portfolio._cheapest

    def note(self: Portfolio, instance: Instance, adapter: Any, rules: dict[str, Rule], leases: Any) -> str:
        chosen = cheapest(self, instance, adapter, rules, leases)
        known = _known(instance, adapter, self._rows)
        found.append({rule: self._shadows[rule].usd_at_end(known, rules[rule]) for rule in policies})
        return chosen

    monkeypatch.setattr(Portfolio, "_cheapest", note)
    simulate(given, "gpuaas-market", {"look_ahead": 60})
    within = 0.05 if given.options.billing == "hour" else 1e-6
    assert len(found) == 20
    for rule, policy in policies.items():
        assert found[-1][rule] == pytest.approx(usd_of(simulate(given, policy)), rel=within)


@pytest.mark.parametrize("settled", [5, 1000])
def test_a_rule_whose_shadow_cost_far_more_is_left_out(settled: int, monkeypatch):
    left: list[set[str]] = []
    cheapest = Portfolio._cheapest

    def note(self: Portfolio, *given: Any) -> str:
        chosen = cheapest(self, *given)
        left.append(set(self._shadows))
        return chosen

    monkeypatch.setattr(Portfolio, "_cheapest", note)
    monkeypatch.setattr("dlsched.policies.gpuaas.portfolio.SETTLED", settled)
    simulate(scenario_of(CELLS["base 0.9"], 0), "gpuaas-market", {"look_ahead": 60})
    assert all(names == set(RULES) for names in left[: min(settled, TRIED) - 1])
    assert all("Market" in names for names in left)
    assert "Priority renting" not in left[-1]
    assert [len(names) for names in left[settled - 1 :]] == [2] * len(left[settled - 1 :])


@pytest.mark.parametrize("look_ahead", [0, 40])
def test_short_jobs_billed_by_the_hour_cost_less_than_with_a_policy_that_never_gives_up_a_lease(look_ahead: int):
    given = scenario_of(CELLS["hourly short 0.15"], 1)
    market = usd_of(simulate(given, "gpuaas-market", {"look_ahead": look_ahead}))
    assert market < 0.95 * usd_of(simulate(given, "gpuaas-edf"))


def test_restarts_of_ten_minutes_no_longer_cost_a_fifth_more():
    given = scenario_of(CELLS["restart 600 0.4"], 1)
    plain = usd_of(simulate(given, "gpuaas-market", {"look_ahead": 0}))
    ahead = usd_of(simulate(given, "gpuaas-market"))
    best = usd_of(simulate(given, "gpuaas-greedy"))
    assert plain > 1.15 * best
    assert ahead < 1.05 * best


@pytest.mark.parametrize(("slots", "is_alike"), [(MOST_NODES_BY_HOUR, False), (MOST_NODES_BY_HOUR + 1, True)])
def test_more_nodes_by_the_hour_leave_plain_market(slots: int, is_alike: bool):
    cell = replace(CELLS["hourly short 0.9"], slots=slots)
    given = scenario_of(cell, 0)
    given = given.replace(workload=given.workload.head(20))
    plain = simulate(given, "gpuaas-market", {"look_ahead": 0})
    assert plain.segments.equals(simulate(given, "gpuaas-market").segments) == is_alike


def test_more_jobs_than_it_may_look_at_leave_plain_market():
    given = scenario_of(CELLS["hourly short 0.15"], 1)
    given = given.replace(workload=replace(given.workload, submit_s=np.zeros(40)))
    plain = simulate(given, "gpuaas-market", {"period_s": None, "look_ahead": 0})
    ahead = simulate(given, "gpuaas-market", {"period_s": None, "look_ahead": 39})
    assert plain.segments.equals(ahead.segments)
