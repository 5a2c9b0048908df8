"""What a policy with quotas notes of its decisions: which job held which quota, and which was stopped for which.

Entries are dated by the plan that carries them. Amounts are in GPUs, cores or GiB. Other policies note nothing.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Loses = Literal["checkpoint", "all", "nothing"]
"""Work a job loses when it is stopped: since its last checkpoint, since the start of its piece, or none."""
StopReason = Literal["in-queue", "reclaim", "reclaim-while-borrowing", "fair-share"]
"""Why a job may be stopped: for its own queue; because its queue is above its quota, for a job within its own quota or
one that borrows itself; or because its queue has the larger share."""


class QuotaHeld(NamedTuple):
    """From now on a job holds quota, one entry for each flavor and resource; :class:`QuotaFreed` ends all of them.

    ``borrowed`` is the part above the nominal quota of the queue; ``lender`` the cohort within whose quota it fits, ""
    where nothing is borrowed, and ``level`` its height: 0 = own quota, 1 = a cohort of queues only.
    """

    row: int
    queue: str
    flavor: str
    resource: str
    amount: float
    borrowed: float
    lender: str
    level: int


class QuotaFreed(NamedTuple):
    """A job holds no quota any more: it ended, was stopped or lost its node."""

    row: int


class Told(NamedTuple):
    """A job is told to leave for another; it holds its quota and nodes until it has left or ended."""

    row: int
    queue: str
    for_row: int
    for_queue: str
    reason: StopReason


class Evicted(NamedTuple):
    """A running job was stopped and its piece ended PREEMPTED; the engine notes it."""

    row: int
    loses: Loses


JournalEntry = QuotaHeld | QuotaFreed | Told | Evicted
Journal = tuple[tuple[float, JournalEntry], ...]
"""Entries of a run with their times, in the order in which they were noted."""
