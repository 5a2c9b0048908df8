"""How sure a number is: in words, and as a mean with its half width."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dlsched.wording.formats import decimal, number

EXACT = "exact for this trace, not a forecast"
EXACT_WHY = "Exact for this trace, not a forecast: nothing in it is random."
NOTHING_VARIES = "Nothing varies: exact for this trace, not a forecast. Vary something to get intervals."
ROUGH = "rough, 1 draw"


def certainty(draws: int, *, exact: bool, paired: bool = True, of_days: bool = False) -> str:
    """Return how sure numbers are: "95%, 5 paired draws", "rough, 1 draw", "exact for this trace, not a forecast".

    ``of_days``: draws are days of the trace, see :data:`wording.settings.DAYS_WHY`.
    """
    if exact:
        return EXACT
    if draws == 1:
        return ROUGH
    return f"95%, {draws:,} {'paired ' if paired else ''}draws{' of these days' if of_days else ''}"


def interval_note(draws: int, *, exact: bool, of_days: bool = False) -> str:
    """Return what the ± beside numbers is: "± is 95% over 5 paired draws", or why there is none."""
    if exact:
        return EXACT
    if draws == 1:
        return f"{ROUGH}, so no intervals"
    return f"± is 95% over {draws:,} paired draws{' of these days' if of_days else ''}"


class MeanWithHalf(Protocol):
    """A mean with half the width of its interval, None where there is none."""

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


def hours(interval: MeanWithHalf) -> str:
    """Return a mean in hours with its half width: 75.8 h ± 2.9."""
    mean, half = with_half(interval)
    return f"{mean} h ± {half}" if half else f"{mean} h"
