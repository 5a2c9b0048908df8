"""A real Dask scheduler with two workers over TCP: the same answers, cancelling, deaths, and who is not trusted."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dlsched.cli.main import main
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import SimulationRules
from dlsched.runner import dask_pool, dask_worker
from dlsched.runner.dask_access import DaskAccess
from dlsched.runner.executor import WorkerPool, open_pool
from dlsched.runner.retrying import PoolLost, WorkerDied
from dlsched.sim.simulate import Cancelled
from dlsched.studies.run_all import run_all
from dlsched.studies.sweep import SweepSpec, Swept, read_spec, run_sweep
from dlsched.workload.scenario_file import write_scenario
from tests.support.dask_cluster import Cluster, without_cpu, without_dlsched
from tests.support.runs_for_store import long_scenario, small_scenario
from tests.support.waiting import PATIENCE_S, until

pytestmark = pytest.mark.slow

SCENARIO = small_scenario(40, options=SimulationRules(estimate_error=0.5, restart_s=1.0))


def asked(**changes: Any) -> SweepSpec:
    plain = {"axes": [{"key": "nodes", "values": [1, 2, 3]}], "policies": ["sjf", "fifo"], "futures": {"seeds": [0, 5]},
             "metrics": ["jct_mean", "vm_cost"]}  # fmt: skip
    return read_spec({"scenario": SCENARIO.content_hash} | plain | changes)


def swept_on(**where: Any) -> Swept:
    with open_pool(**where).executor as executor:
        return run_sweep(asked(), SCENARIO, executor)


# ---- the same answers ----------------------------------------------------------------------------------


def test_one_process_two_processes_and_dask_give_the_same_answer(pool: WorkerPool) -> None:
    here = run_sweep(asked(), SCENARIO)
    two = swept_on(workers=2)
    remote = run_sweep(asked(), SCENARIO, pool.executor)
    assert here.answer.to_plain() == two.answer.to_plain() == remote.answer.to_plain()
    assert here.computed == two.computed == remote.computed == 12
    assert (pool.width, pool.remote) == (3, True)


def _worker_pid(_: int) -> int:
    time.sleep(0.02)
    return os.getpid()


def test_both_workers_compute_and_none_of_it_is_done_here(pool: WorkerPool, cluster: Cluster) -> None:
    pids = set(run_all(list(range(20)), _worker_pid, pool.executor))
    assert pids == {worker.pid for worker in cluster.workers if worker.poll() is None}


def _mark(folder: str) -> None:
    (Path(folder) / str(os.getpid())).touch()


def test_every_worker_is_warmed_up(pool: WorkerPool, cluster: Cluster, tmp_path: Path) -> None:
    pool.warm_up(partial(_mark, str(tmp_path)))
    alive = {str(worker.pid) for worker in cluster.workers if worker.poll() is None}
    until(lambda: {path.name for path in tmp_path.iterdir()} == alive)


def _echo(content: bytes) -> bytes:
    return content[::-1]


def test_large_tasks_and_answers_travel(pool: WorkerPool) -> None:
    contents = [bytes([number]) * 20_000_000 + b"end" for number in range(3)]
    told: list[float] = []
    answers = run_all(contents, _echo, pool.executor, lambda share, _: told.append(share))
    assert answers == [content[::-1] for content in contents]
    assert told == pytest.approx([1 / 3, 2 / 3, 1])


class Unreadable(Exception):
    """Pickled without complaint; it cannot be read again."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(first + second)


def _raises(kind: str) -> None:
    if kind == "input":
        raise InputError("row 3", "is wrong", "Correct it")
    raise Unreadable("a", "b") if kind == "unreadable" else KeyError("oops")


def test_errors_come_through_as_they_are(pool: WorkerPool) -> None:
    with pytest.raises(InputError) as found:
        run_all(["input"], _raises, pool.executor)
    assert (found.value.what, found.value.why, found.value.do) == ("row 3", "is wrong", "Correct it")
    with pytest.raises(KeyError, match="oops") as other:
        pool.executor.submit(_raises, "other").result(PATIENCE_S)
    assert "_raises" in other.value.__notes__[0], "where it happened is told"
    with pytest.raises(RuntimeError, match="Unreadable: ab"):
        pool.executor.submit(_raises, "unreadable").result(PATIENCE_S)


# ---- cancelling ----------------------------------------------------------------------------------------


def _slow_mark(task: tuple[int, str]) -> None:
    """Leave a mark; once three tasks have ended, wait for the word to stop, so that a slow machine changes nothing."""
    number, folder = task
    (Path(folder) / str(number)).touch()
    ended, stop = Path(f"{folder}.ended"), Path(f"{folder}.stop")
    ended.mkdir(exist_ok=True)
    end_s = time.monotonic() + PATIENCE_S
    while len(list(ended.iterdir())) >= 3 and not stop.exists() and time.monotonic() < end_s:
        time.sleep(0.05)
    time.sleep(1.0 if stop.exists() else 0.1)
    (ended / str(number)).touch()


def test_what_progress_raises_stops_the_rest(pool: WorkerPool, tmp_path: Path) -> None:
    def told(share: float, _: str) -> None:
        if share >= 3 / 40:
            Path(f"{tmp_path}.stop").touch()
            raise Cancelled

    with pytest.raises(Cancelled):
        run_all([(number, str(tmp_path)) for number in range(40)], _slow_mark, pool.executor, told)
    assert pool.executor.submit(abs, -1).result(PATIENCE_S) == 1, "the workers are free again"
    assert 3 <= len(list(tmp_path.iterdir())) <= 8


# ---- deaths --------------------------------------------------------------------------------------------


def test_a_worker_killed_in_the_middle_changes_nothing(cluster: Cluster) -> None:
    victim = cluster.add_worker()
    cluster.wait_for(3)
    told: list[str] = []

    def progress(share: float, text: str) -> None:
        told.append(text)
        if len(told) == 3:
            os.kill(victim.pid, signal.SIGKILL)

    with open_pool(DaskAccess(cluster.address)).executor as executor:
        swept = run_sweep(asked(), SCENARIO, executor, progress=progress)
    assert victim.wait(5) == -signal.SIGKILL
    assert swept.answer.to_plain() == run_sweep(asked(), SCENARIO).answer.to_plain()
    assert told == [f"{done} of 12 runs" for done in range(13 - len(told), 13)]


def _dies_once(task: tuple[int, str]) -> int:
    """Kill its own worker the first time it is number 3; every call leaves a line."""
    number, folder = task
    path = Path(folder) / str(number)
    with path.open("a") as file:
        file.write("x")
    if number == 3 and path.stat().st_size == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def test_what_the_dead_worker_computed_is_redone_and_counted_once(cluster: Cluster, tmp_path: Path) -> None:
    cluster.add_worker()
    cluster.wait_for(3)
    told: list[float] = []
    with open_pool(DaskAccess(cluster.address)).executor as executor:
        answers = run_all(
            [(number, str(tmp_path)) for number in range(12)], _dies_once, executor, lambda share, _: told.append(share)
        )
    assert answers == [number**2 for number in range(12)]
    assert told == pytest.approx([done / 12 for done in range(1, 13)])
    assert len((tmp_path / "3").read_text()) == 2


def _always_dies(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_task_that_kills_every_worker_ends_in_one_message(tmp_path: Path, code: Path) -> None:
    with Cluster(tmp_path, code, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0") as frail:
        for _ in range(3):
            frail.add_worker()
        frail.wait_for(3)
        with open_pool(DaskAccess(frail.address)).executor as executor:
            with pytest.raises(WorkerDied, match=r"^1 Dask worker died while computing this, as many as at the first "):
                run_all([1], _always_dies, executor)
            assert executor.submit(abs, -1).result(PATIENCE_S) == 1, "the last worker is left"


def test_without_workers_or_scheduler_it_does_not_wait_for_ever(
    apart: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_pool, "GONE_S", 0.5)
    apart.add_worker()
    apart.wait_for(1)
    with open_pool(DaskAccess(apart.address, 0)).executor as executor:
        with pytest.raises(PoolLost, match=r"has had no worker for 500 ms. Start workers with: dask worker tcp://"):
            executor.submit(_always_dies, 1).result(PATIENCE_S)
        with pytest.raises(PoolLost, match="has had no worker"):
            executor.submit(abs, -1).result(PATIENCE_S)
    apart.add_worker()
    apart.wait_for(1)
    with open_pool(DaskAccess(apart.address)).executor as executor:
        future: Future[Any] = executor.submit(time.sleep, 30)
        until(lambda: not future.done())
        apart.scheduler.kill()
        for _ in range(2):  # what was sent before, and what comes later
            with pytest.raises(PoolLost, match=f"Dask scheduler {apart.address}: "):
                future.result(PATIENCE_S)
            future = executor.submit(abs, -1)


# ---- who is not trusted --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "why"),
    [
        pytest.param("nowhere", "missing port number", id="no-port"),
        pytest.param("http://127.0.0.1:80", "unknown address scheme", id="scheme"),
        pytest.param("", "missing port number", id="empty"),
        pytest.param("tcp://127.0.0.1:9", "Timed out", id="nobody"),
    ],
)
def test_a_wrong_address_is_one_line(
    address: str, why: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dask_pool, "CONNECT_S", 0.5)
    file = tmp_path / "s.json"
    write_scenario(SCENARIO, str(file))
    assert main(["sweep", str(file), "--vary", "nodes=1,2", "--dask", address]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.startswith(f"dlsched: Dask scheduler {address}: does not answer ({why}")
    assert err.endswith("Check the address, as in tcp://host:8786.\n")


def test_a_scheduler_without_workers_and_workers_that_differ_are_refused(
    apart: Cluster, code: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"has no workers\. Start workers with: dask worker tcp://.* --nthreads 1, "):
        open_pool(DaskAccess(apart.address, wait_s=0))
    with apart.worker_for_now("--nthreads", "3"):
        with pytest.raises(InputError, match="must run with one thread, got 3 threads") as found:
            open_pool(DaskAccess(apart.address))
        assert "--nthreads 1 --nworkers 3" in found.value.do
    with (
        apart.worker_for_now(code=without_dlsched(tmp_path)),
        pytest.raises(InputError, match=r"cannot load dlsched .*No module named 'dlsched'"),
    ):
        open_pool(DaskAccess(apart.address))
    other = tmp_path / "other"
    shutil.copytree(code / "dlsched", other / "dlsched", ignore=shutil.ignore_patterns("__pycache__"))
    with (other / "dlsched" / "sim" / "engine.py").open("a") as file:
        file.write("# changed\n")
    with (
        apart.worker_for_now(code=other),
        pytest.raises(InputError, match=r"has dlsched [\d.]+\+\w+, but this machine has [\d.]+\+\w+: answers"),
    ):
        open_pool(DaskAccess(apart.address))


def test_a_worker_that_differs_and_comes_later_is_refused_by_itself(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = dask_worker.identity() | {"numpy": "1.0"}
    monkeypatch.setattr(dask_pool, "identity", lambda: ours)
    with pytest.raises(
        InputError, match=r"Dask worker tcp://127\.0\.0\.1:\d+: has numpy [\d.]+, but this machine has 1"
    ):
        pool.executor.submit(abs, -1).result(PATIENCE_S)


# ---- the command line ----------------------------------------------------------------------


def test_sweep_and_pool_sizes_compute_on_dask(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "s.json"
    write_scenario(SCENARIO, str(file))
    sweep = ["sweep", str(file), "--vary", "nodes=1,2", "--policies", "sjf,fifo", "--futures", "1", "--json"]
    sizes = ["pool-sizes", str(file), "--nodes", "1,2", "--policies", "sjf,fifo", "--futures", "1", "--json"]
    for typed in (sweep, sizes):
        answers = []
        for where in (["--processes", "1"], ["--dask", cluster.address]):
            assert main([*typed, *where]) == 0
            answers.append(json.loads(capsys.readouterr().out))
        assert without_cpu(answers[0]) == without_cpu(answers[1])
    assert main([*sweep, "--dask", cluster.address, "--processes", "2"]) == 2
    assert "cannot be combined with --processes 2" in capsys.readouterr().err


def test_a_scheduler_that_ends_in_the_middle_is_one_line(apart: Cluster, tmp_path: Path) -> None:
    apart.add_worker()
    apart.wait_for(1)
    file = tmp_path / "s.json"
    write_scenario(long_scenario(), str(file))
    command = [sys.executable, "-m", "dlsched", "sweep", str(file), "--vary", "arrivals=0.5,2"]
    environment = os.environ | {"PYTHONPATH": str(apart.code)}
    command += ["--policies", "fifo-skip", "--dask", apart.address]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment) as process:
        apart.wait_for_work()
        apart.scheduler.kill()
        assert process.wait(20) == 1
        assert process.stderr is not None
        assert process.stderr.read() == (
            f"dlsched: Dask scheduler {apart.address}: has ended, or the connection to it was lost. Start it and run "
            "again.\n"
        )
