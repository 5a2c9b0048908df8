"""Colours of all charts: any two marks stay apart (CIEDE2000 above 10) in every kind of colour vision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

ThemeName = Literal["light", "dark"]
BLACK = "#0e1117"
WHITE = "#ffffff"


@dataclass(frozen=True, slots=True)
class Theme:
    """One theme: ten marks in order of use, the ink that is legible on each, and the ground colours."""

    name: ThemeName
    marks: tuple[str, ...]
    on_marks: tuple[str, ...]
    other: str
    ink: str
    muted: str
    grid: str
    ground: str
    card: str
    better: str
    worse: str
    worse_text: str
    late: str
    """Held past the due date; lighter than blue also without colour."""
    faded: str
    """Groups that step back behind a highlighted one."""
    tint: str
    """A weak blue for things that are partly there."""


LIGHT = Theme(
    name="light",
    marks=(
        "#185add",
        "#017d6b",
        "#d0609a",
        "#5c5200",
        "#2b2e7f",
        "#689963",
        "#a7384e",
        "#3493d7",
        "#463021",
        "#e8590c",
    ),
    on_marks=(WHITE, WHITE, BLACK, WHITE, WHITE, BLACK, WHITE, BLACK, WHITE, BLACK),
    other="#7d8794",
    ink="#1c2430",
    muted="#5b6675",
    grid="#e3e7ed",
    ground="#ffffff",
    card="#f5f7fa",
    better="#185add",
    worse="#e8590c",
    worse_text="#a33c00",
    late="#e8590c",
    faded="#b9c1cc",
    tint="#a9c3f5",
)
DARK = Theme(
    name="dark",
    marks=(
        "#5c7cf0",
        "#0b8a7c",
        "#ee9cbc",
        "#f2e63d",
        "#b9a8ff",
        "#b9d893",
        "#c4502a",
        "#c6efff",
        "#a8957a",
        "#f17f20",
    ),
    on_marks=(BLACK, BLACK, BLACK, BLACK, BLACK, BLACK, WHITE, BLACK, BLACK, BLACK),
    other="#6f7987",
    ink="#e8eaed",
    muted="#9aa4b2",
    grid="#2b3340",
    ground="#0e1117",
    card="#1a1f29",
    better="#5c7cf0",
    worse="#f17f20",
    worse_text="#ffa657",
    late="#ffa657",
    faded="#3d4654",
    tint="#2c3a6b",
)
BLUE, TEAL, PINK, OLIVE, NAVY, SAGE, BRICK, SKY, UMBER, ORANGE = range(10)
"""Orange says late or over: it is the last mark, and no group or policy has it."""
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def theme(name: str | None) -> Theme:
    """Return the theme of this name; light when unknown, as exports are always light."""
    return DARK if name == "dark" else LIGHT


def colours(keys: Iterable[str], palette: Theme) -> Mapping[str, str]:
    """Return key -> colour, assigned by sorted key, so that a user or VM type keeps its colour on all pages."""
    ordered = sorted(set(keys))
    return {key: palette.marks[i] if i < ORANGE else palette.other for i, key in enumerate(ordered)}


def ink_on(colour: str, palette: Theme) -> str:
    """Return the label ink that is legible on a mark."""
    if colour in palette.marks:
        return palette.on_marks[palette.marks.index(colour)]
    # The other greys and tints are light enough for black in both themes, save the dark tint.
    return WHITE if colour == palette.tint and palette.name == "dark" else BLACK


def policy_colour(key: str, palette: Theme) -> str:
    """Return a policy's colour, the same on all pages: its place in the registry decides."""
    from dlsched.policies.registry import policies

    places = {spec.key: place for place, spec in enumerate(policies())}
    return palette.marks[places.get(key, len(places)) % ORANGE]
