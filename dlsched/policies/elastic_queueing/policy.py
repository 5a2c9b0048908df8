"""The adapter: a rule that hands out widths becomes a policy of the simulator."""

from __future__ import annotations

import numpy as np

from dlsched.domain.plan import Plan, WaitReason
from dlsched.domain.policy import ElasticRule, ReviewRule
from dlsched.domain.state import State
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.elastic_queueing import whole_nodes
from dlsched.policies.elastic_queueing.anywhere import Placing
from dlsched.policies.elastic_queueing.curves import CurveBook, Rate
from dlsched.policies.elastic_queueing.handing_out import Queue, explain, hand_out, molded, queue_of
from dlsched.policies.elastic_queueing.kernels.tables import Answer, Jobs, answer_for, queues_for
from dlsched.policies.elastic_queueing.rules import kernel_rule, weights_of, widths_of
from dlsched.policies.shared.available_capacity import AvailableCapacity, rate_of, wake_at_s
from dlsched.policies.shared.capacity import Amounts
from dlsched.policies.shared.facts import JobFacts, JobKind
from dlsched.policies.shared.wait_reasons import WaitReasonTracker


class ElasticPolicy:
    """Hands out the cluster anew at every submission, completion, cancellation and change of capacity.

    Equal nodes that hold one worker each need no placement rule; once a run has needed it, it is used to the end.

    Parameters
    ----------
    rule
        Which width a job gets and who comes first.
    vm_type
        VM type for rented slots; None = the cheapest per GPU, see :func:`cheapest_vm`.
    """

    def __init__(self, rule: ElasticRule, vm_type: str | None = None) -> None:
        self.review = ReviewRule()
        self.kernel_rule = rule
        self._book = CurveBook(widths_of(rule), weights_of(rule))
        self._facts = JobFacts()
        self._capacity = AvailableCapacity(self._facts, vm_type)
        self._wait_reasons = WaitReasonTracker()
        self._whole = True
        self._seen = 0
        self._chunk = np.zeros(0, dtype=np.int64)
        self._width = np.zeros(0, dtype=np.int64)

    def plan(self, state: State) -> Plan:
        """Return how many workers each job gets, on which nodes, and why the others wait."""
        self._learn(state)
        rows = state.active
        if not len(rows):
            return Plan(vms=self._capacity.vm_changes(state, None))
        return self._on_whole_nodes(state, rows) if self._whole else self._anywhere(state, rows)

    # ---- what is known of the jobs --------------------------------------------------------------------

    def _learn(self, state: State) -> None:
        """Take in the rows submitted since the last call."""
        rows = np.arange(self._seen, len(state.jobs))
        self._seen += len(rows)
        if not len(rows):
            return
        self._facts.update(state)
        self._capacity.update(state)
        if self._seen > len(self._width):
            more = np.zeros(self._seen, dtype=np.int64)
            self._width, self._chunk = np.append(self._width, more), np.append(self._chunk, more - 1)
        self._whole = self._whole and whole_nodes.one_worker_a_node(state, rows)
        smallest, largest = state.width_limits(rows)
        kinds = self._facts.kind_of(rows)
        largest = np.minimum(largest, self._capacity.most_ever(kinds))
        for number in np.unique(kinds).tolist():
            same = kinds == number
            self._book.add(rows[same], _rate_of(state, self._facts.kinds[number]), smallest[same], largest[same])

    # ---- the decision ---------------------------------------------------------------------------------

    def _decide(self, state: State, jobs: Jobs, rows: Ints, capacity: float) -> tuple[Answer, int]:
        """Return the widths of these rows, and how many were served."""
        from dlsched.policies.elastic_queueing.kernels.allot import decide  # loads numba

        rule = kernel_rule(self.kernel_rule, capacity)
        queues = queues_for(self._chunk[rows], max(1, int(capacity // rule.chunk)) if rule.chunk else 1)
        answer = answer_for(len(rows))
        served = decide(rule, self._book.curves, jobs, queues, capacity, answer)
        self._chunk[rows] = queues.chunk
        return answer, served

    def _jobs(self, state: State, rows: Ints, cost: Floats, most: Ints) -> Jobs:
        """Return the columns of a decision in which a worker takes ``cost`` and a job at most ``most`` workers."""
        return Jobs(
            curve=self._book.of(rows),
            remaining=state.remaining(rows),
            work=np.ascontiguousarray(state.jobs.work[rows]),
            cost=cost,
            most=most,
            fixed=np.ascontiguousarray(state.first_workers(rows)),
            held=np.where(self._facts.runs(state)[rows], self._width[rows], 0),
        )

    def _on_whole_nodes(self, state: State, rows: Ints) -> Plan:
        capacity = float(state.nodes.up.sum())
        jobs = self._jobs(state, rows, np.ones(len(rows)), np.full(len(rows), int(capacity)))
        given = self._decide(state, jobs, rows, capacity)[0].given
        self._width[rows] = given
        waits = given == 0
        code = WaitReason.NO_ROOM if given.sum() >= capacity else WaitReason.HELD_BACK
        if self.kernel_rule.chunk:
            code = WaitReason.BEHIND
        codes = np.where(jobs.fixed > 0, int(WaitReason.PREEMPTED), int(code))
        reasons = self._wait_reasons.of(rows[waits], codes[waits], rows[~waits])
        return Plan(whole_nodes.allocations(state, rows, given), reasons=reasons)

    def _anywhere(self, state: State, rows: Ints) -> Plan:
        amounts = self._capacity.amounts(state)
        group = amounts.group[self._facts.kind_of(rows)]
        queues = [
            self._queue(state, rows[group == number], amounts) for number in np.flatnonzero(np.bincount(group)).tolist()
        ]
        placing = Placing(state, self._facts, self._book, amounts, self._capacity.placer(state))
        hand_out(placing, self.kernel_rule, queues)
        for row, shares in placing.shares.items():
            self._width[row] = sum(share.workers for share in shares)
        parts = [self._explain(state, placing, queue) for queue in queues]
        waiting, codes = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
        vms = self._capacity.vm_changes(state, placing)
        reasons = self._wait_reasons.of(waiting, codes, rows[placing.runs(rows)])
        return Plan(placing.allocations(), vms=vms, wake_at_s=wake_at_s(state, vms, len(waiting)), reasons=reasons)

    def _queue(self, state: State, rows: Ints, amounts: Amounts) -> Queue:
        kinds, rule = self._facts.kind_of(rows), self.kernel_rule
        capacity = float(amounts.capacity[amounts.group[kinds[0]]])
        jobs = self._jobs(state, rows, amounts.cost[kinds], np.minimum(amounts.most[kinds], self._book.fastest(rows)))
        answer, served = self._decide(state, jobs, rows, capacity)
        wanted = molded(self._book.curves, jobs, capacity) if rule.moldable else self._book.smallest(rows)
        chunk = self._chunk[rows] if rule.chunk else None
        return queue_of(rows, jobs, answer, served, wanted, chunk, self._facts.queue(int(rows[0])))

    def _explain(self, state: State, placing: Placing, queue: Queue) -> tuple[Ints, Ints]:
        ran = state.first_workers(queue.rows) > 0
        return explain(placing, self.kernel_rule, queue, self._book.smallest(queue.rows), ran)


def _rate_of(state: State, kind: JobKind) -> Rate:
    return lambda rows, workers: rate_of(state, rows, workers, kind)
