"""Decisions of a stored ModelArts run, worked out again: the plan, and what the greedy allocator would do."""

from dlsched.experiments.look_ahead.question import Asked, Subject, answered, read_asked
from dlsched.experiments.look_ahead.replay import POLICIES, Known, at, known_of, window

__all__ = [
    "POLICIES",
    "Asked",
    "Known",
    "Subject",
    "answered",
    "at",
    "known_of",
    "read_asked",
    "window",
]
