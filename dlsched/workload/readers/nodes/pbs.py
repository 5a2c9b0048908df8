"""Nodes as PBS Professional, OpenPBS and TORQUE print them: ``pbsnodes -a``, ``pbsnodes -a -F json``."""

from __future__ import annotations

import re
from typing import Any

from dlsched.workload.cluster_from_log.found import ClusterFound, Node, joined
from dlsched.workload.readers.nodes.slurm import amount
from dlsched.workload.readers.nodes.told import found
from dlsched.workload.readers.source import TraceText, json_object

GIB = {"b": 2.0**-30, "kb": 2.0**-20, "mb": 2.0**-10, "gb": 1.0, "tb": 2.0**10, "": 2.0**-30}
DOWN = ("down", "offline", "unknown", "stale", "provision", "maintenance")
_SIZE = re.compile(r"(\d{1,15})\s*([kmgt]?b)?", re.IGNORECASE)
_PHYSICAL = re.compile(r"physmem=([0-9a-z]+)", re.IGNORECASE)


def read_pbsnodes(text: TraceText) -> ClusterFound:
    """Return the cluster of ``pbsnodes -a``: a name, then its attributes on indented lines."""
    fields: dict[str, dict[str, str]] = {}
    name = ""
    for line in text.data.decode().splitlines():
        if line and not line[0].isspace():
            name = line.strip()
        elif name and "=" in line:
            key, _, value = line.partition("=")
            fields.setdefault(name, {}).setdefault(key.strip().lower(), value.strip())
    return _found(fields)


def read_pbsnodes_json(text: TraceText) -> ClusterFound:
    """Return the cluster of ``pbsnodes -a -F json``."""
    listed = json_object(text, "Print it again").get("nodes")
    fields = {}
    for name, item in (listed if isinstance(listed, dict) else {}).items():
        own: dict[str, Any] = item if isinstance(item, dict) else {}
        there = own.get("resources_available")
        pairs = own | {f"resources_available.{k}": v for k, v in (there if isinstance(there, dict) else {}).items()}
        fields[name] = {key.lower(): str(value)[:1000] for key, value in pairs.items() if not isinstance(value, dict)}
    return _found(fields)


def _found(fields: dict[str, dict[str, str]]) -> ClusterFound:
    nodes, down = dict[str, Node](), list[str]()
    for name, own in fields.items():
        there = {key.removeprefix("resources_available."): value for key, value in own.items()}
        cores = amount(there.get("ncpus") or there.get("np") or there.get("pcpus"))
        physical = _PHYSICAL.search(own.get("status", ""))
        mem_gib = _gib(there.get("mem") or (physical[1] if physical else ""))
        gpus = int(min(amount(there.get("ngpus") or there.get("gpus")), 1e6))
        model = (there.get("accelerator_model") or there.get("gpu_model") or there.get("gpu_type") or "").strip()[:60]
        queues = there.get("queue") or there.get("qlist") or ""
        nodes[name] = Node(name, cores or None, mem_gib or None, gpus, model if gpus else "", joined(queues.split(",")))
        if any(word in own.get("state", "").lower() for word in DOWN):
            down.append(name)
    origin = {"cores": "ncpus or np", "memory": "mem or physmem", "GPUs": "ngpus or gpus"}
    if any(node.partitions for node in nodes.values()):
        origin["partitions"] = "queue"
    return found("pbsnodes", nodes, origin, down=down)


def _gib(text: str) -> float:
    match = _SIZE.match(text.strip())
    return float(match[1]) * GIB[(match[2] or "").lower()] if match else 0.0
