"""Lines of a sacct export to a table: any delimiter, delimiters inside names, records over several lines."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dlsched.domain.workload import Ints
from dlsched.workload.readers.slurm.fields import TABLE_DELIMITERS, Layout
from dlsched.workload.readers.source import TraceText
from dlsched.workload.readers.table import Dialect, Table, read_table

CUT = "\x1f"
"""Stands for a delimiter of several characters: the parser takes one."""
JOINER = "\x1e"
"""Stands for a delimiter inside a job name until the row is counted."""
MOST_JOINED_LINES = 50


def read_lines(text: TraceText, layout: Layout, wanted: Iterable[str]) -> Table:
    """Return the wanted columns; lines of too many or too few fields are put together where that is possible.

    Surplus fields belong to JobName, which may hold the delimiter. A record of too few fields goes on in the next
    lines: a comment holds line breaks. What stays too long or too short is set aside and counted.
    """
    data, cut = text.data, layout.delimiter
    if len(cut.encode()) > 1:
        data = data.replace(CUT.encode(), b"").replace(cut.encode(), CUT.encode())
        cut = CUT
    offset = 0
    for _ in range(layout.skipped):
        offset = data.find(b"\n", offset) + 1 or len(data)
    quoted = cut in TABLE_DELIMITERS
    dialect = Dialect(cut, layout.names, offset, layout.skipped, (), quoted=quoted)
    table = read_table(TraceText(data, text.name), dialect, wanted)
    if not table.ragged or quoted:
        return table
    mended = data[:offset] + _mended(data[offset:], layout.names, cut.encode())
    return read_table(TraceText(mended, text.name), dialect, wanted)


def _mended(body: bytes, names: tuple[str, ...], cut: bytes) -> bytes:
    """Return the lines with names put together and records on one line; blank lines keep the line numbers true."""
    lines, most = body.split(b"\n"), len(names) - 1
    cuts = np.fromiter((line.count(cut) for line in lines), np.int64, len(lines))
    for first in np.flatnonzero(cuts < most).tolist() if most > 0 else []:
        last = _last_line(cuts, first, most) if lines[first].strip() else first
        if last > first:
            lines[first] = b" ".join(line.rstrip(b"\r") for line in lines[first : last + 1])
            lines[first + 1 : last + 1] = [b""] * (last - first)
    if "jobname" in names:
        at = names.index("jobname")
        for number in np.flatnonzero(cuts > most).tolist():
            lines[number] = _name_joined(lines[number], at, int(cuts[number]) - most, cut)
    return b"\n".join(lines)


def _last_line(cuts: Ints, first: int, most: int) -> int:
    """Return the line in which a record that is short of delimiters is complete; the first itself if it never is."""
    total = np.cumsum(cuts[first : first + MOST_JOINED_LINES])
    last = int(np.searchsorted(total, most))
    if last == len(total) or total[last] != most or (cuts[first + 1 : first + last + 1] >= most).any():
        return first
    return first + last


def _name_joined(line: bytes, at: int, extra: int, cut: bytes) -> bytes:
    parts = line.split(cut)
    parts[at : at + extra + 1] = [JOINER.encode().join(parts[at : at + extra + 1])]
    return cut.join(parts)
