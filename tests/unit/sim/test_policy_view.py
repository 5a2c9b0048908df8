"""What a policy sees: believed numbers of submitted rows, nothing recorded, nothing to come."""

import dataclasses
import time

import numpy as np
import pytest

from dlsched.domain.errors import PlanError
from dlsched.domain.plan import Plan, Share
from dlsched.metrics.run_facts import RunFacts
from dlsched.sim.engine import run_engine
from dlsched.sim.prepare import prepare
from tests.support.sim_fakes import Fake, fifo_plan, jobs, nodes, on, scenario, simulate


def test_only_submitted_rows_and_believed_work_are_seen():
    seen = []

    def plan(state):
        rows = np.arange(len(state.jobs))
        seen.append((len(rows), state.jobs.work.tolist(), state.remaining(rows).tolist()))
        assert state.jobs.recorded_start_s is None
        assert state.jobs.demand.shape == (len(rows), 4)
        assert state.jobs.gpus.tolist() == (state.jobs.workers * state.jobs.gpus_per_worker).tolist()
        return fifo_plan(state)

    given = scenario(jobs((0, 10, 8), (4, 5, 8), recorded_start_s=[1.0, 2.0]))
    prepared = prepare(given)
    truth = dataclasses.replace(prepared.truth, work=np.array([3.0, 5.0]), believed_work=np.array([12.0, 4.0]))
    run_engine(dataclasses.replace(prepared, truth=truth), Fake(plan))
    # a believes 12 of work and ends after 3; b believes 4 and runs 5
    assert seen == [
        (1, [12], [12]),
        (1, [12], [9]),
        (2, [12, 4], [9, 4]),
        (2, [12, 4], [9, 0]),
    ]


def test_books_of_running_and_stopped_jobs():
    def plan(state):
        if state.now_s == 0:
            return Plan({0: on((0, 4))})
        if state.now_s == 3:
            return Plan({0: (), 1: on((0, 2))})
        rows = state.active
        seen.update(
            active=state.active.tolist(),
            waiting=state.waiting.tolist(),
            running=state.running.tolist(),
            attained=state.attained_gpu_s(rows).tolist(),
            started=state.started_s(rows).tolist(),
            width=state.first_workers(rows).tolist(),
            held=[state.held(row) for row in rows.tolist()],
            remaining=state.remaining(rows).tolist(),
            rate=state.rate(np.array([0, 0]), np.array([4, 2])).tolist(),
            limits=[limit.tolist() for limit in state.width_limits(rows)],
        )
        return Plan()

    seen: dict[str, object] = {}
    simulate(scenario(jobs((0, 10, 4), (3, 20, 2), (5, 1, 1)), horizon_s=6), Fake(plan))
    assert seen == {
        "active": [0, 1, 2],
        "waiting": [0, 2],
        "running": [1],
        "attained": [12, 4, 0],
        "started": [0, 3, pytest.approx(np.nan, nan_ok=True)],
        "width": [4, 2, 0],
        "held": [(), (Share(0, 2),), ()],
        "remaining": [7, 18, 1],
        "rate": [1, 0],
        "limits": [[4, 2, 1], [4, 2, 1]],
    }


def test_nothing_a_policy_changes_reaches_the_simulation():
    def plan(state):
        for column in (state.nodes.free, state.nodes.capacity, state.nodes.up, state.nodes.vm, state.jobs.work):
            with pytest.raises(ValueError, match="read-only"):
                column[0] = 0
        placer = state.placer()
        placer.place(0, 8)
        state.waiting[:] = 99
        assert state.nodes.free[0, 0] == 8
        return Plan({0: on((0, 8))})

    log = simulate(scenario(jobs((0, 1, 8)), horizon_s=0.5), Fake(plan))
    assert log.piece_end_s.tolist() == [0.5]


def test_dice_of_the_policy_depend_on_the_seed_only():
    def throws(run_seed, policy_seed):
        numbers = []
        given = scenario(jobs((0, 1, 8), (2, 1, 8)), nodes(1)).replace(seed=policy_seed)

        def plan(state):
            numbers.append(state.rng.random())
            return fifo_plan(state)

        simulate(given, Fake(plan), run_seed)
        return numbers

    assert throws(0, 3) == throws(0, 3) == throws(3, 0)
    assert throws(0, 3) != throws(1, 3)


def test_restarts_ahead_are_known():
    def plan(state):
        seen.append(state.restart_ahead_s(state.active).tolist())
        return fifo_plan(state)

    seen: list[list[float]] = []
    simulate(scenario(jobs((0, 10, 8), (2, 1, 8), (7, 1, 8)), restart_s=5), Fake(plan))
    # 0: waits; 2: has 3 s of its restart left; 7: is past it; 15, 21: it has ended
    assert seen[:4] == [[5], [3, 5], [0, 5, 5], [5, 5]]


@pytest.mark.parametrize("row", [1, -1])
@pytest.mark.parametrize(
    "ask",
    [
        lambda state, rows: state.remaining(rows),
        lambda state, rows: state.requested(rows),
        lambda state, rows: state.rate(rows, np.array([3])),
        lambda state, rows: state.width_limits(rows)[0],
        lambda state, rows: state.width_limits(rows)[1],
    ],
)
def test_nothing_can_be_asked_about_a_row_to_come(ask, row: int):
    def plan(state):
        if state.now_s == 0:
            if row > 0:
                with pytest.raises(PlanError, match="row 1"):
                    ask(state, np.array([row]))
            else:  # rows from the end are of those submitted
                assert ask(state, np.array([row])) == ask(state, np.array([0]))
        return fifo_plan(state)

    given = scenario(jobs((0, 10, 8), (4, 5, 3), min_workers=[4, 1], max_workers=[16, 9]), nodes(2), speed="scaling")
    simulate(given, Fake(plan))


def test_cpu_time_of_a_decision_does_not_count_waiting():
    def plan(state):
        time.sleep(0.05)
        return fifo_plan(state)

    assert simulate(scenario(jobs((0, 10, 8))), Fake(plan)).decision_cpu_s.max() < 0.04


@pytest.mark.parametrize("clock", ["elapsed", "slots"])
def test_utility_is_that_of_the_books(clock):
    worth = {"utility_1": [9.0, 7.0], "utility_2": [2.0, 1.0], "utility_3": [1.0, 2.0]}
    given = scenario(
        jobs((0, 10, 8), (4, 5, 3), **worth), utility_clock=clock, utility_unit_s=6.0, slot_s=3.0, placement="pool"
    )
    seen: list[float] = []

    def plan(state):
        if state.now_s == 4:
            seen.extend(state.utility(np.array([0, 1]), np.array([10.0, 15.0])).tolist())
        assert (state.slot_s, state.updates) == (3.0, "")
        return fifo_plan(state)

    log = simulate(given, Fake(plan))
    prepared = prepare(given)
    assert log.job_end_s.tolist() == [10, 15]
    elapsed = [10 / 6, 11 / 6] if clock == "elapsed" else [3 * 3 / 6, 3 * 3 / 6]
    by_hand = [9 / (1 + np.exp(2 * (elapsed[0] - 1))), 7 / (1 + np.exp(elapsed[1] - 2))]
    assert seen == pytest.approx(by_hand)
    assert RunFacts(prepared.scenario, prepared.truth, log).utility == pytest.approx(by_hand)
