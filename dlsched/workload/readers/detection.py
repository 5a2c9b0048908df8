"""Which format a trace is in, by content: how many of each format's signs are there."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dlsched.domain.errors import InputError
from dlsched.workload.readers.mapping import guess_mapping, normal_name
from dlsched.workload.readers.sacct import delimiter_of
from dlsched.workload.readers.swf import header_of
from dlsched.workload.readers.table import sniff

HEAD_BYTES = 1 << 18
SURE = 0.8
POSSIBLE = 0.5
CLEAR_LEAD = 0.2
LABELS = {
    "native": "dlsched CSV", "philly": "Philly job log", "openb": "Alibaba openb pod list",
    "openb-nodes": "Alibaba openb node list", "helios": "Helios cluster log",
    "helios-capacity": "Helios GPU capacity table", "swf": "Standard Workload Format",
    "sacct": "Slurm sacct export", "csv": "generic CSV",
}  # fmt: skip


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
        return LABELS[self.format_key]

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


def detect(head: bytes, name: str = "") -> list[FormatCandidate]:
    """Return the formats the first bytes of a (decompressed, decoded) file suit, likeliest first.

    ``name`` only breaks ties. Empty list: nothing suits. InputError when it cannot even be cut into columns.
    """
    if head.startswith(b"PAR1"):
        return [FormatCandidate("native", 1, 1)]
    head = head[:HEAD_BYTES]
    found, problem = list[FormatCandidate](), None
    for count in _COUNTERS:
        try:
            candidate = count(head)
        except InputError as error:  # not a table; the file may still be in a format that is none
            problem = error
            continue
        if candidate is not None and (candidate.certainty >= POSSIBLE or candidate.format_key == "csv"):
            found.append(candidate)
    if problem is not None and not found:
        raise problem
    return sorted(found, key=lambda c: (-c.certainty, -c.of, c.format_key not in name.lower()))


def choose(candidates: list[FormatCandidate], name: str) -> str:
    """Return the key of the clear winner.

    Raises
    ------
    InputError
        Nothing suits; FormatUnsure when the best is not sure, or barely ahead of another.
    """
    recognised = [candidate for candidate in candidates if candidate.format_key != "csv"]
    if not recognised:
        if candidates:
            return "csv"
        why = "no known format was recognised (Philly, openb, Helios, SWF, sacct, a table with a header line)"
        raise InputError(f"file {name}", why, "Use a CSV file with a header line, or choose the format")
    best, rivals = recognised[0], [c for c in recognised[1:] if recognised[0].certainty - c.certainty < CLEAR_LEAD]
    if best.certainty >= SURE and (best.certainty == 1 or not rivals):
        return best.format_key
    listed = " or ".join(str(c) for c in candidates[:3])
    raise FormatUnsure(f"file {name}", f"looks like {listed}", "Choose the format", tuple(candidates))


# ---- signs of each format ------------------------------------------------------------------------


def _philly(head: bytes) -> FormatCandidate | None:
    if not head.lstrip().startswith(b"["):
        return None
    keys = (b'"jobid"', b'"attempts"', b'"submitted_time"', b'"vc"', b'"status"')
    return FormatCandidate("philly", sum(key in head for key in keys), len(keys))


def _swf(head: bytes) -> FormatCandidate | None:
    lines = [line for line in head.split(b"\n")[:200] if line.strip()]
    data = [line.split() for line in lines if not line.lstrip().startswith(b";")][:50]
    numeric = [
        row for row in data if len(row) >= 18 and all(re.fullmatch(rb"-?\d+(\.\d*)?", cell) for cell in row[:18])
    ]
    if not numeric or len(numeric) < 0.5 * len(data):
        return None
    header_keys = {"Version", "Computer", "MaxJobs", "MaxProcs", "MaxNodes", "UnixStartTime"}
    comments = any(line.lstrip().startswith(b";") for line in lines)
    return FormatCandidate("swf", 2 + bool(header_keys & set(header_of(head))), 2 + comments)


def _sacct(head: bytes) -> FormatCandidate | None:
    delimiter = delimiter_of(head)
    first = head.lstrip().split(b"\n")[0].decode("utf-8", "replace")
    names = {part.strip().lower() for part in first.split(delimiter)}
    signs = ({"jobid", "jobidraw"}, {"state"}, {"submit", "eligible"}, {"start", "end", "elapsed", "elapsedraw"},
             {"reqtres", "alloctres", "reqgres", "allocgres"})  # fmt: skip
    if not signs[0] & names or (delimiter != "|" and not signs[-1] & names):
        return None  # a table of another scheduler can share the rest
    return FormatCandidate("sacct", sum(bool(sign & names) for sign in signs), len(signs))


# Names that few other tables use; the rest of a format's columns say little about where it comes from.
_PECULIAR = {
    "helios": ("gpu_num", "cpu_num", "node_num", "vc", "queue"),
    "openb": ("cpu_milli", "gpu_milli", "gpu_spec", "pod_phase", "creation_time", "scheduled_time", "deletion_time"),
    "openb-nodes": ("sn", "cpu_milli", "memory_mib", "gpu", "model"),
}


def _of_columns(key: str) -> Callable[[bytes], FormatCandidate | None]:
    columns = _PECULIAR[key]

    def count(head: bytes) -> FormatCandidate | None:
        header = {normal_name(name) for name in sniff(head).header}
        return FormatCandidate(key, sum(column in header for column in columns), len(columns))

    return count


def _capacity(head: bytes) -> FormatCandidate | None:
    header = sniff(head).header
    fits = len(header) >= 3 and header[0] == "date" and header[-1] == "total"
    return FormatCandidate("helios-capacity", 2, 2) if fits else None


def _native(head: bytes) -> FormatCandidate | None:
    header = set(sniff(head).header)
    signs = ({"job_id"}, {"submit_time_s", "submit_s", "submit_time"},
             {"num_gpus", "workers", "gpus_per_worker"}, {"duration_s", "work"})  # fmt: skip
    return FormatCandidate("native", len(signs), len(signs)) if all(sign & header for sign in signs) else None


def _csv(head: bytes) -> FormatCandidate | None:
    dialect = sniff(head)
    if head.lstrip().startswith((b"[", b"{", b"<", b";")) or not any(name for name in dialect.header):
        return None
    needed = 3 - len(guess_mapping(dialect.header, dialect.sample).missing())
    return FormatCandidate("csv", 1 + needed, 4)


_COUNTERS: tuple[Callable[[bytes], FormatCandidate | None], ...] = (
    _philly,
    _swf,
    _sacct,
    _of_columns("helios"),
    _of_columns("openb"),
    _of_columns("openb-nodes"),
    _capacity,
    _native,
    _csv,
)
