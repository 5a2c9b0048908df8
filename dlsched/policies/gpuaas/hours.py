"""Machines billed by the hour: what is paid already, who pays the next hour, and Market that uses paid hours up.

A lease given up within an hour is paid to its end. So its machine stays, free of charge, until the hour is over, unless
GPUs are so short that the slot is worth more with a larger machine, or one of another GPU type.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.gpuaas.instance import Instance, Schedule
from dlsched.policies.gpuaas.market import MarketPlan, MarketSettings, market
from dlsched.policies.gpuaas.state_adapter import StateAdapter

SAME_HOUR = 1e-9
"""Hours that a stay may last beyond full ones without paying another, as bills are rounded."""
LEAST_PAID_S = 3.6
"""Seconds left of its hour, for each open node, below which a machine is free to be given up: of 100 nodes those that
end within 6 minutes, so that a large cluster is looked at ten times an hour and not as each node's hour ends.
"""
MOST_LOOKS = 1000
"""Ends of hours that are looked at until the next job is done: while all jobs go on for years, hardly any matters."""
MOST_AT_ONCE = 0.1
"""Part of the nodes given up for larger ones before prices are looked at again."""


@dataclass(eq=False)
class Leases:
    """Machines rented by the hour: ``vm`` (N,) type on each node, -1 = none; ``paid_s`` (N,) paid and not used yet."""

    usd_per_s: Floats
    vm: Ints
    paid_s: Floats

    @classmethod
    def of(cls, instance: Instance, held: Schedule, paid_s: Floats) -> Self:
        """Return those of the open nodes, with the time of each that is paid, (N,)."""
        return cls(instance.vm_price, held.vm.copy(), np.where(held.vm >= 0, paid_s, 0.0))

    def copy(self) -> Leases:
        """Return leases of their own."""
        return replace(self)  # arrays are never written to

    def bill(self, vm: Ints, step_s: float) -> float:
        """Return what is due for these machines, (N,), over a step: started hours not paid yet, $."""
        paid_s = np.where(vm == self.vm, self.paid_s, 0.0)
        hours = np.where(vm >= 0, np.maximum(0.0, np.ceil((step_s - paid_s) / HOUR_S - SAME_HOUR)), 0.0)
        self.vm = vm.copy()
        self.paid_s = np.where(vm >= 0, np.maximum(0.0, paid_s + hours * HOUR_S - step_s), 0.0)
        return HOUR_S * float(hours @ self.usd_per_s[vm])


class LeaseClock:
    """Since when slots are rented, as far as their policy can know: it is told what is rented, not since when."""

    def __init__(self) -> None:
        self._since: dict[int, tuple[int, float]] = {}
        self._asked_s = 0.0

    def paid_s(self, adapter: StateAdapter) -> Floats:
        """Return the time of each open node that is paid already, (N,): whole hours since it was rented.

        What was not rented when the policy was last asked was rented then.
        """
        now_s, slots = adapter.state.now_s, adapter.slots.tolist()
        self._since = {
            slot: self._since[slot] if self._since.get(slot, (-1, 0.0))[0] == vm else (vm, self._asked_s)
            for slot, vm in zip(slots, adapter.held.vm.tolist(), strict=True)
            if vm >= 0
        }
        self._asked_s = now_s
        hours = np.array([now_s - self._since[slot][1] if slot in self._since else 0.0 for slot in slots]) / HOUR_S
        whole = np.ceil(hours - SAME_HOUR * np.maximum(1.0, hours))
        return np.asarray(HOUR_S * np.maximum(0.0, whole - hours))


def market_by_the_hour(instance: Instance, held: Schedule, paid_s: Floats, settings: MarketSettings) -> MarketPlan:
    """Return Market's plan, in seconds, with machines kept to the end of their paid hours; it wakes as the first ends.

    A machine is given up before only where that is worth more than it costs an hour: at the extra prices found, the
    GPUs of the largest machine for its slot are worth more than its own by this.
    """
    is_open = held.vm >= 0
    kept = is_open & (paid_s > LEAST_PAID_S * is_open.sum())
    usd, family, gpus = instance.vm_price[held.vm], instance.vm_family[held.vm], instance.vm_gpus[held.vm]
    while True:
        plan = market(instance.on_nodes(np.where(kept, held.vm, -1)), settings)
        if plan.price <= 0 or not kept.any():
            break
        gain = (instance.most_gpus * plan.prices).max() - gpus * plan.prices[family] - usd
        worth = np.flatnonzero(kept & (gain > 0))
        if not len(worth):
            break
        worth = worth[np.lexsort((paid_s[worth], -gain[worth]))]
        kept[worth[: max(1, int(MOST_AT_ONCE * len(kept)))]] = False
    ends_s = np.where(kept, paid_s, HOUR_S)[plan.schedule.vm >= 0]
    if not len(ends_s):
        return plan
    runs = plan.schedule.runs
    vm, gpus = plan.schedule.vm[plan.schedule.node[runs]], plan.schedule.gpus[runs]
    next_done_s = instance.times[runs, instance.vm_family[vm], gpus - 1].min() if len(runs) else 0.0
    wake_in = max(float(ends_s.min()), next_done_s / MOST_LOOKS)
    return replace(plan, wake_in=wake_in if plan.wake_in is None else min(wake_in, plan.wake_in))
