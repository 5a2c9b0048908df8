"""Read a large upload in a process of its own, so that no other session of the app waits for it."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from dlsched.domain.errors import InputError
from dlsched.workload.readers import ReadOptions, TraceRead, read_trace

SMALL_BYTES = 3_000_000
"""Read at once: well below a second."""
BYTES_PER_S = 8_000_000
"""About how fast a large file is read; for the text shown meanwhile."""
UNPACKED_FACTOR = 10
"""About how much larger a trace is than its compressed file."""
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"PK", b"PAR1")


def read_upload(content: bytes, name: str, options: ReadOptions) -> TraceRead:
    """Return the trace of an uploaded file; raise what ``read_trace`` raises."""
    if is_quick(content):
        return read_trace(content, name, options)
    spawn = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(1, mp_context=spawn) as pool:
            return pool.submit(read_trace, content, name, options).result()
    except BrokenProcessPool:
        raise InputError(
            f"file {name}", "reading it needs more memory than is available", "Give a smaller part of it"
        ) from None


def is_quick(content: bytes) -> bool:
    """Whether a file is read too quickly to be worth a process."""
    return _text_bytes(content) <= SMALL_BYTES


def about_s(content: bytes) -> float:
    """Return about how long reading takes, seconds."""
    return _text_bytes(content) / BYTES_PER_S


def _text_bytes(content: bytes) -> int:
    return len(content) * (UNPACKED_FACTOR if content.startswith(_PACKED) else 1)
