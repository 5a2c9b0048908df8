"""Every plan of a tiny problem: the oracle of the other methods."""

from __future__ import annotations

from itertools import product

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.rolling_horizon.problem import Problem

MOST_PLANS = 2_000_000


def enumerate_plans(problem: Problem) -> tuple[Ints, float]:
    """Return the first best plan (J, T) of all, and its value; the problem must be feasible.

    Raises
    ------
    InputError
        If there are more than MOST_PLANS plans.
    """
    places = [np.flatnonzero(legal).tolist() for legal in problem.legal]
    ways = float(np.prod([float(len(each)) for each in places]))
    if ways > MOST_PLANS:
        raise _too_many(ways)
    choices = np.array(list(product(*places)), dtype=np.int64)
    choices = choices[problem.widths[choices].sum(axis=1) <= problem.nodes]
    if float(len(choices)) ** problem.steps > MOST_PLANS:
        raise _too_many(float(len(choices)) ** problem.steps)
    gain = problem.gain[np.arange(problem.num_jobs), choices]
    done: Floats = np.zeros((1, problem.num_jobs))
    value: Floats = np.zeros(1)
    for _ in range(problem.steps):
        done = np.minimum(1.0, (done[:, None] + gain).reshape(-1, problem.num_jobs))
        value = np.repeat(value, len(choices)) + done.sum(axis=1)
    best = int(value.argmax())
    steps = np.unravel_index(best, (len(choices),) * problem.steps)
    return problem.widths[choices[np.array(steps)]].T, float(value[best])


def _too_many(plans: float) -> InputError:
    return InputError("method enumerate", f"checks at most {MOST_PLANS:,} plans, got {plans:.3g}", "Choose auto")
