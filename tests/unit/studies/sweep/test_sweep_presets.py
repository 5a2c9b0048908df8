"""Values that suggest themselves, for one change and for the questions that are asked most."""

from __future__ import annotations

import pytest

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.studies.design.factors import changed, factor_of
from dlsched.studies.sweep import planned, read_spec
from dlsched.studies.sweep.presets import PRESETS, Preset, axes_of, low_and_high, range_of
from dlsched.studies.sweep.spec import MOST_RUNS, refuse_too_many
from tests.support.runs_for_store import small_scenario


@pytest.mark.parametrize("due_and_prices", [True, False])
@pytest.mark.parametrize("asked", PRESETS, ids=lambda one: one.key)
def test_every_preset_can_be_run_under_the_usual_policies(asked: Preset, due_and_prices: bool) -> None:
    scenario = small_scenario(12)
    if not due_and_prices:  # other things are varied then
        cluster = Cluster(pools=(Pool(vm=VmType(name="two", gpus=2), count=2),))
        scenario = scenario.replace(workload=scenario.workload.with_columns(due_s=None), cluster=cluster)
    axes = axes_of(asked.key, scenario)
    spec = read_spec(
        {
            "scenario": scenario.content_hash,
            "mode": asked.mode,
            "axes": [axis.model_dump() for axis in axes],
            "policies": ["fifo", "sjf", "las"],
            "futures": {"seeds": [0]},
        }
    )
    assert len(planned(spec, scenario).keys) == 3 * len(spec.points)


def test_sizes_are_around_the_present_one_and_leave_no_job_too_large() -> None:
    assert axes_of("size", small_scenario(12))[0].values == (1, 2, 3, 4)
    wide = small_scenario(12)
    wide = wide.replace(workload=wide.workload.with_columns(workers=[4] * 12))
    assert axes_of("size", wide)[0].values == (2, 3, 4)


def test_of_several_pools_one_gets_other_sizes_and_none_where_nodes_are_named() -> None:
    pools = tuple(Pool(vm=VmType(name=name, gpus=2), count=count) for name, count in (("a", 1), ("b", 8)))
    scenario = small_scenario(12).replace(cluster=Cluster(pools=pools))
    axis = axes_of("size", scenario)[0]
    assert (axis.key, axis.values) == ("nodes.a", (1, 2))
    away = tuple(Absence(node=node, start_s=0, end_s=1) for node in range(9))
    both = Cluster(pools=(*pools, pools[0]), absences=away)
    scenario = scenario.replace(cluster=both)
    assert axes_of("size", scenario)[0].key == "nodes.b"


def test_assumptions_are_those_the_scenario_has_low_and_high() -> None:
    axes = axes_of("assumptions", small_scenario(12))
    assert [axis.key for axis in axes] == ["demand", "durations", "nodes", "prices", "run_time_spread", "due_slack"]
    assert axes[0].values == (0.8, 1.2)
    assert axes[2].values == (1, 3)


def test_the_five_situations_and_what_stands_for_prices_where_there_are_none() -> None:
    scenario = small_scenario(12)
    axes = axes_of("situations", scenario)
    assert [axis.key for axis in axes] == ["demand", "run_time_spread", "failure_at", "prices"]
    fails = str(axes[2].values[0])
    assert changed(scenario, {"failure_at": fails}).cluster.absences[0].cause == "fails"
    free = scenario.replace(cluster=Cluster(pools=(Pool(vm=VmType(name="two", gpus=2), count=10),)))
    axes = axes_of("situations", free)
    assert [axis.key for axis in axes] == ["demand", "run_time_spread", "failure_at", "durations"]
    assert str(axes[2].values[0]).count("@") == 2


@pytest.mark.parametrize(
    ("key", "both", "several"),
    [
        ("arrivals", (0.8, 1.2), (0.8, 0.9, 1.0, 1.2, 1.4)),
        ("nodes", (1, 3), (1, 2, 3, 4)),
        ("restart_s", (10, 30), (10, 30)),
        ("bug_within_s", (240, 360), (240, 270, 300, 360, 420)),
        ("days", (1,), (1,)),
    ],
)
def test_values_that_suggest_themselves(key: str, both: tuple[float, ...], several: tuple[float, ...]) -> None:
    scenario = small_scenario(12)
    assert low_and_high(scenario, factor_of(scenario, key)) == both
    assert range_of(scenario, factor_of(scenario, key)) == several


def test_too_many_runs_are_refused_with_the_count_and_what_to_coarsen() -> None:
    with pytest.raises(InputError) as refused:
        refuse_too_many({"Nodes": 20, "Arrivals": 10}, "grid", 6, 10)
    assert "would be 12,000 runs: 200 points x 6 policies x 10 futures; at most 5,000" in str(refused.value)
    assert refused.value.do == "Take fewer than 20 values of Nodes or 4 futures"
    with pytest.raises(InputError) as refused:
        refuse_too_many({"Nodes": 100, "Arrivals": 100}, "grid", 1, 1)
    assert refused.value.do == "Take fewer than 100 values of Nodes"
    refuse_too_many({"Nodes": 100, "Arrivals": 50}, "grid", 1, 1)
    assert MOST_RUNS == 5000
    refuse_too_many({"Nodes": 20, "Arrivals": 10}, "one-at-a-time", 6, 10)
