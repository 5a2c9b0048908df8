"""Claims part by part: what should be the case, whether our numbers say so, and what follows for the verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from dlsched.metrics.stats.intervals import Interval
from dlsched.studies.reproductions.reproduction import Outcome, Verdict
from dlsched.wording.formats import PLUS_MINUS

ALL_SEEN = "Every part of the claim is seen."
AS_PRECISE = 0.5
"""An interval confirms a printed number only if it is no wider, up or down, than this share of it."""


@dataclass(frozen=True, slots=True)
class Check:
    """A part of a claim, in words that say what should be the case, and whether we see it.

    ``where`` is set for a part that should hold at several sizes; ``unsure``: when we do not see it, more draws might.
    """

    text: str
    holds: bool
    where: str = ""
    unsure: bool = False


def outcome_of(ours: str, checks: Sequence[Check], data: Mapping[str, Any], *notes: str) -> Outcome:
    """Return the outcome of a claim in parts; ``notes`` say what the numbers rest on, an empty one is left out."""
    parts = [{"claim": f"{check.text} {check.where}".rstrip(), "holds": check.holds} for check in checks]
    return Outcome(ours, verdict_of(checks), reasons_of(checks, *notes), {**data, "checks": parts})


def verdict_of(checks: Sequence[Check]) -> Verdict:
    """Return same when every part of the claim holds, different when none does."""
    held = [check.holds for check in checks]
    return "same" if all(held) else "partly" if any(held) else "different"


def reasons_of(checks: Sequence[Check], *notes: str) -> tuple[str, ...]:
    """Return what we do not see, what is too uncertain to say (or that all of it is seen), and the notes."""
    reasons = []
    for words, unsure in (("Not seen", False), ("Too uncertain to say", True)):
        places: dict[str, list[str]] = {}
        for check in checks:
            if not check.holds and check.unsure is unsure:
                places.setdefault(check.text, []).append(check.where)
        texts = [f"{text} {', '.join(where)}".rstrip() for text, where in places.items()]
        reasons += [f"{words}: {'; '.join(texts)}."] if texts else []
    return (*(reasons or [ALL_SEEN]), *(note for note in notes if note))


def surely_above(interval: Interval, value: float = 0.0) -> bool:
    """Whether the whole interval is above a value; a single draw shows nothing."""
    return interval.low is not None and interval.low > value


def above(text: str, interval: Interval, where: str = "") -> Check:
    """Return whether a number is surely above 0."""
    return Check(text, surely_above(interval), where, unsure=interval.high is None or interval.high > 0)


def at_most(text: str, interval: Interval, most: float, where: str = "") -> Check:
    """Return whether a number is surely not above a printed one."""
    holds = interval.high is not None and interval.high <= most
    return Check(text, holds, where, unsure=interval.low is None or interval.low <= most)


def confirmed(text: str, interval: Interval, printed: float) -> Check:
    """Return whether a printed number lies in an interval that is narrow enough to say so."""
    half = interval.half_width
    there = half is None or abs(interval.mean - printed) <= half
    return Check(text, half is not None and there and half <= AS_PRECISE * printed, unsure=there)


def mean_words(interval: Interval, decimals: int = 1) -> str:
    """Return "17.4 ± 2.1", without the second part for a single draw."""
    half = "" if interval.half_width is None else f" {PLUS_MINUS} {interval.half_width:.{decimals}f}"
    return f"{round(interval.mean, decimals) + 0.0:.{decimals}f}{half}"  # + 0.0: no minus before a zero


def as_numbers(interval: Interval) -> dict[str, float | int | None]:
    """Return an interval as plain numbers."""
    return {"mean": interval.mean, "half_width": interval.half_width, "n": interval.n}


def nested(number: Callable[..., Any], *axes: Sequence[Any] | Mapping[str, Any]) -> Any:
    """Return ``number(a, b, ...)`` for all values of the axes, outermost first, as ``{name: {name: number}}``.

    Names are the keys of an axis that is a mapping, else its values as texts.
    """
    if not axes:
        return number()
    axis, *others = axes
    values = axis if isinstance(axis, Mapping) else {str(value): value for value in axis}
    return {name: nested(partial(number, value), *others) for name, value in values.items()}
