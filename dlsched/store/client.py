"""The store as a command uses it: beside the running app, and beside other commands.

A command keeps the file to itself for one call at a time only. Where the app has it open, calls go through the app;
where neither works, reads come from a copy.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from functools import wraps
from multiprocessing.connection import Connection
from pathlib import Path
from socket import socket
from typing import Any

import dlsched
from dlsched.domain.actor import NO_LOGIN, Actor
from dlsched.domain.errors import NotAllowed, StoreError, StoreInUse
from dlsched.store.connection import store_path
from dlsched.store.server import READS, WRITES, authenticated, open_socket, read_address
from dlsched.store.snapshot import Snapshot
from dlsched.store.store import Store

READ_PATIENCE_S, WRITE_PATIENCE_S = 1.0, 10.0
"""How long a call waits for another command to end, or for an app that starts or stops."""
_BETWEEN_S = 0.05


class StoreClient(Store):
    """A store of which each call opens the file, or asks the app that has it open.

    A call that loses the app is made again: it is the same whether it was carried out once or twice.
    """

    def __init__(self, path: str | Path | None, actor: Actor, warn: Callable[[str], None]) -> None:
        self.path, self.actor, self.read_only = store_path(path), actor, False
        self._warn, self._lock = warn, threading.RLock()
        self._app: tuple[socket, Connection[Any, Any]] | None = None
        self._copy: Snapshot | None = None

    def close(self) -> None:
        """Give back what was taken: the connection to the app, the copy of the file."""
        self._hang_up()
        if self._copy is not None:
            self._copy.close()
            self._copy = None

    def check_writable(self) -> None:
        """Raise what a write would, before anything is computed for it."""
        self._refuse_reader()
        self._patiently("find_run", ("",), {}, WRITE_PATIENCE_S)

    def _ask(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if method in WRITES:
            self._refuse_reader()
            return self._patiently(method, args, kwargs, WRITE_PATIENCE_S)
        if self._copy is None:
            try:
                return self._patiently(method, args, kwargs, READ_PATIENCE_S)
            except StoreError as error:
                if not isinstance(error, StoreInUse) and (os.access(self.path, os.W_OK) or not self.path.exists()):
                    raise
                self._copy = self._snapshot(error)
        return getattr(self._copy, method)(*args, **kwargs)

    def _refuse_reader(self) -> None:
        if not self.actor.may_write:
            raise NotAllowed(f"{self.actor.name or 'This user'} may read here, but not change anything.")

    def _snapshot(self, error: StoreError) -> Snapshot:
        try:
            copy = Snapshot(self.path)
        except StoreError:
            raise error from None
        self._warn(f"{str(error).partition('. ')[0]}. What follows is from a copy of {copy.taken_at:%H:%M:%S} UTC.")
        return copy

    def _patiently(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], patience_s: float) -> Any:
        """Make a call, again and again while another process has the store for itself."""
        until_s = time.monotonic() + patience_s
        while True:
            try:
                return self._once(method, args, kwargs)
            except StoreInUse:
                if time.monotonic() > until_s:
                    raise
            time.sleep(_BETWEEN_S)

    def _once(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._app is None:
            try:
                with Store(self.path, read_only=not self.actor.may_write) as store:
                    return getattr(store.acting(self.actor), method)(*args, **kwargs)
            except StoreInUse as busy:
                self._app = self._call_up(busy)
        try:
            _, connection = self._app
            connection.send((method, self.actor.name, args, kwargs))
            worked, answer = connection.recv()
        except (EOFError, OSError) as error:
            self._hang_up()
            raise StoreInUse(f"The app that has the store open ended ({self.path}). Try again.") from error
        if not worked:
            raise answer
        return answer

    def _call_up(self, busy: StoreInUse) -> tuple[socket, Connection[Any, Any]]:
        """Return a connection to the app that has the file; ``busy`` where no app of this account and version does."""
        served = read_address(self.path)
        if served is None:
            raise busy
        try:
            opened = open_socket(served.address)
        except OSError:  # left from a process that was killed
            raise busy from None
        connection = authenticated(opened, bytes.fromhex(served.key), as_server=False)
        if connection is None:
            opened.close()
            raise busy
        if served.version != dlsched.__version__:
            connection.close()
            opened.close()
            raise StoreInUse(
                f"This store is in use by dlsched {served.version}, and this is dlsched {dlsched.__version__} "
                f"({self.path}). Start the app again with this version."
            )
        return opened, connection

    def _hang_up(self) -> None:
        if self._app is not None:
            for end in self._app:
                end.close()
            self._app = None


def _through(method: str) -> Callable[..., Any]:
    @wraps(getattr(Store, method))
    def call(self: StoreClient, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            return self._ask(method, args, kwargs)

    return call


for _method in READS | WRITES:
    setattr(StoreClient, _method, _through(_method))


def open_store(
    path: str | Path | None = None,
    actor: Actor = NO_LOGIN,
    *,
    writes: bool = False,
    warn: Callable[[str], None] = lambda text: None,
) -> StoreClient:
    """Return a store that works beside the running app and other commands.

    Parameters
    ----------
    path
        The file; None as :class:`Store`.
    actor
        Who acts; what the app allows this name counts too.
    writes
        Refuse now what could not be written later.
    warn
        Called once, if what is read comes from a copy of the file.

    Raises
    ------
    StoreError
        With ``writes``: when no way to write was found within 10 s.
    """
    client = StoreClient(path, actor, warn)
    if writes:
        try:
            client.check_writable()
        except BaseException:
            client.close()
            raise
    return client
