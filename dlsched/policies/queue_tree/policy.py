"""The policy ``queue-tree``: quotas of queues with borrowing, reclaim and preemption."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dlsched.domain.errors import InputError
from dlsched.domain.plan import Plan
from dlsched.domain.policy import NoParams, QueueTreeRule, ReviewRule
from dlsched.domain.state import State

if TYPE_CHECKING:
    from dlsched.policies.queue_tree.admission import Admission


class QueueTreePolicy:
    """Admits the jobs of queues by the quotas of the scenario; one for each run."""

    review = ReviewRule()
    kernel_rule = QueueTreeRule()

    def __init__(self, params: NoParams) -> None:
        self._admission: Admission | None = None

    def plan(self, state: State) -> Plan:
        """Return the evictions and starts of this instant."""
        if self._admission is None:
            if state.queues is None:
                raise InputError("policy queue-tree", "needs queues with quotas", "Add [queues] to the scenario")
            from dlsched.policies.queue_tree.admission import Admission  # compiled code is loaded by runs only

            self._admission = Admission(state, state.queues)
        return self._admission.plan(state)
