"""Passes of the policy slurm on jobs worked out by hand; the grid of full main passes is 60 s, of backfill 30 s."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.plan import WaitReason
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.slurm import (
    SlurmAssociation,
    SlurmLimits,
    SlurmOptions,
    SlurmPartition,
    SlurmQos,
    SlurmReservation,
    SlurmSetup,
)
from dlsched.domain.workload import Workload
from dlsched.policies.registry import find
from dlsched.policies.slurm.kernels.step import last_step
from dlsched.sim.audit import audit
from dlsched.sim.log import RunLog
from dlsched.sim.prepare import prepare
from dlsched.sim.simulate import run_policy


def run(jobs: list[tuple[float, float, int]], nodes: int = 1, setup: SlurmSetup | None = None, **more: Any) -> RunLog:
    """Run jobs of (submission, run time, GPUs) on nodes n1, n2, ... of one GPU; ``params`` and columns in ``more``."""
    params, gpus, pools = more.pop("params", {}), more.pop("gpus", 1), more.pop("pools", None)
    speed = more.pop("speed", SpeedSpec())
    submit_s, work, workers = zip(*jobs, strict=True)
    columns = {"job_id": [f"j{n}" for n in range(len(jobs))], "submit_s": submit_s, "work": work, "workers": workers}
    vm = VmType(name="node", gpus=gpus, cpus=more.pop("cpus", None))
    pools = pools or ((f"n[1-{nodes}]", nodes, ""),)
    cluster = Cluster(pools=tuple(Pool(vm=vm, count=n, nodes=names, partition=part) for names, n, part in pools))
    prepared = prepare(Scenario(Workload.from_columns(columns | more), cluster, SimulationRules(), speed, slurm=setup))
    spec = find("slurm")
    log = run_policy(prepared, spec.build(spec.parse(params)))
    assert audit(prepared.scenario, prepared.truth, log) == []
    return log


def starts(log: RunLog) -> list[float]:
    return log.job_first_start_s.tolist()


def test_a_job_is_tried_at_its_submission_and_after_an_end():
    assert starts(run([(5, 95, 1), (10, 50, 1)])) == [5, 100]


def test_main_passes_keep_their_distance():
    """The job ends at 61, just after the full pass at 60: the next is due at 63."""
    assert starts(run([(0, 61, 1), (10, 50, 1)])) == [0, 63]


def test_deferred_jobs_wait_for_a_pass():
    """The pass at time 0 is on the grid; the one after the arrival at 1 is due three seconds after it."""
    assert starts(run([(0, 10, 1), (1, 10, 1)], nodes=2, params={"defer": "YES"})) == [0, 3]


def test_backfill_goes_ahead_only_where_no_booking_is_in_the_way():
    """j1 needs both nodes and gets them at 1,000; j2 is done by then, j3 is not."""
    jobs = [(0.0, 1000.0, 1), (1.0, 100.0, 2), (2.0, 600.0, 1), (3.0, 2000.0, 1)]
    assert starts(run(jobs, nodes=2)) == [0, 1000, 30, 1100]
    assert starts(run(jobs, nodes=2, params={"SchedulerType": "sched/builtin"})) == [0, 1000, 1100, 1100]
    assert starts(run(jobs, nodes=2, params={"phase": 17.0}))[2] == 17


def test_running_jobs_end_in_groups_of_double_length():
    """j4 needs three nodes: n1, free from 10, and two more. Its first group is the end at 1,000, the second takes 60 s:
    1,040 and 1,090. So it is booked from 1,080 (1,090 rounded down to minutes), and j5 fits in from 30 to 1,070.
    """
    jobs = [(0.0, 10.0, 1), (0.0, 1000.0, 1), (0.0, 1040.0, 1), (0.0, 1090.0, 1), (12.0, 100.0, 3), (13.0, 1040.0, 1)]
    assert starts(run(jobs, nodes=4))[5] == 30
    linear = SlurmSetup(options=SlurmOptions(bf_window_linear=5))
    assert starts(run(jobs, nodes=4, setup=linear))[5] > 30
    assert starts(run(jobs, nodes=4, params={"bf_window_linear": 5}))[5] > 30


def test_a_start_after_the_end_of_a_slot_is_tried_again_from_there():
    """j3 is booked on n1 and n3 from 300 to 600. j4 would start at 1,000 on n2 as seen from now, but a try from 600
    finds n1. So the other half of n2 is open to j5, which is long.
    """
    running = [(0.0, 10.0, 2), (0.0, 1000.0, 1), (0.0, 300.0, 2)]
    jobs = [*running, (12.0, 300.0, 4), (13.0, 500.0, 2), (14.0, 2000.0, 1)]
    assert starts(run(jobs, nodes=3, gpus=2)) == [0, 0, 0, 300, 600, 30]


def test_a_choice_that_crosses_a_booking_is_dropped():
    """j2 is booked on both nodes from 480 to 780. j3 could start at 100 on n2, but would run to 550: it is booked after
    j2, and j4 may start beside j1.
    """
    jobs = [(0.0, 500.0, 2), (0.0, 100.0, 1), (12.0, 300.0, 4), (13.0, 450.0, 2), (14.0, 300.0, 1)]
    assert starts(run(jobs, nodes=2, gpus=2))[4] == 30


def test_overdue_jobs_are_believed_to_end_in_a_second():
    """j0 asks for 100 s and runs for 500: j1 is booked on both nodes all the time, so that j2 waits."""
    log = run([(0, 500, 1), (12, 100, 2), (200, 50, 1)], nodes=2, limit_s=[100.0, 100.0, 50.0])
    assert starts(log) == [0, 500, 600]


def test_time_limits_are_believed():
    """j2 runs for 600 s but asks for 1,200: it would hold j1 up."""
    log = run([(0, 1000, 1), (1, 100, 2), (2, 600, 1)], nodes=2, limit_s=[1000.0, 100.0, 1200.0])
    assert starts(log) == [0, 1000, 1100]


def test_what_starts_beyond_the_window_is_not_booked():
    jobs = [(0.0, 1000.0, 1), (1.0, 100.0, 2), (3.0, 2000.0, 1)]
    assert starts(run(jobs, nodes=2, params={"bf_window_s": 300.0})) == [0, 2030, 30]


def test_a_job_over_a_limit_does_not_block():
    log = run([(0, 100, 1), (1, 100, 1), (2, 100, 1)], 2, user=["u", "u", "v"], params={"MaxJobsPerUser": 1})
    assert starts(log) == [0, 100, 2]
    assert WaitReason.OVER_LIMIT in log.wait_reason


def test_cores_of_a_user_are_limited_and_those_of_another_are_not():
    """8 cores a user: two jobs of 4 run, the third waits for an end, a smaller one of the user goes before it."""
    jobs = [(0.0, 100.0, 1), (1.0, 150.0, 1), (2.0, 100.0, 1), (3.0, 100.0, 1)]
    more: dict[str, Any] = {"cpus_per_worker": [4.0, 3.0, 4.0, 1.0], "gpus_per_worker": [0.0] * 4}
    params = {"MaxCPUsPerUser": 8.0}
    log = run(jobs, 4, user=["u", "u", "u", "u"], params=params, cpus=16.0, **more)
    assert starts(log) == [0, 1, 100, 3]
    assert WaitReason.OVER_LIMIT in log.wait_reason
    assert starts(run(jobs, 4, user=["u", "u", "v", "u"], params=params, cpus=16.0, **more)) == [0, 1, 2, 3]
    assert starts(run(jobs, 4, user=["u", "u", "u", "u"], cpus=16.0, **more)) == [0, 1, 2, 3]


def test_a_job_larger_than_a_limit_runs_alone():
    log = run([(0, 100, 1), (1, 100, 3)], 3, user=["u", "u"], params={"MaxGPUsPerUser": 2.0})
    assert starts(log) == [0, 100]


@pytest.mark.parametrize(
    ("limits", "of"),
    [
        ({"GrpTRES": {"gres/gpu": 2}}, "account"), ({"GrpTRES": {"gres/gpu": 2}}, "user"),
        ({"GrpTRES": {"node": 2}}, "account"), ({"MaxTRESPJ": {"gres/gpu": 2}}, "account"),
        ({"MaxTRESPU": {"gres/gpu": 2}}, "qos"), ({"MaxTRESPJ": {"gres/gpu": 2}}, "qos"),
    ],
)  # fmt: skip
def test_a_job_larger_than_a_given_limit_never_starts(limits: dict[str, Any], of: str):
    """j1 asks for three GPUs where two are allowed. The others go on, and the run ends when nothing else is to come."""
    given = SlurmLimits(**limits)
    setup = SlurmSetup(
        qos=(SlurmQos(name="q", limits=given if of == "qos" else SlurmLimits()),),
        associations=(
            SlurmAssociation(account="a", limits=given if of == "account" else SlurmLimits()),
            SlurmAssociation(account="a", user="u", limits=given if of == "user" else SlurmLimits()),
        ),
    )
    columns = {"user": ["u"] * 3, "group": ["a"] * 3, "job_class": ["q"] * 3}
    log = run([(0, 100, 1), (1, 100, 3), (200, 100, 2)], 3, setup, **columns)
    assert starts(log)[::2] == [0, 200]
    assert np.isnan(starts(log)[1])
    assert set(log.wait_reason[log.wait_row == 1]) == {WaitReason.BEYOND_LIMIT}
    assert log.stalled


def test_the_largest_job_of_a_qos_goes_before_that_of_an_account():
    setup = SlurmSetup(
        qos=(SlurmQos(name="wide", limits=SlurmLimits(MaxTRESPJ={"gres/gpu": 3})),),
        associations=(SlurmAssociation(account="a", limits=SlurmLimits(MaxTRESPJ={"gres/gpu": 2})),),
    )
    log = run([(0, 100, 3), (0, 100, 3)], 3, setup, group=["a", "a"], job_class=["wide", "normal"])
    assert starts(log)[0] == 0
    assert np.isnan(starts(log)[1])


def test_a_stall_is_only_explained_by_a_limit_that_there_is():
    """The same log under a limit of three GPUs: the auditor does not believe what the policy says."""
    limits = {cap: SlurmSetup(associations=(
        SlurmAssociation(account="a", limits=SlurmLimits(GrpTRES={"gres/gpu": cap})),
    )) for cap in (2, 3)}  # fmt: skip
    log = run([(0, 100, 3)], 3, limits[2], group=["a"])
    jobs = Workload.from_columns({"job_id": ["j0"], "submit_s": [0.0], "work": [100.0], "workers": [3], "group": ["a"]})
    cluster = Cluster(pools=(Pool(vm=VmType(name="node", gpus=1), count=3, nodes="n[1-3]"),))
    (complaint,) = audit(Scenario(jobs, cluster, slurm=limits[3]), prepare(Scenario(jobs, cluster)).truth, log)
    assert "the policy started no job" in complaint


def test_long_jobs_wait_for_their_hours():
    """Monday starts at 0; jobs of more than four hours do not start from 0 to 2. The next main pass is at 3 s."""
    log = run([(0, 18_000, 1), (1, 60, 1)], 2, params={"closed_hours": "4- wd 0-2"})
    assert starts(log) == [7200, 3]
    assert WaitReason.HOURS in log.wait_reason


def test_a_reservation_is_for_its_users():
    """A job of 100 s cannot be done before 50, when the node is taken until 200; the next backfill pass is at 210."""
    kept = SlurmReservation(name="r", nodes="n1", start_s=50, end_s=200, users=("x",))
    setup = SlurmSetup(reservations=(kept,))
    assert starts(run([(0, 100, 1)], setup=setup, user=["u"])) == [210]
    assert starts(run([(0, 100, 1)], setup=setup, user=["x"])) == [0]
    assert starts(run([(0, 40, 1)], setup=setup, user=["u"])) == [0]


@pytest.mark.parametrize(("mode", "second"), [("REQUEUE", [131.0]), ("CANCEL", [])])
def test_a_higher_tier_stops_a_lower_one(mode: str, second: list[float]):
    """The job of the higher tier comes at 10, starts two seconds after the other was stopped, which is back at 131."""
    setup = SlurmSetup(
        options=SlurmOptions(PreemptType="preempt/partition_prio", PreemptMode=mode),
        partitions=(SlurmPartition(name="low"), SlurmPartition(name="high", PriorityTier=2)),
    )
    log = run([(0, 500, 1), (10, 100, 1)], setup=setup, pools=(("n1", 1, "low|high"),), partition=["low", "high"])
    assert log.piece_start_s[log.piece_row == 0].tolist() == [0, *second]
    assert starts(log) == [0, 12]


def test_a_qos_stops_another_on_the_node_where_fewest_die():
    """Of two nodes of two GPUs, one has two jobs of one GPU, the other one job of two."""
    setup = SlurmSetup(
        options=SlurmOptions(PreemptType="preempt/qos", PreemptMode="REQUEUE"),
        qos=(SlurmQos(name="normal"), SlurmQos(name="urgent", Preempt=("normal",))),
    )
    jobs = [(0.0, 500.0, 1), (1.0, 500.0, 1), (2.0, 500.0, 2), (10.0, 50.0, 2)]
    log = run(jobs, 2, setup, gpus=2, job_class=["normal"] * 3 + ["urgent"])
    assert starts(log)[3] == 12
    assert (log.piece_row[log.piece_end == 1]).tolist() == [2]


def test_exclusive_partitions_give_whole_nodes():
    setup = SlurmSetup(partitions=(SlurmPartition(name="p", exclusive=True),))
    more: dict[str, Any] = {"gpus": 4, "pools": (("n1", 1, "p"),), "partition": ["p", "p"]}
    assert starts(run([(0, 100, 1), (1, 100, 1)], setup=setup, **more)) == [0, 100]
    assert starts(run([(0, 100, 1), (1, 100, 1)], **more)) == [0, 1]


def test_nodes_go_by_weight_name_and_switch():
    setup = SlurmSetup(node_weights={"n2": 0})
    assert run([(0, 10, 1)], 3, setup).share_node.tolist() == [1]
    assert run([(0, 10, 1)], pools=(("n10", 1, ""), ("n2", 1, ""), ("b1", 1, ""))).share_node.tolist() == [2]
    switches = SlurmSetup(switches={"large": "n[1-3]", "small": "n[4-5]"})
    assert run([(0, 10, 2)], 5, switches).share_node.tolist() == [3, 4]
    assert run([(0, 10, 4)], 5, switches).share_node.tolist() == [0, 1, 2, 3]


def test_a_user_who_has_used_much_goes_after_one_who_has_not():
    jobs = [(0.0, 1000.0, 1), (1.0, 100.0, 1), (2.0, 100.0, 1)]
    more: dict[str, Any] = {"user": ["u", "u", "v"], "group": ["a", "a", "a"]}
    assert starts(run(jobs, **more)) == [0, 1000, 1100]
    for flags in ("", "NO_FAIR_TREE"):
        params = {"PriorityWeightFairshare": 1000.0, "PriorityFlags": flags}
        assert starts(run(jobs, params=params, **more)) == [0, 1100, 1000]


def test_partitions_that_share_no_nodes_do_not_block_each_other():
    pools = (("a1", 1, "a"), ("b1", 1, "b"))
    log = run([(0, 100, 1), (1, 100, 1), (2, 100, 1)], pools=pools, partition=["a", "a", "b"])
    assert starts(log) == [0, 100, 2]


def test_jobs_of_one_node_size_stay_together():
    """A job of two GPUs waits for a node with two, though each of two nodes has one free."""
    log = run([(0, 100, 1), (0, 300, 1), (0, 100, 1), (0, 300, 1), (1, 50, 2)], 2, gpus=2)
    assert np.diff(log.share_first)[log.piece_row == 4].tolist() == [1]


def test_a_gang_whose_equal_parts_no_node_holds_is_refused():
    """2 workers with 1 server, and 3 with 2, are one part each: on nodes of 2 GPUs the second never fits."""
    gangs: dict[str, Any] = {"speed": SpeedSpec(kind="parameter-server"), "cpus_per_server": [0.0], "gpus": 2}
    gangs |= {"step_s": [1.0], "batch_s": [0.0], "transfer_s": [0.0]}
    assert starts(run([(5, 95, 2)], nodes=2, servers=[1], **gangs)) == [5]
    with pytest.raises(
        InputError, match=r"equal parts of a job, and no nodes hold 1 x 3 workers with 2 parameter serv"
    ):
        run([(5, 95, 3)], nodes=2, servers=[2], **gangs)


def test_a_point_of_a_grid_is_its_own_last_step():
    rng = np.random.default_rng(0)
    from_s, every_s = 1.6e9 + rng.uniform(-1e6, 1e6, 5_000), rng.uniform(1, 1_000, 5_000)
    steps = np.floor(rng.uniform(-1e4, 1e4, 5_000))
    points = from_s + steps * every_s
    found = [last_step(*one) for one in zip(points, from_s, every_s, strict=True)]
    assert found == steps.tolist()
    assert not np.array_equal(np.floor((points - from_s) / every_s), steps)  # the quotient alone is not enough
