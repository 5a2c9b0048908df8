"""Kubernetes nodes as a cluster: allocatable amounts, flavors as GPU types, what is left out."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.workload.readers import ReadOptions, read_cluster, read_trace

A100 = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "pool": "train"}


def node(name, allocatable=None, labels=None, ready="True", **spec):
    amounts = {"cpu": "95500m", "memory": "1000Gi", "nvidia.com/gpu": "8"} if allocatable is None else allocatable
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": A100 if labels is None else labels},
        "spec": spec,
        "status": {
            "capacity": {"cpu": "96", "memory": "1024Gi", "pods": "110"},
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": ready}],
        },
    }


def flavor(name, **labels):
    spec = {"nodeLabels": labels} if labels else {}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}


CONTROL = [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]
NODES = [
    node("gpu-1"), node("gpu-2", unschedulable=True), node("gpu-3", ready="Unknown"),
    node("cpu-1", {"cpu": "32"}, labels={}), node("head", taints=CONTROL),
]  # fmt: skip


def read(*items):
    return read_cluster(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode(), "nodes.json")


def kinds(found):
    return [(p.nodes, p.vm.gpus, p.vm.gpu_type, p.vm.cpus, p.vm.mem_gib) for p in found.cluster.pools]


def test_nodes():
    found = read(*NODES)
    assert kinds(found) == [
        ("cpu-1", 0, "", 32, 1024),
        ("gpu-[1-3]", 8, "NVIDIA-A100-SXM4-80GB", 95.5, 1000),
    ]
    assert found.source == "kubectl get nodes"
    assert any("control plane: 1" in note for note in found.notes)
    assert any("gpu-2" in note and "gpu-3" in note for note in found.notes)
    assert any("jobs name their GPU type by its flavor" in note for note in found.notes)


def test_flavors_name_the_gpu_types():
    found = read(*NODES, flavor("any"), flavor("pool", pool="train"), flavor("spot", pool="train", spot="yes"),
                 flavor("a100", pool="train", **{"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}))  # fmt: skip
    assert [kind[2] for kind in kinds(found)] == ["", "a100"]
    assert found.origin["GPU types"] == "names of the flavors"
    assert not any("by its flavor" in note for note in found.notes)


def test_nodes_come_before_quotas_and_are_no_jobs():
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "q"}, "spec": {
        "resourceGroups": [{"flavors": [{"name": "a100", "resources": [{"name": "nvidia.com/gpu",
                                                                        "nominalQuota": "99"}]}]}]}}  # fmt: skip
    assert read(queue, *NODES).cluster.num_gpus == 24
    assert read(queue).cluster.num_gpus == 99
    with pytest.raises(InputError, match="can be given as the cluster beside them"):
        read_trace(json.dumps(NODES).encode(), "nodes.json", ReadOptions())


def test_nodes_that_cannot_be():
    for wrong in ({"cpu": "1e30"}, {"nvidia.com/gpu": "5000"}, {"nvidia.com/gpu": "-1"}):
        with pytest.raises(InputError):
            read(node("n", wrong))
    with pytest.raises(InputError):
        read(node("n[1-9999]"))
    with pytest.raises(InputError):
        read(node(""))


JSON = st.recursive(st.none() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3), max_leaves=5)


@given(st.dictionaries(st.sampled_from(["metadata", "spec", "status", "name"]), JSON))
def test_any_node_gives_a_cluster_or_one_message(broken):
    with contextlib.suppress(InputError):
        assert read(node("n"), {**node("m"), **broken}).cluster.num_nodes >= 1
