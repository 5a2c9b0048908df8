"""A made-up file of measured throughput, for a first look at the fit; labelled generated."""

from __future__ import annotations

from dlsched.domain.randomness import job_uniforms
from dlsched.speed.queueing import Network, StepTimes, throughput

SEED = 1
NOISE = 0.03
WORKERS = 10
SERIES: tuple[tuple[str, Network, StepTimes], ...] = (
    ("small batch", "hybrid", StepTimes(worker_s=0.029, uplink_s=0.072, server_s=0.018, downlink_s=0.072)),
    ("large batch", "hybrid", StepTimes(worker_s=0.232, uplink_s=0.072, server_s=0.018, downlink_s=0.072)),
)


def demo_csv(seed: int = SEED, noise: float = NOISE) -> bytes:
    """Return measurements as a file: model, workers, throughput in mini-batches/s of the hybrid network x noise.

    The noise is uniform with standard deviation ``noise``, keyed by seed and point.
    """
    lines = ["model,workers,throughput"]
    for name, network, times in SERIES:
        rates = throughput(times, WORKERS, network)
        uniforms = job_uniforms(seed, "workload", [f"{name}/{place}" for place in range(WORKERS)])[:, 0]
        measured = rates * (1 + noise * 12**0.5 * (uniforms - 0.5))
        lines += [f"{name},{workers},{rate:.4f}" for workers, rate in enumerate(measured.tolist(), start=1)]
    return ("\n".join(lines) + "\n").encode()
