"""Every change of a sweep by hand, and every one refused names itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.workload import Workload
from dlsched.sim.prepare import prepare
from dlsched.studies.design import FACTORS, changed
from dlsched.studies.design.factors import conditions_of, is_drawn, options_of, role_of, with_count
from dlsched.studies.design.failures import MOST_FAILURES, REPAIR_S, failure_times, window_s
from dlsched.studies.simulation import simulate
from dlsched.workload.load import load
from dlsched.workload.studies.registry import draw
from tests.support.assumptions import words_of
from tests.support.known import known
from tests.support.runs_for_store import small_scenario

A100, H100 = VmType(name="a100", gpus=8, usd_per_h=20.0), VmType(name="h100", gpus=8, usd_per_h=None)
TWO_POOLS = Cluster(
    pools=(Pool(vm=A100, count=3), Pool(vm=H100, count=2)),
    absences=(Absence(node=1, start_s=5, end_s=6), Absence(node=4, start_s=7, end_s=8)),
)
SLOTS = Cluster(slots=4, catalogue=(A100, H100))


def scenario(**changes: Any) -> Scenario:
    columns = {
        "job_id": ["a", "b", "c"],
        "submit_s": [100.0, 160.0, 220.0],
        "work": [10.0, 20.0, 30.0],
        "due_s": [130.0, np.nan, 320.0],
        "weight_usd_per_s": [1.0, np.nan, 0.5],
        "recorded_start_s": [101.0, 161.0, 221.0],
    }
    cluster = Cluster(pools=(Pool(vm=A100, count=2),))
    values: dict[str, Any] = {"workload": Workload.from_columns(columns), "cluster": cluster, "name": "three"}
    return Scenario(**values | changes)


def drawn(**changes: Any) -> Scenario:
    demo = load("data/demo.toml")
    spec = {**known(demo.generator), "jobs": 30}
    return demo.replace(generator=spec, workload=draw(spec, 0), **changes)


def test_arrivals_twice_as_fast_halve_the_time_since_the_first_and_due_times_move_along() -> None:
    jobs = changed(scenario(), {"arrivals": 2}).workload
    assert jobs.submit_s.tolist() == [100, 130, 160]
    assert np.array_equal(known(jobs.due_s), [130, np.nan, 260], equal_nan=True)
    assert jobs.work.tolist() == [10, 20, 30]
    assert jobs.recorded_start_s is None


def test_durations_due_slack_and_weights_times_a_factor() -> None:
    all_three = changed(scenario(), {"durations": 0.5, "due_slack": 3, "weights": 4})
    jobs = all_three.workload
    assert jobs.work.tolist() == [5, 10, 15]
    assert np.array_equal(known(jobs.due_s), [190, np.nan, 520], equal_nan=True)
    assert np.array_equal(known(jobs.weight_usd_per_s), [4, np.nan, 2], equal_nan=True)
    assert all_three.name == "three, run times −50%, due slack 3x, costs of being late 4x"
    assert words_of(all_three)[0] == "varied: run times −50%"


def test_prices_times_a_factor_leave_unset_prices_unset() -> None:
    pools = changed(scenario(cluster=TWO_POOLS), {"prices": 0.5}).cluster.pools
    assert [pool.vm.usd_per_h for pool in pools] == [10.0, None]
    catalogue = changed(scenario(cluster=SLOTS), {"prices": 2}).cluster.catalogue
    assert [vm.usd_per_h for vm in catalogue] == [40.0, None]


def test_nodes_of_the_one_pool_or_free_slots() -> None:
    assert changed(scenario(), {"nodes": 5}).cluster.num_nodes == 5
    slots = changed(scenario(cluster=SLOTS), {"nodes": 9}).cluster
    assert (slots.slots, slots.catalogue) == (9, SLOTS.catalogue)


@pytest.mark.parametrize(("count", "node"), [(4, 4), (2, 2), (3, 3)])
def test_an_absence_of_the_first_node_of_the_next_pool_moves_with_it(count: int, node: int) -> None:
    first_h100 = TWO_POOLS.model_copy(update={"absences": (Absence(node=3, start_s=5, end_s=6),)})
    assert [absence.node for absence in with_count(first_h100, "a100", count).absences] == [node]
    last_a100 = TWO_POOLS.model_copy(update={"absences": (Absence(node=2, start_s=5, end_s=6),)})
    assert [absence.node for absence in with_count(last_a100, "a100", 4).absences] == [2]


def test_nodes_of_a_vm_type_keep_absences_with_their_nodes() -> None:
    more = changed(scenario(cluster=TWO_POOLS), {"nodes.a100": 5}).cluster
    assert [pool.count for pool in more.pools] == [5, 2]
    assert [absence.node for absence in more.absences] == [1, 6]
    fewer = changed(scenario(cluster=TWO_POOLS), {"nodes.a100": 2}).cluster
    assert [absence.node for absence in fewer.absences] == [1, 3]
    with pytest.raises(InputError, match=r"change nodes\.a100=1: cluster: .*node 1, which would go.*Keep 2 nodes"):
        changed(scenario(cluster=TWO_POOLS), {"nodes.a100": 1})
    with pytest.raises(InputError, match=r"nodes\.h100=1.*node 4, which would go.*Keep 2 nodes"):
        changed(scenario(cluster=TWO_POOLS), {"nodes.h100": 1})


def test_vm_types_leave_a_part_of_the_catalogue_in_its_order() -> None:
    assert changed(scenario(cluster=SLOTS), {"vm_types": "h100"}).cluster.catalogue == (H100,)
    assert changed(scenario(cluster=SLOTS), {"vm_types": "h100 + a100"}).cluster.catalogue == (A100, H100)


@pytest.mark.parametrize(
    ("key", "value"),
    [("restart_s", 60.0), ("estimate_error", 0.5), ("checkpoint_s", 600.0), ("horizon_s", 1000.0), ("bug_share", 0.1)],
)
def test_a_rule_of_the_simulation(key: str, value: float) -> None:
    before, after = scenario().options.model_dump(), changed(scenario(), {key: value}).options.model_dump()
    assert after == before | {key: value}


def test_every_number_among_the_rules_can_be_varied() -> None:
    keys = {change.key for change in FACTORS}
    numbers = {name for name, value in SimulationRules() if isinstance(value, float) or value is None}
    assert numbers <= keys
    assert not {"placement", "oversize", "billing"} & keys


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"node": 3}, r"change 'node': there is none of this name\. Try 'nodes'"),
        ({"nodes": 0}, r"change nodes: must be at least 1 and at most 100000, got 0"),
        ({"nodes": 2.5}, r"change nodes: must be a whole number, got 2\.5"),
        ({"arrivals": "fast"}, r"change arrivals: must be a number, got 'fast'"),
        ({"arrivals": 0}, r"change arrivals: must be at least 0\.01"),
        ({"arrivals": float("nan")}, r"change arrivals: must be at least"),
        ({"estimate_error": 1}, r"change estimate_error=1\.0, estimate_error: .*less than 1"),
        ({"bug_within_s": 0}, r"change bug_within_s: must be above 0"),
        ({"failures": 0}, r"change failures: must be at least 0\.1"),
        ({"vm_types": "a100"}, r"change vm_types=a100: cluster: has owned nodes"),
        ({"vm_types": " + "}, r"change vm_types: needs at least one name"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_bad_value_names_the_change(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        changed(scenario(), changes)


def test_what_the_scenario_lacks_is_said() -> None:
    bare = small_scenario()
    bare = bare.replace(
        workload=bare.workload.with_columns(due_s=None), cluster=Cluster(pools=(Pool(vm=H100, count=1),))
    )
    with pytest.raises(InputError, match=r"change due_slack=2\.0: jobs: have no due dates"):
        changed(bare, {"due_slack": 2})
    with pytest.raises(InputError, match=r"change weights=2\.0: jobs: have no costs of being late"):
        changed(bare, {"weights": 2})
    with pytest.raises(InputError, match=r"change prices=2\.0: cluster: no price is set"):
        changed(bare, {"prices": 2})
    at_once = bare.replace(workload=bare.workload.with_columns(submit_s=np.full(len(bare.workload), 9.0)))
    with pytest.raises(InputError, match=r"change arrivals=2\.0: workload: all jobs arrive at once"):
        changed(at_once, {"arrivals": 2})
    assert changed(at_once, {"arrivals": 1}).workload.submit_s[0] == 9
    with pytest.raises(InputError, match=r"there is no VM type 'v100'"):
        changed(scenario(cluster=SLOTS), {"vm_types": "v100"})


@pytest.mark.parametrize("seed", [0, 3])
def test_drawn_jobs_are_changed_after_they_are_drawn(seed: int) -> None:
    base = drawn(seed=4)
    run = prepare(changed(base, {"arrivals": 2, "durations": 3}, seed), seed).scenario.workload
    plain_run = prepare(base, seed).scenario.workload
    first_s = plain_run.submit_s[0]
    assert run.work == pytest.approx(3 * plain_run.work)
    assert run.submit_s == pytest.approx(first_s + (plain_run.submit_s - first_s) / 2)


def test_a_factor_of_one_changes_nothing_of_a_draw() -> None:
    base = drawn()
    ones = dict.fromkeys(("demand", "arrivals", "durations", "due_slack", "weights", "prices"), 1.0)
    run, plain_run = prepare(changed(base, ones, 2), 2), prepare(base, 2)
    assert run.scenario.workload.submit_s == pytest.approx(plain_run.scenario.workload.submit_s)
    assert np.array_equal(run.truth.work, plain_run.truth.work)
    assert run.scenario.cluster == plain_run.scenario.cluster


def test_demand_is_so_many_times_as_many_jobs_of_the_draw() -> None:
    base = drawn(seed=4)
    for seed in (0, 3):
        plain, more = prepare(base, seed).scenario.workload, changed(base, {"demand": 1.5}, seed).workload
        assert len(more) == 1.5 * len(plain)
        assert set(plain.job_id) < set(more.job_id)
        assert more.submit_s[[0, -1]].tolist() == plain.submit_s[[0, -1]].tolist()
    assert is_drawn(scenario(), ["demand"])
    assert words_of(changed(scenario(), {"demand": 1.3})) == ("varied: 30% more jobs",)


def test_demand_comes_after_days_and_before_what_is_drawn_for_each_job() -> None:
    base = load("data/samples/campus.csv")
    changes = {"run_time_spread": 0.5, "demand": 1.2, "durations": 2.0, "days": 1}
    made = changed(base, changes, 2).workload
    assert made == changed(base, dict(reversed(changes.items())), 2).workload
    days = changed(base, {"days": 1}, 2).workload
    assert len(made) == round(1.2 * len(days))
    work = dict(zip(made.job_id, made.work, strict=True))
    copies = [name for name in work if name.endswith("+1")]
    assert copies
    assert all(work[name] != work[name.removesuffix("+1")] for name in copies)  # each has a run time of its own


def test_demand_scales_the_load_and_leaves_money_a_month_of_owned_nodes() -> None:
    base = load("data/demo.toml")
    more = changed(base, {"demand": 1.3})
    plain, loaded = (simulate(one, "fifo").metrics for one in (base, more))
    assert known(loaded["completed"]) == 1.3 * known(plain["completed"]) == 1560
    assert loaded["cost_month"] == pytest.approx(plain["cost_month"])


def test_conditions_happen_and_options_are_chosen() -> None:
    base = scenario(cluster=TWO_POOLS)
    changes: dict[str, Any] = {"nodes.a100": 5, "demand": 1.3, "prices": 2.0, "checkpoint_s": 600.0, "restart_s": 60.0}
    assert conditions_of(base, changes) == {"demand": 1.3, "prices": 2.0, "restart_s": 60.0}
    assert options_of(base, changes) == {"nodes.a100": 5, "checkpoint_s": 600.0}
    with pytest.raises(InputError, match="there is none of this name"):
        conditions_of(base, {"luck": 1})
    chosen = {factor.key for factor in FACTORS if factor.role == "option"}
    assert chosen == {"nodes", "vm_types", "checkpoint_s", "slot_s", "limits"}
    assert (role_of("demand"), role_of("nodes.a100"), role_of("las.quantum_s")) == ("condition", "option", "option")


def test_failures_come_on_top_and_depend_on_seed_and_node_alone() -> None:
    jobs = Workload.from_columns({"job_id": ["a"], "submit_s": [1000.0], "work": [2e6]})
    base = scenario(workload=jobs, cluster=Cluster(pools=(Pool(vm=A100, count=2),)))
    away = Absence(node=0, start_s=1, end_s=2, cause="maintenance")
    kept = base.replace(cluster=base.cluster.model_copy(update={"absences": (away,)}))
    found = changed(kept, {"failures": 100}, 1).cluster.absences
    assert found[0] == away
    assert found[1:] == changed(base, {"failures": 100}, 1).cluster.absences
    assert {absence.cause for absence in found[1:]} == {"fails"}
    assert all(absence.until_s - absence.start_s == REPAIR_S for absence in found[1:])
    of_first = [absence.start_s for absence in found[1:] if absence.node == 0]
    wider = changed(base, {"failures": 100, "nodes": 5}, 1)  # as the pool is larger, the jobs are done sooner
    times = [absence.start_s for absence in wider.cluster.absences if absence.node == 0]
    assert times == of_first[: len(times)]
    assert times
    assert found[1:] != changed(base, {"failures": 100}, 2).cluster.absences


def test_failures_at_given_times_come_on_top_after_all_else() -> None:
    away = Absence(node=0, start_s=1, end_s=2, cause="maintenance")
    base = scenario(cluster=Cluster(pools=(Pool(vm=A100, count=2),), absences=(away,)))
    found = changed(base, {"failure_at": "1@0.5for2 + 4@48for6", "nodes": 5}, 3)
    first_s = 100.0  # of the first submission
    assert found.cluster.absences == (
        away,
        Absence(node=1, start_s=first_s + 1800, end_s=first_s + 1800 + 7200),
        Absence(node=4, start_s=first_s + 48 * 3600, end_s=first_s + 54 * 3600),
    )
    assert {absence.cause for absence in found.cluster.absences[1:]} == {"fails"}
    assert words_of(found) == ("varied: 5 nodes", "varied: 2 failures")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("3", r"change failure_at=3: failure at a given time: must be node@start for length in hours, got '3'\."),
        ("0@1for2+1@x", r"got '1@x'\. Write 3@48for6: node 3, after 48 h, for 6 h"),
        ("-1@2for3", r"got '-1@2for3'"),
        ("1@nanfor3", r"got '1@nanfor3'"),
        ("1@2for0", r"failure 1@2for0: must last longer than 0 h"),
        ("2@1for1", r"failure 2@1for1: there is no node 2, the last one is node 1\. Name an existing node"),
    ],
)
def test_a_failure_that_cannot_be_names_its_rule(value: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        changed(scenario(), {"failure_at": value})


def test_a_node_that_fails_at_a_given_time_stops_its_job_until_it_is_back() -> None:
    one = Workload.from_columns({"job_id": ["a"], "submit_s": [100.0], "work": [7200.0], "workers": [16]})
    base = scenario(workload=one)  # on both nodes of 8 GPUs
    run = simulate(changed(base, {"failure_at": "1@1for3"}), "fifo")
    # fails after 1 h of 2 h, is away until 4 h, and the rest takes 1 h: progress is kept without checkpoints
    assert run.metrics["jct_mean"] == pytest.approx(5 * 3600)
    assert run.metrics["restarts"] == 1
    assert run.audit() == []


def test_the_window_of_failures_by_hand() -> None:
    # 3 one-GPU jobs of 60 s in all on 16 GPUs, the longest 30 s, the last submitted at 220 s
    assert window_s(scenario()) == (100, 220 + 1.5 * (60 / 16 + 30))
    assert window_s(scenario(options=SimulationRules(horizon_s=150))) == (100, 150)


@given(seed=st.integers(0, 50), mean_s=st.floats(1e3, 1e6), stretch=st.floats(1, 10))
def test_a_larger_mean_stretches_the_time_between_failures(seed: int, mean_s: float, stretch: float) -> None:
    end_s = 50 * (mean_s + REPAIR_S)
    times, later = (
        failure_times(seed, 3, mean_s, 0, end_s),
        failure_times(seed, 3, stretch * mean_s, 0, stretch * end_s),
    )
    up_s, up_later_s = np.diff(times) - REPAIR_S, np.diff(later) - REPAIR_S
    assert (up_s > 0).all()
    assert up_later_s[: len(up_s)] == pytest.approx(stretch * up_s[: len(up_later_s)], rel=1e-6, abs=1e-3)


def test_the_mean_time_between_failures_is_what_was_asked_for() -> None:
    end_s = 2000 * (50_000 + REPAIR_S)
    times = failure_times(7, 0, 50_000.0, 0, end_s)
    # 2,000 exponential times: the mean is within 4 standard errors of 2.2% each
    assert np.diff(times).mean() - REPAIR_S == pytest.approx(50_000, rel=0.09)
    assert times[-1] < end_s


def test_too_many_failures_are_refused() -> None:
    jobs = Workload.from_columns({"job_id": ["a"], "submit_s": [0.0], "work": [1e9]})
    with pytest.raises(InputError, match=rf"change failures=1\.0: cluster: about .* failures .* {MOST_FAILURES:,}"):
        changed(scenario(workload=jobs), {"failures": 1})


@pytest.mark.parametrize("alone", [{"failures": 5.0}, {"failure_at": "0@0.5for2"}], ids=["failures", "failure_at"])
def test_drawn_jobs_meet_the_failures_of_their_own_draw_whatever_else_changes(alone: dict[str, Any]) -> None:
    base, seed = drawn(seed=4), 3
    first_s = [prepare(base, one).scenario.workload.submit_s[0] for one in (0, seed)]
    assert first_s[0] != first_s[1]  # else it makes no difference from which first submission failures count
    found = changed(base, alone, seed).cluster.absences
    assert found
    assert found == changed(base, {**alone, "weights": 2.0}, seed).cluster.absences
    if "failure_at" in alone:
        assert found[0].start_s == first_s[1] + 1800


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "nan", "-inf", "1e400"], ids=str)
def test_a_count_that_is_no_number_is_refused(value: float | str) -> None:
    with pytest.raises(InputError, match="change nodes: must be a whole number"):
        changed(scenario(), {"nodes": value})


def test_the_whole_cluster_and_a_part_of_it_are_not_changed_at_once() -> None:
    with pytest.raises(InputError, match=r"change nodes: is the whole cluster, and nodes\.a100 a part of it"):
        changed(scenario(), {"nodes": 4, "nodes.a100": 3})
