"""Inner problems of SMD drawn at random, and their answers by enumeration in exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from dlsched.domain.workload import Floats
from dlsched.policies.smd.problem import MODES, Mode, Split

THETAS = {"sync": 5, "async": 4}


@st.composite
def whole_problems(draw: st.DrawFn) -> Split:
    """Draw a small problem of whole numbers, so that enumeration is exact and ties are frequent."""
    mode: Mode = draw(st.sampled_from(MODES))
    theta = draw(st.lists(st.integers(0, 9), min_size=THETAS[mode], max_size=THETAS[mode]).filter(any))
    resources = draw(st.integers(1, 3))
    demand = st.lists(st.integers(0, 4), min_size=resources, max_size=resources)
    workers, servers = draw(demand), draw(demand)
    spare = draw(st.lists(st.integers(0, 20) | st.just(math.inf), min_size=resources, max_size=resources))
    limit = [w + s + more for w, s, more in zip(workers, servers, spare, strict=True)]
    return Split(mode, theta, workers, servers, limit, draw(st.integers(1, 9)), draw(st.integers(1, 9)))


@st.composite
def real_problems(draw: st.DrawFn) -> Split:
    """Draw a problem of real numbers over several orders of size, with room for up to hundreds of workers."""
    mode: Mode = draw(st.sampled_from(MODES))
    theta = [10.0 ** draw(st.floats(-3, 3)) * draw(st.integers(0, 1)) for _ in range(THETAS[mode] - 1)]
    resources = draw(st.integers(1, 4))
    workers = [draw(st.floats(0.5, 10)) for _ in range(resources)]
    servers = [draw(st.floats(0.5, 10)) for _ in range(resources)]
    limit = [(w + s) * draw(st.floats(1, 60)) for w, s in zip(workers, servers, strict=True)]
    return Split(mode, [*theta, 10.0 ** draw(st.floats(-3, 3))], workers, servers, limit)


def by_enumeration(problem: Split) -> tuple[Fraction, int, int]:
    """Return the least time of a problem of whole numbers, and its fewest workers, then servers."""
    most_workers, most_servers = problem.most_workers, problem.most_servers
    assert most_workers
    assert most_servers
    return min(
        (exact_time(problem, w, p), w, p)
        for w in range(1, most_workers + 1)
        for p in range(1, most_servers + 1)
        if fits(problem, w, p)
    )


def exact_time(problem: Split, w: int, p: int) -> Fraction:
    t = [Fraction(value) for value in problem.theta]
    if problem.mode == "sync":
        return t[0] * w + t[1] * p + t[2] + t[3] * Fraction(w, p) + t[4] / w
    return t[0] + t[1] * Fraction(p, w) + t[2] / w + t[3] / p


def fits(problem: Split, w: int, p: int) -> bool:
    demands = zip(problem.worker_demand, problem.server_demand, problem.limit, strict=True)
    return all(a * w + b * p <= c for a, b, c in demands)


def least_continuous(problem: Split, steps: int = 20_000) -> float:
    """Return the least time over real numbers by a fine search over servers, with the best workers beside each."""
    a, b, c = np.array([problem.worker_demand, problem.server_demand, problem.limit])
    with np.errstate(divide="ignore"):  # what a worker or a server does not ask for limits nothing
        p = np.geomspace(1.0, ((c - a) / b).min(), steps)
        most = ((c[:, None] - b[:, None] * p) / a[:, None]).min(axis=0)
    most = np.maximum(most, 1.0)
    t = problem.theta
    times: Floats
    if problem.mode == "async":  # more workers never take longer
        times = t[0] + t[1] * p / most + t[2] / most + t[3] / p
    else:
        with np.errstate(divide="ignore", over="ignore"):
            w = np.clip(np.sqrt(t[4] / (t[0] + t[3] / p)), 1.0, most)
        times = t[0] * w + t[1] * p + t[2] + t[3] * w / p + t[4] / w
    return float(times.min())
