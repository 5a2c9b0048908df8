"""A log that a simulated scheduler wrote, read as any other: its cluster, its starts and its waits come back."""

from __future__ import annotations

import io

import numpy as np
import pytest

from dlsched.studies.simulation import Run, simulate
from dlsched.workload.load import scenario_of
from dlsched.workload.readers import read_trace, write_native
from tests.support.sacct_log import busy_scenario, sacct_log


@pytest.fixture(scope="module")
def recorded() -> Run:
    return simulate(busy_scenario(600), "easy-backfill")


def test_the_cluster_of_a_log_is_the_one_that_wrote_it(recorded: Run) -> None:
    read = scenario_of(read_trace(sacct_log(recorded).encode()), "log")
    kinds = {(p.partition, p.count, p.vm.gpus, p.vm.cpus, p.vm.gpu_type) for p in read.cluster.pools}
    assert kinds == {("gpu", 6, 8, 64, "a100"), ("cpu", 4, 0, 64, next(t for *_, t in kinds if t != "a100"))}


def test_the_same_policy_starts_every_job_when_the_log_says(recorded: Run) -> None:
    read = scenario_of(read_trace(sacct_log(recorded).encode()), "log")
    replay = simulate(read, "easy-backfill")
    jobs = replay.prepared.scenario.workload
    assert recorded.log.job_first_start_s.mean() > jobs.submit_s.mean() + 600  # there was a queue
    assert np.array_equal(replay.log.job_first_start_s, jobs.columns()["recorded_start_s"])
    assert replay.metrics["wait_mean"] == recorded.metrics["wait_mean"]
    assert replay.audit() == []


def test_another_policy_or_true_run_times_start_jobs_at_other_times(recorded: Run) -> None:
    read = scenario_of(read_trace(sacct_log(recorded).encode()), "log")
    told = read.replace(options=read.options.model_copy(update={"limits": "ignore"}))
    for replay in (simulate(read, "fifo"), simulate(told, "easy-backfill")):
        jobs = replay.prepared.scenario.workload
        assert not np.array_equal(replay.log.job_first_start_s, jobs.columns()["recorded_start_s"])


def test_a_window_of_the_log_keeps_its_cluster_as_a_table(recorded: Run) -> None:
    """Rows that ended before a day were not exported; what ran then holds its nodes, in the copy too."""
    header, *rows = sacct_log(recorded).splitlines()
    window = [row for row in rows if row.split("|")[8] >= "2025-03-06T00:00:00"]
    assert 100 < len(window) < len(rows) - 100
    trace = read_trace("\n".join([header, *window]).encode())
    copy = io.BytesIO()
    write_native(trace.workload, copy, "parquet")
    again = read_trace(copy.getvalue())
    assert np.isnan(trace.workload.columns()["recorded_start_s"]).any()
    scenarios = [scenario_of(one, "log") for one in (trace, again)]
    first, second = (  # GPU types that were given, not requested, are no column
        {(p.nodes, p.partition, p.vm.gpus, p.vm.cpus, p.vm.mem_gib) for p in one.cluster.pools} for one in scenarios
    )
    assert first == second
    starts_s, again_s = (simulate(one, "easy-backfill").log.job_first_start_s for one in scenarios)
    assert np.array_equal(starts_s, again_s)
