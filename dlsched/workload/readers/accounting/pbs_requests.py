"""What a PBS job asks for: ``nodes=2:ppn=8:gpus=4`` (TORQUE), ``select=2:ncpus=8:ngpus=4:mem=16gb`` (PBS Pro)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

from dlsched.workload.readers.accounting.hosts import Hosts, exec_hosts, whole
from dlsched.workload.readers.accounting.rows import NOT_TOLD, REPEATED, number

GPUS = ("ngpus", "gpus", "gpu")
CORES = ("ncpus", "ppn")
GPU_TYPES = ("gpu_type", "gpu_model", "accelerator_model")
KEYS = (
    "exec_host", "exec_vnode", "exec_gpus", *(f"Resource_List.{name}" for name in (
        "select", "nodes", "nodect", "neednodes", "ncpus", "mem", "pmem", *GPUS)),
)  # fmt: skip
ASKED = ("select", "nodes", "nodect", "neednodes", *GPUS)
_GIB_PER = {"b": 2.0**-30, "k": 2.0**-20, "m": 2.0**-10, "g": 1.0, "t": 2.0**10, "p": 2.0**20, "": 2.0**-30}
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)([kmgtp]?)([bw]?)", re.IGNORECASE | re.ASCII)
BYTES_PER_WORD = 8


class Chunks(NamedTuple):
    """Sums over the parts of a request; 0 or NaN where none tells. ``types`` are GPU types asked for."""

    nodes: int = 0
    gpus: float = 0.0
    cores: float = 0.0
    mem_gib: float = NOT_TOLD
    types: str = ""


class Request(NamedTuple):
    """What a job holds: GPUs, nodes, cores and memory together, and the names of its nodes."""

    gpus: float
    nodes: float
    cores: float
    mem_gib: float
    hosts: str
    gpu_types: str
    remarks: tuple[str, ...]


def chunks_of(text: str) -> Chunks:
    """Return the sums of ``count:name=value:...+...``; a part without a count, or with a node name, counts once.

    ``exec_vnode`` is read too: ``(node1:ncpus=8:ngpus=2)+(node2:ncpus=8)``. ValueError for counts that cannot be read.
    """
    nodes, gpus, cores, memory, types = 0, 0.0, 0.0, list[float](), set[str]()
    for part in text.split("+") if text else ():
        first, *rest = part.strip("()").split(":")
        head = first.partition("#")[0]
        count = whole(head) if head.isdecimal() else 1
        asked = dict(item.partition("=")[::2] for item in (first, *rest) if "=" in item)
        nodes += count
        gpus += count * next((number(asked[name]) for name in GPUS if name in asked), 0.0)
        cores += count * next((number(asked[name]) for name in CORES if name in asked), 0.0)
        if "mem" in asked:
            memory.append(count * size_gib(asked["mem"]))
        types |= {asked[name] for name in GPU_TYPES if name in asked}
    return Chunks(nodes, gpus, cores, sum(memory) if memory else NOT_TOLD, "|".join(sorted(types)))


def size_gib(text: str) -> float:
    """Return GiB of ``16gb``, ``190000128kb``, ``100mw`` (words of 8 bytes) or bytes; ValueError for anything else."""
    size = _SIZE.fullmatch(text)
    if not size:
        raise ValueError(text)
    return float(size[1]) * _GIB_PER[size[2].lower()] * (BYTES_PER_WORD if size[3].lower() == "w" else 1)


def kept_requests() -> Callable[[tuple[str, ...]], Request]:
    """Return :func:`request_of` for one log: requests that repeat are read once."""
    return lru_cache(REPEATED)(partial(request_of, chunks_of=lru_cache(REPEATED)(chunks_of)))


def request_of(values: tuple[str, ...], chunks_of: Callable[[str], Chunks] = chunks_of) -> Request:
    """Return what a job with these values of KEYS holds; ValueError where a count cannot be read.

    What was given stands before what was asked for: cores and nodes come from ``exec_host``, else ``exec_vnode``,
    else the request. GPUs are the total PBS Pro keeps (ngpus), else those of select, nodes, ``Resource_List.gpus``,
    ``exec_vnode``, ``exec_gpus``; neednodes comes last, as it can be older than the rest.
    """
    given = dict(zip(KEYS, values, strict=True))
    listed = {name: given[f"Resource_List.{name}"] for name in ASKED}
    nodect = Chunks(whole(listed["nodect"])) if listed["nodect"].isdecimal() else chunks_of(listed["nodect"])
    vnodes, need = chunks_of(given["exec_vnode"]), chunks_of(listed["neednodes"])
    asked = chunks_of(listed["select"]) if listed["select"] else chunks_of(listed["nodes"])
    hosts, remarks = _hosts(given)
    nodes = hosts.nodes or nodect.nodes or asked.nodes or need.nodes or 1
    cores = next((float(found) for found in (
        hosts.cores, vnodes.cores, asked.cores, nodect.cores, need.cores) if found), 0.0)  # fmt: skip
    if not cores and given["Resource_List.ncpus"]:
        cores = number(given["Resource_List.ncpus"])
    totals = [number(listed["ngpus"] or "0"), asked.gpus, number(listed["gpus"] or listed["gpu"] or "0"), nodect.gpus,
              vnodes.gpus, float(len([gpu for gpu in given["exec_gpus"].split("+") if gpu]))]  # fmt: skip
    totals = [total for total in totals if total]
    if len(set(totals)) > 1:
        remarks.append("gpus-differ")
    if hosts.nodes and not hosts.even and not totals:
        remarks.append("uneven")
    memory = size_gib(given["Resource_List.mem"]) if given["Resource_List.mem"] else vnodes.mem_gib
    memory = asked.mem_gib if math.isnan(memory) else memory
    if math.isnan(memory) and given["Resource_List.pmem"]:
        memory = size_gib(given["Resource_List.pmem"]) * (cores or nodes)
    return Request(totals[0] if totals else need.gpus, nodes, cores or float(nodes), memory, hosts.names,
                   asked.types, tuple(remarks))  # fmt: skip


def _hosts(given: dict[str, str]) -> tuple[Hosts, list[str]]:
    """Return the hosts of ``exec_host``, else of ``exec_vnode`` without its cores."""
    text = given["exec_host"]
    if not text:
        vnodes = [part.strip("()").partition(":")[0].partition("[")[0] for part in given["exec_vnode"].split("+")]
        text = "+".join(f"{name}/0*0" for name in vnodes if name)
    if not text:
        return Hosts(), []
    try:
        hosts = exec_hosts(text)
    except ValueError:
        return Hosts(), ["hosts"]
    return hosts, ["renamed"] if hosts.renamed else []
