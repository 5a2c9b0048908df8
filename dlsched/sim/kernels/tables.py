"""Tables and codes that several compiled loops share. No numba here."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

SHARE = np.dtype([("node", "i8"), ("workers", "i8")])
DECISION = np.dtype([("time_s", "f8"), ("cause", "i8")])
WAIT = np.dtype([("row", "i8"), ("from_s", "f8"), ("reason", "i8")])
Table = Any
"""A numpy record array; its fields are known to numba, not to the type checker."""

NOT_SAID = 255
"""Reason of a job that has not been told why it waits."""


class Placement(IntEnum):
    """Placement rules by number."""

    POOL = 0
    BEST_FIT = 1
    PACK = 2
    SPREAD = 3


PLACEMENT = {
    "pool": Placement.POOL,
    "best-fit": Placement.BEST_FIT,
    "pack": Placement.PACK,
    "spread": Placement.SPREAD,
}


class Outcome(IntEnum):
    """Why the kernel returned."""

    MORE = 0
    DONE = 1
    FULL = 2
