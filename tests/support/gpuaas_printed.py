"""(P1) as the paper prints it, in its clean reading, with pi x alpha made linear; for free nodes only."""

from __future__ import annotations

from itertools import product

import numpy as np

from dlsched.optimise.milp import Milp
from dlsched.policies.gpuaas.instance import Instance


def printed_program(instance: Instance) -> Milp:
    """Return the program with a variable for every job, node, machine type and number of GPUs."""
    jobs, nodes, vms = (range(n) for n in (instance.num_jobs, instance.num_nodes, len(instance.vm_gpus)))
    gpus, price, family = instance.vm_gpus, instance.vm_price, instance.vm_family
    time = {
        (j, v, g): float(instance.times[j, family[v], g - 1]) for j in jobs for v in vms for g in range(1, gpus[v] + 1)
    }
    dearest = [
        max((time[k] * price[k[1]] for k in time if k[0] == j and np.isfinite(time[k])), default=0) for j in jobs
    ]
    model = Milp()

    def one(cost: float = 0.0, *, integer: bool = False) -> int:
        return int(model.columns([cost], upper=1.0 if integer else np.inf, integer=integer)[0])

    def row(terms: list[tuple[float, int]], low: float = -np.inf, high: float = np.inf) -> None:
        model.rows(np.zeros(len(terms), dtype=int), [c for _, c in terms], [a for a, _ in terms], low=[low], high=high)

    mu, rho = instance.idle_penalty, instance.postpone_factor
    w = {n: one(integer=True) for n in nodes}
    y = {(n, v): one(mu * gpus[v], integer=True) for n in nodes for v in vms}
    z = {(j, n): one(integer=True) for j in jobs for n in nodes}
    x = {(*k, n): one(-mu * k[2], integer=True) for k in time if np.isfinite(time[k]) for n in nodes}
    tau = {j: one(float(instance.weight[j])) for j in jobs}
    tau_hat = {j: one(float(rho * instance.weight[j])) for j in jobs}
    alpha = {(j, n): one(integer=True) for j in jobs for n in nodes}
    pi, paid = {(j, n): one() for j in jobs for n in nodes}, {(j, n): one(1.0) for j in jobs for n in nodes}

    for n in nodes:
        row([*((1.0, y[n, v]) for v in vms), (-1.0, w[n])], 0, 0)  # (P1b)
        row([*((1.0, alpha[j, n]) for j in jobs), (-1.0, w[n])], 0, 0)  # (P1k)
        for v in vms:  # (P1g)
            row([*((float(k[2]), x[k]) for k in x if k[1] == v and k[3] == n), (-float(gpus[v]), y[n, v])], high=0)
    for k in x:
        row([(1.0, x[k]), (-1.0, y[k[3], k[1]])], high=0)  # (P1c)
        row([(1.0, x[k]), (-1.0, z[k[0], k[3]])], high=0)  # (P1d)
    for j in jobs:
        mine = [k for k in x if k[0] == j]
        row([*((1.0, x[k]) for k in mine), *((-1.0, z[j, n]) for n in nodes)], 0, 0)  # (P1f)
        row([(1.0, z[j, n]) for n in nodes], high=1)  # (P1m)
        if np.isfinite(instance.slack[j]):
            slack, slowest = float(instance.slack[j]), float(instance.slowest[j])
            if slack < 0:  # only executed jobs are late by (P1h)
                row([(1.0, tau[j]), *((slack - time[k[:3]], x[k]) for k in mine)], low=0)
            else:
                row([(1.0, tau[j]), *((-time[k[:3]], x[k]) for k in mine)], low=-slack)
            late = max(0.0, instance.period + slowest - slack)
            row([(1.0, tau_hat[j]), *((late, z[j, n]) for n in nodes)], low=late)  # (P1i), for postponed jobs only
    for j, n in product(jobs, nodes):
        mine = [k for k in x if k[0] == j and k[3] == n]
        row([*((1.0, x[k]) for k in mine), (-1.0, w[n])], high=0)  # (P1e)
        row([(1.0, pi[j, n]), *((-time[k[:3]] * price[k[1]], x[k]) for k in mine)], low=0)  # (P1j)
        row([(1.0, alpha[j, n]), (-1.0, z[j, n])], high=0)  # (P1l)
        row([(1.0, paid[j, n]), (-1.0, pi[j, n]), (-dearest[j], alpha[j, n])], low=-dearest[j])
    most = min(instance.num_nodes, instance.num_jobs)
    row([(1.0, w[n]) for n in nodes], low=most if instance.exactly else -np.inf, high=most)  # (P1n)
    return model
