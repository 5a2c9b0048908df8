"""Questions to a named computation in the background: progress, cancelling, one answer for the same question."""

from concurrent.futures import Future
from typing import Any, cast

import pytest

from dlsched.domain.model import Answer, FrozenModel
from dlsched.policies.registry import find
from dlsched.runner import queue
from dlsched.runner.background import Runner, RunTask, StudyTask, TaskState
from dlsched.runner.executor import WorkerPool, open_pool
from dlsched.sim.simulate import Cancelled
from dlsched.store import Store
from dlsched.studies import registry
from dlsched.studies.study import Study
from tests.support.known import known
from tests.support.runs_for_store import small_scenario
from tests.support.waiting import PATIENCE_S, until

SMALL = {
    "stream": {"nodes": 10},
    "loads": [0.2],
    "policies": [{"key": "fifo"}],
    "first_jobs": 200,
    "most_jobs": 200,
    "fractions": [1.0],
}
"""A policy that the general engine runs in a fraction of a second, without compiling."""
LONG = SMALL | {"loads": [0.1, 0.2, 0.3, 0.4, 0.5], "first_jobs": 50_000, "most_jobs": 50_000}


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "s.duckdb") as opened:
        yield opened


@pytest.fixture
def runner(store):
    made = Runner(store, lambda: open_pool(workers=1))
    yield made
    made.close()


def test_an_answer_is_kept_and_given_again_at_once_also_after_a_restart(runner, store):
    asked, twice = runner.ask(StudyTask("steady", SMALL)), runner.ask(StudyTask("steady", SMALL))
    assert asked == twice
    assert runner.wait(PATIENCE_S)
    (status,) = runner.questions()
    assert (status.state, status.name, status.run_id) == (TaskState.STORED, "Load test", None)
    record = store.get_experiment(known(status.experiment_id))
    assert record.answer["points"][0]["jobs_simulated"] == 200
    again = Runner(store, never)
    (other,) = again.status([again.ask(StudyTask("steady", SMALL, "mine"))])
    assert (other.state, other.text) == (TaskState.STORED, "Answered from the store")
    assert other.experiment_id == status.experiment_id
    again.close()


def never():
    raise AssertionError("a known answer needs no worker")


def test_a_question_tells_how_far_it_is_and_stops_when_told_to(runner, store):
    asked = runner.ask(StudyTask("steady", LONG))
    until(lambda: 0 < runner.status([asked])[0].share < 1)
    assert f"{find('fifo').label} at load 0." in runner.status([asked])[0].text
    runner.cancel([asked])
    assert runner.status([asked])[0].state is TaskState.CANCELLED
    assert runner.wait(5)  # far less than the computation takes
    assert store.list_experiments() == []


def test_a_bad_question_is_listed_with_the_reason(runner):
    unknown, bad = runner.ask(StudyTask("stedy", {})), runner.ask(StudyTask("steady", SMALL | {"loads": [1.0]}))
    first, second = runner.status([unknown, bad])
    assert (first.state, second.state) == (TaskState.FAILED, TaskState.FAILED)
    assert "Try 'steady'" in first.message
    assert "the queue grows without end" in second.message


# ---- without processes ---------------------------------------------------------------------------------


class Here:
    """An executor that computes at once, in this process."""

    def submit(self, function, order):
        future: Future[Any] = Future()
        try:
            future.set_result(function(order))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self, wait=True, cancel_futures=False):
        pass


def here(store):
    return Runner(store, lambda: WorkerPool(cast("Any", Here()), 1, remote=False))


class ToySpec(FrozenModel):
    x: float


class ToyAnswer(Answer):
    y: float


def toy(answer):
    return Study(
        kind="toy",
        label="A toy",
        page="Toys",
        spec=ToySpec,
        answer=ToyAnswer,
        check=lambda spec, scenario: None,
        run=lambda spec, scenario, executor=None, store=None, progress=None: answer(spec, progress),
        estimate_s=lambda spec, scenario=None: 1.0,
        words=str,
        sources=(),
        about=None,
    )


@pytest.fixture
def doubling(monkeypatch):
    calls = []

    def answer(spec, progress):
        calls.append(spec)
        progress(0.5, "halfway")
        return ToyAnswer(y=2 * spec.x)

    monkeypatch.setattr(registry, "STUDIES", (toy(answer),))
    return calls


def test_equal_questions_in_other_words_are_one(doubling, store):
    runner = here(store)
    ids = [runner.ask(StudyTask("toy", {"x": 1})), runner.ask(StudyTask("toy", {"x": 1.0}))]
    assert runner.wait(PATIENCE_S)
    runner.ask(StudyTask("toy", {"x": "1"}))
    assert doubling == [ToySpec(x=1)]
    assert store.get_experiment(known(runner.status(ids)[0].experiment_id)).answer == {"y": 2.0}
    runner.close()


def test_without_a_store_the_answer_stays_in_memory(doubling):
    runner = here(None)
    asked = runner.ask(StudyTask("toy", {"x": 4}))
    assert runner.wait(PATIENCE_S)
    assert known(runner.answer(asked)).answer == {"y": 8.0}
    assert runner.record(asked) is None
    runner.close()


def test_the_list_of_runs_does_not_show_questions_and_cancelling_all_runs_spares_them(doubling, store):
    runner = here(store)
    asked = runner.ask(StudyTask("toy", {"x": 4}))
    assert runner.wait(PATIENCE_S)
    assert runner.status() == []
    assert [status.id for status in runner.questions()] == [asked]
    runner.forget()
    assert [status.id for status in runner.questions()] == [asked]
    with pytest.raises(KeyError):
        runner.task(asked)
    runner.close()


def test_cancelling_the_runs_leaves_a_waiting_question(store, monkeypatch):
    class Nobody(Here):
        def submit(self, function, order):
            return Future()  # never done

    runner = Runner(store, lambda: WorkerPool(cast("Any", Nobody()), 1, remote=False))
    (run,) = runner.submit([RunTask(small_scenario(), "fifo")])
    asked = runner.ask(StudyTask("steady", SMALL))
    runner.cancel()
    assert [status.state for status in runner.status([run, asked])] == [TaskState.CANCELLED, TaskState.QUEUED]
    runner.cancel([asked])
    assert runner.status([asked])[0].state is TaskState.CANCELLED
    runner.close()


def test_an_error_in_a_computation_is_told(monkeypatch, store, caplog):
    def fails(spec, progress):
        raise ZeroDivisionError("nothing to divide")

    def stops(spec, progress):
        raise Cancelled

    for answer, state in ((fails, TaskState.FAILED), (stops, TaskState.CANCELLED)):
        monkeypatch.setattr(registry, "STUDIES", (toy(answer),))
        runner = here(store)
        asked = runner.ask(StudyTask("toy", {"x": 1}))
        assert runner.wait(PATIENCE_S)
        assert runner.status([asked])[0].state is state
        runner.close()
    assert "nothing to divide" in caplog.text
    assert store.list_experiments() == []


def test_an_entry_says_what_it_is():
    assert isinstance(queue.item_of(StudyTask("toy", {})), queue.StudyItem)
    assert queue.item_of(RunTask(small_scenario(), "fifo", seed=3)).name == "fifo, future 3"
