"""What every policy of the registry must hold, by being listed there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dlsched.domain.cluster import Absence, Cluster, Pool
from dlsched.domain.policy import Need, PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.policies.registry import POLICIES, unmet_needs
from dlsched.sim.audit import audit
from dlsched.sim.log import JobStatus, RunLog
from dlsched.sim.prepare import Prepared, prepare
from tests.support.bounds import beyond_of
from tests.support.conformance_scenarios import (
    ABSENCES,
    FEATURES,
    engine_log,
    first_difference,
    fixed_nodes,
    free_slots,
    full_workload,
    scenario,
)
from tests.support.elastic_scenarios import training_stream
from tests.support.server_scenarios import many, slotted

every_policy = pytest.mark.parametrize("spec", POLICIES, ids=lambda spec: spec.key)


def suitable(spec: PolicySpec, feature: str = "plain") -> Scenario:
    """Return a scenario that meets the policy's needs."""
    if Need.OWN_STEPS in spec.needs:
        return on_a_pool(slotted(), feature)
    if Need.SERVERS in spec.needs:
        return on_a_pool(many(), feature)
    cluster = free_slots() if Need.FREE_SLOTS in spec.needs else fixed_nodes(8, 8, 4)
    given = scenario(feature, cluster)
    missing = unmet_needs(spec, given)
    if missing:
        pytest.skip(f"the standard scenario has no {', '.join(missing)}")
    return given


def on_a_pool(given: Scenario, feature: str) -> Scenario:
    """Return jobs with parameter servers with these options, on nodes taken together."""
    own = {name: getattr(given.options, name) for name in ("slot_s", "utility_unit_s", "utility_clock")}
    options = scenario(feature).options.model_copy(update={"placement": "pool", **own})
    return given.replace(options=options)


def log_of(spec: PolicySpec, prepared: Prepared, params: dict[str, Any] | None = None) -> RunLog:
    """Run a policy; one that decides by intervals does so every minute, often enough for these scenarios."""
    often = {"interval_s": 60.0} if "interval_s" in spec.params.model_fields else {}
    return engine_log(spec, prepared, often | (params or {}))


def skip_unless_met(spec: PolicySpec, given: Scenario) -> None:
    """Skip what the policy refuses."""
    if missing := unmet_needs(spec, given):
        pytest.skip(f"the policy needs {', '.join(missing)}")


def check_ends(given: Scenario, spec: PolicySpec, params: dict[str, Any] | None = None) -> None:
    """Every job has one outcome, no number is beyond its bound, and the audit finds nothing.

    The audit looks at capacity, gang, work, submission and times.
    """
    prepared = prepare(given)
    log = log_of(spec, prepared, params)
    assert audit(prepared.scenario, prepared.truth, log) == []
    assert beyond_of(prepared.scenario, prepared.truth, log) == []
    assert len(log.job_status) == len(prepared.scenario.workload)
    assert not log.stalled
    if given.options.horizon_s is None:
        assert JobStatus.UNFINISHED not in log.job_status


@every_policy
@pytest.mark.parametrize("feature", FEATURES)
def test_every_job_ends_once_and_the_audit_is_clean(spec: PolicySpec, feature: str):
    check_ends(suitable(spec, feature), spec)


@every_policy
@pytest.mark.parametrize("placement", ["pool", "pack", "spread"])
def test_every_placement_rule(spec: PolicySpec, placement: str):
    given = suitable(spec)
    given = given.replace(options=given.options.model_copy(update={"placement": placement}))
    skip_unless_met(spec, given)
    check_ends(given, spec)


@every_policy
@pytest.mark.parametrize("feature", ["plain", "all"])
def test_nodes_fail_arrive_and_are_serviced(spec: PolicySpec, feature: str):
    given = suitable(spec, feature)
    if given.cluster.free_slots or Need.SERVERS in spec.needs:
        cluster = given.cluster.model_copy(update={"absences": ABSENCES})
    else:
        cluster = fixed_nodes(8, 8, 4, absences=ABSENCES)
    check_ends(given.replace(cluster=cluster), spec)


@every_policy
def test_free_slots(spec: PolicySpec):
    if Need.FIXED_NODES in spec.needs:
        pytest.skip("runs on fixed nodes only")
    given = suitable(spec).replace(cluster=free_slots())
    skip_unless_met(spec, given)
    check_ends(given, spec)


@every_policy
@pytest.mark.parametrize("feature", ["plain", "restart-delayed", "all"])
def test_widths_by_a_time_table_on_one_gpu_nodes_that_fail(spec: PolicySpec, feature: str):
    drawn = training_stream(jobs=40, nodes=8)
    columns = full_workload(40).columns() | {name: getattr(drawn.workload, name) for name in ("work", "workers")}
    jobs = Workload.from_columns(columns | {"submit_s": drawn.workload.submit_s, "profile": drawn.workload.profile})
    days = {"bug_within_s": 1e5, "restart_s": 900.0, "checkpoint_s": 3600.0}
    options = scenario(feature).options
    options = options.model_copy(update={name: value for name, value in days.items() if getattr(options, name)})
    third_s = float(np.quantile(jobs.submit_s, 1 / 3))
    away = tuple(Absence(node=node, start_s=third_s, end_s=third_s * (2 + node)) for node in range(3))
    cluster = drawn.cluster.model_copy(update={"absences": away})
    given = Scenario(jobs, cluster, options, drawn.speed)
    if unmet_needs(spec, given):
        pytest.skip(f"the stream has no {', '.join(unmet_needs(spec, given))}")
    # the stream takes months: every few minutes would be too many decisions
    check_ends(given, spec, {"every_s": 86_400.0} if "every_s" in spec.params.model_fields else None)


@every_policy
def test_partitions_types_shared_gpus_cpus_and_memory(spec: PolicySpec):
    given = suitable(spec)
    if given.cluster.free_slots:
        pytest.skip("free slots have no partitions")
    rng = np.random.default_rng(1)
    count = len(given.workload)
    jobs = given.workload.with_columns(
        workers=np.minimum(given.workload.workers, 4),
        gpus_per_worker=rng.choice([0.0, 0.25, 1.0, 2.0], count),
        cpus_per_worker=rng.choice([1.0, 4.0], count),
        mem_gib_per_worker=rng.choice([2.0, 16.0], count),
        partition=rng.choice(["", "own", "gone"], count),
        gpu_types=rng.choice(["", "A", "A|B"], count),
    )
    pools = [
        pool.model_copy(
            update={
                "partition": partition,
                "count": 2,
                "vm": pool.vm.model_copy(
                    update={"name": f"{partition}{gpu_type}", "gpu_type": gpu_type, "gpus": 8, "cpus": 32.0}
                    | {"mem_gib": 128.0, "speed": speed}
                ),
            }
        )
        for pool, partition, gpu_type, speed in zip(
            given.cluster.pools * 2, ["", "", "own", "own"], ["A", "B", "A", "B"], [1.0, 2.0, 1.0, 0.5], strict=False
        )
    ]
    given = given.replace(workload=jobs, cluster=given.cluster.model_copy(update={"pools": tuple(pools)}))
    if unmet_needs(spec, given):
        pytest.skip("needs whole GPUs and open pools")
    check_ends(given, spec)


@every_policy
@pytest.mark.parametrize("feature", ["plain", "all"])
def test_partitions_that_share_nodes(spec: PolicySpec, feature: str):
    given = suitable(spec, feature)
    if given.cluster.free_slots:
        pytest.skip("free slots have no partitions")
    count = len(given.workload)
    wanted = np.random.default_rng(2).choice(["", "a", "b", "c", "a|c", "b|gone", "d"], count)
    vm = given.cluster.pools[0].vm
    pools = tuple(Pool(vm=vm, count=2, partition=entry) for entry in ("a|b", "b|c", "d", ""))
    cluster = Cluster(pools=pools, absences=given.cluster.absences)
    given = given.replace(workload=given.workload.with_columns(partition=wanted), cluster=cluster)
    if unmet_needs(spec, given):
        pytest.skip("needs open pools")
    check_ends(given, spec)


@every_policy
def test_names_of_partitions_that_share_no_nodes_may_be_several(spec: PolicySpec):
    given = suitable(spec)
    if given.cluster.free_slots:
        pytest.skip("free slots have no partitions")
    wanted = np.random.default_rng(3).choice(["", "a", "b"], len(given.workload))
    vm = given.cluster.pools[0].vm

    def log(names: dict[str, str]) -> RunLog:
        cluster = Cluster(pools=tuple(Pool(vm=vm, count=2, partition=names.get(name, name)) for name in ("a", "b", "")))
        jobs = given.workload.with_columns(partition=[names.get(name, name) for name in wanted])
        return log_of(spec, prepare(given.replace(workload=jobs, cluster=cluster)))

    if unmet_needs(spec, given.replace(cluster=Cluster(pools=(Pool(vm=vm, count=1, partition="a"),)))):
        pytest.skip("needs open pools")
    one, several = log({}), log({"a": "a|alpha", "b": "b|beta|better"})
    assert first_difference(one, several) == ""


@every_policy
@pytest.mark.parametrize("placement", ["pool", "best-fit", "pack", "spread"])
@pytest.mark.parametrize("feature", ["plain", "all"])
def test_jobs_with_parameter_servers(spec: PolicySpec, feature: str, placement: str):
    given = many()
    options = scenario(feature).options.model_copy(update={"placement": placement})
    given = given.replace(options=options)
    if unmet_needs(spec, given):
        pytest.skip(f"jobs with servers have no {', '.join(unmet_needs(spec, given))}")
    check_ends(given, spec)


@every_policy
def test_same_seed_same_log(spec: PolicySpec):
    given = suitable(spec, "all")
    assert first_difference(log_of(spec, prepare(given, 3)), log_of(spec, prepare(given, 3))) == ""


@every_policy
def test_order_of_the_list_does_not_matter(spec: PolicySpec):
    given = suitable(spec, "all")
    shuffled = np.random.default_rng(5).permutation(len(given.workload))
    columns = {name: values[shuffled] for name, values in given.workload.columns().items()}
    again = Workload.from_columns(columns | {"order": given.workload.order[shuffled]})
    log = log_of(spec, prepare(given.replace(workload=again)))
    assert first_difference(log_of(spec, prepare(given)), log) == ""


@every_policy
@pytest.mark.parametrize("feature", ["plain", "all"])
def test_no_look_ahead(spec: PolicySpec, feature: str):
    if spec.clairvoyant:
        pytest.skip("looks ahead by design, and says so")
    given = suitable(spec, feature)
    submit_s = given.workload.submit_s
    log = log_of(spec, prepare(given))
    for cut_s in np.quantile(submit_s, [0.3, 0.7]):
        first = int(np.searchsorted(submit_s, cut_s, side="right"))
        shorter = given.replace(workload=given.workload.select(slice(0, first)))
        assert first_difference(log, log_of(spec, prepare(shorter)), float(submit_s[first])) == ""


@every_policy
def test_wait_reasons_are_given(spec: PolicySpec):
    log = log_of(spec, prepare(suitable(spec)))
    if spec.family in ("everyday", "elastic"):
        assert len(log.wait_reason)
        assert 0 not in log.wait_reason


@every_policy
def test_jobs_of_one_instant_and_one_job(spec: PolicySpec):
    given = suitable(spec)
    twelve = given.workload.select(slice(0, 12)) if Need.SERVERS in spec.needs else full_workload(12)
    at_once = twelve.with_columns(submit_s=np.full(12, 7.0), due_s=np.full(12, 900.0))
    check_ends(given.replace(workload=at_once), spec)
    check_ends(given.replace(workload=given.workload.select(slice(0, 1))), spec)


@every_policy
def test_believed_work_is_all_a_policy_sees(spec: PolicySpec):
    """Two truths that look alike to a policy are treated alike until the first job ends otherwise than believed."""
    if spec.clairvoyant:
        pytest.skip("sees the truth by design")
    given = suitable(spec)
    bugs = given.replace(options=given.options.model_copy(update={"bug_share": 0.5, "bug_within_s": 5.0}))
    plain, buggy = log_of(spec, prepare(given)), log_of(spec, prepare(bugs))
    first_end_s = float(buggy.job_end_s[buggy.job_status == JobStatus.FAILED].min()) * (1 - 1e-9)
    assert first_difference(plain, buggy, first_end_s) == ""
