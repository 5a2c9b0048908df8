"""From a workload to an instance of whole slots, and what bounds the number of jobs done there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from dlsched.domain.errors import InputError
from dlsched.domain.workload import RESOURCES
from dlsched.optimise.milp import Milp
from dlsched.policies.primal_dual import dorm, drf, fifo, oasis, offline
from dlsched.policies.primal_dual.from_workload import instance_of
from dlsched.policies.primal_dual.problem import Instance
from dlsched.policies.primal_dual.reach import most_completed
from dlsched.policies.primal_dual.rounded_slot import Rounding
from dlsched.policies.primal_dual.slot_cost import Offer
from dlsched.workload.studies.pd_ors import SlottedJobsSpec, draw_slotted_jobs
from tests.support.known import known
from tests.support.slot_jobs import case, cases, job

SPEC = SlottedJobsSpec(jobs=30, slots=8, slot_s=100.0)
CAPACITY = np.full((2, len(RESOURCES)), 50.0)


def test_a_job_keeps_its_columns_in_slots() -> None:
    jobs = draw_slotted_jobs(SPEC, 3)
    instance = instance_of(jobs, CAPACITY, 8, 100.0)
    assert (instance.slots, instance.resources, len(instance.jobs)) == (8, RESOURCES, 30)
    assert [one.arrival for one in instance.jobs] == sorted(one.arrival for one in instance.jobs)
    for row, one in enumerate(instance.jobs):
        assert (one.name, one.work) == (jobs.job_id[row], jobs.work[row])
        assert one.arrival == one.first == jobs.submit_s[row] / 100
        assert one.near * 100 == pytest.approx(known(jobs.step_s)[row])
        assert one.far * 100 == pytest.approx(known(jobs.step_s)[row] + known(jobs.spread_s)[row])
        assert (one.batch, one.ratio) == (known(jobs.max_workers)[row], known(jobs.workers_per_server)[row])
        assert one.worker_demand.tolist() == jobs.demand[row].tolist()
        assert one.server_demand.tolist() == jobs.server_demand[row].tolist()
        # half of its worth is left after the slots of the third number
        worth, half = known(jobs.utility_1)[row], known(jobs.utility_3)[row]
        assert one.utility[0] == worth
        assert one.worth(one.arrival) >= worth / 2 - 1e-9
        assert one.utility[2] == half


def test_a_job_arrives_in_the_slot_of_its_submission() -> None:
    jobs = draw_slotted_jobs(SPEC, 3)
    coarse = instance_of(jobs, CAPACITY, 4, 200.0)
    assert [one.arrival for one in coarse.jobs] == [int(at // 200) for at in jobs.submit_s.tolist()]


@pytest.mark.parametrize("column", ["step_s", "utility_2"])
def test_what_is_missing_is_named(column: str) -> None:
    jobs = draw_slotted_jobs(SPEC, 3).with_columns(**{column: None})
    with pytest.raises(InputError, match=f"column {column}.*is missing"):
        instance_of(jobs, CAPACITY, 8, 100.0)


def test_a_step_that_takes_no_time_is_named() -> None:
    jobs = draw_slotted_jobs(SPEC, 3)
    with pytest.raises(InputError, match=r"j001, step_s.*got 0"):
        instance_of(
            jobs.with_columns(step_s=np.where(jobs.job_id == "j001", 0.0, known(jobs.step_s))), CAPACITY, 8, 100.0
        )


def test_how_many_jobs_can_be_done_by_hand() -> None:
    """Each worker-slot holds 1 + 1/2; work of 2, 4, 6 needs 3, 6, 9 of 10 x 2 = 20: two of 10, three of 20."""
    jobs = [job(f"j{work:g}", work=work, ratio=2.0, batch=9) for work in (6.0, 2.0, 4.0)]
    assert most_completed(jobs, np.array([[9.0]]), 1) == 2
    assert most_completed(jobs, np.array([[9.0]]), 2) == 3
    assert most_completed(jobs, np.array([[0.5]]), 9) == 0
    assert most_completed([job(worker=(1.0, 0.0), server=(0.0, 5.0))] * 2, np.array([[99.0, 5.0]]), 4) == 1


@given(cases(jobs=4, machines=3, slots=3, batch=4))
@settings(max_examples=80, deadline=None)
def test_nobody_completes_more_jobs_than_the_bound(instance: Instance) -> None:
    most = most_completed(instance.jobs, instance.capacity, instance.slots)
    assert most <= len(instance.jobs)
    plans = [rule.solve(instance, np.random.default_rng(1)) for rule in (oasis, fifo, drf, dorm)]
    for found in (*plans, offline.solve(instance).schedules):
        assert sum(schedule is not None for schedule in found) <= most


def test_rounding_without_repairs_gives_up() -> None:
    """A tenth of 4 workers is 1 at most, whatever the dice: too few."""
    one = job(batch=4, ratio=2.0)
    offer = Offer.of(one, np.array([[[9.0], [9.0]]]), np.array([[[1.0], [2.0]]]))
    costs = {}
    for repairs in (True, False):
        method = Rounding(np.random.default_rng(3), gain=0.1, repairs=repairs)
        costs[repairs] = method(one, np.array([4]), offer).cost[0, 0]
        assert (method.rounded, method.repaired) == (0, 1)
    assert costs[True] == 4 + 2
    assert costs[False] == np.inf
    at_one = Rounding(np.random.default_rng(3), repairs=False)
    assert at_one(one, np.array([4]), offer).cost[0, 0] == 4 + 2


def test_dorm_stops_where_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    solve = Milp.solve

    def watched(self: Milp, relative_gap: float, node_limit: int) -> object:
        asked.append((relative_gap, node_limit))
        return solve(self, relative_gap=relative_gap, node_limit=node_limit)

    monkeypatch.setattr(Milp, "solve", watched)
    dorm.solve(case([job(work=2.0)], [[9.0]], 3), np.random.default_rng(1), effort=(0.3, 7))
    assert set(asked) == {(0.3, 7)}
