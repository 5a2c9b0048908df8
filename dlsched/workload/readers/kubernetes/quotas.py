"""GPU quotas as a cluster: a stand-in where the nodes themselves are not known."""

from __future__ import annotations

import math

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.queue_lookup import granted
from dlsched.domain.queue_tree import ALL_FLAVORS, QueueTree
from dlsched.workload.cluster_from_log.found import ClusterFound

GPUS_PER_NODE = 8
MOST_GPUS = 100_000
ORIGIN = {
    "nodes": "nominal GPU quota, put on nodes of 8 GPUs",
    "GPUs": "sum over queues and cohorts",
    "GPU types": "names of the flavors",
}
NOTES = (
    "Quota is not nodes: give kubectl get nodes,resourceflavors -o json, or enter how many nodes there are, and their "
    "GPUs, cores and memory",
)


def cluster_of_quotas(tree: QueueTree) -> ClusterFound | None:
    """Return nodes of 8 GPUs for the nominal GPU quota of each flavor, summed over queues and cohorts.

    Quota is not nodes: what is granted may be more or less than there is, and how many GPUs a node has is our
    assumption, as no object says it. What is left over of a flavor makes one smaller node. GPU type = name of the
    flavor. CPUs and memory are not stated. None if no queue has quota for GPUs.

    Raises
    ------
    InputError
        More GPUs of a flavor than a cluster can have, such as ``1Gi``.
    """
    pools = []
    for flavor, amount in sorted(granted(tree, "gpus").items()):
        gpus, gpu_type = math.ceil(amount), "GPU" if flavor == ALL_FLAVORS else flavor
        if gpus > MOST_GPUS:
            raise InputError(
                f"flavor {flavor[:60]}", f"its quota is {gpus:,} GPUs; the limit of a cluster is {MOST_GPUS:,}",
                "Correct nominalQuota, or give the nodes too",
            )  # fmt: skip
        for count, of in ((gpus // GPUS_PER_NODE, GPUS_PER_NODE), (1, gpus % GPUS_PER_NODE)):
            if count and of:
                vm = VmType(name=f"{gpu_type[:50]} quota, {of} GPUs", gpu_type=gpu_type[:80], gpus=of)
                pools.append(Pool(vm=vm, count=count))
    return ClusterFound(Cluster(pools=tuple(pools)), "GPU quotas of queues", ORIGIN, NOTES) if pools else None
