"""Decisions of a stored ModelArts run, worked out again: the plan, and what the greedy allocator would do."""

from dlsched.experiments.look_ahead.answer import LookAhead, changes_at, decisions_of
from dlsched.experiments.look_ahead.question import Asked, Subject, answered, read_asked
from dlsched.experiments.look_ahead.replay import POLICIES, Known, at, known_of, window

__all__ = [
    "POLICIES",
    "Asked",
    "Known",
    "LookAhead",
    "Subject",
    "answered",
    "at",
    "changes_at",
    "decisions_of",
    "known_of",
    "read_asked",
    "window",
]
