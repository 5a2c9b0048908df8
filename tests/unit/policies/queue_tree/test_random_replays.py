"""Replays of random jobs under random quotas: each ends and is clean, whatever the rules; identities of the rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.queue_tree import QueueTree
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.workload import Workload
from dlsched.sim.log import JobStatus
from dlsched.studies.design import changed
from dlsched.studies.simulation import simulate
from dlsched.testing.logs import first_difference
from tests.support.quota_scenarios import run, stops

QUEUES = 6
NODES = 8


def random_jobs(seed: int, count: int = 250) -> Workload:
    rng = np.random.default_rng(seed)
    return Workload.from_columns(
        {
            "job_id": [f"j{n}" for n in range(count)],
            "submit_s": np.sort(rng.integers(0, 20_000, count)).astype(float),
            "work": rng.integers(50, 4000, count).astype(float),
            "workers": rng.choice([1, 2, 4, 8, 12], count),
            "group": rng.choice([f"q{n}" for n in range(QUEUES)], count),
            "user": rng.choice(["ann", "bob", "cai"], count),
            "priority": rng.integers(0, 3, count).astype(float),
            "gpu_types": rng.choice(["", "", "A100", "H100"], count),
        }
    )


def random_tree(seed: int, **rules: Any) -> QueueTree:
    """Return six queues in three cohorts under one, with two flavors and rules of all kinds."""
    rng = np.random.default_rng(seed + 1000)

    def quota(flavor: str) -> dict[str, Any]:
        borrow, lend = ((None, 4, 16)[number] for number in rng.integers(0, 3, 2))
        return {"flavor": flavor, "nominal": int(rng.integers(2, 9)), "borrow": borrow, "lend": lend}

    def queue(number: int) -> dict[str, Any]:
        return {
            "parent": f"c{number % 3}",
            "weight": float(rng.choice([0, 1, 1, 2])),
            "strategy": str(rng.choice(["best-effort", "best-effort", "strict"])),
            "within": str(rng.choice(["never", "lower", "lower-or-newer-equal"])),
            "reclaim": str(rng.choice(["never", "lower", "any"])),
            "while_borrowing": str(rng.choice(["never", "lower"])),
            "when_can_borrow": str(rng.choice(["stop", "next"])),
            "when_can_preempt": str(rng.choice(["stop", "next"])),
            "preference": str(rng.choice(["borrow", "preempt"])),
            "order": str(rng.choice(["priority", "priority", "usage"])),
            "quota": [quota("A100"), quota("H100")],
        }

    cohorts = {f"c{n}": {"parent": "company"} for n in range(3)}
    return QueueTree.model_validate({"cohorts": cohorts, "tree": {f"q{n}": queue(n) for n in range(QUEUES)}, **rules})


def random_scenario(seed: int, **rules: Any) -> Scenario:
    pools = tuple(Pool(vm=VmType(name=name, gpu_type=name, gpus=4), count=NODES // 2) for name in ("A100", "H100"))
    absences = (
        Absence(node=1, start_s=5000.0, end_s=9000.0, cause="fails"),
        Absence(node=6, start_s=8000.0, end_s=12_000.0, cause="maintenance"),
    )
    options = SimulationRules(placement="pack", checkpoint_s=300.0, restart_s=20.0, oversize="drop", cancel_share=0.05)
    return Scenario(
        random_jobs(seed), Cluster(pools=pools, absences=absences), options, queues=random_tree(seed, **rules)
    )


@pytest.mark.slow
@pytest.mark.parametrize("stop_s", [0, 30])
@pytest.mark.parametrize("fair_sharing", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_random_replays_end_and_are_clean(seed: int, fair_sharing: bool, stop_s: float) -> None:
    done = run(random_scenario(seed, fair_sharing=fair_sharing, stop_s=stop_s))
    assert not done.log.stalled
    assert JobStatus.UNFINISHED not in done.log.job_status


@pytest.mark.parametrize("fair_sharing", [False, True])
def test_the_same_run_twice_is_the_same(fair_sharing: bool) -> None:
    one, other = (run(random_scenario(2, fair_sharing=fair_sharing)) for _ in range(2))
    assert first_difference(one.log, other.log) == ""
    assert one.log.journal == other.log.journal


@pytest.mark.parametrize("seed", range(3))
def test_quota_first_and_nodes_after(seed: int) -> None:
    done = run(random_scenario(seed, nodes="after-quota", ready_timeout_s=600.0))
    assert not done.log.stalled
    assert JobStatus.UNFINISHED not in done.log.job_status


def test_the_rules_do_something() -> None:
    reasons = {
        one[3]
        for seed in range(6)
        for fair in (False, True)
        for one in stops(run(random_scenario(seed, fair_sharing=fair)))
    }
    assert reasons == {"in-queue", "reclaim", "reclaim-while-borrowing", "fair-share"}


@pytest.mark.parametrize("seed", range(3))
def test_where_no_queue_may_stop_jobs_none_is_stopped(seed: int) -> None:
    never = {"reclaim.*": "never", "within.*": "never"}
    done = run(changed(random_scenario(seed), never))
    assert stops(done) == []


def test_one_queue_with_the_quota_of_the_cluster_is_the_policy_priority() -> None:
    jobs = random_jobs(3).with_columns(gpu_types=None)
    cluster = Cluster(pools=(Pool(vm=VmType(name="vm", gpus=4), count=NODES),))
    quota = {"strategy": "strict", "quota": [{"nominal": 4 * NODES}]}
    tree = QueueTree.model_validate({"unmapped": "all", "tree": {"all": quota}})
    for placement in ("pool", "best-fit", "pack"):
        base = Scenario(jobs, cluster, SimulationRules(placement=placement), queues=tree)
        ours, plain = run(base), simulate(base, "priority")
        assert np.array_equal(ours.log.job_first_start_s, plain.log.job_first_start_s)
        assert np.array_equal(ours.log.share_node, plain.log.share_node)


def test_without_borrowing_each_queue_is_a_cluster_of_its_own() -> None:
    jobs = random_jobs(4).with_columns(gpu_types=None)
    each = {
        f"q{n}": {"parent": "all", "reclaim": "any", "within": "lower", "quota": [{"nominal": 12}]}
        for n in range(QUEUES)
    }
    tree = QueueTree.model_validate({"stop_s": 0, "tree": each})
    cluster = Cluster(pools=(Pool(vm=VmType(name="vm", gpus=12), count=QUEUES),))
    options = SimulationRules(placement="pool", checkpoint_s=60.0)
    together = run(changed(Scenario(jobs, cluster, options, queues=tree), {"borrowing": "off"}))
    for name in each:
        mine = np.flatnonzero(jobs.group == name)
        alone = run(Scenario(jobs.select(mine), cluster, options, queues=tree))
        apart = changed(Scenario(jobs.select(mine), cluster, options, queues=tree), {"borrowing": "off"})
        assert np.array_equal(run(apart).log.job_end_s, together.log.job_end_s[mine])
        assert alone.log.job_end_s.max() <= together.log.job_end_s[mine].max()


def test_scenarios_without_queues_are_refused_and_others_ignore_them() -> None:
    base = random_scenario(1)
    plain = simulate(base.replace(queues=None), "fifo")
    assert first_difference(plain.log, simulate(base, "fifo").log) == ""
    assert plain.log.journal == ()


@pytest.mark.parametrize("stop_s", [0, 30])
def test_random_replays_under_the_rules_of_kai(stop_s: float) -> None:
    base = random_scenario(2, rule="kai", stop_s=stop_s)
    done = run(base.replace(workload=base.workload.head(80)))
    assert not done.log.stalled
    assert JobStatus.UNFINISHED not in done.log.job_status
