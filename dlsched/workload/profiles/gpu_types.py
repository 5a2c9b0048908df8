"""Nominal speed and board power of common GPU types, found by the many ways their names are written."""

from __future__ import annotations

import csv
import io
from functools import cache

from dlsched.workload.catalogue import data_path

_MAKERS = ("nvidia", "tesla", "geforce")


def gflops_of(gpu_type: str) -> float | None:
    """Return nominal single-precision GFLOPS of one GPU; None for a type that is not in the table.

    "Tesla V100-SXM2-16GB" is found as V100 SXM2: the longest known name with which the given one starts, unless a digit
    follows that would make it another model.
    """
    return _of("gflops", gpu_type)


def board_w_of(gpu_type: str) -> float | None:
    """Return the board power of one GPU in W, its name found as in :func:`gflops_of`; None for an unknown type."""
    return _of("board_w", gpu_type)


def _of(column: str, gpu_type: str) -> float | None:
    wanted, known = _bare(gpu_type), _known()
    begins = [name for name in known if wanted.startswith(name) and not wanted[len(name) :][:1].isdigit()]
    return float(known[max(begins, key=len)][column]) if begins else None


@cache
def _known() -> dict[str, dict[str, str]]:
    """Return the rows of the table by bare name."""
    text = data_path("gpus.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    return {_bare(row[column]): row for column in ("also", "gpu_type") for row in rows if row[column]}


def _bare(name: str) -> str:
    """Return a name without maker, blanks and signs, in lower case."""
    plain = "".join(letter for letter in name.lower() if letter.isalnum())
    for maker in _MAKERS:
        plain = plain.removeprefix(maker)
    return plain
