"""A program that answers each line on its standard input with one on its standard output."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any

from dlsched.domain.errors import InputError, PlanError

LONGEST_LINE = 16 * 2**20
"""Bytes of an answer, at most."""
PATIENCE_S = 1.0
"""For ending by itself, once its input is closed."""
_LAST_LINES, _LAST_BYTES, _CHUNK = 10, 4096, 2**16


class LineProcess:
    """A program that is running; :meth:`end` ends it and what it started, and so does the end of this object.

    Parameters
    ----------
    argv
        Program and arguments; no shell reads them.
    timeout_s
        Time for each answer.

    Raises
    ------
    InputError
        If it cannot be started.
    """

    def __init__(self, argv: Sequence[str], timeout_s: float) -> None:
        if os.name != "posix":
            raise InputError("policy external", "needs Linux or macOS", "Run it there")
        self._timeout_s = timeout_s
        try:
            self._process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            do = "Check the path of the program, and whether it may be run"
            raise InputError(f"program {argv[0]!r}", f"cannot be started: {error.strerror or error}", do) from None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._stdin, self._stdout, self._stderr = (
            pipe.fileno() for pipe in (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        self._selector = selectors.DefaultSelector()
        for number in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(number, False)
        for number in (self._stdout, self._stderr):
            self._selector.register(number, selectors.EVENT_READ)
        self._answer = bytearray()
        self._errors: deque[bytes] = deque(maxlen=_LAST_LINES)
        self._rest = b""
        self._finalizer = weakref.finalize(self, _end, self._process, self._selector, 0.0)

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a message as one line and return the answer.

        Raises
        ------
        PlanError
            The process ends, does not answer in time, or answers no JSON object, more than a line, or too long a one.
        """
        out = memoryview(json.dumps(message, allow_nan=False, separators=(",", ":")).encode() + b"\n")
        if self._answer:
            raise self._error(f"it wrote more than one line for an answer: {_shown(self._answer)}")
        until_s = time.monotonic() + self._timeout_s
        self._selector.register(self._stdin, selectors.EVENT_WRITE)
        searched = 0
        try:
            while (end := self._answer.find(b"\n", searched)) < 0 or out:
                searched = max(0, len(self._answer) if end < 0 else end)
                if len(self._answer) > LONGEST_LINE:
                    raise self._error(f"its answer is longer than {LONGEST_LINE // 2**20} MiB")
                ready = self._selector.select(max(0.0, until_s - time.monotonic()))
                if not ready:
                    raise self._error(f"it did not answer within {self._timeout_s:g} s")
                for key, _ in ready:
                    if key.fd == self._stdin:
                        out = self._write(out)
                    else:
                        self._read(key.fd)
        finally:
            with contextlib.suppress(KeyError):
                self._selector.unregister(self._stdin)
        line = bytes(self._answer[:end])
        del self._answer[: end + 1]
        return self._parsed(line)

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message that has no answer, as far as the process still reads."""
        with contextlib.suppress(OSError):
            os.write(self._stdin, json.dumps(message).encode() + b"\n")

    def end(self) -> None:
        """Close its input, wait a moment, and end the process and what it has started."""
        if self._finalizer.detach() is not None:
            self._drain()
            _end(self._process, self._selector, PATIENCE_S)

    @property
    def last_words(self) -> str:
        """The last lines that it wrote to its standard error, as the end of a message; "" without any."""
        lines = [*self._errors, self._rest] if self._rest else [*self._errors]
        text = b"\n".join(lines)[-_LAST_BYTES:].decode(errors="replace").strip()
        return f"; its last lines on standard error: {' | '.join(text.splitlines())}" if text else ""

    def _write(self, out: memoryview) -> memoryview:
        try:
            written = os.write(self._stdin, out[:_CHUNK])
        except BlockingIOError:
            return out
        except OSError:
            raise self._ended() from None
        if written == len(out):
            self._selector.unregister(self._stdin)
        return out[written:]

    def _read(self, number: int) -> None:
        try:
            got = os.read(number, _CHUNK)
        except BlockingIOError:
            return
        if number == self._stdout:
            self._answer += got
            if not got:
                raise self._ended()
        elif got:
            self._keep(got)
        else:
            self._selector.unregister(number)

    def _keep(self, got: bytes) -> None:
        *lines, rest = (self._rest + got).split(b"\n")
        self._errors.extend(line[-_LAST_BYTES:] for line in lines)
        self._rest = rest[-_LAST_BYTES:]

    def _ended(self) -> PlanError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE_S)
        status = self._process.returncode
        if status is None:
            return self._error("it closed its standard output or input")
        if status < 0:
            return self._error(f"the process was ended by {signal.Signals(-status).name}")
        return self._error(f"the process ended with status {status}")

    def _drain(self) -> None:
        """Read what it has just written to its standard error, at most as much as the system keeps."""
        with contextlib.suppress(OSError):
            self._keep(os.read(self._stderr, 16 * _CHUNK))

    def _error(self, what: str) -> PlanError:
        self._drain()
        return PlanError(f"{what}{self.last_words}")

    def _parsed(self, line: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(line, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise self._error(f"its answer is not valid JSON ({str(error)[:120]}): {_shown(line)}") from None
        if not isinstance(answer, dict):
            raise self._error(f"its answer must be a JSON object, got {_shown(line)}")
        return answer


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _shown(line: bytes | bytearray) -> str:
    text = bytes(line[:120]).decode(errors="replace").strip()
    return f"{text!r}" + (" ..." if len(line) > 120 else "")


def _end(process: subprocess.Popen[bytes], selector: selectors.BaseSelector, patience_s: float) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(patience_s)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)  # its own session: the process and what it has started
    process.wait()
    selector.close()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
