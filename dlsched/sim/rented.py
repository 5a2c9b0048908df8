"""Nodes that are rented as jobs need them: when they are requested, usable, taken back and given back.

A node of an on-demand or spot pool is away until it is requested; it is paid from then on, usable after its boot, and
away again when it is given back after its idle timeout or, on spot, taken back. To policies its going is a failure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from dlsched.domain.cluster import Absence, Pool, Scaling, Terms
from dlsched.domain.plan import Share
from dlsched.domain.policy import EventKind
from dlsched.domain.truth import eviction_after_s
from dlsched.placement import TrialPlacer
from dlsched.sim.capacity import node_goes, node_is_back
from dlsched.sim.event_queue import Event, EventType, instant_s
from dlsched.sim.state import blocked_total
from dlsched.sim.world import World

RENTAL_EVENTS = (EventType.EVICTED, EventType.BOOTED, EventType.IDLE, EventType.OUTAGE, EventType.WAITED)
_MAY_RENT_AFTER = (EventType.COMPLETION, EventType.CANCEL, EventType.WAITED, EventType.EVICTED, EventType.OUTAGE)


class _Pool(NamedTuple):
    """A pool to rent from; ``nodes`` by number."""

    number: int
    terms: Terms
    nodes: range


class RentedNodes:
    """The rented nodes of a run that begins at ``start_s``; all are away at first.

    ``leased``: the nodes that are paid now. ``usable``: those of them that have booted.
    """

    def __init__(self, world: World, seed: int, start_s: float) -> None:
        cluster = world.scenario.cluster
        self.world, self.seed = world, seed
        self.rule = cluster.scaling or Scaling()
        pools = [
            _Pool(number, _terms(cluster.pools[number]), cluster.nodes_of(number)) for number in cluster.rented_pools
        ]
        if self.rule.order == "cheapest":
            pools.sort(key=lambda pool: _price_of_speed(cluster.pools[pool.number]))
        self.pools = pools
        self.pool_of = {node: pool for pool in pools for node in pool.nodes}
        self.leased: set[int] = set()
        self.usable: set[int] = set()
        self.shut: set[int] = set()
        """Pools in an outage."""
        self.outages = [(pool, outage) for pool in pools for outage in pool.terms.outages]
        self.away: dict[int, Absence] = {}
        self.leases_before = dict.fromkeys(self.pool_of, 0)
        self.idle_from_s: dict[int, float] = {}
        self.booted_s: dict[int, float] = {}
        """When each leased node has booted."""
        self.kept_until_s: dict[int, float] = {}
        """When all nodes have booted that a job needs beside this one: it does not leave before."""
        self.waits_from_s: dict[int, float] = {}
        self.starts_at_last_try = -1
        self.keeps_all = False
        """No node is given back, since the last attempt, until a job has started."""
        world.joined_queue = []
        for node in self.pool_of:
            self._put_away(node)
            world.room.free[node] = 0.0
        for number, (pool, outage) in enumerate(self.outages):
            if outage.start_s <= start_s < outage.end_s:
                self.shut.add(pool.number)
            if outage.start_s > start_s:
                world.event_queue.push(outage.start_s, EventType.OUTAGE, 2 * number)
            if outage.end_s > start_s:
                world.event_queue.push(outage.end_s, EventType.OUTAGE, 2 * number + 1)
        self._keep_minimum(start_s)

    # ---- events -------------------------------------------------------------------------------------

    def handle(self, event: Event) -> EventKind:
        """Carry out what is due of the rented nodes; return what a policy should know."""
        if event.kind == EventType.BOOTED:
            self.usable.add(event.key)
            node_is_back(self.world, self.away.pop(event.key))
            return EventKind.CAPACITY
        if event.kind == EventType.EVICTED:
            return self._evict([event.key], event.time_s)
        if event.kind == EventType.IDLE:
            return self._give_back(event.key, event.time_s)
        if event.kind == EventType.OUTAGE:
            pool, _ = self.outages[event.key // 2]
            return self._outage(pool, event.time_s, ends=event.key % 2 == 1)
        return EventKind.NONE  # a job has waited long enough: see after()

    def after(self, now_s: float, events: Iterable[Event]) -> None:
        """Rent what waiting jobs need once the policy has decided, and see which nodes are idle.

        Nodes are rented only where jobs joined the queue, something ended or nodes were taken: nodes that a policy
        leaves idle for reasons of its own are given back once, and not rented again for the same queue.
        """
        world, joined = self.world, self.world.joined_queue or []
        world.joined_queue = []
        for row in joined:
            self.waits_from_s[row] = now_s
            if self.rule.wait_s > 0:
                world.event_queue.push(now_s + self.rule.wait_s, EventType.WAITED, row)
        if joined or any(event.kind in _MAY_RENT_AFTER for event in events):
            self._rent(now_s)
        self._look_for_idle(now_s)
        if self.keeps_all and world.num_starts > self.starts_at_last_try:
            self.keeps_all = False
            self._may_go(now_s, self.idle_from_s)

    def try_again(self, now_s: float) -> bool:
        """Rent once more while nothing runs and nothing is due, so that any waiting job fits; return whether any was.

        Policies have queues of their own order, in which a job may be first that others left no node for, or start jobs
        at times of their own, when nodes with a short idle timeout have gone: so these nodes stay until a job has
        started. Only if a job has started since the last such attempt: a policy that starts none on what it gets will
        not later.
        """
        if self.world.num_starts == self.starts_at_last_try:
            return False
        self.starts_at_last_try = self.world.num_starts
        rows = self.world.waiting.array().tolist()
        needed = sorted({node for row in rows for node in self._needed_for([row], now_s)})
        self._request(needed, now_s)
        self.keeps_all = bool(needed)
        return self.keeps_all

    def _outage(self, pool: _Pool, at_s: float, *, ends: bool) -> EventKind:
        if ends:
            self.shut.discard(pool.number)
            self._keep_minimum(at_s)
            return EventKind.NONE
        self.shut.add(pool.number)
        return self._evict([node for node in pool.nodes if node in self.leased], at_s)

    def _evict(self, nodes: list[int], at_s: float) -> EventKind:
        cause = EventKind.NONE
        for node in nodes:
            saved_s = at_s - self.pool_of[node].terms.notice_s
            cause |= self._end_lease(node, at_s, saved_s if saved_s < at_s else None)
        self._keep_minimum(at_s)
        return cause

    def _give_back(self, node: int, at_s: float) -> EventKind:
        pool = self.pool_of[node]
        if self.keeps_all or sum(other in self.leased for other in pool.nodes) <= pool.terms.min_nodes:
            return EventKind.NONE
        return self._end_lease(node, at_s, None)

    def _end_lease(self, node: int, at_s: float, saved_s: float | None) -> EventKind:
        """Take a node away from now on; work of its jobs is saved at ``saved_s`` besides their checkpoints."""
        world, queue = self.world, self.world.event_queue
        for kind in (EventType.BOOTED, EventType.EVICTED, EventType.IDLE):
            queue.drop(kind, node)
        start_s = world.lease_from_s.pop(node)
        world.ledger.close_lease(node, int(world.nodes.vm[node]), start_s, at_s)
        self.leases_before[node] += int(at_s > start_s)
        self.leased.discard(node)
        for times_s in (self.idle_from_s, self.booted_s, self.kept_until_s):
            times_s.pop(node, None)
        if node not in self.usable:
            return EventKind.NONE
        self.usable.discard(node)
        self.away[node] = _away(node)
        return EventKind.CAPACITY | node_goes(world, self.away[node], at_s, saved_s)

    def _put_away(self, node: int) -> None:
        self.away[node] = _away(node)
        self.world.node_leaves(self.away[node])

    # ---- renting ------------------------------------------------------------------------------------

    def _rent(self, now_s: float) -> None:
        """Request the nodes that jobs need which have waited long enough."""
        world, least_s = self.world, self.rule.wait_s - instant_s(now_s)
        if self.leased == self.usable and not any(self._to_rent(pool) for pool in self.pools):
            return
        rows = [row for row in world.waiting.array().tolist() if now_s - self.waits_from_s[row] >= least_s]
        if rows and (len(rows) >= self.rule.queue_length or not world.held):
            self._request(self._needed_for(rows, now_s), now_s)

    def _to_rent(self, pool: _Pool) -> list[int]:
        """Return the nodes of a pool that can be requested now."""
        return [] if pool.number in self.shut else [node for node in pool.nodes if node not in self.leased]

    def _needed_for(self, rows: list[int], now_s: float) -> list[int]:
        """Return the nodes to request so that these rows fit beside what is free or boots, earlier rows first."""
        world = self.world
        trial = TrialPlacer(world.room.site, world.room.free, now_s, blocked_total(world.blocked))
        for node in self.leased - self.usable:
            trial.free[node] = trial.site.capacity[node]
        left = {pool.number: self._to_rent(pool) for pool in self.pools}
        needed: list[int] = []
        hopeless: set[tuple[object, ...]] = set()
        for row in rows:
            width = int(world.jobs.workers[row])
            ask = (trial.site.asks.demand[row], trial.site.asks.claims.of_row[row], width)
            if ask in hopeless:
                continue
            shares = trial.place(row, width) or self._place_beyond(trial, row, width, left)
            if not shares:
                hopeless.add(ask)
                continue
            nodes = [share.node for share in shares]
            new = {node for node in nodes if node in self.pool_of and node not in self.leased}
            if new:
                needed += sorted(new)
                left = {number: [node for node in rest if node not in new] for number, rest in left.items()}
            self._keep_for_one_job(nodes, now_s)
            if not any(left.values()) and not trial.free.any():
                break
        return needed

    def _keep_for_one_job(self, nodes: list[int], now_s: float) -> None:
        """Let none of the nodes that a job needs together leave before the last of them has booted."""
        rented = [node for node in nodes if node in self.pool_of]
        boots = {node: now_s + self.pool_of[node].terms.boot_s for node in rented}
        last_s = max((self.booted_s.get(node, boots[node]) for node in rented), default=now_s)
        for node in rented:
            self.kept_until_s[node] = max(last_s, self.kept_until_s.get(node, now_s))
            if self.idle_from_s.get(node, last_s) < last_s:
                self._is_idle_from(node, last_s)

    def _place_beyond(
        self, trial: TrialPlacer, row: int, width: int, left: dict[int, list[int]]
    ) -> tuple[Share, ...] | None:
        """Place a row with the help of nodes to rent, the first pools first; None, and nothing taken, if none help."""
        allowed, opened = trial.allowed(row), list[int]()
        for pool in self.pools:
            nodes = [node for node in left[pool.number] if allowed is None or allowed[node]]
            least, most = 1, len(nodes) + 1  # the fewest nodes of this pool that will do; most = not even all do
            while least < most:
                middle = (least + most) // 2
                attempt = trial.copy()
                attempt.free[nodes[:middle]] = trial.site.capacity[nodes[:middle]]
                least, most = (least, middle) if attempt.place(row, width) is not None else (middle + 1, most)
            chosen = nodes[:least]
            trial.free[chosen] = trial.site.capacity[chosen]
            opened += chosen
            if nodes and least <= len(nodes):
                shares = trial.place(row, width) or ()
                used = {share.node for share in shares}
                trial.free[[node for node in opened if node not in used]] = 0.0
                return shares
        trial.free[opened] = 0.0
        return None

    def _request(self, nodes: list[int], now_s: float) -> None:
        world, queue = self.world, self.world.event_queue
        for node in nodes:
            terms = self.pool_of[node].terms
            self.leased.add(node)
            self.booted_s[node] = booted_s = now_s + terms.boot_s
            world.lease_from_s[node] = now_s
            queue.push(booted_s, EventType.BOOTED, node)
            evicted_s = booted_s + eviction_after_s(self.seed, node, self.leases_before[node], terms.evictions_per_h)
            if evicted_s < math.inf:
                queue.push(evicted_s, EventType.EVICTED, node)
        pools = {self.pool_of[node].number for node in nodes}  # their idle nodes that the minimum kept may go now
        self._may_go(now_s, [node for node in self.idle_from_s if self.pool_of[node].number in pools])

    def _may_go(self, now_s: float, idle: Iterable[int]) -> None:
        """Let idle nodes that were kept go, from now on."""
        for node in list(idle):
            self._is_idle_from(node, self.idle_from_s[node], not_before_s=now_s)

    def _keep_minimum(self, now_s: float) -> None:
        for pool in self.pools:
            missing = pool.terms.min_nodes - sum(node in self.leased for node in pool.nodes)
            if missing > 0:
                self._request(self._to_rent(pool)[:missing], now_s)

    def _look_for_idle(self, now_s: float) -> None:
        """Start the idle time of nodes that have lost their last job, and end it where a job came."""
        if not self.usable:
            return
        queue = self.world.event_queue
        in_use = {share.node for shares in self.world.held.values() for share in shares}
        for node in sorted(self.usable):
            if node in in_use:
                if self.idle_from_s.pop(node, None) is not None:
                    queue.drop(EventType.IDLE, node)
            elif node not in self.idle_from_s:
                self._is_idle_from(node, max(now_s, self.kept_until_s.get(node, now_s)))

    def _is_idle_from(self, node: int, from_s: float, not_before_s: float = 0.0) -> None:
        """Let a node leave after its timeout: an instant later, so that a job which comes at that very time has it."""
        self.idle_from_s[node] = from_s
        at_s = max(from_s + self.pool_of[node].terms.idle_timeout_s, not_before_s)
        self.world.event_queue.push(at_s + 2 * instant_s(at_s), EventType.IDLE, node)


def _terms(pool: Pool) -> Terms:
    assert pool.terms is not None  # only such pools are rented
    return pool.terms


def _away(node: int) -> Absence:
    """Return an absence whose end is not known."""
    return Absence(node=node)


def _price_of_speed(pool: Pool) -> float:
    """Return the price per GPU (node without GPUs) and speed; infinity without a price."""
    vm = pool.vm
    return math.inf if vm.usd_per_h is None else vm.usd_per_h / (max(vm.gpus, 1) * vm.speed)
