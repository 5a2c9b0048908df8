"""Jobs that have not started, where a reader keeps them: as the queue of now, whose status says why they wait, or until
they left.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dlsched.domain.workload import Texts

PENDING, HELD = "pending", "held"
KEPT_RULE = "Kept as the queue of now, with its time limit as its run time"

NEVER_STARTED_RULE = (
    "Kept in the queue until it left; if it starts, it runs until then or to its time limit; its wait is not compared"
)


def status_of(reason: str, *, held: bool) -> str:
    """Return the recorded status of a job that waits; a held one does not start before something else happens."""
    return f"{HELD if held else PENDING} ({reason})" if reason else HELD if held else PENDING


def waiting_of(statuses: Iterable[str], word: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which recorded statuses are of jobs that wait, PENDING or HELD, shape (jobs,)."""
    return np.array([status.lower().partition(" (")[0] == word for status in statuses], dtype=bool)


def reasons_of(statuses: Texts) -> list[str]:
    """Return the reasons that recorded statuses give for waiting; "" where they give none."""
    return [str(status).partition(" (")[2].removesuffix(")") for status in statuses]
