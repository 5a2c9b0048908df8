"""What stands idle while jobs that fit wait: by hand, and against a count at every second."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.metrics.idle_and_wanted import QueueOverTime, queue_over_time

NAN = float("nan")


def queue(rows: list[tuple[float, float, float, float]], capacity: float) -> QueueOverTime:
    """Return the queue of jobs given as (submit, start, end, width)."""
    submit_s, start_s, end_s, width = np.array(rows, dtype=float).reshape(-1, 4).T
    return queue_over_time(submit_s, start_s, end_s, width, capacity)


def test_by_hand() -> None:
    # 8 GPUs. A holds 6 from 0 to 100 s. B (4) does not fit until A ends, yet starts only at 130 s. C (1) fits always
    # and waits from 50 to 80 s. So from 50 to 80 s 1 of the 2 free GPUs is wanted, from 100 to 130 s 4 of 8.
    found = queue([(0, 0, 100, 6), (20, 130, 200, 4), (50, 80, 120, 1)], 8)
    assert found.at_s.tolist() == [0, 20, 50, 80, 100, 120, 130, 200]
    assert found.waiting.tolist() == [0, 1, 2, 1, 1, 1, 0]
    assert found.free.tolist() == [2, 2, 2, 1, 7, 8, 4]
    assert found.idle_wanted.tolist() == [0, 0, 1, 0, 4, 4, 0]
    assert found.queued_s == 110
    assert found.idle_wanted_share == pytest.approx((1 * 30 + 4 * 30) / 110 / 8)


def test_no_more_than_what_is_free_is_wanted() -> None:
    found = queue([(0, 10, 20, 3), (0, 10, 20, 3), (0, 10, 20, 3)], 8)
    assert found.idle_wanted.tolist() == [8, 0]
    assert found.idle_wanted_share == 1


def test_a_job_that_never_starts_waits_until_its_end_or_the_last_instant() -> None:
    left = queue([(0, 0, 100, 1), (10, NAN, 40, 1)], 2)
    assert left.queued_s == 30
    stays = queue([(0, 0, 100, 1), (10, NAN, NAN, 1)], 2)
    assert stays.queued_s == 90
    runs = queue([(0, 0, NAN, 2), (10, 50, 60, 1)], 2)
    assert runs.free.tolist() == [0, 0, 0]  # a job without an end holds its GPUs


def test_without_a_queue_there_is_no_share() -> None:
    assert queue([(0, 0, 10, 1), (5, 5, 9, 1)], 2).idle_wanted_share is None
    assert queue([], 2).idle_wanted_share is None


def test_parts_of_a_gpu_fit_to_the_last_one() -> None:
    tenths = [(0.0, 0.0, 10.0, 0.1)] * 9
    assert queue([*tenths, (0, 5, 10, 0.1)], 1.0).idle_wanted_share == pytest.approx(0.1)


JOBS = st.lists(
    st.tuples(
        st.integers(0, 12),
        st.integers(0, 6) | st.none(),
        st.integers(0, 6) | st.none(),
        st.sampled_from([1, 2, 3, 5, 8]),
    ),
    min_size=1,
    max_size=12,
)


@given(jobs=JOBS, capacity=st.integers(1, 12))
def test_it_is_the_count_at_every_second(jobs: list[tuple[int, int | None, int | None, int]], capacity: int) -> None:
    rows = [
        (submit, NAN if wait is None else submit + wait, NAN if run is None else submit + (wait or 0) + run, width)
        for submit, wait, run, width in jobs
    ]
    last_s = max(int(value) for row in rows for value in row[:3] if value == value)
    queued, idle = 0, 0.0
    for second in range(last_s):
        held, waiting = 0.0, []
        for submit, start, end, width in rows:
            gone = end if end == end else last_s
            if submit <= second < (start if start == start else gone):
                waiting.append(width)
            if start == start and start <= second < gone:
                held += width
        free = max(capacity - held, 0)
        queued += bool(waiting)
        idle += min(free, sum(width for width in waiting if width <= free))
    found = queue([(float(a), b, c, d) for a, b, c, d in rows], capacity)
    assert found.queued_s == queued
    assert found.idle_wanted_share == (pytest.approx(idle / queued / capacity) if queued else None)


def test_a_million_jobs_take_seconds() -> None:
    import time

    rng = np.random.default_rng(0)
    submit_s = np.sort(rng.uniform(0, 1e7, 1_000_000))
    start_s = submit_s + rng.exponential(100, len(submit_s))
    began = time.process_time()
    queue_over_time(submit_s, start_s, start_s + 600, rng.integers(1, 300, len(submit_s)).astype(float), 9000)
    assert time.process_time() - began < 15
