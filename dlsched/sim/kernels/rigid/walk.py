"""A walk along a queue past kinds of jobs that have no room, compiled: notes of one decision in ``Run.kinds``."""

from __future__ import annotations

from dlsched.sim.kernels.compiled import inlined
from dlsched.sim.kernels.rigid.lanes import ANY, next_waiting
from dlsched.sim.kernels.rigid.room import fits
from dlsched.sim.kernels.rigid.tables import Run


@inlined
def open_kinds(run: Run, queue: int) -> bool:
    """Note for each kind of a queue whether jobs of it wait and have room, and the first; return whether any has."""
    kinds, queues, found = run.kinds, run.queues, False
    for at in range(queues[queue].first_kind, queues[queue].past_kind):
        kind = run.members[at]
        kinds[kind].in_the_way = 0
        kinds[kind].is_open = kinds[kind].num_waiting > 0 and fits(run, kind)
        if kinds[kind].is_open:
            kinds[kind].cur = next_waiting(run, kind, 0, ANY)
            found = True
    return found


@inlined
def next_open(run: Run, queue: int) -> int:
    """Return the first row in order of the queue among the current ones of the open kinds; -1 = none."""
    kinds, queues, best = run.kinds, run.queues, -1
    for at in range(queues[queue].first_kind, queues[queue].past_kind):
        kind = run.members[at]
        if kinds[kind].is_open:
            row = run.lane_rows[run.lanes[kind].first + kinds[kind].cur]
            if best < 0 or run.jobs[row].place < run.jobs[best].place:
                best = row
    return best


@inlined
def move_on(run: Run, kind: int, most: float) -> None:
    """Go to the next waiting job of a kind with believed work of at most ``most``; close the kind if there is none."""
    index = next_waiting(run, kind, run.kinds[kind].cur + 1, most)
    if index < 0:
        run.kinds[kind].is_open = 0
    else:
        run.kinds[kind].cur = index


@inlined
def close_what_does_not_fit(run: Run, queue: int) -> None:
    """Close the open kinds of a queue that have no room any more."""
    for at in range(run.queues[queue].first_kind, run.queues[queue].past_kind):
        kind = run.members[at]
        if run.kinds[kind].is_open and not fits(run, kind):
            run.kinds[kind].is_open = 0
