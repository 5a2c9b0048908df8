"""Assignment: each row gets one column of its own."""

from __future__ import annotations

from dlsched.domain.workload import Floats, Ints


def max_weight_assignment(weight: Floats) -> Ints:
    """Return the column of each row with the largest total weight, for a square matrix of finite weights.

    Exact (shortest augmenting paths, scipy); the same matrix always gives the same answer.
    """
    from scipy.optimize import linear_sum_assignment  # heavy import, needed by few runs

    return linear_sum_assignment(weight, maximize=True)[1]
