"""A sweep is single runs: equal to ``simulate``, computed once, resumed from the store, the same on many processes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.runner.executor import open_pool
from dlsched.sim.simulate import Cancelled
from dlsched.store import Store
from dlsched.studies.design import changed
from dlsched.studies.design import run as cases_run
from dlsched.studies.simulation import simulate
from dlsched.studies.sweep import SweepSpec, read_spec, run_sweep
from dlsched.studies.sweep.answer import Cell, against_policy, failed, mean_at, with_violations
from dlsched.studies.sweep.spec import read_values
from dlsched.studies.sweep.words import point_words
from tests.support.known import known
from tests.support.runs_for_store import small_scenario

ERRORS = SimulationRules(estimate_error=0.5, restart_s=1.0)
NODES = {"key": "nodes", "values": [1, 2, 3]}


def wrong_estimates() -> Scenario:
    """Return jobs of five lengths whose lengths nobody knows: another seed is another order of SJF."""
    scenario = small_scenario(12, options=ERRORS)
    return scenario.replace(workload=scenario.workload.with_columns(work=40 + 10 * (np.arange(12) * 7 % 5)))


def asked(scenario: Scenario, **spec: Any) -> SweepSpec:
    plain = {
        "axes": [NODES],
        "policies": ["sjf", "fifo"],
        "futures": {"seeds": [0, 5]},
        "metrics": ["jct_mean", "vm_cost"],
    }
    return read_spec({"scenario": scenario.content_hash} | plain | spec)


def by_hand(scenario: Scenario, changes: dict[str, Any], cell: Cell, **params: Any) -> dict[str, Any]:
    metrics = simulate(changed(scenario, changes, cell.seed), cell.policy, params, cell.seed).metrics
    return {key: metrics[key] for key in cell.values}


def test_cells_are_single_runs_points_first_then_policies_then_seeds() -> None:
    scenario = wrong_estimates()
    swept = run_sweep(asked(scenario), scenario)
    cells = swept.answer.cells
    assert [(cell.point, cell.policy, cell.seed) for cell in cells[:5]] == [
        (0, "sjf", 0), (0, "sjf", 5), (0, "fifo", 0), (0, "fifo", 5), (1, "sjf", 0),
    ]  # fmt: skip
    for cell in cells:
        nodes = scenario.cluster.pools[0].model_copy(update={"count": cell.point + 1})
        alone = scenario.replace(cluster=scenario.cluster.model_copy(update={"pools": (nodes,)}))
        metrics = simulate(alone, cell.policy, seed=cell.seed).metrics
        assert cell.values == {"jct_mean": metrics["jct_mean"], "vm_cost": metrics["vm_cost"]}
        assert (cell.completed, cell.audit, cell.error) == (12, (), "")
    assert cells[0].values != cells[1].values  # seeds differ where estimates are wrong
    assert (swept.computed, swept.stored) == (12, 0)


def test_two_axes_with_drawn_changes_and_a_parameter_of_a_policy() -> None:
    scenario = small_scenario(12)
    axes = [{"key": "failures", "values": [0.1, 1]}, {"key": "las.quantum_s", "values": [5, 20]}]
    swept = run_sweep(asked(scenario, axes=axes, policies=["las", "fifo"]), scenario)
    for cell in swept.answer.cells:
        hours, quantum_s = swept.answer.points[cell.point]
        params = {"quantum_s": quantum_s} if cell.policy == "las" else {}
        assert cell.values == by_hand(scenario, {"failures": hours}, cell, **params)
    # two values of failures x two seeds: las with two parameters, fifo with none
    assert swept.computed == 2 * 2 * (2 + 1)
    assert len(swept.answer.cells) == 16
    assert not with_violations(swept.answer)


def test_one_at_a_time_begins_with_the_scenario_as_it_is() -> None:
    scenario = wrong_estimates()
    axes = [NODES, {"key": "arrivals", "values": [0.5, 2]}]
    answer = run_sweep(asked(scenario, axes=axes, mode="one-at-a-time"), scenario).answer
    assert list(answer.points) == [(None, None), (1, None), (2, None), (3, None), (None, 0.5), (None, 2)]
    assert [point_words(answer, point) for point in (0, 3, 5)] == ["as it is", "3 nodes", "arrival speed 2x"]
    assert answer.at(0, "sjf")[1].values == by_hand(scenario, {}, answer.at(0, "sjf")[1])
    assert [cell.values for cell in answer.at(2, "sjf")] == [cell.values for cell in answer.at(0, "sjf")]  # has 2 nodes


def test_where_nothing_is_random_one_run_stands_for_all_draws() -> None:
    scenario = small_scenario(12)
    swept = run_sweep(asked(scenario), scenario)
    assert swept.computed == 3 * 2
    mean = known(mean_at(swept.answer, 0, "fifo", "jct_mean"))
    assert (mean.exact, mean.n) == (True, 2)
    assert [cell.seed for cell in swept.answer.at(0, "fifo")] == [0, 5]


def test_a_run_that_fails_leaves_the_others() -> None:
    scenario = small_scenario(4)
    wide = scenario.workload.with_columns(workers=[1, 1, 1, 3])  # 3 GPUs: two nodes of 2
    scenario = scenario.replace(workload=wide, options=SimulationRules(placement="best-fit"))
    answer = run_sweep(
        asked(scenario, axes=[{"key": "nodes", "values": [1, 2]}], futures={"seeds": [0]}), scenario
    ).answer
    assert [(cell.point, cell.policy) for cell in failed(answer)] == [(0, "sjf"), (0, "fifo")]
    assert "can never fit" in failed(answer)[0].error
    assert mean_at(answer, 0, "sjf", "jct_mean") is None
    assert mean_at(answer, 1, "sjf", "jct_mean") is not None
    assert against_policy(answer, 1, "fifo", "jct_mean") is not None


class StopAfter:
    """Progress that cancels a sweep once so many runs are done, and remembers what it was told."""

    def __init__(self, runs: int) -> None:
        self.runs, self.told = runs, list[str]()

    def __call__(self, share: float, text: str) -> None:
        self.told.append(text)
        if int(text.split()[0]) == self.runs:
            raise Cancelled


@pytest.mark.parametrize("batch", [2, 100])
def test_a_sweep_that_was_stopped_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(cases_run, "BATCH", batch)
    scenario = wrong_estimates()
    whole = run_sweep(asked(scenario), scenario)
    path = tmp_path / "s.duckdb"
    with Store(path) as store, pytest.raises(Cancelled):
        run_sweep(asked(scenario), scenario, store=store, progress=StopAfter(5))
    with Store(path) as store:
        done = StopAfter(-1)
        again = run_sweep(asked(scenario), scenario, store=store, progress=done)
        assert (again.computed, again.stored) == (7, 5)
        assert again.answer == whole.answer
        assert done.told[-1] == "12 of 12 runs, 5 from the store"
        third = run_sweep(asked(scenario), scenario, store=store)
        assert (third.computed, third.stored) == (0, 12)
        assert third.answer == whole.answer
        assert not with_violations(third.answer)


def test_numbers_are_kept_but_neither_runs_nor_scenarios(tmp_path: Path) -> None:
    scenario = wrong_estimates()
    with Store(tmp_path / "s.duckdb") as store:
        run_sweep(asked(scenario), scenario, store=store)
        assert store.list_runs().empty
        assert store.list_scenarios().empty
        wider = asked(scenario, metrics=["wait_p95"], policies=["fifo", "sjf"], futures={"seeds": [5, 0]})
        assert run_sweep(wider, scenario, store=store).stored == 12  # all numbers are kept, whichever were asked for


def test_a_change_that_changes_nothing_is_the_same_run() -> None:
    scenario = wrong_estimates()
    own = {"nodes": scenario.cluster.num_nodes, "prices": 1, "restart_s": 1.0}
    axes = [{"key": key, "values": [value]} for key, value in own.items()]
    swept = run_sweep(asked(scenario, axes=axes, mode="one-at-a-time"), scenario)
    assert swept.computed == 2 * 2
    for cell in swept.answer.cells:
        metrics = simulate(scenario, cell.policy, seed=cell.seed).metrics
        assert cell.values == {key: metrics[key] for key in cell.values}


def test_a_thread_that_computes_stops_too(tmp_path: Path) -> None:
    scenario = wrong_estimates()
    with ThreadPoolExecutor(1) as executor, Store(tmp_path / "s.duckdb") as store:
        with pytest.raises(Cancelled):
            run_sweep(asked(scenario), scenario, executor, store, StopAfter(4))
        swept = run_sweep(asked(scenario), scenario, executor, store)
        assert (swept.computed, swept.stored) == (8, 4)


@pytest.mark.slow
def test_one_and_two_processes_give_the_same_numbers(tmp_path: Path) -> None:
    scenario = wrong_estimates()
    axes = [NODES, {"key": "failures", "values": [0.1]}]
    here = run_sweep(asked(scenario, axes=axes), scenario)
    with open_pool(workers=2).executor as executor, Store(tmp_path / "s.duckdb") as store:
        spread = run_sweep(asked(scenario, axes=axes), scenario, executor, store)
        assert spread.computed == here.computed == 12
        assert spread.answer == here.answer
        assert run_sweep(asked(scenario, axes=axes), scenario, store=store).answer == here.answer


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"axes": []}, "sweep, axes"),
        ({"axes": [NODES, NODES]}, r"axes must differ, 'nodes' is listed twice"),
        ({"axes": [{"key": "nodes", "values": [1, 1]}]}, r"values of nodes must differ, 1\.0 is listed twice"),
        ({"policies": ["fifo", "fifo"]}, r"policies must differ"),
        ({"metrics": ["wait"]}, r"there is no metric 'wait'"),
        ({"metrics": ["decision_cpu_s"]}, r"differs from machine to machine"),
        ({"reference": "las"}, r"the reference must be one of the policies, got 'las'"),
        ({"futures": {"seeds": list(range(1000))}}, r"at most 5,000, got 6,000"),
        ({"axes": [{"key": "nodez", "values": [1]}]}, r"change 'nodez': there is none"),
        ({"axes": [{"key": "nodes", "values": [1, -1]}]}, r"change nodes: must be at least 1"),
        ({"axes": [{"key": "las.quantum_s", "values": [9]}]}, r"parameter las\.quantum_s: is of a policy that is not"),
        ({"axes": [{"key": "fifo.quantum_s", "values": [9]}]}, r"policy fifo, quantum_s: no such parameter"),
        ({"policies": ["fifo", "priority"]}, r"policy priority: needs priorities"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_bad_question_is_refused_before_anything_runs(
    spec: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cases_run, "carry_out", lambda task: pytest.fail("it ran"))
    scenario = small_scenario()
    with pytest.raises(InputError, match=words):
        run_sweep(asked(scenario, **spec), scenario)


def test_a_question_about_another_scenario_is_refused() -> None:
    with pytest.raises(InputError, match=r"sweep: asks about scenario .*, got"):
        run_sweep(asked(small_scenario(3)), small_scenario(4))


def test_values_as_they_are_typed() -> None:
    assert read_values("nodes", "4, 8,16") == [4, 8, 16]
    assert read_values("arrivals", "0.8:1.2:5") == [0.8, 0.9, 1.0, 1.1, 1.2]
    assert read_values("vm_types", "a+b,a") == ["a+b", "a"]
    assert read_values("slurm.PriorityMaxAge", "5:00:00,") == ["5:00:00"]
    with pytest.raises(InputError, match=r"5:00:00. is no range. .*put a comma after a single time: 5:00:00,"):
        read_values("slurm.PriorityMaxAge", "5:00:00")
    for text in ("1:2:1", "1:1:5", "1:x:5", "1:2:500"):
        with pytest.raises(InputError, match=f"change nodes: '{text}' is no range"):
            read_values("nodes", text)
