"""Days resampled: whole days, with replacement, every time of a job moved by the same number of days."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Workload
from dlsched.metrics.stats.intervals import mean_interval
from dlsched.workload.generators.resample import resample_days

DAY_S = 86_400
submissions = st.lists(st.floats(0, 6 * DAY_S), min_size=1, max_size=30)


def trace(submit_s) -> Workload:
    jobs = len(submit_s)
    columns = {"job_id": [f"a{n}" for n in range(jobs)], "submit_s": submit_s, "work": np.arange(jobs) + 1.0}
    return Workload.from_columns({**columns, "due_s": np.array(submit_s) + 50}, {"source": "campus"})


@given(submissions, st.integers(0, 20))
def test_each_day_is_a_whole_day_of_the_trace(submit_s, seed):
    jobs = trace(submit_s)
    again = resample_days(jobs, seed)
    first = int(jobs.submit_s[0] // DAY_S)
    days = {day: set(jobs.job_id[jobs.submit_s // DAY_S == day]) for day in range(first, 7)}
    for day in range(first, int(jobs.submit_s[-1] // DAY_S) + 1):
        names = [name for name in again.job_id if name.endswith(f"@{day - first + 1}")]
        assert {name.split("@")[0] for name in names} in days.values()
    assert again.columns()["due_s"] - again.submit_s == pytest.approx(np.full(len(again), 50), abs=1e-6)


@given(submissions, st.integers(0, 20))
def test_hour_of_the_day_stays_and_so_does_the_job(submit_s, seed):
    jobs = trace(submit_s)
    again = resample_days(jobs, seed)
    row_of = {name: row for row, name in enumerate(jobs.job_id)}
    rows = [row_of[name.split("@")[0]] for name in again.job_id]
    assert again.work.tolist() == jobs.work[rows].tolist()
    assert again.submit_s % DAY_S == pytest.approx(jobs.submit_s[rows] % DAY_S, abs=1e-6)


def test_seeded_and_labelled():
    jobs = trace(np.linspace(0, 20 * DAY_S, 500))
    assert resample_days(jobs, 1) == resample_days(jobs, 1)
    assert resample_days(jobs, 1) != resample_days(jobs, 2)
    assert resample_days(jobs, 1).meta["source"] == "campus; days resampled, seed 1"


def test_days_are_drawn_alike():
    jobs = trace([100, DAY_S + 100, 2 * DAY_S + 100])
    counts = dict.fromkeys(jobs.job_id, 0)
    for seed in range(2000):
        for name in resample_days(jobs, seed).job_id:
            counts[name.split("@")[0]] += 1
    assert list(counts.values()) == pytest.approx([2000] * 3, rel=0.06)


def test_a_trace_of_endless_days_is_refused():
    with pytest.raises(InputError, match="11,574,075 days"):
        resample_days(trace([0, 1e12]), 0)


def test_days_resampled_say_nothing_of_other_days() -> None:
    """The interval of 20 draws is of their mean: it holds the mean of all traces far less often than in 95 of 100."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(80):
        submit_s = np.sort(rng.uniform(0, 10 * 86_400, rng.poisson(10 * 20)))  # 20 jobs a day
        ids = [f"j{number}" for number in range(len(submit_s))]
        jobs = Workload.from_columns({"job_id": ids, "submit_s": submit_s, "work": np.ones(len(submit_s))})
        of = mean_interval([float(len(resample_days(jobs, seed))) for seed in range(20)])
        held += not of.tells_apart(200.0)
    # Both the trace and the draws deviate by sqrt(200): P(|Z| < 2.09 / sqrt(21)) = 35%.
    assert 0.2 < held / 80 < 0.5
