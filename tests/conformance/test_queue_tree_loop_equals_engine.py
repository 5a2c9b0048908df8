"""The compiled loop under quotas writes the engine's log and journal, in which the plain rules decide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.journal import Told
from dlsched.domain.queue_tree import QueueTree
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.workload import Workload
from dlsched.policies.queue_tree.fast_cycle import FastCycles
from dlsched.policies.registry import find
from dlsched.sim import kernels
from dlsched.sim.kernels import run_kernel
from dlsched.sim.log import JobStatus, PieceEnd, RunLog
from dlsched.sim.prepare import prepare
from dlsched.testing.logs import first_difference
from tests.support.conformance_scenarios import built, engine_log
from tests.support.quota_scenarios import queues, quota_scenario
from tests.unit.policies.queue_tree.test_fast_cycle import STRATEGIES

SPEC = find("queue-tree")
QUEUES = 6


def eligible(scenario: Scenario) -> bool:
    prepared = prepare(scenario)
    return kernels.eligible(prepared, built(SPEC, prepared))


def check_equal(scenario: Scenario) -> RunLog:
    prepared = prepare(scenario)
    policy = built(SPEC, prepared)
    assert kernels.eligible(prepared, policy)
    assert policy.kernel_rule is not None
    by_loop, by_engine = run_kernel(prepared, policy.kernel_rule), engine_log(SPEC, prepared)
    assert first_difference(by_engine, by_loop) == ""
    assert by_loop.journal == by_engine.journal
    assert (by_loop.stalled, by_loop.start_s, by_loop.end_s) == (by_engine.stalled, by_engine.start_s, by_engine.end_s)
    return by_loop


def random_scenario(seed: int, jobs: int = 80) -> Scenario:
    """Return jobs of all widths in a random tree of cohorts up to three deep, with restarts and lost work."""
    rng = np.random.default_rng(seed)

    def quota(most: int) -> list[dict[str, Any]]:
        borrow, lend = ((None, None, 0, 4, 16)[number] for number in rng.integers(0, 5, 2))
        return [{"nominal": int(rng.integers(0, most)), "borrow": borrow, "lend": lend}]

    def queue() -> dict[str, Any]:
        return {
            "parent": (None, "top", "c0", "c1", "c2", "c2")[rng.integers(6)],
            "weight": float(rng.choice([0, 1, 1, 2, 0.3])),
            "strategy": str(rng.choice(["best-effort", "best-effort", "strict"])),
            "within": str(rng.choice(["never", "lower", "lower-or-newer-equal"])),
            "reclaim": str(rng.choice(["never", "lower", "any"])),
            "while_borrowing": str(rng.choice(["never", "lower"])),
            "while_borrowing_below": (None, None, 0, 1)[rng.integers(4)],
            "quota": quota(12),
        }

    above = {"c0": "top", "c1": "top", "c2": "c1"}
    cohorts = {
        name: {"parent": parent, "weight": float(rng.integers(3)), "quota": quota(6) if rng.random() < 0.4 else []}
        for name, parent in above.items()
    }
    tree = QueueTree.model_validate(
        {
            "cohorts": cohorts, "tree": {f"q{number}": queue() for number in range(QUEUES)},
            "stop_s": (0, 30)[seed % 2], "fair_sharing": seed % 4 > 1, "strategies": STRATEGIES[seed % 3],
            "retarget": bool(rng.integers(2)), "preemptor_first": bool(rng.integers(2)),
            "priority_between_queues": bool(rng.random() < 0.7),
            "eviction_loses": str(rng.choice(["checkpoint", "all", "nothing"])),
        }
    )  # fmt: skip
    workload = Workload.from_columns(
        {
            "job_id": [f"j{number}" for number in range(jobs)],
            "submit_s": np.sort(rng.integers(0, 80 * jobs, jobs)).astype(float),
            "work": rng.integers(50, 4000, jobs).astype(float),
            "workers": rng.choice([1, 2, 4, 8, 12], jobs),
            "gpus_per_worker": rng.choice([1.0, 1.0, 0.5], jobs) if seed % 7 == 0 else None,
            "group": rng.choice([f"q{number}" for number in range(QUEUES)], jobs),
            "priority": rng.integers(0, 3, jobs).astype(float),
            "gpu_types": rng.choice(["", "", "A100", "H100"], jobs),
        }
    )
    types = VmType(name="A100", gpu_type="A100", gpus=4), VmType(name="H100", gpu_type="H100", gpus=4, speed=2.0)
    options = SimulationRules(
        placement=("pack", "best-fit", "pool", "spread")[seed // 4 % 4],
        checkpoint_s=float(rng.choice([0, 300])),
        restart_s=float(rng.choice([0, 20])),
        horizon_s=3000.0 if seed % 9 == 0 else None,
        oversize="drop",
    )
    return Scenario(workload, Cluster(pools=tuple(Pool(vm=vm, count=4) for vm in types)), options, queues=tree)


@pytest.mark.parametrize("seed", range(32))
def test_random_runs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = random_scenario(seed)
    if seed % 2:  # against compiled cycles in the engine, and against plain ones
        monkeypatch.setattr("dlsched.policies.queue_tree.admission.can_be_fast", lambda spec, tree: False)
    check_equal(scenario)


def test_the_random_runs_come_to_all_that_can_happen() -> None:
    logs = [check_equal(random_scenario(seed)) for seed in range(0, 32, 3)]
    status = {JobStatus(int(code)) for log in logs for code in log.job_status}
    assert status == {JobStatus.COMPLETED, JobStatus.REJECTED, JobStatus.UNFINISHED}
    ends = {PieceEnd(int(code)) for log in logs for code in log.piece_end}
    assert ends == {PieceEnd.COMPLETED, PieceEnd.PREEMPTED, PieceEnd.RUN_ENDED}
    reasons = {entry.reason for log in logs for _, entry in log.journal if isinstance(entry, Told)}
    assert reasons == {"in-queue", "reclaim", "reclaim-while-borrowing", "fair-share"}
    assert max(np.bincount(log.piece_row).max() for log in logs) > 3


def test_a_queue_of_thousands() -> None:
    scenario = random_scenario(6, jobs=1500)
    jobs = scenario.workload.with_columns(submit_s=scenario.workload.submit_s / 20, gpu_types=None)
    log = check_equal(scenario.replace(workload=jobs))
    assert len(log.piece_row) > 1000


def test_jobs_for_which_there_are_no_nodes_wait_and_the_run_ends() -> None:
    tree = queues({"a": 4.0})
    log = check_equal(quota_scenario([("x", "a", 0.0, 1, 9.0, 0.0), ("y", "a", 1.0, 1, 9.0, 0.0)], tree, nodes=1))
    assert log.job_end_s.tolist() == [9.0, 18.0]


def test_eligible() -> None:
    plain = random_scenario(1)
    assert eligible(plain)
    assert not eligible(_with_rules(plain, rule="kai"))
    assert not eligible(_with_rules(plain, nodes="after-quota"))
    assert not eligible(_with_rules(plain, changes=[{"at_s": 40.0, "set": {"q1.all.gpus.nominal": 9}}]))
    away = plain.cluster.model_copy(update={"absences": (Absence(node=1, start_s=5.0, end_s=9.0, cause="fails"),)})
    assert not eligible(plain.replace(cluster=away))
    assert not eligible(plain.replace(options=plain.options.model_copy(update={"cancel_share": 0.5})))
    fewer = plain.workload.with_columns(min_workers=np.ones(80, dtype=np.int64))
    assert not eligible(plain.replace(workload=fewer))
    assert not eligible(plain.replace(workload=plain.workload.with_columns(group=np.full(80, "nobody's"))))
    refused = plain.options.model_copy(update={"oversize": "refuse"})
    narrow = plain.workload.workers <= 1
    assert not eligible(plain.replace(options=refused))
    on_q = plain.workload.select(narrow & (plain.workload.group == "q1"))
    one = QueueTree.model_validate({"tree": {"q1": {"quota": [{"nominal": 1}]}}})
    assert eligible(plain.replace(options=refused, workload=on_q, queues=one))
    two = QueueTree.model_validate({"unmapped": "q", "tree": {"q": {"quota": [{"flavor": "A100", "nominal": 4}]}}})
    assert not eligible(plain.replace(queues=two))
    assert not FastCycles.can_answer(_tree_by_usage())


def _with_rules(scenario: Scenario, **rules: Any) -> Scenario:
    assert scenario.queues is not None
    return scenario.replace(queues=QueueTree.model_validate(scenario.queues.model_dump() | rules))


def _tree_by_usage() -> Any:
    from dlsched.policies.queue_tree.tree import Tree

    return Tree.of(QueueTree.model_validate({"tree": {"q": {"order": "usage", "quota": [{"nominal": 4}]}}}))


@pytest.mark.parametrize("jobs", [1, 2, 3, 5])
def test_few_jobs_that_come_long_after_each_other_find_room_in_the_log(jobs: int) -> None:
    rows = [(f"job {number}", "vision", 600 + 1e5 * number, 1, 10.0 * 10**number, 0.0) for number in range(jobs)]
    check_equal(quota_scenario(rows, queues({"vision": 1.0}, stop_s=30)))
