"""Finish-time fairness (Themis): who is worst off, against a fair part of the cluster, gets the next GPUs.

Source: Mahajan et al., Themis: Fair and efficient GPU cluster scheduling, NSDI 2020. What is simpler here:

- A job runs at its request or not at all, and is an app of its own; the paper's apps are searches of many jobs.
- ``N``, the number of apps that share the cluster, is that of the jobs there now; the paper takes its average so far.
- Jobs tell the truth about what GPUs are worth to them, so the auction is its outcome without hidden payments, and
  found greedily: GPUs go to those whose gain per GPU is largest, which makes the product of all worths large.
- Placement is the scenario's rule; the paper's estimate of how placement slows a job down is left out.
- All leases end together, at every multiple of the period.
"""

from __future__ import annotations

import numpy as np

from dlsched.domain.state import State
from dlsched.domain.workload import GPU, Floats, Ints
from dlsched.policies.baselines.orders import EARLY_S, gpus, remaining_s

ROUNDED = 9
"""Decimals of finish-time fairness and gains that count: sums of times differ in their last bits."""


def finish_time_fairness(state: State, rows: Ints) -> Floats:
    """Return ``rho = T_shared / T_ideal`` of jobs if they run from now on, shape of ``rows`` (Section 3.1).

    ``T_shared`` = time since submission + believed run time left. ``T_ideal`` = believed run time with a fair part of
    the cluster, ``1 / N`` of its GPUs with ``N = len(rows)``: GPU time / (GPUs / N), but at least the run time.
    """
    alone_s = state.jobs.work[rows] / state.rate(rows, state.requested(rows))
    shared_s = state.now_s - state.jobs.submit_s[rows] + remaining_s(state, rows)
    there = float(state.nodes.capacity[state.nodes.up, GPU].sum())
    part = there / len(rows) if len(rows) else there
    ideal_s = alone_s * np.maximum(1.0, np.divide(gpus(state, rows), part, out=np.zeros(len(rows)), where=part > 0))
    return np.divide(shared_s, ideal_s, out=np.ones(len(rows)), where=ideal_s > 0)


def by_fairness(state: State, rows: Ints, lease_s: float, filter_share: float) -> Floats:
    """Return places: who has a lease, then those worst off by gain per GPU, then the others, worst off first.

    Worst off are the ``1 - filter_share`` of jobs with the highest ``rho``. The gain of a job is by how much it is
    worse off without GPUs for a lease: ``ln(rho after waiting so long / rho)``.
    """
    has_lease = np.isin(rows, state.running) & (not _ends_now(state.now_s, lease_s))
    rho = finish_time_fairness(state, rows)
    by_rho = np.lexsort((np.arange(len(rows)), -np.round(rho, ROUNDED), has_lease))
    num_open = int((~has_lease).sum())
    num_offered = int(np.ceil(round((1 - filter_share) * num_open, ROUNDED)))
    offered = by_rho[: max(1, num_offered)] if num_open else by_rho[:0]
    shared_s = state.now_s - state.jobs.submit_s[rows] + remaining_s(state, rows)
    gain = np.log1p(np.divide(lease_s, shared_s, out=np.full(len(rows), np.inf), where=shared_s > 0))
    per_gpu = np.divide(gain, gpus(state, rows), out=np.full(len(rows), np.inf), where=gpus(state, rows) > 0)
    place = np.empty(len(rows))
    place[by_rho] = len(rows) + np.arange(len(rows))
    best_first = offered[np.lexsort((offered, -np.round(per_gpu[offered], ROUNDED)))]
    place[best_first] = np.arange(len(offered))
    place[has_lease] = -1.0
    return place


def _ends_now(now_s: float, lease_s: float) -> bool:
    return bool(abs(now_s - np.rint(now_s / lease_s) * lease_s) <= EARLY_S)
