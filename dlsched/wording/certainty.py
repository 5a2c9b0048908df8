"""How sure a number is: means with their half widths, decimals alike."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dlsched.wording.formats import MINUS, number


class Interval(Protocol):
    """A mean with half the width of its interval, None where there is none."""

    @property
    def mean(self) -> float:
        """The mean."""

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval around it."""


def with_half(interval: Interval) -> tuple[str, str]:
    """Return mean and half width with decimals alike, two figures of the half width; "" where there is none."""
    half = interval.half_width
    if half is None or not half > 0:
        return number(interval.mean), ""
    decimals = int(np.clip(1 - np.floor(np.log10(half)), 0, 6))
    mean = f"{interval.mean:,.{decimals}f}".replace("-", MINUS)
    return mean, f"{half:,.{decimals}f}"


def hours(interval: Interval) -> str:
    """Return a mean in hours with its half width: 75.8 h ± 2.9."""
    mean, half = with_half(interval)
    return f"{mean} h ± {half}" if half else f"{mean} h"
