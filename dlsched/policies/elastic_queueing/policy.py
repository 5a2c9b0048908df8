"""The adapter: a rule that hands out widths becomes a policy of the simulator."""

from __future__ import annotations

import numpy as np

from dlsched.domain.plan import Plan, WaitReason
from dlsched.domain.policy import ElasticRule, ReviewRule
from dlsched.domain.state import State
from dlsched.domain.workload import GPU, Ints
from dlsched.policies.elastic_queueing import whole_nodes
from dlsched.policies.elastic_queueing.curves import CurveBook
from dlsched.policies.elastic_queueing.kernels.tables import Answer, Jobs, answer_for, queues_for
from dlsched.policies.elastic_queueing.rules import kernel_rule, weights_of, widths_of


class ElasticPolicy:
    """Hands out the cluster anew at every submission, completion, cancellation and change of capacity."""

    def __init__(self, rule: ElasticRule, vm_type: str | None = None) -> None:
        self.review = ReviewRule()
        self.kernel_rule = rule
        self._vm_type = vm_type
        self._book: CurveBook | None = None
        self._whole = True
        self._seen = 0
        self._chunk = np.zeros(0, dtype=np.int64)

    def plan(self, state: State) -> Plan:
        """Return who gets how many workers, on which nodes, and why the others wait."""
        rows = state.active
        if self._book is None:
            most = int(state.nodes.capacity[:, GPU].sum())
            self._book = CurveBook(widths_of(self.kernel_rule), weights_of(self.kernel_rule), most)
        self._book.learn(state)
        new = np.arange(self._seen, len(state.jobs))
        self._seen = len(state.jobs)
        self._whole = self._whole and (not len(new) or whole_nodes.one_worker_a_node(state, new))
        if not len(rows):
            return Plan()
        return self._on_whole_nodes(state, rows)

    def _on_whole_nodes(self, state: State, rows: Ints) -> Plan:
        capacity = float(state.nodes.up.sum())
        answer = self._decide(state, rows, np.ones(len(rows)), np.full(len(rows), int(capacity)), capacity)
        allocations = whole_nodes.allocations(state, rows, answer.given)
        return Plan(allocations, reasons=self._reasons(state, rows, answer.given, capacity))

    def _decide(self, state: State, rows: Ints, cost: np.ndarray, most: Ints, capacity: float) -> Answer:
        """Return the widths for a capacity in which a worker takes ``cost`` and a job at most ``most`` workers."""
        from dlsched.policies.elastic_queueing.kernels.allot import decide  # loads numba

        assert self._book is not None
        held = np.zeros(len(rows), dtype=np.int64)
        for place in np.flatnonzero(np.isin(rows, state.running)).tolist():
            held[place] = sum(share.workers for share in state.held(int(rows[place])))
        jobs = Jobs(
            curve=self._book.of(rows),
            remaining=state.remaining(rows),
            work=np.ascontiguousarray(state.jobs.work[rows]),
            cost=cost,
            most=most,
            fixed=np.ascontiguousarray(state.first_workers(rows)),
            held=held,
        )
        rule = kernel_rule(self.kernel_rule, capacity)
        if len(state.jobs) > len(self._chunk):
            self._chunk = np.concatenate([self._chunk, np.full(len(state.jobs), -1)])
        queues = queues_for(self._chunk[rows], max(1, int(capacity // rule.chunk)) if rule.chunk else 1)
        answer = answer_for(len(rows))
        decide(rule, self._book.curves, jobs, queues, capacity, answer)
        self._chunk[rows] = queues.chunk
        return answer

    def _reasons(self, state: State, rows: Ints, given: Ints, capacity: float) -> tuple[Ints, Ints]:
        """Return the rows that wait and why: stopped for others, no node left, or held back although some are free."""
        waits = given == 0
        code = WaitReason.NO_ROOM if given.sum() >= capacity else WaitReason.HELD_BACK
        stopped = state.first_workers(rows) > 0
        codes = np.where(stopped, int(WaitReason.PREEMPTED), int(code))
        return rows[waits], codes[waits]
