"""Which code made a result: the package's version and a hash of the sources that can change a number."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import dlsched

# Not the readers: what they read is in the scenario's hash. Not pages, figures, store: they change no number.
INFLUENCE = (
    *("domain", "speed", "placement", "optimise", "policies", "sim", "metrics"),
    *("workload/generators", "workload/studies"),
)


@lru_cache(maxsize=32)
def code_version(more: tuple[str, ...] = ()) -> str:
    """Return version and source hash, as in ``0.1.0+3f2a9c1d04e7``; runs of another one are shown as older.

    ``more`` names folders that decide an answer beyond a run.
    """
    root = Path(dlsched.__file__).parent
    digest = blake2b(digest_size=6)
    for folder in (*INFLUENCE, *more):
        for file in sorted((root / folder).rglob("*.py")):
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return f"{dlsched.__version__}+{digest.hexdigest()}"
