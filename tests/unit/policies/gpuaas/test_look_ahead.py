"""Rollouts against hand calculation and against the simulator, and Market that looks ahead."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.renting_grid import CELLS, scenario_of
from dlsched.domain.cluster import Absence
from dlsched.policies.gpuaas import portfolio
from dlsched.policies.gpuaas.hours import Leases
from dlsched.policies.gpuaas.instance import Instance, Schedule
from dlsched.policies.gpuaas.look_ahead import Known, Play, Rule
from dlsched.policies.gpuaas.params import MarketParams
from dlsched.policies.gpuaas.portfolio import MOST_NODES_BY_HOUR, _rules
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


def test_a_play_goes_on_from_where_the_run_is_and_stops_at_a_limit():
    point = instance([[[100.0, 60.0]]] * 2, 1000.0, ONE_TO_TWO, nodes=1)
    play = start_of(point, now_s=150.0, left=np.array([0.0, 0.5]))
    assert play.usd_at_end(known_of(point), RULES["EDF renting"]) == pytest.approx(50)
    assert play.usd_at_end(known_of(point), RULES["EDF renting"], 50.1) == pytest.approx(50)
    assert play.usd_at_end(known_of(point), RULES["EDF renting"], 49.9) == np.inf
    assert [play.now_s, play.usd, *play.left.tolist()] == [150.0, 0.0, 0.0, 0.5]  # to look ahead changes nothing


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
    assert paid.usd_at_end(known_of(point), only(2)) == pytest.approx(2 * 3600)  # another machine, paid anew


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

    def note_and_stay(present: Play, known: Known, rules: dict[str, Rule], chosen: str) -> str:
        seen.append((present, known))
        return "Market"

    monkeypatch.setattr(portfolio, "_cheapest", note_and_stay)
    simulate(whole, "gpuaas-market", {"period_s": None, "look_ahead": 50})
    alone = {"look_ahead": 0} if policy == "gpuaas-market" else {}
    costs = usd_of(simulate(whole, policy, {"period_s": None} | alone))
    given = CELLS[cell]
    rules = _rules(MarketParams(period_s=None), change_s=given.restart_s, by_hour=given.hourly)
    ties = cell != "base 0.9" and rule in ("Market", "Greedy")
    within = 0.05 if ties else 1e-6  # among matchings of slots in which as many jobs stay the engine may take another
    present, known = seen[0]
    assert present.usd_at_end(known, rules[rule]) == pytest.approx(costs, rel=within)


@pytest.mark.parametrize("cell", ["linear 0.9", "restart 600 0.4", "hourly short 0.4"])
def test_a_play_from_within_a_run_costs_what_is_not_paid_yet(cell: str, monkeypatch):
    """EDF decides all the time: after the last submission its play and what is paid by then are the whole bill."""
    given = scenario_of(CELLS[cell], 0)
    given = given.replace(workload=given.workload.head(20))
    found: list[tuple[float, float]] = []

    def note_and_take_edf(present: Play, known: Known, rules: dict[str, Rule], chosen: str) -> str:
        found.append((present.now_s, present.usd_at_end(known, rules["EDF renting"])))
        return "EDF renting"

    monkeypatch.setattr(portfolio, "_cheapest", note_and_take_edf)
    run = simulate(given, "gpuaas-market", {"period_s": None})
    bill, leases, jobs = usd_of(run), run.nodes, run.jobs
    after = [(now_s, usd) for now_s, usd in found if now_s >= given.workload.submit_s[-1]]
    assert len(after) > 2
    for now_s, ahead in after:
        hours = (np.minimum(leases["end_s"], now_s) - leases["start_s"]).clip(lower=0.0) / 3600
        hours = np.ceil(hours - 1e-9) if given.options.billing == "hour" else hours
        late = jobs["tardiness_usd"][jobs["completion_s"] <= now_s + 1e-6].sum()
        assert ahead + (hours * leases["usd_per_h"]).sum() + late == pytest.approx(bill, rel=1e-6)


@pytest.mark.parametrize(("with_two_s", "best"), [(51.0, "two"), (51.1, "one")])
def test_another_rule_must_save_two_per_cent(with_two_s: float, best: str):
    point = instance([[[100.0, with_two_s]]], 1000.0, ONE_TO_TWO, nodes=1)
    rules = {"one": only(1), "two": only(2)}  # $100 against $102.0 or $102.2
    assert portfolio._cheapest(start_of(point), known_of(point), rules, "two") == best
    assert portfolio._cheapest(start_of(point), known_of(point), rules, "one") == "one"


def test_rules_are_played_out_when_a_job_comes_or_ends(monkeypatch):
    given = scenario_of(CELLS["base 0.9"], 0)
    jobs = given.workload.head(8)
    given = given.replace(workload=replace(jobs, submit_s=np.arange(8.0)))
    here: list[int] = []

    def count(present: Play, known: Known, rules: dict[str, Rule], chosen: str) -> str:
        assert (present.left > 0).all()
        here.append(len(present.left))
        return chosen

    monkeypatch.setattr(portfolio, "_cheapest", count)
    simulate(given, "gpuaas-market")
    assert here == [1, 2, 3, 4, 5, 6, 7, 8, 7, 6, 5, 4, 3, 2, 1]


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


@pytest.mark.parametrize(("cell", "longer", "is_played"), [
    ("hourly short 0.9", 1, True), ("hourly short 0.9", 5_000, False),
    ("restart 600 0.4", 1, True), ("restart 600 0.4", 5_000, False),
    ("base 0.9", 5_000, True),
])  # fmt: skip
def test_jobs_that_hold_too_many_reviews_are_not_played_out(cell: str, longer: int, is_played: bool, monkeypatch):
    given = scenario_of(CELLS[cell], 0)
    jobs = given.workload.head(2)
    given = given.replace(workload=replace(jobs, submit_s=np.arange(2.0), work=jobs.work * longer))
    plays: list[int] = []

    def note(present: Play, known: Known, rules: dict[str, Rule], chosen: str) -> str:
        plays.append(len(present.left))
        return chosen

    monkeypatch.setattr(portfolio, "_cheapest", note)
    simulate(given, "gpuaas-market")
    assert (2 in plays) == is_played


def test_more_jobs_than_it_may_look_at_leave_plain_market():
    given = scenario_of(CELLS["hourly short 0.15"], 1)
    given = given.replace(workload=replace(given.workload, submit_s=np.zeros(40)))
    plain = simulate(given, "gpuaas-market", {"period_s": None, "look_ahead": 0})
    ahead = simulate(given, "gpuaas-market", {"period_s": None, "look_ahead": 39})
    assert plain.segments.equals(ahead.segments)


@pytest.mark.parametrize("cell", ["base 0.9", "hourly short 0.9"])
def test_while_every_node_is_down_nothing_is_played_out(cell: str):
    given = scenario_of(replace(CELLS[cell], slots=1), 0)
    down = (Absence(node=0, start_s=0.0, end_s=100.0),)
    jobs = replace(given.workload.head(2), submit_s=np.arange(2.0))
    run = simulate(
        given.replace(workload=jobs, cluster=given.cluster.model_copy(update={"absences": down})), "gpuaas-market"
    )
    assert not run.audit()
    assert run.segments["start_s"].min() == 100.0
