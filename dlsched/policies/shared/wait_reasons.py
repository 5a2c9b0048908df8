"""What waiting jobs have been told: every plan is kept, and a queue may be long."""

from __future__ import annotations

import numpy as np

from dlsched.domain.workload import Ints

NOTHING_YET = -1


class WaitReasonTracker:
    """Tells each row its reason only when it is another than last time."""

    def __init__(self) -> None:
        self._told = np.zeros(0, dtype=np.int64)

    def of(self, waiting: Ints, codes: Ints, running: Ints) -> tuple[Ints, Ints]:
        """Return the waiting rows told another reason than last time; who runs is told anew when it waits again."""
        missing = 1 + max(int(waiting.max(initial=-1)), int(running.max(initial=-1))) - len(self._told)
        if missing > 0:
            self._told = np.append(self._told, np.full(max(missing, len(self._told)), NOTHING_YET))
        self._told[running] = NOTHING_YET
        changed = self._told[waiting] != codes
        self._told[waiting] = codes
        return waiting[changed], codes[changed]
