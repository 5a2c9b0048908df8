"""Which jobs are cancelled next, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from dlsched.domain.workload import Ints
from dlsched.sim.kernels.tables import Table
from dlsched.sim.log import JobStatus

_UNFINISHED = int(JobStatus.UNFINISHED)


@njit(nogil=True)
def cancels_due(jobs: Table, cancels: Ints, first: int, submitted: int, until: float) -> tuple[int, float]:
    """Put what is cancelled by then next, ordered by row; return where in ``cancels`` it ends, and the latest time.

    ``cancels`` are rows by the time of their cancellation, handled up to ``first``. Jobs that are only submitted at
    this instant, rows from ``submitted`` on, come next time.
    """
    past, k, latest_s = first, first, -np.inf
    while k < len(cancels) and jobs[cancels[k]].cancel_s <= until:
        row = cancels[k]
        if row < submitted:
            if jobs[row].status == _UNFINISHED:
                latest_s = max(latest_s, jobs[row].cancel_s)
            for place in range(k, past, -1):
                cancels[place] = cancels[place - 1]
            place = past
            while place > first and cancels[place - 1] > row:
                cancels[place] = cancels[place - 1]
                place -= 1
            cancels[place] = row
            past += 1
        k += 1
    return past, latest_s
