"""The end of a process: after its exit functions, before Python takes itself down.

In that last step DuckDB's bindings print pages of "leaked instances" on the user's terminal where a thread or a cache
still holds a connection. Nothing of ours is left to do there: results are on disk, workers were ended.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn


def to_the_end(work: Callable[[], object]) -> NoReturn:
    """Do all that this process is for and leave with the status that ``work`` returns or exits with.

    Call it before anything else registers functions for the exit: those are run first.
    """
    status = 1

    def leave() -> None:
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):
                stream.flush()
        os._exit(status)

    atexit.register(leave)
    try:
        returned = work()
    except SystemExit as wanted:
        status = wanted.code if isinstance(wanted.code, int) else 0 if wanted.code is None else 1
        raise
    status = returned if isinstance(returned, int) else 0
    sys.exit(status)
