"""The everyday policies on schedules worked out by hand; one node of 8 GPUs unless said otherwise."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.plan import WaitReason
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find
from dlsched.sim.engine import run_engine
from dlsched.sim.log import PieceEnd, RunLog
from dlsched.sim.prepare import prepare
from dlsched.testing.scenarios import fixed_nodes
from tests.support.sim_fakes import jobs, nodes, pieces, scenario

NAN = float("nan")


def run(key: str, given: Scenario, believed: list[float] | None = None, **params: Any) -> RunLog:
    spec, prepared = find(key), prepare(given)
    if believed is not None:
        truth = dataclasses.replace(prepared.truth, believed_work=np.array(believed))
        prepared = dataclasses.replace(prepared, truth=truth)
    return run_engine(prepared, spec.build(spec.parse(params)))


def starts(log: RunLog) -> list[float]:
    return list(log.job_first_start_s)


def reasons(log: RunLog, row: int) -> list[tuple[float, WaitReason]]:
    mine = log.wait_row == row
    return [(t, WaitReason(c)) for t, c in zip(log.wait_from_s[mine], log.wait_reason[mine], strict=True)]


def spans(log: RunLog, row: int) -> list[tuple[float, float]]:
    return [piece[:2] for piece in pieces(log, row)]


MIXED = ((0, 100, 6), (0, 50, 4), (0, 10, 2))


def test_fifo_stops_at_the_first_that_does_not_fit():
    log = run("fifo", scenario(jobs(*MIXED)))
    assert starts(log) == [0, 100, 100]
    assert reasons(log, 1) == [(0, WaitReason.NO_ROOM)]
    assert reasons(log, 2) == [(0, WaitReason.BEHIND)]


def test_fifo_with_skip_goes_on_past_it():
    log = run("fifo-skip", scenario(jobs(*MIXED)))
    assert starts(log) == [0, 100, 0]


def test_sjf_starts_the_shortest_and_never_stops_a_job():
    log = run("sjf", scenario(jobs(*MIXED)))
    assert starts(log) == [50, 0, 0]
    assert len(log.piece_row) == 3


def test_sjf_goes_by_believed_run_times():
    log = run("sjf", scenario(jobs((0, 10, 8), (0, 20, 8))), believed=[30, 20])
    assert starts(log) == [20, 0]


def test_srtf_stops_the_longer_job():
    log = run("srtf", scenario(jobs((0, 100, 8), (10, 20, 8), (10, 95, 8))))
    assert spans(log, 0) == [(0, 10), (30, 120)]
    assert spans(log, 1) == [(10, 30)]
    assert reasons(log, 0) == [(10, WaitReason.PREEMPTED)]
    assert reasons(log, 2) == [(10, WaitReason.NO_ROOM)]


def test_srtf_does_not_move_what_stays_selected():
    """c is selected, too: 3 + 2 + 3 GPUs of 8; but 2 and 1 are free, and nobody is moved for it."""
    log = run("srtf", scenario(jobs((0, 100, 2), (0, 90, 3), (10, 5, 3)), fixed_nodes(4, 4)))
    assert spans(log, 0) == [(0, 100)]
    assert starts(log)[2] == 90
    assert reasons(log, 2) == [(10, WaitReason.SPLIT)]


def test_what_the_selected_cannot_use_goes_back_to_the_stopped():
    """d (2 GPUs) is selected before c and e, whose GPUs lie on two nodes: d cannot use them, c and e keep them."""
    given = scenario(jobs((0, 50, 3), (0, 60, 3), (0, 200, 1), (0, 210, 1), (10, 5, 2)), fixed_nodes(4, 4))
    log = run("srtf", given)
    assert spans(log, 2) == [(0, 200)]
    assert spans(log, 3) == [(0, 210)]
    assert starts(log)[4] == 50


def test_a_stopped_job_moves_where_its_nodes_are_taken():
    """Three nodes of 4. At 10 node 0 holds a (1 GPU), node 1 b and c (2 each), node 2 nothing.

    x, y, a and b are selected (2 + 6 + 1 + 2 of 12 GPUs), c is stopped. x takes c's GPUs on node 1; y wants two
    empty nodes and waits; so c goes on where the rule finds room, on node 0.
    """
    given = scenario(
        jobs((0, 5, 3), (0, 50, 1), (0, 60, 2), (0, 200, 2), (10, 20, 2), (10, 30, 6)), fixed_nodes(4, 4, 4)
    )
    log = run("srtf", given)
    assert pieces(log, 3) == [(0, 10, 2, PieceEnd.MOVED), (10, 200, 2, PieceEnd.COMPLETED)]
    first = log.share_first[np.flatnonzero(log.piece_row == 3)]
    assert list(log.share_node[first]) == [1, 0]
    assert starts(log)[4:] == [10, 60]
    assert reasons(log, 5) == [(10, WaitReason.NO_ROOM), (30, WaitReason.SPLIT)]  # 5 and then 7 GPUs are free


def test_las_takes_turns_by_the_quantum():
    log = run("las", scenario(jobs((0, 100, 8), (0, 100, 8))), quantum_s=60)
    assert spans(log, 0) == [(0, 60), (120, 160)]
    assert spans(log, 1) == [(60, 120), (160, 200)]


def test_las_quanta_lie_on_multiples_and_only_while_somebody_waits():
    log = run("las", scenario(jobs((7, 100, 8), (30, 10, 8), (200, 50, 8))), quantum_s=60)
    # b holds nothing yet when it comes at 30, so it goes first at once; alone, a is not asked about at 60, 120, 180
    assert list(log.decision_s) == [7, 30, 40, 117, 200, 250]


def test_dlas_moves_a_job_down_at_the_crossing():
    log = run("dlas", scenario(jobs((0, 100, 8), (0, 5, 8), (3, 20, 8))), thresholds_gpu_s=(80,))
    assert spans(log, 1) == [(10, 15)]
    assert spans(log, 2) == [(15, 25), (115, 125)]  # it crosses, too; in the second queue a is first
    assert spans(log, 0) == [(0, 10), (25, 115)]


def test_dlas_looks_again_only_where_a_job_falls_behind_one_that_waits():
    log = run("dlas", scenario(jobs((0, 200, 8), (60, 60, 8))), thresholds_gpu_s=(80, 400, 4000))
    # a is in the third queue when b comes; that b leaves the first at 70 sets it behind nobody
    assert spans(log, 0) == [(0, 60), (110, 250)]
    assert spans(log, 1) == [(60, 110), (250, 260)]
    assert list(log.decision_s) == [0, 60, 110, 250, 260]


def test_edf_and_priority_put_jobs_without_a_value_last():
    three = jobs((0, 10, 8), (0, 10, 8), (0, 10, 8), due_s=[NAN, 90, 50], priority=[NAN, 1, 2])
    for key in ("edf", "priority"):
        log = run(key, scenario(three))
        assert starts(log) == [20, 10, 0]
        assert reasons(log, 1) == [(0, WaitReason.NO_ROOM)]
        assert reasons(log, 0) == [(0, WaitReason.BEHIND), (10, WaitReason.NO_ROOM)]


def test_edf_is_head_of_line():
    log = run("edf", scenario(jobs((0, 10, 6), (1, 10, 4), (1, 5, 2), due_s=[10, 20, 30])))
    assert starts(log) == [0, 10, 10]


def test_easy_backfills_what_ends_before_the_shadow_time():
    log = run("easy-backfill", scenario(jobs((0, 100, 6), (1, 50, 8), (2, 98, 2), (2, 99, 2))))
    assert starts(log) == [0, 100, 2, 150]


def test_easy_keeps_the_heads_gpus():
    log = run("easy-backfill", scenario(jobs((0, 100, 6), (1, 50, 8), (2, 99, 2))))
    assert starts(log) == [0, 100, 150]
    assert reasons(log, 1) == [(1, WaitReason.NO_ROOM)]
    assert reasons(log, 2) == [(2, WaitReason.RESERVED), (100, WaitReason.NO_ROOM)]


def test_easy_backfills_long_jobs_beside_the_head():
    """At 100 the head takes 6 of 8 GPUs: one of the two long jobs of 2 GPUs has room beside it, for good."""
    log = run("easy-backfill", scenario(jobs((0, 100, 4), (1, 50, 6), (2, 500, 2), (2, 500, 2))))
    assert starts(log) == [0, 100, 2, 150]
    assert reasons(log, 3)[0] == (2, WaitReason.RESERVED)


def test_easy_counts_restarts_among_the_run_times():
    """a ends at 105: c, 54 s and a restart of 5 s, would end at 109, so only d with 45 s may go ahead of b."""
    given = scenario(jobs((0, 100, 6), (1, 50, 8), (50, 54, 2), (51, 45, 2)), restart_s=5)
    assert starts(run("easy-backfill", given)) == [0, 105, 160, 51]
    # at 2 a is still in its restart: it ends at 105, not at 102, so that c may run until 104
    given = scenario(jobs((0, 100, 6), (1, 50, 8), (2, 97, 2)), restart_s=5)
    assert starts(run("easy-backfill", given)) == [0, 105, 2]


def test_easy_counts_an_overrun_job_as_ending_now():
    """a should have ended at 10, so at 20 the head's shadow time is 20 and nothing can be filled in."""
    given = scenario(jobs((0, 100, 6), (20, 10, 8), (20, 5, 2)))
    assert starts(run("easy-backfill", given, believed=[10, 10, 5])) == [0, 100, 110]
    assert starts(run("easy-backfill", given, believed=[100, 10, 5])) == [0, 100, 20]


def test_easy_with_nodes_the_head_needs_whole_nodes():
    """Two nodes of 4. The head wants 8: both nodes empty, at 100. c ends at 90 and may start, d may not."""
    given = scenario(jobs((0, 100, 4), (1, 10, 8), (2, 88, 4), (3, 500, 1)), fixed_nodes(4, 4))
    assert starts(run("easy-backfill", given)) == [0, 100, 2, 110]


def test_drf_serves_the_user_with_the_lowest_share():
    given = scenario(jobs((0, 10, 4), (0, 10, 4), (0, 10, 4), user=["ann", "ann", "bob"]))
    assert starts(run("drf", given)) == [0, 10, 0]
    grouped = scenario(jobs((0, 10, 4), (0, 10, 4), (0, 10, 4), group=["ann", "ann", "bob"]))
    assert starts(run("drf", grouped)) == [0, 10, 0]
    assert starts(run("drf", scenario(jobs((0, 10, 4), (0, 10, 4), (0, 10, 4))))) == [0, 0, 10]


def test_drf_counts_what_is_held_and_skips_what_does_not_fit():
    given = scenario(
        jobs((0, 100, 5), (1, 10, 3), (1, 10, 4), (1, 10, 1), (1, 9, 2), user=["ann", "ann", "bob", "bob", "bob"])
    )
    # at 1 ann holds 5 of 8: bob is asked first, his 4 do not fit, 1 and 2 do; ann's 3 fit at 11, bob's 4 at 100
    assert starts(run("drf", given)) == [0, 11, 100, 1, 1]


def test_drf_adds_up_resources_before_it_takes_the_dominant_one():
    """ann holds 4 of 10 GPUs and 3 of 8 CPUs: her share is 2/5, not the sum; bob holds 5 of 10 GPUs: ann goes first."""
    need = {"gpus_per_worker": [1, 0, 1, 1, 1], "cpus_per_worker": [0, 1, 0, 0, 0]}
    cluster = nodes(1, 10, cpus=8)
    given = scenario(
        jobs(
            (0, 50, 4), (0, 50, 3), (0, 50, 5), (1, 9, 1), (1, 9, 1), user=["ann", "ann", "bob", "bob", "ann"], **need
        ),
        cluster,
    )
    assert starts(run("drf", given)) == [0, 0, 0, 10, 1]


def test_drf_shares_that_are_equal_are_a_tie_however_they_were_added_up():
    """3/10 and 1/10 + 1/10 + 1/10 differ in the last bit; the tie goes to the earlier job, ann's."""
    held = [((0, 50, 3), "bob")] + [((0, 50, 1), "ann")] * 3
    both = [((1, 9, 4), "ann"), ((1, 9, 4), "bob")]
    rows, users = zip(*held, *both, strict=True)
    assert starts(run("drf", scenario(jobs(*rows, user=list(users)), nodes(1, 10))))[4:] == [1, 10]


def test_drf_knows_a_job_without_user_by_its_group():
    who = {"user": ["", "", "", ""], "group": ["red", "red", "blue", "red"]}
    given = scenario(jobs((0, 50, 4), (1, 9, 4), (1, 9, 4), (1, 9, 4), **who))
    assert starts(run("drf", given)) == [0, 10, 1, 19]


def test_no_node_of_the_right_kind():
    cluster = Cluster(
        pools=(Pool(vm=VmType(name="a", gpu_type="A"), count=1), Pool(vm=VmType(name="b", gpu_type="B"), count=1)),
        absences=(Absence(node=1, start_s=0, end_s=50),),
    )
    log = run("fifo-skip", scenario(jobs((0, 10, 1), (0, 10, 8), gpu_types=["B", "A"]), cluster))
    assert starts(log) == [50, 0]
    assert reasons(log, 0) == [(0, WaitReason.NO_NODE)]


def test_each_partition_queues_for_itself():
    cluster = Cluster(pools=tuple(Pool(vm=VmType(name="vm"), count=1, partition=name) for name in ("", "own")))
    given = scenario(
        jobs((0, 100, 8), (0, 100, 8), (0, 10, 8), (0, 10, 1), partition=["own", "own", "", "elsewhere"]), cluster
    )
    assert starts(run("fifo", given)) == [0, 100, 0, 10]


def test_partitions_that_share_a_node_share_a_queue():
    """Nodes 0 and 1 are in x, node 1 in y too; b needs both, so c of y waits behind it under FIFO, not under EASY."""
    pools = (Pool(vm=VmType(name="vm"), count=1, partition="x"), Pool(vm=VmType(name="vm"), count=1, partition="x|y"))
    columns = {"partition": ["x", "x", "y", "y"]}
    given = scenario(jobs((0, 100, 8), (1, 10, 16), (2, 50, 8), (3, 100, 8), **columns), Cluster(pools=pools))
    assert starts(run("fifo", given)) == [0, 100, 110, 160]
    assert starts(run("easy-backfill", given)) == [0, 100, 2, 110]


def test_a_partition_that_no_node_has_queues_with_the_open_jobs():
    cluster = Cluster(pools=tuple(Pool(vm=VmType(name="vm"), count=1, partition=name) for name in ("", "own")))
    given = scenario(jobs((0, 10, 6), (0, 10, 8), (0, 10, 1), partition=["", "", "elsewhere"]), cluster)
    assert starts(run("fifo", given)) == [0, 10, 20]


def test_a_job_that_has_run_again_is_no_longer_called_stopped():
    """c stops b from 10 to 15; at 50 b loses its node, and then the GPUs are lacking."""
    lost = Absence(node=1, start_s=50, end_s=60)
    given = scenario(jobs((0, 100, 8), (0, 100, 8), (10, 5, 8)), fixed_nodes(8, 8, absences=(lost,)))
    log = run("srtf", given)
    assert spans(log, 1)[:2] == [(0, 10), (15, 50)]
    assert reasons(log, 1) == [(10, WaitReason.PREEMPTED), (50, WaitReason.NO_ROOM)]


@pytest.mark.parametrize("key", ["fifo-skip", "sjf", "drf", "easy-backfill"])
def test_elastic_jobs_get_their_request(key: str):
    given = scenario(jobs((0, 10, 2), min_workers=[1], max_workers=[8]), nodes(), speed="scaling")
    assert pieces(run(key, given), 0) == [(0, 10, 2, 0)]
