"""The way out of a wrong name: what is near, else what there is."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

MOST_LISTED = 60


def names_hint(name: str, known: Iterable[str], most: int = 1) -> str:
    """Return "Try 'a' or 'b'" with at most so many near names, else "Known: a, b, c" with the first of many."""
    names = list(known)
    more = ", …" if len(names) > MOST_LISTED else ""
    near = get_close_matches(name, names, n=most)
    return f"Try {' or '.join(map(repr, near))}" if near else f"Known: {', '.join(names[:MOST_LISTED]) or 'none'}{more}"
