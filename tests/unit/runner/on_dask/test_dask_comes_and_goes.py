"""Workers that come late and leave at will: waiting is a state, the cluster is followed, numbers stay equal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from dlsched.cli.main import main
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import SimulationRules
from dlsched.runner import dask_pool
from dlsched.runner.background import Runner, RunTask, StudyTask, TaskState
from dlsched.runner.dask_access import DaskAccess
from dlsched.runner.executor import WorkerPool, open_pool
from dlsched.runner.retrying import PoolLost
from dlsched.studies.run_all import run_all
from dlsched.studies.sweep import read_spec, run_sweep
from dlsched.workload.scenario_file import write_scenario
from tests.support.dask_cluster import Cluster, without_dlsched
from tests.support.known import known
from tests.support.recorded_jobs import recorded_scenario
from tests.support.runs_for_store import small_scenario
from tests.support.waiting import PATIENCE_S, until

pytestmark = pytest.mark.slow

LARGE = small_scenario(5_000, options=SimulationRules(estimate_error=0.5, restart_s=1.0))
"""Its table of jobs is shared; a run takes a few hundredths of a second."""
SMALL = small_scenario(40)


def asked(**changes: Any) -> Any:
    plain = {"axes": [{"key": "nodes", "values": [1, 2, 3, 4, 5]}], "policies": ["sjf", "fifo"],
             "futures": {"seeds": [0, 5, 7]}, "metrics": ["jct_mean", "vm_cost"]}  # fmt: skip
    return read_spec({"scenario": LARGE.content_hash} | plain | changes)


def told_by(pool: WorkerPool) -> list[str]:
    """Return a list that fills with what the pool says while it waits."""
    texts: list[str] = []
    pool.on_change(lambda: texts.append(pool.waiting))
    return texts


# ---- a sweep through it all ----------------------------------------------------------------------------


def test_a_sweep_survives_workers_that_come_late_and_leave_at_will(apart: Cluster) -> None:
    pool = open_pool(DaskAccess(apart.address, wait_s=60))
    assert (pool.width, pool.waiting) == (1, "")
    texts = told_by(pool)
    later: list[threading.Thread] = [threading.Timer(1.5, apart.add_worker)]
    later[0].start()

    def come_back(told: int) -> None:
        until(lambda: any(texts[told:]))
        apart.add_worker()
        apart.add_worker()

    done: list[str] = []

    def progress(_: float, text: str) -> None:
        done.append(text)
        match len(done):
            case 3 | 4:
                apart.add_worker()
            case 6:
                os.kill(apart.workers[0].pid, signal.SIGKILL)
            case 10:  # all are gone, and others come when that is noticed
                for worker in apart.workers:
                    worker.kill()
                later.append(threading.Thread(target=come_back, args=(len(texts),)))
                later[-1].start()
            case 20:
                apart.workers[-1].terminate()

    try:
        with pool.executor as executor:
            swept = run_sweep(asked(), LARGE, executor, progress=progress)
    finally:
        for thread in later:
            thread.join()
    assert swept.answer.to_plain() == run_sweep(asked(), LARGE).answer.to_plain()
    assert done == [f"{count} of 30 runs" for count in range(1, 31)]
    assert texts[0].startswith("0 so far, 0 s of 1 min")
    assert any(texts[texts.index("") :]), "it did not wait a second time"


def test_what_a_worker_takes_along_is_retried_at_once(tmp_path: Path, code: Path) -> None:
    with Cluster(tmp_path, code, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0") as frail:
        frail.add_worker()
        frail.add_worker()
        frail.wait_for(2)
        told: list[str] = []

        def progress(_: float, text: str) -> None:
            told.append(text)
            if len(told) == 5:
                frail.workers[0].kill()

        with open_pool(DaskAccess(frail.address)).executor as executor:
            swept = run_sweep(asked(), LARGE, executor, progress=progress)
    assert swept.answer.to_plain() == run_sweep(asked(), LARGE).answer.to_plain()


def _slow_pid(_: int) -> int:
    time.sleep(0.1)
    return os.getpid()


def test_an_answer_whose_worker_leaves_as_it_is_fetched_is_computed_again(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    place: Any = pool.executor.place  # type: ignore[attr-defined]
    submit, lost = place._executor.submit, Future[Any]()

    def first_lost(*args: Any) -> Future[Any]:
        if lost.done():
            return submit(*args)
        lost.set_exception(ValueError("too many values to unpack (expected 3)"))  # as Dask's executor says it
        return lost

    monkeypatch.setattr(place._executor, "submit", first_lost)
    assert run_all([1, -2], abs, pool.executor) == [1, 2]
    assert lost.done()


def test_the_number_of_tasks_follows_the_workers(apart: Cluster) -> None:
    first = apart.add_worker()
    apart.wait_for(1)
    pool = open_pool(DaskAccess(apart.address))
    place: Any = pool.executor.place  # type: ignore[attr-defined]
    assert (pool.width, place.in_flight) == (2, 3)
    widths: list[int] = []
    pool.on_change(lambda: widths.append(pool.width))
    with pool.executor as executor:
        futures = [executor.submit(_slow_pid, number) for number in range(400)]
        second = apart.add_worker()
        until(lambda: place.in_flight == 5)
        until(lambda: second.pid in {one.result() for one in futures if one.done() and not one.cancelled()})
        first.terminate()
        until(lambda: place.in_flight == 3)
        assert widths == [3, 2]
        for future in futures:
            future.cancel()


# ---- data in common ------------------------------------------------------------------------------------


def test_the_jobs_of_a_scenario_travel_once(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    client: Any = pool.executor.place.client  # type: ignore[attr-defined]
    submit, sent = client.submit, list[int]()

    def counted(work: Any, *args: Any, **kwargs: Any) -> Any:
        sent.append(sum(len(arg) for arg in args if isinstance(arg, bytes)))
        return submit(work, *args, **kwargs)

    monkeypatch.setattr(client, "submit", counted)
    swept = run_sweep(asked(), LARGE, pool.executor)
    large, *_ = sorted(sent, reverse=True)
    assert len(sent) == 31
    assert large > 300_000
    assert sum(sent) < 2 * large
    assert swept.answer.to_plain() == run_sweep(asked(), LARGE).answer.to_plain()
    sent.clear()
    run_sweep(asked(futures={"seeds": [11]}), LARGE, pool.executor)
    assert max(sent) < large / 20, "the cluster has it still"


def test_small_tables_travel_with_their_tasks(pool: WorkerPool) -> None:
    spec = asked(scenario=SMALL.content_hash)
    assert run_sweep(spec, SMALL, pool.executor).answer.to_plain() == run_sweep(spec, SMALL).answer.to_plain()
    place: Any = pool.executor.place  # type: ignore[attr-defined]
    assert [name for _, name, _ in place._shared.values()] == [""]


# ---- waiting -------------------------------------------------------------------------------------------


def test_waiting_ends_in_one_message_and_can_be_cancelled(apart: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_pool, "GONE_S", 0.0)
    with (
        open_pool(DaskAccess(apart.address, wait_s=1.0)).executor as executor,
        pytest.raises(PoolLost, match=r"has had no worker for 1 s\. Start workers with: dask worker tcp://"),
    ):
        executor.submit(abs, -1).result(PATIENCE_S)
    with open_pool(DaskAccess(apart.address, wait_s=60)).executor as executor:
        future = executor.submit(abs, -1)
        time.sleep(0.5)
        assert future.cancel()
    apart.add_worker()
    with open_pool(DaskAccess(apart.address, wait_s=60)).executor as executor:
        assert executor.submit(abs, -1).result(PATIENCE_S) == 1


def test_a_late_worker_without_dlsched_is_one_message(apart: Cluster, tmp_path: Path) -> None:
    with open_pool(DaskAccess(apart.address)).executor as executor:
        future = executor.submit(abs, -1)
        apart.add_worker(code=without_dlsched(tmp_path))
        with pytest.raises(InputError, match=r"A Dask worker: cannot load dlsched .*Install the same version there"):
            future.result(PATIENCE_S)


def test_the_app_shows_that_it_waits_and_goes_on_when_workers_come(apart: Cluster) -> None:
    runner = Runner(None, lambda: open_pool(DaskAccess(apart.address, wait_s=60)))
    runner.prepare()
    first, second, third = runner.submit([RunTask(SMALL, "fifo", seed=seed) for seed in range(3)])
    until(lambda: runner.status([first])[0].text.startswith("Waiting for workers: 0 so far, "))
    waiting, queued, _ = runner.status([first, second, third])
    assert waiting.text.endswith(" of 1 min")
    assert (waiting.state, waiting.eta_s, queued.text) == (TaskState.RUNNING, None, "Waiting")
    runner.cancel([first])
    apart.add_worker()
    assert runner.wait(PATIENCE_S)
    assert [one.state for one in runner.status([first, second, third])] == [
        TaskState.CANCELLED, TaskState.DONE, TaskState.DONE,
    ]  # fmt: skip
    runner.close()


def test_a_study_of_many_parts_is_shared_out_over_the_cluster(apart: Cluster) -> None:
    """Workers under a nanny may have no processes of their own: what a study shares out, the cluster computes."""
    for _ in range(2):
        apart.add_worker(nanny=True)
    apart.wait_for(2)
    scenario = recorded_scenario("easy-backfill", jobs=120)
    task = StudyTask("fitting", {"scenario": scenario.content_hash, "replays": 2}, subject=scenario)
    runner = Runner(None, lambda: open_pool(DaskAccess(apart.address)))
    question = runner.ask(task)
    assert runner.wait(120)
    (status,) = runner.status([question])
    assert (status.state, status.message) == (TaskState.DONE, "")
    assert known(runner.answer(question)).answer["learned"]["policy"] == "easy-backfill"
    runner.close()
    for worker in apart.workers:  # a nanny that is killed leaves its worker behind
        worker.terminate()
        worker.wait()


# ---- the command line ----------------------------------------------------------------------------------


def test_a_command_waits_tells_so_and_stops_when_told(apart: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    write_scenario(SMALL, str(file))
    command = [sys.executable, "-m", "dlsched", "sweep", str(file), "--vary", "nodes=1,2", "--dask", apart.address]
    environment = os.environ | {"PYTHONPATH": str(apart.code)}
    with _started([*command, "--dask-wait", "30m"], environment) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith(f"dlsched: waiting for workers of {apart.address}: 0 so far, ")
        assert line.endswith(" of 30 min\n")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr.read() == "dlsched: stopped\n"
    with _started(command, environment) as process:
        assert process.stderr is not None
        assert process.stderr.readline().endswith(" of 10 min\n")
        apart.add_worker()
        assert process.wait(60) == 0
        assert process.stderr.read() == ""


def _started(command: list[str], environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def test_a_command_told_not_to_wait_says_how_to(
    apart: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "s.json"
    write_scenario(SMALL, str(file))
    typed = ["sweep", str(file), "--vary", "nodes=1,2", "--dask", apart.address, "--dask-wait", "0"]
    assert main(typed) == 2
    assert capsys.readouterr().err == (
        f"dlsched: Dask scheduler {apart.address}: has no workers. Start workers with: dask worker {apart.address} "
        "--nworkers -1 --nthreads 1, or give them time with --dask-wait 30m.\n"
    )


# ---- how it is named -----------------------------------------------------------------------------------


def test_a_scheduler_file_and_certificates_lead_to_the_same_answer(
    tmp_path: Path, code: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ca, key, file = (tmp_path / name for name in ("ca.pem", "key.pem", "s.json"))
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run([*made, "-keyout", str(key), "-out", str(ca)], check=True, capture_output=True)
    write_scenario(SMALL, str(file))
    sweep = ["sweep", str(file), "--vary", "nodes=1,2", "--json"]
    assert main([*sweep, "--processes", "1"]) == 0
    here = capsys.readouterr().out
    options = ("--tls-ca-file", str(ca), "--tls-cert", str(ca), "--tls-key", str(key))
    given = ["--dask-ca", str(ca), "--dask-cert", str(ca), "--dask-key", str(key)]
    with Cluster(tmp_path, code, options) as secured:
        secured.add_worker()
        assert secured.address.startswith("tls://")
        for named in (secured.address, str(secured.file), secured.file.as_uri()):
            assert main([*sweep, "--dask", named, *given]) == 0
            assert capsys.readouterr().out == here
        other = tmp_path / "other.pem"
        subprocess.run([*made, "-keyout", str(tmp_path / "k"), "-out", str(other)], check=True, capture_output=True)
        assert main([*sweep, "--dask", secured.address, "--dask-ca", str(other), *given[2:]]) == 2
        err = capsys.readouterr().err
        assert "does not answer" in err
        assert "the certificates are those of this cluster" in err
