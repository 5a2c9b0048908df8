"""Descriptions of a cluster, recognised by content: node lists of published traces, and what schedulers print."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dlsched.domain.errors import InputError
from dlsched.workload.cluster_from_log import ClusterFound
from dlsched.workload.readers import alibaba_spot, openb
from dlsched.workload.readers.formats import Head
from dlsched.workload.readers.kubernetes.objects import looks_like_objects
from dlsched.workload.readers.kubernetes.quotas import cluster_of_flavors
from dlsched.workload.readers.nodes.pbs import read_pbsnodes, read_pbsnodes_json
from dlsched.workload.readers.nodes.slurm import read_scontrol, read_scontrol_json, read_sinfo
from dlsched.workload.readers.nodes.slurm_conf import read_slurm_conf
from dlsched.workload.readers.registry import find_format
from dlsched.workload.readers.source import TraceText, open_trace

PRINTED: dict[str, Callable[[TraceText], ClusterFound]] = {
    "slurm-nodes": read_scontrol,
    "slurm-conf": read_slurm_conf,
    "sinfo": read_sinfo,
    "slurm-json-nodes": read_scontrol_json,
    "pbsnodes": read_pbsnodes,
    "pbsnodes-json": read_pbsnodes_json,
}
MOST_BYTES = 20_000_000
SINFO_BARS = 6
"""Bars of a line of sinfo without its header line."""
WAY_OUT = "Give `scontrol show nodes -o`, slurm.conf, `sinfo -N`, `pbsnodes -a` or a node list"
TABLES = {
    "an openb node list": (openb.NODE_COLUMNS, openb.read_openb_nodes),
    "an Alibaba spot node list": (alibaba_spot.NODE_COLUMNS, alibaba_spot.read_spot_nodes),
}
QUOTA_ORIGIN = {
    "nodes": "nominal GPU quota, put on nodes of 8 GPUs",
    "GPUs": "sum over ClusterQueues and Cohorts",
    "GPU types": "names of the flavors",
}
QUOTA_NOTES = ("Quota is not nodes: enter how many nodes there are, and their GPUs, cores and memory",)


def read_cluster(source: Path | bytes, name: str = "") -> ClusterFound:
    """Return the cluster that a file describes.

    Raises
    ------
    InputError
        No known description, or one with a mistake.
    """
    text = open_trace(source, name)
    if len(text.data) > MOST_BYTES:
        raise InputError(f"file {text.name}", f"it has more than {MOST_BYTES // 10**6} MB", WAY_OUT)
    head = Head(text.data)
    for key, read_nodes in PRINTED.items():
        if not text.is_parquet and find_format(key).signs(head) is not None:
            return read_nodes(text)
    if not text.is_parquet and head.lines and all(line.count("|") == SINFO_BARS for line in head.lines):
        return read_sinfo(text)
    for label, (columns, read) in TABLES.items():
        if {column.replace("_", "") for column in columns} <= {column.replace("_", "") for column in head.columns}:
            return ClusterFound(read(text), label)
    if looks_like_objects(head) and (quotas := cluster_of_flavors(text)) is not None:
        return ClusterFound(quotas, "GPU quotas of Kueue", QUOTA_ORIGIN, QUOTA_NOTES)
    raise InputError(f"file {text.name}", "it describes no cluster that is known", WAY_OUT)
