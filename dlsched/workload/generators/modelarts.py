"""A synthetic trace with the statistics published of the ModelArts study (Section 5.1); the trace itself is private.

Published: 1,252 jobs within 49 h 41 min 38 s; 447 of them train for 5 minutes or more, 232.6 minutes in the mean; all
jobs 84.3 minutes in the mean. Every other property of the jobs is an assumption of ours.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from dlsched.domain.errors import InputError
from dlsched.domain.model import FrozenModel
from dlsched.domain.randomness import job_uniforms, stream
from dlsched.domain.scenario import SpeedSpec
from dlsched.domain.workload import Floats, Ints, Workload
from dlsched.workload.generators.durations import LognormalByMean
from dlsched.workload.generators.mix import MOST_JOBS, pick

NODE_GPUS = 8
EFFICIENCY = 0.8
"""Twice the nodes are 2 x 0.8 times as fast (Fig. 6)."""
TRACE_JOBS, LONG_JOBS = 1252, 447
SPAN_S = 178_898.0
"""From the first submission to the last: 2021-01-24 14:25:41 to 2021-01-26 16:07:19."""
LONG_S = 300.0
"""Jobs that train this long or longer are the long ones, which the study takes as its baseline."""
LONG_MEAN_S, ALL_MEAN_S = 60 * 232.6, 60 * 84.3
SHORT_JOBS = TRACE_JOBS - LONG_JOBS
SHORT_MEAN_S = (TRACE_JOBS * ALL_MEAN_S - LONG_JOBS * LONG_MEAN_S) / SHORT_JOBS
"""Follows from the published means: 117 s."""
SHORTEST_S = 1.0
_SHORT_POWER = (LONG_S - SHORTEST_S) / (SHORT_MEAN_S - SHORTEST_S) - 1
_MOST_S = 1e9  # the mean of a lognormal cut here is its mean to 7 digits at the largest sigma
_GAPS = TRACE_JOBS - 1
_BELOW_ONE = 1 - 2.0**-53  # rounding may reach 1, where the lognormal is infinite
_DECIMALS = 3  # milliseconds: exp and log may differ in the last bit between machines, times must not
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
    nodes: int = Field(70, ge=1, le=100_000, description="Nodes of the cluster, of 8 GPUs each; the study has 70–190.")
    jobs: int = Field(TRACE_JOBS, ge=1, le=MOST_JOBS, description="Jobs of the trace, short ones included.")
    only_long: bool = Field(
        False, description="Leave out jobs that train for less than 5 minutes, as the study's baseline does."
    )
    load_scale: float = Field(1.0, ge=0.001, le=1000, description="Arrivals this many times as dense as published.")
    sigma: float = Field(
        1.5,
        ge=0,
        le=2.5,
        description="Tail of the long jobs: deviation of the logarithm of what goes beyond 5 minutes (assumed).",
    )
    requested: tuple[_Share, ...] = Field(
        (1.0,),
        min_length=1,
        max_length=11,
        description="Shares of the jobs that ask for 1, 2, 4, ... nodes (assumed; the study does not say).",
    )
    min_nodes: Nodes = Field(1, description="Least nodes of a job.")
    max_nodes: Nodes = Field(16, description="Most nodes of a job.")

    @model_validator(mode="after")
    def _widths_agree(self) -> Self:
        if not sum(self.requested) > 0:
            raise ValueError("requested: at least one share must be above 0")
        asked = [2**power for power, share in enumerate(self.requested) if share > 0]
        if self.min_nodes > self.max_nodes:
            raise ValueError(f"min_nodes {self.min_nodes} must be at most max_nodes {self.max_nodes}")
        if asked[0] < self.min_nodes or asked[-1] > self.max_nodes:
            wrong = asked[0] if asked[0] < self.min_nodes else asked[-1]
            raise ValueError(
                f"requested: jobs ask for {wrong} nodes, widths are {self.min_nodes} to {self.max_nodes}: change the "
                "shares or the widths"
            )
        if asked[-1] > self.nodes:
            raise ValueError(f"requested: jobs ask for {asked[-1]} nodes, the cluster has {self.nodes}")
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
    uniforms = _uniforms(spec.jobs, seed)
    run_s = np.round(_run_s(uniforms, spec.sigma)[: spec.jobs], _DECIMALS)
    kept = np.flatnonzero(run_s >= LONG_S) if spec.only_long else np.arange(spec.jobs)
    if not len(kept):
        why = f"none of the {spec.jobs} jobs at seed {seed} trains for 5 minutes"
        raise InputError("generator, only_long", why, f"Draw more jobs: of {TRACE_JOBS}, {LONG_JOBS} do")
    asked = 2 ** pick(uniforms[: spec.jobs, _NODES], np.array(spec.requested))
    columns = {
        "job_id": np.array(_job_ids(spec.jobs), dtype=object)[kept],
        "submit_s": _submissions_s(spec, seed)[kept],
        "work": run_s[kept],
        "workers": asked[kept],
        "gpus_per_worker": np.full(len(kept), float(NODE_GPUS)),
        "min_workers": np.full(len(kept), spec.min_nodes),
        "max_workers": np.full(len(kept), spec.max_nodes),
    }
    return Workload.from_columns(columns, {"source": f"generated, seed {seed}"})


def speed_of_modelarts(spec: ModelArtsSpec) -> SpeedSpec:
    """Return the scaling law of Fig. 6: rate(k) = k x 0.8^log2(k), relative to the nodes a job asks for."""
    return SpeedSpec(kind="scaling", efficiency=EFFICIENCY)


def node_hours(run_s: Floats, nodes: Ints) -> Floats:
    """Return what jobs ask for in the study's unit: D hours on g nodes are D x g x 0.8^log2(g) node-hours.

    That is how many hours each would take on one node; shapes (jobs,).
    """
    hours: Floats = run_s / 3600 * nodes * EFFICIENCY ** np.log2(nodes)
    return hours


def _job_ids(jobs: int) -> list[str]:
    return [f"j{number:04d}" for number in range(1, jobs + 1)]


def _uniforms(jobs: int, seed: int) -> Floats:
    """Return the uniforms of at least ``jobs`` jobs, whole blocks of 1,252, shape (blocks x 1,252, 3)."""
    whole = math.ceil(jobs / TRACE_JOBS) * TRACE_JOBS
    return job_uniforms(seed, "workload", _job_ids(whole), _NODES + 1)


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
    run_s[is_short] = np.minimum(SHORTEST_S + (LONG_S - SHORTEST_S) * short**_SHORT_POWER, LONG_S - 10.0**-_DECIMALS)
    long = (rank[~is_short] - SHORT_JOBS + within[~is_short]) / LONG_JOBS
    tail = LognormalByMean(uncut_mean_s=LONG_MEAN_S - LONG_S, sigma=sigma, longest_s=_MOST_S)
    run_s[~is_short] = LONG_S + tail.quantile_s(np.minimum(long, _BELOW_ONE))
    return run_s


def _submissions_s(spec: ModelArtsSpec, seed: int) -> Floats:
    """Return when jobs come, seconds, shape (jobs,)."""
    blocks = math.ceil((spec.jobs - 1) / _GAPS)
    gaps = stream(seed, "workload").standard_exponential((blocks, _GAPS))
    gaps_s = gaps / gaps.sum(axis=1, keepdims=True) * (SPAN_S / spec.load_scale)
    return np.round(np.append(0.0, np.cumsum(gaps_s)), _DECIMALS)[: spec.jobs]
