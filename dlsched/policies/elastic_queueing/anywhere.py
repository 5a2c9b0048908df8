"""Any cluster: widths handed out in amounts are placed on nodes, with speed curves that say which widths there are.

Jobs that start are placed in the order they were served, then those that grow. What is free then goes to whoever waits
and can use it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dlsched.domain.state import Placer, State
from dlsched.domain.workload import Ints
from dlsched.policies.elastic_queueing.curves import CurveBook
from dlsched.policies.shared import placing
from dlsched.policies.shared.capacity import Amounts
from dlsched.policies.shared.facts import JobFacts


class Placing(placing.Placing):
    """The trial of one decision in which a row may have the efficient widths of its curve; ``book`` knows them."""

    def __init__(self, state: State, facts: JobFacts, book: CurveBook, amounts: Amounts, placer: Placer) -> None:
        super().__init__(state, facts, self._efficient, amounts, placer)
        self._book = book

    def _efficient(self, row: int) -> Ints:
        return self._book.efficient(int(self._book.of(np.array(row))))

    def offer(self, rows: Ints, take: Callable[[int], bool], *, blocking: bool = False) -> list[int]:
        """Offer rows in order, those of one kind and curve no more once one failed; return the rows taken."""
        curve = self._book.of(rows)
        return self.first_fit(
            rows, self._facts.kind_of(rows) * (1 + int(curve.max(initial=0))) + curve, take, blocking=blocking
        )

    def wish(self, row: int) -> int:
        """Return the width the rule wants of a row where all that is free is its own."""
        return int(self._book.curves.width[self._book.of(np.array(row)), min(self.room(row), self._book.widest)])
