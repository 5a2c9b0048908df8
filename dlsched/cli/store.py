"""The store in the hands of the account that runs a command, beside the running app."""

from __future__ import annotations

import sys

from dlsched.access.config import read_config
from dlsched.access.roles import command_line_actor
from dlsched.cli.output import printable
from dlsched.store import Store, client
from dlsched.store.connection import store_path


def open_store(path: str | None, *, writes: bool = True) -> Store:
    """Open the store at ``path``, else of the config file, else the usual one, as the account that runs this command.

    ``writes``: the command changes something, and is refused here, before anything is computed, if it may not.

    Raises
    ------
    AccessRefused
        If the config file refuses the account.
    NotAllowed
        If it is a reader there and the command writes.
    StoreError
        If the command writes and no way to write was found, as another process has the file.
    """
    config = read_config()
    actor = command_line_actor(config.access)
    return client.open_store(store_path(path, config.server.store), actor, writes=writes, warn=_warn)


def _warn(text: str) -> None:
    print(f"dlsched: {printable(text)}", file=sys.stderr)
