"""Kueue's queues as a tree of quotas: defaults of the API, deprecated values, what is ignored, hostile lists."""

import contextlib
import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dlsched.cli.main import main
from dlsched.domain.errors import InputError
from dlsched.domain.queue_lookup import QueueNames
from dlsched.domain.queue_tree import MOST_QUEUES, Queue
from dlsched.workload.load import scenario_of
from dlsched.workload.readers import ReadOptions, read_queues, read_trace
from dlsched.workload.readers.kubernetes.quotas import cluster_of_quotas
from tests.unit.workload.readers.kubernetes.test_nodes import flavor, node
from tests.unit.workload.readers.kubernetes.test_workloads import ran

SHARED = Path(__file__).resolve().parents[5].parent / "shared" / "data"
SAMPLES, REAL = SHARED / "queues" / "samples", SHARED / "real" / "kueue"


def obj(kind, name, spec=None, version="v1beta2", **meta):
    api = f"kueue.x-k8s.io/{version}"
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, **meta}, "spec": spec or {}}


def gpus(flavor="a100", nominal="8", resource="nvidia.com/gpu", **limits):
    return {"name": flavor, "resources": [{"name": resource, "nominalQuota": nominal, **limits}]}


def queue(name, *flavors, version="v1beta2", **spec):
    return obj("ClusterQueue", name, {"resourceGroups": [{"flavors": list(flavors)}], **spec}, version)


def read(*items):
    return read_queues([json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()])


def notes(found, words):
    return [note for note in found.notes if words in note]


def test_what_is_left_out_has_the_default_of_the_api():
    found = read(queue("q", gpus()))
    assert found.tree.tree["q"] == Queue(quota=({"flavor": "a100", "nominal": 8},))
    assert found.tree.cohorts == {}
    assert notes(found, "no ResourceFlavor")
    assert notes(found, "fair sharing is off and that resources")


def test_every_rule_and_both_versions():
    spec = {
        "queueingStrategy": "StrictFIFO", "fairSharing": {"weight": "500m"},
        "preemption": {"withinClusterQueue": "LowerOrNewerEqualPriority", "reclaimWithinCohort": "LowerPriority",
                       "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 100}},
        "flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "Preempt",
                              "preference": "PreemptionOverBorrowing"},
        "admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"},
    }  # fmt: skip
    limits = {"borrowingLimit": "4", "lendingLimit": "0"}
    old = read(queue("q", gpus(**limits), version="v1beta1", cohort="c", **spec), obj("Cohort", "c", {"parent": "top"}))
    new = read(queue("q", gpus(**limits), cohortName="c", **spec), obj("Cohort", "c", {"parentName": "top"}))
    assert old.tree == new.tree
    one = new.tree.tree["q"]
    assert one == Queue(
        parent="c", weight=0.5, strategy="strict", within="lower-or-newer-equal", reclaim="lower",
        while_borrowing="lower", while_borrowing_below=100, when_can_borrow="next", when_can_preempt="stop",
        preference="preempt", order="usage", quota=({"flavor": "a100", "nominal": 8, "borrow": 4, "lend": 0},),
    )  # fmt: skip
    assert (new.tree.cohorts["c"].parent, new.tree.cohorts["top"].parent) == ("top", None)
    assert notes(new, "although weights are set")


def test_amounts_and_groups():
    cpu = {"name": "any", "resources": [
        {"name": "cpu", "nominalQuota": "1500m"}, {"name": "memory", "nominalQuota": "3Ti"},
        {"name": "ephemeral-storage", "nominalQuota": "1e9"}, {"name": "pods", "nominalQuota": "9"}]}  # fmt: skip
    both = {"name": "a100", "resources": [
        {"name": "nvidia.com/gpu", "nominalQuota": "8", "borrowingLimit": "1"},
        {"name": "nvidia.com/mig-1g.5gb", "nominalQuota": "7", "borrowingLimit": "2"}]}  # fmt: skip
    spec = {"resourceGroups": [{"flavors": [cpu]}, {"flavors": [both, gpus("h100", "4")]}]}
    found = read(obj("ClusterQueue", "q", spec))
    assert [(q.flavor, q.resource, q.nominal, q.borrow, q.group) for q in found.tree.tree["q"].quota] == [
        ("any", "cpus", 1.5, None, 0), ("any", "mem_gib", 3072, None, 0), ("any", "disk_gib", 1e9 / 2**30, None, 0),
        ("a100", "gpus", 15, 3, 1), ("h100", "gpus", 4, None, 1),
    ]  # fmt: skip
    assert notes(found, "Quotas of other resources, ignored: pods (1)")


def test_cores_in_a_group_without_gpus_count_for_jobs_on_any_gpu():
    cores = {"name": "a100", "resources": [{"name": "cpu", "nominalQuota": "400"}]}
    spec = {"resourceGroups": [{"flavors": [cores]}, {"flavors": [gpus("h100")]}]}
    found = read(obj("ClusterQueue", "q", spec), queue("other", gpus("a100")))
    assert [(one.flavor, one.resource) for one in found.tree.tree["q"].quota] == [
        ("a100 (no GPUs)", "cpus"), ("h100", "gpus"),
    ]  # fmt: skip
    assert notes(found, "Quotas in groups without GPUs count on all nodes; these flavors are renamed: a100")
    both = {"name": "a100", "resources": [*gpus()["resources"], {"name": "cpu", "nominalQuota": "8"}]}
    shared = read(obj("ClusterQueue", "q", spec), queue("other", both))
    assert shared.tree.tree["q"].quota[0].flavor == "a100"


def test_what_is_ignored_is_named():
    found = read(
        queue("q", gpus(nominal="1Gi"), admissionChecks=["provision"], stopPolicy="Hold",
              namespaceSelector={"matchLabels": {"team": "a"}}),
        queue("lost", gpus("h100")), queue("empty"), flavor("a100"),
        obj("LocalQueue", "old", {"clusterQueue": "gone"}, namespace="ns"),
        obj("Topology", "rack"), {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}},
    )  # fmt: skip
    assert found.tree.tree["lost"].quota == ()
    assert notes(found, "ClusterQueue lost is inactive, so its jobs cannot start: no ResourceFlavor h100")
    assert notes(found, "1Gi = 1,073,741,824 GPUs: ClusterQueue q: nominalQuota 1Gi")
    assert notes(found, "point to no ClusterQueue: 1 (ns/old -> gone)")
    for what in ("admission checks", "stopPolicy", "namespaceSelector"):
        assert notes(found, f"Ignored: {what} of 1 queues (q)")
    assert notes(found, "Other objects, ignored: 1 Topology, 1 Secret")


def test_local_queues_weigh_by_namespace():
    usage = {"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}

    def local(name, space, weight=None):
        share = {"fairSharing": {"weight": weight}} if weight else {}
        return obj("LocalQueue", name, {"clusterQueue": "q", **share}, namespace=space)

    found = read(queue("q", gpus(), **usage), local("x", "a", "2"), local("y", "a", "2"), local("x", "b"),
                 local("x", "c", "3"), local("y", "c"))  # fmt: skip
    assert found.tree.tree["q"].local == {"a": 2}
    assert notes(found, "with different weights count alike: q")
    assert found.queue_of["a/x"] == "q"


def test_a_cohort_may_have_the_name_of_a_queue():
    found = read(queue("team", gpus(), cohortName="team"), obj("Cohort", "team", {"parentName": "all"}))
    assert found.tree.tree["team"].parent == "team (cohort)"
    assert found.tree.cohorts["team (cohort)"].parent == "all"


@pytest.mark.parametrize(("items", "words"), [
    ([], "there is no ClusterQueue"),
    ([queue("q", gpus(), queueingStrategy="Random")], "'Random' is no value we know"),
    ([queue("q", gpus(nominal="many"))], "nominalQuota 'many' is no amount"),
    ([queue("q", gpus(nominal="1e30"))], "less than or equal"),
    ([queue("q", fairSharing={"weight": "NaN"})], "fairSharing.weight 'NaN' is no amount"),
    ([queue("q" * 200)], "at most 120"),
    ([queue("q"), *(obj("Cohort", a, {"parentName": b}) for a, b in ("ab", "bc", "cb"))], "b -> c -> b form a circle"),
    ([queue("q"), *(obj("Cohort", f"c{i}", {"parentName": f"c{i + 1}"}) for i in range(1900))], "deeper than 100"),
    ([queue(f"q{i}") for i in range(MOST_QUEUES + 1)], "more than 2,000 ClusterQueues"),
])  # fmt: skip
def test_one_clear_message(items, words):
    with pytest.raises(InputError, match=words):
        read(*items)


def kai(name, parent=None, **resources):
    spec = {"resources": resources, "priority": 2, **({"parentQueue": parent} if parent else {})}
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def test_queues_of_kai():
    everything = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    found = read(
        kai("department", gpu={"quota": 16, "limit": -1}),
        kai("a", "department", gpu={"quota": 8, "limit": 12, "overQuotaWeight": 3}, cpu=everything),
        kai("b", "department", gpu={"quota": "4"}, memory={"quota": 2**30 / 1e6 * 64, "limit": -1}),
    )
    tree = found.tree
    assert tree.rule == "kai"
    assert tree.cohorts["department"].quota[0].nominal == 16
    assert {name: [(q.resource, q.nominal, q.borrow) for q in queue.quota] for name, queue in tree.tree.items()} == {
        "a": [("gpus", 8, 4)], "b": [("gpus", 4, 0), ("mem_gib", pytest.approx(64), None)],
    }  # fmt: skip
    assert (tree.tree["a"].weight, tree.tree["a"].level, tree.tree["a"].parent) == (3, 2, "department")
    assert notes(found, "Quota -1, so not counted: a: cpu")
    stand_in = cluster_of_quotas(tree)
    assert stand_in is not None
    assert (stand_in.cluster.num_gpus, stand_in.cluster.pools[0].vm.gpu_type) == (16, "GPU")
    assert notes(found, "No limit is stated, which is 0 in KAI, so nothing above the quota: b: gpu")
    with pytest.raises(InputError, match=r"gpu\.quota 'many' is no number"):
        read(kai("a", gpu={"quota": "many"}))
    with pytest.raises(InputError, match="a -> b -> a form a circle"):
        read(kai("a", "b"), kai("b", "a"), kai("c"))


JSON = st.recursive(st.none() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3), max_leaves=5)
KEYS = ["cohort", "cohortName", "resourceGroups", "preemption", "flavorFungibility", "fairSharing", "admissionScope"]


@given(st.dictionaries(st.sampled_from(KEYS), JSON))
def test_any_queue_gives_a_tree_or_one_message(broken):
    with contextlib.suppress(InputError):
        assert "q" in read(obj("ClusterQueue", "q", broken)).tree.tree


def test_jobs_and_queues_in_one_file_and_apart():
    things = [
        queue("vision", gpus(nominal="20")),
        obj("LocalQueue", "team", {"clusterQueue": "vision"}, namespace="ns"),
    ]
    both = json.dumps([ran("a"), *things]).encode()
    jobs, queues = json.dumps([ran("a")]).encode(), yaml.safe_dump_all(things).encode()
    one = scenario_of(read_trace(both, "a"), "s")
    two = scenario_of(read_trace(jobs, "a", ReadOptions(queues=(queues,))), "s")
    assert one.queues is not None
    assert one.queues == two.queues
    assert one.cluster == two.cluster
    assert one.cluster.num_gpus == 20
    assert one.workload.group is not None
    assert [QueueNames(one.queues).of(name) for name in one.workload.group] == ["vision"]


def test_nodes_beside_the_queues_take_their_flavors():
    things = [queue("vision", gpus(nominal="20")), flavor("a100", pool="train")]
    nodes = json.dumps([node("n1")]).encode()
    queues = json.dumps(things).encode()
    jobs = json.dumps([ran("a")]).encode()
    apart = read_trace(jobs, "a", ReadOptions(queues=(queues,), cluster=nodes))
    together = read_trace(json.dumps([node("n1"), ran("a"), *things]).encode(), "a")
    for found in (apart, together):
        assert found.cluster is not None
        assert [pool.vm.gpu_type for pool in found.cluster.cluster.pools] == ["a100"]


@pytest.mark.skipif(not SAMPLES.exists(), reason="the sample queues are not on this machine")
def test_the_samples(capsys):
    queues, jobs = SAMPLES / "queues.yaml", SAMPLES / "workloads.json"
    assert main(["import", "--check", "--json", str(jobs), "--queues", str(queues)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["report"]["kept"] == 13
    assert {pool["vm"]["gpu_type"]: pool["count"] for pool in told["cluster"]["pools"]} == {"a100": 8, "h100": 4}
    assert main(["simulate", str(jobs), "--queues", str(queues), "--policy", "queue-tree", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["completed"] == 13
    tree = read_queues([queues.read_bytes()]).tree
    assert set(tree.tree) == {"vision", "language", "search", "ads"}
    assert tree.cohorts["research"].parent == "company"
    assert tree.tree["language"].while_borrowing_below == 100


@pytest.mark.skipif(not REAL.exists(), reason="the real queues are not on this machine")
def test_real_queues():
    found = read_queues([path.read_bytes() for path in sorted(REAL.glob("*.yaml"))])
    assert found.tree.tree["emergency-cluster-queue"].reclaim == "any"
    assert found.tree.tree["unused-cluster-queue"].quota == ()
    assert notes(found, "1Gi = 1,073,741,824 GPUs")
    assert notes(found, "1 PyTorchJob")
