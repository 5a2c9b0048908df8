"""Descriptions of a cluster, recognised by content: node lists of published traces, and what schedulers print."""

from __future__ import annotations

from pathlib import Path

from dlsched.domain.errors import InputError
from dlsched.workload.cluster_from_log import ClusterFound
from dlsched.workload.readers import alibaba_spot, openb
from dlsched.workload.readers.formats import Head
from dlsched.workload.readers.kubernetes.objects import looks_like_objects
from dlsched.workload.readers.kubernetes.quotas import cluster_of_flavors
from dlsched.workload.readers.source import open_trace

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
    head = Head(text.data)
    for label, (columns, read) in TABLES.items():
        if {column.replace("_", "") for column in columns} <= {column.replace("_", "") for column in head.columns}:
            return ClusterFound(read(text), label)
    if looks_like_objects(head) and (quotas := cluster_of_flavors(text)) is not None:
        return ClusterFound(quotas, "GPU quotas of Kueue", QUOTA_ORIGIN, QUOTA_NOTES)
    raise InputError(
        f"file {text.name}",
        "it describes no cluster that is known",
        "Give `scontrol show nodes -o`, slurm.conf, `sinfo -N`, `pbsnodes -a` or a node list",
    )
