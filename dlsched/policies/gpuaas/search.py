"""Greedy, randomised greedy and path relinking (Algorithms 1 and 2): from an instance to a schedule.

Jobs are served by pressure, the fastest residual time less the slack; running ones first on ties, then source order.
A job's configurations are ranked: those that meet the due date by cost, else all by time. The inner loops are
compiled, see :mod:`dlsched.policies.gpuaas.kernels`; the first call in a process loads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dlsched.domain.workload import Floats, Ints
from dlsched.policies.gpuaas.instance import FREE_PRICE, Instance, Schedule
from dlsched.policies.gpuaas.kernels import tables
from dlsched.policies.gpuaas.kernels.tables import Search
from dlsched.policies.gpuaas.repair import must_open

Guide = Literal["objective", "proxy"]
"""What a search minimises or maximises: (P1a) or Eq. (1)."""


@dataclass(frozen=True)
class SearchSettings:
    """What the randomised searches are told, defaults of the paper.

    ``iterations`` constructions (MaxItRG), the first of them the plain greedy; ``elite`` schedules kept (sigma);
    at most ``max_moves`` moves towards each (MaxItPR), None = number of nodes. A job lets the next one pass with
    probability ``swap`` + ``swap_spread`` for the lowest weight, ``swap`` - ``swap_spread`` for the highest.
    Configurations and nodes are drawn from the best ``config_share`` and ``node_share``, at least two where there are.
    """

    iterations: int = 1000
    elite: int = 10
    max_moves: int | None = None
    swap: float = 0.5
    swap_spread: float = 0.05
    config_share: float = 0.05
    node_share: float = 0.2

    def __post_init__(self) -> None:
        if self.iterations < 1 or self.elite < 1 or (self.max_moves is not None and self.max_moves < 0):
            raise ValueError(f"Expected iterations and elite of at least 1 and max_moves of at least 0, got {self}.")
        shares = (self.swap - self.swap_spread, self.swap + self.swap_spread, self.config_share, self.node_share)
        if not all(0 <= share <= 1 for share in shares):
            raise ValueError(f"Expected swap +- swap_spread, config_share and node_share in [0, 1], got {self}.")


def greedy(instance: Instance) -> Schedule:
    """Return the schedule of the deterministic construction."""
    return _search(instance, SearchSettings(iterations=1, elite=1), "objective", 0, 0)


def randomized_greedy(
    instance: Instance, rng: np.random.Generator, settings: SearchSettings | None = None, guide: Guide = "objective"
) -> Schedule:
    """Return the best of many randomised constructions (Algorithm 1); never worse under its guide than the greedy."""
    settings = settings or SearchSettings()
    return _search(instance, settings, guide, _seed(rng), 0)


def path_relinking(
    instance: Instance, rng: np.random.Generator, settings: SearchSettings | None = None, guide: Guide = "proxy"
) -> Schedule:
    """Return the schedule found on the paths from the best construction to the other elite (Algorithms 1 and 2)."""
    settings = settings or SearchSettings()
    max_moves = instance.num_nodes if settings.max_moves is None else settings.max_moves
    return _search(instance, settings, guide, _seed(rng), max_moves)


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(0, 2**64, dtype=np.uint64))


def _search(instance: Instance, settings: SearchSettings, guide: Guide, seed: int, max_moves: int) -> Schedule:
    order = queue(instance)
    if len(order) == 0 or instance.num_nodes == 0:
        return Schedule.empty(instance)
    from dlsched.policies.gpuaas.kernels.search import search  # loads numba

    s = _tables(instance, settings, order, guide == "proxy")
    s.rule["random"] = seed
    search(s, settings.iterations, max_moves, instance.exactly)
    return _schedule(instance, s)


def queue(instance: Instance) -> Ints:
    """Return the jobs that can run at all in the order in which they are served."""
    with np.errstate(invalid="ignore"):  # inf - inf of jobs that can run nowhere
        pressure = instance.fastest - instance.slack
    rows = np.lexsort((~instance.running, -pressure))
    return rows[np.isfinite(instance.fastest[rows])]


# ---- the arrays of the kernels ------------------------------------------------------------------------------


def _tables(instance: Instance, settings: SearchSettings, order: Ints, by_proxy: bool) -> Search:
    jobs, families, gpus = instance.times.shape
    nodes = instance.num_nodes
    table, choices = _job_tables(instance, settings)
    integers = np.int64
    return Search(
        jobs=table,
        choices=choices,
        options=_options(instance, by_proxy),
        order=order,
        holders=_holders(instance),
        rule=_rule(instance, settings, by_proxy),
        nodes=_nodes(instance),
        held=np.zeros((nodes + tables.SCRATCH, gpus), dtype=tables.HELD),
        families=_families(instance),
        buckets=np.zeros((families, gpus + 1, 1 + nodes), dtype=integers),
        closed=np.zeros(1 + nodes, dtype=integers),
        elite_node=np.zeros((settings.elite, jobs), dtype=integers),
        elite_config=np.zeros((settings.elite, jobs), dtype=integers),
        elite_score=np.zeros(settings.elite),
        moves=np.zeros(jobs, dtype=tables.MOVE),
        todo=np.zeros(jobs, dtype=integers),
        blocked=np.zeros(jobs, dtype=integers),
        node=np.zeros(jobs, dtype=integers),
        gpus=np.zeros(jobs, dtype=integers),
    )


def _job_tables(instance: Instance, settings: SearchSettings) -> tuple[tables.Table, tables.Table]:
    """Return what the construction knows of jobs, (J,), and their configurations best first, (J, C)."""
    times = instance.config_times.reshape(instance.num_jobs, -1)
    in_time = np.isfinite(times) & (times <= instance.slack[:, None])
    key = np.where(in_time, _costs(instance).reshape(times.shape), times)
    ranked = np.lexsort((key, ~in_time))
    num_in_time, num_ranked = in_time.sum(axis=1), np.isfinite(times).sum(axis=1)
    pool = np.where(num_in_time > 0, num_in_time, num_ranked)
    num_picks = np.maximum(np.minimum(2, pool), np.floor(settings.config_share * pool + 0.5).astype(np.int64))
    table = np.zeros(instance.num_jobs, dtype=tables.JOB)
    table["swap"] = settings.swap + settings.swap_spread * (1 - 2 * _scaled(instance.weight))
    table["num_ranked"], table["num_picks"] = num_ranked, num_picks
    choices = np.zeros(times.shape, dtype=tables.CHOICE)
    choices["family"], choices["gpus"] = np.divmod(ranked, instance.times.shape[2])
    choices["gpus"] += 1
    share = 1 / (np.take_along_axis(key, ranked, axis=1) + FREE_PRICE)
    total = np.cumsum(share, axis=1)
    last = np.maximum(num_picks - 1, 0)[:, None]
    choices["chance"] = total / np.maximum(np.take_along_axis(total, last, axis=1), FREE_PRICE)
    return table, choices


def _costs(instance: Instance) -> Floats:
    """Return what each configuration costs, (J, F, G); 0 where a job cannot run."""
    price = np.where(np.isfinite(instance.config_price), instance.config_price, 0.0)
    return np.where(np.isfinite(instance.config_times), instance.config_times, 0.0) * price


def _scaled(weight: Floats) -> Floats:
    """Return weights between 0 and 1; one half where all are equal."""
    low, high = weight.min(), weight.max()
    return (weight - low) / (high - low) if high > low else np.full(len(weight), 0.5)


def _options(instance: Instance, by_proxy: bool) -> tables.Table:
    """Return what each configuration of a job adds to the score, (J, C)."""
    times = instance.config_times
    jobs, families, gpus = times.shape
    late = np.maximum(0.0, np.where(np.isfinite(times), times, 0.0) - instance.slack[:, None, None])
    late = instance.weight[:, None, None] * late
    table = np.zeros((jobs, families * gpus), dtype=tables.OPTION)
    table["time"] = times.reshape(jobs, -1)
    table["gpu_time"] = (times * np.arange(1, gpus + 1)).reshape(jobs, -1)
    beside = FREE_PRICE if by_proxy else -instance.postponed_cost[:, None, None]
    table["late"] = (late + beside).reshape(jobs, -1)
    table["scale"] = instance.slowest[:, None]
    return table


def _holders(instance: Instance) -> tables.Table:
    table = np.zeros(instance.holder.size, dtype=tables.HOLDER)
    table["gpus"] = instance.vm_gpus[instance.holder].ravel()  # those of no machine are never looked at
    table["price"] = instance.config_price.ravel()
    return table


def _families(instance: Instance) -> tables.Table:
    table = np.zeros(len(instance.most_gpus), dtype=tables.FAMILY)
    table["largest"] = np.minimum(instance.most_gpus, instance.times.shape[2])
    return table


def _nodes(instance: Instance) -> tables.Table:
    table = np.zeros(instance.num_nodes + tables.SCRATCH, dtype=tables.NODE)
    table["fixed_family"] = -1
    stays = np.flatnonzero(instance.node_vm >= 0)
    vm = instance.node_vm[stays]
    table["fixed_family"][stays] = instance.vm_family[vm]
    table["fixed_gpus"][stays] = instance.vm_gpus[vm]
    table["fixed_price"][stays] = instance.vm_price[vm]
    free = np.flatnonzero(instance.node_vm < 0)
    most = must_open(instance) - len(stays) if instance.exactly else len(free)
    table["may_open"][free[: max(0, most)]] = 1
    return table


def _rule(instance: Instance, settings: SearchSettings, by_proxy: bool) -> tables.Table:
    rule = np.zeros(1, dtype=tables.RULE)
    rule["by_proxy"], rule["most_gpus"] = by_proxy, instance.times.shape[2]
    rule["idle_penalty"], rule["node_share"] = instance.idle_penalty, settings.node_share
    return rule


def _schedule(instance: Instance, s: Search) -> Schedule:
    nodes = s.nodes[: instance.num_nodes]
    vm = instance.node_vm.copy()
    chosen = np.flatnonzero((nodes["used"] > 0) & (vm < 0))
    vm[chosen] = instance.holder[nodes["family"][chosen], nodes["used"][chosen] - 1]
    return Schedule(s.node, s.gpus, vm)
