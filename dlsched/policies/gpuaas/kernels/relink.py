"""Algorithm 2: walk from the best schedule towards the others of the elite, along moves that improve the score.

A move gives one job the configuration it has in the schedule the path leads to. Its worth is found by scoring the
nodes it touches on scratch copies: A = the node the job leaves, B = the node it goes to, C = A with one job more.
"""

from __future__ import annotations

from numba import njit

from dlsched.policies.gpuaas.kernels.construct import best_of_elite, load
from dlsched.policies.gpuaas.kernels.score import score_node
from dlsched.policies.gpuaas.kernels.state import add, best_fit, blank_node, copy_node, open_node, put, remove
from dlsched.policies.gpuaas.kernels.tables import BLOCKED, TO_CLOSED, TO_QUEUE, Search

compiled = njit(nogil=True, error_model="numpy")
LEAST_GAIN = 1e-9
"""Relative gain below which a move counts as rounding."""


@compiled
def relink(s: Search, max_moves: int) -> None:
    """Improve the best schedule of the elite; it becomes the schedule at hand."""
    best = best_of_elite(s)
    load(s, best)
    for k in range(s.rule[0].num_elite):
        if k != best:
            _walk(s, k, max_moves)


@compiled
def _walk(s: Search, k: int, max_moves: int) -> None:
    """Make the best move towards schedule k of the elite until none improves the score."""
    for _ in range(max_moves):
        num_todo, num_blocked = _list_moves(s, k)
        job, second = _best_move(s, num_todo, num_blocked)
        if job < 0:
            return
        _carry_out(s, job)
        if second >= 0:
            s.moves[second].node = _destination(s, second)
            _carry_out(s, second)


@compiled
def _list_moves(s: Search, k: int) -> tuple[int, int]:
    """List jobs with another configuration in schedule k in ``todo``, those that fit nowhere yet in ``blocked``."""
    num_todo = num_blocked = 0
    for job in range(len(s.node)):
        goal = s.elite_config[k, job]
        if goal == s.config[job]:
            continue
        move = s.moves[job]
        move.goal = goal
        move.leave = 0.0
        if s.node[job] >= 0:
            copy_node(s, s.node[job], job, len(s.closed))
            move.leave = score_node(s, len(s.closed)) - s.nodes[s.node[job]].value
        move.node = _destination(s, job)
        if move.node == BLOCKED:
            s.blocked[num_blocked] = job
            num_blocked += 1
        else:
            s.todo[num_todo] = job
            num_todo += 1
    return num_todo, num_blocked


@compiled
def _destination(s: Search, job: int) -> int:
    """Return where the configuration a job shall have fits: best fit, its own node on ties, else a closed node."""
    goal, own = s.moves[job].goal, s.node[job]
    if goal < 0:
        return TO_QUEUE
    family, gpus = s.configs[goal].family, s.configs[goal].gpus
    found = best_fit(s, family, gpus) if s.families[family].widest >= gpus else BLOCKED
    if own >= 0 and s.nodes[own].family == family:
        free = s.nodes[own].free + s.configs[s.config[job]].gpus
        if free >= gpus and (found < 0 or free <= s.nodes[found].free):
            return own
    if found < 0 and s.rule[0].num_closed > 0:
        return TO_CLOSED
    return found


@compiled
def _best_move(s: Search, num_todo: int, num_blocked: int) -> tuple[int, int]:
    """Return the job whose move gains most, alone or with one that it enables, and the second job; -1 = none."""
    total = 0.0
    for node in range(len(s.closed)):
        total += s.nodes[node].value
    most, best, best_second = LEAST_GAIN * abs(total), -1, -1
    for k in range(num_todo):
        job = s.todo[k]
        gain = _try(s, job)
        if gain > most:
            most, best, best_second = gain, job, -1
        if num_blocked > 0 and s.node[job] >= 0:
            further, second = _try_enabled(s, job, num_blocked)
            if second >= 0 and gain + further > most:
                most, best, best_second = gain + further, job, second
    return best, best_second


@compiled
def _try(s: Search, job: int) -> float:
    """Return what the move of a job gains; scratch A is the node it leaves, B the node it goes to, afterwards."""
    move, own, a = s.moves[job], s.node[job], len(s.closed)
    if own >= 0:
        copy_node(s, own, job, a)
    if move.node == TO_QUEUE:
        return move.leave
    gpus = s.configs[move.goal].gpus
    if move.node == own:
        put(s, job, a, gpus)
        s.nodes[a].free -= gpus
        return score_node(s, a) - s.nodes[own].value
    b = a + 1
    if move.node == TO_CLOSED:
        blank_node(s, b, s.configs[move.goal].family)
        before = 0.0
    else:
        copy_node(s, move.node, -1, b)
        before = s.nodes[move.node].value
    put(s, job, b, gpus)
    return move.leave + score_node(s, b) - before


@compiled
def _try_enabled(s: Search, job: int, num_blocked: int) -> tuple[float, int]:
    """Return the gain of the best move that becomes possible where ``job`` leaves, and whose it is; -1 = none."""
    a, own, most, best = len(s.closed), s.node[job], 0.0, -1
    before = score_node(s, a)
    is_empty = s.nodes[a].count == 0 and s.nodes[a].fixed_family < 0
    for k in range(num_blocked):
        other = s.blocked[k]
        goal = s.configs[s.moves[other].goal]
        if is_empty:
            free = s.families[goal.family].largest
        elif goal.family == s.nodes[a].family:
            free = s.nodes[a].free
        else:
            continue
        if s.node[other] == own:
            free += s.configs[s.config[other]].gpus
        if free < goal.gpus:
            continue
        gain = _worth(s, job, other, is_empty) - before
        if best < 0 or gain > most:
            most, best = gain, other
    return most, best


@compiled
def _worth(s: Search, job: int, other: int, is_empty: bool) -> float:
    """Return the score of A once ``other`` has come to it, with what changes where it leaves."""
    a, b, c = len(s.closed), len(s.closed) + 1, len(s.closed) + 2
    goal, at = s.configs[s.moves[other].goal], s.node[other]
    if is_empty:
        blank_node(s, c, goal.family)
    else:
        copy_node(s, a, other, c)
    put(s, other, c, goal.gpus)
    worth = score_node(s, c)
    if at >= 0 and at != s.node[job]:
        if at == s.moves[job].node:
            worth += _leaving_b(s, other, b)
        else:
            worth += s.moves[other].leave
    return worth


@compiled
def _leaving_b(s: Search, other: int, b: int) -> float:
    """Return what changes when ``other`` leaves the node the first job has gone to."""
    c, before = b + 1, score_node(s, b)
    copy_node(s, b, other, c)
    return score_node(s, c) - before


@compiled
def _carry_out(s: Search, job: int) -> None:
    """Make the move of a job and score the nodes it touches."""
    move, own = s.moves[job], s.node[job]
    to = move.node
    if own >= 0:
        remove(s, job)
        s.nodes[own].value = score_node(s, own)
    if to == TO_QUEUE:
        return
    if to == TO_CLOSED or s.nodes[to].family < 0:
        to = open_node(s, s.configs[move.goal].family)
    add(s, job, to, move.goal)
    s.nodes[to].value = score_node(s, to)
