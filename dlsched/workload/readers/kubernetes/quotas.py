"""GPU quotas of Kueue as a cluster: a stand-in where the nodes themselves are not known."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.workload.readers.kubernetes.objects import Object, objects, part, parts, word
from dlsched.workload.readers.kubernetes.quantities import amount, is_gpu
from dlsched.workload.readers.source import TraceText

GPUS_PER_NODE = 8
MOST_GPUS = 100_000


def cluster_of_flavors(text: TraceText) -> Cluster | None:
    """Return nodes of 8 GPUs for the nominal GPU quota of each flavor, summed over ClusterQueues and Cohorts.

    Quota is not nodes: what is granted may be more or less than there is, and how many GPUs a node has is our
    assumption, as no object says it. What is left over of a flavor makes one smaller node. GPU type = name of the
    flavor. CPUs and memory are not stated.

    Parameters
    ----------
    text
        ClusterQueues, Cohorts and others as kubectl prints them, JSON or YAML.

    Returns
    -------
    Cluster or None
        None if no queue has quota for GPUs.

    Raises
    ------
    InputError
        Damaged, or a quota that is no count of GPUs (such as ``1Gi``).
    """
    total: Counter[str] = Counter()
    for line, item in objects(text):
        if word(item, "kind") in ("ClusterQueue", "Cohort"):
            where = f"file {text.name}, line {line}, {word(item, 'kind')} {word(part(item, 'metadata'), 'name')[:60]}"
            for flavor, gpus in _gpu_quotas(item, where):
                total[flavor] += gpus
    pools = []
    for flavor, gpus in sorted(total.items()):
        if gpus > MOST_GPUS:
            raise InputError(f"flavor {flavor[:60]}", f"its quota is {gpus:,} GPUs; the limit is {MOST_GPUS:,}",
                             "Correct nominalQuota")  # fmt: skip
        for count, of in ((gpus // GPUS_PER_NODE, GPUS_PER_NODE), (1, gpus % GPUS_PER_NODE)):
            if count and of:
                vm = VmType(name=f"{flavor[:50]} quota, {of} GPUs", gpu_type=flavor[:80], gpus=of)
                pools.append(Pool(vm=vm, count=count))
    return Cluster(pools=tuple(pools)) if pools else None


def _gpu_quotas(item: Object, where: str) -> Iterator[tuple[str, int]]:
    """Yield (flavor, nominal GPUs) of one queue or cohort."""
    for group in parts(part(item, "spec"), "resourceGroups"):
        for flavor in parts(group, "flavors"):
            for resource in parts(flavor, "resources"):
                if not is_gpu(word(resource, "name")):
                    continue
                nominal = word(resource, "nominalQuota")
                gpus = amount(nominal or "0")
                if math.isnan(gpus) or gpus < 0 or gpus != int(gpus) or nominal.endswith("i"):
                    raise InputError(
                        where, f"its GPU quota {nominal[:30]!r} is no count of GPUs", "Correct nominalQuota"
                    )
                yield word(flavor, "name"), int(gpus)
