"""Printing: one JSON object without NaN, or lines for people, and progress for a person who waits."""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dlsched.domain.errors import InputError
from dlsched.domain.model import plain
from dlsched.wording.caveats import Caveat, mind_line
from dlsched.wording.counted import Counted
from dlsched.wording.formats import as_cell


def print_json(value: Any) -> None:
    """Print one line of JSON; NaN and infinity, which JSON does not have, become null."""
    print(json.dumps(plain(value), allow_nan=False, ensure_ascii=False))


def printable(text: Any) -> str:
    """Return a text that cannot steer the terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(text))


def print_mind(caveats: Sequence[Caveat]) -> None:
    """Print what must be known of the sentence above, in a line."""
    if caveats:
        print(printable(mind_line([one.label for one in caveats])))


def print_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print columns padded to their widest cell."""
    lines = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def write_csv(rows: Sequence[Mapping[str, Any]], path: str) -> None:
    """Write rows with equal keys to a file, no text as a formula; InputError when it cannot be written."""
    try:
        with Path(path).expanduser().open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(map(as_cell, rows[0]))
            writer.writerows(map(as_cell, row.values()) for row in rows)
    except OSError as error:
        raise InputError(f"file {path}", f"cannot be written ({error.strerror})", "Give another path") from error


def progress_line(quiet: bool) -> Callable[[float, str], None] | None:
    """Return a call that shows progress to a person who waits, None for scripts."""
    if quiet or not sys.stderr.isatty():
        return None
    told_s = time.monotonic()

    def show(share: float, text: str) -> None:
        nonlocal told_s
        if time.monotonic() - told_s > 0.3:
            told_s = time.monotonic()
            print(f"\r{share:4.0%} {text:<70.70}", end="", file=sys.stderr, flush=True)

    return show


def waiting_line() -> Callable[[str], None]:
    """Return a call that tells what is waited for on standard error, "" when that is over.

    A terminal gets one line that changes; a log file gets one each minute.
    """
    shown_s: float | None = None

    def show(text: str) -> None:
        nonlocal shown_s
        is_terminal, now_s = sys.stderr.isatty(), time.monotonic()
        if not text:
            if is_terminal and shown_s is not None:
                print("\r" + " " * 110 + "\r", end="", file=sys.stderr, flush=True)
            shown_s = None
        elif is_terminal:
            print(f"\r{printable(text):<110.110}", end="", file=sys.stderr, flush=True)
            shown_s = now_s
        elif shown_s is None or now_s - shown_s >= 60:
            print(f"dlsched: {printable(text)}", file=sys.stderr, flush=True)
            shown_s = now_s

    return show


def clear_line() -> None:
    """Take the line of progress away."""
    if sys.stderr.isatty():
        print("\r" + " " * 75 + "\r", end="", file=sys.stderr)


def print_metrics(metrics: Mapping[str, float | int | None], counted: Counted) -> None:
    """Print metrics by their labels, as the pages write them; undefined ones are left out.

    ``counted``: the resource that counts for the scenario of the run.
    """
    from dlsched.metrics.kpi import kpis_among

    shown = [kpi.of(counted) for kpi in kpis_among(metrics) if metrics[kpi.key] is not None]
    print_table(("metric", "value", "key"), [(kpi.label, kpi.show(metrics[kpi.key]), kpi.key) for kpi in shown])
