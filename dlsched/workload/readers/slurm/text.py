"""The text that sacct prints, ``-P`` or ``-p``, with or without a header line."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from dlsched.domain.errors import InputError
from dlsched.workload.readers.canonical import Draft
from dlsched.workload.readers.convert import bools, strings
from dlsched.workload.readers.exports import SACCT_COMMAND
from dlsched.workload.readers.formats import HEAD_BYTES, Head, NotJobs, Signs, TraceFormat
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.slurm.fields import (
    is_screen_table,
    layout_of,
    looks_like_sacct,
)
from dlsched.workload.readers.slurm.jobs import WANTED, columns_of, draft_of
from dlsched.workload.readers.slurm.lines import JOINER, read_lines
from dlsched.workload.readers.source import TraceText

LABEL = "Slurm sacct export"
HOST_ZONE = "time zone of the sacct host (UTC if exported with TZ=UTC)"
UTC_TIME = r"^\s*(?:\d{9,11}|\d.*T.*(?:Z|[+-]\d\d:?\d\d))\s*$"
"""Seconds since 1970, or a time with its offset; other times are local to the host."""
_HEADER_IDS = pa.array(["jobid", "jobidraw"])


def read_sacct(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of an sacct export with any delimiter and field names in any case.

    Raises
    ------
    InputError
        No header line and no known field order, a table for the screen, or a column that is needed is missing.
    """
    what = f"sacct export {text.name}"
    lines = _first_lines(text.data)
    if is_screen_table(lines):
        why = "it is sacct's table for the screen, in which long values are cut off"
        raise NotJobs(what, why, f"Export it with -P: {SACCT_COMMAND}", "Slurm sacct table for the screen")
    layout = layout_of(lines, options.sacct_fields)
    if layout is None:
        why = "it has no header line, and its order of fields is none of those known"
        do = "Give the list of its --format option as Field list of sacct (sacct_fields), or export with "
        raise NotJobs(what, why, f"{do}{SACCT_COMMAND}", LABEL, needs="sacct_fields")
    table = read_lines(text, layout, WANTED)
    if layout.delimiter == "," and table.ragged > table.rows:
        why = f"{table.ragged:,} lines have more fields than the header: TRES and node lists hold commas too"
        raise InputError(what, why, f"Export it with -P, which separates fields by |: {SACCT_COMMAND}")
    ledger = table.ledger("jobid")
    if layout.delimiter != "|":
        ledger.notes.append(f"Fields are separated by {layout.delimiter!r}")
    if not layout.skipped:
        ledger.notes.append(f"No header line: fields read in the order of {layout.order}")
    columns = columns_of(table.columns, table.rows, what)
    ids = columns.first_of("jobid", "jobidraw")
    again = bools(pc.is_in(pc.utf8_lower(strings(ids)), value_set=_HEADER_IDS))
    ledger.drop(again, "repeated header line", "Skipped", ids, unreadable=False)
    mended = bools(pc.match_substring(columns["jobname"], JOINER))
    ledger.repair(mended, "delimiter inside JobName", "The name was reassembled from both ends of the line", ids)
    in_utc = bools(pc.match_substring_regex(columns.first_of("submit", "start"), UTC_TIME))
    return draft_of(ledger, columns, options, what, zone="UTC" if in_utc.any() else HOST_ZONE)


def _first_lines(data: bytes) -> list[str]:
    return data[:HEAD_BYTES].decode("utf-8", "replace").split("\n")


def _signs(head: Head) -> Signs | None:
    if head.is_parquet or head.json_start:
        return None
    lines = _first_lines(head.data)
    layout = layout_of(lines)
    found = layout.is_of_sacct if layout else is_screen_table(lines) or looks_like_sacct(lines)
    return Signs(5, 5) if found else None


SACCT = TraceFormat(
    "sacct",
    LABEL,
    _signs,
    read_sacct,
    choices=("cancelled", "censored", "pending", "never_started", "arrival", "absent_times", "sacct_fields"),
    source="https://slurm.schedmd.com/sacct.html",
)
