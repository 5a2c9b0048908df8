"""What jobs need at least, whoever schedules them: the time alone, and their part of one fluid machine.

All bounds on service rest on two relaxations, whose proofs are in decision 023.

- Alone: no job ends sooner than its submission + its work at the fastest rate any legal width on any machine has.
- One fluid machine: a job's area is the least GPU-seconds with which any legal width on any machine does its work, each
  GPU weighed by the speed of its machine. All GPUs together hand out at most so much weight a second. One machine of
  that speed, which may be cut at will among the jobs, can do whatever the cluster does.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from dlsched.domain.cluster import Cluster
from dlsched.domain.scenario import Options
from dlsched.domain.workload import Floats, Ints
from dlsched.metrics.books import Books
from dlsched.speed.parameter_server import ParameterServer
from dlsched.speed.table import Tabled


@dataclass(frozen=True, eq=False)
class Needs:
    """``alone_s`` (jobs,) the least run time; ``fluid_s`` (jobs,) the least time if the job had all GPUs to itself and
    used them without loss. Infinite where a job can never run.
    """

    alone_s: Floats
    fluid_s: Floats


def needs_of(books: Books) -> Needs:
    """Return the needs of all jobs for the work they really do; jobs without GPUs need nothing of the fluid machine."""
    cluster, jobs = books.scenario.cluster, books.jobs
    weight = _weights(cluster, books.scenario.options)
    per_work_s, per_work_gpu_s = _least_per_work(books, weight)
    capacity = _capacity(cluster, weight)
    uses_gpus = jobs.gpus_per_worker > 0
    fluid_s = np.zeros(len(jobs))
    if capacity > 0:
        np.divide(books.truth.work * per_work_gpu_s, capacity, out=fluid_s, where=uses_gpus)
    return Needs(books.truth.work * per_work_s, fluid_s)


def srpt_ends(submit_s: Floats, length_s: Floats) -> Floats:
    """Return when one machine that serves the shortest remaining job first completes its 1st, 2nd, ... job, (jobs,).

    For every k no other schedule of these jobs on the machine, however it stops and shares, completes k jobs sooner
    (Schrage, Operations Research 16, 1968). ``submit_s`` ascending. O(n log n).
    """
    ends: list[float] = []
    left: list[float] = []
    now_s = 0.0
    for at_s, job_s in zip(submit_s.tolist(), length_s.tolist(), strict=True):
        while left and now_s + left[0] <= at_s:
            now_s += heappop(left)
            ends.append(now_s)
        if left:
            left[0] -= at_s - now_s  # the least becomes less: the heap stays one
        now_s = at_s
        heappush(left, job_s)
    rest_s = now_s + np.cumsum(np.sort(left))
    return np.concatenate([ends, rest_s])


def earliest_ends(submit_s: Floats, alone_s: Floats, fluid_s: Floats) -> Floats:
    """Return times before which no schedule completes its 1st, 2nd, ... of these jobs, ascending, (jobs,).

    The k-th completion is neither before the k-th of the times at which jobs end alone, nor before the k-th of the
    fluid machine. ``submit_s`` ascending.
    """
    return np.maximum(np.sort(submit_s + alone_s), srpt_ends(submit_s, fluid_s))


def _weights(cluster: Cluster, options: Options) -> Floats:
    """Return what a GPU of each machine type counts on the fluid machine, (machine types,).

    While a delayed restart lasts, a job that grew goes on at its old rate, which it may have got from faster machines
    than it holds now; only if all GPUs count alike has it never less weight than that rate needs.
    """
    if options.restart_mode == "delayed" and options.restart_s > 0:
        return np.ones(len(cluster.vm_types))
    return np.array([vm.speed for vm in cluster.vm_types])


def _capacity(cluster: Cluster, weight: Floats) -> float:
    """Return the weight of all GPUs, as if every node were always up and free slots held the best machine."""
    gpus = np.array([vm.gpus for vm in cluster.vm_types]) * weight
    if cluster.free_slots:
        return float(cluster.slots * gpus.max())
    return float(gpus[cluster.nodes.vm].sum())


def _least_per_work(books: Books, weight: Floats) -> tuple[Floats, Floats]:
    """Return the least seconds and the least weighed GPU-seconds of a unit of work, each (jobs,)."""
    vm_types, jobs, speed = books.scenario.cluster.vm_types, books.jobs, books.speed
    if isinstance(speed, Tabled):
        return _by_table(speed, weight)
    machine = np.array([vm.speed for vm in vm_types])
    per_worker = jobs.gpus_per_worker
    if isinstance(speed, ParameterServer):
        time_s, worker_s = books.least_step_s.T
    else:  # under these laws a job uses the fewest GPU-seconds at its smallest width
        smallest = speed.limits()[0]
        time_s = 1.0 / speed.fastest()
        worker_s = smallest / speed.rates(np.arange(len(jobs)), smallest)
    with np.errstate(invalid="ignore"):  # no gang is legal: infinitely many workers without GPUs
        gpu_s = np.where(per_worker > 0, worker_s * per_worker, 0.0)
    return time_s / machine.max(), gpu_s * float((weight / machine).min())


def _by_table(speed: Tabled, weight: Floats) -> tuple[Floats, Floats]:
    """Return the same from a table, over all widths and machine types; jobs alike are looked up once."""
    sizes, size = np.unique(speed.per_worker, return_inverse=True)
    _, first, kind = np.unique(speed.profile * len(sizes) + size, return_index=True, return_inverse=True)
    widths = np.arange(1, int(speed.limits()[1][first].max(initial=1)) + 1)
    rows, workers = np.repeat(first, len(widths)), np.tile(widths, len(first))
    time_s, gpu_s = np.full(len(first), np.inf), np.full(len(first), np.inf)
    for vm, of_gpu in enumerate(weight.tolist()):
        per_work_s = _seconds(speed, rows, workers, vm)
        held = of_gpu * workers * speed.per_worker[rows]
        np.minimum(time_s, per_work_s.reshape(-1, len(widths)).min(axis=1), out=time_s)
        with np.errstate(invalid="ignore"):  # cannot run so, and would hold no GPU
            weighed = np.where(held > 0, per_work_s * held, 0.0)
        np.minimum(gpu_s, weighed.reshape(-1, len(widths)).min(axis=1), out=gpu_s)
    return time_s[kind], gpu_s[kind]


def _seconds(speed: Tabled, rows: Ints, workers: Ints, vm: int) -> Floats:
    rate = speed.rates_on(rows, workers, vm)
    return np.asarray(np.divide(1.0, rate, out=np.full(len(rate), np.inf), where=rate > 0))
