"""The synthetic ModelArts trace: published statistics, independence of the jobs, refusals."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats
from dlsched.workload.studies.modelarts import SHORT_MEAN_S, ModelArtsSpec, node_hours, speed_of_modelarts
from dlsched.workload.studies.registry import canonical, draw, parse
from tests.support.known import known


def spec(**changes: Any) -> dict[str, Any]:
    return {"kind": "modelarts", **changes}


def interval_of_mean(values: Floats) -> tuple[float, float]:
    """Return where the mean is with 99.9%, from independent values."""
    half = stats.t.ppf(0.9995, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values))
    return float(values.mean() - half), float(values.mean() + half)


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_a_trace_has_the_published_counts_and_span(seed):
    jobs = draw(spec(), seed)
    assert len(jobs) == 1252
    assert (jobs.submit_s[0], jobs.submit_s[-1]) == (0, 49 * 3600 + 41 * 60 + 38)
    is_long = jobs.work >= 300
    assert is_long.sum() == 447
    assert (jobs.work.min() >= 1, jobs.work[~is_long].max() < 300) == (True, True)


def test_means_over_many_traces_are_the_published_ones():
    by_trace = draw(spec(jobs=1252 * 400, sigma=1.2), 3).work.reshape(400, 1252) / 60
    is_long = by_trace >= 5
    assert (is_long.sum(axis=1) == 447).all()
    long_min = np.where(is_long, by_trace, 0).sum(axis=1) / 447
    low, high = interval_of_mean(long_min)
    assert low < 232.6 < high
    assert high - low < 4
    low, high = interval_of_mean(by_trace.mean(axis=1))
    assert low < 84.3 < high
    # what the two published means leave: (1252 x 84.3 - 447 x 232.6) / 805 = 1.952 minutes
    assert pytest.approx(1.952, abs=5e-4) == SHORT_MEAN_S / 60
    assert np.where(is_long, 0, by_trace).sum(axis=1) / 805 == pytest.approx(1.952, rel=0.002)


def test_long_jobs_are_five_minutes_and_a_lognormal():
    jobs = draw(spec(jobs=1252 * 20, sigma=1.5), 2)
    beyond = np.log(jobs.work[jobs.work >= 300] - 300)
    assert beyond.std() == pytest.approx(1.5, rel=0.01)
    assert beyond.mean() == pytest.approx(math.log(227.6 * 60) - 1.5**2 / 2, abs=0.01)
    assert stats.kstest(beyond, "norm", args=(beyond.mean(), 1.5)).statistic < 0.005
    flat = draw(spec(sigma=0), 2).work
    assert flat[flat >= 300] == pytest.approx(232.6 * 60)


def test_long_jobs_come_at_any_place():
    by_place = (draw(spec(jobs=1252 * 300), 5).work >= 300).reshape(300, 1252).mean(axis=0)
    assert by_place.mean() == pytest.approx(447 / 1252)
    assert by_place.std() == pytest.approx(math.sqrt(0.357 * 0.643 / 300), rel=0.1)  # independent of the place
    runs = draw(spec(jobs=1252 * 50), 5).work >= 300
    assert (runs[1:] & runs[:-1]).mean() == pytest.approx((447 / 1252) ** 2, abs=0.006)  # nor of the job before


def test_gaps_are_exponential():
    jobs = draw(spec(jobs=20_000), 3)
    gaps = np.diff(jobs.submit_s) / (178_898 / 1251)
    assert gaps.std() == pytest.approx(1, rel=0.03)
    assert (gaps > 1).mean() == pytest.approx(math.exp(-1), abs=0.015)
    assert jobs.submit_s[2 * 1251] == pytest.approx(2 * 178_898, abs=0.002)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 1000),
    st.integers(1, 1400),
    st.integers(0, 1400),
    st.sampled_from([0.5, 1.0, 2.0, 3.7]),
    st.integers(16, 200),
)
def test_what_a_job_is_depends_on_seed_and_number_only(seed, few, more, load_scale, nodes):
    shares = [4, 2, 1, 1, 1]
    base = draw(spec(jobs=few, requested=shares), seed)
    longer = draw(spec(jobs=few + more, requested=shares), seed)
    assert longer.select(slice(few)).content_hash == base.content_hash
    denser = draw(spec(jobs=few, requested=shares, load_scale=load_scale, nodes=nodes), seed)
    np.testing.assert_array_equal(denser.work, base.work)
    np.testing.assert_array_equal(denser.workers, base.workers)
    np.testing.assert_allclose(denser.submit_s * load_scale, base.submit_s, atol=0.005)


def test_the_baseline_is_the_long_jobs_of_the_same_trace():
    everyone, baseline = draw(spec(), 4), draw(spec(only_long=True), 4)
    assert len(baseline) == 447
    assert everyone.select(everyone.work >= 300).content_hash == baseline.content_hash


def test_a_baseline_without_a_long_job_says_so():
    seed = next(seed for seed in range(20) if draw(spec(jobs=1), seed).work[0] < 300)
    with pytest.raises(InputError, match=f"none of the 1 jobs at seed {seed} trains for 5 minutes.*Draw more jobs"):
        draw(spec(jobs=1, only_long=True), seed)


def test_widths_and_requests():
    jobs = draw(spec(jobs=8000, requested=[0, 3, 1], min_nodes=2, max_nodes=8), 1)
    assert (jobs.gpus_per_worker == 8).all()
    assert set(jobs.workers.tolist()) == {2, 4}
    assert (jobs.workers == 2).mean() == pytest.approx(0.75, abs=0.02)
    assert set(known(jobs.min_workers).tolist()) == {2}
    assert set(known(jobs.max_workers).tolist()) == {8}
    plain_jobs = draw(spec(jobs=50), 1)
    assert (plain_jobs.workers == 1).all()
    assert (known(plain_jobs.min_workers).max(), known(plain_jobs.max_workers).min()) == (1, 16)


def test_node_hours_by_hand():
    # rate(k) = k x 0.8^log2(k): 1, 1.6, 2.56, 4.096, 6.5536
    hours = node_hours(np.full(5, 7200.0), np.array([1, 2, 4, 8, 16]))
    assert hours == pytest.approx(2 * np.array([1, 1.6, 2.56, 4.096, 6.5536]))


def test_another_seed_draws_other_jobs():
    first, second = draw(spec(jobs=50), 1), draw(spec(jobs=50), 2)
    assert (first.work != second.work).all()
    assert (first.submit_s[1:] != second.submit_s[1:]).all()


def test_the_speed_is_the_published_law():
    speed = speed_of_modelarts(ModelArtsSpec())
    assert (speed.kind, speed.efficiency) == ("scaling", 0.8)


def test_the_plain_form_is_stable():
    plain = canonical(spec())
    assert canonical(plain) == plain
    assert plain["requested"] == [1.0]
    assert isinstance(parse(plain), ModelArtsSpec)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes": 0}, "generator, nodes"),
        ({"jobs": 0}, "generator, jobs"),
        ({"load_scale": 0}, "generator, load_scale"),
        ({"sigma": -1}, "generator, sigma"),
        ({"sigma": 3}, "generator, sigma: .*less than or equal to 2.5"),
        ({"requested": []}, "generator, requested"),
        ({"requested": [0, 0]}, "at least one share must be above 0"),
        ({"requested": [1, -1]}, "generator, requested.1"),
        ({"min_nodes": 3}, "generator, min_nodes: must be a power of two, got 3"),
        ({"max_nodes": 12}, "generator, max_nodes: must be a power of two, got 12"),
        ({"min_nodes": 8, "max_nodes": 4}, "min_nodes 8 must be at most max_nodes 4"),
        ({"min_nodes": 2}, "jobs request 1 nodes, but are limited to 2 to 16"),
        ({"max_nodes": 2, "requested": [1, 1, 1]}, "jobs request 4 nodes, but are limited to 1 to 2"),
        ({"nodes": 7, "requested": [1, 1, 1, 1]}, "jobs request 8 nodes, but the cluster has 7"),
        ({"load": 1}, "generator, load: Extra inputs"),
    ],
)
def test_wrong_specifications_name_the_field(changes, message):
    with pytest.raises(InputError, match=message):
        parse(spec(**changes))
