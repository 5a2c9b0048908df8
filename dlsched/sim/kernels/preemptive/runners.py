"""Who runs, in the order of keys that change with time, compiled."""

from __future__ import annotations

import numpy as np

from dlsched.domain.workload import Floats, Ints
from dlsched.sim.kernels.compiled import compiled, inlined
from dlsched.sim.kernels.preemptive.heap import goes_before
from dlsched.sim.kernels.preemptive.tables import Key, Run
from dlsched.sim.kernels.tables import Table

TICKS = 1e6
EARLY_S = 1e-6
_REMAINING, _ATTAINED, _QUEUE = int(Key.REMAINING), int(Key.ATTAINED), int(Key.QUEUE)


@inlined
def queue_number(held_gpu_s: float, gpus: float, bounds_gpu_s: Floats) -> int:
    """Return the queue by thresholds, 0 = first; the last bound is infinity."""
    number = 0
    while held_gpu_s + gpus * EARLY_S >= bounds_gpu_s[number]:
        number += 1
    return number


@inlined
def key_of(
    rule: int,
    progress: float,
    rate: float,
    believed: float,
    fixed: float,
    bounds_gpu_s: Floats,
    ranks: Ints,
    width: int,
) -> float:
    """Return what a job is sorted by that has come so far, in work or in GPU-seconds."""
    key = fixed
    if rule == _REMAINING:
        key = np.rint(max(0.0, believed - progress) * TICKS)
    elif rule == _ATTAINED:
        key = np.rint(progress * TICKS)
    elif rule == _QUEUE:
        key = float(ranks[width, queue_number(progress, rate, bounds_gpu_s)])
    return key


@compiled
def put_in_order(
    runners: Table, first: int, count: int, now: float, ended_s: float, rule: int, bounds_gpu_s: Floats, ranks: Ints
) -> int:
    """Sort the runners of a queue by their keys now, without those that ended by ``ended_s``; return how many."""
    spare = len(runners) - 1
    past = first
    for k in range(first, first + count):
        runner = runners[k]
        if runner.row < 0 or runner.finish_s <= ended_s:
            continue
        progress = runner.before + runner.rate * max(0.0, now - runner.since_s)
        runner.key = key = key_of(
            rule, progress, runner.rate, runner.believed, runner.key, bounds_gpu_s, ranks, runner.width
        )
        row = runner.row
        if past < k:
            runners[past] = runner
        place = past
        while place > first and goes_before(key, row, runners[place - 1].key, runners[place - 1].row):
            place -= 1
        if place < past:
            runners[spare] = runners[past]
            for other in range(past, place, -1):
                runners[other] = runners[other - 1]
            runners[place] = runners[spare]
        past += 1
    return past - first


@compiled
def next_crossing_s(run: Run, now: float) -> float:
    """Return when the first running job reaches a threshold that sets it back; infinity = never."""
    first = np.inf
    for queue in range(len(run.queues)):
        begin = run.queues[queue].first_runner
        for k in range(begin, begin + run.queues[queue].num_runners):
            runner = run.runners[k]
            if runner.row >= 0 and runner.finish_s > run.clock[2] and runner.rate > 0:
                held = runner.before + runner.rate * (now - runner.since_s)
                bound = run.worse_gpu_s[runner.width, queue_number(held, runner.rate, run.bounds_gpu_s)]
                first = min(first, now + (bound - held) / runner.rate)
    return first
