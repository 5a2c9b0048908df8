"""Algorithm 2 of the SMD paper: from real to whole numbers of workers and servers, at random."""

from __future__ import annotations

import math

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.policies.smd.problem import Choice, Split
from dlsched.policies.smd.ratios import Relaxed


def round_up_or_down(
    problem: Split, relaxed: Relaxed, rng: np.random.Generator, m_delta: float = 1.0, draws: int = 20
) -> Choice:
    """Return the fastest whole numbers that keep the limit among ``draws`` random roundings (Algorithm 2).

    Workers and servers times ``m_delta`` (M of the paper; see ``lemma_3``) are rounded up with the probability of what
    is behind the point, else down, but not below one of each. A smaller ``m_delta`` keeps the limit more often and asks
    for less. The paper draws again until a draw keeps the limit, and its count of draws can be read both ways; here all
    draws are made, and when none keeps the limit both are rounded down, which always does.
    """
    if not 0 < m_delta <= 1:
        raise InputError("m_delta", f"must be above 0 and at most 1, got {m_delta:g}")
    if draws < 1:
        raise InputError("draws", f"must be at least 1, got {draws}")
    real = m_delta * np.array([relaxed.workers, relaxed.servers])
    down = np.floor(real)
    up = rng.random((draws, 2)) < real - down
    drawn = np.unique(np.maximum(1.0, down + up), axis=0)
    pairs = [pair for pair in drawn.tolist() if problem.feasible(*pair)] or [np.maximum(1.0, down).tolist()]
    if not problem.feasible(*pairs[0]):
        why = f"exceeds the limit with {relaxed.workers:g} workers and {relaxed.servers:g} servers"
        raise InputError("relaxed", why, "Give the answer of Algorithm 1 to this problem")
    workers, servers = min(pairs, key=lambda pair: (problem.time_of(*pair), *pair))
    return Choice(int(workers), int(servers), problem.time_of(workers, servers))


def lemma_3(problem: Split, delta: float) -> float:
    """Return M_delta of Lemma 3: so scaled, a rounding exceeds a limit with a probability of at most delta / (2 r).

    r counts the limits (rows of the problem) and W is the fewest workers or servers that one of them allows alone.
    """
    _check_delta(delta)
    demand, limit = problem.rows[:, :2], problem.rows[:, 2:]
    fewest = float(np.divide(limit, demand, out=np.full_like(demand, np.inf), where=demand > 0).min())
    share = 3 * math.log(2 * len(demand) / delta) / (2 * fewest)
    return 1 / (1 + share + math.sqrt(share**2 + 2 * share))  # = 1 + share - sqrt(...), without cancellation


def theorem_4_ratio(m_delta: float, delta: float) -> float:
    """Return the approximation ratio of the rounding that holds with probability 1 - delta: (24 / M + 4) / delta."""
    _check_delta(delta)
    return (24 / m_delta + 4) / delta


def _check_delta(delta: float) -> None:
    if not 0 < delta <= 1:
        raise InputError("delta", f"must be above 0 and at most 1, got {delta:g}")
