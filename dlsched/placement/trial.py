"""A trial copy of the free resources, for policies and for the engine's own check of plans."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dlsched.domain.cluster import vm_capacity
from dlsched.domain.errors import PlanError
from dlsched.domain.plan import Share
from dlsched.domain.workload import Floats
from dlsched.placement.eligibility import Mask
from dlsched.placement.rules import ROOM_TOLERANCE, RULES, Picks, fullest_single
from dlsched.placement.site import Site

RESOURCE_WORDS = ("GPUs", "CPUs", "GiB", "GiB of disk")
_SNAP = 1e-6


class TrialPlacer:
    """Free resources that can be taken and given back; the caller's array is copied.

    Parameters
    ----------
    site
        Jobs, rule and nodes.
    free
        Shape (nodes, resources).
    now_s
        Time named in error messages.
    blocked
        Amount per resource that other jobs block on the pool beyond what they use.
    """

    __slots__ = ("_rule", "blocked", "free", "now_s", "site")

    def __init__(self, site: Site, free: Floats, now_s: float = 0.0, blocked: Sequence[float] | None = None) -> None:
        self.site = site
        self.free: Floats = free.copy(order="F")
        self.now_s = now_s
        self.blocked = blocked
        self._rule = RULES[site.rule]

    @property
    def pool_free(self) -> Floats:
        """What is free of all nodes together, less what other jobs block beyond their use, shape (resources,)."""
        free: Floats = self.free.sum(axis=0)
        return free if self.blocked is None else free - np.asarray(self.blocked)

    @property
    def is_pool(self) -> bool:
        """Whether only the total counts: what a job holds may lie on other nodes later."""
        return self.site.rule == "pool"

    def copy(self) -> TrialPlacer:
        """Return an independent trial."""
        return TrialPlacer(self.site, self.free, self.now_s, self.blocked)

    def only(self, nodes: Mask) -> TrialPlacer:
        """Return a view of this trial with only these nodes: what is taken there is taken here too."""
        view = TrialPlacer.__new__(TrialPlacer)
        view.site, view.free, view.now_s, view.blocked = self.site.only(nodes), self.free, self.now_s, self.blocked
        view._rule = self._rule
        return view

    def allowed(self, row: int) -> Mask | None:
        """Return the nodes that a row may use, shape (nodes,); None = all."""
        return self.site.allowed(row)

    def fits(self, row: int, workers: int) -> bool:
        """Whether the placement rule finds room, with the servers that go with the width."""
        if self.site.asks.servers_for(row, workers):
            return self.copy().place(row, workers) is not None
        return self._find(row, workers) is not None

    def place(self, row: int, workers: int) -> tuple[Share, ...] | None:
        """Take room by the placement rule, with the servers that go with the width; None when there is none."""
        servers = self.site.asks.servers_for(row, workers)
        if servers:
            return self.place_gang(row, workers, servers)
        picks = self._find(row, workers)
        if picks is None:
            return None
        demand = self.site.asks.demand[row]
        for node, count in picks:
            self._add(node, demand, -count)
        return tuple([Share(node, count) for node, count in picks])

    def place_gang(self, row: int, workers: int, servers: int) -> tuple[Share, ...] | None:
        """Take room for workers and servers by the placement rule; None, and nothing taken, when there is none.

        best-fit and pack put all on one node where one has room. best-fit waits for it where an empty node could have
        it; else workers go first, by the rule, and then servers.
        """
        asks = self.site.asks
        whole = asks.held(row, Share(0, workers, servers))
        if self.blocked is not None and not self._pool_holds(whole, 1):
            return None
        if self.site.rule in ("best-fit", "pack"):
            ask = self.site.ask_of(row, whole, 1)
            single = fullest_single(self.free, ask)
            if single is None and self.site.rule == "best-fit" and not ask.outgrows:
                return None
            if single is not None:
                shares: tuple[Share, ...] = (Share(single[0][0], workers, servers),)
                self.take(row, shares)
                return shares
        return self._place_apart(row, workers, servers)

    def _place_apart(self, row: int, workers: int, servers: int) -> tuple[Share, ...] | None:
        asks, capacity = self.site.asks, self.site.capacity
        trial = self.copy()
        found = self._rule(trial.free, capacity, self.site.ask(row, workers)) if any(asks.demand[row]) else None
        if found is None or asks.server_demand is None:
            return None
        for node, count in found:
            trial._add(node, asks.demand[row], -count)
        of_server = asks.server_demand[row]
        beside: Picks | None = [(found[0][0], servers)]  # servers that hold nothing sit beside the first worker
        if any(of_server):
            beside = self._rule(trial.free, capacity, self.site.ask_of(row, of_server, servers))
        if beside is None:
            return None
        both = {node: [count, 0] for node, count in found}
        for node, count in beside:
            both.setdefault(node, [0, 0])[1] += count
        shares = tuple([Share(node, *counts) for node, counts in both.items()])
        self.take(row, shares)
        return shares

    def take(self, row: int, shares: tuple[Share, ...]) -> None:
        """Take exactly these shares; PlanError where a node is not allowed or has no room."""
        allowed = self.site.allowed(row)
        for share in shares:
            if allowed is not None and not allowed[share.node]:
                raise PlanError(self._not_allowed(row, share.node))
            held = self.site.asks.held(row, share)
            for resource, amount in enumerate(held):
                if amount > 0 and amount > self.free[share.node, resource] + ROOM_TOLERANCE:
                    raise PlanError(self._overbooked(row, share, resource))
            self._add(share.node, held, -1)

    def release(self, row: int, shares: tuple[Share, ...]) -> None:
        """Give shares back."""
        for share in shares:
            self._add(share.node, self.site.asks.held(row, share), 1)

    def open(self, node: int, vm_name: str) -> None:
        """Put a VM type on an empty slot of the trial; PlanError when the slot has one."""
        if self.site.capacity[node].any():
            raise PlanError(
                f"At {self.now_s:g} s: slot {node} already has a machine, so {vm_name!r} cannot be opened on it."
            )
        self.site = self.site.with_vms({node: vm_name})
        self.free[node] = vm_capacity(self.site.vm_named(vm_name))

    def _find(self, row: int, workers: int) -> Picks | None:
        ask = self.site.ask(row, workers)
        if self.blocked is not None and not self._pool_holds(ask.demand, workers):
            return None
        return self._rule(self.free, self.site.capacity, ask)

    def _pool_holds(self, demand: Sequence[float], workers: int) -> bool:
        return bool((np.asarray(demand) * workers <= self.pool_free + ROOM_TOLERANCE).all())

    def _add(self, node: int, demand: Sequence[float], workers: int) -> None:
        free = self.free
        for resource, amount in enumerate(demand):
            if amount > 0:
                left = float(free[node, resource]) + workers * amount
                free[node, resource] = left if self.site.asks.whole else self._snapped(left, node, resource)

    def _snapped(self, left: float, node: int, resource: int) -> float:
        """Undo rounding errors of fractions, so that an emptied node is exactly empty again."""
        capacity = float(self.site.capacity[node, resource])
        if abs(left - capacity) < _SNAP:
            return capacity
        return 0.0 if abs(left) < _SNAP else round(left, 9)

    def _overbooked(self, row: int, share: Share, resource: int) -> str:
        capacity = self.site.capacity[share.node, resource]
        asked = self.site.asks.held(row, share)[resource]
        used = capacity - self.free[share.node, resource] + asked
        away = " (it is down)" if capacity > 0 and not self.free[share.node].any() else ""
        return (
            f"At {self.now_s:g} s: job {self.site.asks.job_id[row]!r} requests {asked:g} {RESOURCE_WORDS[resource]} "
            f"on node {share.node}{away}, which would use {used:g} of {capacity:g}."
        )

    def _not_allowed(self, row: int, node: int) -> str:
        claim = self.site.asks.claims.distinct[self.site.asks.claims.of_row[row]]
        wants = f"partition {claim.partition or 'none'}, GPU types {', '.join(sorted(claim.gpu_types)) or 'any'}"
        has = f"partition {self.site.partition[node] or 'none'}, GPU type {self.site.gpu_type[node] or 'none'}"
        if claim.features:
            wants += f", features {claim.features}"
            has += f", features {self.site.features[node] or 'none'}"
        return f"At {self.now_s:g} s: job {self.site.asks.job_id[row]!r} ({wants}) may not use node {node} ({has})."
