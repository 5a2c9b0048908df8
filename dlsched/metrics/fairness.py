"""How evenly users are served: one number for what each of them got.

All functions are pure and work on one value a user. Finish-time fairness, which looks at jobs, is
:func:`dlsched.metrics.summary.finish_time_fairness`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.workload import Floats
from dlsched.metrics.stats.intervals import SAME_NUMBER

LEAST_USERS = 2
"""With fewer there is no one to be treated differently."""


def means_by_user(users: NDArray[np.object_], values: Floats) -> Floats:
    """Return the mean of each user's jobs that have a value, shape (users with a value,), in order of appearance.

    ``users`` and ``values`` have shape (jobs,); NaN is no value. Jobs that name no user ("" or None) are left out.
    """
    place: dict[str, int] = {}
    code = [place.setdefault(user, len(place)) if user and isinstance(user, str) else -1 for user in users.tolist()]
    of_job = np.array(code, dtype=np.int64)
    there = (of_job >= 0) & ~np.isnan(values)
    jobs = np.bincount(of_job[there], minlength=len(place))
    total = np.bincount(of_job[there], values[there], minlength=len(place))
    return np.asarray(total[jobs > 0] / jobs[jobs > 0])


def jain_index(values: Floats) -> float | None:
    """Return (sum x)^2 / (n sum x^2) of values x >= 0, shape (users,): Jain, Chiu and Hawe, DEC TR-301, 1984.

    1 = all alike, 1/n = one user has everything. All zero is all alike. None with fewer than two users.
    """
    if len(values) < LEAST_USERS:
        return None
    squares = float(values @ values)
    return float(values.sum()) ** 2 / (len(values) * squares) if squares > 0 else 1.0


def gini(values: Floats) -> float | None:
    """Return the Gini coefficient of values x >= 0, shape (users,): mean |x_i - x_j| over all i, j, by 2 mean(x).

    0 = all alike, 1 - 1/n = one user has everything. All zero is all alike. None with fewer than two users.
    """
    if len(values) < LEAST_USERS:
        return None
    ordered, n = np.sort(values), len(values)
    total = float(ordered.sum())
    # The sum over pairs, from ranks: O(n log n) in place of O(n^2).
    weighted = float(ordered @ (2 * np.arange(1, n + 1) - n - 1))
    return max(weighted / (n * total), 0.0) if total > 0 else 0.0


def worst_to_median(values: Floats) -> float | None:
    """Return the largest value over the median; None with fewer than two users, or where the median is 0."""
    if len(values) < LEAST_USERS:
        return None
    middle, worst = float(np.median(values)), float(values.max())
    # A median of rounding noise is 0: the ratio would say nothing.
    return worst / middle if middle > SAME_NUMBER * worst else None
