"""What the accounting readers share: a record a job, gathered line by line, and from records to a draft."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats
from dlsched.workload.import_report import EXAMPLES, Example, Ledger, example_text
from dlsched.workload.readers.canonical import Draft
from dlsched.workload.readers.convert import from_python, split_gpus
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.source import TraceText

NOT_TOLD = math.nan
LONGEST_LINE = 16 << 20
REPEATED = 1 << 16  # requests and host lists kept while a log is read, as most repeat
CUT_OFF = "record is cut off or cannot be read"
Kind = Literal["drop", "repair", "flag", "not modelled"]


class Record(NamedTuple):
    """A finished job; times in seconds since 1970, NaN or empty where the log says nothing.

    ``nodes`` are the host names, ``num_nodes`` how many hold the ``cores`` and ``mem_gib`` of the job together;
    ``remarks`` are keys of the format's remarks.
    """

    line: int
    job_id: str
    user: str = ""
    group: str = ""
    partition: str = ""
    job_class: str = ""
    status: str = ""
    gpu_types: str = ""
    nodes: str = ""
    asked_s: float = NOT_TOLD
    eligible_s: float = NOT_TOLD
    start_s: float = NOT_TOLD
    end_s: float = NOT_TOLD
    limit_s: float = NOT_TOLD
    gpus: float = 0.0
    num_nodes: float = 1.0
    cores: float = NOT_TOLD
    mem_gib: float = NOT_TOLD
    remarks: tuple[str, ...] = ()


NUMBERS = ("asked_s", "eligible_s", "start_s", "end_s", "limit_s", "gpus", "num_nodes", "cores", "mem_gib")
TEXTS = {
    "job_id": "job_id", "user": "user", "group": "group", "partition": "partition", "job_class": "job_class",
    "status": "recorded_status", "nodes": "recorded_nodes", "gpu_types": "gpu_types",
}  # fmt: skip


class Remark(NamedTuple):
    """What the ledger says of all jobs with a remark."""

    kind: Kind
    reason: str
    rule: str


REMARKS: dict[str, Remark] = {
    "uneven": Remark("not modelled", "cores are not spread evenly over the nodes",
                     "A job without GPUs has equal shares; its total is exact"),
    "renamed": Remark("repair", "host name has brackets, commas or blanks", "They are left out of the name"),
    "hosts": Remark("repair", "hosts cannot be read", "Left empty; cores and nodes are taken from the request"),
    "gpus-differ": Remark("flag", "GPU counts of the request differ", "The most specific one is used"),
    "gpus-unclear": Remark("drop", "GPU count is not clear from the request", "Dropped: GPUs are never guessed"),
}  # fmt: skip


@dataclass
class Gathered:
    """Records of a log, and lines that are none: by reason their count and first examples."""

    records: list[Record] = field(default_factory=list)
    others: dict[str, list[Example]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def set_aside(self, reason: str, line: int, text: str) -> None:
        """Count a line that is no record of a finished job."""
        self.counts[reason] = self.counts.get(reason, 0) + 1
        examples = self.others.setdefault(reason, [])
        if len(examples) < EXAMPLES:
            examples.append(Example(line, example_text(text)))


def lines_of(text: TraceText, gathered: Gathered) -> Iterator[tuple[int, str]]:
    """Yield (number, line) of the lines that are not blank and no comments, without line ends.

    Lines that no scheduler writes, of more than 16 MB, are set aside.
    """
    with io.TextIOWrapper(io.BytesIO(text.data), encoding="utf-8", errors="replace", newline="\n") as file:
        for number, line in enumerate(file, 1):
            stripped = line.rstrip("\r\n")
            if len(stripped) > LONGEST_LINE:
                gathered.set_aside(CUT_OFF, number, stripped)
            elif stripped and stripped[0] != "#" and not stripped.isspace():
                yield number, stripped


def number(text: str) -> float:
    """Return a finite number; ValueError for anything else."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def told_s(text: str) -> float:
    """Return a time or span above 0; NaN for nothing, 0 and negative numbers, which mean "not told"."""
    value = number(text) if text else 0.0
    return value if value > 0 else NOT_TOLD


def clock_s(text: str) -> float:
    """Return seconds of ``[[D:]H:]M:S`` or plain seconds; NaN for nothing, ValueError for anything else."""
    if not text:
        return NOT_TOLD
    total = 0.0
    parts = text.split(":")
    for part, unit in zip(reversed(parts), (1, 60, 3_600, 86_400), strict=False):
        total += number(part) * unit
    if len(parts) > 4 or text.startswith("-"):
        raise ValueError(text)
    return total


# ---- from records to a draft ---------------------------------------------------------------------


def draft_of(
    name: str,
    gathered: Gathered,
    options: ReadOptions,
    remarks: Mapping[str, Remark],
    time_zone: str = "UTC (the log has seconds since 1970)",
) -> Draft:
    """Return the draft of a log.

    Arrival is the eligible time where it is later than the submission (``arrival = eligible``); a job without a start
    is dropped. GPUs become workers of one GPU; a job without GPUs is one worker a node with its share of the cores.

    Raises
    ------
    InputError
        When the log has no record at all.
    """
    if not gathered.records and not gathered.counts:
        raise InputError(f"file {name}", "it has no records", "Export it again")
    columns: dict[str, Any] = dict.fromkeys(Record._fields, ())
    columns |= zip(Record._fields, zip(*gathered.records, strict=True), strict=False)
    lines = np.array(columns["line"], dtype=np.int64)
    ids = columns["job_id"]
    ledger = Ledger(len(lines), lambda rows: lines[rows], ids)
    for reason, count in gathered.counts.items():
        unreadable = reason == CUT_OFF
        rule = "Dropped: the line is damaged" if unreadable else "Not a job: only records of finished jobs are"
        ledger.lost(count, reason, rule, tuple(gathered.others[reason]), unreadable=unreadable)
    value = {name: np.array(columns[name], dtype=np.float64) for name in NUMBERS}
    _write_remarks(ledger, columns["remarks"], {**REMARKS, **remarks})
    start_s, end_s, asked_s = value["start_s"], value["end_s"], value["asked_s"]
    ledger.drop(np.isnan(start_s), "job never started", "Dropped: it has no run time", ids, unreadable=False)
    ledger.drop(np.isnan(end_s), "no end time", "Dropped: the run time is unknown", ids)
    status = np.array(columns["status"], dtype=object)
    if options.cancelled == "drop":
        rule = "Dropped as asked: cancelled = drop"
        ledger.drop(status == "cancelled", "job was cancelled", rule, ids, unreadable=False)
    running = status == "running"
    if options.censored == "drop":
        ledger.drop(running, "job was running", "Dropped as asked: censored = drop", ids, unreadable=False)
    else:
        rule = "Kept with the run time observed so far, which is a lower bound"
        ledger.flag(running, "job was still running at export", rule, ids)
    submit_s, held_s = _arrival(ledger, asked_s, value["eligible_s"], start_s, options)
    gpus = value["gpus"]
    workers, per_worker = split_gpus(gpus)
    workers = np.where(gpus == 0, np.maximum(1.0, value["num_nodes"]), workers)
    floats = {"recorded_start_s": start_s, "recorded_end_s": end_s, "limit_s": value["limit_s"], "held_s": held_s,
              "cpus_per_worker": value["cores"] / workers}  # fmt: skip
    if np.isfinite(value["mem_gib"]).any():
        floats["mem_gib_per_worker"] = value["mem_gib"] / workers
    notes = []
    if (status == "cancelled").any() and options.cancelled == "keep":
        notes.append("Cancelled jobs keep their recorded run time")
    return Draft(
        ledger, submit_s, end_s - start_s, workers, per_worker,
        texts={column: from_python(columns[name]) for name, column in TEXTS.items()},
        floats=floats, absolute=True, assumptions=notes, is_window=True,
        meta={"time_zone": time_zone},
    )  # fmt: skip


def _write_remarks(ledger: Ledger, found: Sequence[tuple[str, ...]], remarks: Mapping[str, Remark]) -> None:
    rows: dict[str, list[int]] = {}
    for row, keys in enumerate(found):
        for key in keys:
            rows.setdefault(key, []).append(row)
    for key, remark in remarks.items():
        if key not in rows:
            continue
        mask = np.zeros(len(found), dtype=bool)
        mask[rows[key]] = True
        if remark.kind == "drop":
            ledger.drop(mask, remark.reason, remark.rule, unreadable=False)
        else:
            write = {"repair": ledger.repair, "flag": ledger.flag, "not modelled": ledger.not_modelled}[remark.kind]
            write(mask, remark.reason, remark.rule)


def _arrival(
    ledger: Ledger, asked_s: Floats, eligible_s: Floats, start_s: Floats, options: ReadOptions
) -> tuple[Floats, Floats]:
    """Return the arrivals, and the seconds that dependencies and holds took before them."""
    late = eligible_s > start_s
    ledger.repair(late, "eligible after its start", "Counted as eligible at its start", eligible_s - start_s)
    held_s = np.fmax(np.where(late, start_s, eligible_s) - asked_s, 0.0)
    if options.arrival == "submit":
        return asked_s, np.zeros_like(asked_s)
    held_s = np.nan_to_num(held_s)
    return asked_s + held_s, held_s
