"""The elastic rules written down plainly, as the study prints them with the knee corrected; slow, on dicts and lists.

Widths are of one job at a time, S(w) = size / rate(w), and every minimum goes to the first job in source order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

INFINITE = math.inf


@dataclass
class PlainJob:
    """``rates[w]`` work per second on w workers, 0 = not legal (rates[0] = 0)."""

    rates: list[float]
    size: float
    cost: float = 1.0
    most: int = 99
    fixed: int = 0
    held: int = 0
    given: int = field(default=0)

    def legal(self, capacity: float) -> list[int]:
        room = math.floor(capacity / self.cost + 1e-9)
        return [w for w in range(1, len(self.rates)) if self.rates[w] > 0 and w <= room and w <= self.most]

    def time(self, width: int) -> float:
        return self.size / self.rates[width] if 0 < width < len(self.rates) and self.rates[width] > 0 else INFINITE

    def inefficiency(self, width: int) -> float:
        """Return S(w) / E(w), E(w) = S(w1) w1 / (w S(w)) with w1 the smallest legal width, 1 in the study."""
        smallest = next(w for w in range(1, len(self.rates)) if self.rates[w] > 0)
        return self.time(width) * width * self.time(width) / (smallest * self.time(smallest))


Choice = Callable[[PlainJob, float], int]


def hell(job: PlainJob, capacity: float) -> int:
    return min(job.legal(capacity), key=lambda w: (job.inefficiency(w), w), default=0)


def fastest(job: PlainJob, capacity: float) -> int:
    return min(job.legal(capacity), key=lambda w: (job.time(w), w), default=0)


def smallest(job: PlainJob, capacity: float) -> int:
    return min(job.legal(capacity), default=0)


def knee_at(alpha: float) -> Choice:
    def knee(job: PlainJob, capacity: float) -> int:
        """Walk the widths that are faster than every smaller one; stop at the first that is not worth its nodes."""
        at = 0
        best = INFINITE
        for width in range(1, len(job.rates)):
            if job.time(width) >= best:
                continue
            best = job.time(width)
            if at and 1 - (job.time(width) / job.time(at)) ** (1 / (width - at)) < alpha:
                break
            if width in job.legal(capacity):
                at = width
            else:
                break
        return at

    return knee


def malleable(jobs: list[PlainJob], capacity: float, choice: Choice, key: Callable[[PlainJob, int], float]) -> float:
    """Algorithms 1 and 2: again and again the best of all jobs takes what it chooses of what is left."""
    left, waiting = capacity, list(range(len(jobs)))
    while left > 0:
        chosen = {i: choice(jobs[i], left) for i in waiting}
        able = [i for i in waiting if chosen[i] > 0]
        if not able:
            break
        j = min(able, key=lambda i: (key(jobs[i], chosen[i]), i))
        jobs[j].given = chosen[j]
        left -= chosen[j] * jobs[j].cost
        waiting.remove(j)
    return left


def fill(jobs: list[PlainJob], left: float) -> float:
    """Eq. (5): the fewest nodes that make their job the one with the least time left, until there are none."""
    while True:
        running = [i for i, job in enumerate(jobs) if job.given > 0]
        shortest = min((jobs[i].time(jobs[i].given) for i in running), default=INFINITE)
        offers = [
            ((w - jobs[i].given) * jobs[i].cost, jobs[i].time(w), i, w)
            for i in running
            for w in jobs[i].legal(capacity=math.inf if jobs[i].cost == 0 else jobs[i].given * jobs[i].cost + left)
            if w > jobs[i].given and jobs[i].time(w) < shortest
        ]
        if not offers:
            return left
        cost, _, i, width = min(offers)
        jobs[i].given = width
        left -= cost


def moldable(
    jobs: list[PlainJob], capacity: float, choice: Choice, key: Callable[[PlainJob, int], float], *, blocking: bool
) -> None:
    """One width for ever, of the whole cluster; who has no room waits, and with ``blocking`` all behind it."""
    width = {}
    for i, job in enumerate(jobs):
        keeps = 0 < job.fixed <= min(job.most, math.floor(capacity / job.cost + 1e-9))
        width[i] = job.fixed if keeps else choice(job, capacity)
    left = capacity
    for i in sorted((i for i in width if width[i]), key=lambda i: (key(jobs[i], width[i]), i)):
        if width[i] * jobs[i].cost <= left + 1e-9:
            jobs[i].given = width[i]
            left -= width[i] * jobs[i].cost
        elif blocking:
            break


def by_time(job: PlainJob, width: int) -> float:
    return job.time(width)


def by_inefficiency(job: PlainJob, width: int) -> float:
    return job.inefficiency(width)


def by_source(job: PlainJob, width: int) -> float:
    return 0.0
