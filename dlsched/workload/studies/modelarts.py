"""The ModelArts study: its synthetic trace on 8-GPU nodes, and the jobs of any scenario on whole such nodes.

The trace itself is private. Published (Section 5.1): 1,252 jobs within 49 h 41 min 38 s; 447 of them train for 5
minutes or more, 232.6 minutes on average; all jobs 84.3 minutes on average. Every other property of the jobs is an
assumption of ours.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from dlsched.domain.assumptions import Assumption, stated, with_other_jobs
from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.columns import GANG_COLUMNS
from dlsched.domain.errors import InputError
from dlsched.domain.model import FrozenModel
from dlsched.domain.randomness import job_uniforms, stream
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.units import HOUR_S, MINUTE_S
from dlsched.domain.workload import Floats, Ints, Workload
from dlsched.workload.defaults import ANY_GPU, LARGEST_POOL, default_cluster, describe_default
from dlsched.workload.generators.drawing import MILLISECOND_S, MOST_JOBS, drawn, made_from, pick, whole_ms
from dlsched.workload.generators.durations import LognormalByMean
from dlsched.workload.speed_curves import requested_run_s

NODE_GPUS = 8
EFFICIENCY = 0.8
"""Twice the nodes are 2 x 0.8 times as fast (Fig. 6)."""
TRACE_JOBS, LONG_JOBS = 1252, 447
SPAN_S = 178_898.0
"""From the first submission to the last: 2021-01-24 14:25:41 to 2021-01-26 16:07:19."""
LONG_S = 300.0
"""Jobs that train this long or longer are the long ones, which the study takes as its baseline."""
LONG_MEAN_S, ALL_MEAN_S = MINUTE_S * 232.6, MINUTE_S * 84.3
SHORT_JOBS = TRACE_JOBS - LONG_JOBS
SHORT_MEAN_S = (TRACE_JOBS * ALL_MEAN_S - LONG_JOBS * LONG_MEAN_S) / SHORT_JOBS
"""Follows from the published means: 117 s."""
SHORTEST_S = 1.0
_SHORT_POWER = (LONG_S - SHORTEST_S) / (SHORT_MEAN_S - SHORTEST_S) - 1
_MOST_S = 1e9  # the mean of a lognormal cut here is its mean to 7 digits at the largest sigma
_GAPS = TRACE_JOBS - 1
_BELOW_ONE = 1 - 2.0**-53  # rounding may reach 1, where the lognormal is infinite
_RANK, _WITHIN, _NODES = range(3)  # which of a job's uniforms decides what; new draws go to the end


def _power_of_two(nodes: int) -> int:
    if nodes & (nodes - 1):
        raise ValueError("must be a power of two")
    return nodes


_Share = Annotated[float, Field(ge=0, le=1e9)]
Nodes = Annotated[int, Field(ge=1, le=1024), AfterValidator(_power_of_two)]


class ModelArtsSpec(FrozenModel):
    """Jobs for ``nodes`` nodes of 8 GPUs; a job runs on a power of two of them, from its minimum to its maximum."""

    kind: Literal["modelarts"] = "modelarts"
    nodes: int = Field(
        70, ge=1, le=100_000, description="Nodes in the cluster, with 8 GPUs each; the study uses 70–190."
    )
    jobs: int = Field(
        TRACE_JOBS, ge=1, le=MOST_JOBS, description="Jobs in the trace; 447 of every 1,252 run at least 5 minutes."
    )
    only_long: bool = Field(
        False,
        title="Jobs kept",
        description="All jobs, or only those that train for at least 5 minutes, as in the study's base case.",
    )
    load_scale: float = Field(
        1.0,
        ge=0.001,
        le=1000,
        description="Arrival rate as a multiple of the published one; the jobs stay the same.",
        json_schema_extra={"unit": "x"},
    )
    sigma: float = Field(
        1.5,
        ge=0,
        le=2.5,
        description="Tail of the long jobs: standard deviation of the logarithm of the time beyond 5 minutes "
        "(assumed).",
    )
    requested: tuple[_Share, ...] = Field(
        (1.0,),
        min_length=1,
        max_length=11,
        description="Shares of the jobs that request 1, 2, 4, ... nodes (assumed, as the study does not say).",
    )
    min_nodes: Nodes = Field(1, description="Fewest nodes per job.")
    max_nodes: Nodes = Field(
        16, title="Most nodes per job", description="Jobs may run on 1, 2, 4, ... nodes up to this many."
    )

    @model_validator(mode="after")
    def _widths_agree(self) -> Self:
        if not sum(self.requested) > 0:
            raise ValueError("requested: at least one share must be above 0")
        requested = [2**power for power, share in enumerate(self.requested) if share > 0]
        if self.min_nodes > self.max_nodes:
            raise ValueError(f"min_nodes {self.min_nodes} must be at most max_nodes {self.max_nodes}")
        if requested[0] < self.min_nodes or requested[-1] > self.max_nodes:
            wrong = requested[0] if requested[0] < self.min_nodes else requested[-1]
            raise ValueError(
                f"requested: jobs request {wrong} nodes, but are limited to {self.min_nodes} to {self.max_nodes}: "
                "change the shares or the limits"
            )
        if requested[-1] > self.nodes:
            raise ValueError(f"requested: jobs request {requested[-1]} nodes, but the cluster has {self.nodes}")
        return self


def draw_modelarts(spec: ModelArtsSpec, seed: int) -> Workload:
    """Return the jobs at a seed; the first of the trace comes at 0 s.

    Conditioned on what is published: of every 1,252 jobs in a row, counted from the first, exactly 447 are long and
    run times are spread evenly over the distribution (one in each of 1,252 equally likely slices); every 1,251 gaps in
    a row are exponential, scaled to add up to the published span over ``load_scale``. Means of run times still vary
    with the seed, mainly by the longest job. A job depends on (seed, its number) only. ``work`` is its run time on the
    nodes it asks for, seconds.

    Raises
    ------
    InputError
        With ``only_long``, when none of the jobs is long.
    """
    in_blocks = math.ceil(spec.jobs / TRACE_JOBS) * TRACE_JOBS
    uniforms = job_uniforms(seed, "workload", _job_ids(in_blocks), _NODES + 1)
    run_s = whole_ms(_run_s(uniforms, spec.sigma)[: spec.jobs])
    rows = np.flatnonzero(run_s >= LONG_S) if spec.only_long else np.arange(spec.jobs)
    if not len(rows):
        why = f"none of the {spec.jobs} jobs at seed {seed} trains for 5 minutes"
        raise InputError("generator, only_long", why, f"Draw more jobs: of {TRACE_JOBS}, {LONG_JOBS} do")
    requested = 2 ** pick(uniforms[: spec.jobs, _NODES], np.array(spec.requested))
    columns = {
        "job_id": np.array(_job_ids(spec.jobs), dtype=object)[rows],
        "submit_s": _submissions_s(spec, seed)[rows],
        "work": run_s[rows],
        "workers": requested[rows],
        "gpus_per_worker": np.full(len(rows), float(NODE_GPUS)),
        "min_workers": np.full(len(rows), spec.min_nodes),
        "max_workers": np.full(len(rows), spec.max_nodes),
    }
    return made_from(columns, seed)


def speed_of_modelarts(spec: ModelArtsSpec) -> SpeedSpec:
    """Return the scaling law of Fig. 6: rate(k) = k x 0.8^log2(k), relative to the nodes a job asks for."""
    return SpeedSpec(kind="scaling", efficiency=EFFICIENCY)


def node_hours(run_s: Floats, nodes: Ints) -> Floats:
    """Return what jobs ask for in the study's unit: D hours on g nodes are D x g x 0.8^log2(g) node-hours.

    That is how many hours each would take on one node; shapes (jobs,).
    """
    hours: Floats = run_s / HOUR_S * nodes * EFFICIENCY ** np.log2(nodes)
    return hours


def _job_ids(jobs: int) -> list[str]:
    return [f"j{number:04d}" for number in range(1, jobs + 1)]


def _run_s(uniforms: Floats, sigma: float) -> Floats:
    """Return run times, seconds, shape (blocks x 1,252,): each job has a slice of its own in its block.

    Short ones: 1 s + 299 s x U^a, a such that the mean is the published one. Long ones: 5 minutes + lognormal.
    """
    drawn = uniforms[:, _RANK].reshape(-1, TRACE_JOBS)
    rank = drawn.argsort(axis=1, kind="stable").ravel()  # a random permutation of the slices in each block
    within = uniforms[:, _WITHIN]
    run_s = np.empty(len(rank))
    is_short = rank < SHORT_JOBS
    short = (rank[is_short] + within[is_short]) / SHORT_JOBS
    # just below 5 minutes, or rounding to milliseconds would make a long job of a short one
    run_s[is_short] = np.minimum(SHORTEST_S + (LONG_S - SHORTEST_S) * short**_SHORT_POWER, LONG_S - MILLISECOND_S)
    long = (rank[~is_short] - SHORT_JOBS + within[~is_short]) / LONG_JOBS
    tail = LognormalByMean(uncut_mean_s=LONG_MEAN_S - LONG_S, sigma=sigma, longest_s=_MOST_S)
    run_s[~is_short] = LONG_S + tail.quantile_s(np.minimum(long, _BELOW_ONE))
    return run_s


def _submissions_s(spec: ModelArtsSpec, seed: int) -> Floats:
    """Return when jobs come, seconds, shape (jobs,)."""
    blocks = math.ceil((spec.jobs - 1) / _GAPS)
    gaps = stream(seed, "workload").standard_exponential((blocks, _GAPS))
    gaps_s = gaps / gaps.sum(axis=1, keepdims=True) * (SPAN_S / spec.load_scale)
    return whole_ms(np.append(0.0, np.cumsum(gaps_s)))[: spec.jobs]


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
_LAW = Assumption(
    kind="speed-curve", text=f"twice the nodes give {2 * EFFICIENCY:g} times the speed (ModelArts study, Fig. 6)"
)


def modelarts_scenario(
    spec: ModelArtsSpec, seed: int = 0, name: str = "Elastic training", options: SimulationRules | None = None
) -> Scenario:
    """Return the jobs of a specification on ``spec.nodes`` nodes of 8 GPUs; a worker is one node; no prices.

    ``options`` are the rules of the simulation, e.g. one of ``VARIANTS``; without them nothing goes wrong and changes
    of width cost nothing.
    """
    jobs, speed = draw_modelarts(spec, seed), speed_of_modelarts(spec)
    return drawn(spec, seed, jobs, _nodes(spec.nodes), name, assumptions_of(spec), speed=speed, options=options)


def sample_elastic() -> Scenario:
    """Return the bundled sample: the 447 long jobs, arriving twice as densely, on 110 nodes."""
    spec = ModelArtsSpec(nodes=110, only_long=True, load_scale=2)
    return modelarts_scenario(spec, 1, f"Elastic training, {spec.nodes} nodes").replace(data_kind="example")


def assumptions_of(spec: ModelArtsSpec) -> tuple[Assumption, ...]:
    """Return the assumptions of a drawn trace."""
    shares = np.array(spec.requested) / sum(spec.requested)
    sizes = [f"{share:.0%} for {2**power}" for power, share in enumerate(shares) if share > 0]
    everyone = f"every job requests {2 ** int(np.argmax(shares))}"
    return stated(
        f"synthetic trace: {LONG_JOBS} of {TRACE_JOBS:,} jobs are long; means and time span as published, the rest "
        "assumed",
        *(["jobs shorter than 5 minutes left out"] if spec.only_long else []),
        "arrivals: Poisson, scaled to the published time span"
        + ("" if spec.load_scale == 1 else f", {spec.load_scale:g} times as dense"),
        f"run times of long jobs: 5 minutes and a lognormal tail, sigma {spec.sigma:g}",
        f"nodes requested: {everyone if len(sizes) == 1 else ', '.join(sizes)}",
        f"nodes per job: powers of two from {spec.min_nodes} to {spec.max_nodes}",
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
    nodes_wanted = nodes_asked(scenario)
    changed = jobs.with_columns(
        work=requested_run_s(scenario),
        workers=nodes_wanted,
        gpus_per_worker=np.full(len(jobs), float(NODE_GPUS)),
        min_workers=np.ones(len(jobs), np.int64),
        max_workers=np.maximum(nodes_wanted, most_nodes),
        cpus_per_worker=None,
        mem_gib_per_worker=None,
        profile=None,
        **dict.fromkeys(column.name for column in GANG_COLUMNS),
    )
    cluster, about = _cluster_for(changed, scenario, nodes)
    fewer = int((jobs.gpus < nodes_wanted * NODE_GPUS - 1e-9).sum())
    notes = [one for one in scenario.assumptions if not (one.is_about_speed or one.is_about_cluster)]
    return scenario.replace(
        workload=changed,
        cluster=cluster,
        speed=SpeedSpec(kind="scaling", efficiency=EFFICIENCY),
        generator=None,
        assumptions=stated(
            *notes,
            *about,
            f"whole nodes of {NODE_GPUS} GPUs, a power of two of them; {fewer:,} of {len(jobs):,} jobs request fewer "
            "GPUs",
            "run times as before, now on the requested nodes",
            f"nodes per job: powers of two from 1 to {most_nodes}, or what a job requests",
            _LAW,
        ),
    )


def _cluster_for(jobs: Workload, scenario: Scenario, nodes: int | None) -> tuple[Cluster, tuple[Assumption, ...]]:
    """Return the cluster for jobs on whole nodes, and the assumptions about it."""
    if nodes is not None:
        return _nodes(nodes), ()
    if not scenario.cluster.free_slots and all(vm.gpus == NODE_GPUS for vm in scenario.cluster.vm_types):
        return scenario.cluster, with_other_jobs(scenario.assumptions)
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
        raise InputError("most nodes per job", f"must be a power of two, got {most_nodes}", "Use 1, 2, 4, 8, 16, ...")
    if nodes is not None and not 1 <= nodes <= LARGEST_POOL:
        raise InputError(
            "nodes of the cluster", f"must be from 1 to {LARGEST_POOL:,}, got {nodes}", "Change the number"
        )
