"""What the draws of all kinds of jobs share: one of several by weight, numbers in ranges, times in milliseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dlsched.domain.assumptions import Assumption, stated
from dlsched.domain.cluster import Cluster
from dlsched.domain.model import FrozenModel
from dlsched.domain.randomness import job_uniforms
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.workload import Floats, Ints, Workload

MOST_JOBS = 1_000_000
MILLISECOND_S = 0.001
AMOUNTS: Mapping[str, tuple[int, int]] = {"gpus": (0, 4), "cpus": (1, 10), "mem_gib": (2, 32), "disk_gib": (5, 10)}
"""What a worker or a parameter server holds, both ends included, in the SMD and PD-ORS studies; a server no GPU."""


def plain(spec: FrozenModel) -> dict[str, Any]:
    """Return a specification as plain data: lists, texts and numbers, empty fields left out."""
    return spec.model_dump(mode="json", exclude_none=True)


def drawn(
    spec: FrozenModel,
    seed: int,
    workload: Workload,
    cluster: Cluster,
    name: str,
    assumptions: Sequence[str | Assumption],
    *,
    speed: SpeedSpec | None = None,
    options: SimulationRules | None = None,
) -> Scenario:
    """Return drawn jobs on their cluster as a scenario whose other seeds draw other jobs of the same specification."""
    return Scenario(
        workload=workload,
        cluster=cluster,
        options=options or SimulationRules(),
        speed=speed or SpeedSpec(),
        seed=seed,
        name=name,
        data_kind="generated",
        generator=plain(spec),
        assumptions=stated(*assumptions),
    )


def made_from(columns: Mapping[str, Any], seed: int) -> Workload:
    """Return the workload of drawn columns; it says where it comes from."""
    return Workload.from_columns(columns, {"source": f"generated, seed {seed}"})


def whole_ms(times_s: Floats) -> Floats:
    """Return times rounded to milliseconds: exp and log may differ in the last bit between machines, times must not."""
    return np.round(times_s, 3)


def at_least_1_ms(times_s: Floats) -> Floats:
    """Return run times rounded to milliseconds, none of them 0."""
    return np.maximum(whole_ms(times_s), MILLISECOND_S)


def check_distinct(what: str, names: Sequence[str]) -> None:
    """Raise ValueError where two of ``names`` are alike; ``what`` they are names of, in the plural."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two {what} are called {twice[0]!r}")


def pick(uniforms: Floats, weights: Floats) -> Ints:
    """Return which weight each uniform falls on."""
    borders = np.cumsum(weights) / np.sum(weights)
    return np.searchsorted(borders[:-1], uniforms, side="right").astype(np.int64)


class JobUniforms:
    """Uniforms of all jobs and what is drawn from them, arrays of shape (jobs,); a job depends on (seed, its name).

    ``places``: which of a job's uniforms decides what, by name; ``count`` uniforms of each job in all.
    """

    def __init__(self, jobs: int, seed: int, places: Mapping[str, int], count: int) -> None:
        self.job_ids = [f"j{number:03d}" for number in range(1, jobs + 1)]
        self.uniforms = job_uniforms(seed, "workload", self.job_ids, count)
        self._places = places

    def uniform(self, name: str) -> Floats:
        """Return the uniforms that decide something."""
        return np.asarray(self.uniforms[:, self._places[name]])

    def between(self, name: str, low: float, high: float) -> Floats:
        """Return reals, even over the range."""
        return low + (high - low) * self.uniform(name)

    def whole(self, name: str, low: int, high: int) -> Floats:
        """Return whole numbers, even over the range, both ends included."""
        return np.asarray(np.floor(low + (high - low + 1) * self.uniform(name)))

    def amount(self, name: str) -> Floats:
        """Return what a worker or a server holds, by a name such as "worker_cpus"."""
        return self.whole(name, *AMOUNTS[name.split("_", 1)[1]])
