"""Opening the file: who else has it, is it ours, is it of this version."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from dlsched.domain.errors import StoreError, StoreInUse

DEFAULT_PATH = Path("~/.dlsched/results.duckdb")
PATH_VARIABLE = "DLSCHED_STORE"
_WAY_OUT = "Close the other one, or give another file with --store or DLSCHED_STORE."
_NOT_OURS = "Move it away, or give another file with --store."
_BETWEEN_S = 0.05
_ON_THE_STORE = "USE store"
_MAGIC_AT, _MAGIC = 8, b"DUCK"
_KINDS = (
    (b"SQLite format 3\0", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"PK\x03\x04", "a zip archive, perhaps an export: import it with `dlsched runs import`"),
    (b"\x1f\x8b", "a gzip file"),
    (b"ARROW1", "an Arrow file"),
    (b"\x89HDF", "an HDF5 file"),
)

# The store reads and writes its own file only: nothing that gets into a query may load code or open other files.
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "threads": 1,  # sessions ask in threads of their own; DuckDB's cost an eighth of the CPU time of Run, and save none
}

_ROW_GROUP_ROWS = 32_768
"""DuckDB compresses the last group of rows of each table anew whenever it writes its log into the file. Its own 122,880
rows hold a hundred runs of a usual size, and saving many takes half as much CPU time again with them.
"""


def store_path(path: str | Path | None = None, configured: str = "") -> Path:
    """Return the file to use: argument, variable DLSCHED_STORE, config file or default, the first there is."""
    return Path(path or os.environ.get(PATH_VARIABLE) or configured or DEFAULT_PATH).expanduser()


class Cursors:
    """An open file and the cursors on its tables: a call has one for itself, which the next call takes over.

    A connection that threads share corrupts reads, and making a cursor takes half as long as a short query.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._idle: list[Any] = []

    @contextmanager
    def one(self) -> Iterator[Any]:
        """Give a cursor that no other call has meanwhile."""
        try:
            cursor = self._idle.pop()
        except IndexError:
            cursor = self._connection.cursor()
            cursor.execute(_ON_THE_STORE)
        try:
            yield cursor
        except BaseException:
            cursor.close()
            raise
        self._idle.append(cursor)

    def close(self) -> None:
        """Write everything to the file and give it back; its cursors are closed with it."""
        self._connection.close()


def connect(path: Path, read_only: bool, wait_s: float = 0.0) -> Cursors:
    """Open the file, with its folder made when needed; wait for another process to give it back.

    Raises
    ------
    StoreInUse
        When another process has it for longer.
    StoreError
        When it is no DuckDB file, or it cannot be opened.
    """
    until_s = time.monotonic() + wait_s
    while True:
        try:
            return Cursors(_connect(path, read_only))
        except StoreInUse:
            if time.monotonic() >= until_s:
                raise
        time.sleep(_BETWEEN_S)


def _connect(path: Path, read_only: bool) -> Any:
    if read_only and not path.exists():
        raise StoreError(f"There is no store at {path}. Save a run first, or give another file with --store.")
    _check_kind(path)
    try:
        if not read_only:
            path.parent.mkdir(parents=True, exist_ok=True)
        return _attached(path, read_only)
    except (duckdb.Error, OSError) as error:
        raise _explained(path, str(error)) from error


def _attached(path: Path, read_only: bool) -> Any:
    """Open the file beside a database in memory: only a file that is attached takes a size of row groups.

    That database is named after the file, so that what this process opens twice is one database, as DuckDB wants it.
    """
    file = str(path.resolve())
    config = _CONFIG | {"temp_directory": f"{file}.tmp"}
    connection = duckdb.connect(f":memory:{file} {'read' if read_only else 'write'}", config=config)
    try:
        options = f"ROW_GROUP_SIZE {_ROW_GROUP_ROWS}{', READ_ONLY' if read_only else ''}"
        quoted = file.replace("'", "''")
        connection.execute(f"ATTACH IF NOT EXISTS '{quoted}' AS store ({options})")
        connection.execute(_ON_THE_STORE)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_kind(path: Path) -> None:
    """Raise StoreError about a file that is not DuckDB's, for which DuckDB itself would look for an extension."""
    try:
        with path.open("rb") as file:
            head = file.read(32)
    except OSError:  # none yet, or opening it will tell
        return
    if head and head[_MAGIC_AT : _MAGIC_AT + len(_MAGIC)] != _MAGIC:
        kind = next((f": it is {kind}" for magic, kind in _KINDS if head.startswith(magic)), ", or it is damaged")
        raise StoreError(f"{path} is not a result store{kind}. {_NOT_OURS}")


def _explained(path: Path, message: str) -> StoreError:
    holder = re.search(r"\(PID (\d+)\)", message)
    if holder:
        return StoreInUse(f"This store is in use by process {holder[1]} on this machine ({path}). {_WAY_OUT}")
    if "set lock" in message or "used by another process" in message:
        return StoreInUse(f"This store is in use by another process ({path}). {_WAY_OUT}")
    if "file handle conflict" in message:
        return StoreError(f"This store is already open in this process in another mode ({path}). {_WAY_OUT}")
    if "not a valid DuckDB" in message or "Serialization" in message or "corrupt" in message.lower():
        return StoreError(f"{path} is not a result store, or it is damaged. {_NOT_OURS}")
    return StoreError(f"The store {path} cannot be opened: {message.splitlines()[0]}. {_WAY_OUT}")
