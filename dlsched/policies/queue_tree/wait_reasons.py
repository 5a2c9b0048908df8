"""Why jobs wait under quotas, as the log says it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

import numpy as np

from dlsched.domain.plan import WaitReason
from dlsched.domain.workload import Ints
from dlsched.policies.queue_tree.cycle import Hint, Outcome, hint
from dlsched.policies.queue_tree.flavors import pairs_of, too_large
from dlsched.policies.queue_tree.jobs import Job, Rules
from dlsched.policies.queue_tree.rooms import Rooms

HINTS: Mapping[Hint, WaitReason] = {
    "over_quota": WaitReason.OVER_QUOTA,
    "quota_lent": WaitReason.QUOTA_LENT,
    "leaving": WaitReason.LEAVING,
    "too_large": WaitReason.TOO_LARGE,
}


class WaitReasons:
    """The reasons of a run: jobs of a kind that are parked wait for the same one, which is said once.

    ``of_kind``: (queue, kind) -> that reason; ``asks``: (queue, kind) -> whether it is too large, and its pairs.
    """

    def __init__(self, rooms: Rooms, rules: Rules) -> None:
        self.rooms, self.rules = rooms, rules
        self.of_kind: dict[tuple[int, int], WaitReason] = {}
        self.asks: dict[tuple[int, int], tuple[bool, list[tuple[int, int]]]] = {}

    def quotas_changed(self) -> None:
        """Forget what followed from the quotas before."""
        self.asks.clear()

    def of(
        self,
        outcomes: Mapping[int, Outcome],
        no_room: Mapping[int, WaitReason],
        fresh: Iterable[int],
        waiting: Mapping[int, Job],
        holding: Container[int],
    ) -> tuple[Ints, Ints] | None:
        """Return rows and why they wait: those looked at, those parked for a new reason, and new ones.

        Parameters
        ----------
        outcomes
            Row -> what became of it the last time it was looked at, in order.
        no_room
            Row -> why nodes had no room for it.
        fresh
            Rows that began to wait.
        waiting, holding
            Rows that wait for quota, and those that hold it, with nodes or without.
        """
        rooms, of_kind, asks = self.rooms, self.of_kind, self.asks
        kind_of, parked, room_of, tree = rooms.kind_of, rooms.parked, rooms.rooms, rooms.tree
        codes = {row: code for row, code in no_room.items() if row in holding}
        for row, outcome in outcomes.items():
            job = waiting.get(row)
            if job is None:
                continue
            queue, kind = job.queue, kind_of[job.id]
            key = queue, kind
            if outcome == "no_room":
                code = no_room[row]
            else:
                if key not in asks:
                    is_too_large = too_large(tree, job, self.rules.ignore_uncovered)
                    asks[key] = is_too_large, list(pairs_of(tree, job))
                code = HINTS[hint(tree, queue, outcome, *asks[key])]
            codes[row] = code
            if not parked[room_of[queue].place, kind]:
                of_kind.pop(key, None)
            elif of_kind.get(key) != code:
                of_kind[key] = code
                codes |= dict.fromkeys((int(each.id) for each in rooms.alike(job)), code)
        for row in fresh:
            if row in waiting and row not in codes:
                job = waiting[row]
                key = job.queue, kind_of[job.id]
                is_parked = parked[room_of[job.queue].place, key[1]]
                codes[row] = of_kind.get(key, WaitReason.OVER_QUOTA) if is_parked else WaitReason.BEHIND
                if not is_parked:
                    of_kind.pop(key, None)
        if not codes:
            return None
        return np.fromiter(codes, np.int64, len(codes)), np.fromiter(codes.values(), np.int64, len(codes))
