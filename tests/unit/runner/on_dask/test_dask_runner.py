"""The app's queue over a real Dask scheduler: runs and questions, progress, cancelling, a cluster that is gone."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dlsched.domain.scenario import SimulationRules
from dlsched.runner.background import Runner, RunTask, StudyTask, TaskState
from dlsched.runner.dask_access import DASK_VARIABLE, DaskAccess
from dlsched.runner.executor import WorkerPool, open_pool
from dlsched.store import Store
from dlsched.studies.run_all import run_all
from dlsched.studies.simulation import simulate
from tests.support.dask_cluster import Cluster, without_cpu
from tests.support.known import known
from tests.support.runs_for_store import long_scenario, small_scenario
from tests.support.waiting import PATIENCE_S, until

pytestmark = pytest.mark.slow

SCENARIO = small_scenario(40, options=SimulationRules(estimate_error=0.5, restart_s=1.0))
STEADY = {"stream": {"nodes": 10}, "policies": [{"key": "fifo"}], "fractions": [1.0]}
SMALL = STEADY | {"loads": [0.2], "first_jobs": 200, "most_jobs": 200}
LARGE = STEADY | {"loads": [0.1, 0.2, 0.3, 0.4, 0.5], "first_jobs": 50_000, "most_jobs": 50_000}


@pytest.fixture
def runner(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Runner]:
    monkeypatch.setenv(DASK_VARIABLE, cluster.address)
    with Store(tmp_path / "s.duckdb") as store:
        made = Runner(store)
        yield made
        made.close()


def _worker_pid(_: int) -> int:
    time.sleep(0.02)
    return os.getpid()


def test_the_runner_computes_runs_and_questions_there(runner: Runner) -> None:
    runner.prepare()
    run, bad = runner.submit([RunTask(SCENARIO, "sjf", seed=3), RunTask(SCENARIO, "no-such-policy")])
    question = runner.ask(StudyTask("steady", SMALL))
    assert runner.wait(PATIENCE_S)
    done, failed, answered = runner.status([run, bad, question])
    assert (done.state, failed.state, answered.state) == (TaskState.STORED, TaskState.FAILED, TaskState.STORED)
    store = known(runner._store)
    metrics, here = store.metrics(known(done.run_id)), simulate(SCENARIO, "sjf", seed=3).metrics
    assert without_cpu(dict(metrics)) == without_cpu(dict(here))
    record = store.get_experiment(known(answered.experiment_id))
    assert record.answer["points"][0]["jobs_simulated"] == 200


def test_the_runner_shows_progress_and_stops_what_runs_there(runner: Runner, pool: WorkerPool) -> None:
    run = runner.submit([RunTask(long_scenario(), "fifo-skip")])[0]
    question = runner.ask(StudyTask("steady", LARGE))
    both = [run, question]
    until(lambda: all(0 < status.share < 1 for status in runner.status(both)))
    first, second = (status.text for status in runner.status(both))
    assert "day" in first
    assert "at load 0." in second
    began = time.monotonic()
    runner.cancel(both)
    assert runner.wait(5)
    assert [status.state for status in runner.status(both)] == [TaskState.CANCELLED] * 2
    run_all(list(range(4)), _worker_pid, pool.executor)  # both workers are free again
    assert time.monotonic() - began < 30, "far less than the computation takes"
    assert known(runner._store).list_experiments() == []


def test_the_runner_opens_a_new_cluster_when_the_old_one_is_gone(
    apart: Cluster, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    apart.add_worker()
    apart.wait_for(1)
    addresses = iter([apart.address, cluster.address])
    runner = Runner(None, lambda: open_pool(DaskAccess(next(addresses))))
    lost = runner.submit([RunTask(long_scenario(), "fifo-skip")])[0]
    until(lambda: runner.status([lost])[0].share > 0)
    apart.scheduler.kill()
    assert runner.wait(PATIENCE_S)
    (status,) = runner.status([lost])
    assert status.state is TaskState.FAILED
    assert f"Dask scheduler {apart.address}" in status.message
    again = runner.submit([RunTask(SCENARIO, "fifo")])[0]
    assert runner.wait(PATIENCE_S)
    assert runner.status([again])[0].state is TaskState.DONE
    runner.close()


def test_a_wrong_address_in_the_variable_leaves_the_app_running(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DASK_VARIABLE, "nowhere")
    runner = Runner(None)
    runner.prepare()
    (task_id,) = runner.submit([RunTask(SCENARIO, "fifo")])
    (status,) = runner.status([task_id])
    assert (status.state, "Dask scheduler nowhere: does not answer" in status.message) == (TaskState.FAILED, True)
    runner.close()
