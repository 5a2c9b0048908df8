"""FIFO, DRF and Dorm by slots in the simulator: borders, groups of machines, and slots in which nothing can change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.cluster import Absence
from dlsched.domain.plan import WaitReason
from dlsched.domain.scenario import Scenario
from dlsched.policies.primal_dual import policy as adapter
from dlsched.sim.log import JobStatus, PieceEnd, RunLog
from dlsched.testing.scenarios import slotted
from tests.support.booked_jobs import SLOT_S, booked, cluster, in_slots, machines_of, pieces, run, statuses, told

A, B, C, D = range(4)
ENDED, RESIZED = PieceEnd.COMPLETED, PieceEnd.RESIZED
KEYS = ("pd-ors-fifo", "pd-ors-drf", "dorm")
every = pytest.mark.parametrize("key", KEYS)


def widths(log: RunLog, row: int) -> list[tuple[float, float, int, PieceEnd]]:
    """Return (from, to, workers, how it ended) of a row's pieces; times in slots."""
    return [(begin, end, sum(workers), how) for begin, end, workers, how in pieces(log, row)]


@every
def test_a_job_of_a_border_starts_there_and_one_inside_a_slot_at_the_next(key: str):
    log = run(in_slots(booked((0, 0.5, 1), (60, 0.5, 1), (90, 0.5, 1)), cluster(2)), key)
    assert [pieces(log, row)[0][:2] for row in (A, B, C)] == [(0, 0.5), (1, 1.5), (2, 2.5)]
    assert told(log, C) == [(1.5, WaitReason.NOT_RECORDED)]


def test_fifo_waits_for_the_workers_asked_for_and_so_do_all_behind():
    log = run(in_slots(booked((0, 3, 2), (0, 3, 3), (0, 1, 1)), cluster(2, 2)), "pd-ors-fifo")
    assert widths(log, A) == [(0, 1.5, 2, ENDED)]
    assert [pieces(log, row)[0][0] for row in (B, C)] == [2, 2]
    assert told(log, C) == [(0, WaitReason.NO_ROOM)]


def test_fifo_cuts_what_is_asked_to_what_empty_machines_hold():
    given_jobs = booked((0, 4, 1), (0, 8, 2), workers=[1, 2], max_workers=[1, 9], cpus_per_worker=[1.0, 3.0])
    nodes = cluster(2, 2, cpus=(3.0, 3.0))
    # B's second worker has no CPUs while A runs: it does not start with one, it waits
    log = run(in_slots(given_jobs, nodes), "pd-ors-fifo")
    assert widths(log, B) == [(4, 8, 2, ENDED)]


@every
def test_machines_of_jobs_that_may_use_others_are_not_taken(key: str):
    # D and C may use both machines, B only machine 1 (new), where it runs when C comes; the group of D is served first
    types = ["", "new", ""]
    nodes = cluster(1, 1, gpu_type=("old", "new"))
    given_jobs = booked((0, 4, 1), (0, 2, 1), (60, 1, 1), gpu_types=types)
    log = run(in_slots(given_jobs, nodes), key)
    assert statuses(log) == [JobStatus.COMPLETED] * 3
    assert machines_of(log, B) == [1]
    assert widths(log, B) == [(0, 2, 1, ENDED)]
    assert pieces(log, C)[0][0] >= 2


def test_fifo_does_not_start_narrower_because_others_use_the_machines():
    # B may use both machines and asks for all 4; A, which may only use the old one, runs there at first
    given_jobs = booked((0, 2, 2), (0, 4, 4), gpu_types=["old", ""])
    log = run(in_slots(given_jobs, cluster(2, 2, gpu_type=("old", "new"))), "pd-ors-fifo")
    assert widths(log, B) == [(1, 2, 4, ENDED)]


@every
def test_servers_that_hold_nothing_stay_off_machines_that_are_away_or_not_allowed(key: str):
    nodes = cluster(1, 1, 1, gpu_type=("old", "new", "new"), absences=(Absence(node=1, start_s=0.0, end_s=120.0),))
    log = run(in_slots(booked((0, 1, 2), gpu_types=["new"]), nodes), key)
    assert statuses(log) == [JobStatus.COMPLETED]
    assert set(machines_of(log, A)) <= {1, 2}


def test_drf_gives_what_is_useful_and_hands_the_rest_on():
    # 6 GPUs: 3 each; A needs but 2 worker-slots
    log = run(in_slots(booked((0, 2, 6), (0, 12, 6)), cluster(6)), "pd-ors-drf")
    assert widths(log, A) == [(0, 1, 2, ENDED)]
    # 8 are left: 6 in this slot, and for the last 2 no more workers than needed
    assert widths(log, B) == [(0, 1, 4, RESIZED), (1, 2, 6, RESIZED), (2, 3, 2, ENDED)]


def test_a_failed_node_stops_jobs_until_the_next_slot():
    fails = (Absence(node=0, start_s=30.0, end_s=1e6, cause="fails"),)
    log = run(in_slots(booked((0, 2, 1)), cluster(1, 1, absences=fails)), "pd-ors-drf")
    assert widths(log, A) == [(0, 0.5, 1, PieceEnd.NODE_LOST), (1, 2.5, 1, ENDED)]


# ---- skipping ----------------------------------------------------------------------------------------------------


def asked_every_slot(monkeypatch: pytest.MonkeyPatch, scenario: Scenario, key: str) -> RunLog:
    with monkeypatch.context() as patch:
        patch.setattr(adapter, "_unchanged_slots", lambda adapter, jobs, bookings: 1)
        return run(scenario, key)


def assert_same_run(one: RunLog, other: RunLog) -> None:
    """Pieces, shares, outcomes and waits agree; decisions do not, as one of them asks more often."""
    for name in ("piece_row", "piece_workers", "piece_servers", "piece_end", "share_node", "share_workers",
                 "share_servers", "job_status", "wait_row", "wait_reason"):  # fmt: skip
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name
    for name in ("piece_start_s", "piece_end_s", "job_end_s", "wait_from_s"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, err_msg=name)


def long_jobs(seed: int, speeds: tuple[float, ...] = (1.0, 1.0, 1.0), **options: Any) -> Scenario:
    """Return jobs of many slots, so that there is something to skip, on machines of these speeds."""
    drawn = slotted(8, seed)
    rng = np.random.default_rng(seed)
    jobs = drawn.workload.with_columns(work=drawn.workload.work * rng.choice([1.0, 10.0, 60.0], 8))
    pools = tuple(
        pool.model_copy(update={"vm": pool.vm.model_copy(update={"speed": speed})})
        for pool, speed in zip(drawn.cluster.pools, speeds, strict=True)
    )
    return drawn.replace(
        workload=jobs, cluster=drawn.cluster.model_copy(update={"pools": pools}),
        options=drawn.options.model_copy(update=options),
    )  # fmt: skip


@every
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    speeds=st.sampled_from([(1.0, 1.0, 1.0), (1.0, 4.0, 0.5)]),
    options=st.sampled_from(
        [{}, {"restart_s": 45.0}, {"restart_s": 45.0, "restart_mode": "delayed"}, {"estimate_error": 0.5}]
    ),
)
def test_slots_left_out_change_nothing(key: str, seed: int, speeds: tuple[float, ...], options: dict[str, Any]):
    scenario = long_jobs(seed, speeds, **options)
    with pytest.MonkeyPatch.context() as patch:
        assert_same_run(run(scenario, key), asked_every_slot(patch, scenario, key))


def test_a_fast_machine_needs_fewer_workers_sooner():
    # both workers fit machine 0 only, 4 times as fast as machine 1, which sets the pace that is counted on: after 2
    # slots 16 of 17 are done, not 4, and one worker is enough for the rest
    given_jobs = booked((0, 17, 2), gpus_per_worker=[2.0], cpus_per_server=[1.0])
    log = run(in_slots(given_jobs, cluster(4, 1, cpus=(8.0, 0.5), speed=(4.0, 1.0))), "pd-ors-drf")
    assert widths(log, A) == [(0, 2, 2, RESIZED), (2, 2.25, 1, ENDED)]


@every
def test_long_jobs_are_not_asked_about_in_every_slot(key: str):
    log = run(in_slots(booked((0, 1000, 1), (0, 500, 1)), cluster(2)), key)
    assert len(log.decision_s) < 20
    assert log.end_s == pytest.approx(1000 * SLOT_S)


@every
def test_a_job_far_past_its_estimate_is_not_asked_about_in_every_slot(key: str):
    scenario = in_slots(booked((0, 1e7, 1), (0, 500, 1)), cluster(2))
    scenario = scenario.replace(options=scenario.options.model_copy(update={"estimate_error": 0.5}))
    log = run(scenario, key)
    assert len(log.decision_s) < 20
    assert log.end_s == pytest.approx(1e7 * SLOT_S)
