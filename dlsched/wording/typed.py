"""Numbers as people type them: what :mod:`dlsched.wording.formats` writes is read back, and a little more.

A duration is "1 d 12 h", "90 min", "2h" or "36:00:00"; money "$2.10" or "2,000"; a share "15%". What is written without
a unit counts in the one that its field states, where it states one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from dlsched.domain.units import DAY_S, HOUR_S, MINUTE_S
from dlsched.wording.formats import MINUS, UNIT_PRICES, Kind, show

TIMES: Mapping[str, float] = {
    "ms": 0.001,
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "m", "mins", "minute", "minutes"), MINUTE_S),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), HOUR_S),
    **dict.fromkeys(("d", "day", "days"), DAY_S),
    **dict.fromkeys(("w", "week", "weeks"), 7 * DAY_S),
    **dict.fromkeys(("y", "year", "years"), 365 * DAY_S),
}
_USD = {"": 1.0, "$": 1.0, "usd": 1.0}
UNITS: Mapping[Kind, Mapping[str, float]] = {
    "duration": TIMES,
    "hours": TIMES,
    "share": {"%": 0.01, "pp": 0.01},
    "usd": _USD,
    "usd_per_month": _USD | {"/month": 1.0, "$/month": 1.0, "amonth": 1.0},
    "usd_per_gpu_h": _USD | {"/gpu-h": 1.0, "$/gpu-h": 1.0, "/h": 1.0, "$/h": 1.0},
    "usd_per_core_h": _USD | {"/core-h": 1.0, "$/core-h": 1.0, "/h": 1.0, "$/h": 1.0},
    "usd_per_gib_h": _USD | {"/gib-h": 1.0, "$/gib-h": 1.0, "/h": 1.0, "$/h": 1.0},
    "factor": {"": 1.0, "x": 1.0, "times": 1.0},
    "count": {"": 1.0},
    "number": {"": 1.0},
    "kwh": {"": 1.0, "kwh": 1.0, "mwh": 1000.0},
    "kg": {"": 1.0, "kg": 1.0, "t": 1000.0},
}
"""Units a number may be typed with, in lower case and without spaces, and what one is in the unit of its kind."""
PLAIN_UNITS: Mapping[str, float] = {**TIMES, "%": 0.01}
"""Units that a field may state, and what a plain number in it is: seconds, or a fraction."""
EXAMPLES: Mapping[Kind, str] = {
    "duration": "1 h, 30 min or 1 d 12 h",
    "hours": "100 h",
    "share": "5%",
    "usd": "$50,000",
    "usd_per_month": "$50,000",
    "usd_per_gpu_h": "$2.50",
    "usd_per_core_h": "$0.05",
    "usd_per_gib_h": "$0.01",
    "factor": "3x",
    "count": "1,200",
    "number": "0.9",
    "kwh": "12,000 kWh",
    "kg": "4,500 kg",
}
"""How a number of each kind may be typed."""
_THOUSANDS: Mapping[str, float] = {"k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?"
_AMOUNT = re.compile(rf"(\$?)\s*([+-]?)\s*(\$?)\s*({_DIGITS})\s*(\D.*)?")
_PART = re.compile(rf"({_DIGITS})\s*([a-z]+)[\s,]*")
_CLOCK = re.compile(r"(?:(\d+)-)?(\d+):([0-5]\d):([0-5]\d(?:\.\d+)?)")
_EXACT = re.compile(r".*\((.+)\)")


class NotRead(ValueError):
    """A text that is no number of its kind; the message is the rule it broke and what was typed."""


def read(kind: Kind, text: str, unit: str = "") -> float:
    """Return a number as it is typed, in the unit of its kind: seconds, dollars, a fraction of 1.

    Parameters
    ----------
    kind
        What the number is.
    unit
        What a plain number is in, of ``PLAIN_UNITS``, or "1" where it is in the unit of the kind; "": durations and
        shares need a unit of their own.

    Raises
    ------
    NotRead
        Where the text is no number of its kind, or lacks a unit.
    """
    flat = " ".join(text.replace(MINUS, "-").replace("\u00a0", " ").lower().split())
    if exact := _EXACT.fullmatch(flat):
        flat = ("-" if flat.startswith("-") else "") + exact[1]
    if kind in ("duration", "hours"):
        sign = -1.0 if flat.startswith("-") else 1.0
        seconds = _seconds(flat.lstrip("+-").strip())
        if seconds is not None:
            return sign * seconds
    found = _AMOUNT.fullmatch(flat)
    if found is None:
        raise NotRead(f"is not a number with a unit, got {text.strip()!r:.40}")
    before, sign_typed, after, digits, rest = found.groups()
    if before and after:
        raise NotRead(f"has two dollar signs, got {text.strip()!r:.40}")
    typed = (before or after) + (rest or "").replace(" ", "")
    size = float(digits.replace(",", "")) * (-1.0 if sign_typed == "-" else 1.0)
    units = UNITS[kind]
    if typed in units:
        # A fraction of one unit is exact where it is divided: 5% is 0.05.
        return size / 100 if units[typed] == 0.01 else size * units[typed]
    if typed == "" and unit:
        return size / 100 if unit == "%" else size * PLAIN_UNITS.get(unit, 1.0)
    scale = _THOUSANDS.get(typed.lstrip("$"))
    if scale and "" in units:
        return size * scale
    raise NotRead(f"needs a unit of its kind, got {typed!r:.20}" if typed else "needs a unit of its kind, got none")


def _seconds(text: str) -> float | None:
    """Return the seconds of "1 d 12 h" or "36:00:00"; None if it is neither."""
    if text == "forever":
        return math.inf
    if clock := _CLOCK.fullmatch(text):
        days, hours, minutes, seconds = clock.groups()
        return int(days or 0) * DAY_S + int(hours) * HOUR_S + int(minutes) * MINUTE_S + float(seconds)
    total, at, last = 0.0, 0, math.inf
    while at < len(text):
        part = _PART.match(text, at)
        size = TIMES.get(part[2]) if part else None
        if part is None or size is None or size >= last:  # the larger unit stands first, each once
            return None
        total, at, last = total + float(part[1].replace(",", "")) * size, part.end(), size
    return total if text else None


def text_of(kind: Kind, value: float, unit: str = "") -> str:
    """Return the text that reads back as exactly this number: as it is shown, where that loses nothing.

    ``unit``: as for :func:`read`.
    """
    shown = show(kind, value)
    try:
        if read(kind, shown, unit) == value:
            return shown
    except NotRead:
        pass
    if kind in ("duration", "hours"):
        return f"{value:,.15g} s".replace("-", MINUS)
    scale, end = (100.0, "%") if kind == "share" else (1.0, "x" if kind == "factor" else "")
    start = "$" if kind.startswith("usd") else ""
    per = f"/{UNIT_PRICES[kind]}" if kind in UNIT_PRICES else ""
    return f"{MINUS if value < 0 else ''}{start}{abs(value) * scale:,.15g}{end}{per}"


def way_out(kind: Kind) -> str:
    """Return what to do about a number that could not be read."""
    return f"Write it as {EXAMPLES[kind]}"
