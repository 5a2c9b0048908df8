"""The auditor finds what is wrong with leases of rented nodes."""

import dataclasses
import tracemalloc

import numpy as np
import pytest

from dlsched.domain.cluster import Cluster, Outage, Pool, Scaling, Terms, VmType
from dlsched.domain.scenario import Scenario
from dlsched.sim.audit import audit, check_metrics
from dlsched.sim.engine import run_engine
from dlsched.sim.prepare import prepare
from dlsched.studies.simulation import simulate
from dlsched.testing.scenarios import full_workload, scaling_nodes
from tests.support.sim_fakes import Fake, fifo_plan, jobs, scenario

VM = VmType(name="own", gpus=8)
RENTED = VM.model_copy(update={"name": "rented"})


def ran(kind: str = "on-demand", scaling: Scaling | None = None, **terms):
    """Return a prepared scenario and its log: one job on the owned node, one that needs a rented one from 5 to 65."""
    told = Terms(kind=kind, **{"boot_s": 10, "idle_timeout_s": 20} | terms)
    cluster = Cluster(pools=(Pool(vm=VM, count=1), Pool(vm=RENTED, count=1, terms=told)), scaling=scaling)
    prepared = prepare(scenario(jobs((0, 100, 8), (5, 30, 8)), cluster))
    return prepared, run_engine(prepared, Fake(fifo_plan))


def complaints(prepared, log, **changes) -> str:
    """Return what the auditor says of the log with these columns."""
    columns = {name: np.array(values, dtype=getattr(log, name).dtype) for name, values in changes.items()}
    return "\n".join(audit(prepared.scenario, prepared.truth, dataclasses.replace(log, **columns)))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"lease_node": [0]}, "node 0 is fixed and cannot be leased"),
        ({"lease_vm": [0]}, "is of VM type 0, but the node is of type 1"),
        ({"lease_start_s": [6]}, "on node 1, which is absent"),
        ({"lease_end_s": [40]}, "on node 1, which is absent"),
        ({"lease_end_s": [60]}, "is given back after 15 s without a job, not 20 s"),
        ({"lease_end_s": [90]}, "has no job in its last 45 s, more than 20 s"),
        ({"lease_start_s": [4]}, "begins though fewer than 1 jobs have waited 0 s"),
    ],
)
def test_a_lease_that_does_not_follow_the_terms_is_found(changes, says):
    prepared, log = ran()
    assert complaints(prepared, log) == ""
    assert says in complaints(prepared, log, **changes)


def test_a_node_that_is_rented_too_soon_is_found():
    prepared, log = ran(scaling=Scaling(wait_s=20))
    assert complaints(prepared, log) == ""
    assert log.lease_start_s.tolist() == [25]
    assert "have waited 20 s" in complaints(prepared, log, lease_start_s=[24])


def test_a_lease_that_outlives_its_eviction_is_found():
    prepared, log = ran("spot", evictions_per_h=120.0)
    assert complaints(prepared, log) == ""
    longer = log.lease_end_s.copy()
    longer[0] += 1
    assert "though the node is taken back at" in complaints(prepared, log, lease_end_s=longer)
    other = dataclasses.replace(prepared.truth, seed=1)
    assert audit(prepared.scenario, other, log) != []  # the evictions are those of the run's seed


def test_thousands_of_evictions_are_audited_in_little_memory():
    told = Terms(kind="spot", boot_s=0, idle_timeout_s=0, evictions_per_h=1000)
    prepared = prepare(scenario(jobs((0, 10_000, 8)), Cluster(pools=(Pool(vm=RENTED, count=1, terms=told),))))
    log = run_engine(prepared, Fake(fifo_plan))
    assert len(log.lease_node) > 2_500
    tracemalloc.start()
    assert complaints(prepared, log) == ""
    assert tracemalloc.get_traced_memory()[1] < 1_000 * len(log.lease_node)
    tracemalloc.stop()


def test_a_lease_in_an_outage_is_found():
    prepared, log = ran("spot", outages=(Outage(start_s=0, end_s=50),))
    assert log.lease_start_s.tolist() == [50]
    assert "begins in an outage" in complaints(prepared, log, lease_start_s=[49])


def test_giving_back_a_node_of_the_minimum_is_found():
    prepared, log = ran(min_nodes=1)
    assert complaints(prepared, log) == ""
    assert "which leaves 0 nodes of its pool, fewer than 1" in complaints(prepared, log, lease_end_s=[70])


def test_work_that_a_notice_saves_is_not_lost():
    told = Terms(kind="spot", boot_s=0, outages=(Outage(start_s=30, end_s=40),), notice_s=3)
    cluster = Cluster(pools=(Pool(vm=RENTED, count=1, terms=told),))
    prepared = prepare(scenario(jobs((0, 60, 8)), cluster, checkpoint_s=8))
    log = run_engine(prepared, Fake(fifo_plan))
    assert complaints(prepared, log) == ""
    assert "since its last checkpoint it did 3" in complaints(prepared, log, piece_lost_work=[6, 0])


def test_costs_by_kind_are_recomputed():
    done = simulate(Scenario(full_workload(), scaling_nodes()), "fifo")
    given = (done.prepared.scenario, done.truth, done.log)
    assert check_metrics(*given, done.metrics, done.jobs, done.nodes) == []
    for key in ("owned_cost", "reserved_cost", "on_demand_cost", "spot_cost"):
        wrong = done.metrics | {key: 1.01 * (done.metrics[key] or 0.0)}
        assert f"metric {key} is" in check_metrics(*given, wrong, done.jobs, done.nodes)[0]
