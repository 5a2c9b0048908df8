"""Pages of a scenario of CPU nodes and jobs: every number is of cores, no sentence speaks of GPUs."""

from __future__ import annotations

import pytest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.workload import Workload
from dlsched.studies.simulation import simulate
from tests.support.page_text import shown

PARTS = ("Overview", "Timeline", "Jobs", "Cost", "Numbers")


@pytest.fixture
def scenario() -> Scenario:
    """Six jobs of 6 cores and 16 GiB for 100 s, one a minute, on two nodes of 12 cores and 64 GiB at $0.60 an hour."""
    jobs = Workload.from_columns(
        {"job_id": [f"j{i}" for i in range(6)], "submit_s": [60.0 * i for i in range(6)], "work": [100.0] * 6}
        | {"workers": [2] * 6, "gpus_per_worker": [0.0] * 6, "cpus_per_worker": [6.0] * 6}
        | {"mem_gib_per_worker": [16.0] * 6, "user": ["ann", "bob"] * 3}
    )
    node = VmType(name="12-core node", gpu_type="", gpus=0, cpus=12, mem_gib=64, usd_per_h=0.6)
    rules = SimulationRules(horizon_s=1e9)  # beyond the compiled loops, which would take long to compile here
    return Scenario(jobs, Cluster(pools=(Pool(vm=node, count=2),)), rules, name="cores")


def test_jobs_cluster_and_run_count_cores(store, scenario, open_page) -> None:
    kept = store.save_scenario(scenario).scenario_hash
    jobs = open_page("scenario/jobs.py", scenario=kept)
    assert not jobs.exception
    # 6 jobs x 12 cores x 100 s over 24 cores x 300 s; 32 GiB of 128 is less
    assert "6 jobs in 5 min ask for 100% of 24 cores" in shown(jobs)
    cards = {card.label: card.value for card in jobs.metric}
    assert (cards["Load"], cards["Largest job"]) == ("100% of cores", "12 cores")
    assert "0 GPU" not in shown(jobs)
    cluster = open_page("scenario/cluster.py", scenario=kept)
    assert {card.label: card.value for card in cluster.metric}["Cores"] == "24"
    assert "2 nodes, 24 cores, $1.20/h" in shown(cluster)
    run = open_page("simulate/run.py", scenario=kept)
    assert not run.exception
    assert "GPU" not in shown(run)


@pytest.mark.parametrize("part", PARTS)
def test_run_details_count_cores(store, scenario, open_page, part: str) -> None:
    run = store.save_run(simulate(scenario, "fifo").record())
    app = open_page("results/run_details.py", run=run, part=part, job="1")
    assert not app.exception
    assert "GPU" not in shown(app)
    if part == "Overview":
        assert "Cores allocated" in [card.label for card in app.metric]
    if part == "Timeline":
        assert "of the core time is allocated" in shown(app)
    if part == "Numbers":
        rows = app.dataframe[0].value.set_index("Name in files")
        assert rows.loc["usd_per_useful_gpu_h", "Number"] == "Cost per useful core-hour"
        assert rows.loc["usd_per_useful_gpu_h", "Value"].endswith("/core-h")
        assert not rows["Number"].str.contains("GPU").any()
