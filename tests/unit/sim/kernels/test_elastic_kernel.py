"""When the loop of the elastic policies may run, in which bites it runs, and how it writes its log."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.plan import Share
from dlsched.domain.policy import ElasticRule
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find
from dlsched.sim import kernels
from dlsched.sim.kernels import elastic
from dlsched.sim.kernels.elastic.finish import run_log
from dlsched.sim.kernels.elastic.start import new_run
from dlsched.sim.kernels.elastic.tables import Count
from dlsched.sim.ledger import Piece, RunLedger
from dlsched.sim.log import JobStatus, PieceEnd, RunLog
from dlsched.sim.prepare import prepare
from dlsched.sim.simulate import Cancelled, run_policy
from dlsched.testing.logs import first_difference
from tests.support.elastic_scenarios import one_gpu_nodes, table_speed, training_stream
from tests.support.sim_fakes import jobs, pieces, scenario

HELL = ElasticRule("hell", fills=True)
TWO = jobs((0, 10, 1), (1, 10, 2))
ONES = one_gpu_nodes(4)
LOGS = ("pieces", "shares", "share_workers", "decisions", "waits")


def two_pools(**other: Any) -> Cluster:
    pools = (Pool(vm=VmType(name="a", gpus=1), count=2), Pool(vm=VmType(name="b", gpus=1, **other), count=2))
    return Cluster(pools=pools)


@pytest.mark.parametrize(
    ("given", "runs"),
    [
        (scenario(TWO, ONES), True),
        (scenario(TWO, ONES, speed="scaling"), True),
        (scenario(TWO, one_gpu_nodes(4, speed=2.0)), True),
        (scenario(TWO, ONES, estimate_error=0.5, bug_share=0.5), True),
        (scenario(TWO.with_columns(gpu_types=["GPU", ""]), ONES), True),
        (scenario(TWO.with_columns(partition=["a", "b"]), ONES), True),
        (scenario(TWO.with_columns(gpus_per_worker=[2.0, 1.5]), one_gpu_nodes(4, gpus=2)), True),
        (scenario(TWO.with_columns(cpus_per_worker=[3.0, 3.0]), Cluster(
            pools=(Pool(vm=VmType(name="n", gpus=8, cpus=4), count=4),))), True),
        (scenario(TWO, one_gpu_nodes(4, gpus=2)), True),
        (scenario(TWO.with_columns(gpus_per_worker=[1.0, 0.5]), one_gpu_nodes(4, gpus=2)), False),
        (scenario(TWO.with_columns(gpu_types=["GPU", ""]), one_gpu_nodes(4, gpus=2)), False),
        (scenario(TWO.with_columns(gpus_per_worker=[1.0, 0.5]), ONES), False),
        (scenario(TWO.with_columns(gpus_per_worker=[0.0, 1.0], cpus_per_worker=[1.0, 0.0]), ONES), False),
        (scenario(TWO.with_columns(gpu_types=["A|B", ""]), ONES, oversize="drop"), True),
        (scenario(TWO, ONES, restart_s=1.0), False),
        (scenario(TWO, ONES, horizon_s=5.0), False),
        (scenario(TWO, ONES, cancel_share=1.0), False),
        (scenario(TWO, two_pools()), True),
        (scenario(TWO, two_pools(speed=2.0)), False),
        (scenario(TWO.with_columns(partition=["p", "p"]), Cluster(
            pools=(Pool(vm=VmType(name="a", gpus=1), count=4, partition="p"),))), False),
        (scenario(TWO, Cluster(slots=4, catalogue=(VmType(name="a", gpus=1),))), False),
        (scenario(TWO, Cluster(pools=ONES.pools, absences=(Absence(node=0, start_s=5.0),))), False),
    ],
)  # fmt: skip
def test_eligible(given: Scenario, runs: bool):
    spec = find("hell-malleable")
    assert kernels.eligible(prepare(given), spec.build(spec.parse(None))) is runs


def test_a_job_kept_off_the_gpu_type_is_for_the_engine():
    spec = find("hell-malleable")
    prepared = prepare(scenario(TWO, ONES))
    kept_off = prepared.scenario.replace(workload=TWO.with_columns(gpu_types=["A", "GPU"]))
    assert not elastic.eligible(type(prepared)(kept_off, prepared.truth), spec.build(spec.parse(None)))


def test_list_policies_are_not_for_this_loop():
    spec = find("fifo")
    assert not elastic.eligible(prepare(scenario(TWO, ONES)), spec.build(spec.parse(None)))


def run(prepared: Any, rule: ElasticRule = HELL) -> RunLog:
    return kernels.run_kernel(prepared, rule)


def test_by_hand():
    """Two nodes are worth 1.4 of one, so jobs want one: "a" is also given the other but while "b" runs there."""
    workload = jobs((0, 14, 1), (5, 3, 1), profile=np.array(["p", "p"], dtype=object))
    log = run(prepare(Scenario(workload, one_gpu_nodes(2), speed=table_speed({"p": (1.0, 1.4)}))))
    assert pieces(log, 0) == [
        (0, 5, 2, PieceEnd.RESIZED),
        (5, 8, 1, PieceEnd.RESIZED),
        (8, pytest.approx(8 + 4 / 1.4), 2, PieceEnd.COMPLETED),
    ]
    assert pieces(log, 1) == [(5, 8, 1, PieceEnd.COMPLETED)]
    assert log.share_node.tolist() == [0, 1, 0, 1, 0, 1]
    assert log.wait_row.size == 0
    assert np.isnan(log.decision_cpu_s).all()


def test_the_kernel_is_taken_where_it_can_stand_in():
    spec, prepared = find("hell-malleable"), prepare(training_stream(jobs=30, nodes=5))
    log = run_policy(prepared, spec.build(spec.parse(None)))
    assert np.isnan(log.decision_cpu_s).all()
    by_engine = run_policy(prepared, spec.build(spec.parse(None)), use_kernel=False)
    assert np.isfinite(by_engine.decision_cpu_s).all()
    assert first_difference(log, by_engine) == ""


def test_bites_make_no_difference(monkeypatch: pytest.MonkeyPatch):
    prepared = prepare(training_stream(jobs=60, nodes=7))
    whole = run(prepared)
    monkeypatch.setattr(elastic, "INSTANTS_A_CALL", 3)
    assert first_difference(whole, run(prepared)) == ""


def test_a_log_that_gets_full_grows(monkeypatch: pytest.MonkeyPatch):
    prepared = prepare(training_stream(jobs=60, nodes=7))
    whole = run(prepared)

    def short_of_room(*given: Any) -> Any:
        begun = new_run(*given)
        return begun._replace(**{n: getattr(begun, n)[:1] for n in LOGS})

    monkeypatch.setattr(elastic, "new_run", short_of_room)
    assert first_difference(whole, run(prepared)) == ""


def test_progress_is_told_and_can_stop_the_run(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(elastic, "INSTANTS_A_CALL", 5)
    prepared = prepare(training_stream(jobs=60, nodes=7))
    told: list[float] = []
    kernels.run_kernel(prepared, HELL, lambda share, text: told.append(share))
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert len(told) > 10

    def stop(share: float, text: str) -> None:
        if share > 0.2:
            raise Cancelled

    with pytest.raises(Cancelled):
        kernels.run_kernel(prepared, HELL, stop)


def test_a_piece_without_length_leaves_its_end_to_the_one_before():
    """Two jobs end at 100 s; "d" arrives at the last tick of that instant, "a" is due one tick later.

    "a" gets a second node at that instant, with which it ends at once: its one piece is not resized but completed.
    """
    last_s = 100 + 1e-9
    workload = jobs(
        (0, float(np.nextafter(last_s, np.inf)), 1),
        (0, 100, 1),
        (0, 100, 1),
        (last_s, 50, 1),
        profile=np.array(["p"] * 4, dtype=object),
    )
    prepared = prepare(Scenario(workload, one_gpu_nodes(3), speed=table_speed({"p": (1.0, 4.0)})))
    spec = find("waterfill")
    by_engine = run_policy(prepared, spec.build(spec.parse(None)), use_kernel=False)
    by_kernel = run_policy(prepared, spec.build(spec.parse(None)))
    assert first_difference(by_engine, by_kernel) == ""
    assert pieces(by_kernel, 0) == [(0, last_s, 1, PieceEnd.COMPLETED)]
    assert by_kernel.decision_s.tolist() == [0, last_s, last_s, by_kernel.end_s]


# ---- pieces without length -----------------------------------------------------------------------------------

ends = st.sampled_from([PieceEnd.RESIZED, PieceEnd.PREEMPTED])
steps = st.tuples(
    st.sampled_from([0.0, 0.0, 1.0]), st.sampled_from([0.0, 1.0]), st.sets(st.integers(0, 2), min_size=1), ends
)


@settings(max_examples=200)
@given(drawn=st.lists(steps, min_size=1, max_size=8))
def test_pieces_are_closed_as_the_ledger_closes_them(drawn: list[tuple[float, float, set[int], PieceEnd]]):
    """Each step waits (only after the job was stopped), then holds some nodes for 0 or 1 s."""
    from dlsched.sim.kernels.elastic.log_writer import close_piece

    log = new_run(prepare(scenario(jobs((0, 10, 1)), one_gpu_nodes(3))), HELL)
    log = log._replace(pieces=np.zeros(9, log.pieces.dtype), shares=np.zeros(30, dtype=np.int64))
    log = log._replace(share_workers=np.ones(30, dtype=np.int64))
    ledger, now_s, before = RunLedger(1), 0.0, PieceEnd.PREEMPTED
    for gap_s, length_s, held, end in drawn:
        start_s = now_s + (gap_s if before == PieceEnd.PREEMPTED else 0.0)
        now_s, before = start_s + length_s, end
        first, count = int(log.counts[Count.SHARES]), len(held)
        log.shares[first : first + count] = sorted(held)
        log.counts[Count.SHARES] += count
        job = log.jobs[0]
        job["start_s"], job["rate"] = start_s, 0.5
        job["held"], job["first_share"], job["num_shares"] = count, first, count
        shares = tuple(Share(node, 1) for node in sorted(held))
        ledger.close_piece(Piece(0, start_s, now_s, count, 0, 0.5, 0.0, start_s, end, 0.0, shares))
        close_piece(log, 0, now_s, int(end))
    ledger.end_job(0, JobStatus.COMPLETED, now_s)
    log.jobs["end_s"], log.jobs["status"], log.counts[Count.ENDED] = now_s, int(JobStatus.COMPLETED), 1
    assert first_difference(ledger.finish(0.0, now_s, stalled=False), run_log(log)) == ""
    assert log.jobs["done"][0] == 0.5 * sum(length_s for _, length_s, _, _ in drawn)
