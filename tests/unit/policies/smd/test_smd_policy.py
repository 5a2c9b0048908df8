"""SMD, ESW and Optimus in the simulator, by hand: who gets in when, with what, what it blocks, and what is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dlsched.domain.cluster import Absence, Cluster
from dlsched.domain.plan import WaitReason
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import CPU, GPU, Workload
from dlsched.policies.registry import find
from dlsched.sim.audit import audit
from dlsched.sim.engine import run_engine
from dlsched.sim.log import JobStatus, RunLog
from dlsched.sim.prepare import prepare
from tests.support.server_scenarios import machines, training, with_servers

A, B, C = range(3)
KEYS = ("smd", "esw", "optimus")
every = pytest.mark.parametrize("key", KEYS)


def jobs(*rows: tuple[float, float], **columns: Any) -> Workload:
    """Return jobs (submit_s, steps) whose step takes 6 / w + 1 + w s: 6 s with 2 workers, and with 3.

    A worker holds 1 GPU and 2 CPUs, a server 1 CPU. Limit 5 GPUs; worth 1, 10, 100 and hardly less for being late.
    """
    count = len(rows)
    given = {
        "transfer_s": [0.0] * count, "worker_overhead_s": [1.0] * count, "limit_gpus": [5.0] * count,
        "utility_1": [10.0**row for row in range(count)], "utility_2": [1.0] * count, "utility_3": [10.0] * count,
    }  # fmt: skip
    return training(*[(submit_s, steps, 1, 1) for submit_s, steps in rows], **(given | columns))


def on_a_pool(workload: Workload, cluster: Cluster | None = None, **options: Any) -> Scenario:
    return with_servers(workload, cluster, placement="pool", **options)


def run(key: str, given: Scenario, **params: Any) -> RunLog:
    prepared, spec = prepare(given), find(key)
    log = run_engine(prepared, spec.build(spec.parse({"interval_s": 100.0} | params)))
    assert audit(prepared.scenario, prepared.truth, log) == []
    return log


def gangs(log: RunLog, row: int) -> list[tuple[float, float, int, int]]:
    """Return (start_s, end_s, workers, servers) of a row's pieces."""
    mine = log.piece_row == row
    columns = (log.piece_start_s, log.piece_end_s, log.piece_workers, log.piece_servers)
    return list(zip(*[np.round(column[mine], 6).tolist() for column in columns], strict=True))


def told(log: RunLog, row: int) -> list[tuple[float, WaitReason]]:
    mine = log.wait_row == row
    return [(at, WaitReason(code)) for at, code in zip(log.wait_from_s[mine], log.wait_reason[mine], strict=True)]


# ---- who gets in -------------------------------------------------------------------------------------------------


def test_what_is_worth_more_gets_in_and_blocks_its_limit():
    log = run("smd", on_a_pool(jobs((0, 10), (0, 10))))
    # both would fit what they use (2 GPUs of 8), but not their limits (5): B is worth more, A is carried over
    assert gangs(log, B) == [(0, 60, 2, 1)]
    assert gangs(log, A) == [(100, 160, 2, 1)]
    assert log.piece_blocked[:, GPU].tolist() == [3, 3]
    assert log.piece_blocked[:, CPU].tolist() == [0, 0]  # no limit: only what it uses
    assert told(log, A) == [(0, WaitReason.NOT_ADMITTED)]
    assert log.decision_note.tolist() == ["1 of 2 admitted", "1 of 1 admitted"]
    assert log.decision_status.tolist() == ["optimal", "optimal"]
    assert log.decision_objective[0] == pytest.approx(10 / (1 + np.exp(60 / 3600 - 10)))
    assert log.decision_bound[0] == pytest.approx(log.decision_objective[0])


@pytest.mark.parametrize(("key", "gang", "length_s"), [("esw", (5, 5), 72.0), ("optimus", (2, 1), 60.0)])
def test_rivals_admit_in_order_of_submission(key: str, gang: tuple[int, int], length_s: float):
    log = run(key, on_a_pool(jobs((0, 10), (0, 10), (10, 10), limit_gpus=[5.0, 5.0, 1.0])))
    assert gangs(log, A) == [(0, length_s, *gang)]  # ESW: as many servers as workers, 6 / 5 + 1 + 5 s
    assert gangs(log, B) == [(100, 100 + length_s, *gang)]
    assert gangs(log, C) == [(100, 180, 1, 1)]  # submitted between two intervals: looked at in the next
    assert told(log, B) == [(0, WaitReason.NO_ROOM)]
    assert set(log.decision_status) == {""}


def test_first_come_stops_at_the_first_that_does_not_fit():
    log = run("optimus", on_a_pool(jobs((0, 10), (0, 10), (0, 10), limit_gpus=[5.0, 5.0, 1.0])))
    assert gangs(log, C) == [(100, 180, 1, 1)]  # its limit would have fitted at 0 s
    assert told(log, C) == [(0, WaitReason.BEHIND)]


@every
def test_every_policy_can_admit_either_way(key: str):
    given = on_a_pool(jobs((0, 10), (0, 10)))
    starts = {how: run(key, given, admission=how).piece_row.tolist() for how in ("knapsack", "first-come")}
    assert starts == {"knapsack": [B, A], "first-come": [A, B]}
    assert run(key, given, admission="knapsack", knapsack="frieze-clarke").piece_row.tolist() == [B, A]


def test_partitions_queue_apart():
    vm = machines().pools[0]
    pools = tuple(vm.model_copy(update={"partition": name}) for name in ("", "own"))
    columns = {"partition": ["own", "own", ""], "limit_gpus": [8.0, 8.0, 2.0]}
    log = run("optimus", on_a_pool(jobs((0, 10), (0, 10), (0, 10), **columns), Cluster(pools=pools)))
    assert [gangs(log, row)[0][0] for row in (A, B, C)] == [0, 100, 0]


# ---- carried over, rejected --------------------------------------------------------------------------------------


def long_before(keep_share: float, **columns: Any) -> RunLog:
    """B holds the pool for 180 s; A is worth half of its utility after 1 min, and 0.25% of that if started at 100 s."""
    given = jobs((0, 10), (0, 30), **({"utility_2": [4.0, 1.0], "utility_3": [1.0, 10.0]} | columns))
    return run("smd", on_a_pool(given, utility_unit_s=60.0), keep_share=keep_share)


def test_who_has_lost_nearly_all_its_worth_is_rejected():
    log = long_before(0.01)
    assert log.job_status[A] == JobStatus.REJECTED
    assert log.job_end_s[A] == 100  # not at 0 s: then starting would still have been worth all
    assert "0 of 1 admitted, 1 rejected" in log.decision_note.tolist()


def test_the_share_that_keeps_a_job_waiting():
    log = long_before(0.002)
    assert gangs(log, A) == [(200, 260, 2, 1)]


def test_who_has_no_utility_function_waits_and_takes_what_is_left():
    log = long_before(1.0, utility_1=[np.nan, 10.0])
    assert gangs(log, A) == [(200, 260, 2, 1)]


def test_who_is_worth_nothing_is_rejected_even_with_all_the_time():
    given = jobs((0, 10), (0, 10), utility_2=[1.0, 4000.0], utility_3=[10.0, 0.001], limit_gpus=[8.0, 8.0])
    log = run("smd", on_a_pool(given, utility_unit_s=1.0), keep_share=0.0)
    assert log.job_status.tolist() == [JobStatus.COMPLETED, JobStatus.REJECTED]


@every
def test_who_can_never_run_within_its_limit_is_rejected(key: str):
    log = run(key, on_a_pool(jobs((0, 10), (0, 10), limit_gpus=[0.5, 5.0])))
    assert log.job_status.tolist() == [JobStatus.REJECTED, JobStatus.COMPLETED]
    assert gangs(log, B)[0][0] == 0  # the other is not behind it
    assert log.decision_note[0] == "1 of 2 admitted, 1 rejected"


# ---- limits, nodes -----------------------------------------------------------------------------------------------


def test_a_limit_above_the_cluster_counts_as_all_of_it():
    log = run("smd", on_a_pool(jobs((0, 10), (0, 10), limit_gpus=[1.0, 100.0])))
    assert gangs(log, B)[0][0] == 0
    assert log.piece_blocked[0, GPU] == 8 - 2
    assert gangs(log, A)[0][0] == 100


@every
def test_a_node_that_fails_sends_its_jobs_to_the_next_interval(key: str):
    cluster = machines().model_copy(update={"absences": (Absence(node=0, start_s=30.0, end_s=50.0),)})
    log = run(key, on_a_pool(jobs((0, 10)), cluster))
    step_s = 7.2 if key == "esw" else 6.0
    (_, stop_s, *_), (start_s, end_s, *_) = gangs(log, A)
    assert (stop_s, start_s) == (30, 100)
    assert end_s == pytest.approx(100 + 10 * step_s - 30)


def test_nobody_is_admitted_while_running_jobs_block_more_than_is_left():
    cluster = machines(2).model_copy(update={"absences": (Absence(node=1, start_s=10.0, end_s=400.0),)})
    columns = {"limit_gpus": [12.0, 1.0, np.nan], "gpus_per_worker": [1.0, 1.0, 0.0]}
    log = run("smd", on_a_pool(jobs((0, 30), (20, 10), (20, 10), **columns), cluster))
    # A blocks 12 GPUs, uses 2 of the 8 that are left, and runs until 180 s; C asks for none, and waits with B
    assert [gangs(log, row)[0][0] for row in (A, B, C)] == [0, 200, 200]
    assert told(log, C)[-1] == (100, WaitReason.NO_ROOM)


def test_while_the_only_nodes_are_away_jobs_wait_for_them():
    cluster = machines().model_copy(update={"absences": (Absence(node=0, start_s=0.0, end_s=150.0),)})
    log = run("smd", on_a_pool(jobs((0, 10)), cluster))
    assert told(log, A) == [(0, WaitReason.NO_NODE)]
    assert gangs(log, A) == [(200, 260, 2, 1)]


def test_widths_of_the_job_are_kept():
    columns = {"workers": [4], "servers": [1], "min_workers": [4], "max_workers": [6], "workers_per_server": [3.0]}
    for key, gang in (("smd", (4, 2)), ("optimus", (4, 2)), ("esw", (5, 5))):
        given = jobs((0, 10)).with_columns(**columns)
        assert gangs(run(key, on_a_pool(given)), A)[0][2:] == gang, key


def split_over_nodes(*rows: tuple[float, float], **columns: Any) -> Scenario:
    """Two nodes of 7 CPUs; a worker holds 3, a server 2; a step takes 6 / w + w / p s.

    Best with 14 CPUs together: 2 workers and 4 servers; the first node holds both workers, the second 3 servers.
    """
    count = len(rows)
    asks = {"gpus_per_worker": [0.0], "cpus_per_worker": [3.0], "cpus_per_server": [2.0], "limit_gpus": [np.nan],
            "step_s": [0.0], "transfer_s": [1.0], "worker_overhead_s": [0.0]}  # fmt: skip
    spread = {name: values * count for name, values in asks.items()}
    return on_a_pool(jobs(*rows, **(spread | columns)), machines(2, gpus=0, cpus=7.0))


def test_where_the_nodes_never_hold_what_the_pool_could_a_smaller_gang_starts():
    log = run("smd", split_over_nodes((0, 30)))
    assert gangs(log, A) == [(0, 110, 2, 3)]  # 30 steps of 3 + 2 / 3 s


@pytest.mark.parametrize("admission", ["knapsack", "first-come"])
def test_while_others_run_it_waits_for_nodes(admission: str):
    columns = {"cpus_per_server": [2.0, 5.0, 2.0], "limit_cpus": [5.0, 8.0, 5.0], "utility_1": [3.0, 2.0, 1.0]}
    log = run("smd", split_over_nodes((0, 30), (0, 30), (0, 30), **columns), admission=admission)
    # A takes 5 of the first node. B needs 3 and 5 of the 2 and 7 that are left: 9 together, but on no two nodes.
    assert gangs(log, A) == [(0, 210, 1, 1)]
    assert gangs(log, B)[0][:2] == (300, 510)
    assert told(log, B)[0] == (0, WaitReason.SPLIT)
    # C would fit: the knapsack is filled again for what is left, in order of submission C is behind B
    assert gangs(log, C)[0][0] == {"knapsack": 0, "first-come": 300}[admission]
    assert log.decision_status[0] == {"knapsack": "feasible", "first-come": ""}[admission]


# ---- what is believed --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("updates", ["sync", "async"])
@pytest.mark.parametrize("restart_s", [0.0, 30.0])
def test_the_objective_is_what_the_admitted_are_worth_in_the_end(updates: str, restart_s: float):
    columns = {"server_overhead_s": [0.5] * 3, "transfer_s": [1.0] * 3, "utility_2": [0.1] * 3}
    given = on_a_pool(jobs((0, 10), (0, 20), (0, 30), **columns), restart_s=restart_s, utility_unit_s=10.0)
    given = given.replace(speed=given.speed.model_copy(update={"updates": updates}))
    log = run("smd", given)
    at_once = log.piece_row[log.piece_start_s == 0]
    late = 0.1 * (log.job_end_s[at_once] / 10 - 10)
    assert log.decision_objective[0] == pytest.approx((10.0**at_once / (1 + np.exp(late))).sum(), rel=1e-9)


def test_the_slowest_node_that_is_up_says_how_fast_a_job_is():
    pools = machines().pools
    fast = pools[0].model_copy(update={"vm": pools[0].vm.model_copy(update={"name": "fast", "speed": 2.0})})
    for cluster, step_s in ((Cluster(pools=(fast,)), 3.0), (Cluster(pools=(*pools, fast)), 6.0)):
        log = run("smd", on_a_pool(jobs((0, 10)), cluster, utility_unit_s=1.0))
        assert log.decision_objective[0] == pytest.approx(1 / (1 + np.exp(10 * step_s - 10)))


def test_random_rounding_follows_the_seed():
    given = on_a_pool(jobs((0, 10), (0, 10)))
    logs = [run("smd", given, inner="algorithm-1", epsilon=0.2, draws=3) for _ in range(2)]
    assert gangs(logs[0], A) == gangs(logs[1], A)
    assert gangs(logs[0], B)[0][2] in (2, 3)  # both take 6 s a step


def test_a_unit_of_time_in_which_nothing_is_worth_anything_is_told():
    spec = find("smd")
    seconds, hours = (on_a_pool(jobs((0, 1000)), utility_unit_s=unit_s) for unit_s in (1.0, 3600.0))
    assert "longer time unit" in spec.remark_on({}, seconds)
    assert spec.remark_on({}, hours) == ""


def test_where_the_distance_of_optimus_comes_from_is_told():
    given, spec = on_a_pool(jobs((0, 10))), find("optimus")
    assert "within 0.5% of SMD" in spec.remark_on({}, given)
    assert spec.remark_on({"admission": "knapsack"}, given) == ""
