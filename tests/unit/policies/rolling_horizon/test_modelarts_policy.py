"""The ModelArts allocators in the simulator, by hand: widths over time, starts between decisions, what is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.plan import WaitReason
from dlsched.domain.policy import EventKind
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.policies.registry import find
from dlsched.sim.audit import audit
from dlsched.sim.engine import run_engine
from dlsched.sim.log import JobStatus, RunLog
from dlsched.sim.prepare import prepare
from dlsched.testing.scenarios import free_slots
from dlsched.workload.studies.modelarts import ModelArtsSpec, modelarts_scenario
from tests.support.elastic_scenarios import table_speed
from tests.support.sim_fakes import jobs, nodes, pieces

A, B, C, D = range(4)
KEYS = ("modelarts-optimal", "modelarts-greedy")
both = pytest.mark.parametrize("key", KEYS)
# a node alone does 1 of work a second; 2, 4 and 8 together 1.6, 2.56 and 4.096


def on_nodes(count: int, *rows: tuple[float, float, int], cluster: Cluster | None = None, **columns: Any) -> Scenario:
    """Return jobs whose worker is a node of 8 GPUs, (submit_s, work, nodes asked), at most 16 nodes each."""
    limits = {"gpus_per_worker": [8.0] * len(rows), "min_workers": [1] * len(rows), "max_workers": [16] * len(rows)}
    workload = jobs(*rows, **{**limits, **columns})
    return Scenario(workload, cluster or nodes(count), SimulationRules(), SpeedSpec(kind="scaling"))


def run(key: str, given: Scenario, **params: Any) -> RunLog:
    prepared, spec = prepare(given), find(key)
    log = run_engine(prepared, spec.build(spec.parse(params)))
    assert audit(prepared.scenario, prepared.truth, log) == []
    return log


def widths(log: RunLog, row: int) -> list[tuple[float, float, int]]:
    """Return (start_s, end_s, workers) of a row's pieces, to the microsecond."""
    return [(round(start_s, 6), round(end_s, 6), workers) for start_s, end_s, workers, _ in pieces(log, row)]


def first_widths(log: RunLog) -> list[int]:
    """Return the workers that each job starts with."""
    return [pieces(log, row)[0][2] for row in range(len(log.job_end_s))]


def told(log: RunLog, row: int) -> list[tuple[float, WaitReason]]:
    """Return since when a row was told what."""
    mine = log.wait_row == row
    columns = zip(log.wait_from_s[mine].tolist(), log.wait_reason[mine].tolist(), strict=True)
    return [(round(at_s, 6), WaitReason(code)) for at_s, code in columns]


# ---- widths over time --------------------------------------------------------------------------------------------


def test_greedy_over_time():
    log = run("modelarts-greedy", on_nodes(4, (0, 2284, 1), (100, 640, 1), (310, 460, 1)))
    # 0 s: A gets all. 300 s: A, the only one that runs, is halved for B. 600 s: A, the oldest, is halved for C.
    # 700 s: B ends (400 s x 1.6), but nobody grows until 900 s: C, the youngest, to 2, then A.
    # A does 300 x 2.56 + 300 x 1.6 + 300 + 300 x 1.6 = 2028 until 1200 s, C 300 + 100 x 1.6
    assert widths(log, A) == [(0, 300, 4), (300, 600, 2), (600, 900, 1), (900, 1200, 2), (1200, 1300, 4)]
    assert widths(log, B) == [(300, 700, 2)]
    assert widths(log, C) == [(600, 900, 1), (900, 1000, 2)]
    assert told(log, B) == [(100, WaitReason.NO_ROOM)]


def test_greedy_notes_its_scenarios():
    log = run("modelarts-greedy", on_nodes(4, (0, 2284, 1), (100, 640, 1), (310, 460, 1)))
    decided = log.decision_note != ""
    assert log.decision_s[decided].tolist() == [0, 300, 600, 900, 1200]
    assert log.decision_note[decided].tolist() == [f"scenario {number}" for number in (1, 3, 3, 2, 2)]
    assert set(log.decision_status) == {""}


def three_long() -> Scenario:
    return on_nodes(4, (0, 10_000, 1), (0, 20_000, 1), (0, 30_000, 1))


def test_optimal_over_time():
    # each needs a node; the fourth makes the most progress where the least is left, at A. When A has ended, 2 and 2
    # is the most that four nodes do for two jobs, then 4 for the last. Ends are at 10000 / 1.6 = 6250 s, and for B
    # 6300 + 13700 / 1.6: from 14,700 s on one node would end it within the step as well, but nobody can use the other.
    # C has 10000 left then, does 220 until 15000 s, and the rest at 2.56
    log = run("modelarts-optimal", three_long())
    b_ends_s = 6300 + 13_700 / 1.6
    assert widths(log, A) == [(0, 6250, 2)]
    assert widths(log, B) == [(0, 6300, 1), (6300, b_ends_s, 2)]
    c_left = 10_000 - (15_000 - b_ends_s) * 1.6
    assert widths(log, C) == [(0, 6300, 1), (6300, 15_000, 2), (15_000, round(15_000 + c_left / 2.56, 6), 4)]


def test_status_objective_and_bound_of_a_decision_are_kept():
    log = run("modelarts-optimal", three_long())
    assert log.decision_status[0] == "optimal"
    # nobody ends within 5 steps of 300 s: progress adds up to 1 + 2 + 3 + 4 + 5 = 15 times that of a step
    by_hand = 15 * 300 * (1.6 / 10_000 + 1 / 20_000 + 1 / 30_000)
    assert log.decision_objective[0] == pytest.approx(by_hand)
    assert log.decision_bound[0] == pytest.approx(by_hand, abs=1e-5)
    assert log.decision_note[0] != ""
    timers = log.decision_cause & EventKind.TIMER > 0
    assert (log.decision_status[timers] == "optimal").all()
    assert (log.decision_status[~timers] == "").all()
    assert np.isnan(log.decision_objective[~timers]).all()
    assert (log.decision_s[timers] % 300 == 0).all()


def test_steps_and_period_are_those_asked_for():
    log = run("modelarts-optimal", three_long(), steps=2, every_s=600)
    assert log.decision_objective[0] == pytest.approx((1 + 2) * 600 * (1.6 / 10_000 + 1 / 20_000 + 1 / 30_000))
    # at 6000 s A has 400 left: one node ends it within the step as two do, so the other one goes to B
    assert widths(log, A) == [(0, 6000, 2), (6000, 6400, 1)]
    assert [pieces(log, B)[0][:3], pieces(log, B)[1][2]] == [(0, 6000, 1), 2]


def test_every_method_decides_the_same():
    logs = [run("modelarts-optimal", three_long(), method=method) for method in ("x-model", "columns", "auto")]
    for log in logs:
        assert log.decision_objective == pytest.approx(logs[0].decision_objective, abs=1e-5, nan_ok=True)
        assert log.job_end_s == pytest.approx(logs[0].job_end_s)


# ---- first come first served between decisions -------------------------------------------------------------------


@both
def test_between_decisions_the_head_of_the_queue_gets_what_is_free(key: str):
    # as in Fig. 8: A ends at 129 s and releases 8 nodes, which B, there since 62 s, gets at once; C is next
    rows = (0, 129 * 4.096, 1), (62, 100 * 4.096, 1), (70, 50 * 4.096, 1)
    log = run(key, on_nodes(8, *rows))
    assert [widths(log, row) for row in (A, B, C)] == [[(0, 129, 8)], [(129, 229, 8)], [(229, 279, 8)]]
    assert told(log, C) == [(70, WaitReason.BEHIND), (129, WaitReason.NO_ROOM)]


@both
def test_between_decisions_widths_are_powers_of_two_within_cap_and_room(key: str):
    rows = (0, 250, 1), (10, 150, 1), (20, 90, 1)
    log = run(key, on_nodes(7, *rows))
    assert first_widths(log) == [4, 2, 1]
    capped = run(key, on_nodes(7, *rows), cap=2)
    assert first_widths(capped) == [2, 2, 2]


@both
def test_nobody_grows_between_decisions(key: str):
    # B ends at 110 s; A goes on with 4 until the decision at 300 s
    log = run(key, on_nodes(6, (0, 300 * 2.56 + 100, 1), (10, 160, 1), max_workers=[16, 2]), cap=4)
    assert widths(log, A) == [(0, 339.0625, 4)]  # 300 + 100 / 2.56


@both
def test_the_head_that_finds_no_room_holds_up_the_others_unless_it_can_never_run_now(key: str):
    # B needs 4 of the 2 nodes that are free, so C waits behind it
    rows = (0, 200, 2), (10, 200, 4), (20, 50, 1)
    limits: dict[str, Any] = {"min_workers": [2, 4, 1], "max_workers": [2, 4, 1]}
    log = run(key, on_nodes(4, *rows, **limits))
    assert told(log, C)[0] == (20, WaitReason.BEHIND)
    assert log.job_first_start_s[C] >= log.job_first_start_s[B]
    # while a node is away four do not exist: B is passed over
    away = nodes(4, absences=[Absence(node=3, start_s=5, end_s=500, cause="maintenance")])
    log = run(key, on_nodes(4, *rows, cluster=away, **limits))
    assert widths(log, C) == [(20, 70, 1)]
    assert log.job_first_start_s[B] == 500


# ---- minima above the nodes, jobs that keep their width -----------------------------------------------------------


def test_minima_above_the_nodes_keep_who_runs_and_let_the_queue_in_by_order():
    # 1 + 2 nodes are needed by A and B; C needs 2 more of 4: it waits, and D, which would fit, waits behind it
    rows = (0, 30_000, 1), (0, 10_000, 2), (0, 10_000, 2), (0, 10_000, 1)
    log = run("modelarts-optimal", on_nodes(4, *rows, min_workers=[1, 2, 2, 1]))
    assert first_widths(log)[:2] == [2, 2]  # the fourth node goes to A: B would need two more
    assert told(log, C)[0] == (0, WaitReason.NO_ROOM)
    assert told(log, D)[0] == (0, WaitReason.BEHIND)
    assert log.job_first_start_s[C] <= log.job_first_start_s[D]
    assert log.decision_status[0] == "optimal"


def test_more_jobs_than_nodes_run_one_node_each():
    rows = [(0.0, 1000.0 * (1 + number), 1) for number in range(5)]
    log = run("modelarts-optimal", on_nodes(3, *rows))
    assert first_widths(log) == [1, 1, 1, 1, 1]
    # each of the others starts when one before it ends, on its node
    assert log.job_first_start_s == pytest.approx([0, 0, 0, 1000, 2000])


def test_jobs_that_end_soon_keep_their_width():
    assert widths(run("modelarts-optimal", three_long(), min_eta_s=100_000), C) == [(0, 30_000, 1)]
    # at 6300 s B has 13,700 s left and keeps its node, C has 23,700 s and gets a second one. It keeps these two, also
    # when B has ended at 20,000 s: from 7200 s on it has less than 14,000 s left. It ends at 6300 + 23700 / 1.6
    log = run("modelarts-optimal", three_long(), min_eta_s=14_000)
    assert widths(log, B) == [(0, 20_000, 1)]
    assert widths(log, C) == [(0, 6300, 1), (6300, 21_112.5, 2)]


# ---- any cluster -------------------------------------------------------------------------------------------------


@both
def test_rigid_jobs_have_one_width(key: str):
    given = Scenario(jobs((0, 100, 3), (0, 50, 5), (10, 20, 6)), nodes(1, 8))
    log = run(key, given)
    assert [widths(log, row) for row in (A, B, C)] == [[(0, 100, 3)], [(0, 50, 5)], [(100, 120, 6)]]


@both
def test_a_width_that_is_not_faster_is_never_used(key: str):
    given = Scenario(
        jobs((0, 10, 1), profile=["net"]),
        nodes(8, 1),
        SimulationRules(),
        table_speed({"net": (1.0, 2.0, 2.5, 2.0, 1, 1, 1, 3.0)}),
    )
    # speed-up 2 with two, 2 with four, 3 with eight workers
    assert first_widths(run(key, given)) == [8]
    assert first_widths(run(key, given, cap=7)) == [2]


@both
def test_workers_of_different_size_share_an_amount(key: str):
    # 8 GPUs: A's workers take 2, B's half a GPU; both at once fill them: 2 x 2 + 8 x 0.5
    workload = jobs((0, 1000, 1), (0, 1000, 1), gpus_per_worker=[2.0, 0.5], max_workers=[2, 8])
    log = run(key, Scenario(workload, nodes(1, 8), SimulationRules(), SpeedSpec(kind="scaling")))
    assert first_widths(log) == [2, 8]


def test_the_model_counts_workers_of_different_size_in_parts_of_a_gpu():
    # of 4 GPUs A needs 2 for its one worker, so that B gets the other 2 for four workers of half a GPU
    workload = jobs((0, 1000, 1), (0, 1000, 1), gpus_per_worker=[2.0, 0.5], max_workers=[2, 8])
    log = run("modelarts-optimal", Scenario(workload, nodes(1, 4), SimulationRules(), SpeedSpec(kind="scaling")))
    assert first_widths(log) == [1, 4]
    assert log.decision_objective[0] == pytest.approx(
        sum(min(1, t * 0.3) + min(1, t * 0.3 * 2.56) for t in range(1, 6))
    )


def test_partitions_are_decided_apart_and_told_together():
    vm = VmType(name="vm", gpus=4)
    cluster = Cluster(pools=(Pool(vm=vm, count=1, partition="x"), Pool(vm=vm, count=1, partition="y")))
    workload = jobs((0, 1e5, 1), (0, 1e5, 1), partition=["x", "y"])
    log = run("modelarts-optimal", Scenario(workload, cluster, SimulationRules(), SpeedSpec(kind="scaling")))
    assert first_widths(log) == [4, 4]
    # two jobs of 1e5 s at a rate of 2.56, each alone with 4 GPUs
    assert log.decision_objective[0] == pytest.approx(2 * 15 * 300 * 2.56 / 1e5)


@both
def test_free_slots_are_opened_and_released(key: str):
    given = Scenario(jobs((0, 100, 1), (500, 100, 1)), free_slots(2), SimulationRules(), SpeedSpec(kind="scaling"))
    log = run(key, given)
    # the middle type is the cheapest per GPU: four workers on one, the cap of 4 x the request
    assert first_widths(log) == [4, 4]
    assert (log.job_status == JobStatus.COMPLETED).all()
    assert log.lease_end_s[log.lease_start_s < 100].max() == pytest.approx(100 / 2.56)
    with pytest.raises(InputError, match="vm_type"):
        run(key, given, vm_type="no-such")


@both
def test_a_slot_that_empties_at_a_decision_takes_another_type_without_deciding_twice(key: str):
    # A holds a VM of 4 GPUs until 300 s, when a decision is due; B needs 8 on the same slot
    log = run(key, Scenario(jobs((0, 300, 4), (10, 50, 8)), free_slots(1)))
    assert [widths(log, row) for row in (A, B)] == [[(0, 300, 4)], [(300, 350, 8)]]
    assert np.round(log.decision_s, 6).tolist() == [0, 10, 300, 300, 350]
    assert (log.decision_note != "").tolist() == [True, False, False, False, False]


@both
def test_a_node_that_fails_sends_its_job_back_to_the_queue(key: str):
    away = nodes(2, absences=[Absence(node=0, start_s=100, end_s=5000, cause="fails")])
    log = run(key, on_nodes(2, (0, 1000, 1), cluster=away))
    # 100 s on two nodes, then on the one that is left; at 300 s nothing changes
    assert widths(log, A) == [(0, 100, 2), (100, 100 + 840, 1)]


# ---- a longer run ------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("variant", ["plain", "harsh"])
def test_sixty_jobs_of_the_synthetic_trace_with_clean_books(key: str, variant: str):
    harsh = SimulationRules(
        restart_s=15, restart_mode="delayed", estimate_error=0.1, bug_share=0.15, bug_within_s=300, cancel_share=0.1
    )
    options = harsh if variant == "harsh" else SimulationRules()
    given = modelarts_scenario(ModelArtsSpec(nodes=12, jobs=60, load_scale=4), 3, options=options)
    log = run(key, given)
    assert not log.stalled
    assert JobStatus.UNFINISHED not in log.job_status
    assert set(log.piece_workers.tolist()) <= {1, 2, 4, 8, 16}
    if key == "modelarts-optimal":
        decided = log.decision_status != ""
        assert set(log.decision_status[decided]) == {"optimal"}
        gap = log.decision_bound[decided] - log.decision_objective[decided]
        assert (gap <= 1e-5 * np.maximum(1, log.decision_bound[decided])).all()
