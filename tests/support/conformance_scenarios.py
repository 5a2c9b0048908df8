"""Random scenarios for compiled loops, and runs in the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.policy import Policy, PolicySpec
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.workload import Workload
from dlsched.sim.log import RunLog
from dlsched.sim.prepare import Prepared
from dlsched.sim.simulate import run_policy
from dlsched.testing.scenarios import fixed_nodes

ON_NODES = ("best-fit", "pack", "spread")
PLACEMENTS = ("pool", *ON_NODES)


@st.composite
def kernel_scenarios(draw: st.DrawFn) -> Scenario:
    """Draw a scenario the kernel can run: few distinct times and sizes, so that ties are the rule."""
    nodes = draw(st.lists(st.sampled_from([1, 2, 3, 4, 8]), min_size=1, max_size=5))
    count = draw(st.integers(1, 25))
    unit = draw(st.sampled_from([1.0, 10.0, 0.1, 1 / 3]))

    def numbers(low: int, high: int) -> list[int]:
        return draw(st.lists(st.integers(low, high), min_size=count, max_size=count))

    workload = Workload.from_columns(
        {
            "job_id": [f"j{n}" for n in range(count)],
            "submit_s": np.array(numbers(0, 8)) * unit,
            "work": np.array(numbers(1, 12)) * unit,
            "workers": np.minimum(numbers(1, 10), sum(nodes)),
            "priority": np.array(numbers(0, 3), dtype=float),
            "due_s": np.array(numbers(1, 5)) * 5.0,
            "user": [("", "ann", "bob")[number] for number in numbers(0, 2)],
        }
    )
    options = SimulationRules(
        placement=draw(st.sampled_from(PLACEMENTS)),
        estimate_error=draw(st.sampled_from([0.0, 0.5])),
        bug_share=draw(st.sampled_from([0.0, 0.4])),
        bug_within_s=5.0,
    )
    return Scenario(workload, fixed_nodes(*nodes), options)


@st.composite
def rigid_scenarios(draw: st.DrawFn, *, pool: bool, lasting: bool, placements: Sequence[str] = PLACEMENTS) -> Scenario:
    """Draw jobs of GPUs or cores, with limits, on nodes of several sizes and partitions; many ties.

    ``pool``: only what one total for each queue can tell; else one of ``placements``. ``lasting``: nodes are never
    away.
    """
    count = draw(st.integers(1, 60))
    unit = draw(st.sampled_from([1.0, 10.0, 0.1, 1 / 3]))
    kind = draw(st.sampled_from(["gpus", "cores"] if pool else ["gpus", "cores", "cores and memory", "half GPUs"]))
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 4, 8]), min_size=1, max_size=5))
    names = draw(st.sampled_from([("",), ("", "p"), ("p", "q"), *([] if pool else [("p", "p|q", "r")])]))

    def numbers(low: int, high: int) -> np.ndarray:
        return np.array(draw(st.lists(st.integers(low, high), min_size=count, max_size=count)))

    work = numbers(1, 12) * unit
    columns: dict[str, Any] = {
        "job_id": [f"j{n}" for n in range(count)],
        "submit_s": numbers(0, draw(st.sampled_from([4, 30]))) * unit,
        "work": work,
        "workers": numbers(1, 8),
        "priority": numbers(0, 3).astype(float),
        "user": [("", "ann", "bob", "eve")[number] for number in numbers(0, 3)],
        "group": [("", "g")[number] for number in numbers(0, 1)],
        "partition": [("", "p", "q", "r", "p|q" if "p|q" in names else "p")[number] for number in numbers(0, 4)],
    }
    if draw(st.booleans()):  # some run past their limit
        columns["limit_s"] = np.maximum(unit, work + numbers(-3, 6) * unit)
    if kind == "half GPUs":
        columns["gpus_per_worker"] = numbers(1, 4) / 4
    if kind.startswith("cores"):
        columns["gpus_per_worker"] = np.zeros(count)
        columns["cpus_per_worker"] = np.ones(count) if pool else numbers(1, 3).astype(float)
    if kind.endswith("memory"):
        columns["mem_gib_per_worker"] = numbers(0, 8) * 0.7
    if draw(st.booleans()):
        speeds = draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=1, max_size=3))
    else:
        speeds = [1.0]
    types = draw(st.sampled_from([("GPU",), ("GPU",), ("A", "B")])) if kind == "gpus" and not pool else ("GPU",)
    if len(types) > 1:
        columns["gpu_types"] = [("", "A", "B", "A|B")[number] for number in numbers(0, 3)]
    machines = {
        "gpus": lambda size: {"gpus": size},
        "half GPUs": lambda size: {"gpus": size},
        "cores": lambda size: {"gpus": 0, "cpus": size},
        "cores and memory": lambda size: {"gpus": 0, "cpus": size, "mem_gib": 3.0 * size},
    }
    pools = tuple(
        Pool(
            vm=VmType(
                name=f"vm-{number}",
                gpu_type=types[number % len(types)],
                speed=speeds[number % len(speeds)],
                **machines[kind](size),
            ),
            count=1,
            partition=names[number % len(names)],
        )
        for number, size in enumerate(sizes)
    )
    options = SimulationRules(
        placement="pool" if pool else draw(st.sampled_from(placements)),
        estimate_error=draw(st.sampled_from([0.0, 0.5])),
        limits=draw(st.sampled_from(["believe", "kill", "ignore"])),
        restart_s=draw(st.sampled_from([0.0, 0.0, 2.0])),
        restart_mode=draw(st.sampled_from(["pause", "delayed"])),
        checkpoint_s=draw(st.sampled_from([0.0, 3.0, 1000.0])),
        cancel_share=draw(st.sampled_from([0.0, 0.0, 0.3])),
        horizon_s=draw(st.sampled_from([None, None, None, 20.0 * unit])),
        bug_share=draw(st.sampled_from([0.0, 0.0, 0.3])),
        bug_within_s=2.0,
        oversize="drop",
    )
    cluster = Cluster(pools=pools, absences=() if lasting else draw(absences(len(pools), unit)))
    return Scenario(Workload.from_columns(columns), cluster, options)


@st.composite
def absences(draw: st.DrawFn, nodes: int, unit: float) -> tuple[Absence, ...]:
    """Draw when nodes are away: in half of the scenarios never, else some at once, over each other, and for good."""
    if draw(st.booleans()):
        return ()
    one = st.tuples(
        st.integers(0, nodes - 1),
        st.integers(0, 40),
        st.sampled_from([1, 5, 20, 20, 20, None]),
        st.sampled_from(["fails", "maintenance"]),
    )
    return tuple(
        Absence(node=node, start_s=start * unit, end_s=None if length is None else (start + length) * unit, cause=cause)
        for node, start, length, cause in draw(st.lists(one, min_size=1, max_size=8))
    )


def built(spec: PolicySpec, prepared: Prepared, params: dict[str, Any] | None = None) -> Policy:
    """Return a fresh policy for one run."""
    values = spec.parse(params)
    return spec.build(values, prepared.scenario.workload) if spec.clairvoyant else spec.build(values)


def engine_log(spec: PolicySpec, prepared: Prepared, params: dict[str, Any] | None = None) -> RunLog:
    """Run a policy in the generic engine."""
    return run_policy(prepared, built(spec, prepared, params), use_kernel=False)
