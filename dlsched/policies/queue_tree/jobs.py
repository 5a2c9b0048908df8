"""Waiting and running jobs as the cores of queue trees see them, and the rules of a queue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import inf
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from dlsched.domain.queue_tree import QueueTree
    from dlsched.policies.queue_tree.flavors import Assignment

Policy = Literal["never", "lower", "lower-or-newer-equal", "any"]
Strategy = Literal["final-share", "initial-share"]

Reason = Literal["in-queue", "reclaim", "reclaim-while-borrowing", "fair-share"]
"""Why a job was told to stop: for a job of its queue, of the owner of the quota, of one that borrows, for balance."""


MOST_STOPS_AT_ONCE, MOST_STOPS = 3, 100
"""A job that was stopped more often than this at one instant is left alone for the rest of it, and one that was stopped
more often in all is not stopped any more: the rules can run in a circle, and then a run would never end."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for the whole tree; defaults are those of Kueue 0.20."""

    fair_sharing: bool = False
    strategies: tuple[Strategy, ...] = ("final-share", "initial-share")
    priority_between_queues: bool = True
    retarget: bool = True
    keep_scan: bool = True
    preemptor_first: bool = False
    ignore_uncovered: bool = False
    fewer_pods: bool = True

    @classmethod
    def of(cls, spec: QueueTree) -> Rules:
        """Return the rules of a scenario's queues."""
        return cls(
            spec.fair_sharing, spec.strategies, spec.priority_between_queues, spec.retarget, spec.keep_scan,
            spec.preemptor_first, spec.uncovered == "ignore",
        )  # fmt: skip


@dataclass(frozen=True)
class PodSet:
    """``count`` pods alike: a part of a job that gets one flavor per group of resources.

    ``requests``: resource -> amount of one pod. ``min_count``: fewest pods with which the job can run; None = all.
    ``flavors``: those on which the pods may run; None = all.
    """

    name: str
    count: int
    requests: Mapping[str, int]
    min_count: int | None = None
    flavors: frozenset[str] | None = None

    @cached_property
    def all_of_it(self) -> Mapping[str, int]:
        """Return resource -> amount of all pods."""
        return self.total(self.count)

    def total(self, count: int) -> dict[str, int]:
        """Return resource -> amount of ``count`` pods."""
        return {resource: amount * count for resource, amount in self.requests.items()}


@dataclass(frozen=True, eq=False)
class Job:
    """A waiting job; ``queue``: number of its node in the tree.

    ``order_s``: time by which it is ordered, its submission unless an eviction moved it. ``local``: its sub-queue.
    ``claim``: which nodes it may use, by number.
    """

    id: str
    queue: int
    podsets: tuple[PodSet, ...]
    priority: float = 0
    order_s: float = -inf
    uid: str = ""
    local: str = ""
    claim: int = 0

    @cached_property
    def alike(self) -> tuple[object, ...]:
        """What two jobs of a queue share when one of them cannot be admitted, the other cannot either."""
        return (
            self.priority,
            self.claim,
            tuple(
                (each.count, each.min_count, each.flavors, tuple(sorted(each.requests.items())))
                for each in self.podsets
            ),
        )


@dataclass(slots=True, eq=False)
class Running:
    """A job that holds quota; ``usage``: number of (flavor, resource) -> amount.

    ``start_s``: start of the current run. ``leaving``: it was told to stop and still holds its quota. ``gone``: set
    while a question is asked as if it had left. ``local_usage``: past use of its sub-queue, for order = usage.
    """

    id: str
    queue: int
    usage: dict[int, int]
    priority: float = 0
    order_s: float = -inf
    start_s: float = 0.0
    uid: str = ""
    local: str = ""
    leaving: bool = False
    gone: bool = False
    local_usage: float | None = None

    @classmethod
    def of(cls, job: Job, assignment: Assignment, start_s: float) -> Running:
        """Return the run of a job that was admitted at ``start_s``."""
        return cls(job.id, job.queue, dict(assignment.usage), job.priority, job.order_s, start_s, job.uid, job.local)


@dataclass(frozen=True, slots=True)
class Group:
    """Resources that are given the same flavor, and the flavors in order of preference."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]

    @property
    def keys(self) -> Iterator[tuple[str, str]]:
        """Yield (flavor, resource) for all of them."""
        return product(self.flavors, self.resources)


@dataclass(frozen=True, slots=True)
class QueueRules:
    """How a queue takes its jobs, and which jobs they may stop."""

    strict: bool = False
    within: Policy = "never"
    reclaim: Policy = "never"
    while_borrowing: bool = False
    while_borrowing_below: float | None = None
    borrow_next: bool = False
    preempt_next: bool = True
    prefer_preempting: bool = False
    by_usage: bool = False
    groups: tuple[Group, ...] = field(default_factory=tuple)
    stopped: bool = False


def may_stop(policy: Policy, taker: Job, other: Running) -> bool:
    """Return whether ``policy`` lets a waiting job stop a running one."""
    if policy == "any":
        return True
    if policy == "never":
        return False
    if taker.priority > other.priority:
        return True
    return policy == "lower-or-newer-equal" and taker.priority == other.priority and taker.order_s < other.order_s
