"""The period of backfill passes and the hours closed to long jobs, from starts made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dlsched.domain.units import DAY_S, HOUR_S
from dlsched.domain.workload import GPU, Workload
from dlsched.studies.fitting.hours import cell_of, start_rates
from dlsched.studies.fitting.period import backfill_period_s


def jobs(submit_s: Any, start_s: Any, run_s: Any = 100.0, **more: Any) -> Workload:
    start = np.asarray(start_s, float)
    run = np.broadcast_to(np.asarray(run_s, float), start.shape)
    columns = {"job_id": [f"j{n}" for n in range(len(start))], "submit_s": submit_s, "work": run,
               "recorded_start_s": start, "recorded_end_s": start + run}  # fmt: skip
    return Workload.from_columns(columns | more)


@pytest.mark.parametrize("period_s", [30.0, 60.4, 120.08, 300.0])
def test_starts_on_a_grid_show_its_period(period_s: float) -> None:
    rng = np.random.default_rng(3)
    passes = np.cumsum(rng.choice([1, 1, 2, 3], 400))
    start_s = np.floor(passes * period_s + 1000)
    found = backfill_period_s(jobs(np.zeros(400), start_s))
    assert found == pytest.approx(period_s, abs=0.05)


def test_half_the_starts_off_the_grid_still_show_it_and_none_on_it_show_nothing() -> None:
    rng = np.random.default_rng(4)
    on = np.cumsum(rng.choice([1, 2, 3], 600)) * 120.0
    off = rng.uniform(0, on[-1], 120)
    assert backfill_period_s(jobs(np.zeros(720), np.sort(np.concatenate([on, off])))) == pytest.approx(120, abs=1)
    assert backfill_period_s(jobs(np.zeros(720), np.sort(rng.uniform(100, 200_000, 720)))) is None


def test_jobs_that_did_not_wait_and_too_few_gaps_say_nothing() -> None:
    start_s = np.arange(1, 401) * 120.0
    assert backfill_period_s(jobs(start_s - 5.0, start_s)) is None  # 5 s is no wait
    assert backfill_period_s(jobs(start_s - 6.0, start_s)) == 120
    assert backfill_period_s(jobs(np.zeros(100), start_s[:100])) is None  # 99 gaps
    assert backfill_period_s(jobs(np.zeros(101), start_s[:101])) == 120


def test_cells_follow_the_clock_of_the_log() -> None:
    # 1 June 2024 was a Saturday
    found = jobs([0.0], [0.0]).with_columns()
    dated = Workload.from_columns(found.columns(), {"time_zero": "2024-06-01T22:30:00"})
    at_s = np.array([0.0, 1.5 * HOUR_S, 25.5 * HOUR_S, 25.4 * HOUR_S])
    assert cell_of(dated, at_s).tolist() == [24 + 22, 24 + 0, 0, 24 + 23]
    assert cell_of(found, at_s).tolist() == [0, 1, 1, 1]  # no dates: the first day is a Monday


def test_hours_without_a_start_while_there_was_room_are_closed() -> None:
    """Jobs of 2 h limits that are submitted at any hour start at night only; short ones start at once."""
    rng = np.random.default_rng(5)
    days = 60
    submit_s = np.sort(rng.uniform(0, days * DAY_S, 1200))
    long = rng.random(1200) < 0.5
    hour = submit_s % DAY_S / HOUR_S
    evening_s = np.floor(submit_s / DAY_S) * DAY_S + 20 * HOUR_S
    start_s = np.where(long & (hour >= 8) & (hour < 20), evening_s, submit_s) + 1.0
    limit_s = np.where(long, 2 * HOUR_S, 0.5 * HOUR_S)
    found = jobs(submit_s, start_s, 600.0, limit_s=limit_s)
    rates = start_rates(found, 10_000.0, GPU)
    closed = rates.closed
    assert rates.over_s.tolist() == [0, HOUR_S, 4 * HOUR_S, 15 * HOUR_S]
    assert not closed[[0, 2, 3]].any()
    enough = np.flatnonzero(rates.waited_h[1] >= 20).tolist()  # the first hours of the day add up to fewer job-hours
    assert np.flatnonzero(closed[1]).tolist() == enough == [*range(9, 20), *range(24 + 11, 24 + 20)]


def test_job_hours_count_only_while_there_is_room() -> None:
    """One job of 4 GPUs waits 3 h; in the second hour 2 of 4 GPUs are held by another."""
    found = jobs(
        [0.0, HOUR_S], [3 * HOUR_S, HOUR_S], [HOUR_S, HOUR_S], gpus_per_worker=[4.0, 2.0], limit_s=[2 * HOUR_S, HOUR_S]
    )
    rates = start_rates(found, 4.0, GPU)
    assert rates.waited_h[1, :4].tolist() == [1, 0, 1, 0]
    assert rates.starts[1, 3] == 1
    assert rates.rate[1, 3] == pytest.approx(4)  # 1 start in a quarter of an hour
