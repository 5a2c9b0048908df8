"""Telling whoever waits how far a run is."""

from __future__ import annotations

import time
from collections.abc import Callable

from dlsched.domain.units import DAY_S
from dlsched.domain.workload import Floats

ProgressCall = Callable[[float, str], None]
_LOOK_EVERY = 32
_PAUSE_S = 0.2


class Meter:
    """Calls ``progress`` about every 1 % of the jobs, or every 0.2 s, whichever comes first."""

    def __init__(self, progress: ProgressCall | None, submit_s: Floats) -> None:
        self._progress = progress
        self._num_jobs = max(1, len(submit_s))
        self._start_s = float(submit_s[0]) if len(submit_s) else 0.0
        self._days = self._day(float(submit_s[-1])) if len(submit_s) else 1
        self._ticks = 0
        self._told_ended, self._told_s = 0, time.perf_counter()

    def tick(self, num_ended: int, now_s: float) -> None:
        """Report if it is time to; called once per instant."""
        self._ticks += 1
        if self._progress is None or self._ticks % _LOOK_EVERY:
            return
        clock_s = time.perf_counter()
        if num_ended - self._told_ended < 0.01 * self._num_jobs and clock_s - self._told_s < _PAUSE_S:
            return
        self._told_ended, self._told_s = num_ended, clock_s
        day = self._day(now_s)
        self._progress(num_ended / self._num_jobs, f"day {day} of {max(day, self._days)}")

    def done(self) -> None:
        """Report the end."""
        if self._progress is not None:
            self._progress(1.0, "done")

    def _day(self, time_s: float) -> int:
        return int((time_s - self._start_s) // DAY_S) + 1
