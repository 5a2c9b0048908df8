"""Pictures of clusters of cores, and of mixed ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.workload import CPU, GPU, Workload
from dlsched.figures.bars import node_bars, readable
from dlsched.figures.cluster import capacity
from dlsched.figures.hover import hover_rows
from dlsched.figures.lanes import lanes
from dlsched.figures.palette import LIGHT
from dlsched.figures.workload import profile
from dlsched.wording.counted import COUNTED

CORES = COUNTED[CPU]


def pieces(gpus: list[float], counted: list[int], nodes: list[int]) -> pd.DataFrame:
    count = len(gpus)
    return pd.DataFrame(
        {"job_id": [f"j{i}" for i in range(count)], "node": nodes, "start_s": [0.0] * count, "end_s": [60.0] * count}
        | {"gpus": gpus, "counted": counted}
    )


def test_one_row_per_core():
    chart = node_bars(pieces([4.0, 6.0], [CPU, CPU], [0, 0]), LIGHT, 0, 60, gpus_of_node={0: 12.0}).of(CORES)
    assert chart.figure.layout.title.text == "2 jobs on 1 node, one row per core"
    bars = [trace for trace in chart.figure.data if trace.name == "running"]
    assert np.allclose(sorted(bars[0].width), [0.9 * 4 / 12, 0.9 * 6 / 12], atol=1e-6)
    assert "free cores" in {trace.name for trace in chart.figure.data}
    assert list(chart.table["Cores"]) == [4.0, 6.0]


def test_a_node_of_many_cores_has_bars_as_tall_as_their_share():
    chart = node_bars(pieces([128.0], [CPU], [0]), LIGHT, 0, 60, gpus_of_node={0: 256.0}).of(CORES)
    assert chart.figure.layout.title.text == "1 job on 1 node, bar height = cores allocated"
    (bar,) = (trace for trace in chart.figure.data if trace.name == "running")
    assert bar.width[0] == pytest.approx(0.45)
    assert len(lanes(pieces([2.0], [CPU], [0]).assign(wanted_lanes=[5.0]))) == 1


def test_bars_and_tables_of_a_mixed_cluster_name_the_unit_of_each_node():
    mixed = pieces([8.0, 12.0], [GPU, CPU], [0, 1])
    assert [row[2].split(" on ")[0] for row in hover_rows(mixed)] == ["8 GPUs", "12 cores"]
    table = readable(mixed)
    assert table["GPUs"].tolist()[0] == 8.0
    assert table["cores"].tolist()[1] == 12.0
    assert pd.isna(table["cores"].tolist()[0])


def test_capacity_and_profile_in_cores():
    cluster = Cluster(pools=(Pool(vm=VmType(name="c", gpus=0, gpu_type="", cpus=12), count=40),))
    assert (
        capacity(cluster, 3600.0, LIGHT, counted=CPU).of(CORES).alt
        == "480 cores all the time are available in the cluster."
    )
    jobs = Workload.from_columns(
        {"job_id": ["a", "b"], "submit_s": [0.0, 60.0], "work": [60.0, 60.0], "gpus_per_worker": [0.0, 0.0]}
        | {"cpus_per_worker": [2.0, 6.0], "user": ["u", "v"]}
    )
    charts = profile(jobs, LIGHT, counted=CORES)
    assert charts[1].alt.startswith("Cores per job: jobs of 6 cores take 75% of core time")
    assert charts[-1].alt == "v requests 75% of the core time, the most of 2 users."
    assert not any("GPU" in chart.alt for chart in charts)


def test_cpu_jobs_share_a_lane_below_the_gpus_of_their_node():
    rows = [("a", 0.0, 40.0, 0.0), ("g", 10.0, 100.0, 2.0), ("b", 50.0, 90.0, 0.0)]
    frame = pd.DataFrame(rows, columns=["job_id", "start_s", "end_s", "gpus"]).assign(node=0, vm_gpus=2.0)
    drawn = lanes(frame).set_index("job_id")["lane"]
    assert (drawn["a"], drawn["g"], drawn["b"]) == (2, 0, 2)
