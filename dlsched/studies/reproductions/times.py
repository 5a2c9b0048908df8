"""How long reproductions take: CPU seconds of all processes together, measured in November 2026 on two shared cores.

A full run that was not measured is the quick one times what it has more of (sizes, draws, jobs): rough, and said so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

USUAL_S, USUAL_FULL_S = 30.0, 300.0
"""For a reproduction that is not listed."""


@dataclass(frozen=True, slots=True)
class Time:
    """CPU seconds of a quick and of a full run."""

    quick_s: float
    full_s: float
    full_is_measured: bool = True


TIMES: Mapping[str, Time] = {
    "path-relinking-3a": Time(35, 880, full_is_measured=False),
    "path-relinking-3b": Time(30, 750, full_is_measured=False),
    "path-relinking-3c": Time(28, 700, full_is_measured=False),
    "path-relinking-4": Time(75, 1900, full_is_measured=False),
    "path-relinking-5": Time(52, 1300, full_is_measured=False),
    "path-relinking-6": Time(0.51, 0.37),
    "path-relinking-table-4": Time(0.05, 0.05),
    "hell-knee-1": Time(10, 19),
    "hell-knee-12a": Time(33, 130, full_is_measured=False),
    "hell-knee-12b": Time(24, 96, full_is_measured=False),
    "hell-knee-13a": Time(10, 22),
    "hell-knee-13b": Time(9.1, 19),
    "hell-knee-14": Time(11, 31),
    "hell-knee-7": Time(0.05, 0.36),
    "hell-knee-10": Time(0.17, 1.4),
    "hell-knee-15": Time(0.05, 0.05),
    "hell-knee-table-2": Time(0.17, 1.4),
    "modelarts-4": Time(0.05, 0.05),
    "modelarts-5": Time(0.05, 0.05),
    "modelarts-6": Time(0.05, 0.05),
    "modelarts-7": Time(0.05, 0.05),
    "modelarts-8": Time(0.05, 0.05),
    "modelarts-9": Time(21, 250, full_is_measured=False),
    "modelarts-10": Time(18, 220, full_is_measured=False),
    "modelarts-11": Time(17, 200, full_is_measured=False),
    "modelarts-12": Time(44, 530, full_is_measured=False),
    "modelarts-13": Time(27, 320, full_is_measured=False),
    "modelarts-14": Time(21, 250, full_is_measured=False),
    "modelarts-15": Time(24, 290, full_is_measured=False),
    "modelarts-16": Time(12, 140, full_is_measured=False),
    "smd-7": Time(0.65, 2.9),
    "smd-8": Time(0.54, 2.8),
    "smd-9": Time(0.71, 4.1),
    "smd-10": Time(0.69, 4.3),
    "smd-11": Time(12, 60, full_is_measured=False),
    "smd-12": Time(29, 87, full_is_measured=False),
    "pd-ors-5": Time(0.05, 0.05),
    "pd-ors-6": Time(16, 190, full_is_measured=False),
    "pd-ors-7": Time(12, 140, full_is_measured=False),
    "pd-ors-8": Time(2.8, 12),
    "pd-ors-9": Time(38, 150, full_is_measured=False),
    "pd-ors-10": Time(20, 120, full_is_measured=False),
    "pd-ors-11": Time(40, 400, full_is_measured=False),
    "pd-ors-12": Time(48, 580, full_is_measured=False),
    "pd-ors-13": Time(38, 460, full_is_measured=False),
    "pd-ors-14": Time(13, 91, full_is_measured=False),
    "pd-ors-15": Time(24, 170, full_is_measured=False),
    "pd-ors-16": Time(9.7, 68, full_is_measured=False),
    "pd-ors-17": Time(17, 120, full_is_measured=False),
}
"""By key, as in ``reproductions.registry``."""


def time_of(key: str) -> Time:
    """Return how long a reproduction takes."""
    return TIMES.get(key, Time(USUAL_S, USUAL_FULL_S, full_is_measured=False))


def guess_s(key: str, *, quick: bool) -> float:
    """Return about how long a run takes, CPU seconds."""
    return time_of(key).quick_s if quick else time_of(key).full_s
