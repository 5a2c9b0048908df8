"""Nodes that go away and come back, compiled; the rules of ``dlsched.sim.capacity`` for jobs without reservations."""

from __future__ import annotations

from dlsched.sim.kernels.compiled import compiled, inlined
from dlsched.sim.kernels.preemptive.moves import lose_node
from dlsched.sim.kernels.preemptive.tables import Run
from dlsched.sim.kernels.rigid.absences import make_free
from dlsched.sim.kernels.rigid.tables import NUM_RESOURCES


@compiled
def change_capacity(run: Run, number: int) -> None:
    """Carry out a change: jobs on a node that goes away go back to the queue."""
    nodes, node = run.nodes, run.changes[number].node
    if run.changes[number].comes_back:
        nodes[node].num_absences -= 1
        if nodes[node].num_absences == 0:
            make_free(run, node, 1)
            _count_class(run, node, 1)
        return
    nodes[node].num_absences += 1
    if nodes[node].num_absences == 1:
        _stop_who_runs_on(run, node, run.changes[number].time_s)
        make_free(run, node, -1)
        _count_class(run, node, -1)


@inlined
def _stop_who_runs_on(run: Run, node: int, at_s: float) -> None:
    of = run.queues[run.nodes[node].queue]
    for place in range(of.first_runner, of.first_runner + of.num_runners):
        row = run.runners[place].row
        if row >= 0 and run.jobs[row].running:
            first, is_there = run.jobs[row].first_share, False
            for share in range(first, first + run.jobs[row].num_shares):
                is_there = is_there or run.shares[share].node == node
            if is_there:
                lose_node(run, row, place, at_s)


@inlined
def _count_class(run: Run, node: int, sign: int) -> None:
    """Count anew what the nodes that are up of the class of a node hold, and which kinds may use it."""
    number, of = run.class_of[node], run.queues[run.nodes[node].queue]
    for resource in range(NUM_RESOURCES):
        run.of_class[number, resource] = 0.0
    run.claims[:, number] = 0
    for other in range(len(run.nodes)):
        if run.class_of[other] == number and run.nodes[other].num_absences == 0:
            for resource in range(NUM_RESOURCES):
                run.of_class[number, resource] += run.nodes[other].capacity[resource]
            for kind in range(len(run.kinds)):
                if run.allowed[kind, other]:
                    run.claims[kind, number] = 1
    if of.one_total and of.one_class == number:
        of.units_free += sign * int(run.nodes[node].capacity[of.counted])
