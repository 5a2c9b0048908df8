"""Orders: of jobs in a queue, of running jobs that may be stopped, of the first jobs of all queues in a cycle."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cmp_to_key

from dlsched.policies.queue_tree.jobs import Job, Rules, Running


def in_queue(job: Job, usage: float = 0.0, preemptor: bool = False) -> tuple[float, bool, float, float, str]:
    """Return the key by which the jobs of a queue are ordered, best first.

    ``usage``: past use of the job's sub-queue, 0 where it does not count. ``preemptor``: victims of the job are
    leaving; in a strict queue it counts as any other.
    """
    return usage, not preemptor, -job.priority, job.order_s, job.id


def across_queues(job: Job, borrow: int, rules: Rules, preemptor: bool = False) -> tuple[bool, int, float, float]:
    """Return the key by which the first jobs of the queues are handled in a cycle without fair sharing."""
    priority = -job.priority if rules.priority_between_queues else 0.0
    return not (preemptor and rules.preemptor_first), borrow, priority, job.order_s


def in_order_of_candidates(candidates: Iterable[Running], queue: int) -> list[Running]:
    """Return running jobs in the order in which they are stopped for a job of ``queue``.

    Those already leaving; other queues before this one; where past use counts, within a queue those of the sub-queue
    that used most; lower priority; later start; id.
    """

    def key(job: Running) -> tuple[bool, bool, float, float, str]:
        return not job.leaving, job.queue == queue, job.priority, -job.start_s, job.uid or job.id

    ordered = sorted(candidates, key=key)
    if not any(job.local_usage is not None for job in ordered):
        return ordered

    def compare(a: Running, b: Running) -> int:
        first, second = key(a), key(b)
        if (
            first[:2] == second[:2]
            and a.queue == b.queue
            and a.local != b.local
            and a.local_usage is not None
            and b.local_usage is not None
            and a.local_usage != b.local_usage
        ):
            return -1 if a.local_usage > b.local_usage else 1
        return -1 if first < second else int(first > second)

    return sorted(ordered, key=cmp_to_key(compare))
