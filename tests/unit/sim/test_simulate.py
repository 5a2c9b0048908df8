"""Preparing a run, choosing kernel or engine, progress and cancelling."""

from dataclasses import replace

import numpy as np
import pytest

from dlsched.domain.cluster import Absence
from dlsched.domain.errors import InputError
from dlsched.domain.policy import ListRule
from dlsched.domain.scenario import SpeedSpec
from dlsched.domain.timetable import TimeTable
from dlsched.policies.registry import find
from dlsched.sim.audit import audit
from dlsched.sim.prepare import prepare
from dlsched.sim.simulate import Cancelled, run_policy, soon_done
from tests.support.sim_fakes import Fake, fifo_plan, jobs, nodes, scenario

OVERSIZE = jobs((0, 10, 4), (1, 10, 20), (2, 6, 24), (3, 1, 1), min_workers=[1, 18, 1, 1])


def test_jobs_that_never_fit_are_refused_with_a_way_out():
    with pytest.raises(InputError) as caught:
        prepare(scenario(OVERSIZE, nodes(2)))
    assert str(caught.value) == (
        "2 jobs of 4: can never fit the cluster (2 nodes with 16 GPUs in total); the largest is 'c' with 24 GPUs in 24 "
        "workers. Set the option oversize to drop (leave them out) or cap (reduce their GPU count), or enlarge "
        "the cluster."
    )


def test_drop_leaves_them_out_and_counts():
    prepared = prepare(scenario(OVERSIZE, nodes(2), oversize="drop"))
    assert prepared.scenario.workload.job_id.tolist() == ["a", "d"]
    assert prepared.oversize == {"dropped": 2, "capped": 0}
    assert len(prepared.truth.work) == 2


def test_cap_keeps_the_gpu_seconds():
    prepared = prepare(scenario(OVERSIZE, nodes(2), oversize="cap"))
    capped = prepared.scenario.workload
    assert capped.workers.tolist() == [4, 16, 16, 1]
    assert capped.work.tolist() == [10, 12.5, 9, 1]
    assert capped.columns()["min_workers"].tolist() == [1, 16, 1, 1]
    assert (capped.workers * capped.work).tolist() == (OVERSIZE.workers * OVERSIZE.work).tolist()
    assert prepared.oversize == {"dropped": 0, "capped": 2}


def test_cap_drops_what_fits_at_no_width():
    never = jobs((0, 1, 1), (0, 1, 1), gpu_types=["", "A100"])
    assert prepare(scenario(never, oversize="cap")).oversize == {"dropped": 1, "capped": 0}


def test_jobs_that_need_more_gpus_than_the_table_has_times_for_are_refused_capped_or_left_out():
    wide = jobs((0, 5, 1), (0, 5, 1), (0, 5, 8), gpus_per_worker=[1.0, 3.0, 1.0], profile=["vgg"] * 3)
    table = SpeedSpec(kind="table", times=TimeTable(rows={"vgg": {"GPU": (0.5, 0.3)}}))
    given = scenario(wide, nodes(2), oversize="refuse").replace(speed=table)
    with pytest.raises(InputError, match=r"run times on up to 2 GPUs, and job b needs 3 in 1 worker\. .*or cap"):
        prepare(given)
    dropped = prepare(scenario(wide, oversize="drop").replace(speed=table))
    assert dropped.scenario.workload.job_id.tolist() == ["a"]
    assert dropped.oversize == {"dropped": 2, "capped": 0}
    capped = prepare(scenario(wide, oversize="cap").replace(speed=table))
    assert capped.scenario.workload.job_id.tolist() == ["a", "c"]
    assert capped.scenario.workload.workers.tolist() == [1, 2]
    assert capped.scenario.workload.work.tolist() == [5, 5]  # the table says how fast a narrower job is
    assert capped.oversize == {"dropped": 1, "capped": 1}


def test_a_request_beyond_the_table_ends_in_no_plan_error():
    wide = jobs((0, 5, 8), profile=["vgg"])
    table = SpeedSpec(kind="table", times=TimeTable(rows={"vgg": {"GPU": (4.0, 2.0, 1.5, 1.0)}}))
    log = run_policy(
        prepared := prepare(scenario(wide, oversize="cap").replace(speed=table)),
        find("fifo").build(find("fifo").parse({})),
    )
    assert (log.piece_workers.tolist(), log.end_s) == ([4], 5.0)
    assert audit(prepared.scenario, prepared.truth, log) == []


def test_a_generated_workload_is_drawn_anew_for_another_run_seed(monkeypatch):
    import dlsched.workload.studies.registry as registry

    drawn = jobs((0, 7, 2))
    calls = []

    def draw(spec, seed):
        calls.append((spec, seed))
        return drawn

    monkeypatch.setattr(registry, "draw", draw)
    given = scenario(jobs((0, 1, 1))).replace(generator={"kind": "x"}, seed=5)
    assert prepare(given, 0).scenario.workload is given.workload
    assert prepare(given, 3).scenario.workload is drawn
    assert calls == [({"kind": "x"}, 8)]


def test_progress_is_told_and_may_cancel():
    many = jobs(*((float(number * 1000), 10.0, 1) for number in range(400)))
    told = []
    prepared = prepare(scenario(many))
    run_policy(prepared, Fake(fifo_plan), progress=lambda share, text: told.append((share, text)))
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert len(told) >= 10
    assert told[-2][1] == "day 5 of 5"

    def cancel(share, text):
        if share > 0.5:
            raise Cancelled

    with pytest.raises(Cancelled):
        run_policy(prepared, Fake(fifo_plan), progress=cancel)


class Listed(Fake):
    kernel_rule = ListRule("submit", blocking=True)


def test_engine_and_kernel_are_the_same_call():
    prepared = prepare(scenario(jobs((0, 10, 5), (2, 5, 4), (3, 1, 1))))
    slow = run_policy(prepared, Listed(fifo_plan), use_kernel=False)
    fast = run_policy(prepared, Listed(fifo_plan))
    assert slow.job_end_s.tolist() == fast.job_end_s.tolist() == [10, 15, 11]
    assert np.isfinite(slow.decision_cpu_s).all()


@pytest.mark.parametrize(
    ("few", "rule", "soon"),
    [(3, {}, True), (2, {}, False), (3, {"preemptive": True}, False), (3, {"backfill": "conservative"}, False)],
)
def test_few_jobs_are_done_before_compiled_code_is_loaded(few, rule, soon, monkeypatch):
    monkeypatch.setattr("dlsched.sim.simulate.FEW_EVENTS", few)
    policy = Listed(fifo_plan)
    policy.kernel_rule = ListRule("submit", blocking=True, **rule)
    prepared = prepare(scenario(jobs((0, 10, 5), (2, 5, 4), (3, 1, 1)), placement="pool"))
    assert soon_done(prepared, policy) == soon
    away = prepared.scenario.cluster.model_copy(update={"absences": (Absence(node=0, start_s=1.0, end_s=2.0),)})
    with_absence = replace(prepared, scenario=prepared.scenario.replace(cluster=away))
    assert not soon_done(with_absence, policy)  # an event more
