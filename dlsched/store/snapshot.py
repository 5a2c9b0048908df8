"""A store that another process has open, read from a copy of its file."""

from __future__ import annotations

import shutil
import tempfile
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from weakref import finalize

from dlsched.domain.errors import StoreError
from dlsched.store.store import Store

TRIES = 20
_HEADERS_BYTES = 3 * 4096
"""The headers of a DuckDB file: one for all, and two that take turns in saying where the latest checkpoint is."""


class Snapshot(Store):
    """A store as it was at ``taken_at`` (UTC): a copy in a temporary folder, which goes when it is closed.

    Raises
    ------
    StoreError
        If the file cannot be copied, or is no store.
    """

    def __init__(self, path: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="dlsched-snapshot-"))
        self._remove_folder = finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        try:
            self.taken_at = _copied(path.resolve(), self._folder / "store.duckdb")  # the log lies beside the file
            super().__init__(self._folder / "store.duckdb")
        except BaseException as error:
            self._remove_folder()
            if isinstance(error, OSError):
                raise StoreError(f"The store {path} cannot be copied: {error.strerror or error}.") from error
            raise
        self.path, self.read_only = path, True

    def close(self) -> None:
        """Remove the copy."""
        super().close()
        self._remove_folder()


def _copied(path: Path, to: Path) -> datetime:
    """Copy a store that may be written to meanwhile, whole as of one moment, which is returned.

    The log of transactions is copied first, then the file, and both are used if no checkpoint ended meanwhile. Until
    one does, all that the last one refers to stays in the file, and the log only grows; a log that ends within a
    transaction is read up to the one before.
    """
    log, log_copy = path.with_name(f"{path.name}.wal"), to.with_name(f"{to.name}.wal")
    for attempt in range(TRIES):
        before, taken_at = _headers(path), datetime.now(UTC).replace(tzinfo=None)
        log_copy.unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            shutil.copyfile(log, log_copy)
        shutil.copyfile(path, to)
        if _headers(path) == before:
            return taken_at
        time.sleep(min(0.05 * (attempt + 1), 0.5))
    raise StoreError(f"The store {path} changes too fast to be copied. Try again in a minute.")


def _headers(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEADERS_BYTES)
