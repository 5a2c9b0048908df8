"""Made-up profiling rows of the study's applications, for a first look at the prediction; labelled generated."""

from __future__ import annotations

import numpy as np

from dlsched.domain.randomness import job_uniforms
from dlsched.speed.regression import Runs
from dlsched.speed.terms import BATCH, FEATURES, GFLOPS, GPUS, ITERATIONS
from dlsched.workload.profiles.gpu_types import gflops_of
from dlsched.workload.studies.gpu_as_a_service import APPLICATIONS, ServiceApplication

SEED = 1
NOISE = 0.05
GPU_TYPES = ("K80", "M60", "P100", "V100", "A100")
GPU_COUNTS = (1, 2, 4, 8)
BATCHES = (32, 64, 128)
ITERATION_COUNTS = (20_000, 60_000)
STEP_S = 0.4
"""Seconds of one step of BASE_BATCH samples on one K80."""
BASE_BATCH = 64
PER_STEP = 0.2
"""Share of a step that does not grow with the batch."""
USED_GFLOPS = 0.8
"""Applications use the GFLOPS of newer types less and less: time falls with GFLOPS to this power."""


def demo_runs(seed: int = SEED, noise: float = NOISE) -> Runs:
    """Return a full grid of runs: t = t1 ((1-p) + p/g) x ratio of the GPU type x effect of the batch x noise.

    Shares p and the ratio of M60 to K80 are the applications', the ratios of newer types follow from their GFLOPS;
    the noise is uniform with standard deviation ``noise``, keyed by seed and run.
    """
    rows = [
        (application, gpu_type, iterations, batch, gpus)
        for application in APPLICATIONS
        for gpu_type in GPU_TYPES
        for iterations in ITERATION_COUNTS
        for batch in BATCHES
        for gpus in GPU_COUNTS
    ]
    keys = [f"{row[0].name}/{row[1]}/{row[2]}/{row[3]}/{row[4]}" for row in rows]
    uniforms = job_uniforms(seed, "workload", keys)[:, 0]
    factor = 1 + noise * np.sqrt(12) * (uniforms - 0.5)
    features = np.full((len(rows), len(FEATURES)), np.nan)
    features[:, [ITERATIONS, BATCH, GPUS]] = [(row[2], row[3], row[4]) for row in rows]
    features[:, GFLOPS] = [_gflops(row[1]) for row in rows]
    return Runs(
        network=np.array([row[0].name for row in rows], dtype=object),
        gpu_type=np.array([row[1] for row in rows], dtype=object),
        features=features,
        seconds=np.array([_seconds(*row) for row in rows]) * factor,
    )


def _seconds(application: ServiceApplication, gpu_type: str, iterations: int, batch: int, gpus: int) -> float:
    of_batch = PER_STEP + (1 - PER_STEP) * batch / BASE_BATCH
    return iterations * STEP_S * of_batch * type_ratio(application, gpu_type) * application.time_share(gpus)


def type_ratio(application: ServiceApplication, gpu_type: str) -> float:
    """Return the time on a GPU type over the time on a K80."""
    if gpu_type == "M60":
        return application.m60_ratio
    return float((_gflops("K80") / _gflops(gpu_type)) ** USED_GFLOPS)


def _gflops(gpu_type: str) -> float:
    gflops = gflops_of(gpu_type)
    assert gflops is not None, "the demo's GPU types are in the bundled table"
    return gflops
