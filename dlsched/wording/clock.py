"""When something happens: dates where the trace has them, else one count of days from its first job."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.units import DAY_S, HOUR_S, MINUTE_S
from dlsched.domain.workload import Workload
from dlsched.wording.formats import MINUS, MISSING, Number, cut
from dlsched.wording.typed import NotRead

FIRST_YEAR, LAST_YEAR = 1980, 2200
"""Traces whose dates were anonymised start in 1970; a date outside these years is none."""
DATE_FORMS = tuple(
    day + time for day in ("%a %d %b %Y", "%d %b %Y", "%Y-%m-%d") for time in (" %H:%M:%S", " %H:%M", "")
)
_ASIDE = re.compile(r",| \(")
"""Begins what only the details of a zone say: "local time of the cluster (US Pacific), no zone in the file"."""
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_DAY = re.compile(r"(?:day )?(-?\d+(?:\.\d*)?)(?: ([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?)?")
LONGEST_S, SHORT_S = 1000 * 365 * DAY_S, 2 * HOUR_S
EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Clock:
    """What the times of a trace are called.

    ``zero`` is the date of the trace's second 0, as the clock of ``zone`` showed it. Without it, times are counted in
    days from 0. ``span_s`` is how long the trace is: without dates, the unit of all its axes follows from that.
    """

    zero: datetime | None = None
    zone: str = ""
    span_s: float = 0.0

    def moment(self, seconds: Number) -> str:
        """Return a time as a sentence says it: "Tue 27 Oct 2026, 08:43", or "day 26, 08:43"; the first day is day 0.

        Times of traces of up to two hours are given to the second: "day 0, 00:12:30".
        """
        if seconds is None or not math.isfinite(seconds):
            return MISSING
        step_s, form = (1, "%H:%M:%S") if 0 < self.span_s < SHORT_S else (60, "%H:%M")
        if self.zero is not None and abs(seconds) < LONGEST_S:
            since = (self.zero - EPOCH).total_seconds() + seconds
            at = EPOCH + timedelta(seconds=math.floor(since / step_s + 0.5) * step_s)
            return f"{at:%a} {at.day} {at:%b %Y}, {at.strftime(form)}"
        days, rest_s = divmod(math.floor(seconds / step_s + 0.5) * step_s, round(DAY_S))
        return f"day {days:,}, {(EPOCH + timedelta(seconds=rest_s)).strftime(form)}".replace("-", MINUS)

    def read(self, text: str) -> float:
        """Return a typed time, in seconds from the start of the trace: as :meth:`moment` writes it, or a plain date.

        Without dates "day 26, 08:43", or days with a fraction.

        Raises
        ------
        NotRead
            Where the text is no time of this clock.
        """
        flat = " ".join(_THOUSANDS.sub("", text.replace(MINUS, "-")).replace(",", " ").split())
        if self.zero is not None:
            for form in DATE_FORMS:
                with suppress(ValueError):
                    return (datetime.strptime(flat, form) - self.zero).total_seconds()
            raise NotRead(f"is a date, as {self.moment(0.0)}, got {text!r:.40}")
        found = _DAY.fullmatch(flat.lower())
        if found is None:
            raise NotRead(f"is written as day 26, 08:43, got {text!r:.40}")
        day, hour, minute, second = (float(part or 0) for part in found.groups())
        return day * DAY_S + hour * HOUR_S + minute * MINUTE_S + second

    def at(self, seconds: Any) -> NDArray[np.datetime64]:
        """Return times as dates to the millisecond, for axes and files; only where there are dates."""
        parts = np.asarray(seconds, dtype=np.float64)
        since = np.where(np.isfinite(parts), np.round(1000 * np.nan_to_num(parts)), 0).astype("timedelta64[ms]")
        return np.where(np.isfinite(parts), np.datetime64(self.zero, "ms") + since, np.datetime64("NaT", "ms"))

    def seconds(self, date: str) -> float:
        """Return the time of a date as an axis gives it back, in seconds from the start of the trace."""
        if self.zero is None:
            raise ValueError(f"this trace has no dates, got {date!r:.40}")
        return (datetime.fromisoformat(date.strip()).replace(tzinfo=None) - self.zero).total_seconds()


DAYS = Clock()
"""Times of a trace without dates."""


def clock_of(jobs: Workload) -> Clock:
    """Return the clock of a workload: what its source said of dates and of their zone.

    Dates with a zone of their own are given in UTC.
    """
    span_s = 0.0
    if len(jobs):
        span_s = float(jobs.submit_s[-1]) or float(jobs.work.max())
    try:
        zero = datetime.fromisoformat(jobs.meta.get("time_zero", ""))
    except ValueError:
        return Clock(span_s=span_s)
    zone = "UTC"
    if zero.tzinfo is None:
        zone = cut(_ASIDE.split(jobs.meta.get("time_zone", "as recorded"))[0], 40)
    else:
        zero = zero.astimezone(UTC).replace(tzinfo=None)
    if not FIRST_YEAR <= zero.year <= LAST_YEAR:
        return Clock(span_s=span_s)
    return Clock(zero, zone, span_s)
