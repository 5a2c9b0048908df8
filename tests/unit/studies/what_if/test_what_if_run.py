"""A what-if against two runs made by hand: the same numbers, paired by draw, exact where nothing is random."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.policy import PolicySpec
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.workload import Workload
from dlsched.metrics.money import cost_key
from dlsched.runner.carried import CarriedCells
from dlsched.sim.simulate import Cancelled
from dlsched.studies import registry
from dlsched.studies.byte_cache import ByteCache
from dlsched.studies.design import Futures, Variant, changed, usual_futures
from dlsched.studies.design import run as design_run
from dlsched.studies.simulation import simulate
from dlsched.studies.what_if import (
    STUDY,
    WhatIfSpec,
    check,
    conditions,
    guess_s,
    is_exact,
    moved,
    planned,
    read_spec,
    run_what_if,
    unchanged,
)
from dlsched.studies.what_if import run as what_if_run
from dlsched.studies.what_if.answer import CHANGED, LEVELS_PERCENT, TODAY, WhatIf, card_rows, comparison_of
from dlsched.workload.load import load
from dlsched.workload.studies.registry import draw
from tests.support.known import known
from tests.support.recorded_week import recorded_week
from tests.support.runs_for_store import long_scenario

A100 = VmType(name="a100", gpus=8, usd_per_h=20.0)
DAY_S = 86_400.0


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    what_if_run.forget_runs()


def by_hand(**changes: Any) -> Scenario:
    """Return two jobs of 8 GPUs and 100 s on one node, 10 s apart: the second waits 90 s."""
    columns = {"job_id": ["a", "b"], "submit_s": [0.0, 10.0], "work": [100.0, 100.0], "workers": [8, 8],
               "due_s": [150.0, 150.0], "user": ["ann", "bob"]}  # fmt: skip
    cluster = Cluster(pools=(Pool(vm=A100, count=1),))
    values: dict[str, Any] = {"workload": Workload.from_columns(columns), "cluster": cluster, "name": "two"}
    return Scenario(**values | changes)


def demo(jobs: int = 60, **changes: Any) -> Scenario:
    made = load("data/demo.toml")
    spec = {**known(made.generator), "jobs": jobs}
    return made.replace(generator=spec, workload=draw(spec, made.seed), **changes)


def asked(scenario: Scenario, after: Variant, before: str = "fifo", **futures: Any) -> WhatIfSpec:
    """Return the question about an option and conditions, which are told apart."""
    spec = WhatIfSpec(
        scenario=scenario.content_hash,
        baseline=Variant(policy=before),
        changed=after.model_copy(update={"changes": {}}),
        futures=Futures(**futures),
    )
    return spec.with_changes(scenario, after.changes)


def test_one_more_node_by_hand() -> None:
    scenario = by_hand()
    answer = run_what_if(asked(scenario, Variant(policy="fifo", changes={"nodes": 2})), scenario)
    assert answer.exact
    assert answer.baseline.metrics[0]["wait_mean"] == 45  # 0 and 90
    assert answer.changed.metrics[0]["wait_mean"] == 0
    assert answer.baseline.waits_s[0] == answer.baseline.waits_s[100] == 0  # half of the jobs did not wait
    assert answer.baseline.waits_s[101] == answer.baseline.waits_s[-1] == 90
    assert set(answer.changed.waits_s) == {0.0}
    assert answer.baseline.times_in_system_s[-1] == 190
    assert (answer.baseline.started, answer.baseline.completed) == (2, 2)
    assert [count for at, count in answer.baseline.queue if 10 <= at < 100] == [1]
    assert answer.changed.queue[-1][1] == 0
    found = comparison_of(answer)
    late = known(found.row("late_share")).of(CHANGED)
    assert (known(late.value).value, known(late.delta).value, late.verdict) == (0.0, -0.5, "better")
    by_user = next(one for one in answer.winners if one.by == "user")
    assert {group.name: group.change for group in by_user.groups} == {"2 small groups": -45}
    assert by_user.total.half_width == 0


def test_the_answer_is_two_runs_on_the_same_draws() -> None:
    scenario = demo()
    after = Variant(policy="sjf", changes={"nodes": 9, "demand": 1.5})
    answer = run_what_if(asked(scenario, after, seeds=(0, 1, 2)), scenario)
    for seed in (0, 1, 2):
        now = simulate(scenario, "fifo", seed=seed)
        old = simulate(changed(scenario, {"demand": 1.5}, seed), "fifo", seed=seed)
        new = simulate(changed(scenario, after.changes, seed), "sjf", seed=seed)
        for side, run in ((answer.today, now), (answer.baseline, old), (answer.changed, new)):
            mine = {key: value for key, value in side.metrics[seed].items() if key != "decision_cpu_s"}
            theirs = {key: value for key, value in run.metrics.items() if key != "decision_cpu_s"}
            assert mine == theirs
            assert side.audit == tuple(run.audit()) == ()
    assert answer.changed.metrics[0]["completed"] == 1.5 * known(answer.today.metrics[0]["completed"])
    assert (answer.before, answer.before_name) == (answer.baseline, "doing nothing")
    first = simulate(changed(scenario, {"demand": 1.5}, 0), "fifo", seed=0)
    waits = np.percentile(first.jobs["wait_s"], LEVELS_PERCENT, method="inverted_cdf")
    assert answer.baseline.waits_s == pytest.approx(waits)
    delta = known(known(comparison_of(answer).row("wait_mean")).of(CHANGED).delta)
    pairs = [
        known(new["wait_mean"]) - known(old["wait_mean"])
        for old, new in zip(answer.baseline.metrics, answer.changed.metrics, strict=True)
    ]
    assert delta.value == pytest.approx(np.mean(pairs))
    assert not answer.exact


def numbers(answer: WhatIf) -> dict[str, Any]:
    plain = answer.to_plain()
    for side in ("today", "baseline", "changed"):
        for metrics in plain[side]["metrics"]:
            metrics.pop("decision_cpu_s", None)
    return {key: value for key, value in plain.items() if key != "run_cpu_s"}


def test_the_same_question_has_the_same_answer_also_through_json_and_in_a_worker() -> None:
    scenario = demo(40)
    spec = asked(scenario, Variant(policy="fifo", changes={"arrivals": 1.2, "failures": 5}), seeds=(0, 1))
    answer = run_what_if(spec, scenario)
    assert numbers(WhatIf.from_plain(answer.to_plain())) == numbers(answer)
    record = registry.compute("what-if", spec.model_dump(mode="json"), subject=scenario)
    assert numbers(WhatIf.from_plain(record.answer)) == numbers(answer)
    assert read_spec(record.spec) == spec


def test_more_draws_begin_with_the_same_ones() -> None:
    scenario = demo(40)
    spec = asked(scenario, Variant(policy="fifo", changes={"nodes": 7}), seeds=(0, 1, 2))
    assert spec.first_future.futures.seeds == (0,)
    rough, full = run_what_if(spec.first_future, scenario), run_what_if(spec, scenario)
    assert numbers(rough)["changed"]["metrics"][0] == numbers(full)["changed"]["metrics"][0]
    assert rough.changed.waits_s == full.changed.waits_s


def test_what_is_exact_is_run_once_however_many_draws_are_asked_for() -> None:
    scenario = by_hand()
    told: list[str] = []
    spec = asked(scenario, Variant(policy="fifo", changes={"nodes": 3}), seeds=(0, 1, 2))
    run_what_if(spec, scenario, progress=lambda share, text: told.append(text))
    assert told[-1] == "2 of 2 futures"
    assert is_exact(spec, scenario)
    assert not is_exact(spec.model_copy(update={"futures": Futures.first(1, {"run_time_spread": 0.3})}), scenario)
    drawn_errors = Variant(policy="sjf", changes={"estimate_error": 0.5})
    assert not is_exact(asked(scenario, drawn_errors), scenario)


def test_nothing_changed_is_the_same_on_both_sides() -> None:
    scenario = by_hand()
    answer = run_what_if(unchanged(scenario, "fifo"), scenario)
    assert not answer.is_changed
    assert answer.winners == ()
    assert answer.baseline.metrics == answer.changed.metrics
    assert {row.of(CHANGED).verdict for row in comparison_of(answer).rows} == {"same"}


def test_a_run_that_cannot_be_leaves_its_error_and_the_other_side() -> None:
    columns = {"job_id": ["a"], "submit_s": [0.0], "work": [10.0], "workers": [16]}
    scenario = by_hand(workload=Workload.from_columns(columns), cluster=Cluster(pools=(Pool(vm=A100, count=2),)))
    answer = run_what_if(asked(scenario, Variant(policy="fifo", changes={"nodes": 1})), scenario)
    assert "can never fit" in answer.errors[0]
    assert answer.baseline.metrics[0]["completed"] == 1
    assert answer.changed.metrics == ({},)
    assert known(comparison_of(answer).row("wait_mean")).of(CHANGED).verdict == "missing"
    assert answer.winners == ()


def test_progress_goes_up_and_may_stop_the_work() -> None:
    scenario = demo(30, seed=77)
    spec = asked(scenario, Variant(policy="sjf"), seeds=(0, 1))
    shares: list[float] = []
    run_what_if(spec, scenario, progress=lambda share, text: shares.append(share))
    assert shares == sorted(shares)
    assert 0 <= shares[0] < shares[-1] <= 1

    def stop(share: float, text: str) -> None:
        raise Cancelled

    what_if_run.forget_runs()
    with pytest.raises(Cancelled):
        run_what_if(spec, scenario, progress=stop)


def test_one_control_moved_edits_the_scenario_once_a_draw_and_reads_each_policy_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    columns = {"job_id": ["a", "b", "c"], "submit_s": [0.5 * DAY_S, 1.5 * DAY_S, 2.1 * DAY_S], "work": [9.0] * 3}
    scenario = by_hand(workload=Workload.from_columns(columns), name="counted")
    edits: list[tuple[tuple[str, ...], int]] = []
    parses: list[str] = []
    real_parse = PolicySpec.parse

    def edited(given: Scenario, changes: dict[str, Any], seed: int = 0) -> Scenario:
        edits.append((tuple(sorted(changes)), seed))
        return changed(given, changes, seed)

    def parsed(policy: PolicySpec, values: dict[str, Any] | None) -> Any:
        parses.append(policy.key)
        return real_parse(policy, values)

    monkeypatch.setattr(design_run, "changed", edited)
    monkeypatch.setattr(PolicySpec, "parse", parsed)
    seeds, vary = tuple(range(10)), {"days": 1}
    spec = asked(scenario, Variant(policy="sjf", changes={"nodes": 2}), seeds=seeds, vary=vary)
    cells = CarriedCells()
    STUDY.run(spec, scenario, store=cells)
    assert sorted(edits) == [
        ((), 0),
        *((("days",), seed) for seed in seeds[1:]),
        *((("days", "nodes"), seed) for seed in seeds[1:]),
        (("nodes",), 0),
    ]
    parses.clear()
    assert planned(spec, scenario).moved
    assert parses == ["fifo", "sjf", "sjf"]  # the defaults of the new one, to say what differs
    edits.clear()
    parses.clear()
    STUDY.run(
        asked(scenario, Variant(policy="fifo", changes={"nodes": 3}), seeds=seeds, vary=vary), scenario, store=cells
    )
    assert sorted(edits) == [((), 0), *((("days", "nodes"), seed) for seed in seeds[1:]), (("nodes",), 0)]


def test_the_baseline_is_run_once_however_many_controls_are_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"job_id": ["a", "b", "c"], "submit_s": [0.5 * DAY_S, 1.5 * DAY_S, 2.1 * DAY_S], "work": [9.0] * 3}
    scenario = by_hand(workload=Workload.from_columns(columns), name="remembered")
    run_what_if(asked(scenario, Variant(policy="fifo", changes={"nodes": 9})), scenario)
    a_run = what_if_run._jobs.bytes_held // 2
    what_if_run.forget_runs()
    monkeypatch.setattr(what_if_run, "_jobs", ByteCache(3 * a_run))  # room for little more than both sides
    ran: list[int] = []

    def counted(made: Scenario, *args: Any) -> Any:
        ran.append(made.cluster.num_nodes)
        return simulate(made, *args)

    monkeypatch.setattr(what_if_run, "simulate", counted)
    cells = CarriedCells()
    for nodes in (2, 3, 4, 5):
        changes = {"nodes": nodes}
        futures: dict[str, Any] = {"seeds": tuple(range(10)), "vary": {"run_time_spread": 0.3}}
        run_what_if(asked(scenario, Variant(policy="fifo", changes=changes), **futures), scenario, store=cells)
    assert ran == [1, 2, 3, 4, 5]  # the recorded month, whose jobs are shown
    assert len(cells.made) == 5 * 10


class Elsewhere(ThreadPoolExecutor):
    """Threads that get and give everything by pickle, as other processes do."""

    def submit(self, work: Any, /, *args: Any, **kwargs: Any) -> Any:
        sent = pickle.dumps((work, args, kwargs))

        def there() -> bytes:
            work, args, kwargs = pickle.loads(sent)
            return pickle.dumps(work(*args, **kwargs))

        made = super().submit(there)
        got: Future[Any] = Future()
        made.add_done_callback(lambda done: _hand_on(done, got))
        return got


def _hand_on(done: Future[bytes], got: Future[Any]) -> None:
    if done.cancelled() or (error := done.exception()) is None:
        got.set_result(pickle.loads(done.result()))
    else:
        got.set_exception(error)


QUESTIONS: dict[str, tuple[Callable[[], Scenario], dict[str, Any], dict[str, Any]]] = {
    "recorded month": (recorded_week, {"seeds": (0, 1, 2, 3), "vary": {"days": 1}}, {"nodes": "+1"}),
    "draws": (demo, {"seeds": tuple(range(7))}, {"demand": 1.2, "nodes": 9}),
    "exact": (by_hand, {"seeds": (0, 1)}, {"nodes": 2}),
}


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_numbers_are_the_same_however_many_workers_play_the_futures(question: str, workers: int) -> None:
    make, futures, changes = QUESTIONS[question]
    scenario = make()
    changes = {key: scenario.cluster.num_nodes + 1 if value == "+1" else value for key, value in changes.items()}
    spec = asked(scenario, Variant(policy="easy-backfill", changes=changes), **futures)
    here = numbers(run_what_if(spec, scenario))
    what_if_run.forget_runs()
    told: list[float] = []
    with Elsewhere(workers) as executor:
        there = run_what_if(spec, scenario, executor, progress=lambda share, text: told.append(share))
        assert numbers(there) == here
        assert there.winners
        assert told == sorted(told)
        assert told[-1] == 1
        told.clear()
        again = run_what_if(spec, scenario, executor, progress=lambda share, text: told.append(share))
    assert numbers(again) == here
    assert told == []  # nothing was played: it came back with the first answer, and is remembered


def test_stopping_ends_what_other_workers_have_not_begun() -> None:
    scenario = demo(30, seed=78)
    spec = asked(scenario, Variant(policy="sjf"), seeds=tuple(range(8)))
    cells = CarriedCells()

    def stop(share: float, text: str) -> None:
        raise Cancelled

    with Elsewhere(1) as executor, pytest.raises(Cancelled):
        run_what_if(spec, scenario, executor, cells, progress=stop)
    assert 1 <= len(cells.made) < 16  # what was played is kept, so that the next try goes on from there
    played = len(cells.made)
    run_what_if(spec, scenario, store=cells)
    assert len(cells.made) == 16 > played


def test_what_is_remembered_is_bounded_by_bytes_and_an_answer_outlives_its_jobs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scenario = demo(200).replace(generator=None)
    spec = asked(scenario, Variant(policy="sjf", changes={"nodes": 9}), "easy-backfill")
    first = numbers(run_what_if(spec, scenario))
    a_run = what_if_run._jobs.bytes_held // 2
    assert 50 * 200 < a_run < 300 * 200
    what_if_run.forget_runs()
    monkeypatch.setattr(what_if_run, "_jobs", ByteCache(a_run))  # room for one run, and a question needs two
    assert numbers(run_what_if(spec, scenario)) == first
    assert what_if_run._jobs.bytes_held <= a_run
    monkeypatch.setattr(what_if_run, "simulate", lambda *_: pytest.fail("it was run again"))
    assert numbers(run_what_if(spec, scenario)) == first


def test_a_failed_run_is_tried_again() -> None:
    columns = {"job_id": ["a"], "submit_s": [0.0], "work": [10.0], "workers": [16]}
    scenario = by_hand(workload=Workload.from_columns(columns), cluster=Cluster(pools=(Pool(vm=A100, count=2),)))
    spec = asked(scenario, Variant(policy="fifo", changes={"nodes": 1}))
    told: list[str] = []
    for _ in range(2):
        assert run_what_if(spec, scenario, progress=lambda share, text: told.append(text)).errors
    assert told[-1] == "1 of 1 futures"


def test_the_usual_futures_are_the_days_of_the_trace_else_draws() -> None:
    assert usual_futures(demo()) == Futures.first(20)
    assert usual_futures(by_hand()) == Futures.first(20)  # all alike
    assert is_exact(unchanged(by_hand(), "fifo"), by_hand())
    for last_day, vary in ((3.1, {}), (4.1, {"days": 1})):
        columns = {"job_id": ["a", "b"], "submit_s": [0.5 * DAY_S, last_day * DAY_S], "work": [9.0, 9.0]}
        days = by_hand(workload=Workload.from_columns(columns))
        assert days.workload.days == int(last_day) + 1
        assert usual_futures(days) == Futures.first(40 if vary else 20, vary)
    errors = by_hand(options=SimulationRules(estimate_error=0.2))
    assert usual_futures(errors) == Futures.first(20)


def test_conditions_are_no_options_and_options_no_conditions() -> None:
    scenario = by_hand()
    spec = unchanged(scenario, "fifo")
    with pytest.raises(InputError, match="demand: is a condition"):
        check(spec.model_copy(update={"changed": Variant(policy="fifo", changes={"demand": 1.3})}), scenario)
    with pytest.raises(InputError, match="nodes: is an option"):
        check(spec.model_copy(update={"condition": {"nodes": 2}}), scenario)


def test_what_differs_is_told_with_both_values() -> None:
    scenario = by_hand(options=SimulationRules(restart_s=15))
    after = Variant(
        policy="las", changes={"nodes.a100": 3, "arrivals": 1.0, "restart_s": 60}, params={"quantum_s": 120}
    )
    spec = asked(scenario, after)
    found = {one.key: (one.before, one.after) for one in moved(spec, scenario)}
    assert found == {"nodes.a100": (1, 3), "policy": ("FIFO", "LAS"), "param.quantum_s": (60, 120)}
    assert {one.key: (one.before, one.after) for one in conditions(spec, scenario)} == {"restart_s": (15, 60)}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"scenario": "other"}, "asks about scenario other"),
        ({"changed": {"policy": "fifo", "changes": {"node": 2}}}, "change 'node': there is none of this name"),
        ({"changed": {"policy": "fifo", "changes": {"nodes": 0}}}, "change nodes: must be at least 1"),
        ({"changed": {"policy": "fof"}}, "policy 'fof'"),
        ({"futures": {"seeds": [1, 2]}}, "futures are numbered 0, 1, 2"),
        ({"futures": {"vary": {"arrivals": 2}}}, "has no randomness of its own"),
        ({"baseline": {"policy": "fifo", "changes": {"nodes": 2}}}, "the baseline is today's scenario"),
        ({"changed": {"policy": "priority"}}, "needs priorities, which the scenario does not have"),
    ],
    ids=("scenario", "key", "value", "policy", "futures", "vary", "baseline", "need"),
)
def test_a_bad_question_names_what_is_wrong(spec: dict[str, Any], words: str) -> None:
    scenario = by_hand()
    plain = unchanged(scenario, "fifo").model_dump(mode="json") | spec
    with pytest.raises(InputError, match=words):
        check(read_spec(plain), scenario)


def test_a_question_without_its_scenario_says_where_to_ask() -> None:
    spec = unchanged(by_hand(), "fifo").model_dump(mode="json")
    with pytest.raises(InputError, match=r"without its scenario\. Ask on the page What if"):
        registry.compute("what-if", spec)


def test_the_guess_knows_compiled_loops_from_the_general_engine() -> None:
    scenario = demo(1000)
    quick = guess_s(unchanged(scenario, "fifo"), scenario)
    assert 0.1 < quick < 4  # 21 futures of one run
    served = long_scenario(10_000)
    slower = asked(served, Variant(policy="fifo", changes={"nodes": 3}))
    assert guess_s(slower, served) > 4 > quick
    assert guess_s(slower, served, run_cpu_s=0.1) == pytest.approx(0.2)  # a record: one future, on both sides
    one = asked(by_hand(), Variant(policy="fifo", changes={"nodes": 2}))
    assert guess_s(one, by_hand(), run_cpu_s=0.1) == pytest.approx(0.2)
    assert guess_s(unchanged(by_hand(), "fifo"), by_hand(), run_cpu_s=0.1) == pytest.approx(0.1)  # both sides are one


def test_workers_share_the_futures_but_one_plays_the_recorded_month() -> None:
    scenario = demo(1000)
    spec = asked(scenario, Variant(policy="fifo", changes={"nodes": 9}), seeds=tuple(range(10)))
    alone = guess_s(spec, scenario)
    assert guess_s(spec, scenario, workers=4) == pytest.approx(alone / 4)
    assert guess_s(spec, scenario, workers=40) == pytest.approx(alone / 10)
    assert guess_s(spec, scenario, run_cpu_s=0.5, workers=2) == pytest.approx(5)
    sliced = asked(scenario, Variant(policy="las", changes={"nodes": 9}), "las", seeds=tuple(range(10)))
    assert guess_s(sliced, scenario) > 2 * alone  # it decides again every minute


def test_costs_are_per_month_on_fixed_nodes_and_per_job_where_machines_are_rented() -> None:
    scenario = by_hand()
    answer = run_what_if(asked(scenario, Variant(policy="fifo", changes={"nodes": 2})), scenario)
    found = comparison_of(answer)
    assert cost_key(found) == "cost_month"
    assert [row.kpi.key for row in card_rows(answer, found)] == ["late_share", "wait_p95", "wait_p50", "cost_month"]
    # one node at 20 $/h for the 10 s in which jobs arrive, scaled to a month of 30.4 days: 24 x 30.4 x 20 $
    assert known(known(found.row("cost_month")).of(TODAY).value).value == pytest.approx(20 * 24 * 30.4)
    assert cost_key(comparison_of(answer.model_copy(update={"free_slots": True}))) == "usd_per_job"
