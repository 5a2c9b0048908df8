"""Market: jobs mix configurations over their life and pay a price for GPUs that clears the pool (METHODS, section 2).

Every job picks the cheapest way to finish: machine costs at the lowest price per GPU, lateness, and an extra price for
GPUs while they are short. A job that cannot afford that price now waits, if running ``wait`` later at
``later_price`` times the extra price is cheaper. The inner loops are compiled, see
:mod:`dlsched.policies.gpuaas.market_kernels`; the first call in a process loads them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dlsched.domain.workload import Floats, Ints
from dlsched.policies.gpuaas.instance import Instance, Schedule
from dlsched.policies.gpuaas.market_kernels.tables import Market, Rules


@dataclass(frozen=True)
class MarketSettings:
    """What Market is told.

    ``mixing``: jobs may change their configuration, fast first; off = pure-configuration Market. ``wait`` (W, in the
    instance's time unit) and ``later_price`` (theta) price the choice to wait. ``steps``: most bisections of the price.
    """

    mixing: bool = True
    wait: float = 36_000.0
    later_price: float = 0.9
    steps: int = 40

    def __post_init__(self) -> None:
        if not (self.wait > 0 and 0 <= self.later_price < 1 and self.steps >= 1):
            raise ValueError(f"Expected wait above 0, later_price in [0, 1) and steps of at least 1, got {self}.")


@dataclass(frozen=True, eq=False)
class MarketPlan:
    """A schedule, the time until the earliest planned switch of a job (None = none), and the prices behind it.

    ``prices`` (F,) of each GPU type are $ per GPU and time unit on top of the bill, 0 where there is enough;
    ``price`` is the highest of them.
    """

    schedule: Schedule
    wake_in: float | None
    price: float
    prices: Floats


def market(instance: Instance, settings: MarketSettings | None = None) -> MarketPlan:
    """Return who runs where now, and when to ask again at the latest; deterministic."""
    settings = settings or MarketSettings()
    families = instance.times.shape[1]
    if not instance.num_jobs or not instance.num_nodes:
        return MarketPlan(Schedule.empty(instance), None, 0.0, np.zeros(families))
    from dlsched.policies.gpuaas.market_kernels.decide import decide  # loads numba

    tables = _tables(instance)
    wake_in = decide(tables, Rules(settings.mixing, settings.later_price, settings.wait, settings.steps))
    schedule = _schedule(instance, tables)
    prices = tables.extra.copy()
    return MarketPlan(schedule, wake_in if math.isfinite(wake_in) else None, float(prices.max(initial=0.0)), prices)


def _tables(instance: Instance) -> Market:
    jobs, families, largest = instance.times.shape
    stays = instance.node_vm >= 0
    most, fixed = _node_sizes(instance)
    holder, shape = instance.holder, (jobs, families * largest)
    kind = np.where(stays, instance.vm_family[instance.node_vm], -1)
    return Market(
        times=np.where(np.arange(1, largest + 1) <= most[:, None], instance.config_times, np.inf),
        slack=np.ascontiguousarray(instance.slack, dtype=np.float64),
        weight=np.ascontiguousarray(instance.weight, dtype=np.float64),
        price=_prices(instance) if not stays.all() else np.zeros(families),
        most=most,
        fixed=fixed,
        vm_gpus=np.where(holder >= 0, instance.vm_gpus[holder], 0),
        bill=instance.config_price,
        room=np.where(stays, instance.vm_gpus[instance.node_vm], 0),
        time=np.zeros(shape),
        gpus=np.zeros(shape, dtype=np.int64),
        family=np.zeros(shape, dtype=np.int64),
        count=np.zeros(jobs, dtype=np.int64),
        extra=np.zeros(families),
        runs=np.zeros(jobs, dtype=np.bool_),
        now=np.zeros(jobs, dtype=np.int64),
        later=np.full(jobs, -1, dtype=np.int64),
        span=np.full(jobs, np.inf),
        run_cost=np.zeros(jobs),
        wait_cost=np.zeros(jobs),
        node=np.full(jobs, -1, dtype=np.int64),
        held=np.zeros(jobs, dtype=np.int64),
        kind=kind,
        free=np.zeros(instance.num_nodes, dtype=np.int64),
        hull=np.zeros(shape[1], dtype=np.int64),
        cost=np.zeros(shape[1]),
        demand=np.zeros(families),
        quote=np.zeros(families),
    )


def _node_sizes(instance: Instance) -> tuple[Ints, Ints]:
    """Return GPUs of the largest node that can be of each GPU type, and GPUs of the nodes that stay, (F,) each."""
    vms = instance.node_vm[instance.node_vm >= 0]
    most = instance.most_gpus.copy() if len(vms) < instance.num_nodes else np.zeros_like(instance.most_gpus)
    np.maximum.at(most, instance.vm_family[vms], instance.vm_gpus[vms])
    fixed = np.zeros_like(most)
    np.add.at(fixed, instance.vm_family[vms], instance.vm_gpus[vms])
    return np.minimum(most, instance.times.shape[2]), fixed


def _prices(instance: Instance) -> Floats:
    """Return the lowest price of a GPU of each type, (F,); 0 for a type no machine has."""
    lowest = np.full(instance.times.shape[1], np.inf)
    np.minimum.at(lowest, instance.vm_family, instance.vm_price / instance.vm_gpus)
    return np.where(np.isfinite(lowest), lowest, 0.0)


def _schedule(instance: Instance, tables: Market) -> Schedule:
    """Return the schedule with the cheapest machine that holds what is used on each free node."""
    vm = instance.node_vm.copy()
    used = np.zeros(len(vm), dtype=np.int64)
    runs = tables.node >= 0
    np.add.at(used, tables.node[runs], tables.held[runs])
    chosen = (vm < 0) & (used > 0)
    vm[chosen] = instance.holder[tables.kind[chosen], used[chosen] - 1]
    return Schedule(tables.node, tables.held, vm)
