"""Workers with parameter servers in placement, engine, audit and books."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dlsched.domain.cluster import Cluster, VmType
from dlsched.domain.errors import InputError, PlanError
from dlsched.domain.plan import Plan, Share, Step, run_on
from dlsched.placement import Site, TrialPlacer, can_ever_fit, largest_width
from dlsched.sim.audit import audit
from dlsched.sim.prepare import prepare
from dlsched.studies.simulation import simulate as run
from dlsched.testing.scenarios import many
from tests.support.server_scenarios import machines, training, with_servers
from tests.support.sim_fakes import Fake, fifo_plan, script, simulate


def placer(cluster, rule, *jobs, **columns):
    site = Site.of(training(*jobs, **columns), cluster, rule)
    return TrialPlacer(site, site.capacity)


def test_a_gang_sits_on_one_node_where_one_holds_it():
    two = placer(machines(2, gpus=4, cpus=10), "best-fit", (0, 1, 3, 2), (0, 1, 2, 1), (0, 1, 1, 1))
    assert two.place(0, 3) == (Share(0, 3, 2),)  # 8 of 10 CPUs
    assert two.place(1, 2) == (Share(1, 2, 1),)
    # 2 CPUs are left on node 0, 5 on node 1: the third gang asks for 3
    assert two.place(2, 1) == (Share(1, 1, 1),)
    assert two.free[:, 1].tolist() == [2, 2]
    two.release(1, (Share(1, 2, 1),))
    assert two.free[1].tolist()[:2] == [3, 7]


def test_a_gang_larger_than_a_node_is_split_workers_first():
    two = placer(machines(2, gpus=4, cpus=8), "pool", (0, 1, 5, 3))
    # four workers fill the 8 CPUs of node 0, one sits on node 1 with the servers
    assert two.place(0, 5) == (Share(0, 4, 0), Share(1, 1, 3))


def test_best_fit_waits_for_a_node_that_could_hold_the_gang():
    two = placer(machines(2, gpus=4, cpus=10), "best-fit", (0, 1, 2, 2), (0, 1, 3, 2))
    two.place(0, 2)
    two.place(0, 2)
    before = two.free.copy()
    assert two.place(1, 3) is None
    assert (two.free == before).all()
    assert not two.fits(1, 3)


def test_servers_decide_what_can_ever_fit():
    jobs = training((0, 1, 4, 1), (0, 1, 4, 9), (0, 1, 8, 2))
    cluster = machines(1, gpus=8, cpus=16)
    assert can_ever_fit(jobs, cluster, "best-fit").tolist() == [True, False, False]
    # row 1 brings 9 servers for 4 workers: 3 workers and 7 servers hold 13 CPUs; row 2: 7 and 2 hold 16
    assert largest_width(jobs, cluster, "best-fit").tolist() == [4, 3, 7]


def test_the_engine_runs_a_gang_at_its_rate():
    log = simulate(with_servers(training((0, 10, 3, 1))), Fake(fifo_plan))
    assert log.job_end_s[0] == pytest.approx(10 * (6 / 3 + 1 + 3))
    assert (log.piece_workers.tolist(), log.piece_servers.tolist()) == ([3], [1])


def test_a_policy_may_choose_the_servers():
    plans = {0.0: {0: run_on((Share(0, 3, 0), Share(1, 0, 3)))}}
    given = with_servers(training((0, 10, 3, 1), spread_s=[0.5]), machines(2))
    log = simulate(given, Fake(script(plans)))
    assert log.job_end_s[0] == pytest.approx(10 * (6 / 3 + 1 + 3 / 3 + 0.5))
    prepared = prepare(given)
    assert audit(prepared.scenario, prepared.truth, log) == []


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (Step(3, None, None, 2), "brings its own servers"),
        (Step(3, (Share(0, 3, 0),)), "cannot run with 3 workers; allowed"),
        (Step(8, (Share(0, 8, 17),), None, 17), "requests 33 CPUs"),
    ],
)
def test_plans_that_cannot_be(step, message):
    with pytest.raises(PlanError, match=message):
        simulate(with_servers(training((0, 10, 3, 1))), Fake(script({0.0: {0: (step,)}})))


def test_a_limit_that_is_blocked_is_in_the_log_and_audited():
    given = with_servers(training((0, 10, 2, 1), (0, 10, 2, 1)), machines(1, cpus=20), placement="pool")
    plans = {0.0: {row: (Step(2, (Share(0, 2, 1),), None, 1, (4.0, 9.0, 0.0, 0.0)),) for row in (0, 1)}}
    log = simulate(given, Fake(script(plans)))
    assert log.piece_blocked.tolist() == [[2, 4, 0, 0]] * 2
    prepared = prepare(given)
    assert audit(prepared.scenario, prepared.truth, log) == []
    greedy = dataclasses.replace(log, piece_blocked=log.piece_blocked + np.array([1, 0, 0, 0.0]))
    assert "hold and block 10 gpus, but the whole cluster has 8" in audit(prepared.scenario, prepared.truth, greedy)[0]


def test_what_is_blocked_changes_only_with_what_is_held():
    def plan(state):
        limit = 6.0 if state.now_s else 4.0
        return Plan({0: (Step(2, (Share(0, 2, 1),), None, 1, (limit, 9.0, 0.0, 0.0)),)})

    with pytest.raises(PlanError, match="without changing its allocation"):
        simulate(with_servers(training((0, 10, 2, 1), (1, 1, 1, 1)), placement="pool"), Fake(plan))


def wrong(log, **columns):
    return dataclasses.replace(log, **{name: np.array(values) for name, values in columns.items()})


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"piece_servers": [0], "share_servers": [0]}, "too few for 3 workers"),
        ({"piece_servers": [7], "share_servers": [7]}, "has rate"),
        ({"piece_servers": [27], "share_servers": [27]}, "holds 33 cpus, but its capacity is 32"),
        ({"piece_servers": [14], "share_servers": [14]}, "its user's limit is 19"),
    ],
)
def test_the_audit_sees_wrong_servers(columns, message):
    given = with_servers(training((0, 10, 3, 1), limit_cpus=[19.0]))
    prepared = prepare(given)
    log = simulate(given, Fake(fifo_plan))
    assert audit(prepared.scenario, prepared.truth, log) == []
    assert any(message in line for line in audit(prepared.scenario, prepared.truth, wrong(log, **columns)))


def test_rigid_jobs_bring_their_servers_too():
    given = with_servers(training((0, 10, 3, 2)), speed=with_servers(training((0, 1, 1, 1))).speed.model_copy(
        update={"kind": "rigid"}))  # fmt: skip
    log = simulate(given, Fake(fifo_plan))
    assert (log.job_end_s[0], log.piece_servers.tolist()) == (10, [2])
    prepared = prepare(given)
    lacks = wrong(log, piece_servers=[1], share_servers=[1])
    assert "1 parameter servers beside 3 workers, not 2" in audit(prepared.scenario, prepared.truth, lacks)[0]


def test_free_slots_are_refused():
    slots = Cluster(slots=2, catalogue=(VmType(name="vm", gpus=8),))
    with pytest.raises(InputError, match="jobs with parameter servers need owned nodes"):
        prepare(with_servers(training((0, 10, 3, 1)), slots))


@pytest.mark.parametrize("key", ["fifo", "srtf", "easy-backfill", "drf", "las", "hell-malleable", "jsq-chunk"])
@pytest.mark.parametrize("updates", ["sync", "async"])
def test_everyday_policies_run_jobs_with_servers(key, updates):
    done = run(many(updates=updates), key)
    assert done.audit() == []
    assert done.metrics["completed"] == 30
    assert (done.segments["servers"] >= 0).all()
    assert done.segments["servers"].sum() > 0
