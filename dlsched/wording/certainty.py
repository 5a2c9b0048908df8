"""How sure a number is: in words a planner uses; for the lab also as a mean with its half width."""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np

from dlsched.domain.units import HOUR_S
from dlsched.wording.formats import Kind, Number, amount, decimal, factor, number, show, show_interval

EXACT = "exact for this trace, not a forecast"
EXACT_WHY = "Exact for this trace, not a forecast: nothing in it is random."
NOTHING_VARIES = "Nothing varies: exact for this trace, not a forecast. Let something vary to see a range of futures."
FEWEST_DAYS = 5
"""A shorter trace says nothing about other months (decision 029)."""
LARGE_RATIO = 2.0
"""From this value on a change is stated as a ratio: 2.5x."""
ROUGH = "rough preview, 1 simulation"


class BasisLike(Protocol):
    """What futures are of, see :class:`dlsched.metrics.stats.basis.Basis`."""

    @property
    def kind(self) -> Literal["exact", "recorded", "drawn"]:
        """Where the numbers come from."""

    @property
    def futures(self) -> int:
        """Futures beside future 0 that were asked for."""

    @property
    def days(self) -> int:
        """Days of the trace where these are resampled, else 0."""

    @property
    def are_replays(self) -> bool:
        """Whether they are replays of the trace that differ by a second."""


def certainty(basis: BasisLike, done: int) -> str:
    """Return how sure numbers are, ``done`` of the futures being there (future 0 counts).

    "this month as recorded and 40 months reshuffled from its days", "95% interval over 20 simulated versions of the
    workload", "3 of 41 futures so far", "rough preview, 1 simulation", "exact for this trace, not a forecast".
    """
    if basis.kind == "exact":
        return EXACT
    if basis.kind == "recorded" and basis.futures == 0:
        return "this month as recorded, nothing is said about others"
    if 1 < done <= basis.futures:
        return f"{done:,} of {basis.futures + 1:,} futures so far"
    if basis.kind == "recorded":
        if 0 < basis.days < FEWEST_DAYS:
            return f"this month as recorded; {amount(basis.days, 'day')} of it {_say(basis.days)} nothing about others"
        return f"this month as recorded and {months_words(basis, done - 1)}" if done > 1 else "this month as recorded"
    if done == 1:
        return ROUGH
    if basis.are_replays:
        return f"mean of {done:,} replays of this log, run times up to a second longer; nothing is said about others"
    return f"95% interval over {done:,} simulated versions of the workload"


def interval_note(basis: BasisLike, done: int) -> str:
    """Return what the range beside a number is, or why there is none."""
    if basis.kind == "recorded" and done > 1 and not 0 < basis.days < FEWEST_DAYS:
        held = (
            f"8 of 10 of the {months_words(basis, done - 1)}" if done > 10 else f"all {months_words(basis, done - 1)}"
        )
        return f"values are of the recorded month; ranges hold {held}"
    sure = certainty(basis, done)
    if basis.are_replays and done > 1:
        held = "8 of 10" if done >= 10 else "all"
        return f"values are means of {done:,} replays, ranges hold {held} of them"
    if basis.kind == "drawn" and done > 1:
        return f"ranges are 95% intervals over {done:,} simulated versions of the workload"
    return f"{sure}, so no ranges" if basis.kind == "drawn" else sure


def first_words(basis: BasisLike) -> str:
    """Return which future a picture of jobs is of: "the recorded month", "the first simulated version"."""
    if basis.are_replays:
        return "the first replay"
    return "the recorded month" if basis.kind == "recorded" else "the first simulated version"


def range_note(basis: BasisLike, done: int) -> str:
    """Return what stands behind a range: "in 8 of 10 months", "95% interval"; "" where there is no range."""
    if basis.kind == "recorded" and done > 1:
        return f"in {'8 of 10' if done > 10 else 'all'} {'months' if basis.days else 'simulated versions'}"
    if basis.are_replays and done > 1:
        return f"in {'8 of 10' if done >= 10 else 'all'} replays"
    return "95% interval" if basis.kind == "drawn" and done > 1 else ""


def months_words(basis: BasisLike, number_of: int) -> str:
    """Return a number of futures of a recorded trace: "40 months reshuffled from its days"."""
    if basis.days:
        return f"{amount(number_of, 'month')} reshuffled from its days"
    return f"{amount(number_of, 'simulated version')} of it"


def range_words(kind: Kind, low: Number, high: Number) -> str:
    """Return "2 h to 35 h"; "" where there is none, or both ends read the same."""
    if low is None or high is None:
        return ""
    ends = show(kind, low), show(kind, high)
    return "" if ends[0] == ends[1] else " to ".join(ends)


def value_words(kind: Kind, value: Number, low: Number, high: Number) -> str:
    """Return a value with its range: "7 h 10 min (2 h to 35 h)"."""
    around = range_words(kind, low, high)
    return f"{show(kind, value)} ({around})" if around else show(kind, value)


def percent_words(low: float, high: float) -> str:
    """Return the interval of a ratio as a change: "−62% to −12%"; "2.1x to 3.5x" where it more than doubles."""
    if high >= LARGE_RATIO:
        return f"{factor(low)} to {factor(high)}"
    ends = [decimal(100 * (end - 1), 1 if abs(end - 1) < 0.1 else 0) + "%" for end in (low, high)]
    signed = [("+" if end > 1 and text[0] != "0" else "") + text for end, text in zip((low, high), ends, strict=True)]
    return signed[0] if signed[0] == signed[1] else " to ".join(signed)


def count_words(verdict: str, better: int, worse: int, futures: int) -> str:
    """Return a verdict with the futures behind it: "better in 40 of 40", "likely worse (34 of 40)".

    Unclear ones: "not clear from this trace (better in 25 of 40)"; against the headline: "but worse in 39 of 40".
    """
    side, most = ("better", better) if better >= worse else ("worse", worse)
    if verdict == "mixed":
        return f"but {side} in {most:,} of {futures:,}"
    if verdict == "not clear":
        alike = futures - better - worse
        beside = f", same in {alike:,}" if alike and most + alike == futures else ""
        return f"not clear from this trace ({side} in {most:,}{beside} of {futures:,})"
    if verdict.startswith("likely"):
        return f"{verdict} ({most:,} of {futures:,})"
    return f"{verdict} in {most:,} of {futures:,}" if verdict in ("better", "worse") else verdict


def _say(number_of: int) -> str:
    return "says" if number_of == 1 else "say"


class MeanWithHalf(Protocol):
    """A mean with half the width of its interval, None if there is none."""

    @property
    def mean(self) -> float:
        """The mean."""

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval around it."""


def with_half(interval: MeanWithHalf) -> tuple[str, str]:
    """Return mean and half width with decimals alike, two figures of the half width; "" where there is none."""
    half = interval.half_width
    if half is None or not half > 0:
        return number(interval.mean), ""
    decimals = int(np.clip(1 - np.floor(np.log10(half)), 0, 6))
    return decimal(interval.mean, decimals), decimal(half, decimals)


def mean_time(interval_h: MeanWithHalf) -> str:
    """Return a mean in hours as a time with its half width: 3 d 4 h ± 2 h 54 min."""
    half = interval_h.half_width
    return show_interval("duration", interval_h.mean * HOUR_S, None if half is None else half * HOUR_S)
