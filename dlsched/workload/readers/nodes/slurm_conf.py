"""Nodes and partitions of a ``slurm.conf``; slurm.conf(5)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dlsched.domain.errors import InputError
from dlsched.domain.workload import partition_names
from dlsched.workload.cluster_from_log.found import ClusterFound, Node, joined, named
from dlsched.workload.readers.nodes.slurm import amount, features_entry, gib_of, is_down
from dlsched.workload.readers.nodes.told import Names, check_count, found
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
    nodes, down, future = dict[str, Node](), dict[str, None](), dict[str, None]()
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
            told, members = _node(name, line), names(name)
            nodes |= {node: told._replace(name=node) for node in members}
            check_count(len(nodes), "slurm.conf")
            state = line.get("state", "")
            if state.upper() == "FUTURE":
                future |= dict.fromkeys(members)
            elif is_down(state):
                down |= dict.fromkeys(members)
    nodes = {name: node for name, node in nodes.items() if name not in future}
    of_node: dict[str, list[str]] = {name: [] for name in nodes}
    for partition, listed in lists:
        for name in _members(listed, nodes, sets, names):
            if name in of_node:
                of_node[name].append(partition)
    nodes = {name: node._replace(partitions=joined(of_node[name])) for name, node in nodes.items()}
    origin = {"cores": "CPUs or Sockets x CoresPerSocket x ThreadsPerCore", "memory": "RealMemory", "GPUs": "Gres"}
    if lists:
        origin["partitions"] = "PartitionName"
    if any(node.features for node in nodes.values()):
        origin["features"] = "Feature"
    notes = [f"Left out, as they do not exist yet (State=FUTURE): {named(future)}"] if future else []
    return found("slurm.conf", nodes, origin, notes, down=list(down), needs_partition=True)


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
    features = features_entry(line.get("feature") or line.get("features", ""))
    return Node(name, cores, gib_of(mib), int(min(gres.gpus, 1e6)), gres.gpu_types, features=features)


def _members(listed: str, nodes: dict[str, Node], sets: dict[str, Fields], names: Names) -> Iterator[str]:
    """Yield the nodes that a partition lists: by name, through a set, or ALL."""
    if listed.upper() == "ALL":
        yield from names.count(nodes)
        return
    for name in names(listed):
        if name not in sets:
            yield name
            continue
        own = sets[name]
        if feature := own.get("feature"):
            yield from (name for name, node in names.count(nodes).items() if feature in partition_names(node.features))
        yield from names(own.get("nodes", ""))
