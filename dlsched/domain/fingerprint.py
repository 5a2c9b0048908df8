"""Compiled code that is kept on disk: when it is out of date, and where it is.

Numba looks at the contents of the one file a kept function is written in. A fingerprint of all sources it is made of,
closed over by that function, makes a change in any of them compile anew.

Numba keeps code in the folder NUMBA_CACHE_DIR, else beside the source, else in the user's cache folder
(``~/.cache/numba``), the first of them that can be written, and refuses to compile where none can: an installation of
another user in a container without a home folder. Such a process keeps it in a temporary folder of its own, which its
workers share and which is removed at its end.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterable
from functools import cache
from hashlib import blake2b
from pathlib import Path

FOLDER_VARIABLE = "NUMBA_CACHE_DIR"


def fingerprint(sources: Iterable[Path]) -> int:
    """Return a number, 0..2^56, that changes with the contents of any of the files; for code about to be kept."""
    see_to_folder()
    digest = blake2b(digest_size=7)
    for path in sorted(sources):
        digest.update(path.read_bytes())
    return int.from_bytes(digest.digest(), "little")


@cache
def see_to_folder() -> None:
    """Make a temporary folder for compiled code, of this user only, where numba would find none."""
    from numba import config, njit

    try:
        njit(cache=True)(fingerprint)  # compiles nothing: numba only looks for a folder
    except RuntimeError:
        folder = tempfile.mkdtemp(prefix="dlsched-code-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ[FOLDER_VARIABLE] = folder  # for workers too
        config.reload_config()  # type: ignore[no-untyped-call]
