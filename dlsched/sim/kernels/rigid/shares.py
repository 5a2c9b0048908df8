"""Users by dominant share, compiled: which job is next, as ``dlsched.policies.baselines.disciplines.fair_shares``.

The jobs of a user and a kind are a line, the lines of a kind a heap: the lowest share on top, then the earliest job.
"""

from __future__ import annotations

from dlsched.policies.baselines.disciplines import share_steps
from dlsched.sim.kernels.compiled import compiled, inlined
from dlsched.sim.kernels.rigid.lanes import ANY, next_waiting, set_leaf
from dlsched.sim.kernels.rigid.room import fits
from dlsched.sim.kernels.rigid.tables import NUM_RESOURCES, Run

_steps = compiled(share_steps)


@inlined
def next_in_line(run: Run, queue: int) -> int:
    """Return the next row to serve among those that have room; -1 = none."""
    fair, best = run.fair, -1
    for at in range(run.queues[queue].first_kind, run.queues[queue].past_kind):
        kind = run.members[at]
        if fair.kinds[kind].size > 0 and fits(run, kind):
            top = fair.heap[fair.kinds[kind].first]
            if best < 0 or _comes_first(run, top, best):
                best = top
    return fair.lines[best].head if best >= 0 else -1


@compiled
def join_line(run: Run, row: int) -> None:
    """A row waits from now on."""
    fair, line = run.fair, run.fair.line_of[row]
    set_leaf(run, _lane(run, line), fair.in_line[row], run.jobs[row].believed)
    head, kind = fair.lines[line].head, fair.lines[line].kind
    if head < 0 or row < head:
        fair.lines[line].head = row
        if head < 0:
            fair.lines[line].at = fair.kinds[kind].size
            fair.kinds[kind].size += 1
        _settle(run, line)


@compiled
def leave_line(run: Run, row: int) -> None:
    """A row no longer waits."""
    fair, line = run.fair, run.fair.line_of[row]
    lane = _lane(run, line)
    set_leaf(run, lane, fair.in_line[row], float("inf"))
    if row != fair.lines[line].head:
        return
    index = next_waiting(run, lane, fair.in_line[row] + 1, ANY)
    if index >= 0:
        fair.lines[line].head = run.lane_rows[run.lanes[lane].first + index]
        _settle(run, line)
        return
    kind, at = fair.lines[line].kind, fair.lines[line].at
    fair.lines[line].head, fair.lines[line].at = -1, -1
    fair.kinds[kind].size -= 1
    last = fair.heap[fair.kinds[kind].first + fair.kinds[kind].size]
    if last != line:
        fair.lines[last].at = at
        _settle(run, last)


@compiled
def hold(run: Run, row: int, jobs: int) -> None:
    """The user of a row holds what it takes, or no longer (-1)."""
    fair = run.fair
    line = fair.lines[fair.line_of[row]]
    user, most = fair.users[line.user], 0
    for resource in range(NUM_RESOURCES):
        user.held[resource] += jobs * fair.kinds[line.kind].part[resource]
        most = max(most, user.held[resource])
    share = _steps(most)
    if share != user.share:
        user.share = share
        for at in range(user.first_line, user.past_line):
            if fair.lines[fair.of_user[at]].at >= 0:
                _settle(run, fair.of_user[at])


@inlined
def _lane(run: Run, line: int) -> int:
    return len(run.kinds) + len(run.queues) + line


@inlined
def _comes_first(run: Run, one: int, other: int) -> bool:
    lines, users = run.fair.lines, run.fair.users
    share, than = users[lines[one].user].share, users[lines[other].user].share
    return share < than or (share == than and lines[one].head < lines[other].head)


@compiled
def _settle(run: Run, line: int) -> None:
    """Move a line to its place in the heap of its kind."""
    lines, heap, kind = run.fair.lines, run.fair.heap, run.fair.kinds[run.fair.lines[line].kind]
    at, first = lines[line].at, kind.first
    while at > 0 and _comes_first(run, line, heap[first + (at - 1) // 2]):
        above = heap[first + (at - 1) // 2]
        heap[first + at], lines[above].at = above, at
        at = (at - 1) // 2
    while 2 * at + 1 < kind.size:
        below = 2 * at + 1
        if below + 1 < kind.size and _comes_first(run, heap[first + below + 1], heap[first + below]):
            below += 1
        if not _comes_first(run, heap[first + below], line):
            break
        heap[first + at], lines[heap[first + below]].at = heap[first + below], at
        at = below
    heap[first + at], lines[line].at = line, at
