"""The adapter between simulator and cores, by hand and against the costs the study's own program reports."""

from __future__ import annotations

import numpy as np
import pytest

import dlsched
from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.timetable import TimeTable
from dlsched.domain.workload import Workload
from dlsched.policies.gpuaas.instance import Instance, Schedule
from dlsched.policies.gpuaas.params import PeriodParams
from dlsched.policies.gpuaas.policy import Choice, InstancePolicy
from dlsched.policies.gpuaas.state_adapter import StateAdapter
from dlsched.sim.prepare import prepare
from dlsched.sim.simulate import run_policy
from dlsched.studies.simulation import Run, simulate

TIMES = TimeTable(rows={"net": {"K80": (1.0, 0.6), "M60": (0.5, 0.4)}})
K1 = VmType(name="k1", gpu_type="K80", gpus=1, usd_per_h=36.0)
K2 = VmType(name="k2", gpu_type="K80", gpus=2, usd_per_h=72.0)
M2 = VmType(name="m2", gpu_type="M60", gpus=2, usd_per_h=216.0)


def scenario(due_s, cluster: Cluster | None = None, speed: SpeedSpec | None = None, **columns) -> Scenario:
    """Jobs of 100 s on one K80, all at once: 1 cent a second for a K80, 3 cents for an M60."""
    count = len(due_s)
    jobs = Workload.from_columns(
        {
            "job_id": [f"j{n}" for n in range(count)],
            "submit_s": np.zeros(count),
            "work": np.full(count, 100.0),
            "profile": ["net"] * count,
            "due_s": due_s,
            "weight_usd_per_s": np.full(count, 1.0),
        }
        | columns
    )
    speed = speed or SpeedSpec(kind="table", times=TIMES)
    return Scenario(jobs, cluster or Cluster(slots=2, catalogue=(K1, K2, M2)), speed=speed)


def clean(run: Run) -> Run:
    assert run.audit() == []
    return run


def held(run: Run) -> list[tuple[str, int, str]]:
    """Job, GPUs and machine type of every piece, in order of time."""
    pieces = run.segments.sort_values(["start_s", "job_id"])
    vm_at = run.nodes.set_index(["node", "start_s"])["vm_type"]
    columns = (pieces[name].tolist() for name in ("job_id", "gpus", "node", "start_s"))
    return [(job, gpus, vm_at[node, start_s]) for job, gpus, node, start_s in zip(*columns, strict=True)]


def test_one_job_rents_the_cheapest_machine_that_is_in_time():
    run = clean(simulate(scenario([1000.0]), "gpuaas-greedy"))
    assert held(run) == [("j0", 1, "k1")]
    assert run.metrics["total_cost"] == pytest.approx(1.0)
    run = clean(simulate(scenario([70.0]), "gpuaas-greedy"))
    assert held(run) == [("j0", 2, "k2")]
    assert run.metrics["total_cost"] == pytest.approx(1.2)


def test_two_jobs_share_one_machine_and_the_last_one_gets_it_all_or_less():
    run = clean(simulate(scenario([1000.0, 1000.0]), "gpuaas-greedy"))
    assert held(run) == [("j0", 1, "k2"), ("j1", 1, "k2")]
    assert run.metrics["vm_cost"] == pytest.approx(2.0)


def test_nodes_that_are_there_keep_their_machines():
    fixed = Cluster(pools=(Pool(vm=K2, count=1), Pool(vm=M2, count=1)))
    run = clean(simulate(scenario([55.0, 1000.0], fixed), "gpuaas-greedy"))
    pieces = run.segments.set_index("job_id")
    assert pieces.loc["j0", "node"] == 1
    assert run.nodes["vm_type"].tolist() == ["k2", "m2"]


def test_a_slot_that_is_down_is_left_alone():
    down = Cluster(slots=2, catalogue=(K1,), absences=(Absence(node=0, end_s=50.0, cause="maintenance"),))
    run = clean(simulate(scenario([1000.0, 1000.0], down), "gpuaas-greedy"))
    first = run.segments.sort_values("start_s").iloc[0]
    assert first["node"] == 1
    assert sorted(run.jobs["first_start_s"]) == [0.0, 50.0]


def test_same_gpu_type_at_two_speeds_is_told_apart():
    slow = K1.model_copy(update={"name": "slow", "speed": 0.5})
    cluster = Cluster(slots=1, catalogue=(slow, K1))
    speed = SpeedSpec(kind="scaling", max_factor=1.0)
    assert held(clean(simulate(scenario([150.0], cluster, speed), "gpuaas-greedy"))) == [("j0", 1, "k1")]


def test_a_worker_of_two_gpus_takes_two():
    wide = scenario([1000.0], speed=SpeedSpec(kind="scaling", max_factor=1.0), gpus_per_worker=[2.0])
    assert [gpus for _, gpus, _ in held(clean(simulate(wide, "gpuaas-greedy")))] == [2]


def test_gpu_types_a_job_accepts_are_respected():
    run = clean(simulate(scenario([1000.0], gpu_types=["M60"]), "gpuaas-greedy"))
    assert run.nodes["vm_type"].tolist() == ["m2"]


def test_decisions_come_with_the_period_and_without():
    long = scenario([40_000.0], work=[20_000.0])
    hourly = clean(simulate(long, "gpuaas-greedy"))
    assert hourly.decisions["time_s"].tolist() == [0, 3600, 7200, 10800, 14400, 18000, 20000]
    assert hourly.metrics["preemptions"] == hourly.metrics["resizes"] == 0
    by_events = clean(simulate(long, "gpuaas-greedy", {"period_s": "none"}))
    assert by_events.decisions["time_s"].tolist() == [0, 20000]


def test_market_asks_again_when_a_job_shall_switch():
    run = clean(simulate(scenario([80.0]), "gpuaas-market", {"period_s": None}))
    # half of the work on two K80 (60 s for all of it), half on one (100 s): ends exactly when due
    assert held(run) == [("j0", 2, "k2"), ("j0", 1, "k1")]
    assert run.decisions["time_s"].tolist() == pytest.approx([0, 30, 80])
    assert run.metrics["total_cost"] == pytest.approx(1.1)
    assert run.metrics["total_cost_bound"] == pytest.approx(1.1)
    pure = clean(simulate(scenario([80.0]), "gpuaas-market", {"period_s": None, "mixing": False}))
    assert pure.metrics["total_cost"] == pytest.approx(1.2)


@pytest.mark.parametrize("policy", ["gpuaas-exact", "gpuaas-hierarchical", "gpuaas-greedy", "gpuaas-market"])
def test_jobs_without_a_due_date_are_run_all_the_same(policy: str):
    run = clean(simulate(scenario([200.0, np.nan, np.nan]), policy, {"period_s": None}))
    assert run.metrics["completed"] == 3


def test_restarts_are_in_the_residual_times():
    late = scenario([105.0]).replace(options=SimulationRules(restart_s=10.0))
    assert held(clean(simulate(late, "gpuaas-greedy"))) == [("j0", 2, "k2")]


def test_every_configuration_but_the_held_one_takes_a_restart_longer():
    seen = []

    def core(instance: Instance, adapter: StateAdapter, rng: np.random.Generator) -> Choice:
        seen.append(instance.times[0])
        return Choice(Schedule(np.array([0]), np.array([1]), np.array([0, -1])))

    given = prepare(scenario([1000.0]).replace(options=SimulationRules(restart_s=5.0)))
    run_policy(given, InstancePolicy(core, PeriodParams(period_s=10.0)), 0)
    assert seen[0] == pytest.approx(np.array([[105, 65], [55, 45]]))  # it waits: all start anew
    assert seen[1] == pytest.approx(np.array([[95, 57 + 5], [47.5 + 5, 38 + 5]]))  # 5 s of 100 are done


def test_mixing_is_left_out_where_a_change_costs_a_restart():
    slack = scenario([95.0]).replace(options=SimulationRules(restart_s=5.0))
    run = clean(simulate(slack, "gpuaas-market", {"period_s": None}))
    assert held(run) == [("j0", 2, "k2")]


def test_a_machine_is_not_changed_within_an_hour_that_is_paid():
    by_second, by_hour = (
        scenario([80.0]).replace(options=SimulationRules(billing=unit)) for unit in ("second", "hour")
    )
    assert len(held(clean(simulate(by_second, "gpuaas-market", {"period_s": None})))) == 2
    assert len(held(clean(simulate(by_hour, "gpuaas-market", {"period_s": None})))) == 1


COSTS = {
    "1-3-30-1000-exponential-75000": {
        "gpuaas-fifo": 20868.8, "gpuaas-edf": 8561.5, "gpuaas-priority": 15807.8, "gpuaas-greedy": 1389.6,
    },
    "1-4-40-1000-exponential-75000": {
        "gpuaas-fifo": 42603.6, "gpuaas-edf": 34726.7, "gpuaas-priority": 86787.8, "gpuaas-greedy": 2241.67,
    },
}  # fmt: skip
"""Total cost, $, of the study's own program as printed; submissions and completions only."""


@pytest.mark.parametrize("folder", COSTS)
def test_costs_of_the_studys_own_program(folder: str, shared_data):
    given = dlsched.load(shared_data / "gpuaas" / "instances" / folder)
    for policy, usd in COSTS[folder].items():
        run = clean(simulate(given, policy, {"period_s": None}))
        assert run.metrics["total_cost"] == pytest.approx(usd, abs=0.5 * 10.0 ** -len(str(usd).split(".")[1])), policy


def test_a_period_no_longer_than_a_restart_is_refused():
    slow = scenario([1000.0]).replace(options=SimulationRules(restart_s=3600.0))
    with pytest.raises(InputError, match="period_s: must be above the restart time of 3600 s"):
        simulate(slow, "gpuaas-greedy")


@pytest.mark.parametrize("policy", ["gpuaas-greedy", "gpuaas-edf", "gpuaas-dp-wct", "gpuaas-exact"])
def test_jobs_wait_while_all_nodes_are_away(policy: str):
    away = tuple(Absence(node=node, start_s=10.0, end_s=50.0, cause="maintenance") for node in (0, 1))
    fixed = Cluster(pools=(Pool(vm=K2, count=2),), absences=away)
    run = clean(simulate(scenario([300.0, 400.0, 500.0], fixed, submit_s=[0.0, 20.0, 30.0]), policy))
    assert run.metrics["completed"] == 3
