"""Decisions at prices that are worked out again: as they were carried out, by hand, and the best in hindsight."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from dlsched.domain.cluster import Absence
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.policies.primal_dual.online import NO_ROOM, NOT_WORTH
from dlsched.policies.primal_dual.problem import utility_of, violations
from dlsched.studies import registry
from dlsched.studies.inspect.dual_prices import why_not
from dlsched.studies.inspect.dual_prices.answer import Booked, Dearest, PricedRun
from dlsched.studies.inspect.dual_prices.hindsight import instance_of
from dlsched.studies.inspect.dual_prices.run import watched
from dlsched.studies.simulation import Run, simulate
from tests.support.booked_jobs import booked, cluster, in_slots
from tests.support.known import known
from tests.support.models import replaced
from tests.support.priced_runs import (
    HORIZON,
    POLICIES,
    drawn,
    four_jobs,
    four_priced,
    hindsight,
    priced_run,
    regret,
    spec_of,
    tiny,
)
from tests.support.slot_jobs import best_by_enumeration

CASES: dict[str, tuple[Scenario, str, dict[str, Any], int]] = {
    **{policy: (drawn(), policy, {}, 0) for policy in POLICIES},
    "dice": (drawn(), "pd-ors", {"slot_method": "rounded"}, 0),
    "another draw": (drawn(), "pd-ors", {}, 3),
    "short horizon": (drawn(), "pd-ors", {"horizon_slots": 12}, 0),
}
each = pytest.mark.parametrize("case", CASES)


def both(case: str) -> tuple[Run, PricedRun]:
    scenario, policy, params, seed = CASES[case]
    return simulate(scenario, policy, params, seed), priced_run(scenario, policy, params, seed)


def interrupted() -> Scenario:
    """Return the drawn jobs where a machine fails for a while: bookings are lost and made again."""
    given = drawn()
    away = (Absence(node=0, start_s=5.5 * 3600, end_s=9.5 * 3600),)
    return given.replace(cluster=given.cluster.model_copy(update={"absences": away}))


def ran_in(run: Run, slot_s: float) -> set[tuple[int, int, int, int, int]]:
    """Return (row, slot, machine, workers, servers) of what ran, by the run's own pieces; slot 1 is the first."""
    zero = int(run.jobs["submit_s"].min() // slot_s)
    found = set()
    names = ("row", "node", "workers", "servers", "start_s", "end_s")
    columns = (run.segments[name].to_numpy().tolist() for name in names)
    for row, node, workers, servers, start_s, end_s in zip(*columns, strict=True):
        first, after = round(start_s / slot_s), math.ceil(end_s / slot_s - 1e-9)
        found |= {(row, slot - zero + 1, node, workers, servers) for slot in range(first, after)}
    return found


@each
def test_every_decision_comes_again_as_it_was_carried_out(case: str) -> None:
    run, found = both(case)
    jobs = run.jobs
    assert [one.number for one in found.decisions] == list(range(1, len(jobs) + 1))
    assert {one.row for one in found.decisions if not one.admitted} == set(
        jobs.loc[jobs["status"] == "rejected", "row"]
    )
    told = {(one.row, *part) for one, part in found.standing()}
    assert told == ran_in(run, found.slot_s)
    assert found.promised == pytest.approx(known(run.metrics["utility_total"]))
    assert [one.time_s for one in found.decisions] == sorted(jobs["submit_s"])


@each
def test_what_is_paid_is_what_is_booked_at_the_prices_met(case: str) -> None:
    scenario, policy, params, seed = CASES[case]
    watcher = watched(spec_of(scenario, policy, params, seed), scenario)
    found = watcher.priced_run()
    jobs = watcher.prepared.scenario.workload
    admitted = 0
    for one in found.decisions:
        best = one.best
        if best is None:
            assert not one.admitted
            continue
        assert math.fsum(one.paid) == pytest.approx(best.price)
        assert one.admitted is (best.payoff > 0)
        if one.admitted:
            admitted += 1
            prices = known(found.prices_at(one))
            paid = np.zeros(4)
            for part in one.bookings:
                held = part.workers * jobs.demand[one.row] + part.servers * jobs.server_demand[one.row]
                paid += held * prices[part.slot - one.first, part.machine]
            np.testing.assert_allclose(paid, one.paid, rtol=1e-9, atol=0)
            assert max(part.slot for part in one.bookings) == best.last
        if one.other is not None:
            assert one.other.payoff <= best.payoff + 1e-12
    assert admitted == found.admitted > 0


def test_who_books_again_has_lost_what_was_booked_from_then_on() -> None:
    run = simulate(interrupted(), "pd-ors")
    found = priced_run(interrupted(), "pd-ors", {}, 0)
    assert any(one.again for one in found.decisions)
    assert len(found.first_decisions) == len(run.jobs)
    told, ran = {(one.row, *part) for one, part in found.standing()}, ran_in(run, found.slot_s)
    assert ran <= told


def test_what_was_booked_beyond_a_second_booking_does_not_stand() -> None:
    a, b, *_ = four_priced().decisions
    first = replaced(a, bookings=tuple(Booked(slot, 0, 1, 0) for slot in (1, 2, 3, 4)))
    stuck = replaced(a, again=True, first=3, bookings=(), why=NO_ROOM)
    again = replaced(a, again=True, first=4, bookings=(Booked(5, 0, 1, 0),))
    found = replaced(four_priced(), decisions=(first, b, stuck, again))
    assert [part.slot for one, part in found.standing() if one.row == a.row] == [1, 2, 5]
    lost = replaced(found, decisions=(first, b, stuck))
    assert [part.slot for one, part in lost.standing() if one.row == a.row] == [1, 2]


def test_prices_and_reasons_by_hand() -> None:
    # Alone a is worth 50 in any slot and holds half of the GPUs for 4 worker-slots, so 2 shares x slots of 4 x 4 (four
    # resources in four slots): L = 1/2 x 2/16 x 50/2 = 25/16 for all GPUs, U = 50 / (1/2) = 100; one of 2 has half.
    found = four_priced()
    a, b, c, d = found.decisions
    assert found.resources == ("gpus",)
    assert found.total == (2.0,)
    assert (found.machines, found.horizon) == (1, 4)
    low, high = 25 / 32, 50.0
    np.testing.assert_allclose(known(found.prices_at(a))[:, 0, 0], [low] * 4)
    np.testing.assert_allclose(known(found.prices_at(b))[:, 0, 0], [high, high, low, low])
    np.testing.assert_allclose(known(found.prices_at(c))[:, 0, 0], [high] * 4)
    assert found.prices_at(d) is None
    assert [known(one.best)[:2] for one in (a, b)] == [(2, 50.0), (4, 50.0)]
    assert [known(one.best).price for one in (a, b)] == pytest.approx([4 * low] * 2)
    assert [(part.slot, part.workers) for part in b.bookings] == [(3, 2), (4, 2)]
    assert known(a.other).last == 3
    assert known(a.other).payoff == pytest.approx(50 - 4 * low)
    assert b.other is None
    assert (c.why, d.why) == (NO_ROOM, "cannot finish in time")
    assert found.turned_away() == {NO_ROOM: 1, "cannot finish in time": 1}
    assert found.dearest(a) is None  # all alike
    assert found.dearest(b) == Dearest(0, 0, 1, 1, 2)
    assert found.dearest(d) is None
    assert found.together_share() == 1.0
    assert known(found.decision_of(1)).job == "b"
    assert found.decision_of(9) is None


def test_a_job_that_costs_more_than_it_is_worth_is_turned_away_for_that() -> None:
    found = priced_run(drawn(), "pd-ors", {}, 0)
    away = [one for one in found.decisions if one.why == NOT_WORTH]
    assert away
    assert all(known(one.best).payoff <= 0 for one in away)


def test_the_answer_goes_through_json_and_its_computation() -> None:
    spec = {"scenario": four_jobs().content_hash, "policy": "pd-ors", "params": HORIZON, "seed": 0}
    told: list[str] = []
    record = registry.compute("prices", spec, lambda _, text: told.append(text), subject=four_jobs())
    assert PricedRun.from_plain(json.loads(json.dumps(record.answer))) == four_priced()
    assert told[-1] == "job 4 of 4"
    for kind in ("prices", "hindsight"):
        with pytest.raises(InputError, match="without its scenario"):
            registry.compute(kind, spec)
        with pytest.raises(InputError, match="asks about scenario"):
            registry.compute(kind, spec, subject=regret())
        with pytest.raises(InputError, match="policy must be one of pd-ors, oasis"):
            registry.compute(kind, spec | {"policy": "dorm"}, subject=four_jobs())


# ---- best in hindsight --------------------------------------------------------------------------------------


def test_in_hindsight_the_job_that_came_first_is_left_out() -> None:
    # a books slots 1 and 2, b could have used 2 and 3 only: 1 is had, 50 was possible
    found = hindsight(regret(), "pd-ors", {"horizon_slots": 2}, 0)
    assert [found.ours, found.utility, found.bound] == pytest.approx([1, 50, 50])
    assert found.status == "optimal"
    assert list(known(found.ratios())) == pytest.approx([50, 50])


def test_in_hindsight_nobody_starts_before_he_is_there() -> None:
    # b needs 2 slots and has 1, the second; in the first there is room for it beside a
    given = in_slots(booked((0, 2, 2), (60, 4, 2)), cluster(4))
    assert hindsight(given, "pd-ors", {"horizon_slots": 1}, 0).utility == pytest.approx(50)


def test_where_all_room_is_taken_by_equals_nothing_was_lost() -> None:
    found = hindsight(four_jobs(), "pd-ors", HORIZON, 0)
    assert list(known(found.ratios())) == pytest.approx([1, 1])


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", [0, 1, 2, 4])
def test_the_run_is_a_legal_plan_of_the_program_and_worth_what_its_log_says(policy: str, seed: int) -> None:
    given, params = tiny(seed), {"horizon_slots": 4}
    watcher = watched(spec_of(given, policy, params, 0), given)
    instance = instance_of(watcher)
    plans = [
        {at + slot: booking for slot, booking in one.decision.schedule.items()} if one.decision.schedule else None
        for at, one in watcher.judged
    ]
    assert violations(instance, plans) == []
    ours = simulate(given, policy, params).metrics["utility_total"]
    assert utility_of(instance.jobs, plans) == pytest.approx(known(ours))
    found = hindsight(given, policy, params, 0)
    assert found.ours == pytest.approx(known(ours))
    assert found.bound >= found.utility >= found.ours - 1e-9
    assert found.utility > 10


def test_the_best_in_hindsight_is_that_of_trying_everything() -> None:
    params = {"horizon_slots": 2}
    instance = instance_of(watched(spec_of(regret(), "pd-ors", params, 0), regret()))
    assert hindsight(regret(), "pd-ors", params, 0).utility == pytest.approx(best_by_enumeration(instance))


def test_what_is_too_large_or_uncertain_is_told() -> None:
    assert why_not(four_jobs(), 4) == ""
    assert "may be booked over 7; the program takes 6. With a horizon of 6 slots" in why_not(four_jobs(), 7)
    late = why_not(drawn(), 40)
    assert "the program takes 6" in late
    assert "With a horizon" not in late
    assert why_not(drawn(40, 4, 1), 4) == "Jobs x machines x slots are 640; the program takes 600."
    assert "Nodes that go away" in why_not(interrupted(), 4)
    with pytest.raises(InputError, match="the program takes 6"):
        hindsight(drawn(), "pd-ors", {}, 0)


def test_a_job_that_comes_inside_a_slot_is_told_with_the_next_one() -> None:
    given = in_slots(booked((0, 1, 1), (90, 4, 2)), cluster(2))
    one = priced_run(given, "pd-ors", HORIZON, 0).decisions[1]
    assert (one.first, one.time_s) == (3, 90.0)  # 90 s is inside slot 2
    assert [part.slot for part in one.bookings] == [3, 4]
    assert known(priced_run(given, "pd-ors", HORIZON, 0).prices_at(one)).shape == (3, 1, 1)
