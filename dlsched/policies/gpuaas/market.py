"""Market: jobs mix configurations over their life and pay a price for GPUs that clears the pool.

Every job picks the cheapest way to finish: machine costs at the lowest price per GPU, lateness, and an extra price for
GPUs while they are short. A GPU type whose large machines cost more per GPU counts as several (decision 072). A job
that cannot afford the extra price now waits, if running ``wait`` later at ``later_price`` times that price is cheaper.
The inner loops are compiled, see :mod:`dlsched.policies.gpuaas.market_kernels`; the first call in a process loads them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dlsched.domain.workload import Floats, Ints
from dlsched.policies.gpuaas.instance import Instance, Schedule
from dlsched.policies.gpuaas.market_kernels.tables import Market, Rules
from dlsched.policies.gpuaas.repair import can_open_enough, must_open, open_enough

BACKLOG_SHARE = 0.4
"""What the backlog counts beside the mean run in the time the extra price takes to fall."""
TIER = 1.1
"""Part by which the lowest price per GPU must rise with the size of a machine to make a tier of its own."""
SHORTEST_WAKE = 0.0025
"""While GPUs are short, switches are this part of that time apart at least: events come soon enough then."""


@dataclass(frozen=True)
class MarketSettings:
    """What Market is told.

    ``mixing``: jobs may change their configuration, fast first; off = pure-configuration Market. A job that waits
    pays ``later_price`` (theta) times the extra price, after the part of the time in which that price falls to
    nothing; ``horizon`` scales this time. ``wait`` (W, in the instance's time unit) is the longest wait priced.
    ``steps``: most bisections of the price.
    """

    mixing: bool = True
    wait: float = 36_000.0
    later_price: float = 0.99
    horizon: float = 1.25
    steps: int = 40

    def __post_init__(self) -> None:
        if not (self.wait > 0 and 0 <= self.later_price < 1 and self.steps >= 1 and self.horizon > 0):
            rule = "wait and horizon above 0, later_price in [0, 1) and steps of at least 1"
            raise ValueError(f"Expected {rule}, got {self}.")


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
    """Return which job runs where now, and when to ask again at the latest; deterministic."""
    settings = settings or MarketSettings()
    families = instance.times.shape[1]
    if not instance.num_jobs or not instance.num_nodes:
        return MarketPlan(Schedule.empty(instance), None, 0.0, np.zeros(families))
    tiered = in_tiers(instance)
    tables = _tables(tiered)
    fall = _time_to_fall(tables, settings)
    plan = _plan(tiered, tables, settings, fall)
    if tiered is instance or plan.price == 0 or not _presses(instance, plan.schedule, fall):
        return plan
    whole = _plan(instance, _tables(instance), settings, fall)
    return whole if whole.schedule.used.sum() > plan.schedule.used.sum() else plan


def _presses(instance: Instance, schedule: Schedule, fall: float) -> bool:
    """Whether a job waits that, where it costs least, has less time to spare than the extra price takes to fall.

    Then no GPUs of slots shall idle: a job in a tier with small machines leaves nothing for others on its node.
    """
    times = instance.config_times.reshape(instance.num_jobs, -1)
    cheapest = (times * instance.config_price.ravel()).argmin(axis=1)
    spare = instance.slack - times[np.arange(len(times)), cheapest]
    return bool((np.isfinite(instance.fastest) & (schedule.node < 0) & (spare < fall)).any())


def _plan(instance: Instance, tables: Market, settings: MarketSettings, fall: float) -> MarketPlan:
    """Return the plan for GPU types as they are."""
    from dlsched.policies.gpuaas.market_kernels.decide import decide  # loads numba

    wake_in = decide(tables, _rules(settings, fall))
    if tables.is_short[0]:
        wake_in = max(wake_in, SHORTEST_WAKE * fall)
    schedule = _schedule(instance, tables)
    if can_open_enough(instance):
        schedule = open_enough(instance, schedule)
    prices = tables.extra.copy()
    return MarketPlan(schedule, wake_in if math.isfinite(wake_in) else None, float(prices.max(initial=0.0)), prices)


def in_tiers(instance: Instance) -> Instance:
    """Return the instance with a GPU type split in two where large machines cost more per GPU than small ones.

    Every job sees the lowest price per GPU of a type, so a type whose GPUs come at several prices would look cheaper
    than it is to wide jobs. It is split at each number of GPUs where the lowest price per GPU among machines with at
    least so many rises by more than ``TIER``. Nodes that stay are paid whoever uses them: nothing is split there.
    """
    if (instance.node_vm >= 0).any():
        return instance
    tier_of_vm = np.zeros_like(instance.vm_family)
    for family in np.unique(instance.vm_family).tolist():
        vms = np.flatnonzero(instance.vm_family == family)
        vms = vms[np.argsort(instance.vm_gpus[vms], kind="stable")]
        per_gpu = instance.vm_price[vms] / instance.vm_gpus[vms]
        least = np.minimum.accumulate(per_gpu[::-1])[::-1]
        tier, of_tier = int(tier_of_vm.max()) + 1, least[0]
        for vm, price in zip(vms.tolist(), least.tolist(), strict=True):
            if price > TIER * of_tier:
                tier, of_tier = tier + 1, price
            tier_of_vm[vm] = tier
    tiers, first, number = np.unique(tier_of_vm, return_index=True, return_inverse=True)
    if len(tiers) == len(np.unique(instance.vm_family)):
        return instance
    times = np.ascontiguousarray(instance.times[:, instance.vm_family[first]])
    return replace(instance, times=times, vm_family=number.astype(np.int64))


def _time_to_fall(tables: Market, settings: MarketSettings) -> float:
    """Return the time in which the extra price is taken to fall to nothing; 0 = no job can run.

    It grows with the backlog, the time all nodes need for all jobs at their thriftiest, and with the mean length of
    such a run, for what comes meanwhile. Nothing here has a time unit, so decisions are the same for jobs of minutes
    and jobs of days.
    """
    parts = np.arange(1, tables.times.shape[2] + 1) / np.maximum(tables.most, 1)[:, None]
    rows = np.arange(len(tables.slack))
    needs = (tables.times * parts).reshape(len(rows), -1)
    thriftiest = needs.argmin(axis=1)
    can_run = np.isfinite(needs[rows, thriftiest])
    if not can_run.any():
        return 0.0
    backlog = needs[rows, thriftiest][can_run].sum() / len(tables.room)
    typical = tables.times.reshape(len(rows), -1)[rows, thriftiest][can_run].mean()
    return settings.horizon * float(typical + BACKLOG_SHARE * backlog)


def _rules(settings: MarketSettings, fall: float) -> Rules:
    """Return the rules of one decision; a price that falls to nothing in ``fall`` is at theta after the wait."""
    wait = min(settings.wait, (1.0 - settings.later_price) * fall)
    return Rules(settings.mixing, settings.later_price, wait, settings.steps, fall)


def _tables(instance: Instance) -> Market:
    jobs, families, largest = instance.times.shape
    stays = instance.node_vm >= 0
    most, fixed = _node_sizes(instance)
    holder, shape = instance.holder, (jobs, families * largest)
    kind = np.where(stays, instance.vm_family[instance.node_vm], -1)
    return Market(
        times=np.where(np.arange(1, largest + 1) <= most[:, None], instance.config_times, np.inf),
        slack=np.array(instance.slack, dtype=np.float64),
        weight=np.array(instance.weight, dtype=np.float64),
        runs=instance.running.astype(np.int64),
        price=_prices(instance) if not stays.all() else np.zeros(families),
        most=most,
        fixed=fixed,
        vm_gpus=np.where(holder >= 0, instance.vm_gpus[holder], 0),
        bill=np.array(instance.config_price, dtype=np.float64),
        room=_room(instance),
        time=np.zeros(shape),
        gpus=np.zeros(shape, dtype=np.int64),
        family=np.zeros(shape, dtype=np.int64),
        num_configs=np.zeros(jobs, dtype=np.int64),
        extra=np.zeros(families),
        choice=np.full(jobs, -1, dtype=np.int64),
        at_low=np.full(jobs, -1, dtype=np.int64),
        at_high=np.full(jobs, -1, dtype=np.int64),
        unsure=np.zeros(jobs, dtype=np.int64),
        is_short=np.zeros(1, dtype=np.int64),
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
        demand=np.zeros(families, dtype=np.int64),
        quote=np.zeros(families),
        later_quote=np.zeros(families),
    )


def _node_sizes(instance: Instance) -> tuple[Ints, Ints]:
    """Return GPUs of the largest node that can be of each GPU type, and GPUs of the nodes that stay, (F,) each."""
    vms = instance.node_vm[instance.node_vm >= 0]
    most = instance.most_gpus.copy() if len(vms) < instance.num_nodes else np.zeros_like(instance.most_gpus)
    np.maximum.at(most, instance.vm_family[vms], instance.vm_gpus[vms])
    fixed = np.zeros_like(most)
    np.add.at(fixed, instance.vm_family[vms], instance.vm_gpus[vms])
    return np.minimum(most, instance.times.shape[2]), fixed


def _room(instance: Instance) -> Ints:
    """Return GPUs of the nodes that stay, 0 for free ones, -1 for those beyond the number that may be open, (N,)."""
    stays = instance.node_vm >= 0
    room = np.where(stays, instance.vm_gpus[instance.node_vm], 0)
    if instance.exactly:
        may_open = max(0, must_open(instance) - int(stays.sum()))
        room[np.flatnonzero(~stays)[may_open:]] = -1
    return room


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
