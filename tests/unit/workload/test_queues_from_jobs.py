"""Queues made of groups: quotas that add up to the nodes, peak use, the rest in one queue."""

import numpy as np
import pytest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.queue_lookup import QueueNames
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.workload.queues_from_jobs import MOST_QUEUES, amounts_of_flavors, tree_of_groups


def scenario_of(groups, gpus, work, types=("A100",)):
    count = len(groups)
    jobs = Workload.from_columns(
        {"job_id": [f"j{i}" for i in range(count)], "submit_s": np.arange(count) * 10.0, "work": work, "workers": gpus,
         "group": np.array(groups, dtype=object)}
    )  # fmt: skip
    pools = tuple(Pool(vm=VmType(name=f"n {kind}", gpu_type=kind, gpus=8), count=2) for kind in types)
    return Scenario(workload=jobs, cluster=Cluster(pools=pools), name="s")


def nominal(tree):
    return {name: [quota.nominal for quota in queue.quota] for name, queue in tree.tree.items()}


TWO = scenario_of(["a", "b", "b"], [2, 4, 4], [300.0, 100.0, 100.0])


def test_shares_add_up_to_the_nodes():
    tree = tree_of_groups(TWO, "group", "use")  # 600 and 800 GPU-seconds: 6.86 and 9.14 of 16
    assert nominal(tree) == {"b": [9], "a": [7]}
    assert nominal(tree_of_groups(TWO, "group", "equal")) == {"b": [8], "a": [8]}
    assert tree.map == "group"
    assert tree.unmapped == "error"
    assert {queue.parent for queue in tree.tree.values()} == {"everyone"}


def test_peak_use_is_what_jobs_would_hold_if_none_waited():
    assert nominal(tree_of_groups(TWO, "group", "peak")) == {"b": [8], "a": [2]}


def test_each_gpu_type_is_divided():
    both = scenario_of(["a", "b"], [1, 1], [100.0, 100.0], types=("A100", "H100"))
    assert amounts_of_flavors(both.cluster, "gpus") == {"A100": 16, "H100": 16}
    assert nominal(tree_of_groups(both, "group", "equal")) == {"a": [8, 8], "b": [8, 8]}


def test_jobs_without_a_group_share_a_queue():
    some = scenario_of(["a", "", "others"], [1, 1, 1], [100.0, 50.0, 80.0])
    tree = tree_of_groups(some, "group", "equal")
    assert list(tree.tree) == ["a", "others", "others (rest)"]
    assert QueueNames(tree).of("") == "others (rest)"
    many = scenario_of([f"g{i}" for i in range(100)], [1] * 100, [float(i + 1) for i in range(100)])
    tree = tree_of_groups(many, "group", "use")
    assert len(tree.tree) == MOST_QUEUES
    assert QueueNames(tree).of("g0") == "others"
    assert sum(amount[0] for amount in nominal(tree).values()) == 16


def test_what_cannot_be_divided():
    with pytest.raises(InputError, match="have no user"):
        tree_of_groups(TWO, "user", "use")
