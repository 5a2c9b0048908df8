"""What jobs need at least under any policy: the time alone, and their part of one fluid machine.

All bounds on service rest on two relaxations, whose proofs are in decision 023.

- Alone: no job ends sooner than its submission + its work at the fastest rate any legal width on any machine has.
- One fluid machine for each resource: a job's area is the least GPU-seconds (CPU-seconds, ...) that the workers of any
  legal width on any machine hold to do its work, each weighed by the speed of its machine. All machines together hand
  out at most so much weight a second. One machine of that speed, which may be cut at will among the jobs, can do
  whatever the cluster does.

A run rounds each time to the clock, so that a job may end a little before its work is done. What a job does at its
fastest in two steps of the clock (5e-7 s for times since 1970) is not counted, all of it where it is shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from heapq import heappop, heappush

import numpy as np

from dlsched.domain.cluster import Cluster, vm_capacity
from dlsched.domain.fingerprint import see_to_folder
from dlsched.domain.scenario import SimulationRules
from dlsched.domain.workload import Floats, Ints
from dlsched.metrics.run_facts import RunFacts
from dlsched.speed.parameter_server import ParameterServer
from dlsched.speed.table import Tabled

MANY = 50_000
"""From so many jobs on, the fluid machine is compiled: loading the code takes longer than serving fewer."""


@dataclass(frozen=True, eq=False)
class Needs:
    """``alone_s`` (jobs,) the least run time, infinite where a job can never run.

    ``fluid_s`` (resources, jobs) the least time if the job had all there is of a resource to itself and used it
    without loss; only resources that jobs ask for and machines limit.
    """

    alone_s: Floats
    fluid_s: Floats


def needs_of(facts: RunFacts) -> Needs:
    """Return the needs of all jobs for the work they certainly do."""
    weight = _weights(facts.scenario.cluster, facts.scenario.options)
    per_work_s, per_work_worker_s = _least_per_work(facts, weight)
    work = facts.truth.work * certain_part(facts, facts.truth.work * per_work_s)
    worker_s = work * per_work_worker_s
    fluid_s = []
    for demand, capacity in zip(facts.jobs.demand.T, _capacity(facts.scenario.cluster, weight), strict=True):
        asks = demand > 0
        if 0 < capacity < np.inf and asks.any():
            fluid_s.append(np.multiply(worker_s, demand / capacity, out=np.zeros(len(asks)), where=asks))
    return Needs(work * per_work_s, np.array(fluid_s).reshape(len(fluid_s), len(worker_s)))


def certain_part(facts: RunFacts, alone_s: Floats) -> Floats:
    """Return the part of the work of jobs that counts: not what they do in two steps of the clock at their fastest.

    ``alone_s`` is the least run time of all the work.
    """
    left_s = np.maximum(alone_s - 2 * np.spacing(facts.log.end_s), 0.0)
    counts = np.isfinite(alone_s) & (alone_s > 0)
    return np.asarray(np.divide(left_s, alone_s, out=np.ones(len(alone_s)), where=counts))


def machines_at_hand(cluster: Cluster) -> Ints:
    """Return the numbers of the machine types that jobs can run on: pools may be empty, a catalogue is all for rent."""
    return np.arange(len(cluster.vm_types)) if cluster.free_slots else np.unique(cluster.nodes.vm)


def srpt_ends(submit_s: Floats, length_s: Floats) -> Floats:
    """Return when one machine that serves the shortest remaining job first completes its 1st, 2nd, ... job, (jobs,).

    For every k no other schedule of these jobs on the machine, however it stops and shares, completes k jobs sooner
    (Schrage, Operations Research 16, 1968). ``submit_s`` ascending. O(n log n).
    """
    ends_s = np.empty(len(submit_s))
    if len(submit_s) < MANY:
        count, left = _serve(submit_s.tolist(), length_s.tolist(), ends_s)
    else:
        count, left = _compiled_serve()(submit_s, length_s, ends_s)
    ends_s[count:] = submit_s[-1:] + np.cumsum(np.sort(left))
    return ends_s


def _serve(submit_s: Iterable[float], length_s: Iterable[float], ends_s: Floats) -> tuple[int, list[float]]:
    """Write the ends until the last job comes; return how many, and what is left of the other jobs."""
    left = [0.0 for _ in range(0)]  # numba must see what an empty list is of
    count, now_s = 0, 0.0
    for at_s, job_s in zip(submit_s, length_s):  # noqa: B905 - numba knows no ``strict``
        while left and now_s + left[0] <= at_s:
            now_s += heappop(left)
            ends_s[count] = now_s
            count += 1
        if left:
            left[0] -= at_s - now_s  # the least becomes less: the heap stays one
        now_s = at_s
        heappush(left, job_s)
    return count, left


@cache
def _compiled_serve() -> Callable[[Floats, Floats, Floats], tuple[int, list[float]]]:
    from numba import njit

    see_to_folder()
    compiled: Callable[[Floats, Floats, Floats], tuple[int, list[float]]] = njit(cache=True, nogil=True)(_serve)
    return compiled


def earliest_ends(submit_s: Floats, alone_s: Floats, fluid_s: Floats) -> Floats:
    """Return times before which no schedule completes its 1st, 2nd, ... of these jobs, ascending, (jobs,).

    The k-th completion is neither before the k-th of the times at which jobs end alone, nor before the k-th of the
    fluid machine of any resource; ``fluid_s`` (resources, jobs). ``submit_s`` ascending.
    """
    ends_s = np.sort(submit_s + alone_s)
    for length_s in fluid_s:
        np.maximum(ends_s, srpt_ends(submit_s, length_s), out=ends_s)
    return ends_s


def _weights(cluster: Cluster, options: SimulationRules) -> Floats:
    """Return what the resources of each machine type count on the fluid machines, (machine types,).

    While a delayed restart lasts, a job that grew goes on at its old rate, which it may have got from faster machines
    than it holds now; only if all machines count alike has it never less weight than that rate needs.
    """
    if options.restart_mode == "delayed" and options.restart_s > 0:
        return np.ones(len(cluster.vm_types))
    return np.array([vm.speed for vm in cluster.vm_types])


def _capacity(cluster: Cluster, weight: Floats) -> Floats:
    """Return the weight of all there is of each resource, as if every node were always up, (resources,).

    Rental slots hold the best machine for each resource.
    """
    of_type = np.array([vm_capacity(vm) for vm in cluster.vm_types]) * weight[:, None]
    if cluster.free_slots:
        return np.asarray(cluster.slots * of_type.max(axis=0))
    return np.asarray(of_type[cluster.nodes.vm].sum(axis=0))


def _least_per_work(facts: RunFacts, weight: Floats) -> tuple[Floats, Floats]:
    """Return the least seconds and the least weighed worker-seconds of a unit of work, each (jobs,)."""
    cluster, jobs, speed = facts.scenario.cluster, facts.jobs, facts.speed
    at_hand = machines_at_hand(cluster)
    if isinstance(speed, Tabled):
        return _by_table(speed, weight, at_hand)
    machine, weight = np.array([vm.speed for vm in cluster.vm_types])[at_hand], weight[at_hand]
    if isinstance(speed, ParameterServer):  # what servers hold comes on top
        time_s, worker_s = facts.least_step_s.T
    else:  # under these laws a job uses the fewest worker-seconds at its smallest width
        smallest = speed.limits()[0]
        time_s = 1.0 / speed.fastest()
        worker_s = smallest / speed.rates(np.arange(len(jobs)), smallest)
    return time_s / machine.max(), worker_s * float((weight / machine).min())


def _by_table(speed: Tabled, weight: Floats, at_hand: Ints) -> tuple[Floats, Floats]:
    """Return the same from a table, over all widths and machine types; jobs alike are looked up once."""
    sizes, size = np.unique(speed.per_worker, return_inverse=True)
    alike = (speed.profile * len(sizes) + size) * (speed.largest.max(initial=0) + 1) + speed.largest
    _, first, kind = np.unique(alike, return_index=True, return_inverse=True)
    widths = np.arange(1, int(speed.limits()[1][first].max(initial=1)) + 1)
    rows, workers = np.repeat(first, len(widths)), np.tile(widths, len(first))
    time_s, worker_s = np.full(len(first), np.inf), np.full(len(first), np.inf)
    for vm in at_hand.tolist():
        rate = speed.rates_on(rows, workers, vm)
        per_work_s = np.divide(1.0, rate, out=np.full(len(rate), np.inf), where=rate > 0)
        weighed = per_work_s * workers * weight[vm]
        np.minimum(time_s, per_work_s.reshape(-1, len(widths)).min(axis=1), out=time_s)
        np.minimum(worker_s, weighed.reshape(-1, len(widths)).min(axis=1), out=worker_s)
    return time_s[kind], worker_s[kind]
