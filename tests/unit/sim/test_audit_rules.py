"""A log by hand that is clean, and the same log corrupted in one way each: the first message names the right thing."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.plan import WaitReason
from dlsched.domain.policy import EventKind
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.truth import Truth
from dlsched.domain.workload import Workload
from dlsched.sim.audit import audit
from dlsched.sim.log import JobStatus, PieceEnd, RunLog
from tests.support.logs import Ran, make_log

J0, J1, J2, J3, J4, J5 = range(6)
BIG = VmType(name="big", gpu_type="V100", gpus=8, cpus=16.0, mem_gib=64.0)
SLOW = VmType(name="slow", gpu_type="A100", gpus=4, speed=0.5)


def scenario(**changes: Any) -> Scenario:
    """One node of 8 GPUs and one of 4 at half speed that fails from 100 to 120 s; linear speed-up."""
    jobs = Workload.from_columns(
        {
            "job_id": [f"j{n}" for n in range(6)],
            "submit_s": [0.0, 0.0, 10.0, 20.0, 20.0, 30.0],
            "work": [40.0, 60.0, 100.0, 500.0, 50.0, 10.0],
            "workers": [4, 2, 4, 1, 1, 1],
        }
    )
    cluster = Cluster(pools=(Pool(vm=BIG, count=1), Pool(vm=SLOW, count=1)), absences=(fails(100.0),))
    given = Scenario(
        jobs, cluster, SimulationRules(restart_s=5.0, checkpoint_s=10.0), SpeedSpec(kind="scaling", efficiency=1)
    )
    return given.replace(**changes)


def fails(start_s: float) -> Absence:
    return Absence(node=1, start_s=start_s, end_s=120.0)


def truth() -> Truth:
    """j3 is taken back at 70 s, j4 has a bug that shows after 3 units of work."""
    work = np.array([40.0, 60.0, 100.0, 500.0, 3.0, 10.0])
    cancel_s = np.array([np.inf, np.inf, np.inf, 70.0, np.inf, np.inf])
    return Truth(work, work, np.array([False, False, False, False, True, False]), cancel_s)


def clean() -> RunLog:
    """j1 is resized at 30 s; j2 loses node 1 at 100 s, 5 s after its checkpoint, and goes on with node 0 at once."""
    pieces = [
        Ran(J0, 0, 45, {0: 4}, progress_from_s=5),
        Ran(J1, 0, 30, {0: 2}, PieceEnd.RESIZED, progress_from_s=5),
        Ran(J1, 30, 52.5, {0: 4}, rate=2, progress_from_s=35),
        Ran(J2, 60, 100, {1: 4}, PieceEnd.NODE_LOST, rate=0.5, progress_from_s=65, lost_work=2.5),
        Ran(J4, 60, 68, {0: 1}, PieceEnd.FAILED, progress_from_s=65),
        Ran(J2, 100, 190, {0: 4}, progress_from_s=105),
    ]
    ends = {J3: (JobStatus.CANCELLED, 70.0), J4: (JobStatus.FAILED, 68.0), J5: (JobStatus.REJECTED, 30.0)}
    decisions = [(time_s, EventKind.ARRIVAL, 0.001) for time_s in (0.0, 10.0, 30.0, 60.0, 100.0)]
    waits = [(J2, 10.0, WaitReason.NO_ROOM), (J3, 20.0, WaitReason.BEHIND)]
    return make_log(scenario(), pieces, ends, decisions=decisions, waits=waits)


def piece_of(log: RunLog, row: int, number: int = 0) -> int:
    return int(np.flatnonzero(log.piece_row == row)[number])


def corrupt(log: RunLog, **cells: dict[int, Any]) -> RunLog:
    """Return the log with single cells changed: column={index: value}."""
    changed = {}
    for column, values in cells.items():
        changed[column] = getattr(log, column).copy()
        for index, value in values.items():
            changed[column][index] = value
    return dataclasses.replace(log, **changed)


def first(log: RunLog, given: Scenario | None = None, facts: Truth | None = None, **more: Any) -> str:
    found = audit(given or scenario(), facts or truth(), log, **more)
    assert found, "the audit found nothing"
    return found[0]


def test_clean_log_is_clean() -> None:
    assert audit(scenario(), truth(), clean(), rows_expected=6) == []


P = {
    (row, number): piece_of(clean(), row, number)
    for row, number in ((J0, 0), (J1, 0), (J1, 1), (J2, 0), (J2, 1), (J4, 0))
}

CORRUPTIONS: dict[str, tuple[dict[str, dict[int, Any]], tuple[str, ...]]] = {
    "nan": ({"piece_rate": {0: np.nan}}, ("piece_rate", "entry 0", "nan")),
    "negative": ({"piece_lost_work": {2: -1}}, ("piece_lost_work", "-1")),
    "unknown status": ({"job_status": {1: 9}}, ("job_status", "9")),
    "unknown piece end": ({"piece_end": {1: 77}}, ("piece_end", "77")),
    "unknown reason": ({"wait_reason": {1: 77}}, ("wait_reason", "77")),
    "unknown node": ({"share_node": {P[J2, 0]: 7}}, ("at 60 s", "node 7", "does not exist")),
    "no length": ({"piece_end_s": {0: 0.0}}, ("at 0 s", "j0", "positive length")),
    "before submission": ({"piece_start_s": {P[J2, 0]: 5.0}}, ("at 5 s", "j2", "before its submission at 10 s")),
    "after the end": ({"job_end_s": {J0: 40.0}}, ("at 0 s", "j0", "after the job's end at 40 s")),
    "overlap": ({"piece_start_s": {P[J1, 1]: 25.0}}, ("at 25 s", "j1", "overlaps", "30 s")),
    "shares": ({"share_workers": {0: 3}}, ("at 0 s", "j0", "4 workers", "shares have 3")),
    "empty share": ({"share_workers": {0: 0}}, ("at 0 s", "j0", "holds nothing on node 0")),
    "servers": ({"share_servers": {0: 1}}, ("at 0 s", "j0", "0 servers", "shares have 1")),
    "too wide": (
        {"piece_workers": {P[J4, 0]: 5}, "share_workers": {P[J4, 0]: 5}},
        ("at 60 s", "j4", "5 workers", "allowed are 1 to 4"),
    ),
    "GPUs": (
        {"piece_workers": {0: 7}, "share_workers": {0: 7}},
        ("at 0 s", "node 0 holds 9 gpus", "capacity is 8", "j0, job j1"),
    ),
    "rate": ({"piece_rate": {0: 1.1}}, ("at 0 s", "j0", "rate 1.1", "speed model says 1")),
    "rate of a slow node": ({"piece_rate": {P[J2, 0]: 1.0}}, ("at 60 s", "j2", "says 0.5", "4 workers on slow")),
    "free start": ({"piece_progress_from_s": {0: 0.0}}, ("at 0 s", "j0", "after 0 s", "takes 5 s")),
    "free resize": ({"piece_progress_from_s": {P[J1, 1]: 30.0}}, ("at 30 s", "j1", "after 0 s", "takes 5 s")),
    "no pause": ({"piece_restart_rate": {0: 1.0}}, ("at 0 s", "j0", "rate 1 during its restart", "says 0")),
    "lost for nothing": ({"piece_lost_work": {0: 1.0}}, ("at 45 s", "j0", "loses 1", "without a lost node")),
    "lost too little": ({"piece_lost_work": {P[J2, 0]: 1.0}}, ("at 100 s", "j2", "loses 1", "did 2.5")),
    "lost a whole interval": ({"piece_lost_work": {P[J2, 0]: 5.0}}, ("at 100 s", "j2", "loses 5", "did 2.5")),
    "too little work": (
        {"piece_end_s": {0: 44.0}, "job_end_s": {J0: 44.0}},
        ("at 44 s", "j0", "completed with 39 of work", "its work is 40"),
    ),
    "too much work": (
        {"piece_end_s": {P[J4, 0]: 69.0}, "job_end_s": {J4: 69.0}},
        ("at 69 s", "j4", "failed with 4 of work", "its work is 3"),
    ),
    "completion is not the last end": ({"job_end_s": {J0: 46.0}}, ("at 46 s", "j0", "last piece ends at 45 s")),
    "no completion time": ({"job_end_s": {J5: np.nan}}, ("at 190 s", "j5", "rejected", "nan")),
    "cancelled at another time": (
        {"job_end_s": {J3: 71.0}},
        ("at 71 s", "j3", "cancelled at 71 s", "cancels it at 70 s"),
    ),
    "ends before submission": ({"job_end_s": {J5: 29.0}}, ("at 29 s", "j5", "before its submission at 30 s")),
    "first start": ({"job_first_start_s": {J2: 100.0}}, ("at 60 s", "j2", "first start 100 s", "starts at 60 s")),
    "start without a piece": ({"job_first_start_s": {J3: 25.0}}, ("at 25 s", "j3", "does not exist")),
    "runs again": ({"piece_end": {P[J1, 0]: PieceEnd.COMPLETED}}, ("at 30 s", "j1", "completed", "runs again")),
    "lost without a loss": (
        {"piece_end": {P[J1, 0]: PieceEnd.NODE_LOST}, "piece_lost_work": {P[J1, 0]: 5.0}},
        ("at 30 s", "j1", "none of its nodes"),
    ),
    "spared": (
        {"piece_end": {P[J2, 0]: PieceEnd.PREEMPTED}, "piece_lost_work": {P[J2, 0]: 0.0}},
        ("at 100 s", "j2", "preempted", "node_lost"),
    ),
    "moved but resized": ({"piece_end": {P[J1, 0]: PieceEnd.MOVED}}, ("at 30 s", "j1", "moved", "not that")),
    "completed, says the piece otherwise": (
        {"piece_end": {P[J1, 1]: PieceEnd.PREEMPTED}},
        ("at 52.5 s", "j1", "completed", "ends as preempted"),
    ),
    "bug that completes": (
        {"job_status": {J4: JobStatus.COMPLETED}, "piece_end": {P[J4, 0]: PieceEnd.COMPLETED}},
        ("at 68 s", "j4", "must fail"),
    ),
    "failure without a bug": (
        {"job_status": {J0: JobStatus.FAILED}, "piece_end": {P[J0, 0]: PieceEnd.FAILED}},
        ("at 45 s", "j0", "failed although it has no bug"),
    ),
    "cancellation ignored": (
        {"job_status": {J3: JobStatus.REJECTED}, "job_end_s": {J3: 80.0}},
        ("at 70 s", "j3", "rejected although its user cancelled it at 70 s"),
    ),
    "left unfinished": (
        {"job_status": {J5: JobStatus.UNFINISHED}, "job_end_s": {J5: np.nan}},
        ("at 190 s", "1 job unfinished", "j5", "did not stall"),
    ),
    "waits while it runs": ({"wait_from_s": {0: 70.0}}, ("at 70 s", "j2", "runs while the job is said to wait")),
    "waits too early": ({"wait_from_s": {1: 15.0}}, ("at 15 s", "j3", "before its submission at 20 s")),
    "waits too late": ({"wait_from_s": {1: 75.0}}, ("at 75 s", "j3", "after its end at 70 s")),
    "decisions out of order": ({"decision_s": {1: 40.0}}, ("at 30 s", "decision 2", "40 s")),
    "decision after the run": ({"decision_s": {4: 300.0}}, ("at 300 s", "decision 4", "outside the run")),
}


@pytest.mark.parametrize("what", CORRUPTIONS)
def test_corruption_is_named(what: str) -> None:
    cells, words = CORRUPTIONS[what]
    message = first(corrupt(clean(), **cells))
    assert all(word in message for word in words), message


def test_lengths_are_checked() -> None:
    log = clean()
    assert "piece_rate has 5 entries, expected 6" in first(dataclasses.replace(log, piece_rate=log.piece_rate[:-1]))
    assert "job_end_s has 5 entries" in first(dataclasses.replace(log, job_end_s=log.job_end_s[:-1]))
    assert "share_first" in first(dataclasses.replace(log, share_first=log.share_first[:-1]))
    assert "piece 0 has no share" in first(corrupt(log, share_first={1: 0}))


def test_no_job_may_get_lost() -> None:
    assert "6 jobs, expected 7" in first(clean(), rows_expected=7)


def test_pieces_are_sorted() -> None:
    log = clean()
    swap = [1, 0, 2, 3, 4, 5]
    columns: dict[str, Any] = {
        f.name: getattr(log, f.name)[swap] for f in dataclasses.fields(log) if f.name.startswith("piece_")
    }
    columns |= {name: getattr(log, name)[swap] for name in ("share_node", "share_workers", "share_servers")}
    assert "not in order of start and row" in first(dataclasses.replace(log, **columns))


def test_node_named_twice() -> None:
    log = clean()
    split = dataclasses.replace(
        log,
        share_node=np.concatenate([log.share_node[:1], log.share_node]),
        share_workers=np.concatenate([[2, 2], log.share_workers[1:]]),
        share_servers=np.zeros(7, dtype=np.int64),
        share_first=np.concatenate([[0], log.share_first[1:] + 1]),
    )
    message = first(split)
    assert "at 0 s" in message
    assert "j0" in message
    assert "names node 0 twice" in message


@pytest.mark.parametrize(
    ("column", "amount", "word"),
    [("cpus_per_worker", 3.0, "18 cpus"), ("mem_gib_per_worker", 12.0, "72 mem_gib")],
)
def test_capacity_of_cpus_and_memory(column: str, amount: float, word: str) -> None:
    jobs = scenario().workload.with_columns(**{column: np.full(6, amount)})
    message = first(clean(), scenario(workload=jobs))
    assert word in message
    assert "node 0" in message


def test_what_a_job_gives_back_is_free_once() -> None:
    jobs = scenario().workload.with_columns(cpus_per_worker=np.array([0.0, 5, 0, 0, 0, 0]))
    assert first(clean(), scenario(workload=jobs)).startswith("at 30 s: node 0 holds 20 cpus")


def test_nothing_runs_on_an_absent_node() -> None:
    cluster = scenario().cluster.model_copy(update={"absences": (fails(90.0),)})
    message = first(clean(), scenario(cluster=cluster))
    assert message == "at 90 s: job j2 on node 1, which is absent"


def test_rigid_jobs_run_at_the_requested_width() -> None:
    message = first(clean(), scenario(speed=SpeedSpec(kind="rigid")))
    assert "at 30 s" in message
    assert "j1" in message
    assert "4 workers at once; allowed are 2 to 2" in message


def test_partitions_are_exclusive() -> None:
    pools = (Pool(vm=BIG, count=1), Pool(vm=SLOW, count=1, partition="vc"))
    jobs = scenario().workload.with_columns(partition=["", "", "vc", "vc", "elsewhere", ""])
    given = scenario(cluster=Cluster(pools=pools, absences=(fails(100.0),)), workload=jobs)
    message = first(clean(), given)
    assert "at 100 s" in message
    assert "j2" in message
    assert "node 0 of partition '', but belongs in 'vc'" in message
    open_job = given.replace(workload=jobs.with_columns(partition=[""] * 6))
    assert "node 1 of partition 'vc', but belongs in ''" in first(clean(), open_job)


def test_partitions_may_overlap() -> None:
    pools = (Pool(vm=BIG, count=1, partition="a|vc"), Pool(vm=SLOW, count=1, partition="vc"))
    jobs = scenario().workload.with_columns(partition=["a", "a|b", "vc", "vc", "a|vc", "vc|x"])
    cluster = Cluster(pools=pools, absences=(fails(100.0),))
    assert "partition" not in str(audit(scenario(cluster=cluster, workload=jobs), truth(), clean()))
    wrong = jobs.with_columns(partition=["b", "a|b", "vc", "vc", "a|vc", "vc|x"])
    message = first(clean(), scenario(cluster=cluster, workload=wrong))
    assert "of partition 'a|vc', but belongs in ''" in message


def test_features_are_kept() -> None:
    pools = (Pool(vm=BIG, count=1, features="ib|big"), Pool(vm=SLOW, count=1))
    cluster = Cluster(pools=pools, absences=(fails(100.0),))
    jobs = scenario().workload.with_columns(features=["ib", "big&ib", "", "", "old|ib", ""])
    assert "features" not in str(audit(scenario(cluster=cluster, workload=jobs), truth(), clean()))
    wrong = jobs.with_columns(features=["", "", "fast & ib", "", "", ""])
    message = first(clean(), scenario(cluster=cluster, workload=wrong))
    assert "j2" in message
    assert "node 1 with the features '', but requests 'fast & ib'" in message
    nothing_known = Cluster(pools=(pools[1], pools[1]), absences=(fails(100.0),))
    assert "features" not in str(audit(scenario(cluster=nothing_known, workload=wrong), truth(), clean()))


def test_gpu_types_are_kept() -> None:
    jobs = scenario().workload.with_columns(gpu_types=["", "V100|A100", "A100 | H100", "", "V100", ""])
    message = first(clean(), scenario(workload=jobs))
    assert "at 100 s" in message
    assert "j2" in message
    assert "node 0 with GPU type 'V100'" in message


def test_run_starts_and_ends_with_its_jobs() -> None:
    assert "first submission is at 0 s" in first(dataclasses.replace(clean(), start_s=-5.0))
    assert "last job ends at 190 s" in first(dataclasses.replace(clean(), end_s=200.0))
    message = first(dataclasses.replace(clean(), end_s=150.0))
    assert "at 100 s" in message
    assert "outside the run from 0 to 150 s" in message
    assert "must end after it starts" in first(dataclasses.replace(clean(), end_s=-1.0))


def test_run_ends_at_its_horizon() -> None:
    assert "horizon of 150 s" in first(
        clean(), scenario(options=scenario().options.model_copy(update={"horizon_s": 150.0}))
    )


def unfinished(log: RunLog, **changes: Any) -> RunLog:
    """j5 is not rejected but left waiting."""
    left = corrupt(log, job_status={J5: JobStatus.UNFINISHED}, job_end_s={J5: np.nan})
    return dataclasses.replace(left, **changes)


def test_a_stall_is_the_policy_s_doing() -> None:
    found = audit(scenario(), truth(), unfinished(clean(), stalled=True))
    assert found == [
        "at 190 s: the run stopped at 190 s with 1 job unfinished because no job was running and no event was due: "
        "the policy started no job. The first is job j5"
    ]


def test_a_stall_needs_a_reason() -> None:
    assert "no job is unfinished" in first(dataclasses.replace(clean(), stalled=True))
    cluster = scenario().cluster
    later = Absence(node=0, start_s=300.0, end_s=400.0, cause="maintenance")
    given = scenario(cluster=cluster.model_copy(update={"absences": (*cluster.absences, later)}))
    assert "an event was due at 300 s" in first(unfinished(clean(), stalled=True), given)


def test_horizon_leaves_jobs_unfinished() -> None:
    given = scenario(options=scenario().options.model_copy(update={"horizon_s": 190.0}))
    assert audit(given, truth(), unfinished(clean())) == []


def test_messages_are_in_time_order_and_few() -> None:
    log = corrupt(clean(), piece_rate=dict.fromkeys(range(6), 9.0), job_first_start_s={J3: 1.0})
    found = audit(scenario(), truth(), log)
    times = [float(text.split()[1]) for text in found]
    assert times == sorted(times)
    many = [Ran(J0, float(t), t + 1.0, {0: 4}, PieceEnd.PREEMPTED, rate=7) for t in range(0, 100, 2)]
    found = audit(scenario(), truth(), make_log(scenario(), many, end_s=100))
    assert len(found) == 21
    assert found[-1].startswith("and ")


# ---- restart mode delayed ----------------------------------------------------------------------------


def delayed(*pieces: Ran) -> str:
    """Return the first message about these pieces of j1 in mode delayed, or nothing."""
    options = SimulationRules(restart_s=5.0, restart_mode="delayed", horizon_s=30.0)
    given = scenario(options=options)
    waits_s = dict.fromkeys(range(6), (JobStatus.UNFINISHED, np.nan))
    log = make_log(given, pieces, waits_s, end_s=30.0)
    found = audit(given, truth(), log)
    return found[0] if found else ""


GROWS = Ran(J1, 10, 30, {0: 4}, PieceEnd.RUN_ENDED, rate=2, restart_rate=1, progress_from_s=15)
STARTS = Ran(J1, 0, 10, {0: 2}, PieceEnd.RESIZED, progress_from_s=5)


def test_delayed_restarts() -> None:
    assert delayed(STARTS, GROWS) == ""
    assert "takes 5 s" in delayed(dataclasses.replace(STARTS, progress_from_s=0.0), GROWS)
    assert ("rate 2 during its restart, but the rule says 1") in delayed(
        STARTS, dataclasses.replace(GROWS, restart_rate=2)
    )
    moved = dataclasses.replace(STARTS, end=PieceEnd.MOVED)
    on_slow = Ran(J1, 10, 30, {1: 2}, PieceEnd.RUN_ENDED, rate=0.5)
    assert delayed(moved, on_slow) == ""
    assert "takes 0 s" in delayed(moved, dataclasses.replace(on_slow, progress_from_s=15.0))


def test_delayed_restart_is_not_cut_short_by_a_move() -> None:
    moved = Ran(J1, 0, 3, {0: 2}, PieceEnd.MOVED, progress_from_s=5)
    on_slow = Ran(J1, 3, 30, {1: 2}, PieceEnd.RUN_ENDED, rate=0.5, progress_from_s=5)
    assert delayed(moved, on_slow) == ""
    assert "takes 2 s" in delayed(moved, dataclasses.replace(on_slow, progress_from_s=None))


# ---- free slots --------------------------------------------------------------------------------------


def leased(leases: list[tuple[int, int, float, float]], ends: PieceEnd = PieceEnd.COMPLETED) -> list[str]:
    """Audit one job of 4 GPUs that runs on slot 0 from 0 to 40 s, or to 20 s and on after a change of VM."""
    jobs = Workload.from_columns({"job_id": ["a"], "submit_s": [0.0], "work": [40.0], "workers": [4]})
    given = Scenario(jobs, Cluster(slots=2, catalogue=(BIG, BIG.model_copy(update={"name": "two", "gpus": 2}))))
    pieces = [Ran(0, 0, 40, {0: 4})]
    if ends is not PieceEnd.COMPLETED:
        pieces = [Ran(0, 0, 20, {0: 4}, ends), Ran(0, 20, 40, {0: 4})]
    decisions = [(time_s, EventKind.ARRIVAL, 0.0) for time_s in (0.0, 10.0, 20.0)]
    log = make_log(given, pieces, leases=leases, decisions=decisions)
    facts = Truth(jobs.work, jobs.work, np.array([False]), np.array([np.inf]))
    return audit(given, facts, log)


@pytest.mark.parametrize(
    ("leases", "words"),
    [
        ([], "at 0 s: job a on node 0, a slot without a VM"),
        ([(1, 0, 0, 40)], "at 0 s: job a on node 0, a slot without a VM"),
        ([(0, 1, 0, 40)], "node 0 holds 4 gpus, but its capacity is 2"),
        ([(0, 0, 0, 30)], "at 30 s: job a on node 0, a slot without a VM"),
        ([(0, 0, 0, 20), (0, 0, 20, 40)], "at 20 s: job a (piece 0 to 40 s on node 0) outlives the lease of node 0"),
        ([(0, 0, 0, 40), (1, 0, 0, 30), (1, 1, 20, 40)], "at 20 s: the lease of node 1 overlaps"),
        ([(0, 0, 0, 40), (1, 0, 5, 30)], "at 5 s: the lease of node 1 begins without a decision"),
        ([(0, 0, 0, 40), (1, 0, 10, 50)], "at 10 s: the lease of node 1 until 50 s is outside the run"),
        ([(0, 0, 0, 40), (1, 0, 10, 10)], "at 10 s: the lease of node 1 has no positive length"),
        ([(0, 0, 0, 40), (1, 2, 10, 20)], "at 10 s: VM type 2 does not exist; the last one is 1"),
    ],
)
def test_leases(leases: list[tuple[int, int, float, float]], words: str) -> None:
    assert leased([(0, 0, 0, 40)]) == []
    assert leased(leases)[0].startswith(words) or words in leased(leases)[0]


def test_change_of_vm_type() -> None:
    two = [(0, 0, 0.0, 20.0), (0, 0, 20.0, 40.0)]
    assert leased(two, PieceEnd.VM_CHANGED) == []
    assert "ends as moved, but what follows is not that" in leased(two, PieceEnd.MOVED)[0]


def test_fixed_nodes_have_no_leases() -> None:
    log = make_log(scenario(), [], dict.fromkeys(range(6), (JobStatus.REJECTED, 30.0)), leases=[(0, 0, 0, 5)])
    found = audit(scenario(), truth(), log)
    assert found[0] == "at 0 s: node 0 is fixed and cannot be leased"


@pytest.mark.parametrize(
    ("start_s", "end_s", "is_spared"),
    [(0.002, 0.014, False), (0.002, 0.0167, True), (0.0171, 0.0175, False)],
    ids=["long before", "as the node goes", "after it went"],
)
def test_late_pieces_end_with_a_node_only_where_the_engine_takes_the_two_times_for_one(
    start_s: float, end_s: float, is_spared: bool
) -> None:
    """Seconds since 1970: the engine joins what is 1.6 ms apart, the audit allows 3.2 ms."""
    since_1970_s = 1.6e9
    jobs = Workload.from_columns({"job_id": ["j0"], "submit_s": [since_1970_s], "work": [1.0], "workers": [1]})
    gone = Absence(node=0, start_s=since_1970_s + 0.017, end_s=since_1970_s + 0.01705)
    given = Scenario(jobs, Cluster(pools=(Pool(vm=BIG, count=1),), absences=(gone,)))
    piece = Ran(J0, since_1970_s + start_s, since_1970_s + end_s, {0: 1}, PieceEnd.PREEMPTED)
    log = make_log(given, [piece], end_s=since_1970_s + 10)
    exact = Truth(np.array([1.0]), np.array([1.0]), np.array([False]), np.array([np.inf]))
    found = [message for message in audit(given, exact, log) if "goes away then" in message]
    assert bool(found) == is_spared, found
