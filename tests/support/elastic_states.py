"""States of a cluster with elastic jobs, drawn at random."""

from __future__ import annotations

import numpy as np

from dlsched.policies.rolling_horizon.problem import Problem, of


def drawn_state(rng: np.random.Generator, jobs: int, nodes: int, widths: int = 5, steps: int = 5) -> Problem:
    """Return jobs of seconds to days, each with limits of its own; the smallest widths may not fit."""
    remaining = np.exp(rng.normal(np.log(rng.choice([0.05, 0.3, 1.5, 10.0])), rng.choice([0.0, 1.3]), jobs))
    low = 2 ** rng.integers(0, 2, jobs) if rng.random() < 0.5 else np.ones(jobs, dtype=int)
    high = low * 2 ** rng.integers(0, widths, jobs) if rng.random() < 0.5 else np.full(jobs, 2 ** (widths - 1))
    return of(remaining, nodes, 2 ** np.arange(widths), steps, min_nodes=low, max_nodes=np.maximum(low, high))
