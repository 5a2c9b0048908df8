"""A process as a policy: each decision is a question to it and its answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from dlsched.domain.errors import PlanError
from dlsched.domain.plan import Plan
from dlsched.domain.policy import EventKind, ReviewRule
from dlsched.domain.state import State
from dlsched.policies.external.messages import PROTOCOL, Events, start_message
from dlsched.policies.external.process import LineProcess


class ExternalPolicy:
    """Starts the program when the run starts, and ends it with the run."""

    kernel_rule = None

    def __init__(self, argv: Sequence[str], timeout_s: float) -> None:
        self._argv, self._timeout_s = argv, timeout_s
        self._process: LineProcess | None = None
        self._events: Events | None = None

    @cached_property
    def review(self) -> ReviewRule:
        """At every event, and as often as the process asks for in its hello."""
        hello = self._running().ask({"type": "hello", "protocol": PROTOCOL})
        if hello.get("protocol") != PROTOCOL:
            raise PlanError(f"it speaks protocol {hello.get('protocol')!r:.40}, and this version {PROTOCOL}")
        every_s = hello.get("every_s")
        if every_s is None:
            return ReviewRule()
        if isinstance(every_s, bool) or not isinstance(every_s, (int, float)) or not 0 < every_s <= 1e9:
            raise PlanError(f"every_s of its hello must be a number of seconds above 0, got {every_s!r:.40}")
        return ReviewRule(every_s=float(every_s))

    def plan(self, state: State) -> Plan:
        """Return what the process answers to what has happened."""
        process = self._running()
        if self._events is None:
            assert self.review is not None  # the hello comes first
            process.ask(start_message(state))
            self._events = Events()
        answer = process.ask(self._events.message(state, timer=bool(state.cause & EventKind.TIMER)))
        try:
            return self._events.read(answer, state)
        except PlanError as error:
            raise PlanError(f"{error.clause}{self.last_words}") from None

    @property
    def last_words(self) -> str:
        """What the process wrote last to its standard error, as the end of a message."""
        return self._process.last_words if self._process is not None else ""

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.tell({"type": "end"})
            self._process.end()

    def _running(self) -> LineProcess:
        if self._process is None:
            self._process = LineProcess(self._argv, self._timeout_s)
        return self._process
