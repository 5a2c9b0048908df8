"""Gittins on one server with Poisson arrivals (M/G/1): where theory knows the least mean turnaround time."""

from __future__ import annotations

import numpy as np
import pytest

from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Floats, Workload
from dlsched.studies.simulation import simulate
from tests.support.sim_fakes import nodes

LOAD, JOBS, MEAN_S = 0.7, 30_000, 1000.0
SHORT, SHORT_S, LONG_S = 0.9, 500.0, 5500.0
"""Hyperexponential with a mean of 1,000 s: 90% exponential with 500 s, 10% with 5,500 s."""


def mean_turnaround(run_times_s: Floats, dice: np.random.Generator, policy: str = "gittins") -> float:
    """Return the mean turnaround time in units of the mean run time, of a server with one GPU."""
    columns = {
        "job_id": np.arange(JOBS).astype(str),
        "submit_s": np.cumsum(dice.exponential(MEAN_S / LOAD, JOBS)),
        "work": run_times_s,
        "workers": np.ones(JOBS, dtype=np.int64),
    }
    params = {"goal": "turnaround"} if policy == "gittins" else {}
    found = simulate(Scenario(Workload.from_columns(columns), nodes(1, gpus=1)), policy, params).metrics["jct_mean"]
    assert found is not None
    return found / MEAN_S


def least_attained_service_first() -> float:
    """Return the mean turnaround time, in means, of serving who has had least, which is best where hazards fall.

    A job of length x takes (x + lambda m(x) / (2 (1 - r(x)))) / (1 - r(x)), with r and m the load and second moment of
    run times cut at x (Schrage 1967).
    """
    x = np.linspace(0.0, 20 * LONG_S, 400_000)
    above = SHORT * np.exp(-x / SHORT_S) + (1 - SHORT) * np.exp(-x / LONG_S)
    density = SHORT / SHORT_S * np.exp(-x / SHORT_S) + (1 - SHORT) / LONG_S * np.exp(-x / LONG_S)
    step, rate = x[1], LOAD / MEAN_S
    free = 1 - rate * np.cumsum(above) * step
    second = np.cumsum(2 * x * above) * step
    return float(((x + rate * second / (2 * free)) / free) @ density * step) / MEAN_S


@pytest.mark.parametrize(("kind", "least"), [("exponential", 1 / (1 - LOAD)), ("fixed", 1 + LOAD / 2 / (1 - LOAD))])
def test_mean_turnaround_where_no_order_is_better(kind: str, least: float):
    """Exponential run times: every order that does not know them takes 1 / (1 - load). Fixed ones: that of arrival."""
    dice = np.random.default_rng(5)
    run_times_s = dice.exponential(MEAN_S, JOBS) if kind == "exponential" else np.full(JOBS, MEAN_S)
    assert mean_turnaround(run_times_s, dice) == pytest.approx(least, rel=0.06)


def test_mean_turnaround_where_the_chance_to_end_falls_with_age():
    dice = np.random.default_rng(6)
    scale_s = np.where(dice.random(JOBS) < SHORT, SHORT_S, LONG_S)
    run_times_s = dice.exponential(scale_s)
    found = mean_turnaround(run_times_s, np.random.default_rng(7))
    in_order = mean_turnaround(run_times_s, np.random.default_rng(7), "fifo")
    assert found == pytest.approx(least_attained_service_first(), rel=0.06)
    assert found < 0.75 * in_order
