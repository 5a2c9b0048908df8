"""Which jobs of a queue wait, and which one is first, compiled; the rules of ``dlsched.policies.queue_tree.rooms``.

A queue has a lane for each kind of job, and a line of the first job of each lane in order.
"""

from __future__ import annotations

from dlsched.sim.kernels.compiled import compiled, inlined
from dlsched.sim.kernels.queue_tree.tables import Run
from dlsched.sim.kernels.tables import Table


@compiled
def join_lane(run: Run, row: int) -> None:
    """Let a row wait among those alike, by order time and row."""
    lane, jobs, rows = run.lanes[run.jobs[row].lane], run.jobs, run.lane_rows
    at = _place_in(run, row)
    for place in range(lane.begin + lane.count, at, -1):
        rows[place] = rows[place - 1]
    rows[at] = row
    lane.count += 1
    if at == lane.begin:
        if lane.count > 1:
            _leave_line(run, jobs[row].lane)
        _join_line(run, row)


@compiled
def leave_lane(run: Run, row: int) -> None:
    """Take a row out that is admitted."""
    number = run.jobs[row].lane
    lane, rows = run.lanes[number], run.lane_rows
    at = _place_in(run, row)
    lane.count -= 1
    for place in range(at, lane.begin + lane.count):
        rows[place] = rows[place + 1]
    if at == lane.begin:
        _leave_line(run, number)
        if lane.count > 0:
            _join_line(run, rows[at])
    if run.preemptors[lane.place].row == row:
        run.preemptors[lane.place].row = -1


@inlined
def _place_in(run: Run, row: int) -> int:
    """Return where a row is in its lane, or belongs."""
    lane, order_s = run.lanes[run.jobs[row].lane], run.jobs[row].order_s
    low, high = lane.begin, lane.begin + lane.count
    while low < high:
        middle = (low + high) // 2
        other = run.lane_rows[middle]
        other_s = run.jobs[other].order_s
        if other_s < order_s or (other_s == order_s and other < row):
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _join_line(run: Run, row: int) -> None:
    """Put the first row of a lane into the line of its queue: by priority, order time and row."""
    job, lane = run.jobs[row], run.lanes[run.jobs[row].lane]
    at = run.lengths[lane.place]
    while at > 0:
        before = run.lines[lane.place, at - 1]
        if before.priority > lane.priority:
            break
        if before.priority == lane.priority and (
            before.order_s < job.order_s or (before.order_s == job.order_s and before.row < row)
        ):
            break
        run.lines[lane.place, at] = before
        at -= 1
    describe(run, row, run.lines[lane.place], at)
    run.lengths[lane.place] += 1


@compiled
def _leave_line(run: Run, number: int) -> None:
    lane = run.lanes[number]
    line, at = run.lines[lane.place], 0
    while line[at].kind != lane.number:
        at += 1
    run.lengths[lane.place] -= 1
    for place in range(at, run.lengths[lane.place]):
        line[place] = line[place + 1]


@compiled
def describe(run: Run, row: int, to: Table, at: int) -> None:
    """Write a row into a table of jobs that wait, as the cycles read it."""
    lane, waits = run.lanes[run.jobs[row].lane], to[at]
    waits.row, waits.place, waits.kind, waits.queue = row, lane.place, lane.number, lane.queue
    waits.amount, waits.allowed, waits.preemptor = lane.amount, lane.allowed, 0
    waits.priority, waits.order_s = lane.priority, run.jobs[row].order_s


@compiled
def all_wait_again(run: Run, root: int) -> None:
    """Let the parked jobs of a whole tree wait again."""
    for place in range(len(run.lengths)):
        if run.roots[place] == root:
            run.parked[place, :] = False
