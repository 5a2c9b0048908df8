"""The best different schedules a search has found."""

from __future__ import annotations

from dlsched.policies.gpuaas.kernels.compiled import compiled
from dlsched.policies.gpuaas.kernels.score import score
from dlsched.policies.gpuaas.kernels.state import add, clear, list_closed, open_as
from dlsched.policies.gpuaas.kernels.tables import SCRATCH, Ints, Search, Table

SAME_SCORE = 1e-9


@compiled
def keep_if_elite(s: Search) -> None:
    """Score the schedule at hand and put it among the elite if it is good and new there."""
    value, count = score(s.nodes, s.held, s.options, s.holders, s.rule), s.rule[0].num_elite
    place = _worst(s.elite_score, count) if count == len(s.elite_score) else count
    if place < count and value <= s.elite_score[place]:
        return
    for k in range(count):
        if abs(s.elite_score[k] - value) <= SAME_SCORE * abs(value) and _is_at_hand(s.nodes, s.held, s.elite_config, k):
            return
    s.rule[0].num_elite = max(count, place + 1)
    s.elite_score[place] = value
    _write(s.nodes, s.held, s.elite_node, s.elite_config, place)


@compiled
def _worst(elite_score: Table, count: int) -> int:
    worst = 0
    for k in range(1, count):
        if elite_score[k] < elite_score[worst]:
            worst = k
    return worst


@compiled
def _is_at_hand(nodes: Table, held: Table, elite_config: Ints, k: int) -> bool:
    """Whether a schedule kept gives every job the configuration it has in the one at hand."""
    running = 0
    for job in range(elite_config.shape[1]):
        running += elite_config[k, job] >= 0
    for node in range(len(nodes) - SCRATCH):
        running -= nodes[node].count
        for place in range(nodes[node].count):
            if elite_config[k, held[node, place].job] != nodes[node].first + held[node, place].gpus:
                return False
    return running == 0


@compiled
def _write(nodes: Table, held: Table, elite_node: Ints, elite_config: Ints, k: int) -> None:
    elite_node[k] = -1
    elite_config[k] = -1
    for node in range(len(nodes) - SCRATCH):
        for place in range(nodes[node].count):
            elite_node[k, held[node, place].job] = node
            elite_config[k, held[node, place].job] = nodes[node].first + held[node, place].gpus


@compiled
def best_of_elite(s: Search) -> int:
    """Return the number of the best schedule kept, the earliest on ties."""
    best = 0
    for k in range(1, s.rule[0].num_elite):
        if s.elite_score[k] > s.elite_score[best]:
            best = k
    return best


@compiled
def load(s: Search, k: int) -> None:
    """Make a schedule of the elite the one at hand."""
    most_gpus = s.rule[0].most_gpus
    clear(s.nodes, s.families, s.buckets, s.closed, most_gpus)
    for job in range(len(s.moves)):
        node, config = s.elite_node[k, job], s.elite_config[k, job]
        s.moves[job].node, s.moves[job].config = node, config
        if node < 0:
            continue
        family = config // most_gpus
        if s.nodes[node].family < 0:
            open_as(s.nodes, s.families, s.buckets, node, family, most_gpus)
        add(s.nodes, s.held, s.families, s.buckets, job, node, config - family * most_gpus + 1)
    list_closed(s.nodes, s.closed)
    score(s.nodes, s.held, s.options, s.holders, s.rule)
