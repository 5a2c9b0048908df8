"""Hypothesis strategies: small scenarios with every feature of the simulator switched on or off at random.

Times and work are mostly multiples of 2.5 s, so that arrivals, completions, absences and reviews often coincide.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.timetable import TimeTable
from dlsched.domain.workload import Workload

GPU_TYPES = ("V100", "A100")
PROFILES = ("vgg", "bert")
PARTITIONS = ("", "vc1", "vc2", "vc1|vc2")
FEATURES = ("", "big", "big|fast")
TICKS = st.integers(0, 40).map(lambda n: 2.5 * n)
MONEY = st.sampled_from([0.0, 0.5, 3.06])


def vm_types(name: str) -> st.SearchStrategy[VmType]:
    """Return machine types of one name: any GPU type, limits on CPUs and memory or none, price or none."""
    return st.builds(
        VmType,
        name=st.just(name),
        gpu_type=st.sampled_from(GPU_TYPES),
        gpus=st.sampled_from([1, 2, 4, 8]),
        cpus=st.sampled_from([None, 8.0, 32.0]),
        mem_gib=st.sampled_from([None, 64.0]),
        usd_per_h=st.none() | MONEY,
        speed=st.sampled_from([0.5, 1.0, 1.3]),
    )


@st.composite
def absences(draw: st.DrawFn, num_nodes: int) -> Absence:
    """Draw an absence of any cause; one that arrives is away from 0, one that leaves is away for good."""
    cause = draw(st.sampled_from(["fails", "maintenance", "arrives", "leaves"]))
    start_s = 0.0 if cause == "arrives" else draw(TICKS)
    end_s = None if cause == "leaves" else start_s + 2.5 * draw(st.integers(1, 20))
    return Absence(
        node=draw(st.integers(0, num_nodes - 1)), start_s=start_s, end_s=end_s, cause=cause, billed=draw(st.booleans())
    )


@st.composite
def clusters(draw: st.DrawFn, *, free_slots: bool | None = None) -> Cluster:
    """Draw one to three pools (partitions, GPU types, speeds), or free slots with a catalogue; with absences."""
    names = ("a", "b", "c")[: draw(st.integers(1, 3))]
    types = [draw(vm_types(name)) for name in names]
    if draw(st.booleans()) if free_slots is None else free_slots:
        slots = draw(st.integers(1, 4))
        away = draw(st.lists(absences(slots), max_size=3))
        return Cluster(slots=slots, catalogue=tuple(types), absences=tuple(away))
    split, told = draw(st.booleans()), draw(st.booleans())
    pools = tuple(
        Pool(
            vm=vm,
            count=draw(st.integers(1, 3)),
            partition=draw(st.sampled_from(PARTITIONS)) if split else "",
            features=draw(st.sampled_from(FEATURES)) if told else "",
        )
        for vm in types
    )
    num_nodes = sum(pool.count for pool in pools)
    return Cluster(pools=pools, absences=tuple(draw(st.lists(absences(num_nodes), max_size=4))))


@st.composite
def workloads(draw: st.DrawFn, max_jobs: int = 8) -> Workload:
    """Draw jobs with ties in submission, fractional GPUs, CPU-only jobs, constraints, dues and utilities."""
    count = draw(st.integers(1, max_jobs))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=count, max_size=count))

    def maybe(values: st.SearchStrategy[Any]) -> list[Any] | None:
        return column(values) if draw(st.booleans()) else None

    workers = column(st.sampled_from([1, 1, 2, 3, 4, 6]))
    gpus = column(st.sampled_from([0.0, 0.25, 0.3, 1.0, 1.0, 2.0]))
    submit_s = column(TICKS)
    bounded = draw(st.booleans())
    columns: dict[str, Any] = {
        "job_id": [f"j{n}" for n in range(count)],
        "submit_s": submit_s,
        "work": column(st.integers(1, 20).map(lambda n: 2.5 * n) | st.floats(0.1, 60)),
        "workers": workers,
        "gpus_per_worker": gpus,
        # a job without GPUs must ask for CPUs
        "cpus_per_worker": [max(cpus, float(g == 0)) for cpus, g in zip(column(MONEY), gpus, strict=True)],
        "mem_gib_per_worker": maybe(st.sampled_from([0.0, 8.0, 30.5])),
        "min_workers": [draw(st.integers(1, w)) for w in workers] if bounded else None,
        "max_workers": [draw(st.integers(w, 2 * w)) for w in workers] if bounded else None,
        "partition": maybe(st.sampled_from((*PARTITIONS, "elsewhere"))),
        "profile": column(st.sampled_from(PROFILES)),
        "gpu_types": maybe(st.sampled_from(["", "A100", "V100|A100", "H100 | V100"])),
        "features": maybe(st.sampled_from(["", "big", "fast & big", "slow|fast"])),
        "user": maybe(st.sampled_from(["ann", "bob"])),
        "priority": maybe(st.sampled_from([0.0, 1.0])),
        "due_s": maybe(st.floats(0, 200) | st.just(float("nan"))),
        "weight_usd_per_s": maybe(st.sampled_from([0.0, 0.01, float("nan")])),
    }
    if draw(st.booleans()):
        columns |= {
            "utility_1": column(st.sampled_from([1.0, 100.0])),
            "utility_2": column(st.sampled_from([0.0, 0.5, 1e4])),
            "utility_3": column(st.sampled_from([0.01, 1.0])),
        }
    return Workload.from_columns({name: values for name, values in columns.items() if values is not None})


def options() -> st.SearchStrategy[SimulationRules]:
    """Return options with every rule of the engine drawn; jobs that can never fit are dropped or capped."""
    return st.builds(
        SimulationRules,
        placement=st.sampled_from(["pool", "best-fit", "pack", "spread"]),
        oversize=st.sampled_from(["drop", "cap"]),
        restart_s=st.sampled_from([0.0, 1.7, 5.0]),
        restart_mode=st.sampled_from(["pause", "delayed"]),
        checkpoint_s=st.sampled_from([0.0, 2.5, 4.0]),
        estimate_error=st.sampled_from([0.0, 0.5]),
        bug_share=st.sampled_from([0.0, 0.3]),
        bug_within_s=st.just(10.0),
        cancel_share=st.sampled_from([0.0, 0.3]),
        billing=st.sampled_from(["second", "hour"]),
        rejection_usd=MONEY,
        utility_unit_s=st.sampled_from([1.0, 60.0]),
        utility_clock=st.sampled_from(["elapsed", "slots"]),
        slot_s=st.sampled_from([5.0, 7.0]),
        horizon_s=st.sampled_from([None, None, 30.0, 200.0]),
    )


def times() -> st.SearchStrategy[TimeTable]:
    """Return run times of the profiles; one of them may not run on the second GPU type."""
    row = st.lists(st.sampled_from([0.5, 1.0, 1.5, 4.0]), min_size=1, max_size=6).map(tuple)
    everywhere = st.fixed_dictionaries(dict.fromkeys(GPU_TYPES, row))
    profiles = {PROFILES[0]: everywhere, PROFILES[1]: everywhere | st.fixed_dictionaries({GPU_TYPES[0]: row})}
    return st.builds(TimeTable, rows=st.fixed_dictionaries(profiles))


def speeds() -> st.SearchStrategy[SpeedSpec]:
    """Return the rigid law, a scaling law or run times by table."""
    return st.builds(
        SpeedSpec,
        kind=st.sampled_from(["rigid", "scaling", "table"]),
        efficiency=st.sampled_from([0.8, 1.0]),
        max_factor=st.sampled_from([1.0, 2.5]),
        times=times(),
    )


def scenarios(max_jobs: int = 8, *, free_slots: bool | None = None) -> st.SearchStrategy[Scenario]:
    """Return scenarios with any mix of features; ``free_slots`` fixes the kind of cluster."""
    return st.builds(
        Scenario,
        workload=workloads(max_jobs),
        cluster=clusters(free_slots=free_slots),
        options=options(),
        speed=speeds(),
        seed=st.integers(0, 99),
    )
