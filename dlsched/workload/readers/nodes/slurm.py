"""Nodes as Slurm prints them: ``scontrol show nodes`` (one line a node, or several, or JSON) and ``sinfo -N``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dlsched.domain.errors import InputError
from dlsched.workload.cluster_from_log.found import ClusterFound, Node, joined
from dlsched.workload.readers.nodes.told import Names, check_count, found
from dlsched.workload.readers.slurm.tres import Tres, parse_gres, parse_tres
from dlsched.workload.readers.source import TraceText, json_object

MIB_PER_GIB = 1024
LARGEST_GPUS = 1e6
DOWN = frozenset({"down", "drain", "drained", "draining", "fail", "failing", "error", "maint", "future", "inval"})
SINFO_COLUMNS = {
    "nodelist": "node", "hostnames": "node", "partition": "partition", "cpus": "cpus", "memory": "memory",
    "gres": "gres", "state": "state", "avail_features": "features", "active_features": "features",
}  # fmt: skip
_RECORD = re.compile(r"^[ \t]*NodeName=(\S+)", re.MULTILINE)
_FIELD = re.compile(r"(?:^|\s)(\w+)=(\S*)")
_FEATURE = re.compile(r"[\w.:=+@/-]{1,120}")
_DIGITS = re.compile(r"\d{1,12}(?:\.\d{1,6})?")


def read_scontrol(text: TraceText) -> ClusterFound:
    """Return the cluster of ``scontrol show nodes``, with ``-o`` or without.

    Cores are CPUEfctv, else those of CfgTRES, else CPUTot; memory is RealMemory less MemSpecLimit, else that of
    CfgTRES; GPUs are those of CfgTRES, else of Gres.
    """
    content = text.data.decode()
    nodes, down = dict[str, Node](), list[str]()
    for name, body in _records(content):
        field: dict[str, str] = {}
        for key, value in _FIELD.findall(body):
            field.setdefault(key, value)
        configured, gres = parse_tres(field.get("CfgTRES", "")), _gres(field.get("Gres", ""), text.name)
        cores = amount(field.get("CPUEfctv")) or configured.cpus or amount(field.get("CPUTot"))
        mib = amount(field.get("RealMemory")) - amount(field.get("MemSpecLimit")) or configured.mem_mib
        nodes[name] = Node(
            name, cores or None, gib_of(mib), int(configured.gpus or gres.gpus),
            gres.gpu_types or configured.gpu_types, joined(field.get("Partitions", "").split(",")),
            features_entry(field.get("ActiveFeatures") or field.get("AvailableFeatures", "")),
        )  # fmt: skip
        if is_down(field.get("State", "")):
            down.append(name)
    origin = {"cores": "CPUEfctv or CPUTot", "memory": "RealMemory", "GPUs": "CfgTRES or Gres"}
    if any(node.partitions for node in nodes.values()):
        origin["partitions"] = "Partitions"
    if any(node.features for node in nodes.values()):
        origin["features"] = "ActiveFeatures"
    return found("scontrol show nodes", nodes, origin, down=down, needs_partition=True)


def read_scontrol_json(text: TraceText) -> ClusterFound:
    """Return the cluster of ``scontrol show nodes --json``."""
    listed = json_object(text, "Print it again").get("nodes")
    nodes, down = dict[str, Node](), list[str]()
    for item in listed if isinstance(listed, list) else []:
        if not isinstance(item, dict) or not isinstance(name := item.get("name") or item.get("hostname"), str):
            continue
        gres = _gres(item.get("gres") if isinstance(item.get("gres"), str) else "", text.name)
        partitions = [one for one in _list(item.get("partitions")) if isinstance(one, str)]
        cores, mib = _number(item.get("effective_cpus")) or _number(item.get("cpus")), _number(item.get("real_memory"))
        listed_features = item.get("active_features") or item.get("features")
        features = listed_features if isinstance(listed_features, str) else ",".join(map(str, _list(listed_features)))
        nodes[name] = Node(
            name, cores or None, gib_of(mib), int(gres.gpus), gres.gpu_types, joined(partitions),
            features_entry(features),
        )  # fmt: skip
        state = item.get("state")
        if is_down("+".join(map(str, state)) if isinstance(state, list) else str(state)):
            down.append(name)
    origin = {"cores": "cpus", "memory": "real_memory", "GPUs": "gres", "partitions": "partitions"}
    return found("scontrol show nodes --json", nodes, origin, down=down, needs_partition=True)


def read_sinfo(text: TraceText) -> ClusterFound:
    """Return the cluster of ``sinfo -N -o "%N|%P|%c|%m|%G|%f|%T"``: a line for each node and partition.

    Without a header line the columns are those seven; other columns are found by their headings.
    """
    lines = [line.strip() for line in text.data.decode().splitlines() if line.strip()]
    first = [SINFO_COLUMNS.get(cell, "") for cell in _cells(lines[0].lower())] if lines else []
    has_header = "node" in first
    columns = first if has_header else ["node", "partition", "cpus", "memory", "gres", "features", "state"]
    what = f"file {text.name}"
    if "cpus" not in columns:
        do = 'Print it with sinfo -N -o "%N|%P|%c|%m|%G|%f|%T"'
        raise InputError(what, "it lacks the cores of each node", do)
    nodes, down, partitions, names = dict[str, Node](), dict[str, None](), dict[str, list[str]](), Names()
    for line in lines[has_header:]:
        row = dict(zip(columns, _cells(line), strict=False))
        gres, cores, mib = _gres(row.get("gres", ""), text.name), amount(row.get("cpus")), amount(row.get("memory"))
        features, members = features_entry(row.get("features", "")), names(row.get("node", ""))
        told = Node("", cores or None, gib_of(mib), int(gres.gpus), gres.gpu_types, features=features)
        nodes |= {name: told._replace(name=name) for name in members}
        check_count(len(nodes), "sinfo")
        for name in members:
            partitions.setdefault(name, []).append(row.get("partition", "").removesuffix("*"))
        if is_down(row.get("state", "")):
            down |= dict.fromkeys(members)
    nodes = {name: node._replace(partitions=joined(partitions[name])) for name, node in nodes.items()}
    origin = {"cores": "CPUS", "memory": "MEMORY", "GPUs": "GRES", "partitions": "PARTITION"}
    return found("sinfo", nodes, origin, down=list(down))


def is_down(state: str) -> bool:
    """Whether a state says that a node cannot be used now: "IDLE+DRAIN", "down*", "drained"."""
    return bool(DOWN & {word.rstrip("*~#!%$@^-") for word in state.lower().split("+")})


def features_entry(listed: str) -> str:
    """Return the features of a node, "a,b" or "(null)", as the entry of a cluster, "a|b"."""
    names = [name.strip() for name in listed.split(",")]
    return joined(name for name in names if _FEATURE.fullmatch(name))


def amount(text: str | None) -> float:
    """Return the number at the start of a text, "4+" for instance; 0 if there is none."""
    match = _DIGITS.match(text.strip()) if text else None
    return float(match[0]) if match else 0.0


def gib_of(mib: float) -> float | None:
    """Return memory in GiB; None if it is not told: Slurm then says 1 MiB."""
    return mib / MIB_PER_GIB if mib > 1 else None


def _records(content: str) -> Iterator[tuple[str, str]]:
    starts = list(_RECORD.finditer(content))
    ends = [match.start() for match in starts[1:]] + [len(content)]
    names = Names()
    for match, end in zip(starts, ends, strict=True):
        for name in names(match[1]):
            yield name, content[match.end() : end]


def _gres(text: str | None, source: str) -> Tres:
    found_gpus = parse_gres(text or "")
    if found_gpus.gpus > LARGEST_GPUS:
        raise InputError(f"file {source}", f"a node has {found_gpus.gpus:g} GPUs in {text!r:.60}", "Correct it")
    return found_gpus


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in (line.split("|") if "|" in line else line.split())]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any) -> float:
    number = value.get("number") if isinstance(value, dict) else value
    if isinstance(number, bool) or not isinstance(number, int | float):
        return 0.0
    return float(number) if 0 <= number <= 1e15 else 0.0
