"""The way out of a wrong name: what is near, else what there is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

MOST_LISTED = 60
LONGEST = 80


def first_of(names: Sequence[str], most: int = 12) -> str:
    """Return "a, b, c" with at most so many of the names, each cut at 80 letters, "…" for more, "none" for no name."""
    shown = [name if len(name) <= LONGEST else f"{name[:LONGEST]}…" for name in names[:most]]
    return ", ".join([*shown, *(["…"] if len(names) > most else [])]) or "none"


def names_hint(name: str, known: Iterable[str], most: int = 1) -> str:
    """Return "Try 'a' or 'b'" with at most so many near names, else "Known: a, b, c" with the first of many."""
    names = list(known)
    near = get_close_matches(name, names, n=most)
    return f"Try {' or '.join(map(repr, near))}" if near else f"Known: {first_of(names, MOST_LISTED)}"
