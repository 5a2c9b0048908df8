"""More or fewer jobs over the same time: counts, nesting, load, time span, hours of the day."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.units import DAY_S, HOUR_S
from dlsched.domain.workload import Workload
from dlsched.workload.generators.demand import scale_demand
from dlsched.workload.generators.resample import resample_days
from dlsched.workload.import_report import arrival_window_s
from tests.support.known import known

FROM_MONDAY_S = 20_000 * DAY_S
factors = st.floats(0.05, 5.0)
seeds = st.integers(0, 50)


@st.composite
def traces(draw: st.DrawFn, days: float = 9.0) -> Workload:
    """Return 1 to 60 jobs over up to so many days, with works of all sizes, ties among them."""
    many = draw(st.integers(1, 60))
    span = st.lists(st.floats(0, days * DAY_S), min_size=many, max_size=many)
    works = st.lists(st.sampled_from([1.0, 60.0, 600.0, 1e4, 1e6]), min_size=many, max_size=many)
    widths = st.lists(st.sampled_from([1, 2, 8]), min_size=many, max_size=many)
    return trace(np.sort(draw(span)) + FROM_MONDAY_S, draw(works), draw(widths))


def trace(submit_s: Any, work: Any, workers: Any = 1, **more: Any) -> Workload:
    many = len(submit_s)
    columns = {
        "job_id": [f"j{number}" for number in range(many)],
        "submit_s": np.asarray(submit_s, float),
        "work": np.broadcast_to(np.asarray(work, float), many),
        "workers": np.broadcast_to(np.asarray(workers), many),
        "due_s": np.asarray(submit_s, float) + 500.0,
        "user": [f"u{number % 3}" for number in range(many)],
        "recorded_start_s": np.asarray(submit_s, float) + 1.0,
    }
    return Workload.from_columns({**columns, **more}, {"source": "campus"})


def of_origin(name: str) -> str:
    return name.partition("+")[0]


@given(traces(), factors, seeds)
def test_the_number_of_jobs_is_the_factor_to_the_nearest_job(jobs: Workload, factor: float, seed: int) -> None:
    assert len(scale_demand(jobs, factor, seed)) == max(1, round(factor * len(jobs)))


def test_thirty_percent_more_of_10_000_jobs_are_13_000() -> None:
    jobs = trace(np.linspace(0, 30 * DAY_S, 10_000), np.arange(10_000) + 1.0)
    assert [len(scale_demand(jobs, factor, 4)) for factor in (1.3, 0.7, 2.0)] == [13_000, 7_000, 20_000]


@given(traces(), seeds)
def test_one_changes_nothing(jobs: Workload, seed: int) -> None:
    assert scale_demand(jobs, 1.0, seed) is jobs


@given(traces(), factors, factors, seeds)
def test_jobs_of_a_smaller_factor_are_among_those_of_a_larger_one(
    jobs: Workload, one: float, other: float, seed: int
) -> None:
    few, many = (scale_demand(jobs, factor, seed) for factor in sorted((one, other)))
    at = dict(zip(many.job_id, many.submit_s, strict=True))
    assert {name: at[name] for name in few.job_id} == dict(zip(few.job_id, few.submit_s, strict=True))


@given(traces(), factors, seeds)
def test_a_copy_is_its_job_at_another_time(jobs: Workload, factor: float, seed: int) -> None:
    more = scale_demand(jobs, factor, seed)
    row_of = {name: row for row, name in enumerate(jobs.job_id)}
    rows = [row_of[of_origin(name)] for name in more.job_id]
    for name in ("work", "workers", "user"):
        assert getattr(more, name).tolist() == getattr(jobs, name)[rows].tolist()
    assert known(more.due_s) - more.submit_s == pytest.approx(np.full(len(more), 500.0), abs=1e-3)
    own = [row for row, name in enumerate(more.job_id) if "+" not in name]
    assert more.submit_s[own].tolist() == jobs.submit_s[np.array(rows)[own]].tolist()
    if len(more) != len(jobs):
        assert more.recorded_start_s is None
    if factor > 1:
        assert set(jobs.job_id) <= set(more.job_id)


@given(traces(), factors, seeds)
def test_the_time_in_which_jobs_arrive_stays(jobs: Workload, factor: float, seed: int) -> None:
    more = scale_demand(jobs, factor, seed)
    assert more.submit_s[0] == jobs.submit_s[0]
    if len(more) > 1:
        assert arrival_window_s(more) == arrival_window_s(jobs)


@given(traces(), factors, seeds)
def test_load_scales_by_the_factor_up_to_a_few_of_the_largest_jobs(jobs: Workload, factor: float, seed: int) -> None:
    """Koksma: jobs by size are a monotone function, and multiples of the golden ratio have a small discrepancy."""
    more = scale_demand(jobs, factor, seed)
    asked, largest = jobs.work * jobs.gpus, (jobs.work * jobs.gpus).max()
    assert abs((more.work * more.gpus).sum() - factor * asked.sum()) <= 4.5 * largest


def test_load_of_many_jobs_scales_by_the_factor() -> None:
    rng = np.random.default_rng(1)
    jobs = trace(np.sort(rng.uniform(0, 28 * DAY_S, 5_000)), rng.lognormal(7, 1, 5_000), rng.integers(1, 9, 5_000))
    asked = (jobs.work * jobs.gpus).sum()
    for seed in range(20):
        for factor in (0.8, 1.03, 1.3, 2.5):
            more = scale_demand(jobs, factor, seed)
            assert (more.work * more.gpus).sum() / asked == pytest.approx(factor, abs=0.01)


@given(traces(), seeds)
def test_copies_keep_their_time_of_day_where_there_are_other_days(jobs: Workload, seed: int) -> None:
    more = scale_demand(jobs, 3.0, seed)
    row_of = {name: row for row, name in enumerate(jobs.job_id)}
    moved_s = {
        name: at_s - jobs.submit_s[row_of[of_origin(name)]]
        for name, at_s in zip(more.job_id, more.submit_s, strict=True)
        if "+" in name
    }
    other_day = {name: abs(s) >= DAY_S / 2 for name, s in moved_s.items()}
    assert all(s % DAY_S == pytest.approx(0, abs=1e-3) or s % DAY_S == pytest.approx(DAY_S, abs=1e-3)
               for name, s in moved_s.items() if other_day[name])  # fmt: skip
    assert all(abs(s) <= HOUR_S for name, s in moved_s.items() if not other_day[name])


def test_busy_days_and_hours_get_as_much_more_as_quiet_ones() -> None:
    """Two weeks with half of the jobs at weekends and none at night: twice the demand is twice each day and hour."""
    per_day = [400, 400, 400, 400, 400, 200, 200] * 2
    submit_s = np.concatenate(
        [DAY_S * day + HOUR_S * np.linspace(8.01, 19.99, many) for day, many in enumerate(per_day)]
    )
    more = np.mean(
        [
            np.bincount((scale_demand(trace(submit_s, 60.0), 2.0, seed).submit_s // DAY_S).astype(int))
            for seed in range(20)
        ],
        axis=0,
    )
    assert more == pytest.approx(2 * np.array(per_day), rel=0.06)
    hours = scale_demand(trace(submit_s, 60.0), 2.0, 5).submit_s % DAY_S // HOUR_S
    before = np.bincount((submit_s % DAY_S // HOUR_S).astype(int), minlength=24)
    assert np.bincount(hours.astype(int), minlength=24).tolist() == (2 * before).tolist()


def test_jobs_of_one_day_are_moved_within_the_hour_and_jobs_at_once_stay_at_once() -> None:
    one_day = trace(np.linspace(0, 20 * HOUR_S, 200), 60.0)
    assert not set(scale_demand(one_day, 2.0, 1).submit_s[1:-1]) <= set(one_day.submit_s)
    at_once = scale_demand(trace([7.0] * 10, 60.0), 2.5, 1)
    assert len(at_once) == 25
    assert at_once.all_at_once


def test_futures_differ_and_one_seed_says_the_same() -> None:
    jobs = trace(np.linspace(0, 9 * DAY_S, 100), np.arange(100) + 1.0)
    assert scale_demand(jobs, 1.3, 1) == scale_demand(jobs, 1.3, 1)
    assert scale_demand(jobs, 1.3, 1) != scale_demand(jobs, 1.3, 2)


def test_names_never_meet_those_of_the_trace() -> None:
    jobs = trace([0.0, 1.0, 2.0], 1.0, job_id=["a", "a+1", "b"])
    assert set(scale_demand(jobs, 2.0, 0).job_id) == {"a", "a+1", "b", "a++1", "a+1++1", "b++1"}


def test_days_are_resampled_before_jobs_are_added() -> None:
    jobs = trace(np.linspace(0, 9 * DAY_S, 100), np.arange(100) + 1.0)
    both = scale_demand(resample_days(jobs, 3), 1.2, 3)
    assert len(both) == round(1.2 * len(resample_days(jobs, 3)))
    assert any("@" in name and name.endswith("+1") for name in both.job_id)


def test_no_jobs_stay_none() -> None:
    assert len(scale_demand(trace([], []), 2.0, 0)) == 0
