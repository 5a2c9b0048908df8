"""The names of the nodes of a cluster, where they are known."""

from __future__ import annotations

from dlsched.domain.cluster import Cluster
from dlsched.domain.errors import InputError
from dlsched.workload.hostlist import expand


def node_numbers(cluster: Cluster) -> dict[str, int]:
    """Return the number of each named node; a list of names that cannot be read names no node."""
    number, before = dict[str, int](), 0
    for pool in cluster.pools:
        try:
            names = expand(pool.nodes)[: pool.count]
        except InputError:
            names = []
        number |= {name: before + place for place, name in enumerate(names)}
        before += pool.count
    return number
