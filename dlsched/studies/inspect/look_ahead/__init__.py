"""Decisions of a stored ModelArts run, worked out again: the plan, and what the greedy allocator would do."""

from dlsched.studies.inspect.look_ahead.run import run_look_ahead
from dlsched.studies.inspect.look_ahead.spec import LookAheadSpec, StoredRun, StoredWidths

__all__ = ["LookAheadSpec", "StoredRun", "StoredWidths", "run_look_ahead"]
