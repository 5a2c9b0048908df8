"""The cluster that the jobs of a log held: their nodes, and of each node the most that was held at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dlsched.domain.errors import InputError
from dlsched.domain.workload import CPU, GPU, MEM, Floats, Ints, Texts, Workload, gpu_type_names, partition_names
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

MOST_SHARES = 20_000_000
SHARES_AT_ONCE = 4_000_000
ROUNDING = 1e-6
LONGEST_TYPE = 60
FROM_LOG = "the log"
_TOO_MANY = InputError(
    "nodes of the log",
    f"there are more than {MOST_NODES:,}, or {MOST_SHARES:,} of all jobs together",
    "Describe them",
)


@dataclass(frozen=True, eq=False)
class Held:
    """What the started jobs of a log held, columns of shape (jobs,).

    ``nodes`` host lists; ``demand`` (jobs, resources) of one worker; ``gpu_types`` the type that was used or asked
    for, "" = not told, "a|b" = one of these.
    """

    nodes: Texts
    start_s: Floats
    end_s: Floats
    workers: Ints
    demand: Floats
    partition: Texts
    gpu_types: Texts


def held_by(jobs: Workload) -> Held | None:
    """Return what the started jobs of a workload held by its record; None if it names no nodes."""
    if jobs.recorded_nodes is None or jobs.recorded_start_s is None:
        return None
    start_s = jobs.recorded_start_s
    end_s = np.full(len(jobs), np.nan) if jobs.recorded_end_s is None else jobs.recorded_end_s
    start_s = np.where(np.isnan(start_s), end_s - jobs.work, start_s)  # of what ran before the log, the rest
    end_s = np.where(np.isnan(end_s), start_s + jobs.work, end_s)
    rows = np.flatnonzero(~np.isnan(start_s) & (jobs.recorded_nodes != ""))
    blank = np.full(len(jobs), "", dtype=object)
    partition = blank if jobs.partition is None else jobs.partition
    gpu_types = blank if jobs.gpu_types is None else jobs.gpu_types
    return Held(
        jobs.recorded_nodes[rows], start_s[rows], end_s[rows], jobs.workers[rows], jobs.demand[rows],
        partition[rows], gpu_types[rows],
    )  # fmt: skip


def most_at_once(start_s: Floats, end_s: Floats, amount: Floats) -> float:
    """Return the most that jobs held at once, ends before starts at one instant; jobs without times do not count."""
    counts = np.isfinite(start_s) & np.isfinite(end_s) & np.isfinite(amount)
    start_s, end_s, amount = start_s[counts], end_s[counts], amount[counts]
    by_start, by_end = np.argsort(start_s), np.argsort(end_s)
    given_back = np.concatenate([[0.0], np.cumsum(amount[by_end])])
    ended = np.searchsorted(end_s[by_end], start_s[by_start], side="right")
    return float((np.cumsum(amount[by_start]) - given_back[ended]).max(initial=0.0))


def cluster_of_log(held: Held) -> ClusterFound | None:
    """Return the nodes that jobs ran on, with the most of cores, memory and GPUs ever held at once on each.

    A job on k nodes holds 1/k of its demand on each, ends come before starts at one instant, and no node is smaller
    than the largest share of whole workers that it held. Cores and GPUs are rounded up to the next whole number, memory
    to the next of 1, 1.5, 2, 3, 4, 6, 8, 12, 16, ... GiB. Cores and memory are limits only where every job tells them.
    A node is in every partition whose jobs ran there; where jobs without a partition ran too, its partitions are left
    out, with all that share nodes with them. None if no job names a node that can be used.

    Raises
    ------
    InputError
        More nodes, or jobs on more nodes together, than can be worked out; a node with more GPUs than one can have.
    """
    places = _places(held.nodes)
    if not places.names:
        if places.wrong:
            raise InputError("nodes of the log", "none of the host lists can be read", "Describe them")
        return None
    most = _most_held(held, places)
    told = [bool((held.demand[places.num_nodes > 0, resource] > 0).all()) for resource in range(held.demand.shape[1])]
    gpus = np.ceil(most[:, GPU] - ROUNDING).astype(np.int64)
    if gpus.max() > MOST_GPUS:
        what = f"node {places.names[int(gpus.argmax())]:.80}"
        why = f"jobs held {int(gpus.max()):,} GPUs of it at once; a node has at most {MOST_GPUS:,}"
        raise InputError(what, why, "Describe the nodes")
    cores, mem_gib = np.ceil(most[:, CPU] - ROUNDING), _memory_size(most[:, MEM])
    partitions, left_out = _partitions(held, places)
    gpu_type, mixed = _gpu_types(held, places)
    cluster = cluster_of(
        Node(
            name=name,
            cores=float(cores[node]) if told[CPU] else None,
            mem_gib=float(mem_gib[node]) if told[MEM] else None,
            gpus=int(gpus[node]),
            gpu_type=gpu_type[node] if gpus[node] else "",
            partitions=partitions[node],
        )
        for node, name in enumerate(places.names)
    )
    origin = {"nodes": "those that jobs ran on"}
    most_held = "most ever held at once"
    if told[CPU]:
        origin["cores"] = most_held
    if told[MEM]:
        origin["memory"] = f"{most_held}, up to the next usual size"
    if gpus.any():
        origin["GPUs"] = most_held
    if any(gpu_type):
        origin["GPU types"] = "of the jobs that ran there"
    if any(partitions):
        origin["partitions"] = "of the jobs that ran there"
    return ClusterFound(cluster, FROM_LOG, origin, _notes(places, told, mixed, left_out))


# ---- jobs on nodes ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Places:
    """Which nodes jobs ran on: ``node`` and ``job`` of each share, by node; ``num_nodes`` (jobs,); ``wrong`` lists."""

    names: list[str]
    node: Ints
    job: Ints
    num_nodes: Ints
    wrong: int

    def starts(self) -> Ints:
        """Return where the shares of each node begin."""
        return np.searchsorted(self.node, np.arange(len(self.names)))


def _places(host_lists: Texts) -> _Places:
    """Return the shares of all jobs; InputError if they would be too many to work out."""
    code, distinct = pd.factorize(host_lists)
    number: dict[str, int] = {}
    listed: list[list[int]] = []
    wrong = np.zeros(len(distinct), dtype=bool)
    budget = MOST_SHARES
    for place, text in enumerate(distinct):
        try:
            names = dict.fromkeys(expand(str(text), MOST_NODES))
        except InputError:
            names, wrong[place] = {}, True
        budget -= len(names)
        if budget < 0:
            raise _TOO_MANY
        listed.append([number.setdefault(name, len(number)) for name in names])
    sizes = np.array([len(nodes) for nodes in listed], dtype=np.int64)
    num_nodes = sizes[code]
    if len(number) > MOST_NODES or num_nodes.sum() > MOST_SHARES:
        raise _TOO_MANY
    flat = np.array([node for nodes in listed for node in nodes], dtype=np.int32)
    first = np.cumsum(sizes) - sizes
    job = np.repeat(np.arange(len(code), dtype=np.int32), num_nodes)
    within = np.arange(len(job)) - np.repeat(np.cumsum(num_nodes) - num_nodes, num_nodes)
    node = flat[np.repeat(first[code], num_nodes) + within]
    small = node.astype(np.uint16) if len(number) <= 2**16 else node  # numpy sorts 16 bits by radix
    by_node = np.argsort(small, kind="stable")
    return _Places(
        list(number), node[by_node].astype(np.int64), job[by_node].astype(np.int64), num_nodes, int(wrong[code].sum())
    )


def _most_held(held: Held, places: _Places) -> Floats:
    """Return the most of each resource that jobs held at once on each node, shape (nodes, resources)."""
    width = np.maximum(places.num_nodes, 1)
    evenly = held.demand * (held.workers / width)[:, None]
    alone = held.demand * np.ceil(held.workers / width)[:, None]
    has_length = held.end_s > held.start_s
    order = np.argsort(np.concatenate([held.end_s, held.start_s]), kind="stable")  # ends first
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    ends, starts = rank[: len(held.end_s)], rank[len(held.end_s) :]
    most = np.zeros((len(places.names), held.demand.shape[1]))
    for nodes, shares in _blocks(places):
        node, job = places.node[shares], places.job[shares]
        first = np.searchsorted(node, np.arange(nodes.start, nodes.stop))
        for resource in np.flatnonzero(held.demand.any(axis=0)):
            most[nodes, resource] = np.maximum.reduceat(alone[job, resource], first)
        lasting = has_length[job]
        node, job = node[lasting].astype(np.int64) - nodes.start, job[lasting]
        if not len(job):
            continue
        key = np.concatenate([node, node]) * len(order) + np.concatenate([ends[job], starts[job]])
        by_time = np.argsort(key)
        at = np.searchsorted(np.concatenate([node, node])[by_time], np.unique(node))
        for resource in np.flatnonzero(held.demand.any(axis=0)):
            change = evenly[job, resource]
            level = np.cumsum(np.concatenate([-change, change])[by_time])
            seen = np.unique(node) + nodes.start
            most[seen, resource] = np.maximum(most[seen, resource], np.maximum.reduceat(level, at))
    return most


def _blocks(places: _Places) -> Iterator[tuple[slice, slice]]:
    """Yield blocks of nodes with their shares, about SHARES_AT_ONCE each."""
    starts = np.append(places.starts(), len(places.node))
    node = 0
    while node < len(places.names):
        last = max(node + 1, int(np.searchsorted(starts, starts[node] + SHARES_AT_ONCE, side="right")) - 1)
        last = min(last, len(places.names))
        yield slice(node, last), slice(int(starts[node]), int(starts[last]))
        node = last


def _memory_size(mem_gib: Floats) -> Floats:
    """Return the next of 1, 1.5, 2, 3, 4, 6, 8, ... GiB for each amount, smaller ones for less than 1 GiB."""
    with np.errstate(divide="ignore"):
        power = np.exp2(np.floor(np.log2(np.maximum(mem_gib, 2.0**-20))))
    sizes = np.stack([power, 1.5 * power, 2 * power])
    fits = sizes >= mem_gib * (1 - ROUNDING)
    return np.where(mem_gib > 0, sizes[np.argmax(fits, axis=0), np.arange(len(mem_gib))], 0.0)


# ---- names -----------------------------------------------------------------------------------------


def _pairs(places: _Places, code: Ints, kinds: int) -> tuple[Ints, Ints, Ints]:
    """Return the distinct pairs of a node and a code of its jobs, and how often each occurs."""
    pairs, counts = np.unique(places.node.astype(np.int64) * kinds + code[places.job], return_counts=True)
    return pairs // kinds, pairs % kinds, counts


def _partitions(held: Held, places: _Places) -> tuple[list[str], bool]:
    """Return the partition entry of each node, and whether partitions were left out.

    Where jobs without a partition ran on a node, its partitions are dropped everywhere, and so on: those jobs may run
    only on nodes without a partition.
    """
    code, entries = pd.factorize(held.partition)
    of_entry = [partition_names(str(entry)) for entry in entries]
    of_node: list[set[str]] = [set() for _ in places.names]
    is_open = np.zeros(len(places.names), dtype=bool)
    for node, entry, _ in zip(*_pairs(places, code, max(len(entries), 1)), strict=True):
        of_node[node] |= of_entry[entry]
        is_open[node] |= not of_entry[entry]
    too_long = any(len("|".join(names)) > LONGEST_PARTITIONS for names in of_node)
    if too_long:
        return [""] * len(of_node), True
    dropped = set().union(*(of_node[node] for node in np.flatnonzero(is_open)))
    grows = bool(dropped)
    while grows:
        more = dropped.union(*(names for names in of_node if names & dropped))
        grows, dropped = len(more) > len(dropped), more
    return ["|".join(sorted(names - dropped)) for names in of_node], bool(dropped)


def _gpu_types(held: Held, places: _Places) -> tuple[list[str], list[str]]:
    """Return the GPU type of each node and the names of nodes where a job ran that does not accept it.

    It is the type that most jobs name that accept no other; where none does, the one that most jobs accept.
    """
    code, entries = pd.factorize(np.where(held.demand[:, GPU] > 0, held.gpu_types, ""))
    accepted = [sorted(gpu_type_names(str(entry))) for entry in entries]
    votes: dict[int, dict[str, int]] = {}
    asked: dict[int, list[list[str]]] = {}
    for node, entry, count in zip(*_pairs(places, code, max(len(entries), 1)), strict=True):
        if accepted[entry]:
            asked.setdefault(int(node), []).append(accepted[entry])
            of_node = votes.setdefault(int(node), {})
            for name in accepted[entry]:
                of_node[name] = of_node.get(name, 0) + int(count) * (len(code) + 1 if len(accepted[entry]) == 1 else 1)
    found = {node: max(sorted(of_node), key=lambda name: of_node[name]) for node, of_node in votes.items()}
    mixed = [places.names[node] for node, chosen in found.items() if any(chosen not in one for one in asked[node])]
    return [found.get(node, "")[:LONGEST_TYPE] for node in range(len(places.names))], mixed


def _notes(places: _Places, told: list[bool], mixed: list[str], left_out: bool) -> tuple[str, ...]:
    notes = []
    if not told[CPU]:
        notes.append("Cores are no limit: some jobs do not tell how many they used")
    if not told[MEM]:
        notes.append("Memory is no limit: some jobs do not tell how much they asked for")
    if left_out:
        notes.append("Partitions that share nodes with jobs without a partition are left out")
    if mixed:
        notes.append(f"Jobs of several GPU types ran on {named(mixed)}: the type of most jobs is taken")
    if places.wrong:
        notes.append(f"Host lists that could not be read, so that their nodes do not count: {places.wrong:,}")
    return tuple(notes)
