"""How numbers are written: one rule for each kind of number, for cards, tables, sentences and charts.

Cards and sentences show three significant figures, whole numbers up to five; ``exact=True`` gives what tooltips and
tables show. A missing number (None, NaN) is a dash, never 0. :mod:`dlsched.wording.typed` reads what is written here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

from dlsched.domain.units import DAY_S, HOUR_S, MINUTE_S

MISSING = "–"
MINUS = "\N{MINUS SIGN}"
PLUS_MINUS = "±"
SMALL = 0.001
"""Prices of resources below this are next to nothing."""
LEAST_PERCENT, CENTS_BELOW_USD = 0.01, 99.995
MOST_DECIMALS = 12
WHOLE_UP_TO = 100_000
"""Whole numbers below this are written with every digit: 9,999 is not 10,000."""
FORMULA_START = ("=", "+", "-", "@", "\t", "\r")
"""How a text starts that a spreadsheet would run as a formula."""

Kind = Literal[
    "duration", "hours", "usd", "usd_per_month", "usd_per_gpu_h", "usd_per_core_h", "usd_per_gib_h", "share", "factor",
    "count", "number", "kwh", "kg",
]  # fmt: skip
"""What a number is; seconds for duration and hours, a fraction for share."""
UNIT_PRICES: dict[Kind, str] = {"usd_per_gpu_h": "GPU-h", "usd_per_core_h": "core-h", "usd_per_gib_h": "GiB-h"}
"""Prices of a resource for an hour, and their units."""

Number = float | int | None


def is_missing(value: Number) -> bool:
    """Whether there is no number to show."""
    return value is None or math.isnan(value)


def duration(seconds: Number, *, exact: bool = False) -> str:
    """Return a time in at most two units: 42 ms, 42 s, 4 min 12 s, 12 min, 3 h 12 min, 5 d 4 h."""
    if seconds is None or math.isnan(seconds):
        return MISSING
    if seconds < 0:
        return MINUS + duration(-seconds, exact=exact)
    if math.isinf(seconds):
        return "forever"
    if exact and 9.95 <= seconds < MINUTE_S:  # in whole seconds otherwise
        return f"{seconds:.3g} s"
    words = _in_units(seconds)
    return f"{words} ({seconds:,.10g} s)" if exact and seconds >= MINUTE_S else words


def _in_units(seconds: float) -> str:
    if seconds < 0.9995:
        return _in_ms(seconds * 1000)
    if seconds < 9.95:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    # Round to the smaller of the two units first, so that 59.6 s is 1 min and not 60 s.
    if seconds < 600 - 0.5:
        return _two(round(seconds), (MINUTE_S, "min"), (1, "s"))
    if seconds < DAY_S - 30:
        return _two(round(seconds / MINUTE_S) * MINUTE_S, (HOUR_S, "h"), (MINUTE_S, "min"))
    if seconds < 100 * DAY_S - HOUR_S / 2:
        return _two(round(seconds / HOUR_S) * HOUR_S, (DAY_S, "d"), (HOUR_S, "h"))
    return f"{round(seconds / DAY_S):,} d"


def _in_ms(ms: float) -> str:
    if ms < 0.5:
        return "0 s" if ms == 0 else "under 1 ms"
    return f"{ms:.1f}".removesuffix(".0") + " ms" if ms < 9.95 else f"{round(ms)} ms"


def _two(whole_s: float, large: tuple[float, str], small: tuple[float, str]) -> str:
    many, rest = divmod(round(whole_s), round(large[0]))
    few = rest // round(small[0])
    parts = [f"{amount} {unit}" for amount, unit in ((many, large[1]), (few, small[1])) if amount]
    return " ".join(parts)


def hours(seconds: Number, *, exact: bool = False) -> str:
    """Return a sum of times in hours: 1,240 h."""
    return MISSING if seconds is None or math.isnan(seconds) else number(seconds / HOUR_S, exact=exact) + " h"


def count(value: Number, *, exact: bool = True) -> str:
    """Return a whole number with thousands separators: 1,234."""
    if value is None or math.isnan(value):
        return MISSING
    return _true_minus(f"{value:,.0f}")


def number(value: Number, *, exact: bool = False) -> str:
    """Return a plain number with three significant figures: 1,230, 12.3, 0.0123; whole numbers as :func:`count`."""
    if value is None or math.isnan(value):
        return MISSING
    if abs(value) < WHOLE_UP_TO and value == round(value):
        return count(value)
    return _true_minus(_fixed(value, min(_decimals(value, 10), MOST_DECIMALS)) if exact else _figures(value))


def money(usd: Number, *, exact: bool = False) -> str:
    """Return dollars: $42,300; below $100 with cents; exact with cents always."""
    if usd is None or math.isnan(usd):
        return MISSING
    size = abs(usd)
    sign = MINUS if usd < 0 and round(size, 2) > 0 else ""
    return f"{sign}${size:,.2f}" if exact or size < CENTS_BELOW_USD else f"{sign}${_figures(size)}"


def money_per_month(usd: Number, *, exact: bool = False) -> str:
    """Return dollars a month: $31,900/month."""
    return MISSING if is_missing(usd) else f"{money(usd, exact=exact)}/month"


def price(usd_per_h: Number, unit: str = "GPU-h", *, exact: bool = False) -> str:
    """Return a price: $2.48/GPU-h; four decimals below a cent's resolution when exact."""
    if usd_per_h is None or math.isnan(usd_per_h):
        return MISSING
    sign = MINUS if usd_per_h < 0 else ""
    return f"{sign}${abs(usd_per_h):,.4f}/{unit}" if exact else f"{sign}${abs(usd_per_h):,.2f}/{unit}"


def kilowatt_hours(kwh: Number, *, exact: bool = False) -> str:
    """Return energy: 420 kWh, 12,300 kWh."""
    return MISSING if is_missing(kwh) else f"{number(kwh, exact=exact)} kWh"


def kilograms(kg: Number, *, exact: bool = False) -> str:
    """Return a mass: 84.2 kg, 12,300 kg."""
    return MISSING if is_missing(kg) else f"{number(kg, exact=exact)} kg"


def share(fraction: Number, *, exact: bool = False) -> str:
    """Return a share: 6.1%, 78.4%, 0.04%, <0.01%; no space, three significant figures at most."""
    if fraction is None or math.isnan(fraction):
        return MISSING
    percent = fraction * 100
    if not exact and 0 < percent < LEAST_PERCENT:
        return f"<{LEAST_PERCENT:g}%"
    return _percent(percent, exact=exact) + "%"


def _percent(percent: float, *, exact: bool = False) -> str:
    return _true_minus(_figures(percent, 6) if exact else _fixed(percent, _percent_decimals(percent)))


def _percent_decimals(percent: float) -> int:
    size = abs(percent)
    if 0.95 <= size < 99.95:
        return 1
    return 0 if size >= 99.95 else min(_decimals(percent, 2), 3)


def factor(value: Number, *, exact: bool = False) -> str:
    """Return a factor: 2.4x."""
    if value is None or math.isnan(value):
        return MISSING
    near_one = 0.95 <= abs(value) < 99.95
    text = f"{value:,.1f}" if near_one and not exact else _figures(value, 6 if exact else 2 if abs(value) < 1 else 3)
    return _true_minus(text) + "x"


def _figures(value: float, figures: int = 3) -> str:
    """Return a number with this many significant figures, without an exponent and with thousands separators."""
    rounded = float(f"{value:.{figures - 1}e}")
    return _fixed(rounded, min(_decimals(rounded, figures), MOST_DECIMALS))


def _decimals(value: float, figures: int = 3) -> int:
    """Return how many decimals show this many significant figures."""
    rounded = float(f"{value:.{figures - 1}e}")
    return 0 if rounded == 0 else max(figures - 1 - math.floor(math.log10(abs(rounded))), 0)


def _fixed(value: float, decimals: int) -> str:
    """Return a number with at most this many decimals and no zeros at the end."""
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text


def short(value: Number) -> str:
    """Return a number for an axis: 950, 12.3 k, 4.1 M."""
    if value is None or math.isnan(value):
        return MISSING
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(float(f"{value:.3g}")) >= size:
            return _true_minus(_figures(value / size)) + f" {unit}"
    return number(value)


def _true_minus(text: str) -> str:
    """Return the text with a true minus sign, and none before a zero."""
    bare = text.removeprefix("-")
    return bare if bare == text or not bare.strip("0.,") else MINUS + bare


SHOW: dict[Kind, Callable[..., str]] = {
    "duration": duration,
    "hours": hours,
    "usd": money,
    "usd_per_month": money_per_month,
    "usd_per_gpu_h": price,
    "usd_per_core_h": partial(price, unit="core-h"),
    "usd_per_gib_h": partial(price, unit="GiB-h"),
    "share": share,
    "factor": factor,
    "count": count,
    "number": number,
    "kwh": kilowatt_hours,
    "kg": kilograms,
}


def show(kind: Kind, value: Number, *, exact: bool = False) -> str:
    """Return a number as its kind is written."""
    return SHOW[kind](value, exact=exact)


def points(fraction: Number) -> str:
    """Return a difference of shares in percentage points: 8.1 pp."""
    if fraction is None or math.isnan(fraction):
        return MISSING
    return _percent(fraction * 100) + " pp"


def show_size(kind: Kind, value: Number) -> str:
    """Return a difference without its sign; shares in percentage points."""
    if value is None or math.isnan(value):
        return MISSING
    return points(abs(value)) if kind == "share" else show(kind, abs(value))


def show_delta(kind: Kind, value: Number) -> str:
    """Return a difference with its sign, + or a true minus; 0 without a sign."""
    if value is None or math.isnan(value):
        return MISSING
    size = show_size(kind, value)
    if size == show_size(kind, 0.0):
        return size
    return ("+" if value > 0 else MINUS) + size


def show_interval(kind: Kind, value: Number, half_width: Number, *, signed: bool = False) -> str:
    """Return a value with its interval, decimals alike: 6.1% ± 1.9 pp, −41 min ± 15 min, 12.3 ± 0.4.

    Without an interval (one draw) only the value; a half width of 0 adds nothing, the caller says "exact".
    """
    text = show_delta(kind, value) if signed else show(kind, value)
    half = half_words(kind, value, half_width)
    return f"{text} {half}" if half else text


def half_words(kind: Kind, value: Number, half_width: Number) -> str:
    """Return the interval beside a value, with its decimals: "± 1.9 pp"; "" where there is none."""
    if value is None or math.isnan(value) or half_width is None or math.isnan(half_width) or half_width == 0:
        return ""
    return f"{PLUS_MINUS} {_half(kind, value, half_width)}"


def _half(kind: Kind, value: float, half_width: float) -> str:
    """Return the half width with as many decimals as the value has; times as they are written."""
    if kind in ("duration", "hours"):
        return show_size(kind, half_width)
    size = half_width * 100 if kind == "share" else half_width
    decimals = _decimals_of(kind, value)
    # An interval that rounds away at the value's decimals would look like certainty.
    while decimals < MOST_DECIMALS / 2 and round(size, decimals) == 0:
        decimals += 1
    if kind.startswith("usd"):
        # Money of six digits has three that say something; its interval has no more.
        return f"${size:,.{decimals}f}" if decimals else f"${_figures(size)}"
    text = _fixed(size, decimals)
    return f"{text} pp" if kind == "share" else f"{text}x" if kind == "factor" else text


def _decimals_of(kind: Kind, value: float) -> int:
    """Return how many decimals a number of this kind is written with."""
    if kind in UNIT_PRICES or (kind.startswith("usd") and abs(value) < CENTS_BELOW_USD):
        return 2
    if kind == "count" or (kind in ("number", "kwh", "kg") and value == round(value)):
        return 0
    if kind == "factor" and 0.95 <= abs(value) < 99.95:
        return 1
    shown = value * 100 if kind == "share" else value
    decimals = _percent_decimals(shown) if kind == "share" else _decimals(value, 2 if kind == "factor" else 3)
    while decimals and round(shown, decimals) == round(shown, decimals - 1):  # a zero at the end is not written
        decimals -= 1
    return decimals


def amount(number_of: float, noun: str, plural: str = "") -> str:
    """Return a count with its noun: 1 job, 9,383 jobs; parts of one as :func:`number`: 0.5 GPUs."""
    digits = number(number_of) if isinstance(number_of, float) else f"{number_of:,}"
    return f"{digits} {noun if number_of == 1 else plural or noun + 's'}"


def listed(words: Sequence[str]) -> str:
    """Return words as a sentence lists them: a, b and c."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def decimal(value: float, decimals: int) -> str:
    """Return a number with this many decimals and a true minus: −0.41."""
    return _true_minus(f"{value:,.{decimals}f}")


def about_seconds(seconds: float) -> str:
    """Return an estimated time, never less than a second: "about 12 s", from 90 s on in whole minutes."""
    return f"about {duration(60 * round(seconds / 60) if seconds >= 90 else max(1.0, round(seconds)))}"


def capital(text: str) -> str:
    """Return a clause as the start of a sentence."""
    return text[:1].upper() + text[1:]


def signed(value: float) -> str:
    """Return a number with its sign, + or a true minus, unrounded: +3, −0.5, 0."""
    return ("+" if value > 0 else "") + _true_minus(f"{value:,.12g}")


def as_cell(value: Any) -> Any:
    """Return a value of a CSV; a text that a spreadsheet would run as a formula stands behind an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_START) else value


def cut(text: object, longest: int = 40) -> str:
    """Return user text on one line and not too long, for sentences that are shown as plain text."""
    line = "".join(letter if letter.isprintable() else " " for letter in str(text))
    return line if len(line) <= longest else line[: longest - 1] + "…"


def small(value: float | None) -> str:
    """Return a number; next to nothing as "<0.001"."""
    if value is None or not 0 < abs(value) < SMALL:
        return number(value)
    return f"<{SMALL:g}" if value > 0 else f">{MINUS}{SMALL:g}"


def short_time(seconds: float) -> str:
    """Return a CPU time in words, below a second in milliseconds with three figures: 0.25 ms, 42 ms, 1.5 s."""
    return duration(seconds) if seconds >= 0.9995 else f"{number(1000 * seconds)} ms"


def load_words(load: float) -> str:
    """Return a load as the page writes it: 0.7."""
    return f"{load:.4g}"
