"""Numbers of jobs drawn evenly from published ranges."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dlsched.domain.randomness import job_uniforms
from dlsched.domain.workload import Floats

AMOUNTS: Mapping[str, tuple[int, int]] = {"gpus": (0, 4), "cpus": (1, 10), "mem_gib": (2, 32), "disk_gib": (5, 10)}
"""What a worker or a parameter server holds, both ends included, in the SMD and PD-ORS studies; a server no GPU."""


class Ranges:
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
