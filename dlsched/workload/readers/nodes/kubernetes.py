"""Nodes as ``kubectl get nodes,resourceflavors -o json`` prints them, else the GPU quotas of Kueue's queues."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dlsched.domain.errors import InputError
from dlsched.workload.cluster_from_log.found import ClusterFound, Node
from dlsched.workload.readers.kubernetes.objects import Object, is_host, objects, part, parts, word
from dlsched.workload.readers.kubernetes.quantities import amount, is_gpu
from dlsched.workload.readers.kubernetes.queue_objects import QueueObjects
from dlsched.workload.readers.kubernetes.quotas import cluster_of_quotas
from dlsched.workload.readers.nodes.told import found
from dlsched.workload.readers.source import TraceText

GIB = 2.0**30
TYPE_LABELS = (
    "nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "amd.com/gpu.product-name",
    "eks.amazonaws.com/instance-gpu-name", "accelerator",
)  # fmt: skip
CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")


def read_objects(text: TraceText, flavors: Mapping[str, Object] | None = None) -> ClusterFound | None:
    """Return the cluster of Kubernetes objects: nodes where there are some, else GPU quotas; None without both.

    Cores, memory and GPUs are what pods may use (allocatable), else the capacity. The GPU type is the name of the
    ResourceFlavor whose labels the node has, else the product that a label names. Nodes of the control plane, which
    jobs do not use, are left out. ``flavors``: ResourceFlavors known from elsewhere, name -> labels of their nodes.

    Raises
    ------
    InputError
        A node that cannot be, or a damaged file.
    """
    nodes, labels_of, down, control = dict[str, Node](), dict[str, Object](), list[str](), 0
    queues = QueueObjects(flavors=dict(flavors or {}))
    for line, item in objects(text):
        kind, name, spec = word(item, "kind"), word(part(item, "metadata"), "name"), part(item, "spec")
        if kind != "Node":
            queues.take(item)
            continue
        if any(word(taint, "key") in CONTROL_PLANE for taint in parts(spec, "taints")):
            control += 1
            continue
        if not is_host(name):
            why = f"{name[:80]!r} is no name of a node"
            raise InputError(f"file {text.name}, line {line}", why, "Export it again")
        nodes[name], labels_of[name] = _node(name, part(item, "status")), part(part(item, "metadata"), "labels")
        if not _is_ready(item):
            down.append(name)
    by_flavor = False
    for name, node in nodes.items():
        if node.gpus:
            labels = labels_of[name]
            own = _flavor(labels, queues.flavors)
            by_flavor |= bool(own)
            product = next((word(labels, label) for label in TYPE_LABELS if word(labels, label)), "")
            nodes[name] = node._replace(gpu_type=(own or product)[:60])
    if nodes:
        origin = {"cores": "allocatable cpu", "memory": "allocatable memory", "GPUs": "allocatable GPUs",
                  "GPU types": "names of the flavors" if by_flavor else "labels of the nodes"}  # fmt: skip
        notes = [f"Nodes left out, as they are the control plane: {control:,}"] if control else []
        if not by_flavor and any(node.gpu_type for node in nodes.values()):
            notes.append("Give kubectl get nodes,resourceflavors -o json: jobs name their GPU type by its flavor")
        return found("kubectl get nodes", nodes, origin, notes, down=down)
    quotas = queues.tree()
    return None if quotas is None else cluster_of_quotas(quotas.tree)


def _node(name: str, status: Object) -> Node:
    resources = part(status, "capacity") | part(status, "allocatable")
    amounts = {key: value for key in resources if not math.isnan(value := amount(word(resources, key)))}
    gpus = sum(value for key, value in amounts.items() if is_gpu(key))
    memory = amounts.get("memory")
    return Node(name, amounts.get("cpu"), None if memory is None else memory / GIB, int(min(gpus, 1e6)))


def _flavor(labels: Object, flavors: Mapping[str, Object]) -> str:
    """Return the flavor with the most labels, all of which the node has; nothing if none has any."""
    fitting = [(len(wanted), name) for name, wanted in flavors.items() if wanted and wanted.items() <= labels.items()]
    return max(fitting, default=(0, ""), key=lambda one: one[0])[1]


def _is_ready(item: Object) -> bool:
    states = {word(one, "type"): word(one, "status") for one in parts(part(item, "status"), "conditions")}
    cordoned = word(part(item, "spec"), "unschedulable").lower() == "true"
    return not cordoned and states.get("Ready", "True") == "True"
