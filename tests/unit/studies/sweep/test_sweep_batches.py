"""Runs of a sweep in batches: together each missing run once, as large as asked; kept, resumed, errors told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.runner.background import Runner, StudyTask, TaskState
from dlsched.sim.simulate import Cancelled
from dlsched.store import Store
from dlsched.studies import cells as study_cells
from dlsched.studies import registry
from dlsched.studies.batches import BATCH_S, LEAST_EACH, MOST_BATCHES, batches, run_seconds
from dlsched.studies.cells import KIND, STUDY, outcomes_of, spec_of
from dlsched.studies.design import run as cases_run
from dlsched.studies.design.run import RunResult, VariantPlan, VariantTask, stored_results
from dlsched.studies.simulation import Progress
from dlsched.studies.sweep import SweepSpec, answer_of, planned, read_spec, run_sweep
from dlsched.studies.sweep.answer import failed
from tests.support.known import known as there
from tests.support.runs_for_store import small_scenario
from tests.support.thread_runner import runner_in_a_thread

WAIT_S = 60


def scenario() -> Scenario:
    return small_scenario(12, options=SimulationRules(estimate_error=0.5))


def spec_for(asked: Scenario) -> SweepSpec:
    axes = [{"key": "nodes", "values": [1, 2, 3]}]
    plain = {"axes": axes, "policies": ["sjf", "fifo"], "futures": {"seeds": [0, 5]},
             "metrics": ["jct_mean", "vm_cost"]}  # fmt: skip
    return read_spec({"scenario": asked.content_hash} | plain)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "s.duckdb") as opened:
        yield opened


@pytest.fixture
def runner(store: Store) -> Iterator[Runner]:
    with runner_in_a_thread(store) as made:
        yield made


def asked_in_parts(plan: VariantPlan, size: int) -> list[StudyTask]:
    keys = list(plan.tasks)
    parts = [keys[at : at + size] for at in range(0, len(keys), size)]
    subject = next(iter(plan.tasks.values())).scenario
    return [StudyTask(KIND, spec_of({key: plan.tasks[key] for key in part}), "cells", subject) for part in parts]


def answer(spec: SweepSpec, asked: Scenario, plan: VariantPlan, found: dict[str, RunResult]) -> object:
    return answer_of(spec, asked, plan.results(found), exact=plan.exact)


def test_batches_in_the_background_give_the_answer_of_one_sweep(store: Store, runner: Runner) -> None:
    asked = scenario()
    spec = spec_for(asked)
    plan = planned(spec, asked)
    ids = runner.submit(asked_in_parts(plan, 5))
    assert runner.wait(WAIT_S)
    assert len(ids) == 3
    assert [status.state for status in runner.status(ids)] == [TaskState.STORED] * 3
    assert answer(spec, asked, plan, stored_results(store, plan.tasks)) == run_sweep(spec, asked).answer
    assert store.list_experiments() == []
    assert run_sweep(spec, asked, store=store).stored == len(plan.tasks)
    for one in ids:
        assert outcomes_of(there(runner.answer(one))) == {}  # the store has all of it


def test_a_known_batch_is_not_taken_for_an_experiment_and_finished_ones_can_be_forgotten(
    store: Store, runner: Runner
) -> None:
    asked = scenario()
    questions = asked_in_parts(planned(spec_for(asked), asked), 20)
    first = runner.submit(questions)
    assert runner.wait(WAIT_S)
    second = runner.submit(questions)
    assert first != second
    assert runner.wait(WAIT_S)
    assert [status.state for status in runner.questions(KIND)] == [TaskState.STORED] * 2
    assert runner.questions("steady") == []
    runner.forget(first)
    assert runner.status(first) == []
    assert len(runner.status(second)) == 1


def test_a_run_that_fails_is_told_and_those_beside_it_are_kept(
    store: Store, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = scenario()
    spec = spec_for(asked)
    plan = planned(spec, asked)
    real = cases_run.carry_out

    def broken(task: VariantTask, progress: Progress | None = None) -> RunResult:
        if task.policy == "fifo" and task.changes.get("nodes") == 1:
            raise ZeroDivisionError("by hand")
        return real(task, progress)

    monkeypatch.setattr(study_cells, "carry_out", broken)
    (task_id,) = runner.submit(asked_in_parts(plan, 20))
    assert runner.wait(WAIT_S)
    rest = outcomes_of(there(runner.answer(task_id)))
    found = stored_results(store, plan.tasks)
    assert len(found) == len(plan.tasks) - len(rest)
    made = answer_of(spec, asked, plan.results(found | rest))
    bad = failed(made)
    assert {(cell.point, cell.policy) for cell in bad} == {(0, "fifo")}
    assert bad[0].error == "Unexpected ZeroDivisionError: by hand. Details are in the log"


def test_cancelling_keeps_finished_batches_and_what_is_missing_can_be_asked_for(store: Store, runner: Runner) -> None:
    asked = scenario()
    spec = spec_for(asked)
    plan = planned(spec, asked)
    first, *others = asked_in_parts(plan, 4)
    runner.ask(first)
    assert runner.wait(WAIT_S)
    runner.close()
    found = stored_results(store, plan.tasks)
    assert len(found) == 4
    missing = [key for key in plan.tasks if key not in found]
    left = [one.spec for one in others]
    assert [cell["key"] for part in left if isinstance(part, dict) for cell in part["cells"]] == missing
    partial = answer_of(
        spec, asked, [[found.get(key) for key in plan.keys[at : at + 2]] for at in range(0, len(plan.keys), 2)]
    )
    assert partial.num_missing == len(missing)


def test_a_stopped_batch_says_so_and_answers_nothing() -> None:
    asked = scenario()
    plan = planned(spec_for(asked), asked)
    seen: list[tuple[float, str]] = []

    def stop(share: float, text: str) -> None:
        seen.append((share, text))
        if share >= 0.5:
            raise Cancelled

    with pytest.raises(Cancelled):
        registry.compute(KIND, spec_of(dict(list(plan.tasks.items())[:4])), stop, subject=asked)
    assert seen[0][1].startswith("0 of 4 runs")
    share, text = seen[-1]
    assert share == 0.5
    assert text.startswith("1 of 4 runs")  # the second run tells that it has come to its end


def test_questions_of_another_version_or_without_their_scenario_are_refused() -> None:
    asked = scenario()
    spec = spec_of(planned(spec_for(asked), asked).tasks)
    with pytest.raises(InputError, match="without its scenario"):
        registry.compute(KIND, spec)
    spec["cells"][0]["seed"] = 7
    with pytest.raises(InputError, match="another version of this program"):
        registry.compute(KIND, spec, subject=asked)
    with pytest.raises(InputError, match="cells"):
        STUDY.read_spec({"scenario": "0", "cells": []})


@given(
    each=st.lists(st.floats(0.001, 300), min_size=1, max_size=300), workers=st.integers(1, 8), keep=st.integers(1, 300)
)
def test_batches_hold_every_missing_run_once_in_order_and_are_neither_many_nor_large(
    each: list[float], workers: int, keep: int
) -> None:
    seconds = {str(at): one for at, one in enumerate(each)}
    missing = list(seconds)[:keep]
    made = batches(missing, seconds, workers)
    assert [key for batch in made for key in batch] == missing
    assert all(made)
    total = sum(seconds[key] for key in missing)
    assert len(made) <= MOST_BATCHES + 1
    limit = max(min(BATCH_S, total / (LEAST_EACH * workers)), total / MOST_BATCHES)
    longest = max(seconds[key] for key in missing)
    assert all(sum(seconds[key] for key in batch) <= limit + 1.5 * longest + 1e-6 for batch in made)


def test_equal_runs_are_dealt_out_evenly_to_all_workers() -> None:
    seconds = {str(at): 0.1 for at in range(200)}
    made = batches(list(seconds), seconds, workers=2)
    assert len(made) == 2 * LEAST_EACH
    assert {len(batch) for batch in made} <= {12, 13}


def test_nothing_missing_makes_no_batch() -> None:
    assert batches([], {}, 2) == []


def test_runs_that_the_general_engine_does_are_expected_to_take_longer() -> None:
    asked = small_scenario(1000)
    axes = [{"key": "failures", "values": [1000]}, {"key": "arrivals", "values": [1.2]}]
    plain = {"scenario": asked.content_hash, "axes": axes, "mode": "one-at-a-time", "policies": ["sjf", "las"]}
    plan = planned(read_spec(plain), asked)
    seconds = run_seconds(plan.tasks, asked)
    by_case = {(plan.tasks[key].policy, *plan.tasks[key].changes): value for key, value in seconds.items()}
    assert by_case["sjf", "failures"] > 5 * by_case["sjf", "arrivals"]
    assert by_case["las", "arrivals"] > by_case["sjf", "arrivals"]
    slow = small_scenario(1000, options=SimulationRules(restart_s=1.0))
    plain |= {"scenario": slow.content_hash}
    slow_plan = planned(read_spec(plain), slow)
    assert len(set(run_seconds(slow_plan.tasks, slow).values())) == 2


def test_a_plan_says_whether_nothing_is_random() -> None:
    exact, drawn = small_scenario(12), scenario()
    plain = {"axes": [{"key": "nodes", "values": [1, 2]}], "policies": ["fifo"]}
    assert planned(read_spec(plain | {"scenario": exact.content_hash}), exact).exact
    assert run_sweep(read_spec(plain | {"scenario": exact.content_hash}), exact).answer.exact
    assert not planned(read_spec(plain | {"scenario": drawn.content_hash}), drawn).exact
    futures = {"seeds": [0, 1], "vary": {"run_time_spread": 0.3}}
    varied = read_spec(plain | {"scenario": exact.content_hash, "futures": futures})
    assert not run_sweep(varied, exact).answer.exact
    assert cases_run.plan_of(exact, (), varied.futures).exact
