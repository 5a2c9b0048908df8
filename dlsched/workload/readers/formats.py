"""What the registry knows of a kind of file: its name for people, its signs, and how it is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dlsched.domain.errors import InputError
from dlsched.workload.readers.mapping import normal_name
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.source import PARQUET_MAGIC, TraceText
from dlsched.workload.readers.table import Dialect, parquet_columns, sniff

if TYPE_CHECKING:
    from dlsched.workload.readers.canonical import Draft

HEAD_BYTES = 1 << 18
HEAD_LINES = 200


class Head:
    """The beginning of a decompressed, decoded file, looked at once by every format.

    ``data`` are its first bytes; the whole file for Parquet, which keeps its columns at the end.
    """

    def __init__(self, data: bytes) -> None:
        self.is_parquet = data.startswith(PARQUET_MAGIC)
        self.data = data if self.is_parquet else data[:HEAD_BYTES]

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """First lines that are not blank, without line ends; none for Parquet."""
        if self.is_parquet:
            return ()
        return tuple(line for line in self.data.decode("utf-8", "replace").splitlines()[:HEAD_LINES] if line.strip())

    @cached_property
    def dialect(self) -> Dialect:
        """How the file would be cut into columns; InputError where it cannot be."""
        return sniff(self.data)

    @cached_property
    def columns(self) -> frozenset[str]:
        """Column names as :func:`normal_name` writes them; none if the file is no table."""
        if self.is_parquet:
            return frozenset(map(normal_name, parquet_columns(TraceText(self.data, "", is_parquet=True))))
        try:
            return frozenset(map(normal_name, self.dialect.header))
        except InputError:
            return frozenset()

    @cached_property
    def json_start(self) -> str:
        """The first bracket of a JSON file, else nothing."""
        first = self.data.lstrip()[:1].decode("ascii", "replace")
        return first if first in ("{", "[") and not self.is_parquet else ""

    def has_keys(self, keys: Iterable[str]) -> int:
        """Return how many of the names stand in the file as keys of JSON objects."""
        return sum(re.search(rb'"%s"\s*:' % re.escape(key.encode()), self.data) is not None for key in keys)


@dataclass(frozen=True, slots=True)
class Signs:
    """How many of a format's signs a file shows."""

    present: int
    of: int

    @property
    def certainty(self) -> float:
        """Share of the signs that are there."""
        return self.present / self.of


@dataclass(frozen=True, slots=True)
class TraceFormat:
    """A kind of file.

    ``signs`` looks at the beginning of a file; None = certainly something else. ``read`` returns the jobs; without it
    the file is known but holds no jobs that can be read, ``why`` says what it is ("it is a list of nodes") and ``do``
    which file or export helps. ``choices`` are the fields of ReadOptions that concern it; ``source`` says where the
    format is documented. A ``fallback`` is chosen only where no other format suits. ``origin`` and ``fingerprint`` of
    a format from outside say where it comes from, as in "mypkg 1.0"; "" of ours.
    """

    key: str
    label: str
    signs: Callable[[Head], Signs | None]
    read: Callable[[TraceText, ReadOptions], Draft] | None = None
    why: str = ""
    do: str = ""
    choices: tuple[str, ...] = ()
    source: str = ""
    reads_parquet: bool = False
    fallback: bool = False
    origin: str = ""
    fingerprint: str = ""

    def refusal(self, name: str) -> InputError:
        """Return the message for a file of this kind, which holds no jobs that can be read."""
        return NotJobs(f"file {name}", self.why, self.do, self.label)


class NotJobs(InputError):
    """The file is of a known kind that holds no jobs that can be read; ``named_as`` is its name for people.

    ``needs`` names the field of ReadOptions without which it cannot be read, where there is one.
    """

    named_as: str
    needs: str

    def __init__(self, what: str, why: str, do: str = "", named_as: str = "", needs: str = "") -> None:
        super().__init__(what, why, do)
        self.named_as, self.needs = named_as, needs

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.what, self.why, self.do, self.named_as, self.needs)


def of_columns(*names: str) -> Callable[[Head], Signs | None]:
    """Return the signs of a table: the columns that few other tables have, by their normal names."""

    def signs(head: Head) -> Signs | None:
        return Signs(sum(name in head.columns for name in names), len(names))

    return signs


def with_columns(*names: str) -> Callable[[Head], Signs | None]:
    """Return the signs of a table that must have all of these columns: common names, which prove nothing one by one."""

    def signs(head: Head) -> Signs | None:
        return Signs(len(names), len(names)) if head.columns.issuperset(names) else None

    return signs


def of_json(start: str, *keys: str) -> Callable[[Head], Signs | None]:
    """Return the signs of a JSON file that starts with "{" or "[": the keys of its objects."""

    def signs(head: Head) -> Signs | None:
        return Signs(head.has_keys(keys), len(keys)) if head.json_start == start else None

    return signs
