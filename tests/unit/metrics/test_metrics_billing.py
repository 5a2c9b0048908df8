"""Shares of a node's bill: by hand, and shares + idle = bill for any run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.workload import Workload
from dlsched.metrics.billing import Bill
from dlsched.metrics.run_facts import RunFacts
from dlsched.metrics.summary import summarise
from dlsched.sim.log import PieceEnd
from tests.support.logs import Ran, facts_inputs


def facts(columns, cluster: Cluster, pieces, **options) -> RunFacts:
    count = len(columns["gpus_per_worker"])
    names = [f"j{number}" for number in range(count)]
    given_columns = {"job_id": names, "submit_s": [0.0] * count, "work": [100.0] * count, **columns}
    return RunFacts(
        *facts_inputs(Scenario(Workload.from_columns(given_columns), cluster, SimulationRules(**options)), pieces)
    )


def bill_of(columns, cluster: Cluster, pieces) -> Bill:
    bill = facts(columns, cluster, pieces).bill
    assert bill is not None
    return bill


def node(gpus: int, **vm) -> Cluster:
    return Cluster(pools=(Pool(vm=VmType(name="n", gpus=gpus, usd_per_h=3600.0, **vm), count=1),))


def test_jobs_that_share_a_node_pay_by_gpus_in_use_and_not_by_its_size():
    # $1/s. 0-10: job 0 alone on 8 GPUs' node pays all 10; 10-20: 1 of 4 GPUs in use; 20-30: job 1 alone
    pieces = [Ran(0, 0, 20, {0: 1}), Ran(1, 10, 30, {0: 3})]
    bill = bill_of({"gpus_per_worker": [1.0, 1.0]}, node(8), pieces)
    assert list(bill.job_usd) == pytest.approx([10 + 2.5, 7.5 + 10])
    assert bill.idle_usd == pytest.approx(0)
    # Of 8 GPUs, 1 for 20 s and 3 for 20 s are held; 80 of 8 x 30 GPU-seconds, so a third of the $30
    assert list(bill.own_usd) == pytest.approx([20 / 8, 60 / 8])
    assert bill.spare_usd == pytest.approx(20)


def test_fractional_gpus():
    # 0.1 + 0.2 of a GPU: a third and two thirds, and the node is empty afterwards although 0.1 + 0.2 - 0.3 is not 0
    pieces = [Ran(0, 0, 10, {0: 1}), Ran(1, 0, 10, {0: 1}), Ran(2, 20, 30, {0: 1})]
    bill = bill_of({"gpus_per_worker": [0.1, 0.2, 0.3]}, node(1), pieces)
    assert list(bill.job_usd) == pytest.approx([10 / 3, 20 / 3, 10])
    assert bill.idle_usd == pytest.approx(10)


def test_on_cpu_nodes_the_dominant_resource_counts():
    # 8 CPUs, 100 GiB. Job 0: 4 CPUs, 10 GiB -> 0.5; job 1: 1 CPU, 25 GiB -> 0.25: two thirds and one third
    columns = {"gpus_per_worker": [0.0, 0.0], "cpus_per_worker": [4.0, 1.0], "mem_gib_per_worker": [10.0, 25.0]}
    bill = bill_of(columns, node(0, cpus=8, mem_gib=100), [Ran(0, 0, 9, {0: 1}), Ran(1, 0, 9, {0: 1})])
    assert list(bill.job_usd) == pytest.approx([6, 3])
    # Cores count: 4 and 1 of 8 for 9 s at $1/s; 3 of 8 cores are spare
    assert list(bill.own_usd) == pytest.approx([4.5, 1.125])
    assert bill.spare_usd == pytest.approx(9 * 3 / 8)


def test_on_a_node_that_states_no_cores_memory_counts_and_without_it_nothing_is_spare():
    columns = {"gpus_per_worker": [0.0], "cpus_per_worker": [4.0], "mem_gib_per_worker": [25.0]}
    of_memory = bill_of(columns, node(0, mem_gib=100), [Ran(0, 0, 8, {0: 1})])
    assert [*of_memory.own_usd, of_memory.spare_usd] == pytest.approx([2.0, 6.0])
    of_nothing = bill_of(columns, node(0), [Ran(0, 0, 8, {0: 1})])
    assert [*of_nothing.own_usd, of_nothing.spare_usd] == pytest.approx([8.0, 0.0])


def test_among_gpu_nodes_a_cpu_node_counts_its_cores():
    # $1/s each: 2 of 8 GPUs and 3 of 4 cores for 8 s; the CPU job holds no GPU of its node and all of its cores count
    columns = {"gpus_per_worker": [2.0, 0.0], "cpus_per_worker": [1.0, 3.0]}
    kinds = [VmType(name="g", gpus=8, cpus=32, usd_per_h=3600.0), VmType(name="c", gpus=0, cpus=4, usd_per_h=3600.0)]
    cluster = Cluster(pools=tuple(Pool(vm=kind, count=1) for kind in kinds))
    bill = bill_of(columns, cluster, [Ran(0, 0, 8, {0: 1}), Ran(1, 0, 8, {1: 1})])
    assert list(bill.own_usd) == pytest.approx([2.0, 6.0])
    assert bill.spare_usd == pytest.approx(6.0 + 2.0)


def test_a_cpu_job_beside_gpu_jobs_pays_nothing_and_alone_pays_all():
    columns = {"gpus_per_worker": [1.0, 0.0], "cpus_per_worker": [1.0, 1.0]}
    bill = bill_of(columns, node(8), [Ran(0, 0, 10, {0: 1}), Ran(1, 5, 20, {0: 1})])
    assert list(bill.job_usd) == pytest.approx([10, 10])


def test_restarts_and_gpu_hours_without_jobs():
    # $1/s, 4 GPUs. Job 0 holds 2 GPUs for 20 s and gets on from second 5 on: a quarter of its $10 is a restart.
    # 30 s up = 120 GPU-seconds, 40 held.
    pieces = [Ran(0, 0, 20, {0: 2}, progress_from_s=5.0), Ran(1, 30, 30, {0: 1})]
    inputs = facts_inputs(
        Scenario(
            Workload.from_columns({"job_id": ["a", "b"], "submit_s": [0.0, 0.0], "work": [15.0, 1.0]}),
            node(4),
            SimulationRules(restart_s=5.0),
        ),
        pieces,
        end_s=30.0,
    )
    metrics = summarise(*inputs)
    assert metrics["restart_cost"] == pytest.approx(2.5)
    assert metrics["spare_cost"] == pytest.approx(10)
    assert metrics["idle_cost"] == pytest.approx(10)
    assert metrics["gpu_hours_idle"] == pytest.approx(80 / 3600)


def test_no_price_no_bill():
    cluster = Cluster(pools=(Pool(vm=VmType(name="n", gpus=1), count=1),))
    assert facts({"gpus_per_worker": [1.0]}, cluster, [Ran(0, 0, 10, {0: 1})]).bill is None


times = st.floats(0, 1e6, allow_nan=False)


@st.composite
def runs(draw):
    """Any overlapping pieces on three nodes, with GPUs, parts of GPUs and CPU jobs, prices and absences."""
    count = draw(st.integers(1, 6))
    gpus = draw(st.lists(st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 1.0, 8.0]), min_size=count, max_size=count))
    columns = {"gpus_per_worker": gpus, "cpus_per_worker": [1.0 + g for g in gpus]}
    pieces = []
    for row in range(count):
        at_s = 0.0
        for _ in range(draw(st.integers(1, 3))):
            start_s = at_s + draw(times)
            at_s = start_s + draw(times)
            on = draw(st.dictionaries(st.integers(0, 2), st.integers(1, 4), min_size=1, max_size=3))
            pieces.append(Ran(row, start_s, at_s, on, draw(st.sampled_from([PieceEnd.PREEMPTED, PieceEnd.MOVED]))))
    kinds = [
        VmType(name="g", gpus=8, usd_per_h=draw(st.floats(0, 100))),
        VmType(name="c", gpus=0, cpus=9, usd_per_h=1.0),
    ]
    pools = (Pool(vm=kinds[0], count=2), Pool(vm=kinds[1], count=1))
    billing = draw(st.sampled_from(["second", "hour"]))
    end_s = max(piece.end_s for piece in pieces)
    away = [Absence(node=1, start_s=end_s * 2 + 1, end_s=None)]
    return columns, Cluster(pools=pools, absences=tuple(away)), pieces, billing, end_s


@given(runs())
def test_shares_and_idle_add_up_to_the_bill(run):
    columns, cluster, pieces, billing, end_s = run
    count = len(columns["gpus_per_worker"])
    jobs = Workload.from_columns(
        {"job_id": [str(n) for n in range(count)], "submit_s": np.zeros(count), "work": np.ones(count), **columns}
    )
    inputs = facts_inputs(Scenario(jobs, cluster, SimulationRules(billing=billing)), pieces, end_s=end_s)
    opened, metrics = RunFacts(*inputs), summarise(*inputs)
    assert opened.bill is not None
    assert (opened.bill.job_usd >= -1e-9).all()
    idle_usd = metrics["idle_cost"]
    assert idle_usd is not None
    assert float(opened.bill.job_usd.sum()) + idle_usd == pytest.approx(metrics["vm_cost"], rel=1e-9, abs=1e-9)


def test_shares_that_hold_nothing_pay_in_equal_parts_and_nothing_beside_others():
    # Parameter servers without a demand: alone on the node each pays half; beside cores in use they pay nothing
    columns = {"gpus_per_worker": [0.0] * 3, "cpus_per_worker": [1.0, 1.0, 2.0]}
    pieces = [Ran(0, 0, 30, {0: 0}), Ran(1, 0, 30, {0: 0}), Ran(2, 10, 20, {0: 1})]
    bill = bill_of(columns, node(0, cpus=8.0), pieces)
    assert list(bill.job_usd) == pytest.approx([10, 10, 10])
    assert bill.idle_usd == 0
