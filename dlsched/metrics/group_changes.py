"""What every table of groups shares: from which size on a group stands alone, and letters in place of names."""

from __future__ import annotations

LEAST_GROUP = 5
"""Groups of fewer jobs a draw are folded into one: a mean over them says little."""


def letters(place: int) -> str:
    """Return A, B, ..., Z, AA, AB, ...: names for groups that are not to be named."""
    text = ""
    place += 1
    while place:
        place, last = divmod(place - 1, 26)
        text = chr(65 + last) + text
    return text
