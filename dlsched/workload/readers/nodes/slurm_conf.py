"""Nodes and partitions of a ``slurm.conf``; slurm.conf(5)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dlsched.domain.errors import InputError
from dlsched.workload.cluster_from_log.found import ClusterFound, Node, joined, named
from dlsched.workload.readers.nodes.slurm import amount, gib_of, is_down
from dlsched.workload.readers.nodes.told import Names, found
from dlsched.workload.readers.slurm.tres import parse_gres
from dlsched.workload.readers.source import TraceText

_PAIR = re.compile(r'(\w+)\s*=\s*("[^"]*"|\S*)')
_INCLUDE = re.compile(r"include\s+(\S+)", re.IGNORECASE)
Fields = dict[str, str]


def read_slurm_conf(text: TraceText) -> ClusterFound:
    r"""Return the cluster of a slurm.conf: its node lines, with the partitions that list them.

    Lines named DEFAULT hold for those below them, ``\`` joins lines, NodeSets are followed by nodes or features.
    Nodes with State=FUTURE do not exist yet and are left out.

    Raises
    ------
    InputError
        A file that is included, a node list that cannot be read, no nodes.
    """
    defaults: dict[str, Fields] = {"nodename": {}, "partitionname": {}}
    nodes, features, down, future = dict[str, Node](), dict[str, set[str]](), list[str](), list[str]()
    sets: dict[str, Fields] = {}
    names = Names()
    lists: list[tuple[str, str]] = []  # partition, its nodes
    for fields in _lines(text):
        kind = next((key for key in ("nodename", "partitionname", "nodeset") if key in fields), "")
        if not kind:
            continue
        name = fields[kind]
        if kind == "nodeset":
            sets[name] = fields
        elif name.upper() == "DEFAULT":
            defaults[kind] |= fields
        elif kind == "partitionname":
            lists.append((name, (defaults[kind] | fields).get("nodes", "")))
        else:
            line = defaults[kind] | fields
            for node in names(name):
                nodes[node] = _node(node, line)
                features[node] = set(line.get("feature", line.get("features", "")).split(","))
                state = line.get("state", "")
                if state.upper() == "FUTURE":
                    future.append(node)
                elif is_down(state):
                    down.append(node)
    nodes = {name: node for name, node in nodes.items() if name not in set(future)}
    of_node: dict[str, list[str]] = {name: [] for name in nodes}
    for partition, listed in lists:
        for name in _members(listed, nodes, sets, features, names):
            if name in of_node:
                of_node[name].append(partition)
    nodes = {name: node._replace(partitions=joined(of_node[name])) for name, node in nodes.items()}
    origin = {"cores": "CPUs or Sockets x CoresPerSocket x ThreadsPerCore", "memory": "RealMemory", "GPUs": "Gres"}
    if lists:
        origin["partitions"] = "PartitionName"
    notes = [f"Left out, as they do not exist yet (State=FUTURE): {named(future)}"] if future else []
    return found("slurm.conf", nodes, origin, notes, down=down, needs_partition=True)


def _lines(text: TraceText) -> Iterator[Fields]:
    """Yield the pairs of each line by lower-case key, without comments and with continued lines joined."""
    plain = re.sub(r"(?m)(?<!\\)#.*$", "", text.data.decode())
    for line in plain.replace("\r\n", "\n").replace("\\\n", " ").split("\n"):
        if include := _INCLUDE.match(line.strip()):
            why = f"it includes {include[1][:80]!r}, which is not in it"
            do = "Put that file in place of the line, or give scontrol show nodes -o"
            raise InputError(f"file {text.name}", why, do)
        yield {key.lower(): value.strip('"') for key, value in _PAIR.findall(line)}


def _node(name: str, line: Fields) -> Node:
    cores = amount(line.get("cpus", line.get("procs")))
    if not cores:
        sockets = amount(line.get("sockets", line.get("socketsperboard", "1"))) * (amount(line.get("boards")) or 1)
        cores = sockets * (amount(line.get("corespersocket")) or 1) * (amount(line.get("threadspercore")) or 1)
    mib = amount(line.get("realmemory")) - amount(line.get("memspeclimit"))
    gres = parse_gres(line.get("gres", ""))
    return Node(name, cores, gib_of(mib), int(min(gres.gpus, 1e6)), gres.gpu_types)


def _members(
    listed: str, nodes: dict[str, Node], sets: dict[str, Fields], features: dict[str, set[str]], names: Names
) -> Iterator[str]:
    """Yield the nodes that a partition lists: by name, through a set, or ALL."""
    if listed.upper() == "ALL":
        yield from nodes
        return
    for name in names(listed):
        if name not in sets:
            yield name
            continue
        own = sets[name]
        if feature := own.get("feature"):
            yield from (node for node in nodes if feature in features[node])
        yield from names(own.get("nodes", ""))
