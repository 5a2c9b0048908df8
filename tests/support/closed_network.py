"""A small discrete-event simulation of the closed network of workers, links and one server."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dlsched.domain.workload import Floats
from dlsched.speed.queueing import StepTimes

Law = Callable[[float], float]
WORKER, SERVER = 0, 2


def simulated_throughput(
    times: Sequence[StepTimes],
    shared: Sequence[bool] = (True, False, True),
    exponential: Sequence[bool] = (False, False, True, False),
    *,
    batches: int = 30,
    steps: int = 600,
    seed: int = 0,
) -> Floats:
    """Return mini-batches per second in each of ``batches`` stretches of ``steps`` mini-batches, after two more.

    ``shared``: whether uplink, server and downlink serve all at once at equal shares, else one after the other.
    ``exponential``: whether the times at worker, uplink, server and downlink are drawn, else always the mean.
    """
    rng = np.random.default_rng(seed)
    means = [own.stations_s for own in times]
    together = (True, *shared)

    def drawn(task: int, station: int) -> float:
        mean = means[task][station]
        return float(rng.exponential(mean)) if exponential[station] else mean

    station = [WORKER] * len(times)
    left = [drawn(task, WORKER) for task in range(len(times))]
    present: list[list[int]] = [list(range(len(times))), [], [], []]  # in order of arrival
    clock, done, ends = 0.0, 0, [0.0]
    while len(ends) <= batches + 2:
        # speed of each task now: workers have one machine each, a link or server its share
        speed = {}
        for number, tasks in enumerate(present):
            served = tasks if together[number] else tasks[:1]
            speed.update(dict.fromkeys(served, 1.0 if number == WORKER else 1.0 / max(1, len(served))))
        first = min(speed, key=lambda task: left[task] / speed[task])
        step_s = left[first] / speed[first]
        clock += step_s
        for task, share in speed.items():
            left[task] -= share * step_s
        present[station[first]].remove(first)
        if station[first] == SERVER:
            done += 1
            if done % steps == 0:
                ends.append(clock)
        station[first] = (station[first] + 1) % 4
        left[first] = drawn(first, station[first])
        present[station[first]].append(first)
    return np.asarray(steps / np.diff(ends)[2:])
