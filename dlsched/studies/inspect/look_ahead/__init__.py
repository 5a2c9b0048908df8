"""Decisions of a stored ModelArts run, worked out again: the plan, and what the greedy allocator would do."""

from dlsched.studies.inspect.look_ahead.run import POLICIES, Known, at, known_of, window
from dlsched.studies.inspect.look_ahead.spec import LookAheadSpec, Subject, answered, read_asked

__all__ = [
    "POLICIES",
    "Known",
    "LookAheadSpec",
    "Subject",
    "answered",
    "at",
    "known_of",
    "read_asked",
    "window",
]
