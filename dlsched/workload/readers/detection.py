"""Which format a trace is in, by content: how many of each format's signs are there."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from dlsched.domain.errors import InputError
from dlsched.workload.readers.formats import Head, TraceFormat
from dlsched.workload.readers.registry import find_format, formats

log = logging.getLogger(__name__)
SURE = 0.8
POSSIBLE = 0.5
CLEAR_LEAD = 0.2


@dataclass(frozen=True, slots=True)
class FormatCandidate:
    """A format a file may be in: how many of its signs are there."""

    format_key: str
    signs: int
    of: int

    @property
    def certainty(self) -> float:
        """Share of the signs that are there."""
        return self.signs / self.of

    @property
    def label(self) -> str:
        """Name of the format for people."""
        return find_format(self.format_key).label

    def __str__(self) -> str:
        return f"{self.label} ({self.signs} of {self.of} signs)"


class FormatUnsure(InputError):
    """Two formats are about equally likely; ``candidates`` is what a page offers, best first."""

    candidates: tuple[FormatCandidate, ...]

    def __init__(self, what: str, why: str, do: str = "", candidates: tuple[FormatCandidate, ...] = ()) -> None:
        super().__init__(what, why, do)
        self.candidates = candidates

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.what, self.why, self.do, self.candidates)


def detect(data: bytes, name: str = "") -> list[FormatCandidate]:
    """Return the formats that the beginning of a (decompressed, decoded) file suits, likeliest first.

    ``data`` may be the first bytes only, except for Parquet. ``name`` only breaks ties. Empty list: nothing suits.
    InputError when it cannot even be cut into columns.
    """
    head = Head(data)
    found, problem = list[FormatCandidate](), None
    for one in formats():
        try:
            signs = one.signs(head)
        except InputError as error:  # not a table; the file may still be in a format that is none
            problem = error
            continue
        except Exception:
            if not one.origin:
                raise
            log.exception("Format %s from %s cannot look at files", one.key, one.origin)
            continue
        if signs is not None and (signs.certainty >= POSSIBLE or one.fallback):
            found.append(FormatCandidate(one.key, signs.present, signs.of))
    if any(not find_format(candidate.format_key).fallback for candidate in found):
        found = [c for c in found if (one := find_format(c.format_key)).read is not None or not one.fallback]
    if problem is not None and not found:
        raise problem
    return sorted(found, key=lambda c: (-c.certainty, -c.of, c.format_key not in name.lower()))


def choose(candidates: list[FormatCandidate], name: str) -> TraceFormat:
    """Return the clear winner.

    Raises
    ------
    InputError
        Nothing suits; FormatUnsure when the best is not sure, or barely ahead of another.
    """
    recognised = [candidate for candidate in candidates if not find_format(candidate.format_key).fallback]
    if not recognised:
        if candidates:
            return find_format(candidates[0].format_key)
        why = "no known format was recognised"
        raise InputError(f"file {name}", why, "Use a CSV file with a header line, or choose the format")
    best, rivals = recognised[0], [c for c in recognised[1:] if recognised[0].certainty - c.certainty < CLEAR_LEAD]
    if best.certainty >= SURE and (best.certainty == 1 or not rivals):
        return find_format(best.format_key)
    listed = " or ".join(str(c) for c in candidates[:3])
    raise FormatUnsure(f"file {name}", f"looks like {listed}", "Choose the format", tuple(candidates))
