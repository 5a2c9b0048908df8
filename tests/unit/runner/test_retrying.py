"""Tasks whose worker dies are computed again, alone; the guilty one ends in one message and takes no other with it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Executor, Future, wait
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dlsched.domain.errors import InputError
from dlsched.runner.executor import WorkerPool, open_pool
from dlsched.runner.retrying import RetryingExecutor, WorkerDied
from dlsched.studies.run_all import run_all
from tests.support.waiting import PATIENCE_S, until


class Stage:
    """A place whose futures the test completes: ``sent`` holds them in the order of their start."""

    def __init__(self, in_flight: int = 2, *, deaths_spread: bool = True) -> None:
        self.in_flight, self.deaths_spread = in_flight, deaths_spread
        self.sent: list[tuple[Any, Future[Any]]] = []
        self.renewed = self.closed = 0

    def start(self, work: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Future[Any]:
        future: Future[Any] = Future()
        self.sent.append((work(*args, **kwargs), future))
        return future

    def read(self, future: Future[Any]) -> Any:
        return future.result()

    def renew(self) -> None:
        self.renewed += 1

    def look(self) -> None:
        pass

    def close(self) -> None:
        self.closed += 1

    def has_sent(self, number: int) -> bool:
        return len(self.sent) == number

    def until_sent(self, names: list[Any]) -> None:
        until(lambda: [name for name, _ in self.sent] == names)


def settled() -> None:
    """Give a thread that should do nothing the time to do it."""
    time.sleep(0.05)


def test_a_few_are_sent_at_a_time_and_answers_keep_their_futures() -> None:
    stage = Stage(in_flight=2)
    lasting = RetryingExecutor(stage)
    futures = [lasting.submit(str, number) for number in range(4)]
    stage.until_sent(["0", "1"])
    stage.sent[1][1].set_result("one")
    assert futures[1].result(PATIENCE_S) == "one"
    stage.until_sent(["0", "1", "2"])
    for _, future in (stage.sent[0], stage.sent[2]):
        future.set_result("done")
    stage.until_sent(["0", "1", "2", "3"])
    stage.sent[3][1].set_exception(InputError("the thing", "is wrong"))
    with pytest.raises(InputError, match="the thing: is wrong"):
        futures[3].result(PATIENCE_S)
    lasting.shutdown()
    assert (stage.closed, stage.renewed) == (1, 0)
    with pytest.raises(RuntimeError, match="shut down"):
        lasting.submit(str, 1)


def test_after_a_death_suspects_run_one_at_a_time_and_the_guilty_one_fails_alone() -> None:
    stage = Stage(in_flight=2)
    lasting = RetryingExecutor(stage)
    guilty, innocent, later = (lasting.submit(str, name) for name in ("guilty", "innocent", "later"))
    stage.until_sent(["guilty", "innocent"])
    for _, future in list(stage.sent):
        future.set_exception(WorkerDied("it died"))
    until(partial(stage.has_sent, 3))
    settled()
    assert len(stage.sent) == 3, "suspects do not run beside others"
    assert stage.renewed == 1
    for _ in range(2):
        name, future = stage.sent[-1]
        if name == "guilty":
            future.set_exception(WorkerDied("it died again"))
        else:
            future.set_result("innocent")
        until(partial(stage.has_sent, len(stage.sent) + 1))
    assert innocent.result(PATIENCE_S) == "innocent"
    with pytest.raises(WorkerDied, match="it died again"):
        guilty.result(PATIENCE_S)
    assert stage.renewed == 2
    assert stage.sent[-1][0] == "later"
    stage.sent[-1][1].set_result("at last")
    assert later.result(PATIENCE_S) == "at last"
    lasting.shutdown()


def test_what_waits_and_what_runs_can_be_cancelled() -> None:
    stage = Stage(in_flight=1)
    lasting = RetryingExecutor(stage)
    running, waiting, last = (lasting.submit(str, name) for name in "abc")
    stage.until_sent(["a"])
    assert waiting.cancel()
    assert running.cancel()
    assert stage.sent[0][1].cancelled()
    stage.until_sent(["a", "c"])
    stage.sent[1][1].set_result("answer")
    assert last.result(PATIENCE_S) == "answer"
    until(lambda: wait([running, waiting], 0).not_done == set())
    lasting.shutdown()


def test_what_a_place_cannot_stop_is_dropped() -> None:
    stage = Stage(in_flight=1)
    lasting = RetryingExecutor(stage)
    future = lasting.submit(str, "a")
    stage.until_sent(["a"])
    stage.sent[0][1].set_running_or_notify_cancel()
    assert future.cancel()
    assert not stage.sent[0][1].cancelled()
    stage.sent[0][1].set_result("too late")
    with pytest.raises(CancelledError):
        future.result(PATIENCE_S)
    lasting.shutdown()


def test_shutting_down_finishes_what_is_there_or_cancels_what_waits() -> None:
    for cancel in (False, True):
        stage = Stage(in_flight=1)
        lasting = RetryingExecutor(stage)
        futures = [lasting.submit(str, number) for number in range(2)]
        stage.until_sent(["0"])
        ending = threading.Thread(target=lasting.shutdown, kwargs={"cancel_futures": cancel})
        ending.start()
        settled()
        stage.sent[0][1].set_result("first")
        if not cancel:
            stage.until_sent(["0", "1"])
            stage.sent[1][1].set_result("second")
        ending.join(PATIENCE_S)
        assert not ending.is_alive()
        assert [future.cancelled() for future in futures] == [False, cancel]
        assert stage.closed == 1


def test_one_that_was_never_used_closes_its_place_once() -> None:
    stage = Stage()
    lasting = RetryingExecutor(stage)
    lasting.shutdown()
    lasting.shutdown()
    assert stage.closed == 1


# ---- processes -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two() -> Iterator[WorkerPool]:
    pool = open_pool(workers=2)
    with pool.executor:
        yield pool


def _dies_once(task: tuple[int, str]) -> int:
    """Kill its own process the first time it is number 3; every call leaves a line."""
    number, folder = task
    path = Path(folder) / str(number)
    with path.open("a") as file:
        file.write("x")
    if number == 3 and path.stat().st_size == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def test_cells_of_a_dead_process_are_redone_and_counted_once(two: WorkerPool, tmp_path: Path) -> None:
    told: list[float] = []
    kept: list[int] = []

    def keep(task: tuple[int, str], _: int) -> None:
        kept.append(task[0])

    tasks = [(number, str(tmp_path)) for number in range(12)]
    assert run_all(tasks, _dies_once, two.executor, lambda share, _: told.append(share), keep) == [
        number**2 for number in range(12)
    ]
    assert told == pytest.approx([done / 12 for done in range(1, 13)])
    assert sorted(kept) == list(range(12))
    assert len((tmp_path / "3").read_text()) == 2


def _always_dies(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_task_that_kills_every_process_ends_in_one_message(two: WorkerPool) -> None:
    executor: Executor = two.executor
    with pytest.raises(WorkerDied, match=r"^The worker process died, probably because it ran out of memory\.$"):
        run_all([1], _always_dies, executor)
    assert run_all([-1, -2], abs, executor) == [1, 2]  # it goes on with new processes
