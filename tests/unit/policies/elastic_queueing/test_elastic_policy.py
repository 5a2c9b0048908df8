"""Elastic policies on small clusters, by hand: widths, nodes, order, and what jobs are told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.plan import WaitReason
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.workload import Workload
from dlsched.policies.registry import find
from dlsched.sim.audit import audit
from dlsched.sim.engine import run_engine
from dlsched.sim.log import JobStatus, RunLog
from dlsched.sim.prepare import prepare
from dlsched.testing.scenarios import free_slots
from tests.support.elastic_scenarios import one_gpu_nodes, table_speed
from tests.support.sim_fakes import jobs, nodes, pieces

A, B, C, D = range(4)
LINEAR = SpeedSpec(kind="scaling", efficiency=1.0)
"""Twice the workers, twice the speed, up to four times the request."""


def run(key: str, given: Scenario, **params: Any) -> RunLog:
    prepared, spec = prepare(given), find(key)
    log = run_engine(prepared, spec.build(spec.parse(params)))
    assert audit(prepared.scenario, prepared.truth, log) == []
    return log


def scenario(workload: Workload, cluster: Cluster, speed: SpeedSpec = LINEAR, **options: Any) -> Scenario:
    return Scenario(workload, cluster, SimulationRules(**options), speed)


def widths(log: RunLog, row: int) -> list[tuple[Any, ...]]:
    """Return (start_s, end_s, workers) of a row's pieces."""
    return [piece[:3] for piece in pieces(log, row)]


def used(log: RunLog, row: int) -> list[list[int]]:
    """Return the nodes of a row's pieces."""
    mine = np.flatnonzero(log.piece_row == row).tolist()
    return [log.share_node[log.share_first[p] : log.share_first[p + 1]].tolist() for p in mine]


def told(log: RunLog, row: int) -> list[tuple[float, WaitReason]]:
    """Return since when a row was told what."""
    mine = log.wait_row == row
    return [(at_s, WaitReason(code)) for at_s, code in zip(log.wait_from_s[mine], log.wait_reason[mine], strict=True)]


# ---- nodes that hold one worker each -------------------------------------------------------------------------


def test_a_short_job_takes_all_nodes_and_gives_them_back():
    given = scenario(jobs((0, 12, 1), (1, 4, 1)), one_gpu_nodes(4))
    log = run("hell-malleable", given)
    assert widths(log, A) == [(0, 1, 4), (2, 4, 4)]
    assert widths(log, B) == [(1, 2, 4)]
    assert told(log, A) == [(1, WaitReason.PREEMPTED)]


def test_who_shrinks_keeps_its_first_nodes_and_who_starts_gets_the_first_free():
    # speed-up 1, 1.5, 1.6: KNEE(.1) wants two nodes; filling gives the third
    table = table_speed({"net": (1.0, 1.5, 1.6)})
    workload = jobs((0, 16, 1), (5, 30, 1), profile=["net", "net"])
    log = run("knee-malleable", scenario(workload, one_gpu_nodes(3), table), alpha=0.1)
    # 16 work at 1.6 for 5 s leaves 8: then two nodes, 8 / 1.5 = 5.33 s
    assert widths(log, A) == [(0, 5, 3), (5, pytest.approx(5 + 8 / 1.5), 2)]
    assert used(log, A) == [[0, 1, 2], [0, 1]]
    assert used(log, B) == [[2], [0, 1, 2]]


@pytest.mark.parametrize("cluster", [one_gpu_nodes(3), nodes(1, 3)], ids=["whole", "general"])
def test_moldable_waits_for_its_width_and_lets_others_pass_unless_told_to_block(cluster: Cluster):
    table = table_speed({"wide": (1.0, 2.0, 3.0), "one": (1.0, 1.0, 1.0)})
    workload = jobs((0, 4, 1), (0, 15, 1), (0, 8, 1), profile=["one", "wide", "one"])
    log = run("hell-moldable", scenario(workload, cluster, table))
    # S/E: 4, 5 and 8; B needs all three nodes
    assert [widths(log, row) for row in (A, B, C)] == [[(0, 4, 1)], [(8, 13, 3)], [(0, 8, 1)]]
    assert told(log, B) == [(0, WaitReason.HELD_BACK)]
    strict = run("hell-moldable", scenario(workload, cluster, table), blocking=True)
    assert [widths(strict, row) for row in (A, B, C)] == [[(0, 4, 1)], [(4, 9, 3)], [(9, 17, 1)]]


def test_behind_a_job_that_blocks():
    table = table_speed({"wide": (1.0, 2.0, 3.0), "one": (1.0, 1.0, 1.0)})
    workload = jobs((0, 4, 1), (0, 15, 1), (0, 8, 1), profile=["one", "wide", "one"])
    log = run("hell-moldable", scenario(workload, nodes(1, 3), table), blocking=True)
    assert told(log, C)[0] == (0, WaitReason.BEHIND)


def test_moldable_knee_takes_less_at_a_higher_load():
    table = table_speed({"net": (1.0, 1.5, 1.7)})
    given = scenario(jobs((0, 10, 1), profile=["net"]), one_gpu_nodes(3), table)
    # gains: .33 and .12; alpha is .01 + load x .49
    assert [widths(run("knee-moldable", given, alpha_high=0.5, load=load), A)[0][2] for load in (0, 0.3, 0.9)] == [
        3,
        2,
        1,
    ]


def test_srpt_gives_all_to_the_first_and_waterfill_one_to_each():
    table = table_speed({"net": (1.0, 1.1, 1.2, 1.3)})
    workload = jobs((0, 26, 1), (0, 13, 1), (0, 39, 1), profile=["net"] * 3)
    given = scenario(workload, one_gpu_nodes(4), table)
    srpt = run("srpt-all-nodes", given)
    assert [widths(srpt, row) for row in (B, A, C)] == [[(0, 10, 4)], [(10, 30, 4)], [(30, 60, 4)]]
    water = run("waterfill", given)
    first_s = 13 / 1.1
    assert widths(water, B) == [(0, pytest.approx(first_s), 2)]  # the fourth node makes the shortest shorter
    assert widths(water, A)[0] == (0, pytest.approx(first_s), 1)
    assert widths(water, A)[1][2] == 3  # then both nodes that B leaves do so for A
    assert widths(water, C)[0][2] == 1


def test_a_chunk_runs_one_job_and_the_rest_of_the_nodes_idles():
    given = scenario(jobs((0, 8, 1), (0, 8, 1), (0, 8, 1)), one_gpu_nodes(5))
    log = run("jsq-chunk", given, chunk=2)
    assert [widths(log, row) for row in (A, B, C)] == [[(0, 4, 2)], [(0, 4, 2)], [(4, 8, 2)]]
    assert 4 not in log.share_node


# ---- any cluster ---------------------------------------------------------------------------------------------


def rigid_or_elastic(*rows: tuple[float, float, int], elastic: tuple[int, ...], most: int) -> Workload:
    """Return jobs of their request alone, but rows ``elastic`` run on 1 to ``most`` workers."""
    workload = jobs(*rows)
    low = [1 if row in elastic else width for row, (_, _, width) in enumerate(rows)]
    high = [most if row in elastic else width for row, (_, _, width) in enumerate(rows)]
    return workload.with_columns(min_workers=low, max_workers=high)


def test_a_malleable_job_takes_the_largest_width_that_fits_and_a_moldable_one_waits():
    # two nodes of two GPUs: A holds one GPU of the second node when C would like three
    workload = rigid_or_elastic((0, 5, 2), (0, 20, 1), (5, 6, 1), elastic=(C,), most=3)
    given = scenario(workload, nodes(2, 2))
    log = run("hell-malleable", given)
    assert used(log, B) == [[1]]
    assert widths(log, C) == [(5, 8, 2)]
    assert used(log, C) == [[0]]
    moldable = run("hell-moldable", given)
    # C needs three GPUs, S/E(3) = 2/1; B has 15 left: C is first, B keeps its node, no two empty nodes
    assert widths(moldable, C)[0][0] == 20
    assert told(moldable, C) == [(5, WaitReason.SPLIT)]


def test_whose_width_stays_keeps_its_nodes_and_who_shrinks_keeps_the_largest_share():
    # SRPT: A holds all eight GPUs; at 2 s B comes first with four, and A keeps one of its two nodes
    workload = jobs((0, 64, 4), (2, 16, 1)).with_columns(min_workers=[1, 1], max_workers=[8, 4])
    log = run("srpt-all-nodes", scenario(workload, nodes(2, 4)))
    assert widths(log, A)[:2] == [(0, 2, 8), (2, 6, 4)]
    assert used(log, A)[:2] == [[0, 1], [0]]
    assert used(log, B) == [[1]]


def test_who_shrinks_keeps_the_fewest_nodes():
    pools = tuple(Pool(vm=VmType(name=f"n{gpus}", gpus=gpus), count=1) for gpus in (2, 4))
    workload = jobs((0, 60, 3), (2, 2, 1)).with_columns(min_workers=[1, 1], max_workers=[6, 2])
    log = run("srpt-all-nodes", scenario(workload, Cluster(pools=pools)))
    assert used(log, A)[:2] == [[0, 1], [1]]


def test_who_was_stopped_for_nothing_goes_on_where_it_was():
    # X keeps a GPU of the second node, so that A, which needs three empty nodes, cannot have those of B
    x, y, b, a = range(4)
    workload = jobs((0, 10, 1), (0, 5, 2), (0, 100, 2), (6, 20, 5))
    log = run("hell-moldable", scenario(workload, nodes(3, 2), SpeedSpec()))
    assert [used(log, row)[0] for row in (x, y, b)] == [[1], [0], [2]]
    assert told(log, a) == [(6, WaitReason.NO_ROOM)]
    assert widths(log, b)[0] == (0, 10, 2)  # the first node was free as well, but a move costs a restart
    assert widths(log, a) == [(10, 30, 5)]


def test_room_that_the_amounts_did_not_know_of_goes_to_who_can_use_it():
    pools = tuple(Pool(vm=VmType(name=name, gpu_type=name, gpus=1), count=1) for name in ("A100", "V100"))
    workload = jobs((0, 4, 1), (0, 4, 1), (0, 9, 1), gpu_types=["A100", "A100", "V100"])
    for key in ("hell-malleable", "hell-moldable"):
        log = run(key, scenario(workload, Cluster(pools=pools), SpeedSpec()))
        assert [widths(log, row) for row in (A, B, C)] == [[(0, 4, 1)], [(4, 8, 1)], [(0, 9, 1)]]


def test_blocking_holds_also_where_only_the_placement_fails():
    workload = jobs((0, 10, 1), (1, 20, 5), (1, 40, 2))
    given = scenario(workload, nodes(2, 4), SpeedSpec())
    assert widths(run("hell-moldable", given), C)[0][0] == 1
    log = run("hell-moldable", given, blocking=True)
    assert widths(log, B) == [(10, 30, 5)]  # five workers take two empty nodes
    assert widths(log, C)[0][0] == 10
    assert told(log, C)[0] == (1, WaitReason.BEHIND)


def test_partitions_share_no_nodes_and_no_decision():
    pools = tuple(
        Pool(vm=VmType(name=name, gpus=4), count=1, partition=partition) for name, partition in (("x", "p"), ("y", ""))
    )
    workload = jobs((0, 8, 1), (0, 8, 1), (1, 4, 1), partition=["p", "", "p"])
    log = run("hell-malleable", scenario(workload, Cluster(pools=pools)))
    assert widths(log, B) == [(0, 2, 4)]  # all of the open node, whoever waits in p
    assert used(log, B) == [[1]]
    assert widths(log, A) == [(0, 2, 4)]
    assert widths(log, C) == [(2, 3, 4)]


def test_jobs_without_gpus_run_beside_those_with():
    workload = jobs(
        (0, 8, 1), (0, 8, 1), gpus_per_worker=[1.0, 0.0], cpus_per_worker=[1.0, 2.0], mem_gib_per_worker=[0.0, 0.0]
    )
    log = run("hell-malleable", scenario(workload, nodes(1, 4, cpus=8.0)))
    assert widths(log, A) == [(0, 2, 4)]
    assert [width for _, _, width in widths(log, B)] == [2, 4]  # 4 CPUs are left beside A, then all 8


def test_a_gpu_type_that_is_down_is_said():
    pools = tuple(Pool(vm=VmType(name=name, gpu_type=name, gpus=2), count=1) for name in ("A100", "V100"))
    cluster = Cluster(pools=pools, absences=(Absence(node=0, start_s=0, end_s=9),))
    log = run("hell-malleable", scenario(jobs((0, 4, 1), (0, 4, 1), gpu_types=["A100", ""]), cluster))
    assert told(log, A) == [(0, WaitReason.NO_NODE)]
    assert widths(log, A) == [(9, 11, 2)]
    assert widths(log, B) == [(0, 2, 2)]


def test_the_curve_of_a_job_is_that_of_the_gpu_types_it_accepts():
    times = {"net": {"fast": (1.0, 0.5), "slow": (4.0, 4.0)}}
    speed = SpeedSpec.model_validate({"kind": "table", "times": {"rows": times}})
    pools = tuple(Pool(vm=VmType(name=name, gpu_type=name, gpus=2), count=1) for name in ("fast", "slow"))
    workload = jobs((0, 4, 1), (0, 8, 1), gpu_types=["slow", "fast"], profile=["net", "net"])
    log = run("hell-malleable", scenario(workload, Cluster(pools=pools), speed))
    assert widths(log, A) == [(0, 16, 1)]  # a second slow GPU brings nothing
    assert widths(log, B) == [(0, 4, 2)]


def test_a_moldable_job_is_molded_anew_when_its_only_roomy_node_has_left_for_good():
    pools = tuple(Pool(vm=VmType(name=f"n{gpus}", gpus=gpus), count=count) for gpus, count in ((8, 1), (4, 2)))
    cluster = Cluster(pools=pools, absences=(Absence(node=0, start_s=4, end_s=None, cause="leaves"),))
    workload = jobs((0, 160, 8)).with_columns(min_workers=[1], max_workers=[8])
    log = run("hell-moldable", scenario(workload, cluster, placement="best-fit"))
    # 8 workers need the 8-GPU node under best-fit, and nobody else runs: it goes on with the 4 that fit
    assert widths(log, A) == [(0, 4, 8), (4, 4 + (160 - 4) * 2, 4)]


def test_waiting_behind_the_job_of_the_chunk():
    given = scenario(jobs((0, 8, 1), (0, 8, 1), (1, 8, 1)), nodes(1, 5))
    log = run("jsq-chunk", given, chunk=2)
    assert [widths(log, row) for row in (A, B, C)] == [[(0, 4, 2)], [(0, 4, 2)], [(4, 8, 2)]]
    assert told(log, C) == [(1, WaitReason.BEHIND)]


def test_a_rigid_job_wider_than_a_chunk_is_not_forgotten():
    workload = rigid_or_elastic((0, 8, 1), (1, 6, 4), (1, 8, 1), elastic=(A, C), most=4)
    for cluster in (one_gpu_nodes(4), nodes(1, 4)):
        log = run("jsq-chunk", scenario(workload, cluster), chunk=2)
        assert widths(log, B)
        assert not log.stalled


@pytest.mark.parametrize("cluster", [one_gpu_nodes(2), nodes(1, 2)], ids=["whole", "general"])
def test_whoever_is_stopped_twice_is_told_twice(cluster: Cluster):
    log = run("srpt-all-nodes", scenario(jobs((0, 40, 1), (1, 2, 1), (5, 2, 1)), cluster))
    assert told(log, A) == [(1, WaitReason.PREEMPTED), (5, WaitReason.PREEMPTED)]


# ---- free slots ----------------------------------------------------------------------------------------------


def leases(log: RunLog) -> list[tuple[int, ...]]:
    """Return (slot, VM type, from, to)."""
    return list(zip(log.lease_node, log.lease_vm, log.lease_start_s, log.lease_end_s, strict=True))


def test_vms_are_opened_for_the_width_and_closed_behind_it():
    given = scenario(jobs((0, 16, 2)), free_slots())  # at most four times the request: 8 workers, linear
    log = run("hell-malleable", given)
    assert widths(log, A) == [(0, 4, 8)]
    assert leases(log) == [(0, 1, 0, 4), (1, 1, 0, 4)]  # the middle type is the cheapest per GPU
    assert leases(run("hell-malleable", given, vm_type="large")) == [(0, 2, 0, 4)]
    with pytest.raises(InputError, match=r"'larg' is not among the cluster's machine types\. Try 'large'"):
        run("hell-malleable", given, vm_type="larg")


def test_a_slot_with_the_wrong_type_is_emptied_for_who_waits():
    catalogue = (
        VmType(name="a", gpu_type="a", gpus=2, usd_per_h=1.0),
        VmType(name="b", gpu_type="b", gpus=2, usd_per_h=1.0),
    )
    workload = jobs((0, 4, 1), (1, 4, 1), gpu_types=["a", "b"])
    log = run("hell-moldable", scenario(workload, Cluster(slots=1, catalogue=catalogue)))
    assert widths(log, A) == [(0, 2, 2)]
    assert widths(log, B) == [(pytest.approx(2), pytest.approx(4), 2)]
    assert [vm for _, vm, _, _ in leases(log)] == [0, 1]


# ---- restarts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["pause", "delayed"])
@pytest.mark.parametrize("key", ["hell-malleable", "knee-malleable", "waterfill", "srpt-all-nodes"])
@pytest.mark.parametrize("cluster", [one_gpu_nodes(6), nodes(2, 3)], ids=["whole", "general"])
def test_restarts_longer_than_the_time_between_submissions_starve_nobody(key: str, mode: str, cluster: Cluster):
    workload = jobs(*((10.0 * n, 60.0, 1) for n in range(40)))
    log = run(key, scenario(workload, cluster, restart_s=30.0, restart_mode=mode))
    assert (log.job_status == JobStatus.COMPLETED).all()
    assert len(log.decision_s) <= 2 * len(workload)


# ---- what a reader should know -------------------------------------------------------------------------------


def remark(key: str, given: Scenario, **params: Any) -> str:
    return find(key).remark_on(params, given)


def test_nodes_in_no_chunk_are_named():
    given = scenario(jobs((0, 10, 1)), one_gpu_nodes(10))
    assert remark("jsq-chunk", given, chunk=4) == "Chunks of 4 leave 2 of 10 GPUs unused."
    assert remark("jsq-chunk", given, chunk=5) == ""
    assert remark("jsq-chunk", given, chunk=50) == ""  # one chunk, the cluster


def test_chunks_smaller_than_a_job_and_fixed_widths_are_named():
    rigid = scenario(jobs((0, 10, 6)), one_gpu_nodes(10), SpeedSpec())
    told = remark("jsq-chunk", rigid, chunk=5)
    assert "While a job that needs 6 GPUs or more is in the system, chunks grow to that size." in told
    assert told.endswith("the policy could only choose the order.")
    assert (
        remark("hell-malleable", rigid)
        == "Every job has a fixed GPU count here: the policy could only choose the order."
    )
    assert remark("hell-malleable", rigid.replace(speed=LINEAR)) == ""
    assert find("fifo").remark_on(None, rigid) == ""


def test_with_gamma_1_progress_cancels_and_nobody_is_stopped_for_an_equal_job():
    same = jobs(*((7.0 * number, 1000 / 3, 1) for number in range(30)))
    log = run("hell-moldable", scenario(same, one_gpu_nodes(7), SpeedSpec()), gamma=1.0)
    assert len(log.piece_row) == 30
    assert (np.diff(log.job_first_start_s) >= 0).all()


def test_in_a_chunk_jobs_wait_behind_the_one_it_runs():
    given = scenario(jobs((0, 10, 1), (0, 10, 1), (0, 10, 1)), one_gpu_nodes(4), SpeedSpec())
    log = run("jsq-chunk", given, chunk=2)
    assert told(log, C) == [(0, WaitReason.BEHIND)]
