"""A question whose runs are computed in batches before it, by any worker: it takes their numbers along."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from dlsched.domain.actor import Actor
from dlsched.runner.background import Runner, StudyTask, TaskState
from dlsched.runner.executor import WorkerPool
from dlsched.store import Store
from dlsched.studies import cells
from dlsched.studies.design import Futures
from dlsched.studies.design import run as design_run
from dlsched.studies.what_if import WhatIfSpec, planned, run_what_if, runs_of_numbers, unchanged
from dlsched.studies.what_if import run as what_if_run
from dlsched.studies.what_if.answer import WhatIf
from tests.support.known import known
from tests.support.recorded_week import recorded_week
from tests.support.thread_runner import runner_in_a_thread
from tests.support.waiting import PATIENCE_S

SCENARIO = recorded_week()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    what_if_run.forget_runs()
    with Store(tmp_path / "s.duckdb") as opened:
        yield opened


class Idle(Executor):
    """A worker that never gets to an end."""

    def __init__(self) -> None:
        self.begun: list[Future[Any]] = []

    def submit(self, work: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.begun.append(Future())
        return self.begun[-1]


def question(nodes: int = 1, count: int = 6) -> WhatIfSpec:
    spec = unchanged(SCENARIO, "fifo", futures=Futures.first(count, {"days": 1}))
    return spec.with_changes(SCENARIO, {"nodes": SCENARIO.cluster.num_nodes + nodes})


def task(spec: WhatIfSpec, each: int = 3) -> StudyTask:
    runs = runs_of_numbers(planned(spec, SCENARIO))
    keys = [*runs]
    parts = [{key: runs[key] for key in keys[at : at + each]} for at in range(0, len(keys), each)]
    ahead = (StudyTask(cells.KIND, cells.spec_of(part), "part", SCENARIO) for part in parts)
    return StudyTask("what-if", spec, "whole", SCENARIO, tuple(ahead))


def without_times(answer: WhatIf) -> dict[str, Any]:
    plain = answer.to_plain()
    for side in ("today", "baseline", "changed"):
        for metrics in plain[side]["metrics"]:
            metrics.pop("decision_cpu_s", None)
    return {key: value for key, value in plain.items() if key != "run_cpu_s"}


def test_the_answer_is_that_of_one_worker_and_no_run_is_made_twice(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = without_times(run_what_if(question(), SCENARIO))
    what_if_run.forget_runs()
    ran: list[str] = []
    carry_out = design_run.carry_out

    def counted(task: Any, progress: Any = None) -> Any:
        ran.append(task.key)
        return carry_out(task, progress)

    monkeypatch.setattr(cells, "carry_out", counted)
    monkeypatch.setattr(what_if_run, "carry_out", lambda *_: pytest.fail("a batch has made this run"))
    with runner_in_a_thread(store) as runner:
        (asked,) = runner.submit([task(question())])
        assert runner.wait(PATIENCE_S)
        (status,) = runner.status([asked])
        assert status.state is TaskState.STORED
        record = store.get_experiment(known(status.experiment_id))
        runner.forget([asked])
        assert runner.questions() == []  # its batches go with it
    assert without_times(WhatIf.from_plain(record.answer)) == alone
    assert len(ran) == len(set(ran)) == 2 * 6
    assert len(store.cells_of(SCENARIO.content_hash)) == 2 * 7


def test_it_waits_for_its_batches_and_is_stopped_with_them(store: Store) -> None:
    idle = Idle()
    runner = Runner(store, lambda: WorkerPool(idle, 2, remote=False))
    first, whole = runner.submit([StudyTask("what-if", question().first_future, "first", SCENARIO), task(question())])
    assert len(idle.begun) == 2  # the first future, and the first of four batches
    states = {status.id: status for status in runner.status([first, whole])}
    assert (states[first].state, states[whole].state) == (TaskState.RUNNING, TaskState.QUEUED)
    assert states[whole].text == "0 of 12 runs"
    assert len(runner.questions(cells.KIND)) == 4
    runner.cancel([whole])
    assert {status.state for status in runner.questions(cells.KIND)} == {TaskState.CANCELLED}
    assert [status.state for status in runner.status([first, whole])] == [TaskState.RUNNING, TaskState.CANCELLED]
    runner.cancel([first])
    for future in idle.begun:
        future.cancel()
        future.set_running_or_notify_cancel()
    assert runner.wait(PATIENCE_S)
    runner.close()


def test_batches_that_two_users_asked_for_go_on_for_the_other(store: Store) -> None:
    idle, who = Idle(), ["ann"]
    runner = Runner(store, lambda: WorkerPool(idle, 1, remote=False), who=lambda: Actor(name=who[0]))
    (asked,) = runner.submit([task(question())])
    who[0] = "bob"
    assert runner.submit([task(question())]) == [asked]
    assert len(runner.questions(cells.KIND)) == 4
    runner.cancel([asked])
    assert not any(status.state.is_over for status in runner.questions())
    who[0] = "ann"
    runner.cancel([asked])
    assert all(status.state.is_over for status in runner.questions())
    for future in idle.begun:
        future.cancel()
        future.set_running_or_notify_cancel()
    runner.close()


def test_a_batch_that_fails_leaves_its_runs_to_the_question(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(spec: Any, *_: Any) -> Any:
        raise RuntimeError("no memory")

    monkeypatch.setattr(cells, "check", failing)
    with runner_in_a_thread(store) as runner:
        (asked,) = runner.submit([task(question(2))])
        assert runner.wait(PATIENCE_S)
        assert runner.status([asked])[0].state is TaskState.STORED
        assert {status.state for status in runner.questions(cells.KIND)} == {TaskState.FAILED}
