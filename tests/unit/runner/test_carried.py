"""Numbers of single futures travel with a question and come back: a second question computes nothing again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dlsched.domain.scenario import Scenario
from dlsched.runner.background import Runner, RunTask, StudyTask, TaskState
from dlsched.store import Store
from dlsched.studies import simulation
from dlsched.studies.design import Futures
from dlsched.studies.design import run as design_run
from dlsched.studies.sizing.spec import SizeSpec, TypeRange
from dlsched.studies.sizing.targets import read_target
from dlsched.studies.what_if import run as what_if_run
from dlsched.studies.what_if import unchanged
from tests.support.recorded_week import recorded_week
from tests.support.thread_runner import runner_in_a_thread
from tests.support.waiting import PATIENCE_S

FUTURES = Futures.first(10, {"days": 1})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "s.duckdb") as opened:
        yield opened


@pytest.fixture
def runner(store: Store) -> Iterator[Runner]:
    what_if_run.forget_runs()  # of tests before, in this process
    with runner_in_a_thread(store) as made:
        yield made


def stored(runner: Runner, task: RunTask | StudyTask) -> None:
    ids = runner.submit([task])
    assert runner.wait(PATIENCE_S)
    assert [status.state for status in runner.status(ids)] == [TaskState.STORED]


def what_if(scenario: Scenario, nodes: int) -> StudyTask:
    spec = unchanged(scenario, "fifo", futures=FUTURES).with_changes(scenario, {"nodes": nodes})
    return StudyTask("what-if", spec, subject=scenario)


def test_a_second_question_computes_only_what_is_new(
    runner: Runner, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = recorded_week()
    today = scenario.cluster.num_nodes
    stored(runner, RunTask(scenario, "fifo"))
    assert [cell.seed for cell in store.cells_of(scenario.content_hash).values()] == [0]  # a run in full is one too
    stored(runner, what_if(scenario, today + 1))
    both_sides = 2 * len(FUTURES.seeds)
    assert len(store.cells_of(scenario.content_hash)) == both_sides
    ran: list[int] = []
    simulate = simulation.simulate

    def counted(made: Scenario, *args: Any) -> Any:
        ran.append(made.cluster.num_nodes)
        return simulate(made, *args)

    monkeypatch.setattr(design_run, "simulate", counted)
    sizes = SizeSpec(
        scenario=scenario.content_hash,
        targets=(read_target("wait_p95<=100h"),),
        types=(TypeRange(key="nodes", least=today, most=today + 1),),
        futures=FUTURES,
        headroom=False,
    )
    stored(runner, StudyTask("size", sizes, subject=scenario))
    assert ran == []
    stored(runner, what_if(scenario, today + 2))
    assert ran == [today + 2] * FUTURES.count  # its future 0 is run in full elsewhere; today's are known
    assert len(store.cells_of(scenario.content_hash)) == both_sides + len(FUTURES.seeds)


def test_a_question_without_its_scenario_fails_with_a_word(runner: Runner) -> None:
    spec = unchanged(recorded_week(), "fifo", futures=FUTURES)
    (task,) = runner.submit([StudyTask("what-if", spec)])
    assert runner.wait(PATIENCE_S)
    assert runner.status([task])[0].state is TaskState.FAILED
    assert "asked without its scenario" in runner.status([task])[0].message
