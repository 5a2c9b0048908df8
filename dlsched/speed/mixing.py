"""Mixtures of run configurations: a job may change its machine or its GPUs during its life.

Configuration k finishes the whole job after t_k and costs c_k. With shares of work x_k (sum 1) the job finishes
after T = sum x_k t_k and costs sum x_k c_k, so what mixtures reach is the convex hull of the points (t_k, c_k).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def job_lower_bounds(times: Floats, price_per_gpu: Floats, slack: Floats, weight: Floats) -> Floats:
    """Return what each job costs at least under any policy, (J,): GPUs at their lowest price, and lateness.

    The bound of a job is the minimum over mixtures x of sum x_k t_k g_k p_k + omega max(0, sum x_k t_k - slack).

    The minimum is at one configuration, or at a mixture of two that ends at the due date. Proof: on either side of
    the due date the cost is linear in x over the simplex cut by one half-space, sum x_k t_k <= slack or >= slack,
    so a minimum lies at a vertex of one of these two polytopes; such a vertex has as many positive shares as tight
    constraints at most: one (x_k = 1), or two where sum x_k t_k = slack holds.

    Parameters
    ----------
    times
        (J, F, G) run time with g+1 GPUs of a GPU type; infinity = cannot run so.
    price_per_gpu
        (F,) lowest price of one GPU of a type per time unit; infinity = not for rent.
    slack
        (J,) time from submission to the due date; infinity = no due date.
    weight
        (J,) $ per time unit of lateness.

    A job that can run nowhere has the bound infinity.
    """
    count, families, largest = times.shape
    gpus = np.arange(1, largest + 1)
    rentable = np.isfinite(times) & np.isfinite(price_per_gpu)[None, :, None]
    ends = np.where(rentable, times, np.inf).reshape(count, families * largest)
    costs = np.where(rentable, times, 0.0) * gpus * np.where(np.isfinite(price_per_gpu), price_per_gpu, 0.0)[:, None]
    costs = np.where(rentable, costs, np.inf).reshape(count, families * largest)
    late = np.maximum(0.0, np.where(np.isfinite(ends), ends, 0.0) - slack[:, None])
    best = (costs + weight[:, None] * late).min(axis=1, initial=np.inf)
    for slow in range(ends.shape[1]):
        np.minimum(best, _best_pair(ends, costs, slack, slow), out=best)
    return np.asarray(best)


def _best_pair(ends: Floats, costs: Floats, slack: Floats, slow: int) -> Floats:
    """Return the least cost of mixing the late configuration ``slow`` with one in time, ending at the due date."""
    late = np.isfinite(ends[:, slow]) & (ends[:, slow] > slack)
    pairs = late[:, None] & (ends <= slack[:, None])
    # Only where both are finite: infinity less infinity is no number.
    gap = np.subtract(ends[:, [slow]], ends, out=np.ones_like(ends), where=pairs)
    share = np.subtract(slack[:, None], ends, out=np.zeros_like(ends), where=pairs) / gap
    slow_cost, fast_cost = np.where(late, costs[:, slow], 0.0), np.where(pairs, costs, 0.0)
    mixed = share * slow_cost[:, None] + (1.0 - share) * fast_cost
    return np.asarray(np.where(pairs, mixed, np.inf).min(axis=1, initial=np.inf))
