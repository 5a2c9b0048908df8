"""Read uploads within limits: each file in a process of its own, which the system ends beyond them.

Whatever a file does there, the app goes on, other sessions do not wait, and the user gets one message.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from pydantic import BaseModel

from dlsched.domain.errors import DlschedError, InputError, reading
from dlsched.plugins import with_plugins

T = TypeVar("T")
BYTES_PER_S = 8_000_000
"""About how fast a large file is read; for the text shown meanwhile."""
UNPACKED_FACTOR = 10
"""About how much larger a trace is than its compressed file; for the text shown meanwhile."""
LEAST_MEMORY_BYTES, MEMORY_PER_BYTE, MOST_MEMORY_BYTES = 3 << 30, 50, 8 << 30
"""Address space of a process that reads, by the size of the file; 1.5 GiB of it are there before it reads anything."""
LEAST_CPU_S, CPU_S_PER_MB, MOST_CPU_S = 30, 2, 300
MOST_S = 600
"""By the clock, where the processors are busy with something else."""
MOST_MADE_BYTES = 1 << 30
"""Of what was read, as it comes back; a million jobs have 200 MB."""
AT_ONCE = max(2, os.cpu_count() or 1)
"""Processes that read at the same time; further files wait."""
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"PK", b"PAR1")
_PRELOADED = (
    "dlsched.runner.reading",
    "dlsched.workload.load",
    "dlsched.workload.scenario_file",
)
_WAY_OUT = "Give a smaller part of it"
_places = threading.BoundedSemaphore(AT_ONCE)


@dataclass(frozen=True, slots=True)
class Limits:
    """What reading some files may take: bytes of address space, seconds of computing, and bytes of what is made."""

    memory_bytes: int
    cpu_s: int
    made_bytes: int

    @classmethod
    def of(cls, given: object) -> Limits:
        """Return the limits for files of this size; what a compressed file holds is not known before it is read."""
        contents = [*_contents(given)]
        if any(content.startswith(_PACKED) for content in contents):
            return cls(MOST_MEMORY_BYTES, MOST_CPU_S, MOST_MADE_BYTES)
        size = sum(map(len, contents))
        memory_bytes = min(LEAST_MEMORY_BYTES + MEMORY_PER_BYTE * size, MOST_MEMORY_BYTES)
        cpu_s = min(LEAST_CPU_S + CPU_S_PER_MB * size // 1_000_000, MOST_CPU_S)
        return cls(memory_bytes, cpu_s, MOST_MADE_BYTES)

    def apply(self) -> None:
        """Let the system end this process beyond these limits, whatever it does then; Windows has none."""
        if sys.platform != "win32":
            import resource

            for limit, most in ((resource.RLIMIT_AS, self.memory_bytes), (resource.RLIMIT_CPU, self.cpu_s)):
                _, hard = resource.getrlimit(limit)
                resource.setrlimit(limit, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def prepare() -> None:
    """Start the process that readers are forked from: it loads them while nothing waits for it."""
    if sys.platform != "win32":
        from multiprocessing.forkserver import ensure_running

        _context()
        ensure_running()


def read_within_limits(what: str, read: Callable[..., T], *given: Any) -> T:
    """Return what a function makes of the content of files, ``read(*given)``, made in another process.

    It is forked from one that has loaded the readers, where the system can: 0.03 s instead of 2.

    Parameters
    ----------
    what
        The file, for messages: "file jobs.csv".
    read
        A function of a module: it, its arguments and what it returns travel to another process and back.

    Raises
    ------
    InputError
        What ``read`` raises; or the file takes more than its limits, or ends the process that reads it.
    """
    limits = Limits.of(given)
    context = _context()
    ours, theirs = context.Pipe(duplex=False)
    order = (theirs, what, limits, *with_plugins(read, given, {}))
    process = context.Process(target=_read_here, args=order, daemon=True)
    with _places, ours:
        try:
            process.start()
            theirs.close()
            outcome = ours.recv() if ours.poll(MOST_S) else _overdue(what, f"{MOST_S / 60:g} min")
        except (EOFError, BrokenPipeError, ConnectionResetError):
            process.join()
            outcome = _ended(what, limits, process.exitcode)
        finally:
            if process.pid is not None:
                process.kill()
                process.join()
    if isinstance(outcome, DlschedError):
        raise outcome
    return outcome  # type: ignore[no-any-return]


def about_s(content: bytes) -> float:
    """Return about how long reading a trace takes, seconds."""
    return len(content) * (UNPACKED_FACTOR if content.startswith(_PACKED) else 1) / BYTES_PER_S


def _contents(given: object) -> Iterator[bytes]:
    """Yield the contents of files among some arguments, also within collections and models."""
    if isinstance(given, bytes):
        yield given
    elif isinstance(given, (tuple, list)):
        for one in given:
            yield from _contents(one)
    elif isinstance(given, BaseModel):
        yield from _contents([value for _, value in given])


def _context() -> Any:
    """Return how processes are started; the server that they are forked from has no threads of ours, and no store."""
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*_PRELOADED])
    return context


def _overdue(what: str, limit: str) -> InputError:
    return InputError(what, f"reading it takes more than {limit}", _WAY_OUT)


def _ended(what: str, limits: Limits, exit_code: int | None) -> InputError:
    """Return the message about a process that ended without an answer."""
    by = {getattr(signal, name, None): name for name in ("SIGXCPU", "SIGKILL")}.get(-(exit_code or 0))
    if by == "SIGXCPU":
        return _overdue(what, f"{limits.cpu_s} s of computing")
    if by == "SIGKILL":
        return InputError(what, "the system ended the process that read it, probably for lack of memory", _WAY_OUT)
    return InputError(what, "it crashes the process that reads it", "Export it again, or in another format")


def _read_here(
    answer: Connection[Any, Any],
    what: str,
    limits: Limits,
    read: Callable[..., object],
    given: tuple[Any, ...],
    named: Any,
) -> None:
    """Read in this process, within limits, and send what was made, or the error."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the app, and this process ends with it
    limits.apply()
    try:
        with reading(what):
            made = pickle.dumps(read(*given, **named), protocol=5)
        if len(made) > limits.made_bytes:
            why = f"what it holds takes {len(made):,} bytes; the limit is {limits.made_bytes:,}"
            raise InputError(what, why, _WAY_OUT)
    except DlschedError as error:
        why = f"reading it takes more than {limits.memory_bytes / 2**30:.3g} GiB of memory"
        too_much = isinstance(error.__cause__, MemoryError)
        made = pickle.dumps(InputError(what, why, _WAY_OUT) if too_much else error)
    answer.send_bytes(made)


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)
