"""Whatever the cluster, the options and the jobs: the audit is clean, and nobody waits who could run alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.policy import PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.policies.elastic_queueing import ELASTIC
from dlsched.sim.prepare import prepare
from tests.support.conformance_scenarios import engine_log
from tests.support.elastic_scenarios import elastic_scenarios
from tests.support.endings import check_ending
from tests.support.scenarios import scenarios

every_elastic = pytest.mark.parametrize("spec", ELASTIC, ids=lambda spec: spec.key)


@every_elastic
@settings(max_examples=60)
@given(drawn=scenarios())
def test_any_scenario_ends_with_clean_books(spec: PolicySpec, drawn: Scenario):
    prepared = prepare(drawn)
    check_ending(prepared, engine_log(spec, prepared))


def as_one_node(drawn: Scenario) -> Scenario:
    """Return the same jobs on one node with all the GPUs: no room is scattered there."""
    (pool,) = drawn.cluster.pools
    vm = pool.vm.model_copy(update={"gpus": pool.vm.gpus * pool.count})
    return drawn.replace(cluster=Cluster(pools=(Pool(vm=vm, count=1),)))


@every_elastic
@settings(max_examples=40)
@given(drawn=elastic_scenarios())
def test_one_large_node_runs_jobs_as_many_small_ones_do(spec: PolicySpec, drawn: Scenario):
    """The placement rule has no say on one node, so that both ways must hand out the same."""
    if drawn.cluster.pools[0].vm.gpus > 1:
        drawn = drawn.replace(workload=drawn.workload.with_columns(gpus_per_worker=np.ones(len(drawn.workload))))
        drawn = drawn.replace(
            cluster=Cluster(pools=(Pool(vm=VmType(name="one", gpus=1), count=drawn.cluster.num_nodes),))
        )
    small, large = (engine_log(spec, prepare(given)) for given in (drawn, as_one_node(drawn)))
    for name in ("piece_row", "piece_start_s", "piece_end_s", "piece_workers", "job_status"):
        assert getattr(small, name).tolist() == pytest.approx(getattr(large, name).tolist(), rel=1e-9), name
