"""Descriptions of a cluster, recognised by content: node lists of published traces, and what schedulers print."""

from __future__ import annotations

from pathlib import Path

from dlsched.domain.errors import InputError
from dlsched.workload.cluster_from_log import ClusterFound
from dlsched.workload.readers import alibaba_spot, openb
from dlsched.workload.readers.formats import Head
from dlsched.workload.readers.source import open_trace

TABLES = {
    "an openb node list": (openb.NODE_COLUMNS, openb.read_openb_nodes),
    "an Alibaba spot node list": (alibaba_spot.NODE_COLUMNS, alibaba_spot.read_spot_nodes),
}


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
    raise InputError(
        f"file {text.name}",
        "it describes no cluster that is known",
        "Give `scontrol show nodes -o`, slurm.conf, `sinfo -N`, `pbsnodes -a` or a node list",
    )
