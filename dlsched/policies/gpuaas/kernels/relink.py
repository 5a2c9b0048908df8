"""Algorithm 2: walk from the best schedule towards the others of the elite, along moves that improve the score.

A move gives one job the configuration it has in the schedule the path leads to. Its worth is found by scoring the
nodes it touches on scratch copies: A = the node the job leaves, B = the node it goes to, C = A with one job more.
"""

from __future__ import annotations

from dlsched.policies.gpuaas.kernels.compiled import compiled
from dlsched.policies.gpuaas.kernels.elite import best_of_elite, load
from dlsched.policies.gpuaas.kernels.score import score_node
from dlsched.policies.gpuaas.kernels.state import add, best_fit, blank_node, copy_node, open_node, put, remove
from dlsched.policies.gpuaas.kernels.tables import BLOCKED, SCRATCH, TO_CLOSED, TO_QUEUE, Ints, Search

LEAST_GAIN = 1e-9
"""Relative gain below which a move counts as rounding."""


@compiled
def relink(s: Search, max_moves: int) -> None:
    """Improve the best schedule of the elite; it becomes the schedule at hand."""
    best = best_of_elite(s)
    load(s, best)
    for k in range(s.rule[0].num_elite):
        if k != best:
            _walk(s, s.elite_config[k], max_moves)


@compiled
def _walk(s: Search, goals: Ints, max_moves: int) -> None:
    """Make the best move towards a schedule until none improves the score; two moves made at once count as one."""
    for _ in range(max_moves):
        num_todo, num_blocked = _list_moves(s, goals)
        job, second = _best_move(s, num_todo, num_blocked)
        if job < 0:
            return
        _carry_out(s, job)
        if second >= 0:
            s.moves[second].to = _destination(s, second)
            _carry_out(s, second)


# ---- moves --------------------------------------------------------------------------------------------------


@compiled
def _list_moves(s: Search, goals: Ints) -> tuple[int, int]:
    """List jobs that shall have another configuration: in ``todo``, those that fit nowhere yet in ``blocked``."""
    num_todo, num_blocked, a = 0, 0, len(s.nodes) - SCRATCH
    for job in range(len(s.moves)):
        move = s.moves[job]
        if goals[job] == move.config:
            continue
        move.goal = goals[job]
        move.leave = 0.0
        if move.node >= 0:
            copy_node(s.nodes, s.held, move.node, job, a)
            move.leave = _score(s, a) - s.nodes[move.node].value
        move.to = _destination(s, job)
        if move.to == BLOCKED:
            s.blocked[num_blocked] = job
            num_blocked += 1
        else:
            s.todo[num_todo] = job
            num_todo += 1
    return num_todo, num_blocked


@compiled
def _score(s: Search, node: int) -> float:
    return score_node(s.nodes, s.held, s.options, s.holders, s.rule, node)


@compiled
def _destination(s: Search, job: int) -> int:
    """Return where the configuration a job shall have fits what is free now: best fit, else a closed node."""
    move, most_gpus = s.moves[job], s.rule[0].most_gpus
    if move.goal < 0:
        return TO_QUEUE
    family, gpus = move.goal // most_gpus, move.goal % most_gpus + 1
    found = best_fit(s.buckets, family, gpus) if s.families[family].widest >= gpus else BLOCKED
    if found < 0 and s.closed[0] > 0:
        return TO_CLOSED
    return found


@compiled
def _carry_out(s: Search, job: int) -> None:
    """Make the move of a job and score the nodes it touches."""
    move, most_gpus = s.moves[job], s.rule[0].most_gpus
    own, to = move.node, move.to
    if own >= 0:
        remove(s.nodes, s.held, s.families, s.buckets, s.closed, job, own)
        s.nodes[own].value = _score(s, own)
    move.node, move.config = -1, move.goal
    if to == TO_QUEUE:
        return
    if to == TO_CLOSED or s.nodes[to].family < 0:
        to = open_node(s.nodes, s.families, s.buckets, s.closed, move.goal // most_gpus, most_gpus)
    add(s.nodes, s.held, s.families, s.buckets, job, to, move.goal % most_gpus + 1)
    s.nodes[to].value = _score(s, to)
    move.node = to


# ---- what moves are worth -----------------------------------------------------------------------------------


@compiled
def _best_move(s: Search, num_todo: int, num_blocked: int) -> tuple[int, int]:
    """Return the job whose move gains most, alone or with one that it enables, and the second job; -1 = none."""
    total = 0.0
    for node in range(len(s.nodes) - SCRATCH):
        total += s.nodes[node].value
    most, best, best_second = LEAST_GAIN * abs(total), -1, -1
    for k in range(num_todo):
        job = s.todo[k]
        gain = _try(s, job)
        if gain > most:
            most, best, best_second = gain, job, -1
        if num_blocked > 0 and s.moves[job].node >= 0:
            second, further = _try_enabled(s, job, num_blocked)
            if second >= 0 and gain + further > most:
                most, best, best_second = gain + further, job, second
    return best, best_second


@compiled
def _try(s: Search, job: int) -> float:
    """Return what the move of a job gains; scratch A is the node it leaves, B the node it goes to, afterwards."""
    move, nodes, held, most_gpus = s.moves[job], s.nodes, s.held, s.rule[0].most_gpus
    own, a = move.node, len(nodes) - SCRATCH
    b = a + 1
    if own >= 0:
        copy_node(nodes, held, own, job, a)
    if move.to == TO_QUEUE:
        return move.leave
    gpus = move.goal % most_gpus + 1
    if move.to == own:
        put(nodes, held, a, job, gpus)
        return _score(s, a) - nodes[own].value
    before = 0.0
    if move.to == TO_CLOSED:
        blank_node(nodes, s.families, b, move.goal // most_gpus, most_gpus)
    else:
        copy_node(nodes, held, move.to, -1, b)
        before = nodes[move.to].value
    put(nodes, held, b, job, gpus)
    return move.leave + _score(s, b) - before


@compiled
def _try_enabled(s: Search, job: int, num_blocked: int) -> tuple[int, float]:
    """Return the job whose move becomes possible where ``job`` leaves and gains most, and that gain; -1 = no job's."""
    left, most_gpus, most, best = s.nodes[len(s.nodes) - SCRATCH], s.rule[0].most_gpus, 0.0, -1
    before = _score(s, len(s.nodes) - SCRATCH)
    is_empty = left.count == 0 and left.fixed_family < 0
    for k in range(num_blocked):
        other = s.blocked[k]
        move = s.moves[other]
        family = move.goal // most_gpus
        if family != left.family and not is_empty:
            continue
        free = s.families[family].largest if is_empty else left.free
        if free <= move.goal % most_gpus:
            continue
        gain = _worth(s, job, other, is_empty) - before
        if best < 0 or gain > most:
            most, best = gain, other
    return best, most


@compiled
def _worth(s: Search, job: int, other: int, is_empty: bool) -> float:
    """Return the score of A once ``other`` has come to it, with what changes where it leaves."""
    a, move, most_gpus = len(s.nodes) - SCRATCH, s.moves[other], s.rule[0].most_gpus
    b, c = a + 1, a + 2
    if is_empty:
        blank_node(s.nodes, s.families, c, move.goal // most_gpus, most_gpus)
    else:
        copy_node(s.nodes, s.held, a, other, c)
    put(s.nodes, s.held, c, other, move.goal % most_gpus + 1)
    worth = _score(s, c)
    if move.node < 0 or move.node == s.moves[job].node:
        return worth
    if move.node != s.moves[job].to:
        return worth + move.leave
    copy_node(s.nodes, s.held, b, other, c)
    worth += _score(s, c)
    return worth - _score(s, b)
