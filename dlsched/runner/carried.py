"""Numbers of single futures that travel with a question to a worker, and those that come back with its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dlsched.store.record import CellRecord


@dataclass(frozen=True, eq=False)
class CarriedCells:
    """What the store knew when the question was asked, and what was ``made`` since; a ``store.record.CellStore``.

    A worker must not open the store: one process holds it.
    """

    known: Mapping[str, CellRecord] = field(default_factory=dict)
    made: dict[str, CellRecord] = field(default_factory=dict)

    def find_cells(self, keys: Sequence[str]) -> dict[str, CellRecord]:
        """Return what is known of these keys."""
        return {key: cell for key in keys if (cell := self.made.get(key) or self.known.get(key)) is not None}

    def save_cells(self, records: Sequence[CellRecord]) -> None:
        """Keep numbers until they are taken back to the store."""
        self.made.update({record.key: record for record in records if record.key not in self.known})
