"""Scenarios for elastic policies: equal nodes that hold one worker each, and nodes of several GPUs."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.timetable import TimeTable
from dlsched.domain.workload import Workload
from dlsched.workload.studies.hell_knee import StreamSpec, stream_scenario
from tests.support.conformance_scenarios import PLACEMENTS


def one_gpu_nodes(count: int, gpus: int = 1, gpu_type: str = "GPU", speed: float = 1.0) -> Cluster:
    """Return equal nodes."""
    vm = VmType(name="node", gpus=gpus, gpu_type=gpu_type, speed=speed)
    return Cluster(pools=(Pool(vm=vm, count=count),))


def table_speed(curves: dict[str, tuple[float, ...]], gpu_type: str = "GPU") -> SpeedSpec:
    """Return the speed model of profiles by their speed-ups on 1, 2, ... nodes."""
    rows = {name: {gpu_type: tuple(1 / factor for factor in factors)} for name, factors in curves.items()}
    return SpeedSpec(kind="table", times=TimeTable(rows=rows))


def training_stream(jobs: int, nodes: int = 20, load: float = 0.7, seed: int = 0) -> Scenario:
    """Return Poisson arrivals of the four networks of the study, on nodes of one GPU."""
    return stream_scenario(StreamSpec(jobs=jobs, nodes=nodes, load=load), seed)


@st.composite
def elastic_scenarios(draw: st.DrawFn) -> Scenario:
    """Draw few distinct times, sizes and curves, so that ties are the rule; curves rise, fall, or end early."""
    nodes, count = draw(st.integers(1, 7)), draw(st.integers(1, 20))
    unit, begin_s = draw(st.sampled_from([1.0, 10.0, 0.1, 1 / 3])), draw(st.sampled_from([0.0, 1.5e9]))
    gpus = draw(st.sampled_from([1, 2]))

    def numbers(low: int, high: int) -> list[int]:
        return draw(st.lists(st.integers(low, high), min_size=count, max_size=count))

    columns = {
        "job_id": [f"j{number}" for number in range(count)],
        "submit_s": begin_s + np.array(numbers(0, 8)) * unit,
        "work": np.array(numbers(1, 12)) * unit,
        "workers": np.minimum(numbers(1, 4), nodes),
        "gpus_per_worker": np.full(count, float(gpus)),
    }
    kind = draw(st.sampled_from(["rigid", "scaling", "table"]))
    speed = SpeedSpec(kind=kind) if kind != "table" else table_speed(_drawn_curves(draw, gpus * nodes))
    if kind == "table":
        columns["workers"] = np.ones(count, dtype=np.int64)
        columns["profile"] = np.array(["abc"[number] for number in numbers(0, 2)], dtype=object)
    options = SimulationRules(
        estimate_error=draw(st.sampled_from([0.0, 0.5])),
        bug_share=draw(st.sampled_from([0.0, 0.4])),
        bug_within_s=5.0,
    )
    cluster = one_gpu_nodes(nodes, gpus, speed=draw(st.sampled_from([1.0, 3.0])))
    return Scenario(Workload.from_columns(columns), cluster, options, speed)


@st.composite
def scattered_scenarios(draw: st.DrawFn) -> Scenario:
    """Draw jobs for nodes of several GPUs, under any placement rule; often a width is free but fits no node."""
    sizes, count = draw(st.lists(st.sampled_from([1, 2, 3, 4, 8]), min_size=1, max_size=5)), draw(st.integers(1, 20))
    unit = draw(st.sampled_from([1.0, 10.0, 0.1, 1 / 3]))
    kind = draw(st.sampled_from(["rigid", "scaling", "scaling", "table"]))
    if kind == "table":  # one machine type: curves are those of a GPU type
        sizes = [max(2, sizes[0])] * len(sizes)

    def numbers(low: int, high: int) -> list[int]:
        return draw(st.lists(st.integers(low, high), min_size=count, max_size=count))

    columns: dict[str, Any] = {
        "job_id": [f"j{number}" for number in range(count)],
        "submit_s": np.array(numbers(0, 8)) * unit,
        "work": np.array(numbers(1, 12)) * unit,
        "workers": np.minimum(numbers(1, 8), sum(sizes)),
    }
    speed = SpeedSpec(kind=kind) if kind != "table" else table_speed(_drawn_curves(draw, sum(sizes)))
    if kind == "table":
        columns["profile"] = np.array(["abc"[number] for number in numbers(0, 2)], dtype=object)
    if kind == "scaling" and draw(st.booleans()):
        columns["min_workers"] = np.maximum(1, columns["workers"] - numbers(0, 3))
        columns["max_workers"] = columns["workers"] + numbers(0, 3)
    options = SimulationRules(
        placement=draw(st.sampled_from(PLACEMENTS)),
        estimate_error=draw(st.sampled_from([0.0, 0.5])),
        bug_share=draw(st.sampled_from([0.0, 0.4])),
        bug_within_s=5.0,
        oversize="drop",
    )
    pools = tuple(Pool(vm=VmType(name=f"vm-{size}", gpus=size, speed=2.0), count=1) for size in sizes)
    return Scenario(Workload.from_columns(columns), Cluster(pools=pools), options, speed)


def _drawn_curves(draw: st.DrawFn, most: int) -> dict[str, tuple[float, ...]]:
    factor = st.sampled_from([0.5, 1.0, 1.0, 1.5, 2.0, 3.0, 4.0])
    return {name: tuple(draw(st.lists(factor, min_size=most, max_size=most))) for name in "abc"}
