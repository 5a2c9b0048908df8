"""The store that the app has open, served to commands of the same account on this machine.

DuckDB gives a file to one process only. That process listens on a socket; a file of mode 600 beside the store says
where, and holds the key. Both sides prove that they know the key before anything else is read: what follows is pickled.
"""

from __future__ import annotations

import atexit
import hmac
import json
import logging
import os
import secrets
import shutil
import socket
import stat
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dlsched
from dlsched.domain.actor import Actor
from dlsched.domain.errors import DlschedError, StoreError

if TYPE_CHECKING:
    from dlsched.store.store import Store

HANDSHAKE_S = 5.0
MAX_CONNECTIONS = 64
MAX_ADDRESS_BYTES = 4096
READS = frozenset({
    "find_run", "find_runs", "run_info", "list_runs", "metrics", "jobs", "segments", "nodes", "decisions", "waits",
    "series", "past_seconds", "find_cells", "cells_of", "find_experiment", "get_experiment", "list_experiments",
    "export_runs", "get_setting", "list_settings", "get_scenario", "scenario_info", "list_scenarios", "deletions",
    "deletion_of", "trail",
})  # fmt: skip
WRITES = frozenset({
    "save_scenario", "rename_scenario", "duplicate_scenario", "delete_scenario", "restore", "save_run", "save_runs",
    "set_note", "rename_run", "delete_runs", "restore_runs", "purge_deleted", "mark_running", "clear_running",
    "save_cells", "save_experiment", "import_runs", "vacuum", "set_setting",
})  # fmt: skip
"""Methods of Store that may be asked for from outside."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ServedAt:
    """Where a store is served, by which version: ``address`` is the path of a Unix socket, or a port of 127.0.0.1."""

    address: str | int
    key: str
    pid: int
    version: str


def address_file(path: Path) -> Path:
    """Return the file that says where a store is served."""
    return path.with_name(f"{path.name}.app")


def read_address(path: Path) -> ServedAt | None:
    """Return where a store is served; None for no file, or one that other accounts may read or write.

    A stranger's file must not be followed: what the other end sends is unpickled.
    """
    try:
        file = os.open(address_file(path), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    with os.fdopen(file, "rb") as opened:
        about = os.fstat(file)
        if os.name == "posix" and (about.st_uid != os.geteuid() or stat.S_IMODE(about.st_mode) & 0o077):
            return None
        try:
            found = ServedAt(**json.loads(opened.read(MAX_ADDRESS_BYTES)))
            bytes.fromhex(found.key)
        except (ValueError, TypeError):
            return None
    return found


def open_socket(address: str | int) -> socket.socket:
    """Return a connection to where a store is served; OSError where there is none."""
    family, place = (socket.AF_UNIX, address) if isinstance(address, str) else (socket.AF_INET, ("127.0.0.1", address))
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.settimeout(HANDSHAKE_S)
        opened.connect(place)
        opened.settimeout(None)
    except BaseException:
        opened.close()
        raise
    return opened


def authenticated(opened: socket.socket, key: bytes, *, as_server: bool) -> Connection[Any, Any] | None:
    """Return the connection once both ends have shown that they know the key; None if that fails or takes long.

    The socket stays open: to shut it down ends a read that waits on the connection.
    """
    connection: Connection[Any, Any] = Connection(opened.dup().detach())
    timer = threading.Timer(HANDSHAKE_S, _shut_down, [opened])
    timer.daemon = True
    timer.start()
    try:
        for prove in (deliver_challenge, answer_challenge) if as_server else (answer_challenge, deliver_challenge):
            prove(connection, key)
    except (AuthenticationError, OSError, EOFError, AssertionError, ValueError):
        connection.close()
        return None
    finally:
        timer.cancel()
    return connection


def _shut_down(opened: socket.socket) -> None:
    with suppress(OSError):
        opened.shutdown(socket.SHUT_RDWR)


class StoreServer:
    """Answers commands from the open store, in threads, until it is closed or the process ends.

    Parameters
    ----------
    store
        The open store.
    who
        Returns the user for the account name of a command, with the rights that this process gives; may refuse it by
        an error of this package.
    """

    def __init__(self, store: Store, who: Callable[[str], Actor] = Actor) -> None:
        self._store, self._who = store, who
        self._key = secrets.token_bytes(32)
        self._folder = Path(tempfile.mkdtemp(prefix="dlsched-"))
        self._listening, address = _listen(self._folder)
        self._open: set[socket.socket] = set()
        self._file = address_file(store.path)
        try:
            self._write(ServedAt(address, self._key.hex(), os.getpid(), dlsched.__version__))
        except OSError as error:  # a folder that may not be written to: commands read snapshots then
            log.warning("Commands cannot use this store while it is open here: %s", error)
        atexit.register(self.close)
        threading.Thread(target=self._accept, name="dlsched-store-server", daemon=True).start()

    def _write(self, served: ServedAt) -> None:
        """Put the whole file there at once; one that is left from a process that was killed gives way."""
        fresh = self._file.with_name(f"{self._file.name}.{os.getpid()}")
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(asdict(served), file)
        fresh.replace(self._file)

    def close(self) -> None:
        """Stop listening, end the connections and remove the file."""
        atexit.unregister(self.close)
        _shut_down(self._listening)
        self._listening.close()
        for opened in list(self._open):
            _shut_down(opened)
        served = read_address(self._store.path)
        if served is not None and hmac.compare_digest(served.key, self._key.hex()):
            self._file.unlink(missing_ok=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _accept(self) -> None:
        while True:
            try:
                opened, _ = self._listening.accept()
            except OSError:
                return
            if len(self._open) >= MAX_CONNECTIONS:
                opened.close()
                continue
            self._open.add(opened)
            threading.Thread(target=self._serve, args=(opened,), name="dlsched-store-command", daemon=True).start()

    def _serve(self, opened: socket.socket) -> None:
        try:
            connection = authenticated(opened, self._key, as_server=True)
            if connection is not None:
                with connection, suppress(EOFError, OSError):
                    while True:
                        connection.send(self._answer(connection.recv_bytes()))
        finally:
            self._open.discard(opened)
            opened.close()

    def _answer(self, request: bytes) -> tuple[bool, Any]:
        """Return whether it worked, and the answer or the error."""
        from multiprocessing.reduction import ForkingPickler

        try:
            method, name, args, kwargs = ForkingPickler.loads(request)
            if method not in READS | WRITES:
                raise StoreError(f"The store has no method {method!r:.80} for commands.")
            return True, getattr(self._store.acting(self._who(name)), method)(*args, **kwargs)
        except DlschedError as error:
            return False, error
        except Exception as error:
            log.exception("A command's request failed")
            return False, StoreError(f"The running app could not do that: {type(error).__name__}: {error!s:.500}")


def _listen(folder: Path) -> tuple[socket.socket, str | int]:
    """Return a socket that listens, of this machine only, and its address."""
    if hasattr(socket, "AF_UNIX"):
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listening.bind(str(folder / "store"))
            listening.listen()
            return listening, str(folder / "store")
        except OSError:  # the path of the temporary folder is too long for a socket
            listening.close()
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    return listening, listening.getsockname()[1]
