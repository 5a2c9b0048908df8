"""Which jobs queue together: those whose partitions share nodes, directly or through other partitions."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dlsched.domain.workload import Texts, partition_names


def queues(entries: Iterable[str]) -> dict[str, str]:
    """Return the queue of each ``partition`` entry of nodes and jobs: the names of all that hang together, "a|b".

    Entries that share a name hang together; without names they are a queue of their own, "".
    """
    groups: list[tuple[frozenset[str], list[str]]] = []
    for entry in dict.fromkeys(entries):
        names, members, others = partition_names(entry), [entry], []
        for group in groups:
            if names & group[0]:
                names, members = names | group[0], members + group[1]
            else:
                others.append(group)
        groups = [*others, (names, members)]
    return {entry: "|".join(sorted(names)) for names, members in groups for entry in members}


def usable(wanted: str, on_nodes: frozenset[str]) -> str:
    """Return what counts of a job's partition entry: the names that some node has; of none, "" (nodes open to all)."""
    return "|".join(sorted(partition_names(wanted) & on_nodes))


def queue_of_jobs(wanted: Texts, of_nodes: Texts) -> Texts:
    """Return the queue of each job, from the ``partition`` entries of the jobs and of all nodes."""
    entries = dict.fromkeys(of_nodes.tolist())
    on_nodes = frozenset().union(*map(partition_names, entries))
    counts = {text: usable(text, on_nodes) for text in dict.fromkeys(wanted.tolist())}
    queue = queues([*entries, *counts.values()])
    return np.array([queue[counts[text]] for text in wanted], dtype=object)
