"""The compiled loop for list policies that stop jobs writes the engine's log, also where nodes and jobs come and go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.policies.registry import find
from dlsched.sim.kernels import eligible, run_kernel
from dlsched.sim.log import PieceEnd
from dlsched.sim.prepare import Prepared, prepare
from dlsched.testing.logs import first_difference
from tests.support.conformance_scenarios import built, engine_log, rigid_scenarios
from tests.support.eventful_scenarios import eventful, joined, joined_at, unit_of
from tests.support.sim_fakes import jobs, nodes, scenario

POLICIES: list[tuple[str, dict[str, Any]]] = [
    ("srtf", {}),
    ("las", {"quantum_s": 7.0}),
    ("dlas", {"thresholds_gpu_s": (5.0, 20.0)}),
    ("gittins", {}),
]
every_policy = pytest.mark.parametrize(("key", "params"), POLICIES, ids=lambda value: str(value))


def check_equal(prepared: Prepared, key: str, params: dict[str, Any]) -> None:
    spec = find(key)
    policy = built(spec, prepared, params)
    assert eligible(prepared, policy)
    assert policy.kernel_rule is not None
    by_kernel = run_kernel(prepared, policy.kernel_rule)
    by_engine = engine_log(spec, prepared, params)
    assert first_difference(by_engine, by_kernel) == ""
    assert (by_kernel.stalled, by_kernel.start_s) == (by_engine.stalled, by_engine.start_s)
    assert by_kernel.end_s == pytest.approx(by_engine.end_s, rel=1e-12)


@every_policy
@settings(max_examples=100)
@given(data=st.data())
def test_small_workloads_with_many_ties(key: str, params: dict[str, Any], data: st.DataObject):
    prepared = prepare(data.draw(rigid_scenarios(pool=data.draw(st.booleans()), lasting=False)))
    if len(prepared.scenario.workload):
        check_equal(prepared, key, params)


@every_policy
def test_where_much_happens_to_jobs_and_nodes(key: str, params: dict[str, Any]):
    for number in range(60):
        prepared = eventful(number)
        if len(prepared.scenario.workload):
            check_equal(prepared, key, in_units(params, number))


@every_policy
def test_runs_that_are_joined_in_the_middle(key: str, params: dict[str, Any]):
    parts = [(number, joined_at(number)) for number in range(30)]
    for number, prepared in parts:
        if prepared is not None:
            check_equal(prepared, key, in_units(params, number))
    assert sum(prepared is not None for _, prepared in parts) > 20


@every_policy
def test_a_run_is_joined_while_few_jobs_hold_many_nodes(key: str, params: dict[str, Any]):
    whole = prepare(scenario(jobs((0, 10, 6), (0, 20, 6), (0, 30, 6)), nodes(6, gpus=3), placement="spread"))
    part, _ = joined(whole, engine_log(find("fifo"), whole), 5.0)
    assert part.underway is not None
    assert [len(shares) for _, shares in part.underway.held.values()] == [6, 6, 6]
    check_equal(part, key, params)


def in_units(params: dict[str, Any], number: int) -> dict[str, Any]:
    """Return the parameters in the unit of time of a scenario."""
    return {name: np.multiply(value, unit_of(number)).tolist() for name, value in params.items()}


@every_policy
@pytest.mark.parametrize("placement", ["best-fit", "spread"])
def test_a_queue_of_thousands(key: str, params: dict[str, Any], placement: str):
    loaded = _loaded(2600, placement=placement, horizon_s=400.0)
    check_equal(prepare(loaded), key, params | ({"quantum_s": 30.0} if key == "las" else {}))


def _loaded(count: int, **options: Any) -> Scenario:
    dice = np.random.default_rng(5)
    columns = {
        "job_id": np.arange(count).astype(str),
        "submit_s": np.sort(dice.integers(0, 60, count)).astype(float),
        "work": np.ceil(dice.lognormal(3, 1.5, count)),
        "workers": dice.choice([1, 1, 1, 2, 4, 8, 16], count),
    }
    return scenario(Workload.from_columns(columns), nodes(6), **options)


@every_policy
@pytest.mark.parametrize("wants", [["", "A", "B"], ["", "A", "B|C", "C", "A|C"]], ids=["two types", "three types"])
def test_jobs_that_may_use_several_gpu_types(key: str, params: dict[str, Any], wants: list[str]):
    """Sums by type decide who is selected; some jobs run on two types at once."""
    pools = tuple(Pool(vm=VmType(name=name, gpus=4, gpu_type=name), count=2) for name in "ABC"[: len(wants) - 1])
    for seed, placement in enumerate(("best-fit", "spread", "pool")):
        dice = np.random.default_rng(seed)
        columns = {
            "job_id": np.arange(150).astype(str),
            "submit_s": np.sort(dice.integers(0, 700, 150)).astype(float),
            "work": np.ceil(dice.lognormal(2.5, 1.0, 150)),
            "workers": dice.choice([1, 1, 2, 3, 6], 150),
            "gpu_types": dice.choice(wants, 150),
        }
        given = scenario(Workload.from_columns(columns), Cluster(pools=pools), placement=placement, oversize="drop")
        check_equal(prepare(given), key, params | ({"quantum_s": 30.0} if key == "las" else {}))


def test_the_run_ends_as_a_job_is_moved():
    loaded = _loaded(120, placement="best-fit")
    whole = engine_log(find("las"), prepare(loaded), {"quantum_s": 7.0})
    moved_s = whole.piece_end_s[whole.piece_end == PieceEnd.MOVED]
    assert len(moved_s)
    for horizon_s in moved_s[:3].tolist():
        options = loaded.options.model_copy(update={"horizon_s": horizon_s})
        check_equal(prepare(loaded.replace(options=options)), "las", {"quantum_s": 7.0})


def test_an_alarm_rests_while_all_nodes_are_away():
    away = scenario(jobs((0, 10, 2)), nodes(1, absences=[Absence(node=0, start_s=5.0, end_s=50_000.0)]))
    check_equal(prepare(away), "las", {"quantum_s": 7.0})
