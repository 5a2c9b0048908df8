"""PD-ORS and OASiS in the simulator, by hand: what is booked when, who is turned away, and what happens to bookings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.cluster import Absence
from dlsched.domain.plan import Plan, WaitReason
from dlsched.domain.state import State
from dlsched.domain.utility import utility_at
from dlsched.metrics.summary import summarise
from dlsched.policies.primal_dual.online import commit
from dlsched.policies.primal_dual.policy import BookingPolicy
from dlsched.policies.registry import find
from dlsched.sim.log import JobStatus, PieceEnd
from dlsched.sim.prepare import prepare
from dlsched.testing.scenarios import slotted
from tests.support.booked_jobs import SLOT_S, booked, cluster, in_slots, machines_of, pieces, run, statuses, told
from tests.support.known import known

A, B, C = range(3)
DONE, REJECTED = JobStatus.COMPLETED, JobStatus.REJECTED
ENDED, LEFT = PieceEnd.COMPLETED, PieceEnd.PREEMPTED
FOREVER = 1e6


def away(node: int, begin: float, end: float, cause: Any = "maintenance") -> Absence:
    """Return an absence; times in slots."""
    return Absence(node=node, start_s=begin * SLOT_S, end_s=end * SLOT_S, cause=cause)


# ---- what is booked ----------------------------------------------------------------------------------------------


def test_one_job_over_two_slots_with_a_gap():
    scenario = in_slots(booked((0, 4, 2)), cluster(2, absences=(away(0, 1, 2),)))
    log = run(scenario)
    assert pieces(log, A) == [(0, 1, [2], LEFT), (2, 3, [2], ENDED)]
    assert told(log, A) == [(1, WaitReason.BOOKED)]
    assert log.decision_note.tolist()[0].startswith("a: worth 50, price ")


def test_two_jobs_compete_and_the_second_is_booked_behind_the_first():
    log = run(in_slots(booked((0, 2, 2), (0, 2, 2)), cluster(2)))
    assert pieces(log, A) == [(0, 1, [2], ENDED)]
    assert pieces(log, B) == [(1, 2, [2], ENDED)]
    assert told(log, B) == [(0, WaitReason.BOOKED)]
    assert log.decision_note.tolist() == ["2 of 2 admitted"]
    assert len(log.decision_s) == 1  # the steps are carried out without asking again


@pytest.mark.parametrize(("worth", "status"), [(6.0, REJECTED), (6.5, DONE)])
def test_who_is_worth_less_than_its_price_is_turned_away(worth: float, status: JobStatus):
    # 2 GPUs, 1 slot; A, worth 100, holds one. U = 100 / (1/2) = 200 per share of the GPUs. B, worth w, has the least
    # utility per size, 2 w, and both have size 1/2 of 1 slot x 4 resources: L = 1/2 x 1/8 x 2 w = w / 8. With half of
    # the GPUs held a share costs sqrt(200 w / 8) and one GPU half of it: w > 2.5 sqrt(w) from w = 6.25 on.
    scenario = in_slots(booked((0, 1, 1), (0, 1, 1), utility_1=[200.0, 2 * worth]), cluster(2))
    assert statuses(run(scenario, horizon_slots=1)) == [DONE, status]


def test_who_is_turned_away_leaves_at_once():
    log = run(in_slots(booked((0, 1, 1), (0, 1, 1), utility_1=[200.0, 8.0]), cluster(2)), horizon_slots=1)
    assert log.job_end_s[B] == 0
    assert log.decision_note.tolist() == ["1 of 2 admitted"]


@pytest.mark.parametrize(
    ("submit_s", "first_slot"), [(60.0, 1), (60.0 * (1 + 1e-12), 1), (60.1, 2), (119.0, 2), (120.0, 2)]
)
def test_a_job_of_a_border_uses_the_slot_and_one_inside_only_later_ones(submit_s: float, first_slot: int):
    log = run(in_slots(booked((0, 1, 1), (submit_s, 1, 1)), cluster(2)))
    assert pieces(log, B) == [(first_slot, first_slot + 1, [1], ENDED)]


def test_within_a_slot_what_is_booked_is_told():
    assert told(run(in_slots(booked((0, 1, 1), (90.0, 1, 1)), cluster(2))), B) == [(1.5, WaitReason.BOOKED)]


def test_who_cannot_be_done_within_the_horizon_is_turned_away():
    scenario = in_slots(booked((0, 3, 1), (30, 3, 1)), cluster(2))
    assert statuses(run(scenario, horizon_slots=3)) == [DONE, REJECTED]  # B may use two of them, not that of now
    assert statuses(run(scenario, horizon_slots=4)) == [DONE, DONE]


def test_planned_absences_are_avoided():
    scenario = in_slots(booked((0, 2, 1)), cluster(1, 1, absences=(away(0, 1, 9), away(1, 0, 0.5))))
    log = run(scenario)
    assert pieces(log, A) == [(0, 1, [1], LEFT), (1, 2, [1], ENDED)]
    assert machines_of(log, A) == [0, 1]


@pytest.mark.parametrize("key", ["pd-ors", "oasis"])
def test_partitions_and_gpu_types(key: str):
    columns = {"partition": ["own", "", "own"], "gpu_types": ["", "old", "new"]}
    nodes = cluster(1, 1, 1, 1, 1, 1, gpu_type=("old", "old", "old", "old", "new", "new"),
                    partition=("", "", "own", "own", "own", "own"))  # fmt: skip
    log = run(in_slots(booked((0, 4, 2), (0, 2, 2), (0, 4, 2), **columns), nodes), key)
    assert statuses(log) == [DONE] * 3
    assert set(machines_of(log, A)) <= {2, 3, 4, 5}
    assert set(machines_of(log, B)) <= {0, 1}
    assert set(machines_of(log, C)) <= {4, 5}


@pytest.mark.parametrize(
    ("columns", "workers"),
    [
        ({}, 4),
        ({"workers": [1], "max_workers": [3]}, 3),
        ({"max_workers": None}, 4),
        ({"limit_gpus": [2.0]}, 2),
        ({"limit_cpus": [3.0], "cpus_per_server": [1.0], "workers_per_server": [1.0]}, 3),
        ({"limit_cpus": [9.5], "cpus_per_worker": [2.0], "cpus_per_server": [1.0], "workers_per_server": [2.0]}, 3),
        ({"limit_cpus": [8.0], "cpus_per_worker": [2.0], "cpus_per_server": [1.0], "workers_per_server": [2.0]}, 3),
        ({"limit_cpus": [7.0], "cpus_per_worker": [2.0], "cpus_per_server": [1.0], "workers_per_server": [2.0]}, 2),
    ],
    ids=["request", "largest", "no largest", "limit", "limit on servers", "both", "both, just", "both, not quite"],
)
def test_most_workers_in_a_slot(columns: dict[str, Any], workers: int):
    # urgent: each slot sooner is worth more than it costs
    scenario = in_slots(booked((0, 12, 4), utility_2=[2.0], **columns), cluster(8))
    log = run(scenario)
    assert pieces(log, A) == [(0, 12 / workers, [workers], ENDED)]


def test_a_slow_machine_sets_the_pace_that_is_booked():
    # machine 1 has half the speed, and the job may be on either: 2 slots are booked, one is enough on machine 0
    log = run(in_slots(booked((0, 1, 1)), cluster(1, 1, speed=(1.0, 0.5))))
    assert pieces(log, A) == [(0, 2 if machines_of(log, A) == [1] else 1, [1], ENDED)]
    assert log.decision_note[0].startswith("a: worth 50")


def test_without_a_utility_function_a_job_is_worth_nothing_and_the_others_are_decided_as_without_it():
    nan = np.nan
    scenario = booked((0, 2, 2), (0, 2, 2), (0, 2, 2), utility_1=[nan, 100.0, 90.0])
    log = run(in_slots(scenario, cluster(2)))
    assert statuses(log) == [REJECTED, DONE, DONE]
    alone = run(in_slots(booked((0, 2, 2), (0, 2, 2), utility_1=[100.0, 90.0]), cluster(2)))
    assert [pieces(log, row) for row in (B, C)] == [pieces(alone, row) for row in (A, B)]


# ---- what happens to bookings ------------------------------------------------------------------------------------


def test_an_early_end_frees_what_was_booked():
    scenario = in_slots(booked((0, 3, 1), (60, 1, 1)), cluster(1))
    assert pieces(run(scenario), B) == [(3, 4, [1], ENDED)]
    early = run(scenario, truth={"work": [1.0, 1.0]})
    assert pieces(early, A) == [(0, 1, [1], ENDED)]
    assert pieces(early, B) == [(1, 2, [1], ENDED)]


@pytest.mark.parametrize(("cancel_s", "status"), [(np.inf, REJECTED), (30.0, DONE)])
def test_prices_fall_after_a_cancellation(cancel_s: float, status: JobStatus):
    # A, worth 100, books 1 of 2 GPUs in slots 0 and 1: U = 200. B, worth w in slot 1 and nothing after, counts 1% of
    # it at the end: L = 1/2 x (1/2) / (2 x 4) x 0.02 w = w / 1600. While A holds half of slot 1, one GPU of it costs
    # sqrt(200 w / 1600) / 2 = 0.1768 sqrt(w), more than w = 0.01; when A has gone, w / 3200.
    jobs = booked((0, 2, 1), (60, 1, 1), utility_1=[200.0, 0.01], utility_2=[0.0, 50.0], utility_3=[5.0, 0.5])
    log = run(in_slots(jobs, cluster(2)), truth={"cancel_s": [cancel_s, np.inf]}, horizon_slots=2)
    assert log.job_status[B] == status
    # of schedules that are all too dear the least loss is told: the free slot 2, in which B is worth nothing
    told_of = {
        DONE: "b: worth 0.01, price 3.125e-06",
        REJECTED: "b: worth 1.389e-13, price 3.125e-06, not worth its price",
    }
    assert log.decision_note[1] == told_of[status]


def test_a_lost_node_books_again_whatever_that_costs():
    scenario = in_slots(booked((0, 2, 1)), cluster(1, 1, absences=(away(0, 0.5, FOREVER, "fails"),)))
    log = run(scenario)
    assert pieces(log, A) == [(0, 0.5, [1], PieceEnd.NODE_LOST), (1, 2.5, [1], ENDED)]
    assert machines_of(log, A) == [0, 1]
    assert told(log, A) == [(0.5, WaitReason.BOOKED)]


def test_who_booked_a_lost_node_for_later_books_again():
    # B comes behind A on one of the two machines; that one fails before B's slot
    scenario = booked((0, 2, 1), (0, 2, 1), (0, 1, 1))
    before = run(in_slots(scenario, cluster(1, 1)))
    (lost,) = set(machines_of(before, C))
    log = run(in_slots(scenario, cluster(1, 1, absences=(away(lost, 0.5, FOREVER, "fails"),))))
    assert statuses(log) == [DONE] * 3
    assert set(machines_of(log, C)) == {1 - lost}


def test_without_room_a_job_that_was_admitted_tries_again_when_a_machine_comes_back():
    # the only machine fails and comes back in the middle of slot 3; nobody else holds what could become free
    scenario = in_slots(booked((0, 2, 1)), cluster(1, absences=(away(0, 0.5, 3.5, "fails"),)))
    log = run(scenario)
    assert pieces(log, A) == [(0, 0.5, [1], PieceEnd.NODE_LOST), (4, 5.5, [1], ENDED)]
    assert told(log, A) == [(0.5, WaitReason.NO_ROOM), (3.5, WaitReason.BOOKED)]
    assert np.allclose(log.decision_s / SLOT_S, [0, 0.5, 1, 3.5])


def test_who_runs_longer_than_believed_books_one_worker_for_one_slot_then_twice_as_much_each_time():
    over = PieceEnd.OVERRUN
    log = run(in_slots(booked((0, 2, 1)), cluster(1)), truth={"work": [12.0]})
    assert pieces(log, A) == [
        (0, 2, [1], over),
        (2, 3, [1], over),
        (3, 5, [1], over),
        (5, 9, [1], over),
        (9, 12, [1], ENDED),
    ]
    two_gpus = run(in_slots(booked((0, 2, 2)), cluster(2)), truth={"work": [3.5]})
    assert pieces(two_gpus, A) == [(0, 1, [2], over), (1, 2, [1], over), (2, 2.25, [2], ENDED)]


def test_who_runs_longer_than_believed_books_less_where_there_is_no_room_for_twice_as_much():
    over = PieceEnd.OVERRUN
    # four slots are more than can be booked
    log = run(in_slots(booked((0, 2, 1)), cluster(1)), truth={"work": [9.0]}, horizon_slots=3)
    assert pieces(log, A) == [
        (0, 2, [1], over),
        (2, 3, [1], over),
        (3, 5, [1], over),
        (5, 7, [1], over),
        (7, 9, [1], ENDED),
    ]


def test_a_machine_that_fails_while_it_is_maintained_is_not_booked_for_the_end_of_the_maintenance():
    # A loses machine 0, and machine 1 fails during a maintenance that was to end at 2: nobody knows when it is back
    absences = away(0, 0.5, FOREVER, "fails"), away(1, 0, 2, "maintenance"), away(1, 0.25, 5, "fails")
    log = run(in_slots(booked((0, 2, 1)), cluster(1, 1, absences=absences)))
    assert pieces(log, A) == [(0, 0.5, [1], PieceEnd.NODE_LOST), (5, 6.5, [1], ENDED)]


def test_a_restart_that_was_not_booked_is_an_overrun():
    log = run(in_slots(booked((0, 2, 2)), cluster(2), restart_s=30.0))
    # half of the only slot goes to the restart: 1 of 2 is left, and its two workers lose half a slot again
    assert [piece[:2] for piece in pieces(log, A)][:2] == [(0, 1), (1, 2)]
    assert statuses(log) == [DONE]


def test_who_was_admitted_is_not_turned_away_when_it_books_again_at_a_high_price():
    # A loses its machine; on the other one B, worth a million, has half of all slots
    jobs = booked((0, 3, 1), (30, 6, 1), utility_1=[10.0, 2e6])
    scenario = in_slots(jobs, cluster(1, 2, absences=(away(0, 0.9, FOREVER, "fails"),)))
    log = run(scenario, horizon_slots=10)
    assert statuses(log) == [DONE, DONE]


# ---- worth -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("clock", ["slots", "elapsed"])
def test_what_is_promised_is_what_the_books_count(clock: str):
    urgent: dict[str, Any] = {"utility_2": [0.7, 0.7], "utility_3": [1.5, 2.5]}
    scenario = in_slots(booked((60, 4, 2), (90, 2, 2), **urgent), cluster(2), utility_clock=clock)
    log = run(scenario)
    assert pieces(log, A) == [(1, 3, [2], ENDED)]
    assert pieces(log, B) == [(3, 4, [2], ENDED)]
    # slots: A arrives in 1 and uses up to 2, B arrives in 1 and uses 3; elapsed: A 2 slots, B 4 - 1.5
    times = {"slots": (1.0, 2.0), "elapsed": (2.0, 2.5)}[clock]
    worth = [100 / (1 + np.exp(0.7 * (t - half))) for t, half in zip(times, (1.5, 2.5), strict=True)]
    notes = [note.split(",")[0] for note in log.decision_note.tolist()]
    assert notes == [f"{name}: worth {value:.4g}" for name, value in zip("ab", worth, strict=True)]
    assert summarise(scenario, prepare(scenario).truth, log)["utility_total"] == pytest.approx(sum(worth))


# ---- many jobs ---------------------------------------------------------------------------------------------------


class Watched(BookingPolicy):
    """Keeps what is promised to whom, and checks that nothing is overbooked in any slot."""

    def __init__(self, inner: BookingPolicy) -> None:
        self.__dict__.update(inner.__dict__)
        self.promised: dict[int, float] = {}

    def plan(self, state: State) -> Plan:
        judged, adapter = self.judge(state)
        committed = adapter.committed()
        assert (committed <= adapter.capacity * (1 + 1e-9)).all()
        for one in judged:
            if one.decision.schedule:
                self.promised[one.row] = known(one.decision.best).worth
                commit(one.job, one.decision.schedule, committed)
        assert (committed <= adapter.capacity * (1 + 1e-9)).all()
        return self.plan_of(state, judged, adapter)


def watched(key: str, **params: Any) -> Watched:
    spec = find(key)
    policy = spec.build(spec.parse({"horizon_slots": 20} | params))
    assert isinstance(policy, BookingPolicy)
    return Watched(policy)


KEYS_AND_METHODS = [("pd-ors", {}), ("pd-ors", {"slot_method": "rounded"}), ("oasis", {})]


@pytest.mark.parametrize(("key", "params"), KEYS_AND_METHODS, ids=["greedy", "rounded", "oasis"])
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), clock=st.sampled_from(["slots", "elapsed"]))
def test_who_is_admitted_earns_what_was_promised(key: str, params: dict[str, Any], seed: int, clock: str):
    drawn = slotted(12, seed)
    scenario = drawn.replace(options=drawn.options.model_copy(update={"utility_clock": clock}))
    policy = watched(key, **params)
    log = run(scenario, policy=policy)  # the audit is clean
    completed = np.flatnonzero(log.job_status == JobStatus.COMPLETED)
    assert sorted(policy.promised) == completed.tolist()
    assert set(statuses(log)) <= {DONE, REJECTED}
    earned = utility_at(scenario.workload, scenario.options, completed, log.job_end_s[completed], slack_s=1e-6)
    promised = [policy.promised[row] for row in completed.tolist()]
    if clock == "slots":
        assert earned == pytest.approx(promised)
    else:  # the end is promised for the end of a slot, and may come within it
        assert (earned >= np.array(promised) * (1 - 1e-9)).all()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_nothing_is_overbooked_when_nodes_fail_and_estimates_are_wrong(seed: int):
    rng = np.random.default_rng(seed)
    drawn = slotted(12, seed)
    away = tuple(
        Absence(node=node, start_s=float(start_s), end_s=float(start_s + rng.integers(1, 8) * 30), cause=cause)
        for node, cause in enumerate(rng.choice(["fails", "maintenance"], 3))
        for start_s in [rng.integers(0, 40) * 30]
    )
    options = drawn.options.model_copy(
        update={"estimate_error": 0.5, "cancel_share": 0.2, "restart_s": float(rng.choice([0.0, 20.0]))}
    )
    scenario = drawn.replace(cluster=drawn.cluster.model_copy(update={"absences": away}), options=options)
    log = run(scenario, policy=watched("pd-ors"))
    assert JobStatus.UNFINISHED not in statuses(log)
