"""What a policy answers: a patch of the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal, NamedTuple, get_args

from dlsched.domain.journal import JournalEntry, Loses
from dlsched.domain.workload import Ints


class Share(NamedTuple):
    """Workers and servers of one job on one node."""

    node: int
    workers: int
    servers: int = 0


class Step(NamedTuple):
    """What a job holds from ``start_s`` on (None = now) until the next step.

    Give ``shares`` to name the nodes, or only ``workers`` to let the scenario's placement rule pick them.
    A step with 0 workers ends the reservation. ``reserve`` is what the job blocks on the pool when that is more
    than it uses, in the order of RESOURCES.
    """

    workers: int
    shares: tuple[Share, ...] | None = None
    start_s: float | None = None
    servers: int = 0
    reserve: tuple[float, ...] | None = None


Allocation = tuple[Step, ...]
"""Empty = back to the queue. One undated step = until completion. Dated steps = a reservation."""


class WaitReason(IntEnum):
    """Why a job is left waiting, as its policy says it."""

    NOT_RECORDED = 0
    NO_ROOM = 1
    SPLIT = 2
    BEHIND = 3
    RESERVED = 4
    HELD_BACK = 5
    PREEMPTED = 6
    NO_NODE = 7
    NOT_ADMITTED = 8
    BOOKED = 9
    OVER_QUOTA = 10
    QUOTA_LENT = 11
    LEAVING = 12
    TOO_LARGE = 13
    OVER_LIMIT = 14
    HOURS = 15
    BEYOND_LIMIT = 16


REASON_TEXT: Mapping[WaitReason, str] = {
    WaitReason.NOT_RECORDED: "reason not recorded by this policy",
    WaitReason.NO_ROOM: "not enough GPUs free",
    WaitReason.SPLIT: "GPUs free, but not on one node",
    WaitReason.BEHIND: "behind an earlier job in the queue",
    WaitReason.RESERVED: "the free GPUs are reserved for another job",
    WaitReason.HELD_BACK: "held back by the policy",
    WaitReason.PREEMPTED: "stopped for a job that takes precedence",
    WaitReason.NO_NODE: "no node of the right type is available",
    WaitReason.NOT_ADMITTED: "not admitted in this interval: other jobs took the capacity",
    WaitReason.BOOKED: "admitted and booked for a later slot",
    WaitReason.OVER_QUOTA: "the quota of its queue is used up",
    WaitReason.QUOTA_LENT: "the quota of its queue is lent to others, whose jobs may not be stopped",
    WaitReason.LEAVING: "jobs that are being stopped for it have not left yet",
    WaitReason.TOO_LARGE: "larger than its queue may ever hold",
    WaitReason.OVER_LIMIT: "its user, account or QOS is at a limit",
    WaitReason.HOURS: "jobs this long do not start at these hours",
    WaitReason.BEYOND_LIMIT: "larger than a limit of its user, account or QOS, so that it never starts",
}


Status = Literal["", "optimal", "feasible", "infeasible"]
STATUSES: tuple[Status, ...] = get_args(Status)
"""What a solver proves of a plan, the most first; "" = no solver was asked. Optimal needs an objective and a bound that
agree; feasible an objective; of an infeasible decision neither is asked."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A patch: rows not named keep what they hold.

    Applied atomically: evictions, releases, VM changes, starts. ``vms`` puts a VM type (by name) on a free slot, None
    releases it. ``reasons`` = (rows, codes) of rows left waiting. ``status`` (one of STATUSES), ``objective`` and
    ``bound`` come from solvers and are logged; the audit holds them against each other. ``journal`` is what a policy
    with quotas notes. ``evicted`` rows run and are stopped before all else: their piece ends PREEMPTED with this loss
    of work, and they may start again in the same plan.
    """

    allocations: Mapping[int, Allocation] = field(default_factory=dict)
    rejected: tuple[int, ...] = ()
    vms: Mapping[int, str | None] = field(default_factory=dict)
    wake_at_s: float | None = None
    reasons: tuple[Ints, Ints] | None = None
    note: str = ""
    status: Status = ""
    objective: float | None = None
    bound: float | None = None
    journal: tuple[JournalEntry, ...] = ()
    evicted: Mapping[int, Loses] = field(default_factory=dict)


def run_on(shares: tuple[Share, ...]) -> Allocation:
    """Return the allocation that starts now on these shares and lasts until completion."""
    workers = servers = 0
    for share in shares:
        workers += share.workers
        servers += share.servers
    return (Step(workers, shares, None, servers),)
