"""Hours in which long jobs do not start, as one line of text: "4-15 wd 8-18; 15- all 7-20"."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

HOUR_S = 3600.0
HOURS_A_DAY, DAYS_A_WEEK = 24, 7
DAYS = {"wd": range(5), "we": range(5, 7), "all": range(7)}
_RULE = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)-(\d{1,6}(?:\.\d{1,6})?)?\s+(wd|we|all)\s+(\d[\d\s,-]*)", re.ASCII)
_SPAN = re.compile(r"(\d{1,2})-(\d{1,2})", re.ASCII)
MOST_RULES = 200

Classes = list[tuple[float, float, NDArray[np.uint8]]]
"""Time limits above and up to these seconds, and the 168 hours of a week from Monday: 1 = closed."""


def closed_hours(text: str) -> Classes:
    """Return the classes of time limits with their closed hours; ValueError for what cannot be read.

    A rule is "LIMITS DAYS HOURS": time limits above the first and up to the second number of hours (none = any), days
    wd, we or all, hours as "8-18" or "0-6,20-24"; a span from 22 to 6 goes over midnight. Rules are separated by ;.
    """
    classes: dict[tuple[float, float], NDArray[np.uint8]] = {}
    rules = [part.strip() for part in text.split(";") if part.strip()]
    if len(rules) > MOST_RULES:
        raise ValueError(f"at most {MOST_RULES} rules, got {len(rules)}")
    for rule in rules:
        match = _RULE.fullmatch(rule)
        if match is None:
            raise ValueError(f"a rule is like '4-15 wd 8-18', got {rule[:80]!r}")
        low_s = float(match[1]) * HOUR_S
        high_s = float(match[2]) * HOUR_S if match[2] else np.inf
        if low_s >= high_s:
            raise ValueError(f"time limits must rise, got {rule[:80]!r}")
        closed = classes.setdefault((low_s, high_s), np.zeros(DAYS_A_WEEK * HOURS_A_DAY, dtype=np.uint8))
        for hour in _hours(match[4], rule):
            for day in DAYS[match[3]]:
                closed[day * HOURS_A_DAY + hour] = 1
    return [(*limits, closed) for limits, closed in classes.items()]


def _hours(text: str, rule: str) -> list[int]:
    hours: list[int] = []
    for part in text.split(","):
        span = _SPAN.fullmatch(part.strip())
        if span is None or not (int(span[1]) < HOURS_A_DAY and 1 <= int(span[2]) <= HOURS_A_DAY):
            raise ValueError(f"hours are like 8-18, from 0 to 24, got {part.strip()[:40]!r} in {rule[:80]!r}")
        first, past = int(span[1]), int(span[2])
        hours += range(first, past) if first < past else [*range(first, HOURS_A_DAY), *range(past)]
    return hours


def class_of(limit_s: float, classes: Classes) -> int:
    """Return the number of the first class that holds a time limit; -1 = none."""
    return next((n for n, (low_s, high_s, _) in enumerate(classes) if low_s < limit_s <= high_s), -1)
