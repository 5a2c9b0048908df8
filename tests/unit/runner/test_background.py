"""The queue of background runs, with real worker processes on small scenarios that the general engine runs."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any, cast
from unittest.mock import ANY

import pytest

from dlsched.runner import background, worker
from dlsched.runner.background import Runner, RunTask, TaskState
from dlsched.runner.executor import WorkerPool, open_pool
from dlsched.runner.progress import FileChannel, Reporter, cancel_file, progress_file, read_progress
from dlsched.sim.simulate import Cancelled
from dlsched.store import Store
from dlsched.studies.simulation import key_of, simulate
from tests.support.runs_for_store import long_scenario, small_scenario
from tests.support.waiting import PATIENCE_S, until


@pytest.fixture(scope="module")
def pool():
    opened = open_pool(workers=1)
    yield opened
    opened.executor.shutdown(cancel_futures=True)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "s.duckdb") as opened:
        yield opened


class Kept:
    """A pool that the tests share: closing a runner leaves it open."""

    def __init__(self, executor):
        self.submit = executor.submit

    def shutdown(self, wait=True, cancel_futures=False):
        pass


@pytest.fixture
def runner(pool, store):
    made = Runner(store, lambda: WorkerPool(cast("Any", Kept(pool.executor)), 1, remote=False))
    yield made
    made.wait(PATIENCE_S)
    made.close()


def states(runner, ids):
    return [status.state for status in runner.status(ids)]


# ---- with a real worker --------------------------------------------------------------------------------


def test_results_reach_the_store_and_failures_stop_nobody(runner, store):
    ids = runner.submit(
        [
            RunTask(small_scenario(), "fifo"),
            RunTask(small_scenario(), "no-such-policy"),
            RunTask(small_scenario(), "fifo", {"no_such": 1}),
            RunTask(small_scenario(seed=4), "priority"),
            RunTask(small_scenario(), "sjf", seed=1, name="mine"),
        ]
    )
    assert runner.wait(PATIENCE_S)
    one, unknown, bad, needy, last = runner.status(ids)
    assert (one.state, last.state, last.name) == (TaskState.STORED, TaskState.STORED, "mine")
    assert unknown.state is bad.state is needy.state is TaskState.FAILED
    assert "no-such-policy" in unknown.message
    assert "no_such" in bad.message
    assert "priorities" in needy.message
    assert one.run_id == key_of(small_scenario(), "fifo")[:12]
    numbers = simulate(small_scenario(), "fifo").metrics
    assert store.metrics(one.run_id) == pytest.approx(numbers | {"decision_cpu_s": ANY})
    assert store.run_info(one.run_id).audit == []
    assert set(store.list_runs()["state"]) == {"stored"}


def test_the_same_question_is_answered_at_once(runner, store):
    first = runner.submit([RunTask(small_scenario(), "fifo"), RunTask(small_scenario(), "fifo")])
    assert first[0] == first[1]
    assert runner.wait(PATIENCE_S)
    (again,) = runner.submit([RunTask(small_scenario(name="another name"), "fifo")])
    (status,) = runner.status([again])
    assert (status.state, status.text) == (TaskState.STORED, "Answered from the store")
    assert status.run_id == runner.status(first)[0].run_id


def test_progress_moves_and_cancel_takes_effect_quickly(runner, store):
    running, queued = runner.submit([RunTask(long_scenario(), "fifo-skip"), RunTask(small_scenario(seed=9), "fifo")])
    until(lambda: 0 < runner.status([running])[0].share < 1)
    status = runner.status([running])[0]
    assert status.state is TaskState.RUNNING
    assert "day" in status.text
    assert status.eta_s > 0
    assert runner.status([queued])[0].text == "Waiting"
    assert set(store.list_runs()["state"]) == {"running"}
    asked = time.monotonic()
    runner.cancel([running])
    assert states(runner, [running]) == [TaskState.CANCELLED]
    until(lambda: states(runner, [queued]) != [TaskState.QUEUED])  # the worker is free again
    assert time.monotonic() - asked < 30, "far less than the computation takes"
    assert runner.wait(PATIENCE_S)
    assert states(runner, [running, queued]) == [TaskState.CANCELLED, TaskState.STORED]
    assert store.list_runs()["policy"].tolist() == ["fifo"]


def test_cancel_all_empties_the_queue(runner, store):
    ids = runner.submit([RunTask(long_scenario(), "fifo-skip", seed=seed) for seed in range(3)])
    runner.cancel()
    assert states(runner, ids) == [TaskState.CANCELLED] * 3
    assert runner.wait(PATIENCE_S)
    assert store.list_runs().empty
    runner.forget()
    assert runner.status() == []


def test_without_a_store_the_records_stay_in_memory(pool):
    runner = Runner(None, lambda: WorkerPool(cast("Any", Kept(pool.executor)), 1, remote=False))
    (task_id,) = runner.submit([RunTask(small_scenario(), "fifo")])
    assert runner.wait(PATIENCE_S)
    assert states(runner, [task_id]) == [TaskState.DONE]
    record = runner.record(task_id)
    assert record is not None
    assert record.metrics["completed"] == 4
    runner.close()


def test_a_killed_worker_fails_its_task_only(store):
    runner = Runner(store, lambda: open_pool(workers=1))
    doomed, safe = runner.submit([RunTask(long_scenario(), "fifo-skip"), RunTask(small_scenario(), "fifo")])
    for _ in range(2):  # it gets a second chance, alone
        until(lambda: runner.status([doomed])[0].share > 0)
        (pid,) = cast("Any", runner._opened)[0].executor.place.pool._processes
        progress_file(runner._folder, doomed).unlink()
        os.kill(pid, signal.SIGKILL)
        until(lambda: runner.status([doomed])[0].share == 0)
    assert runner.wait(PATIENCE_S)
    lost, kept = runner.status([doomed, safe])
    assert (lost.state, kept.state) == (TaskState.FAILED, TaskState.STORED)
    assert "worker process died" in lost.message
    runner.close()


def test_workers_of_a_killed_server_end_themselves(tmp_path):
    script = tmp_path / "server.py"
    script.write_text(
        "import os, sys, time\n"
        "from dlsched.runner.executor import open_pool\n"
        "if __name__ == '__main__':\n"
        "    pool = open_pool(workers=1)\n"
        "    print(pool.executor.submit(os.getpid).result(), flush=True)\n"
        "    time.sleep(60)\n"
    )
    server: Any = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": "."}
    )
    pid = int(server.stdout.readline())
    server.kill()
    server.wait()
    server.stdout.close()
    until(lambda: not _alive(pid))


def _alive(pid):
    """Whether the process is there and not merely waiting to be collected."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False


# ---- without processes ---------------------------------------------------------------------------------


class Scripted:
    """An executor whose answers are given one after the other."""

    def __init__(self, answers):
        self.answers = list(answers)

    def submit(self, function, order):
        future: Future[Any] = Future()
        answer = self.answers.pop(0)
        future.set_exception(answer) if isinstance(answer, Exception) else future.set_result(answer(order))
        return future

    def shutdown(self, wait=True, cancel_futures=False):
        pass


def scripted(store, answers):
    pool = WorkerPool(cast("Any", Scripted(answers)), 1, remote=False)
    return Runner(store, lambda: pool)


def test_an_unexpected_error_is_told_in_one_line(store, caplog):
    runner = scripted(store, [KeyError("oops"), Cancelled()])
    ids = runner.submit([RunTask(small_scenario(), "fifo"), RunTask(small_scenario(), "sjf")])
    assert runner.wait(5)
    failed, cancelled = runner.status(ids)
    assert failed.message == "Unexpected KeyError: 'oops'. Details are in the log"
    assert cancelled.state is TaskState.CANCELLED
    assert "oops" in caplog.text
    assert store.list_runs().empty
    runner.close()


def test_a_result_that_cannot_be_kept_is_a_failure(store, monkeypatch, caplog):
    runner = scripted(store, [worker.carry_out_run])
    monkeypatch.setattr(store, "save_finished", lambda finished: (_ for _ in ()).throw(OSError("disk full")))
    (task_id,) = runner.submit([RunTask(small_scenario(), "fifo")])
    assert runner.wait(PATIENCE_S)
    assert runner.status([task_id])[0].message == "Computed, but not saved: disk full"
    assert store.list_runs().empty
    runner.close()


FOUR = ("fifo", "sjf", "las", "srtf")


def saved_together(store, monkeypatch, refused=""):
    """How many results each write has that works; one of a policy that is refused makes the whole write fail."""
    save, sizes = store.save_finished, []

    def counted(finished):
        if refused in {one.run.policy for one in finished}:
            raise OSError("disk full")
        save(finished)
        sizes.append(len(finished))

    monkeypatch.setattr(store, "save_finished", counted)
    return sizes


def test_results_of_a_busy_queue_are_stored_together_and_the_last_do_not_wait(store, monkeypatch):
    monkeypatch.setattr(background, "TOGETHER_S", 10 * PATIENCE_S)
    runner = scripted(store, [worker.carry_out_run] * 4)
    sizes = saved_together(store, monkeypatch)
    ids = runner.submit([RunTask(small_scenario(), policy) for policy in FOUR])
    assert runner.wait(PATIENCE_S)
    assert sizes == [4]
    assert {status.run_id for status in runner.status(ids)} == set(store.list_runs()["run_id"])
    keys = [key_of(small_scenario(), policy, {}, 0) for policy in FOUR]
    assert len(store.cells_of(small_scenario().content_hash)) == len(store.find_runs(keys)) == 4
    until(lambda: list(runner._folder.iterdir()) == [])
    runner.close()


def test_large_results_are_stored_alone(store, monkeypatch):
    monkeypatch.setattr(background, "TOGETHER_S", 10 * PATIENCE_S)
    monkeypatch.setattr(background, "TOGETHER_BYTES", 1)
    runner = scripted(store, [worker.carry_out_run] * 4)
    sizes = saved_together(store, monkeypatch)
    runner.submit([RunTask(small_scenario(), policy) for policy in FOUR])
    assert runner.wait(PATIENCE_S)
    assert sizes == [1, 1, 1, 1]
    runner.close()


def test_a_result_that_cannot_be_kept_takes_no_other_with_it(store, monkeypatch, caplog):
    monkeypatch.setattr(background, "TOGETHER_S", 10 * PATIENCE_S)
    runner = scripted(store, [worker.carry_out_run] * 4)
    sizes = saved_together(store, monkeypatch, refused="las")
    ids = runner.submit([RunTask(small_scenario(), policy) for policy in FOUR])
    assert runner.wait(PATIENCE_S)
    assert sizes == [1, 1, 1]
    stored, failed = TaskState.STORED, TaskState.FAILED
    assert states(runner, ids) == [stored, stored, failed, stored]
    assert runner.status([ids[2]])[0].message == "Computed, but not saved: disk full"
    assert set(store.list_runs()["policy"]) == {"fifo", "sjf", "srtf"}
    runner.close()


def test_what_was_made_is_stored_when_the_runner_is_closed(store, monkeypatch):
    monkeypatch.setattr(background, "TOGETHER_S", 10 * PATIENCE_S)
    never: Future[Any] = Future()
    pool = WorkerPool(cast("Any", Scripted([worker.carry_out_run])), 2, remote=False)
    runner = Runner(store, lambda: pool)
    submit = pool.executor.submit
    monkeypatch.setattr(
        pool.executor, "submit", lambda *order: submit(*order) if cast("Any", pool.executor).answers else never
    )
    ids = runner.submit([RunTask(small_scenario(), "fifo"), RunTask(small_scenario(), "sjf")])
    until(lambda: states(runner, ids) == [TaskState.DONE, TaskState.RUNNING])
    assert runner.status(ids)[0].text == "Saving"
    runner.close()
    assert list(store.list_runs()[["policy", "state"]].itertuples(index=False, name=None)) == [("fifo", "stored")]


def test_temporary_files_are_removed(store):
    runner = scripted(store, [worker.carry_out_run])
    runner.submit([RunTask(small_scenario(), "fifo")])
    assert runner.wait(PATIENCE_S)
    until(lambda: list(runner._folder.iterdir()) == [])
    runner.close()
    assert not runner._folder.exists()


def test_temporary_files_of_a_process_go_when_it_ends(tmp_path):
    code = "import os, dlsched.runner.background as b; kept = b.Runner(); print(os.listdir(os.environ['TMPDIR']))"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "dlsched-" in ended.stdout
    assert list(tmp_path.iterdir()) == []


def test_reporter_is_rare_and_stops_when_asked(tmp_path):
    report = Reporter(FileChannel(tmp_path), "t")
    report(0.25, "day 1 of 4")
    report(0.5, "day 2 of 4")  # too soon after the first
    assert read_progress(tmp_path, "t") == (0.25, "day 1 of 4")
    cancel_file(tmp_path, "t").touch()
    with pytest.raises(Cancelled):
        report.force(0.6, "day 3 of 4")
