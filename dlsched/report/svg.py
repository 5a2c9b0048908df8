"""A chart of a memo as SVG inside the page: no script, no font and no file from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dlsched.figures.palette import LIGHT
from dlsched.report.markup import line
from dlsched.wording.formats import number, short

WIDTH, HEIGHT = 430, 250
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 12, 44
TICKS = 5
ROOM = 0.08
MARK_PX, SMALL_PX = 9, 4


@dataclass(frozen=True, slots=True)
class Mark:
    """A dot with bars below and above it (0 = none to draw) in the units of the axes; ``sign`` is written on it.

    ``square``: it stands for today, and is drawn as a square. A mark without a sign is small.
    """

    name: str
    sign: str
    x: float
    y: float
    x_bars: tuple[float, float]
    y_bars: tuple[float, float]
    hollow: bool
    square: bool = False


@dataclass(frozen=True, slots=True)
class _Axis:
    """From values to pixels, linear."""

    low: float
    high: float
    from_px: float
    to_px: float

    def px(self, value: float) -> float:
        return self.from_px + (value - self.low) / (self.high - self.low) * (self.to_px - self.from_px)


def scatter(marks: Sequence[Mark], x_title: str, y_title: str, alt: str, limit: float | None = None) -> str:
    """Return cost against service, one signed dot an option, bars for the intervals; ``limit``: a dashed line at y."""
    x = _axis([(m.x, m.x_bars) for m in marks], LEFT, WIDTH - RIGHT)
    lines = [] if limit is None else [(limit, (0.0, 0.0))]
    y = _axis([*((m.y, m.y_bars) for m in marks), *lines], HEIGHT - BOTTOM, TOP)
    parts = [
        *_grid(x, y),
        *(_limit(at, y) for at, _ in lines),
        *(_bars(mark, x, y) for mark in marks),
        *(_dot(mark, x, y) for mark in marks),
    ]
    middle_x, middle_y = (LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2
    parts.append(f'<text x="{middle_x}" y="{HEIGHT - 6}" text-anchor="middle">{line(x_title)}</text>')
    turned = f'transform="rotate(-90 12 {middle_y})"'
    parts.append(f'<text x="12" y="{middle_y}" text-anchor="middle" {turned}>{line(y_title)}</text>')
    body = "".join(parts)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{line(alt)}" '
        f'font-size="11" fill="{LIGHT.muted}">{body}</svg>'
    )


def ticks(low: float, high: float, most: int = TICKS) -> list[float]:
    """Return round numbers from low to high: at most ``most`` steps of 1, 2, 2.5 or 5 times a power of ten."""
    span = (high - low) / most
    power = 10.0 ** math.floor(math.log10(span))
    step = next(size * power for size in (1, 2, 2.5, 5, 10) if size * power >= span * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _axis(ends: Sequence[tuple[float, tuple[float, float]]], from_px: float, to_px: float) -> _Axis:
    """Return an axis around all bars; one that starts at 0 where the values are not far from it."""
    low, high = min(at - bars[0] for at, bars in ends), max(at + bars[1] for at, bars in ends)
    if low >= 0 and low < 0.6 * high:
        low = 0.0
    if high <= low:  # all options alike
        low, high = low - (abs(low) or 1.0) * 0.1, high + (abs(high) or 1.0) * 0.1
    room = ROOM * (high - low)
    return _Axis(low if low == 0 else low - room, high + room, from_px, to_px)


def _grid(x: _Axis, y: _Axis) -> list[str]:
    lines = []
    for at, text in _labelled(ticks(x.low, x.high)):
        at_x = f"{x.px(at):.1f}"
        lines.append(f'<path d="M{at_x} {TOP}V{HEIGHT - BOTTOM}" stroke="{LIGHT.grid}"/>')
        lines.append(f'<text x="{at_x}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{text}</text>')
    for at, text in _labelled(ticks(y.low, y.high)):
        at_y = y.px(at)
        lines.append(f'<path d="M{LEFT} {at_y:.1f}H{WIDTH - RIGHT}" stroke="{LIGHT.grid}"/>')
        lines.append(f'<text x="{LEFT - 6}" y="{at_y + 4:.1f}" text-anchor="end">{text}</text>')
    return lines


def _limit(at: float, y: _Axis) -> str:
    at_y = f"{y.px(at):.1f}"
    line_style = f'stroke="{LIGHT.worse}" stroke-width="1.5" stroke-dasharray="6 4"'
    text = f'<text x="{LEFT + 4}" y="{y.px(at) - 4:.1f}" fill="{LIGHT.worse_text}">target</text>'
    return f'<path class="limit" d="M{LEFT} {at_y}H{WIDTH - RIGHT}" {line_style}/>{text}'


def _labelled(values: Sequence[float]) -> list[tuple[float, str]]:
    """Return the ticks with their texts: short ones where these differ."""
    texts = [short(at) for at in values]
    if len(set(texts)) < len(texts):
        texts = [number(at, exact=True) for at in values]
    return list(zip(values, texts, strict=True))


def _bars(mark: Mark, x: _Axis, y: _Axis) -> str:
    at_x, at_y = x.px(mark.x), y.px(mark.y)
    path = ""
    if any(mark.x_bars):
        path += f"M{x.px(mark.x - mark.x_bars[0]):.1f} {at_y:.1f}H{x.px(mark.x + mark.x_bars[1]):.1f}"
    if any(mark.y_bars):
        path += f"M{at_x:.1f} {y.px(mark.y - mark.y_bars[0]):.1f}V{y.px(mark.y + mark.y_bars[1]):.1f}"
    return f'<path d="{path}" stroke="{LIGHT.ink}" stroke-width="1.5"/>' if path else ""


def _dot(mark: Mark, x: _Axis, y: _Axis) -> str:
    at_x, at_y = x.px(mark.x), y.px(mark.y)
    fill, ink = (LIGHT.ground, LIGHT.ink) if mark.hollow else (LIGHT.better, LIGHT.ground)
    shape = f'<circle cx="{at_x:.1f}" cy="{at_y:.1f}" r="{MARK_PX if mark.sign else SMALL_PX}"'
    if mark.square:
        place = f'x="{at_x - MARK_PX:.1f}" y="{at_y - MARK_PX:.1f}"'
        shape = f'<rect {place} width="{2 * MARK_PX}" height="{2 * MARK_PX}"'
    drawn = f'{shape} fill="{fill}" stroke="{LIGHT.ink}"/>'
    sign = f'<text x="{at_x:.1f}" y="{at_y + 4:.1f}" text-anchor="middle" fill="{ink}">{line(mark.sign)}</text>'
    return f"<g><title>{line(mark.name)}</title>{drawn}{sign}</g>"
