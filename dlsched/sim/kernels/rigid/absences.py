"""Nodes that go away and come back, compiled; the rules of ``dlsched.sim.capacity`` for jobs without reservations."""

from __future__ import annotations

from dlsched.sim.kernels.compiled import compiled, inlined
from dlsched.sim.kernels.rigid.moves import RUNNING, STOPPED, stop
from dlsched.sim.kernels.rigid.room import counted_on
from dlsched.sim.kernels.rigid.tables import NUM_RESOURCES, Places, Run


@compiled
def change_capacity(run: Run, number: int) -> None:
    """Carry out a change: jobs on a node that goes away are stopped, also where they hold others."""
    nodes, node = run.nodes, run.changes[number].node
    nodes[node].is_stale = 1
    if run.changes[number].comes_back:
        nodes[node].num_absences -= 1
        if nodes[node].num_absences == 0:
            make_free(run, node, 1)
        return
    nodes[node].num_absences += 1
    if nodes[node].num_absences == 1:
        first = run.counts[STOPPED]
        _note_who_runs_on(run, node)
        for k in range(first, run.counts[STOPPED]):
            stop(run, run.due[k], run.changes[number].time_s)
        make_free(run, node, -1)


@inlined
def _note_who_runs_on(run: Run, node: int) -> None:
    """Add the rows with a share on a node to those that are stopped, ascending."""
    first = run.counts[STOPPED]
    for k in range(run.counts[RUNNING]):
        job = run.jobs[run.running[k].row]
        for share in range(job.first_share, job.first_share + job.num_shares):
            if run.shares[share].node == node:
                place = run.counts[STOPPED]
                while place > first and run.due[place - 1] > run.running[k].row:
                    run.due[place] = run.due[place - 1]
                    place -= 1
                run.due[place] = run.running[k].row
                run.counts[STOPPED] += 1


@inlined
def make_free(run: Places, node: int, sign: int) -> None:
    """All of an empty node is free (1), or nothing (-1), and the totals follow."""
    nodes, queue = run.nodes, run.queues[run.nodes[node].queue]
    for resource in range(NUM_RESOURCES):
        nodes[node].free[resource] = nodes[node].capacity[resource] if sign > 0 else 0.0
        free = 0.0  # added up anew: what is not known is infinite and cannot be taken away
        for other in range(len(nodes)):
            if nodes[other].queue == nodes[node].queue:
                free += nodes[other].free[resource]
        queue.free[resource] = free
    for at in range(queue.first_measure, queue.past_measure):
        measure = run.members[at]
        counted = counted_on(run, measure, node, nodes[node].free)
        run.measures[measure].tally += counted - run.on_node[measure, node]
        run.on_node[measure, node] = counted
    for kind in range(len(run.kinds)):
        if run.allowed[kind, node]:
            run.kinds[kind].num_up += sign
