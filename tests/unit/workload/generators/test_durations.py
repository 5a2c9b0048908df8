"""Run-time distributions: stated medians, percentiles and means, against integrals of the quantile function."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pydantic import ValidationError

from dlsched.workload.generators.durations import Empirical, Lognormal, LognormalByMean, Pareto

GRID = (np.arange(2_000_000) + 0.5) / 2_000_000


@pytest.mark.parametrize(
    "run_time",
    [
        pytest.param(Lognormal(median_s=600, p90_s=7200), id="lognormal"),
        pytest.param(Lognormal(median_s=600, p90_s=7200, longest_s=3000), id="lognormal, cut hard"),
        pytest.param(Lognormal(median_s=600, p90_s=600), id="lognormal, constant"),
        pytest.param(LognormalByMean(uncut_mean_s=5000, sigma=1.2), id="lognormal by mean"),
        pytest.param(LognormalByMean(uncut_mean_s=5000, sigma=1.2, longest_s=9000), id="lognormal by mean, cut"),
        pytest.param(Pareto(shortest_s=60, alpha=1.5), id="pareto"),
        pytest.param(Pareto(shortest_s=60, alpha=1, longest_s=86_400), id="pareto, alpha 1"),
        pytest.param(Pareto(shortest_s=60, alpha=0.01, longest_s=86_400), id="pareto, very heavy tail"),
        pytest.param(Empirical(values_s=(5, 1, 9)), id="empirical"),
    ],
)
def test_mean_is_the_integral_of_the_quantiles(run_time):
    quantiles = run_time.quantile_s(GRID)
    assert (np.diff(quantiles) >= 0).all()
    assert run_time.mean_s == pytest.approx(quantiles.mean(), rel=2e-3)


def test_lognormal_has_its_median_and_p90():
    assert Lognormal(median_s=600, p90_s=7200).quantile_s(np.array([0.5, 0.9])) == pytest.approx([600, 7200])


def test_lognormal_by_mean_has_its_sigma():
    quantiles = LognormalByMean(uncut_mean_s=100, sigma=0.7).quantile_s(GRID)
    assert np.log(quantiles).std() == pytest.approx(0.7, rel=1e-3)
    assert quantiles.mean() == pytest.approx(100, rel=1e-3)


def test_pareto_tail():
    # P(longer than t) = (60 / t) ** 1.5: a quarter at t = 60 * 4 ** (2 / 3)
    assert Pareto(shortest_s=60).quantile_s(np.array([0.75]))[0] == pytest.approx(60 * 4 ** (2 / 3))


def test_empirical_draws_each_value_alike():
    values, counts = np.unique(Empirical(values_s=(5, 1, 9)).quantile_s(GRID), return_counts=True)
    assert values.tolist() == [1, 5, 9]
    assert counts / len(GRID) == pytest.approx([1 / 3] * 3, rel=1e-4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Lognormal(median_s=10, p90_s=5), "p90 must be at least the median, got 5 and 10 s"),
        (lambda: Pareto(shortest_s=10, longest_s=5), "longest must be at least shortest"),
        (lambda: Lognormal(median_s=0, p90_s=5), "greater than 0"),
        (lambda: Empirical(values_s=()), "at least 1 item"),
        (lambda: LognormalByMean(uncut_mean_s=math.nan, sigma=1), "finite"),
    ],
)
def test_bad_distributions_are_refused(make, message):
    with pytest.raises(ValidationError, match=message):
        make()
