"""What is said of every decision that was worked out again: whether it is the one that was carried out."""

from __future__ import annotations

import math

from dlsched.wording.cautions import Caution
from dlsched.wording.formats import number

SAME = 1e-6
"""Objectives this close, relative, are one: what is stored and what was worked out again."""


def stale_cautions(noun: str, *, stale: bool) -> list[Caution]:
    """Return the banner of a run that other code made, whose decisions (``noun``) today's code works out."""
    text = f"An older version of this program made the run; its {noun}s are worked out by today's."
    return [Caution("orange", text, "Run it again to be sure")] if stale else []


def objective_cautions(what: str, ours: float | None, stored: float | None) -> list[Caution]:
    """Return the banner of a decision that is worth something else than the one that was carried out."""
    if same_objective(ours, stored):
        return []
    text = (
        f"Worked out again, {what} is worth {number(ours, exact=True)}; in the run it was worth "
        f"{number(stored, exact=True)}. So this is not what was carried out."
    )
    return [Caution("orange", text, "Run it again")]


def same_objective(ours: float | None, stored: float | None) -> bool:
    """Whether what was worked out again is what is stored, within SAME; a run may store 0 where there is none."""
    has_ours, has_stored = (value is not None and math.isfinite(value) for value in (ours, stored))
    if ours is None or stored is None or not (has_ours and has_stored):
        return has_ours == has_stored or stored == 0
    return abs(ours - stored) <= SAME * max(1.0, abs(stored))
