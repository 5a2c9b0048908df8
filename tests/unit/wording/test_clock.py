"""When something happens, in words and as dates."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.workload import Workload
from dlsched.wording.clock import DAYS, Clock, clock_of
from dlsched.wording.formats import MINUS, MISSING
from dlsched.wording.typed import NotRead

OCTOBER = Clock(datetime(2026, 10, 1, 0, 0, 17), "UTC")


def jobs_of(**meta: str) -> Workload:
    return Workload.from_columns({"job_id": ["a", "b"], "submit_s": [0.0, 90.0], "work": [5.0, 7.0]}, meta)


@pytest.mark.parametrize(
    ("clock", "seconds", "text"),
    [
        (DAYS, 26 * 86_400 + 31_380, "day 26, 08:43"),
        (DAYS, 0, "day 0, 00:00"),
        (DAYS, 86_399, "day 1, 00:00"),
        (DAYS, -60, f"day {MINUS}1, 23:59"),
        (DAYS, 1_234 * 86_400, "day 1,234, 00:00"),
        (OCTOBER, 26 * 86_400 + 31_380, "Tue 27 Oct 2026, 08:43"),
        (OCTOBER, 12, "Thu 1 Oct 2026, 00:00"),
        (OCTOBER, 13, "Thu 1 Oct 2026, 00:01"),
        (OCTOBER, None, MISSING),
        (OCTOBER, float("inf"), MISSING),
        (OCTOBER, 1e15, "day 11,574,074,074, 01:47"),
    ],
)
def test_moment(clock: Clock, seconds: float | None, text: str) -> None:
    assert clock.moment(seconds) == text


@given(st.floats(-1e9, 1e10))
def test_a_moment_is_the_nearest_minute(seconds: float) -> None:
    said = datetime.strptime(OCTOBER.moment(seconds), "%a %d %b %Y, %H:%M")
    assert OCTOBER.zero is not None
    assert abs(said - OCTOBER.zero - timedelta(seconds=seconds)) <= timedelta(seconds=30, milliseconds=1)


@given(st.floats(-1e9, 1e9))
def test_a_date_of_an_axis_is_read_back(seconds: float) -> None:
    date = str(OCTOBER.at([seconds])[0]).replace("T", " ")
    assert OCTOBER.seconds(date) == pytest.approx(seconds, abs=0.00051)


def test_what_is_not_known_has_no_date() -> None:
    assert np.isnat(OCTOBER.at([np.nan, 1.0])).tolist() == [True, False]
    with pytest.raises(ValueError, match="no dates"):
        DAYS.seconds("2026-10-27")


@pytest.mark.parametrize(
    ("meta", "zero", "zone"),
    [
        ({}, None, ""),
        ({"time_zero": "2017-06-01T00:00:00Z", "time_zone": "US/Pacific"}, datetime(2017, 6, 1), "UTC"),
        ({"time_zero": "2026-03-01T23:59:00+01:00"}, datetime(2026, 3, 1, 22, 59), "UTC"),
        ({"time_zero": "2026-03-01", "time_zone": "local time (PST), no zone"}, datetime(2026, 3, 1), "local time"),
        ({"time_zero": "2026-03-01"}, datetime(2026, 3, 1), "as recorded"),
        ({"time_zero": "1e+12 s after 1970"}, None, ""),
        ({"time_zero": "1970-01-20T00:00:00"}, None, ""),
    ],
)
def test_the_clock_of_a_trace(meta: dict[str, str], zero: datetime | None, zone: str) -> None:
    assert clock_of(jobs_of(**meta)) == Clock(zero, zone, 90.0)


def test_jobs_that_come_at_once_span_the_longest_of_them() -> None:
    at_once = Workload.from_columns({"job_id": ["a", "b"], "submit_s": [0.0, 0.0], "work": [5.0, 700.0]})
    assert clock_of(at_once).span_s == 700.0
    assert clock_of(at_once.head(0)) == DAYS


@given(st.floats(-1e8, 1e9), st.sampled_from([DAYS, OCTOBER, Clock(span_s=600.0), Clock(OCTOBER.zero, "UTC", 600.0)]))
def test_a_moment_is_read_back_to_the_minute_or_the_second(seconds: float, clock: Clock) -> None:
    half_s = 0.5 if clock.span_s else 30
    assert clock.read(clock.moment(seconds)) == pytest.approx(seconds, abs=half_s + 0.01)


@pytest.mark.parametrize(
    ("clock", "text", "seconds"),
    [
        (DAYS, "26.5", 26.5 * 86_400),
        (DAYS, "Day 2", 2 * 86_400),
        (DAYS, "2 6:30", 2 * 86_400 + 23_400),
        (OCTOBER, "2026-10-02", 86_383),
        (OCTOBER, "2 Oct 2026, 06:30", 86_383 + 23_400),
        (OCTOBER, "2026-10-02 06:30:05", 86_383 + 23_405),
    ],
)
def test_times_are_read_as_people_type_them(clock: Clock, text: str, seconds: float) -> None:
    assert clock.read(text) == seconds


@pytest.mark.parametrize(("clock", "text"), [(DAYS, "soon"), (DAYS, "day 2, 25:00"), (OCTOBER, "26.5"), (OCTOBER, "")])
def test_what_is_no_time_is_refused(clock: Clock, text: str) -> None:
    with pytest.raises(NotRead, match="got"):
        clock.read(text)
