"""The dynamic-programming rivals (Section 4.2.1): one job on a node, every job decided anew at every step.

A job's configuration minimises F1; then F2 weighs executing it for a step of Delta t (``Instance.period``) against
postponing it. Our reading of the printed terms:

- tau in F_WCT is the tardiness at the end of the step, max(0, min(t, Delta t) - slack). The paper says of its
  adjusted tardiness max(0, t - slack) that it counts a full run and so "penalizes slow configurations even if no
  tardiness occurs at the end of the current scheduling step", which F_WCT then does not.
- tau_hat is the worst-case tardiness of (P1i) with H = Delta t. It is printed without omega, which adds seconds to
  dollars; here it is rho omega tau_hat, with rho = ``Instance.postpone_factor``. F_WCT has no rho, that is rho = 1.

F2 separates by job and equal nodes are interchangeable, so the recursion over jobs and nodes in use comes to: execute
the N jobs with the largest positive gains of executing over postponing.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from dlsched.domain.workload import Floats, Ints
from dlsched.optimise.assignment import max_weight_assignment
from dlsched.policies.gpuaas.alone import Offers, least
from dlsched.policies.gpuaas.instance import Instance, Schedule

Variant = Literal["wct", "fastwct", "fastb", "adjwct"]
POSTPONED_USD = 1e6
"""B of DP(FastB)."""


def plan_step(instance: Instance, variant: Variant, postponed_usd: float = POSTPONED_USD) -> Schedule:
    """Return which jobs execute in the next step.

    DP(WCT): F1 = F2 = F_WCT. DP(FastWCT): the fastest configuration, F2 = F_WCT. DP(FastB): the fastest, postponing
    costs ``postponed_usd``. DP(AdjWCT): F1 with the adjusted tardiness, F2 = F_WCT. Configurations that tie go to the
    cheaper machine, then to the faster, then to catalogue order; gains that tie to jobs that run, then to the earlier
    row. Where no gain is positive the job with the largest gain executes, so that work goes on. Nodes that stay and
    differ are dealt out by the assignment with the largest total gain.
    """
    schedule = Schedule.empty(instance)
    if not instance.num_jobs or not instance.num_nodes:
        return schedule
    offers = Offers.of(instance)
    kinds, kind_of_node = np.unique(instance.node_vm, return_inverse=True)
    chosen, gain = zip(*(_best(instance, offers, variant, postponed_usd, int(vm)) for vm in kinds), strict=True)
    jobs, nodes = _execute(instance, np.stack(gain, axis=1), kind_of_node)
    picked = np.stack(chosen)[kind_of_node[nodes], jobs]
    schedule.node[jobs], schedule.gpus[jobs] = nodes, offers.gpus[picked]
    schedule.vm[nodes] = offers.vm[picked]
    return schedule


def _best(
    instance: Instance, offers: Offers, variant: Variant, postponed_usd: float, node_vm: int
) -> tuple[Ints, Floats]:
    """Return each job's configuration on such a node and the gain of executing it there; -infinity = cannot run."""
    times = np.where(offers.from_node(node_vm), offers.times, np.inf)
    step = _executed(instance, times, offers.price, instance.period)
    if variant == "wct":
        first = step
    elif variant == "adjwct":
        first = _executed(instance, times, offers.price, np.inf)
    else:
        first = times
    chosen = least(first, offers.price, times)
    postponed = np.full(instance.num_jobs, postponed_usd) if variant == "fastb" else instance.postponed_cost
    return chosen, postponed - step[np.arange(len(chosen)), chosen]


def _executed(instance: Instance, times: Floats, price: Floats, until: float) -> Floats:
    """Return the terms of an executed job: omega x the tardiness after at most ``until`` + c_v Delta t."""
    finite = np.where(np.isfinite(times), times, 0.0)
    late = np.maximum(0.0, np.minimum(finite, until) - instance.slack[:, None])
    cost = instance.weight[:, None] * late + price * instance.period
    return np.asarray(np.where(np.isfinite(times), cost, np.inf))


def _execute(instance: Instance, gain: Floats, kind_of_node: Ints) -> tuple[Ints, Ints]:
    """Return the jobs that execute, in rows' order, and their nodes."""
    jobs, nodes = _most_gain(instance, gain, kind_of_node)
    if len(jobs) or not np.isfinite(gain).any():
        return jobs, nodes
    best = gain.max(axis=1)
    first = np.lexsort((~instance.running, -best))[:1]
    return first, np.flatnonzero(kind_of_node == np.argmax(gain[first[0]]))[:1]


def _most_gain(instance: Instance, gain: Floats, kind_of_node: Ints) -> tuple[Ints, Ints]:
    num_nodes = len(kind_of_node)
    if gain.shape[1] == 1:
        order = np.lexsort((~instance.running, -gain[:, 0]))[:num_nodes]
        jobs = np.sort(order[gain[order, 0] > 0])
        return jobs, np.arange(len(jobs))
    size = max(len(gain), num_nodes)
    weight = np.zeros((size, size))
    weight[: len(gain), :num_nodes] = np.maximum(0.0, gain)[:, kind_of_node]
    column = max_weight_assignment(weight)[: len(gain)]
    jobs = np.flatnonzero(weight[np.arange(len(gain)), column] > 0)
    return jobs, column[jobs]
