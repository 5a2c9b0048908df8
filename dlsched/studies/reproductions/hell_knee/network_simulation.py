"""What the throughput models are judged against where no measurement is published: the closed network, simulated."""

from __future__ import annotations

import numpy as np

from dlsched.metrics.stats.intervals import Interval, mean_interval
from dlsched.speed.queueing import StepTimes

BATCHES, WARM_UP = 20, 2


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
        Mini-batches of each of ``BATCHES`` batches; ``WARM_UP`` more batches before them are left out.
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
