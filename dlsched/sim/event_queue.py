"""What is due when: arrivals, a heap of all other events, and the review grid of the policy.

One instant: the earliest event and all that are so close after it that only rounding can part them, see
:func:`instant_s`. Its time is the latest of them, so that nothing is decided before it is known; completions keep
their own exact time.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from enum import IntEnum
from typing import NamedTuple

from dlsched.domain.policy import ReviewRule
from dlsched.domain.workload import Floats

SAME_INSTANT_S = 1e-9
SAME_TIME = 1e-12


def instant_s(time_s: float) -> float:
    """Return how far apart two times around this one may be and still be one instant, seconds.

    Rounding grows with the time: of sums near 1.5e9 s (clocks that count from 1970) it is 1e-6 s, never a second.
    """
    return max(SAME_INSTANT_S, SAME_TIME * abs(time_s))


class EventType(IntEnum):
    """Kinds of events in the order in which they are handled at one instant."""

    COMPLETION = 0
    CAPACITY = 1
    EVICTED = 2
    BOOTED = 3
    IDLE = 4
    OUTAGE = 5
    ARRIVAL = 6
    CANCEL = 7
    STEP = 8
    WAITED = 9
    WAKE = 10


class Event(NamedTuple):
    """``key`` is a row, a node, or a number into the list of capacity changes or of begins and ends of outages; an old
    ``version`` is ignored.
    """

    time_s: float
    kind: EventType
    key: int
    version: int = 0


class EventQueue:
    """Events to come of a run whose rows arrive at ``submit_s`` (ascending)."""

    def __init__(self, submit_s: Floats, review: ReviewRule) -> None:
        self._submit_s: list[float] = submit_s.tolist()
        self._review = review
        self._heap: list[Event] = []
        self._versions: list[defaultdict[int, int]] = [defaultdict(int) for _ in EventType]
        self._next_review = 0
        self.submitted = 0

    @property
    def arrivals_left(self) -> bool:
        """Whether rows are still to come."""
        return self.submitted < len(self._submit_s)

    def push(self, time_s: float, kind: EventType, key: int = 0) -> None:
        """Make an event due; an earlier one of the same kind and key no longer counts."""
        version = self._versions[kind][key] = self._versions[kind][key] + 1
        heapq.heappush(self._heap, Event(time_s, kind, key, version))

    def drop(self, kind: EventType, key: int = 0) -> None:
        """Forget the event of this kind and key, if there is one."""
        self._versions[kind][key] += 1

    def next_s(self, *, reviews: bool) -> float | None:
        """Return when the next event is due; None when nothing is. ``reviews`` = whether the grid counts."""
        heap = self._heap
        while heap and self.is_stale(heap[0]):
            heapq.heappop(heap)
        next_s = heap[0].time_s if heap else math.inf
        if self.arrivals_left:
            next_s = min(next_s, self._submit_s[self.submitted])
        if reviews and self._review.every_s is not None:
            next_s = min(next_s, self._review.phase_s + self._next_review * self._review.every_s)
        return next_s if next_s < math.inf else None

    def pop_instant(self, first_s: float) -> tuple[float, list[Event]]:
        """Return the time of the instant that begins at ``first_s`` and its events in order of handling."""
        until_s = first_s + instant_s(first_s)
        events: list[Event] = []
        heap = self._heap
        while heap and heap[0].time_s <= until_s:
            event = heapq.heappop(heap)
            if not self.is_stale(event):
                events.append(event)
        row = self.submitted
        while row < len(self._submit_s) and self._submit_s[row] <= until_s:
            events.append(Event(self._submit_s[row], EventType.ARRIVAL, row))
            row += 1
        self.submitted = row
        if len(events) > 1:
            events.sort(key=lambda event: event[1:3])
        now_s = first_s
        for event in events:
            now_s = max(now_s, event.time_s)
        return now_s, events

    def review_due(self, now_s: float) -> bool:
        """Whether the review grid has a point at this instant; moves the grid past it."""
        every_s, phase_s = self._review.every_s, self._review.phase_s
        if every_s is None:
            return False
        nearest = round((now_s - phase_s) / every_s)
        due = nearest >= 0 and abs(phase_s + nearest * every_s - now_s) <= instant_s(now_s)
        self._next_review = max(0, nearest + 1 if due else math.floor((now_s - phase_s) / every_s) + 1)
        return due

    def is_stale(self, event: Event) -> bool:
        """Whether a later event has taken the place of this one."""
        return event.version != self._versions[event.kind][event.key]
