"""Keeping what a solver prints of itself away from standard output.

HiGHS 1.12 prints a line of its own debugging where it repairs a solution ("transformNewIntegerFeasibleSolution ..."),
whatever its options say. It goes around Python to file descriptor 1, so that only diverting that helps.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def quiet_output() -> Iterator[None]:
    """Discard what the code within prints on descriptor 1.

    Only where no other thread runs: the descriptor belongs to the whole process, and what another thread prints
    meanwhile must not be lost. There, a stray line is the lesser evil.
    """
    if threading.active_count() > 1:
        yield
        return
    try:
        kept = os.dup(1)
    except OSError:  # no standard output at all
        yield
        return
    try:
        _to_nowhere()
        yield
    finally:
        _flush()
        os.dup2(kept, 1)
        os.close(kept)


def divert_output() -> None:
    """Discard what is printed on descriptor 1 from now on, for a worker process; `print` goes to standard error."""
    _to_nowhere()
    sys.stdout = sys.stderr


def _to_nowhere() -> None:
    _flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def _flush() -> None:
    """Write what Python and the C library still hold back to where it was printed to."""
    for stream in (sys.stdout, sys.__stdout__):
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()  # type: ignore[union-attr]
    with suppress(OSError, TypeError, AttributeError):  # a platform whose C library is not found like this
        ctypes.CDLL(None).fflush(None)
