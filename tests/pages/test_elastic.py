"""Result and Compare where a policy changes widths: the turnaround time first, jobs as rows of the Gantt."""

from __future__ import annotations

import pytest

from dlsched.studies.simulation import simulate
from dlsched.workload.studies.hell_knee import StreamSpec, stream_scenario

RESULT, COMPARE = "results/run_details.py", "results/compare.py"
SEEDS = range(6)


@pytest.fixture(scope="module")
def records():
    """Draws of 20 jobs with speed curves under HELL and under FIFO with skip, which keeps to one node a job."""
    scenario = stream_scenario(StreamSpec(nodes=12, jobs=20))
    runs = {
        (key, seed): simulate(scenario, key, seed=seed) for key in ("fifo-skip", "hell-malleable") for seed in SEEDS
    }
    assert [run.audit() for run in runs.values()] == [[]] * len(runs)
    return {name: run.record() for name, run in runs.items()}


@pytest.fixture
def saved(store, records):
    return {name: store.save_run(record) for name, record in records.items()}


def test_the_time_in_system_comes_first_and_jobs_are_the_rows(saved, open_page):
    app = open_page(RESULT, run=saved["hell-malleable", 0])
    assert not app.exception
    assert app.header[0].value.replace("\\", "").startswith("HELL, malleable: jobs take ")
    assert app.metric[0].label == "Mean turnaround time"
    app = open_page(RESULT, run=saved["hell-malleable", 0], part="Timeline")
    assert not app.exception
    assert app.segmented_control(key="gantt-rows").value == "jobs"
    app = open_page(RESULT, run=saved["fifo-skip", 0], part="Timeline")
    assert app.segmented_control(key="gantt-rows").value == "nodes"


def test_nodes_in_no_chunk_are_told_above_the_result(store, open_page):
    done = simulate(stream_scenario(StreamSpec(nodes=12, jobs=8)), "jsq-chunk", {"chunk": 5})
    app = open_page(RESULT, run=store.save_run(done.record()))
    assert not app.exception
    assert any("Chunks of 5 leave 2 of 12 GPUs unused" in part.value for part in app.warning)


def test_a_comparison_speaks_of_the_time_in_system(saved, open_page):
    base, other = saved["fifo-skip", 0], saved["hell-malleable", 0]
    app = open_page(COMPARE, runs=f"{base},{other}", base=base)
    assert not app.exception
    assert "HELL, malleable cuts the mean turnaround time from " in app.header[0].value.replace("\\", "")
