"""When the kernel may run, in which bites it runs, and the public reference results."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.workload import Workload
from dlsched.policies.registry import find
from dlsched.sim import kernels
from dlsched.sim.kernels import preemptive, rigid
from dlsched.sim.kernels.preemptive import new_run
from dlsched.sim.log import RunLog
from dlsched.sim.prepare import Prepared, prepare
from dlsched.sim.simulate import Cancelled
from dlsched.testing.logs import first_difference
from dlsched.testing.scenarios import fixed_nodes, full_workload
from tests.support.sim_fakes import jobs, nodes, scenario

TWO = jobs((0, 10, 2), (1, 10, 8))


def run(key: str, prepared: Prepared, progress: Any = None) -> RunLog:
    policy = find(key).build(find(key).parse(None))
    assert kernels.eligible(prepared, policy)
    assert policy.kernel_rule is not None
    return kernels.run_kernel(prepared, policy.kernel_rule, progress)


@pytest.mark.parametrize(
    ("given", "runs"),
    [
        (scenario(TWO), True),
        (scenario(TWO, speed="scaling"), True),
        (scenario(TWO, nodes(cpus=8.0)), True),
        (scenario(TWO, nodes(speed=2.0)), True),
        (scenario(TWO, estimate_error=0.5, bug_share=0.5), True),
        (scenario(TWO.with_columns(partition=["a", "b"], gpu_types=["", ""])), True),
        (scenario(TWO, restart_s=1.0), True),
        (scenario(TWO, horizon_s=5.0), True),
        (scenario(TWO, cancel_share=1.0), True),
        (scenario(TWO.with_columns(gpus_per_worker=[0.5, 1.0])), True),
        (scenario(TWO.with_columns(gpu_types=["GPU", ""])), True),
        (scenario(TWO.with_columns(cpus_per_worker=[1.0, 1.0])), True),
        (scenario(TWO.with_columns(cpus_per_worker=[1.0, 1.0]), nodes(cpus=64.0)), True),
        (scenario(TWO.with_columns(mem_gib_per_worker=[1.0, 1.0]), nodes(mem_gib=64.0)), True),
        (scenario(TWO, nodes(2, absences=[Absence(node=0, start_s=5.0)])), True),
        (scenario(TWO, Cluster(slots=2, catalogue=(VmType(name="vm"),))), False),
        (scenario(TWO, Cluster(pools=(Pool(vm=VmType(name="a"), count=1, features="f"),) * 2)), True),
        (scenario(TWO.with_columns(features=["f", ""])), True),
        (
            scenario(
                TWO.with_columns(features=["f", ""]),
                Cluster(pools=(Pool(vm=VmType(name="a"), count=1, features="f"),) * 2),
            ),
            True,
        ),
        (
            scenario(TWO, Cluster(pools=tuple(Pool(vm=VmType(name="a"), count=1, partition=p) for p in ("", "p")))),
            True,
        ),
        (
            scenario(
                TWO,
                Cluster(pools=(Pool(vm=VmType(name="a"), count=1), Pool(vm=VmType(name="b", speed=2.0), count=1))),
            ),
            True,
        ),
    ],
)
def test_eligible(given: Scenario, runs: bool):
    fitting = prepare(given.replace(options=given.options.model_copy(update={"oversize": "drop"})))
    for key in ("srtf", "fifo"):
        assert kernels.eligible(fitting, find(key).build(find(key).parse(None))) is runs, key


@pytest.mark.parametrize(("placement", "runs"), [("pool", False), ("pack", True), ("best-fit", True)])
def test_conservative_runs_in_a_pool_where_one_total_counts(placement: str, runs: bool):
    policy = find("conservative").build(find("conservative").parse(None))
    of_two_kinds = TWO.with_columns(gpus_per_worker=[0.5, 1.0])
    assert kernels.eligible(prepare(scenario(TWO, placement=placement)), policy)
    assert kernels.eligible(prepare(scenario(of_two_kinds, placement=placement)), policy) is runs


def test_policies_without_a_kernel_rule_are_not_for_the_kernel():
    assert not kernels.eligible(prepare(scenario(TWO)), find("dorm").build(find("dorm").parse(None)))


def test_node_speed_counts():
    log = run("fifo", prepare(scenario(TWO, nodes(speed=2.0))))
    assert list(log.job_end_s) == [5, 10]
    assert list(log.piece_rate) == [2, 2]


@pytest.mark.parametrize("key", ["fifo", "sjf", "srtf", "las", "easy-backfill"])
def test_bites_make_no_difference(key: str, monkeypatch: pytest.MonkeyPatch):
    prepared = prepare(Scenario(full_workload(), fixed_nodes(8, 8, 4)))
    whole = run(key, prepared)
    monkeypatch.setattr(preemptive, "INSTANTS_A_CALL", 3)
    monkeypatch.setattr(rigid, "INSTANTS_A_CALL", 3)
    assert first_difference(whole, run(key, prepared)) == ""


@pytest.mark.parametrize("key", ["srtf", "las"])
def test_a_log_that_gets_full_grows(key: str, monkeypatch: pytest.MonkeyPatch):
    prepared = prepare(Scenario(full_workload(), fixed_nodes(8, 8, 4)))
    whole = run(key, prepared)

    def short_of_room(*given: Any) -> Any:
        begun = new_run(*given)
        return begun._replace(**{n: getattr(begun, n)[:1] for n in ("pieces", "shares", "decisions", "waits")})

    monkeypatch.setattr(preemptive, "new_run", short_of_room)
    assert first_difference(whole, run(key, prepared)) == ""


@pytest.mark.parametrize("key", ["fifo", "sjf", "easy-backfill"])
def test_the_reasons_of_waits_grow(key: str, monkeypatch: pytest.MonkeyPatch):
    prepared = prepare(Scenario(full_workload(), fixed_nodes(8, 8, 4)))
    whole = run(key, prepared)
    begun = rigid.new_run
    monkeypatch.setattr(rigid, "new_run", lambda *given: (new := begun(*given))._replace(waits=new.waits[:1]))
    assert first_difference(whole, run(key, prepared)) == ""


def test_progress_is_told_and_can_stop_the_run(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rigid, "INSTANTS_A_CALL", 5)
    prepared = prepare(Scenario(full_workload(), fixed_nodes(8, 8, 4)))
    told: list[float] = []

    def note(share: float, text: str) -> None:
        told.append(share)

    run("fifo", prepared, note)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert len(told) > 3

    def stop(share: float, text: str) -> None:
        if share > 0.2:
            raise Cancelled

    with pytest.raises(Cancelled):
        run("fifo", prepared, stop)


def test_numba_is_loaded_only_for_a_run():
    code = "import dlsched.sim.kernels, dlsched.policies.registry, sys; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[4], check=False).returncode == 0


# ---- public references -----------------------------------------------------------------------------------


def philly(folder: Path, name: str, num_nodes: int, placement: str, copies: int = 1) -> Prepared:
    """Return a Philly trace on nodes of 8 GPUs; copies follow each other, a quiet month apart."""
    table = pd.read_csv(folder / "philly" / f"philly_{name}.csv")
    span_s = float(table.submit_time_s.max()) + 30 * 86_400
    columns = {
        "submit_s": np.concatenate([table.submit_time_s + copy * span_s for copy in range(copies)]),
        "work": np.tile(table.duration_s, copies),
        "workers": np.tile(table.num_gpus, copies),
    }
    columns["job_id"] = np.arange(len(columns["work"])).astype(str)
    workload = Workload.from_columns(columns)
    return prepare(Scenario(workload, nodes(num_nodes), SimulationRules(placement=placement)))


@pytest.mark.parametrize(
    ("name", "key", "mean_jct_s", "makespan_s"),
    [
        ("0e4a51", "fifo", 668001.460, 4643158),
        ("0e4a51", "fifo-skip", 536274.225, 4643158),
        ("6c71a0", "fifo", 91644.918, 6451695),
    ],
)
def test_public_references(shared_data: Path, name: str, key: str, mean_jct_s: float, makespan_s: float):
    prepared = philly(shared_data, name, 8, "pool")
    log = run(key, prepared)
    assert (log.job_end_s - prepared.scenario.workload.submit_s).mean() == pytest.approx(mean_jct_s, abs=5e-4)
    assert log.job_end_s.max() - log.start_s == makespan_s
