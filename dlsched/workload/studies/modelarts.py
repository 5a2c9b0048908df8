"""Whole scenarios of the ModelArts study: its synthetic trace, and the jobs of any scenario on whole 8-GPU nodes."""

from __future__ import annotations

import numpy as np

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.columns import GANG_COLUMNS
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.workload import Ints, Workload
from dlsched.workload.defaults import ANY_GPU, LARGEST_POOL, default_cluster, describe_default
from dlsched.workload.generators import ModelArtsSpec, draw, plain
from dlsched.workload.generators.modelarts import (
    EFFICIENCY,
    LONG_JOBS,
    NODE_GPUS,
    TRACE_JOBS,
    node_hours,
    speed_of_modelarts,
)
from dlsched.workload.notes import SPEED_CURVE, cluster_notes, is_cluster_note, is_speed_note
from dlsched.workload.studies.hell_knee import requested_run_s

__all__ = ["VARIANTS", "modelarts_scenario", "node_hours_of", "on_whole_nodes", "sample_elastic"]

MOST_NODES = 16
"""The study's example of a job's most nodes."""
VARIANTS = {
    "baseline": SimulationRules(),
    "estimates": SimulationRules(estimate_error=0.1),
    "mishaps": SimulationRules(estimate_error=0.1, bug_share=0.15, bug_within_s=300.0, cancel_share=0.1),
    "delay": SimulationRules(restart_s=15.0, restart_mode="delayed"),
}
"""Rules of the study's simulations: Sections 5.2 and 5.3, Fig. 13, Fig. 14, Fig. 15.

In "mishaps" each job is a bug job with 15% and cancelled with 10%, independently; the study has shares of jobs that add
up to 100%. Every estimate is off by up to 10%, also those of bug jobs.
"""
_LAW = f"{SPEED_CURVE}: twice the nodes are {2 * EFFICIENCY:g} times as fast (ModelArts study, Fig. 6)"


def modelarts_scenario(
    spec: ModelArtsSpec, seed: int = 0, name: str | None = None, options: SimulationRules | None = None
) -> Scenario:
    """Return the jobs of a specification on ``spec.nodes`` nodes of 8 GPUs; a worker is one node; no prices.

    ``options`` are the rules of the simulation, e.g. one of ``VARIANTS``; without them nothing goes wrong and changes
    of width cost nothing.
    """
    plain_spec = plain(spec)
    return Scenario(
        workload=draw(plain_spec, seed),
        cluster=_nodes(spec.nodes),
        options=options or SimulationRules(),
        speed=speed_of_modelarts(spec),
        seed=seed,
        name=name or "Elastic training",
        data_kind="generated",
        generator=plain_spec,
        assumptions=assumptions_of(spec),
    )


def sample_elastic() -> Scenario:
    """Return the bundled sample: the 447 long jobs, arriving twice as densely, on 110 nodes."""
    spec = ModelArtsSpec(nodes=110, only_long=True, load_scale=2)
    return modelarts_scenario(spec, 1, f"Elastic training, {spec.nodes} nodes").replace(data_kind="example")


def assumptions_of(spec: ModelArtsSpec) -> tuple[str, ...]:
    """Return what a drawn trace takes for granted, in words."""
    shares = np.array(spec.requested) / sum(spec.requested)
    asked = [f"{share:.0%} for {2**power}" for power, share in enumerate(shares) if share > 0]
    everyone = f"every job asks for {2 ** int(np.argmax(shares))}"
    return (
        f"synthetic trace: of {TRACE_JOBS:,} jobs {LONG_JOBS} long, means and time span as published, the rest assumed",
        *(["jobs of less than 5 minutes left out"] if spec.only_long else []),
        "arrivals: Poisson, scaled to the published time span"
        + ("" if spec.load_scale == 1 else f", {spec.load_scale:g} times as dense"),
        f"run times of long jobs: 5 minutes and a lognormal tail, sigma {spec.sigma:g}",
        f"nodes asked for: {everyone if len(asked) == 1 else ', '.join(asked)}",
        f"widths: powers of two from {spec.min_nodes} to {spec.max_nodes} nodes",
        _LAW,
    )


def on_whole_nodes(scenario: Scenario, nodes: int | None = None, most_nodes: int = MOST_NODES) -> Scenario:
    """Return the scenario with jobs on whole nodes of 8 GPUs, from 1 to ``most_nodes`` of them, under the study's law.

    A job of g GPUs asks for ceil(g / 8) nodes, rounded up to a power of two, a CPU job for one; it runs there as long
    as it does now with what it asks for, and may always have the nodes it asks for. CPUs, memory and parameter servers
    of jobs, time tables and the generator are dropped. ``nodes`` is the size of the cluster; without it the cluster
    stays if all its nodes have 8 GPUs, else it becomes the default cluster of the jobs.

    Raises
    ------
    InputError
        ``most_nodes`` is no power of two, ``nodes`` is below 1, or a job cannot run with what it asks for.
    """
    _check_sizes(nodes, most_nodes)
    jobs = scenario.workload
    asked = nodes_asked(scenario)
    changed = jobs.with_columns(
        work=requested_run_s(scenario),
        workers=asked,
        gpus_per_worker=np.full(len(jobs), float(NODE_GPUS)),
        min_workers=np.ones(len(jobs), np.int64),
        max_workers=np.maximum(asked, most_nodes),
        cpus_per_worker=None,
        mem_gib_per_worker=None,
        profile=None,
        **dict.fromkeys(column.name for column in GANG_COLUMNS),
    )
    cluster, about = _cluster_for(changed, scenario, nodes)
    fewer = int((jobs.gpus < asked * NODE_GPUS - 1e-9).sum())
    notes = [note for note in scenario.assumptions if not (is_speed_note(note) or is_cluster_note(note))]
    return scenario.replace(
        workload=changed,
        cluster=cluster,
        speed=SpeedSpec(kind="scaling", efficiency=EFFICIENCY),
        generator=None,
        assumptions=(
            *notes,
            *about,
            f"whole nodes of {NODE_GPUS} GPUs, a power of two of them; "
            f"{fewer:,} of {len(jobs):,} jobs ask for fewer GPUs",
            "run times as before, now on the nodes asked for",
            f"widths: powers of two from 1 to {most_nodes} nodes, or what a job asks for",
            _LAW,
        ),
    )


def _cluster_for(jobs: Workload, scenario: Scenario, nodes: int | None) -> tuple[Cluster, tuple[str, ...]]:
    """Return the cluster for jobs on whole nodes, and the assumptions about it."""
    if nodes is not None:
        return _nodes(nodes), ()
    if not scenario.cluster.free_slots and all(vm.gpus == NODE_GPUS for vm in scenario.cluster.vm_types):
        return scenario.cluster, cluster_notes(scenario.assumptions)
    cluster = default_cluster(jobs)
    return cluster, (describe_default(cluster),)


def nodes_asked(scenario: Scenario) -> Ints:
    """Return the nodes of 8 GPUs that each job asks for, rounded up to a power of two, shape (jobs,)."""
    nodes = np.maximum(np.ceil(scenario.workload.gpus / NODE_GPUS - 1e-9), 1).astype(np.int64)
    return np.array([1 << (int(count) - 1).bit_length() for count in nodes], dtype=np.int64)


def node_hours_of(scenario: Scenario) -> float:
    """Return what all jobs of a scenario on whole nodes ask for, in node-hours: their hours on one node each."""
    jobs = scenario.workload
    return float(node_hours(jobs.work, jobs.workers).sum())


def _nodes(count: int) -> Cluster:
    node = VmType(name=f"{NODE_GPUS}-GPU node", gpu_type=ANY_GPU, gpus=NODE_GPUS)
    return Cluster(pools=(Pool(vm=node, count=count),))


def _check_sizes(nodes: int | None, most_nodes: int) -> None:
    if most_nodes < 1 or most_nodes & (most_nodes - 1):
        raise InputError("most nodes of a job", f"must be a power of two, got {most_nodes}", "Take 1, 2, 4, 8, 16, ...")
    if nodes is not None and not 1 <= nodes <= LARGEST_POOL:
        raise InputError(
            "nodes of the cluster", f"must be from 1 to {LARGEST_POOL:,}, got {nodes}", "Change the number"
        )
