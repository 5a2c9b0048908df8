"""Words of the field as this tool uses them: ``data/glossary.csv``, which an editor can change without code."""

from __future__ import annotations

import csv
from functools import cache
from typing import NamedTuple

from dlsched.workload.catalogue import data_path


class Term(NamedTuple):
    """One line of the glossary: plain word, the papers' word, what it means here."""

    word: str
    also: str
    meaning: str


@cache
def terms() -> tuple[Term, ...]:
    """Return the lines of the glossary, by word."""
    with data_path("glossary.csv").open(encoding="utf-8", newline="") as file:
        return tuple(Term(**line) for line in csv.DictReader(file))
