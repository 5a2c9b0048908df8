"""Reservations as ``scontrol show res`` prints them."""

from __future__ import annotations

import re

from dlsched.domain.errors import InputError
from dlsched.domain.slurm_notation import NO_VALUE, names
from dlsched.workload.readers.formats import Head
from dlsched.workload.readers.nodes.told import Names
from dlsched.workload.readers.slurm_settings.part import Booked, Part
from dlsched.workload.readers.source import TraceText

MOST = 10_000
LONGEST_NODES = 1_000_000
_RECORD = re.compile(r"^[ \t]*ReservationName=(\S+)", re.MULTILINE)
_FIELD = re.compile(r"(?:^|\s)(\w+)=(\S*)")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?")
_IGNORED_FLAGS = frozenset({"SPEC_NODES", "MAINT", "IGNORE_JOBS", "ALL_NODES", "STATIC", "PART_NODES"})


def looks_like_reservations(head: Head) -> bool:
    """Whether a text shows reservations."""
    return not head.is_parquet and any(_RECORD.match(line) for line in head.lines)


def read_reservations(text: TraceText) -> Part:
    """Return the reservations of whole nodes with their times as printed; others are counted.

    Raises
    ------
    InputError
        More than 10,000 of them, or a node list that cannot be read.
    """
    content = text.data.decode("utf-8", "replace")
    starts = list(_RECORD.finditer(content))
    if len(starts) > MOST:
        raise InputError(f"file {text.name}", f"it has more than {MOST:,} reservations", "Give those that matter")
    part = Part("scontrol show res")
    expanded = Names()
    ends = [match.start() for match in starts[1:]] + [len(content)]
    for match, end in zip(starts, ends, strict=True):
        field: dict[str, str] = {}
        for key, value in _FIELD.findall(content[match.end() : end]):
            field.setdefault(key.lower(), value)
        name, nodes = match[1][:120], field.get("nodes", "")
        times = field.get("starttime", ""), field.get("endtime", "")
        if nodes.lower() in NO_VALUE or len(nodes) > LONGEST_NODES or not all(map(_TIME.fullmatch, times)):
            part.left_out["reservation without nodes or times"] += 1
            continue
        if nodes.upper() != "ALL":
            expanded(nodes)
        users, accounts = names(field.get("users", "")), names(field.get("accounts", ""))
        if any(one.startswith("-") for one in (*users, *accounts)):
            part.left_out["reservation that keeps some users out"] += 1
            continue
        for flag in field.get("flags", "").split(","):
            if flag and flag.upper() not in _IGNORED_FLAGS:
                part.left_out[f"flag {flag[:40]} of a reservation"] += 1
        part.reservations[name] = Booked(name, *times, nodes, users, accounts)
    return part
