"""Texts about GPUs told of the resource that counts."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go
import pytest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.workload import CPU, GPU, MEM
from dlsched.figures.base import Chart
from dlsched.metrics.kpi import KPIS, kpi_of
from dlsched.wording.counted import COUNTED, GPUS, room_words

CORES, MEMORY = COUNTED[CPU], COUNTED[MEM]


@pytest.mark.parametrize(
    ("text", "cores", "memory"),
    [
        ("GPUs allocated", "Cores allocated", "GiB allocated"),
        ("Useful GPU time", "Useful core time", "Useful memory time"),
        ("12 GPU-hours at $2/GPU-h", "12 core-hours at $2/core-h", "12 GiB-hours at $2/GiB-h"),
        (
            "one row per GPU. GPUs of all nodes",
            "one row per core. Cores of all nodes",
            "one row per GiB. GiB of all nodes",
        ),
        ("GPU count changes", "Core count changes", "GiB count changes"),
        (
            "waits: not enough GPUs free",
            "waits: not enough cores or memory free",
            "waits: not enough cores or memory free",
        ),
        ("no word of it", "no word of it", "no word of it"),
    ],
)
def test_say(text: str, cores: str, memory: str):
    assert (GPUS.say(text), CORES.say(text), MEMORY.say(text)) == (text, cores, memory)


def test_no_metric_of_a_cluster_of_cores_names_a_gpu_and_those_of_gpus_stay():
    for key, kpi in KPIS.items():
        assert kpi_of(key, GPUS) is kpi
        told = kpi_of(key, CORES)
        if key != "used_of_reserved":  # it is about every resource
            assert "GPU" not in told.label + told.tooltip + told.show(0.05)
    assert kpi_of("allocation_ratio", CORES).label == "Cores allocated"
    assert kpi_of("usd_per_useful_gpu_h", CORES).label == "Cost per useful core-hour"
    assert kpi_of("usd_per_useful_gpu_h", CORES).show(0.0512) == "$0.05/core-h"
    assert kpi_of("usd_per_useful_gpu_h", MEMORY).show(0.0512) == "$0.05/GiB-h"
    assert kpi_of("gpu_hours_idle", CORES).label == "Core-hours paid for but idle"


def test_room():
    kinds = [VmType(name="g", gpus=8, cpus=96), VmType(name="c", gpus=0, cpus=12, mem_gib=64)]
    mixed = Cluster(pools=tuple(Pool(vm=kind, count=40) for kind in kinds))
    assert [room_words(mixed, COUNTED[resource]) for resource in (GPU, CPU)] == ["320 GPUs", "4,320 cores"]
    assert room_words(Cluster(pools=mixed.pools[1:]), GPUS) == ""
    assert room_words(Cluster(slots=3, catalogue=tuple(kinds)), CORES) == ""


def test_a_chart_tells_its_words_and_leaves_names_of_data():
    figure = go.Figure(go.Scatter(x=[1], y=[2], name="GPUs allocated", hovertemplate="%{y} GPUs"))
    figure.add_scatter(x=[1], y=[2], name="GPU team")
    figure.update_layout(title_text="80% of the GPU time allocated")
    figure.update_yaxes(title_text="GPUs")
    chart = Chart(figure, "GPUs allocated.", pd.DataFrame({"GPUs": [2.0]}))
    assert chart.of(GPUS) is chart
    told = chart.of(CORES)
    assert [trace.name for trace in told.figure.data] == ["Cores allocated", "GPU team"]
    assert told.figure.data[0].hovertemplate == "%{y} cores"
    assert told.figure.layout.title.text == "80% of the core time allocated"
    assert told.figure.layout.yaxis.title.text == "Cores"
    assert (told.alt, list(told.table)) == ("Cores allocated.", ["Cores"])
    assert figure.data[0].name == "GPUs allocated"  # the original is what it was
