"""On which nodes the running jobs are: those that are recorded, else where the placement rule puts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dlsched.domain.cluster import Cluster
from dlsched.domain.errors import InputError
from dlsched.domain.plan import Share
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Floats
from dlsched.placement import Site, TrialPlacer
from dlsched.placement.rules import ROOM_TOLERANCE
from dlsched.sim.prepare import Underway
from dlsched.workload.hostlist import expand


@dataclass(frozen=True, eq=False)
class OnNodes:
    """Where running jobs are. ``held``: row -> since when, on which shares; ``speed`` of the nodes of each row.

    ``placed`` of the running jobs are not where they were recorded, for want of names or room; ``left_out`` do not fit
    the cluster at all beside the others.
    """

    held: Mapping[int, tuple[float, tuple[Share, ...]]]
    speed: Floats
    placed: int
    left_out: tuple[int, ...]

    def underway(self, at_s: float) -> Underway:
        """Return how a run takes over from here."""
        return Underway(at_s, self.held)


def on_nodes(scenario: Scenario, start_s: Floats, at_s: float) -> OnNodes:
    """Return where the running jobs of a scenario are, those with a start.

    Jobs with recorded nodes come first, then the widest. One that does not fit beside the others is left out.
    """
    jobs, cluster = scenario.workload, scenario.cluster
    site = Site.of(jobs, cluster, scenario.options.placement)
    room = TrialPlacer(site, site.capacity, at_s)
    for absence in cluster.absences:
        if absence.start_s <= at_s < absence.until_s:
            room.free[absence.node] = 0.0
    numbers = _node_numbers(cluster)
    named = jobs.recorded_nodes
    rows = np.flatnonzero(np.isfinite(start_s))
    rows = rows[np.argsort(-jobs.requested[rows].max(axis=1), kind="stable")]
    found: dict[int, tuple[Share, ...]] = {}
    if named is not None and numbers:
        for row in rows.tolist():
            if (shares := _recorded(room, row, str(named[row]), numbers)) is not None:
                room.take(row, shares)
                found[row] = shares
    on_own = len(found)
    for row in rows.tolist():
        if row not in found and (placed := room.place(row, int(jobs.workers[row]))) is not None:
            found[row] = placed
    speeds, speed = cluster.nodes.speed, np.ones(len(jobs))
    for row, shares in found.items():
        speed[row] = min(float(speeds[share.node]) for share in shares)
    lost = tuple(row for row in rows.tolist() if row not in found)
    held = {row: (float(start_s[row]), found[row]) for row in sorted(found)}
    return OnNodes(held, speed, len(found) - on_own, lost)


def _node_numbers(cluster: Cluster) -> dict[str, int]:
    """Return the number of each node that has a name."""
    numbers: dict[str, int] = {}
    first = 0
    for pool in cluster.pools:
        if pool.nodes:
            numbers.update({name: first + place for place, name in enumerate(_names(pool.nodes)[: pool.count])})
        first += pool.count
    return numbers


@lru_cache(maxsize=256)
def _names(host_list: str) -> tuple[str, ...]:
    return tuple(expand(host_list))


def _recorded(room: TrialPlacer, row: int, host_list: str, numbers: Mapping[str, int]) -> tuple[Share, ...] | None:
    """Return the workers of a row spread evenly over its recorded nodes; None if there is no such node or no room.

    A log does not say how many workers each node had: they go round the nodes, one each time, where there is room.
    """
    try:
        nodes = [numbers.get(name, -1) for name in dict.fromkeys(_names(host_list))]
    except InputError:
        return None
    site, jobs = room.site, room.site.asks.jobs
    workers, demand = int(jobs.workers[row]), np.asarray(site.asks.demand[row])
    allowed = site.allowed(row)
    if not nodes or min(nodes) < 0 or (allowed is not None and not allowed[nodes].all()):
        return None
    asked = demand > 0
    free = room.free[nodes][:, asked] + ROOM_TOLERANCE
    most = np.floor(free / demand[asked]).min(axis=1, initial=float(workers)).astype(np.int64)
    if most.sum() < workers:
        return None
    # With a level of L workers, each node has at most L: the least level that holds all of them.
    level = next(level for level in range(1, workers + 1) if np.minimum(most, level).sum() >= workers)
    given = np.minimum(most, level)
    for place in range(len(nodes) - 1, -1, -1):
        if given.sum() > workers and given[place] == level:
            given[place] -= 1
    return tuple(Share(node, int(count)) for node, count in zip(nodes, given, strict=True) if count)
