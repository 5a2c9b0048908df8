"""When compiled code that is kept on disk is out of date.

Numba looks at the time stamp of the one file a kept function is written in. A fingerprint of all sources it is made
of, closed over by that function, makes a change in any of them compile anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path


def fingerprint(sources: Iterable[Path]) -> int:
    """Return a number, 0..2^56, that changes with the contents of any of the files."""
    digest = blake2b(digest_size=7)
    for path in sorted(sources):
        digest.update(path.read_bytes())
    return int.from_bytes(digest.digest(), "little")
