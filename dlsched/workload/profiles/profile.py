"""Measured or predicted run times of one network as a row of a time table, and its fastest configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dlsched.domain.timetable import Row


@dataclass(frozen=True, slots=True)
class Profile:
    """``rows`` GPU type -> times with 1, 2, ... GPUs over the smallest of them; that one is ``fastest_s``, ``gpus``.

    A job with this profile has ``work`` = ``fastest_s`` and asks for ``gpus`` workers.
    """

    rows: Mapping[str, Row]
    fastest_s: float
    gpus: int


def profile_of(times: Mapping[str, Sequence[float]]) -> Profile:
    """Return the profile of run times in seconds, GPU type -> with 1, 2, ... GPUs; ties take the fewest GPUs."""
    fastest_s, gpus = min((seconds, gpus) for row in times.values() for gpus, seconds in enumerate(row, start=1))
    rows = {gpu_type: tuple(seconds / fastest_s for seconds in row) for gpu_type, row in times.items()}
    return Profile(rows, fastest_s, gpus)
