"""Nodes that are rented as jobs need them, by hand."""

import math

import numpy as np
import pytest

from dlsched.domain.cluster import Cluster, Outage, Pool, Scaling, Terms, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.plan import Plan, run_on
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.truth import eviction_after_s
from dlsched.policies.registry import find
from dlsched.sim import kernels
from dlsched.sim.audit import audit
from dlsched.sim.engine import run_engine
from dlsched.sim.log import PieceEnd, RunLog
from dlsched.sim.prepare import prepare
from dlsched.studies.simulation import resolve_policy, simulate
from dlsched.studies.sizing.sizes import sizes_of
from dlsched.testing.logs import first_difference
from dlsched.testing.scenarios import fixed_nodes, full_workload, scaling_nodes
from dlsched.wording.assumptions import is_random
from tests.support.sim_fakes import Fake, fifo_plan, jobs, pieces, scenario

DONE, LOST = PieceEnd.COMPLETED, PieceEnd.NODE_LOST


def pool(kind: str = "owned", count: int = 1, gpus: int = 8, usd: float = 1.0, name: str = "", **terms) -> Pool:
    """Return a pool; rented nodes boot in 10 s and are given back after 20 s unless told otherwise."""
    if kind in ("on-demand", "spot"):
        terms = {"boot_s": 10, "idle_timeout_s": 20} | terms
    told = None if kind == "owned" else Terms(kind=kind, **terms)
    return Pool(vm=VmType(name=name or kind, gpus=gpus, usd_per_h=usd), count=count, terms=told)


def run(workload, *pools: Pool, plan=fifo_plan, scaling: Scaling | None = None, **options) -> RunLog:
    """Return the log of a policy on these pools, which the auditor must pass."""
    prepared = prepare(scenario(workload, Cluster(pools=pools, scaling=scaling), **options))
    log = run_engine(prepared, Fake(plan))
    if not log.stalled:
        assert audit(prepared.scenario, prepared.truth, log) == []
    return log


def leases(log: RunLog) -> list[tuple[int, float, float]]:
    """Return node, start and end of each lease, to the microsecond."""
    columns = (log.lease_node, log.lease_start_s, log.lease_end_s)
    return sorted((int(node), round(start, 6), round(end, 6)) for node, start, end in zip(*columns, strict=True))


def test_a_node_is_rented_when_a_job_waits_and_given_back_when_idle():
    # a holds the owned node for 100 s; b needs one from 5 on: requested at 5, booted at 15, idle from 45, gone at 65
    log = run(jobs((0, 100, 8), (5, 30, 8)), pool(), pool("on-demand"))
    assert pieces(log, 1) == [(15, 45, 8, DONE)]
    assert leases(log) == [(1, 5, 65)]


def test_a_job_that_comes_in_time_keeps_the_node():
    # b ends at 45; c comes at 65, just when the node would go
    log = run(jobs((0, 100, 8), (5, 30, 8), (65, 10, 8)), pool(), pool("on-demand"))
    assert pieces(log, 2) == [(65, 75, 8, DONE)]
    assert leases(log) == [(1, 5, 95)]


def test_no_node_is_rented_for_a_job_that_fits():
    log = run(jobs((0, 100, 4), (5, 30, 4)), pool(), pool("on-demand"))
    assert leases(log) == []


def test_one_node_is_rented_for_jobs_that_share_it():
    log = run(jobs((0, 50, 8), (5, 30, 4), (5, 30, 4), (6, 30, 4)), pool(), pool("on-demand", count=3))
    assert [node for node, _, _ in leases(log)] == [1, 2]


def test_the_cheapest_per_gpu_comes_first_and_then_the_next():
    # by node the small one is cheaper, by GPU the large one
    small, large = pool("on-demand", gpus=4, usd=3.0, name="small"), pool("on-demand", usd=4.0, name="large")
    assert leases(run(jobs((0, 30, 4)), small, large)) == [(1, 0, 40)]
    assert leases(run(jobs((0, 30, 4)), small, large, scaling=Scaling(order="listed"))) == [(0, 0, 40)]
    assert [node for node, _, _ in leases(run(jobs((0, 30, 8), (0, 30, 4)), small, large))] == [0, 1]


def test_a_gang_is_spread_over_pools_and_no_node_leaves_before_the_last_has_booted():
    fast, slow = pool("on-demand", gpus=4, idle_timeout_s=0), pool("on-demand", name="slow", gpus=4, boot_s=60)
    log = run(jobs((0, 30, 8)), fast, slow)
    assert pieces(log, 0) == [(60, 90, 8, DONE)]
    assert leases(log) == [(0, 0, 90), (1, 0, 90)]


def test_jobs_wait_first_where_the_rule_says_so():
    # Starburst: b waits 50 s for the owned node before it is worth a rented one; c gets the owned node before that
    log = run(jobs((0, 80, 8), (5, 30, 8), (40, 5, 8)), pool(), pool("on-demand"), scaling=Scaling(wait_s=50))
    assert pieces(log, 1) == [(65, 95, 8, DONE)]
    assert pieces(log, 2) == [(80, 85, 8, DONE)]
    assert leases(log) == [(1, 55, 95)]


def test_a_queue_must_be_long_enough_unless_nothing_runs():
    rule = Scaling(queue_length=2)
    log = run(jobs((0, 100, 8), (5, 10, 8), (20, 10, 8)), pool(), pool("on-demand", count=2), scaling=rule)
    assert leases(log) == [(1, 20, 60), (2, 20, 60)]
    assert leases(run(jobs((0, 10, 8)), pool("on-demand"), scaling=rule)) == [(0, 0, 20)]


def test_a_minimum_is_kept_from_the_start_and_paid():
    log = run(jobs((0, 100, 8), (50, 10, 8)), pool(), pool("on-demand", count=2, min_nodes=1))
    assert pieces(log, 1) == [(50, 60, 8, DONE)]
    assert leases(log) == [(1, 0, 100)]


def test_spot_nodes_go_in_an_outage_and_come_back_after_it():
    out = (Outage(start_s=30, end_s=70),)
    log = run(jobs((0, 60, 8)), pool("spot", outages=out), checkpoint_s=8)
    # from 10 to 30, of which 16 s are saved; again from the end of the outage
    assert pieces(log, 0) == [(10, 30, 8, LOST), (80, 124, 8, DONE)]
    assert log.piece_lost_work.tolist() == [4, 0]
    assert leases(log) == [(0, 0, 30), (0, 70, 124)]


def test_a_notice_lets_jobs_save_their_work():
    spot = pool("spot", outages=(Outage(start_s=30, end_s=70),), notice_s=3)
    assert run(jobs((0, 60, 8)), spot, checkpoint_s=8).piece_lost_work.tolist() == [3, 0]
    longer = pool("spot", outages=(Outage(start_s=30, end_s=70),), notice_s=300)
    assert run(jobs((0, 60, 8)), longer, checkpoint_s=8).piece_lost_work.tolist() == [4, 0]


def test_spot_nodes_are_taken_back_after_an_exponential_time_of_the_seed():
    lasts_s = eviction_after_s(0, 0, 0, 60.0)
    log = run(jobs((0, 1000, 8)), pool("spot", evictions_per_h=60.0))
    assert leases(log)[0] == (0, 0, round(10 + lasts_s, 6))
    times_h = [eviction_after_s(seed, 3, 1, 0.25) / 3600 for seed in range(4000)]
    assert np.mean(times_h) == pytest.approx(4.0, rel=0.05)
    assert np.median(times_h) == pytest.approx(4.0 * math.log(2), rel=0.05)
    assert eviction_after_s(0, 0, 0, 0.0) == math.inf


def test_a_policy_that_starts_nothing_does_not_rent_for_ever():
    log = run(jobs((0, 10, 8)), pool("on-demand"), plan=lambda state: Plan())
    assert log.stalled
    assert len(leases(log)) <= 2


def test_a_policy_with_an_order_of_its_own_gets_room_for_whichever_job_it_puts_first():
    # last come, first served and strictly so: the wide job, which came last, needs both nodes
    def lifo(state):
        placer, starts = state.placer(), {}
        for row in reversed(state.waiting.tolist()):
            shares = placer.place(row, int(state.requested(np.array([row]))[0]))
            if shares is None:
                break
            starts[row] = run_on(shares)
        return Plan(starts)

    log = run(jobs((0, 10, 8), (0, 10, 16)), pool("on-demand", count=2), plan=lifo)
    assert not np.isnan(log.job_end_s).any()


@pytest.mark.parametrize("idle_timeout_s", [0, 5])
def test_slurm_holds_a_stopped_job_back_for_longer_than_idle_nodes_stay(idle_timeout_s: float):
    """Taken back at 50, the job may start again from 170 on, in passes every 30 s; its node has come and gone by then.

    The one requested once nothing else is due stays for the next pass.
    """
    spot = pool("spot", idle_timeout_s=idle_timeout_s, outages=(Outage(start_s=50, end_s=60),))
    prepared = prepare(scenario(jobs((0, 100, 8)), Cluster(pools=(spot,))))
    spec = find("slurm")
    log = run_engine(prepared, spec.build(spec.parse({})))
    assert not log.stalled
    assert audit(prepared.scenario, prepared.truth, log) == []
    assert [round(start, 6) for start, _, _, _ in pieces(log, 0)] == [10, 183]
    assert leases(log) == [(0, 0, 50), (0, 60, 70 + idle_timeout_s), (0, 171, 243)]


def test_nodes_of_the_last_attempt_go_when_a_job_has_started():
    """Jobs start at multiples of 50 s only, and nodes that nobody uses go after 20 s.

    Those requested at 50, as nothing else is due, stay until 100, when the narrow job starts; the wide one does not fit
    then.
    """

    def at_fifties(state):
        return Plan(wake_at_s=50 * math.ceil(state.now_s / 50)) if state.now_s % 50 else fifo_plan(state)

    log = run(jobs((0, 100, 2), (0, 10, 16)), pool("on-demand", count=3), plan=at_fifties)
    assert [piece[0] for row in (0, 1) for piece in pieces(log, row)] == [100, 300]
    unused = [(0, 0, 30), (1, 0, 30), (2, 0, 30)]
    assert leases(log) == sorted([*unused, (0, 50, 230), (1, 50, 100), (1, 200, 230), (0, 250, 310), (1, 250, 310)])


# ---- what is paid -------------------------------------------------------------------------------------


def paid(workload, *pools: Pool, **options) -> dict[str, float]:
    given = Scenario(workload, Cluster(pools=pools), SimulationRules(**options))
    done = simulate(given, "fifo", one_off=True)  # without a compiler
    assert done.audit() == []
    return {key: value or 0.0 for key, value in done.metrics.items() if key.endswith(("_cost", "allocation_ratio"))}


def test_cost_is_split_by_kind():
    work = jobs((0, 3600, 8), (0, 3600, 8), (0, 1800, 8), (0, 900, 8))
    found = paid(
        work, pool(usd=1.0), pool("reserved", usd=2.0), pool("on-demand", usd=8.0, boot_s=360),
        pool("spot", usd=4.0, boot_s=360, idle_timeout_s=540),
    )  # fmt: skip
    # both boot at once, and the third job takes the first: on demand 360 + 1800 + 20 s, spot 360 + 900 + 540 s
    assert found["owned_cost"] == pytest.approx(1.0)
    assert found["reserved_cost"] == pytest.approx(2.0)
    assert found["spot_cost"] == pytest.approx(4.0 * 1800 / 3600)
    assert found["on_demand_cost"] == pytest.approx(8.0 * 2180 / 3600)
    assert found["vm_cost"] == pytest.approx(3.0 + 2.0 + 8.0 * 2180 / 3600)
    assert found["allocation_ratio"] == pytest.approx(9900 / (7200 + 1820 + 1440))  # boots are paid, not available


def test_rented_hours_are_rounded_up_where_billing_is_by_the_hour():
    found = paid(jobs((0, 3600, 8), (0, 3000, 8)), pool(), pool("on-demand", usd=8.0, boot_s=600), billing="hour")
    assert found["on_demand_cost"] == pytest.approx(8.0)
    found = paid(jobs((0, 9000, 8), (0, 3000, 8)), pool(), pool("on-demand", usd=8.0, boot_s=601), billing="hour")
    assert found["on_demand_cost"] == pytest.approx(16.0)
    assert found["owned_cost"] == pytest.approx(3.0)  # 2.5 h


def test_reserved_nodes_are_paid_used_or_not():
    found = paid(jobs((0, 7200, 4)), pool(), pool("reserved", count=3, usd=2.0))
    assert found["reserved_cost"] == pytest.approx(12.0)


def test_a_cluster_that_is_all_reserved_runs_as_an_owned_one():
    work, owned = full_workload(), fixed_nodes(8, 8, 4)
    terms = Terms(kind="reserved")
    reserved = Cluster(pools=tuple(one.model_copy(update={"terms": terms}) for one in owned.pools))
    one, other = (simulate(Scenario(work, nodes), "fifo-skip", one_off=True) for nodes in (owned, reserved))
    assert first_difference(one.log, other.log) == ""
    told = {key: value for key, value in other.metrics.items() if key != "reserved_cost"}
    skipped = ("decision_cpu_s",)
    assert {k: v for k, v in told.items() if k not in skipped} == {
        k: v for k, v in one.metrics.items() if k not in skipped
    }
    assert other.metrics["reserved_cost"] == one.metrics["vm_cost"]


def test_nodes_that_boot_at_once_and_never_leave_run_as_owned_ones():
    work, owned = full_workload(), fixed_nodes(8, 8, 4)
    kept = Terms(kind="on-demand", boot_s=0, min_nodes=1)
    rented = Cluster(pools=tuple(one.model_copy(update={"terms": kept}) for one in owned.pools))
    one, other = (simulate(Scenario(work, nodes), "easy-backfill", one_off=True) for nodes in (owned, rented))
    for column in ("piece_row", "piece_start_s", "piece_end_s", "share_node", "share_workers", "job_end_s"):
        assert np.array_equal(getattr(one.log, column), getattr(other.log, column), equal_nan=True), column
    for key in ("vm_cost", "idle_cost", "spare_cost", "jct_mean", "allocation_ratio", "cost_month"):
        assert other.metrics[key] == pytest.approx(one.metrics[key]), key


def test_nodes_on_demand_that_boot_at_once_cost_what_rented_slots_cost():
    # jobs of whole machines under FIFO: a slot is rented from the start of a job to its end
    rng = np.random.default_rng(1)
    work = jobs(
        *zip(np.sort(rng.integers(0, 5000, 30)).tolist(), rng.integers(100, 3000, 30).tolist(), [8] * 30, strict=True)
    )
    vm = VmType(name="vm", gpus=8, usd_per_h=3.0)
    slots = simulate(Scenario(work, Cluster(slots=4, catalogue=(vm,))), "fifo")
    terms = Terms(kind="on-demand", boot_s=0, idle_timeout_s=0)
    rented = simulate(Scenario(work, Cluster(pools=(Pool(vm=vm, count=4, terms=terms),))), "fifo")
    assert rented.audit() == slots.audit() == []
    assert rented.metrics["vm_cost"] == pytest.approx(slots.metrics["vm_cost"])
    assert rented.metrics["on_demand_cost"] == rented.metrics["vm_cost"]
    assert rented.metrics["jct_mean"] == pytest.approx(slots.metrics["jct_mean"])
    assert rented.metrics["vm_cost"] == pytest.approx(3.0 * work.work.sum() / 3600)


# ---- who may ------------------------------------------------------------------------------------------


def test_compiled_loops_leave_rented_nodes_to_the_engine():
    policy = resolve_policy(Scenario(full_workload(), fixed_nodes(8, 8, 8)), "fifo").build(full_workload())
    assert kernels.eligible(prepare(Scenario(full_workload(), fixed_nodes(8, 8, 8))), policy)
    assert not kernels.eligible(prepare(Scenario(full_workload(), scaling_nodes())), policy)


def test_policies_that_plan_for_nodes_that_stay_are_refused():
    with pytest.raises(InputError, match="needs a cluster without rented nodes"):
        resolve_policy(Scenario(full_workload(), scaling_nodes()), "modelarts-greedy")


def test_sizes_are_of_nodes_that_are_always_there_beside_those_that_are_rented():
    cluster = scaling_nodes()
    sizes = sizes_of(Scenario(full_workload(), cluster))
    staying = {pool.vm.name for pool in cluster.pools if not pool.is_rented}
    assert {one.name for one in sizes.types} == staying
    assert sizes.rented_nodes == sum(pool.count for pool in cluster.pools if pool.is_rented) > 0
    assert not sizes.fixed


def test_evictions_make_a_scenario_random():
    mixed, terms = scaling_nodes(), Terms(kind="spot", evictions_per_h=0.0)
    pools = tuple(one.model_copy(update={"terms": terms}) if one.kind == "spot" else one for one in mixed.pools)
    assert is_random(Scenario(full_workload(), mixed))
    assert not is_random(Scenario(full_workload(), mixed.model_copy(update={"pools": pools})))


def test_another_seed_takes_back_other_nodes():
    given = Scenario(full_workload(), scaling_nodes())
    one, other, again = (simulate(given, "fifo", {}, seed).log for seed in (0, 1, 0))
    assert first_difference(one, again) == ""
    assert leases(one) != leases(other)
