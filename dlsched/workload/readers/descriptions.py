"""Descriptions of a cluster, recognised by content: node lists of published traces, and what schedulers print."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from dlsched.domain.errors import InputError
from dlsched.workload.cluster_from_log import ClusterFound
from dlsched.workload.readers import alibaba_spot, openb
from dlsched.workload.readers.formats import Head
from dlsched.workload.readers.kubernetes.objects import Object, looks_like_objects
from dlsched.workload.readers.nodes.kubernetes import read_objects
from dlsched.workload.readers.nodes.pbs import read_pbsnodes, read_pbsnodes_json
from dlsched.workload.readers.nodes.slurm import read_scontrol, read_scontrol_json, read_sinfo
from dlsched.workload.readers.nodes.slurm_conf import read_slurm_conf
from dlsched.workload.readers.registry import find_format
from dlsched.workload.readers.source import TraceText, guarded, open_trace

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
WAY_OUT = (
    "Give `scontrol show nodes -o`, slurm.conf, `sinfo -N`, `pbsnodes -a`, `kubectl get nodes -o json` or a node list"
)
TABLES = {
    "an openb node list": (openb.NODE_COLUMNS, openb.read_openb_nodes),
    "an Alibaba spot node list": (alibaba_spot.NODE_COLUMNS, alibaba_spot.read_spot_nodes),
}


@guarded
def read_cluster(source: Path | bytes, name: str = "", flavors: Mapping[str, Object] | None = None) -> ClusterFound:
    """Return the cluster that a file describes.

    ``flavors``: ResourceFlavors known from elsewhere, name -> labels of their nodes; they name the GPU types.

    Raises
    ------
    InputError
        No known description, or one with a mistake.
    """
    text = open_trace(source, name)
    head = Head(text.data)
    if looks_like_objects(head):  # large, as each node lists its images; read one by one
        if (told := read_objects(text, flavors)) is not None:
            return told
        raise InputError(f"file {text.name}", "it has neither nodes nor GPU quotas", WAY_OUT)
    if len(text.data) > MOST_BYTES:
        raise InputError(f"file {text.name}", f"it has more than {MOST_BYTES // 10**6} MB", WAY_OUT)
    for key, read_nodes in PRINTED.items():
        if not text.is_parquet and find_format(key).signs(head) is not None:
            return read_nodes(text)
    if not text.is_parquet and head.lines and all(line.count("|") == SINFO_BARS for line in head.lines):
        return read_sinfo(text)
    for label, (columns, read) in TABLES.items():
        if {column.replace("_", "") for column in columns} <= {column.replace("_", "") for column in head.columns}:
            return ClusterFound(read(text), label)
    raise InputError(f"file {text.name}", "it describes no cluster that is known", WAY_OUT)
