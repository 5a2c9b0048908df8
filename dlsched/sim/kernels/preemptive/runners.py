"""Who runs, in the order of keys that change with time, compiled."""

from __future__ import annotations

import numpy as np

from dlsched.domain.workload import Floats, Ints
from dlsched.sim.kernels.compiled import compiled, inlined
from dlsched.sim.kernels.preemptive.heap import goes_before
from dlsched.sim.kernels.preemptive.lanes import has
from dlsched.sim.kernels.preemptive.tables import Key, Run
from dlsched.sim.kernels.tables import Table

TICKS = 1e6
EARLY_S = 1e-6
_REMAINING, _ATTAINED, _QUEUE = int(Key.REMAINING), int(Key.ATTAINED), int(Key.QUEUE)


@inlined
def queue_number(held_gpu_s: float, gpus: float, bounds_gpu_s: Floats, least: int) -> int:
    """Return the queue by thresholds, 0 = first, no lower than ``least``; the last bound is infinity."""
    number = least
    while held_gpu_s + gpus * EARLY_S >= bounds_gpu_s[number]:
        number += 1
    return number


@inlined
def key_of(rule: int, progress: float, believed: float, fixed: float, rank: int) -> float:
    """Return what a job is sorted by that has come so far, in work or in GPU-seconds; ``rank`` is that of its queue."""
    key = fixed
    if rule == _REMAINING:
        key = np.rint(max(0.0, believed - progress) * TICKS)
    elif rule == _ATTAINED:
        key = np.rint(progress * TICKS)
    elif rule == _QUEUE:
        key = float(rank)
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
        runner.queue = queue_number(progress, runner.rate, bounds_gpu_s, runner.queue)
        rank = ranks[runner.width, runner.queue]
        runner.key = key = key_of(rule, progress, runner.believed, runner.key, rank)
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
def next_setback_s(run: Run, now: float, before_s: float) -> float:
    """Return when the first running job falls behind its rank, and to one as low as some waiting job's or lower.

    Infinity = not before ``before_s``. Till then who waits stays behind the same jobs.
    """
    first, ranks, bounds_gpu_s = before_s, run.ranks, run.bounds_gpu_s
    best_waiting = np.inf
    for kind in range(len(run.kinds)):
        if run.kinds[kind].num_waiting > 0 and has(run.lanes, run.sorted, run.heap, run.jobs, kind, 0):
            best_waiting = min(best_waiting, run.sorted[run.lanes[kind].first].key)
    for queue in range(len(run.queues)):
        begin = run.queues[queue].first_runner
        for k in range(begin, begin + run.queues[queue].num_runners):
            runner = run.runners[k]
            if runner.row >= 0 and runner.finish_s > run.clock[2] and runner.rate > 0:
                held = runner.before + runner.rate * (now - runner.since_s)
                runner.queue = number = queue_number(held, runner.rate, bounds_gpu_s, runner.queue)
                behind = max(best_waiting, ranks[runner.width, number] + 1)
                at_s = now + (bounds_gpu_s[number] - held) / runner.rate
                while at_s < first:
                    number += 1
                    if ranks[runner.width, number] >= behind:
                        first = at_s
                    at_s = now + (bounds_gpu_s[number] - held) / runner.rate
    return first if first < before_s else np.inf
