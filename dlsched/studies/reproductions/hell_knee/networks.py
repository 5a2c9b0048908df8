"""The networks of the HELL/KNEE study's measurements: what is published of them, and what we assume.

Only the four times of the 8 MB model are published. The rest is scaled from them by model size where it is traffic,
or assumed; what is assumed goes into every answer that rests on it. Where no measurement is published, the throughput
models are judged against a simulation of the closed network.
"""

from __future__ import annotations

import numpy as np

from dlsched.metrics.stats.intervals import Interval, mean_interval
from dlsched.speed.queueing import StepTimes
from dlsched.studies.reproductions.reproduction import Paper

PAPER = Paper(
    "hell-knee",
    "HELL/KNEE",
    "Lin et al., A model-based approach to streamlining distributed training for asynchronous SGD, MASCOTS 2018",
)

EIGHT_MB = StepTimes(worker_s=0.029, uplink_s=0.072, server_s=0.018, downlink_s=0.072)
"""Measured by the study with one worker (Section III-B)."""
LINK_S_PER_MB = EIGHT_MB.uplink_s / 8
SERVER_S_PER_MB = EIGHT_MB.server_s / 8
WORKER_S_PER_EXAMPLE = 0.04
"""Assumed for the 16 MB model: the study says only that its worker takes longer than its traffic."""
WORKER_OF_LINK = 0.5
"""Assumed for InceptionV3 on CPUs: the study says only that its traffic takes much longer than its worker."""
ASSUMED_CPU = (
    "links 9 ms and server 2.25 ms per MB, as measured for 8 MB",
    "worker of the 16 MB model 40 ms per example",
    "worker of InceptionV3 half as long as a link",
)

K80_EXAMPLES_PER_S = {"InceptionV3": 29.3, "ResNet-152": 20.0, "VGG16": 35.4}
"""Published with TensorFlow 1.x for one K80 of the same cloud, batches of 32."""
SIZE_MB = {"InceptionV3": 100, "ResNet-152": 232, "VGG16": 528}
LINK_GBIT_PER_S = {"InceptionV3": 1, "ResNet-152": 3, "VGG16": 5}
CLOUD_BATCH = 32
ASSUMED_CLOUD = (
    "links: model size over the bandwidth set",
    "workers: the examples per second TensorFlow's makers published for one K80, batches of 32",
    "servers take no time beside the links, which the study found saturated",
)

BATCHES, WARM_UP = 20, 2
"""Batches of a simulation that count, and those before them that do not."""


def cpu_networks() -> dict[str, StepTimes]:
    """Return the networks of Fig. 10 and Table II."""
    small = {f"3 CONV layers (batchsize={batch})": _by_size(16, WORKER_S_PER_EXAMPLE * batch) for batch in (8, 16, 32)}
    return small | {"InceptionV3": _by_size(100, WORKER_OF_LINK * LINK_S_PER_MB * 100)}


def cloud_networks() -> dict[str, StepTimes]:
    """Return the networks of Fig. 15."""
    networks = {}
    for name, size_mb in SIZE_MB.items():
        link_s = size_mb * 8e6 / (LINK_GBIT_PER_S[name] * 1e9)
        worker_s = CLOUD_BATCH / K80_EXAMPLES_PER_S[name]
        networks[name] = StepTimes(worker_s=worker_s, uplink_s=link_s, server_s=0.0, downlink_s=link_s)
    return networks


def _by_size(size_mb: float, worker_s: float) -> StepTimes:
    link_s = LINK_S_PER_MB * size_mb
    return StepTimes(worker_s=worker_s, uplink_s=link_s, server_s=SERVER_S_PER_MB * size_mb, downlink_s=link_s)


def simulated_throughput(times: StepTimes, workers: int, steps: int, seed: int = 0) -> Interval:
    """Return mini-batches per second with links that send one mini-batch after the other, always equally long.

    Worker and link times are fixed, the server's exponential, as Eq. (2) has it; all queues are first come first
    served. Mini-batches then never overtake: number n leaves a queue at max(its arrival, end of n - 1) + its time, and
    comes to the uplink a worker's time after number n - workers came back.

    Parameters
    ----------
    times
        Mean seconds of a mini-batch at the four stations.
    workers
        Mini-batches under way.
    steps
        Mini-batches of each of ``BATCHES`` batches; ``WARM_UP`` more before them are left out.
    seed
        Of the times at the server.
    """
    total = (BATCHES + WARM_UP) * steps
    servings_s = times.server_s * np.random.default_rng(seed).standard_exponential(total)
    back_s = [0.0] * workers  # when each worker has its parameters
    sent = served = back = 0.0
    done_s = np.empty(total)
    for number, serving_s in enumerate(servings_s.tolist()):
        worker = number % workers
        sent = max(back_s[worker] + times.worker_s, sent) + times.uplink_s
        served = max(sent, served) + serving_s
        back = max(served, back) + times.downlink_s
        back_s[worker] = done_s[number] = back
    ends_s = done_s[steps * WARM_UP - 1 :: steps]
    return mean_interval(steps / np.diff(ends_s))
