"""Scenarios as values: hashes."""

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.workload import Workload


def test_hashes_are_those_of_earlier_versions():
    """A store keeps scenarios by their hash: what is new in the model and not set must not change it."""
    vm = VmType(name="n", gpus=8, cpus=64.0, usd_per_h=2.0)
    jobs = Workload.from_columns({"job_id": ["a"], "submit_s": [0.0], "work": [10.0]})
    given = Scenario(jobs, Cluster(pools=(Pool(vm=vm, count=2),)), SimulationRules(), SpeedSpec(kind="scaling"))
    assert given.content_hash == "38119cb22a0b3fb1f5531cf1c433060c"
    assert given.replace(speed=SpeedSpec(kind="scaling", updates="async")).content_hash == given.content_hash
    with_disk = Cluster(pools=(Pool(vm=vm.model_copy(update={"disk_gib": 100.0}), count=2),))
    assert given.replace(cluster=with_disk).content_hash != given.content_hash
    both = [SpeedSpec(kind="parameter-server", updates=updates) for updates in ("sync", "async")]
    assert len({given.replace(speed=speed).content_hash for speed in both}) == 2


def test_a_copy_of_a_cluster_has_its_own_table_of_nodes():
    cluster = Cluster(pools=(Pool(vm=VmType(name="n", gpus=8), count=2),))
    assert len(cluster.nodes.vm) == 2
    copy = cluster.model_copy(update={"pools": (Pool(vm=VmType(name="m", gpus=4), count=5),)})
    assert copy.nodes.capacity[:, 0].tolist() == [4] * 5
    assert cluster.nodes.capacity[:, 0].tolist() == [8] * 2
