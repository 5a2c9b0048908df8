"""Random streams that do not depend on which other jobs exist or in which order they come.

Every draw about a job is a pure function of (seed, purpose, job_id, index), so two policies at one seed see the
same jobs, and deleting or permuting rows changes no other row.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Purpose = Literal[
    "workload", "estimate", "bug", "cancel", "failure", "fill", "policy", "shake", "run time", "later jobs",
    "eviction",
]  # fmt: skip


def job_uniforms(
    seed: int, purpose: Purpose, job_ids: Sequence[str] | NDArray[np.object_], count: int = 1
) -> NDArray[np.float64]:
    """Return uniforms in (0, 1), shape (jobs, count), keyed by seed, purpose and job id."""
    key = f"{seed}/{purpose}".encode()
    digests = b"".join(blake2b(str(job_id).encode(), digest_size=8, key=key).digest() for job_id in job_ids)
    start = np.frombuffer(digests, dtype="<u8").reshape(-1, 1)
    steps = np.arange(1, count + 1, dtype=np.uint64).reshape(1, -1)
    with np.errstate(over="ignore"):
        bits = _splitmix64(start + steps * np.uint64(0x9E3779B97F4A7C15))
    return ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def stream(seed: int, purpose: Purpose) -> np.random.Generator:
    """Return a generator for draws that belong to no job (arrival times, a policy's own dice)."""
    digest = blake2b(f"{seed}/{purpose}".encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))


def _splitmix64(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix 64 bits (Steele, Lea and Flood 2014, finaliser of SplitMix)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
