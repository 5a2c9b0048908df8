"""From the nodes that a description tells of to a cluster, with what to know of it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from dlsched.domain.errors import InputError
from dlsched.workload.cluster_from_log.found import (
    LONGEST_PARTITIONS,
    MOST_GPUS,
    MOST_NODES,
    ClusterFound,
    Node,
    cluster_of,
    named,
)
from dlsched.workload.hostlist import expand

_Names = TypeVar("_Names", bound=Collection[str])
MOST_NAMES = 2_000_000
LARGEST = 1e9
"""Of cores and GiB of a node."""


class Names:
    """Expands host lists of one file: a bounded number of names in all."""

    def __init__(self) -> None:
        self._left = MOST_NAMES

    def __call__(self, text: str) -> list[str]:
        """Return the names of a list; InputError as :func:`expand`, or as :meth:`count`."""
        return self.count(expand(text, MOST_NODES))

    def count(self, names: _Names) -> _Names:
        """Return these names; InputError where the lists of the file stand for too many in all."""
        self._left -= len(names)
        if self._left < 0:
            why = f"together they stand for more than {MOST_NAMES:,} names"
            raise InputError("lists of nodes", why, "Leave out partitions that list all nodes again")
        return names


def check_count(nodes: int, source: str) -> None:
    """Raise InputError for more nodes than a described cluster may have."""
    if nodes > MOST_NODES:
        raise InputError(source, f"it has {nodes:,} nodes or more; the limit is {MOST_NODES:,}", "Give a part of them")


def checked(where: str, node: Node) -> Node:
    """Return the node; InputError if an amount is none that a node can have."""
    for amount, what in ((node.cores, "cores"), (node.mem_gib, "GiB of memory")):
        if amount is not None and not (math.isfinite(amount) and 0 <= amount <= LARGEST):
            raise InputError(f"{where}, node {node.name:.80}", f"it cannot have {amount:g} {what}", "Correct it")
    if not 0 <= node.gpus <= MOST_GPUS:
        raise InputError(
            f"{where}, node {node.name:.80}", f"a node has at most {MOST_GPUS:,} GPUs, got {node.gpus:,}", "Correct it"
        )
    if len(node.partitions) > LONGEST_PARTITIONS:
        raise InputError(f"{where}, node {node.name:.80}", "it is in too many partitions", "Leave some out")
    return node


def found(
    source: str, nodes: Mapping[str, Node], origin: Mapping[str, str], notes: Iterable[str] = (), *,
    down: Sequence[str] = (), needs_partition: bool = False,
) -> ClusterFound:  # fmt: skip
    """Return the cluster of nodes by name.

    ``down`` names nodes that cannot be used now; they are kept. ``needs_partition``: where some nodes are in
    partitions, one in none runs no jobs and is left out.

    Raises
    ------
    InputError
        No node, too many, or one that cannot be.
    """
    told = {name: checked(source, node) for name, node in nodes.items()}
    notes = list(notes)
    if needs_partition and any(node.partitions for node in told.values()):
        idle = [name for name, node in told.items() if not node.partitions]
        told = {name: node for name, node in told.items() if node.partitions}
        notes += [f"Left out, as no partition lists them: {named(idle)}"] if idle else []
    if not told:
        raise InputError(source, "it describes no node", "Print it again, for all nodes")
    check_count(len(told), source)
    away = [name for name in down if name in told]
    notes += [f"Down or drained now, but kept: {named(away)}"] if away else []
    mixed = [name for name, node in told.items() if "|" in node.gpu_type]
    notes += [f"Several GPU types on {named(mixed)}: the first is taken for all"] if mixed else []
    cluster = cluster_of(node._replace(gpu_type=node.gpu_type.split("|")[0][:60]) for node in told.values())
    return ClusterFound(cluster, source, dict(origin), tuple(notes))
