"""Opening the file: who else has it, is it ours, is it of this version."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import duckdb

from dlsched.domain.errors import StoreError

DEFAULT_PATH = Path("~/.dlsched/results.duckdb")
PATH_VARIABLE = "DLSCHED_STORE"
_WAY_OUT = "Close the other one, or give another file with --store or DLSCHED_STORE."

# The store reads and writes its own file only: nothing that gets into a query may load code or open other files.
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
}


def store_path(path: str | Path | None = None) -> Path:
    """Return the file to use: the argument, else the variable DLSCHED_STORE, else the default."""
    return Path(path or os.environ.get(PATH_VARIABLE) or DEFAULT_PATH).expanduser()


def connect(path: Path, read_only: bool) -> Any:
    """Open the file, with its folder made when needed.

    Raises
    ------
    StoreError
        When another process has it, it is no DuckDB file, or it cannot be opened.
    """
    if read_only and not path.exists():
        raise StoreError(f"There is no store at {path}. Save a run first, or give another file with --store.")
    try:
        if not read_only:
            path.parent.mkdir(parents=True, exist_ok=True)
        return duckdb.connect(str(path), read_only=read_only, config=_CONFIG)
    except (duckdb.Error, OSError) as error:
        raise StoreError(_explain(path, str(error))) from error


def _explain(path: Path, message: str) -> str:
    holder = re.search(r"\(PID (\d+)\)", message)
    if holder:
        return f"This store is in use by process {holder[1]} on this machine ({path}). {_WAY_OUT}"
    if "set lock" in message or "used by another process" in message:
        return f"This store is in use by another process ({path}). {_WAY_OUT}"
    if "different configuration" in message:
        return f"This store is already open in this process in another mode ({path}). {_WAY_OUT}"
    if "not a valid DuckDB" in message or "Serialization" in message or "corrupt" in message.lower():
        return f"{path} is not a result store, or it is damaged. Move it away, or give another file with --store."
    return f"The store {path} cannot be opened: {message.splitlines()[0]}. {_WAY_OUT}"
