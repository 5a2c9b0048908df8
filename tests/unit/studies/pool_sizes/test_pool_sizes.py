"""Sweeps of the pool's size: the numbers of single runs, pairing, draws, what goes wrong, and what cannot be asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.errors import DlschedError, InputError
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.metrics.stats.intervals import mean_interval
from dlsched.sim.simulate import Cancelled
from dlsched.studies import pool_sizes, registry
from dlsched.studies.pool_sizes import OWN, outcome, read_spec, run_pool_sizes, scenario_at
from dlsched.studies.pool_sizes.answer import (
    DECISION_EDGES_S,
    MEASURES,
    Cell,
    PoolSizes,
    best_gain,
    decisions_of_draws,
    gain_change,
    gain_of,
    mean_of,
    sizes_cut,
    with_violations,
)
from dlsched.studies.simulation import Run, simulate
from dlsched.workload.studies.modelarts import VARIANTS, ModelArtsSpec, modelarts_scenario
from tests.support.known import known
from tests.support.look_ahead_runs import elastic_scenario

OPTIMAL, GREEDY = "modelarts-optimal", "modelarts-greedy"


def asked(scenario: Scenario, **changes: Any) -> pool_sizes.PoolSizesSpec:
    return read_spec({"scenario": scenario.content_hash, "nodes": (3, 6), **changes})


def drawn() -> Scenario:
    """Return a small synthetic trace that asks for more than there is."""
    return modelarts_scenario(ModelArtsSpec(nodes=6, jobs=60, only_long=True, load_scale=2), 4)


@cache
def swept() -> PoolSizes:
    """Return a sweep of drawn jobs: two sizes, three policies, nothing and everything going wrong, three draws."""
    scenario = drawn()
    spec = asked(scenario, policies=(OPTIMAL, GREEDY, "fifo"), variants=("baseline", "mishaps"), draws=3)
    return run_pool_sizes(spec, scenario)


@cache
def exact() -> PoolSizes:
    """Return a sweep of given jobs with nothing random."""
    scenario = elastic_scenario()
    return run_pool_sizes(asked(scenario), scenario)


@pytest.mark.parametrize("policy", [OPTIMAL, GREEDY, "fifo"])
@pytest.mark.parametrize(("nodes", "variant", "seed"), [(3, "baseline", 0), (6, "baseline", 2), (6, "mishaps", 1)])
def test_a_draw_says_what_a_single_run_says(nodes: int, variant: str, seed: int, policy: str) -> None:
    cluster = Cluster(pools=(Pool(vm=drawn().cluster.vm_types[0], count=nodes),))
    alone = drawn().replace(cluster=cluster, options=VARIANTS[variant])
    run, greedy = simulate(alone, policy, seed=seed), simulate(alone, GREEDY, seed=seed)
    draw = swept().at(nodes, variant, policy).draws[seed]
    assert draw.seed == seed
    assert draw.total_mean_s == pytest.approx(run.metrics["jct_mean"], rel=1e-12)
    assert draw.wait_mean_s == pytest.approx(run.metrics["wait_mean"], rel=1e-12, abs=1e-9)
    assert draw.total_p95_s == pytest.approx(run.metrics["jct_p95"], rel=1e-12)
    assert draw.completed == run.metrics["completed"]
    assert draw.held_share == pytest.approx(run.metrics["allocation_ratio"])
    last_s = run.prepared.scenario.workload.submit_s.max()
    ended = [one.jobs["completion_s"] <= last_s for one in (run, greedy)]
    assert draw.by_last_submission == ended[0].sum()
    pieces = run.segments.groupby("piece").agg(workers=("workers", "sum"), s=("start_s", "first"), e=("end_s", "first"))
    length_s = pieces["e"] - pieces["s"]
    assert draw.workers_per_job == pytest.approx((pieces["workers"] * length_s).sum() / length_s.sum())
    if policy == GREEDY:
        assert (draw.gain_percent, draw.compared, draw.additional) == (None, None, None)
        return
    both = run.jobs["jct_s"].notna() & greedy.jobs["jct_s"].notna()
    means_s = [float(one.jobs["jct_s"][both].mean()) for one in (run, greedy)]
    assert known(draw.gain_percent) == pytest.approx(100 * (means_s[1] / means_s[0] - 1))
    assert draw.compared == both.sum()
    assert draw.additional == ended[0].sum() - ended[1].sum()


def test_all_policies_and_sizes_of_a_draw_see_the_same_jobs() -> None:
    cells = [cell for cell in swept().cells if cell.variant == "baseline"]
    jobs = {draw.seed: {cell.draws[draw.seed].jobs for cell in cells} for draw in cells[0].draws}
    assert all(len(found) == 1 for found in jobs.values())
    means = [draw.total_mean_s for draw in swept().at(6, "baseline", "fifo").draws]
    assert len(set(means)) == 3  # while the draws differ
    runs = [simulate(scenario_at(drawn(), nodes), policy, seed=2) for nodes in (3, 6) for policy in (OPTIMAL, "fifo")]
    assert len({run.prepared.scenario.workload.content_hash for run in runs}) == 1


def test_intervals_are_of_the_draws_and_gains_are_paired() -> None:
    cell = swept().at(3, "baseline", OPTIMAL)
    gains = [known(draw.gain_percent) for draw in cell.draws]
    assert gain_of(cell) == mean_interval(gains)
    assert known(gain_of(cell)).n == 3
    total = known(mean_of(cell, MEASURES["total"]))
    assert total == mean_interval([known(draw.total_mean_s) for draw in cell.draws])
    assert known(total.half_width) > 0
    assert gain_of(swept().at(3, "baseline", GREEDY)) is None
    change = known(gain_change(swept().at(3, "mishaps", OPTIMAL), cell))
    others = [known(draw.gain_percent) for draw in swept().at(3, "mishaps", OPTIMAL).draws]
    assert change.mean == pytest.approx(float(np.mean(np.subtract(others, gains))))
    assert swept().others == (OPTIMAL, "fifo")


def test_decisions_are_counted_over_all_draws_and_only_those_of_a_solver() -> None:
    cell = swept().at(3, "baseline", OPTIMAL)
    runs = [simulate(scenario_at(drawn(), 3, "baseline"), OPTIMAL, seed=seed) for seed in range(3)]
    solved = sum(int((run.decisions["status"] != "").sum()) for run in runs)
    decisions = known(cell.decisions)
    assert decisions.solved == solved > 0
    assert decisions.proven == solved
    assert sum(decisions.counts) == solved
    assert decisions.p50_s <= decisions.p95_s <= decisions.longest_s
    assert swept().at(3, "baseline", "fifo").decisions is None


@given(st.lists(st.floats(0, 1e5), min_size=1, max_size=60))
def test_every_decision_is_in_one_bin_of_the_histogram(cpu_s: list[float]) -> None:
    found = known(decisions_of_draws(np.array(cpu_s), 0))
    assert sum(found.counts) == len(cpu_s) == found.solved
    middle = [at for at in cpu_s if DECISION_EDGES_S[3] <= at < DECISION_EDGES_S[4]]
    assert found.counts[3] == len(middle)
    assert found.longest_s == max(cpu_s)


def test_where_nothing_is_random_one_draw_says_all_and_stands_for_each_of_the_others() -> None:
    assert exact().exact == (OWN,)
    assert [len(cell.draws) for cell in exact().cells] == [1, 1, 1, 1]
    assert known(gain_of(exact().at(3, OWN, OPTIMAL))).half_width is None
    scenario = elastic_scenario()
    spec = asked(scenario, nodes=(4,), variants=("baseline", "estimates", "delay"), draws=3)
    found = run_pool_sizes(spec, scenario)
    assert found.exact == ("baseline", "delay")
    assert [len(found.at(4, variant, OPTIMAL).draws) for variant in spec.variants] == [1, 3, 1]
    base, noisy = found.at(4, "baseline", OPTIMAL), found.at(4, "estimates", OPTIMAL)
    change = known(gain_change(noisy, base))
    assert change.n == 3
    assert change.mean == pytest.approx(known(gain_of(noisy)).mean - known(gain_of(base)).mean)
    assert gain_change(noisy, found.at(4, "baseline", GREEDY)) is None


def test_a_slow_start_takes_its_time() -> None:
    scenario = elastic_scenario()
    spec = asked(scenario, nodes=(6,), policies=("fifo",), variants=("baseline", "delay"))
    found = run_pool_sizes(spec, scenario)
    quick, slow = (known(found.at(6, variant, "fifo").draws[0].total_mean_s) for variant in ("baseline", "delay"))
    assert slow >= quick + 15


def test_the_best_gain_is_the_largest_of_the_variant() -> None:
    cell, gain = known(best_gain(exact(), OWN))
    assert gain.mean == max(known(gain_of(one)).mean for one in exact().cells if one.policy == OPTIMAL)
    assert cell.policy == OPTIMAL
    assert best_gain(exact(), "mishaps") is None


def test_a_variant_changes_what_goes_wrong_and_nothing_else() -> None:
    own = SimulationRules(placement="pack", oversize="drop", estimate_error=0.3, restart_s=60, checkpoint_s=100)
    scenario = elastic_scenario().replace(options=own)
    assert scenario_at(scenario, 6).content_hash == scenario.content_hash
    calm = scenario_at(scenario, 6, "baseline").options
    assert calm == SimulationRules(placement="pack", oversize="drop", checkpoint_s=100)
    mishaps = scenario_at(scenario, 6, "mishaps").options
    assert (mishaps.bug_share, mishaps.cancel_share, mishaps.estimate_error) == (0.15, 0.1, 0.1)
    assert (mishaps.restart_s, mishaps.placement, mishaps.checkpoint_s) == (0, "pack", 100)
    assert scenario_at(scenario, 9).cluster.num_nodes == 9
    assert scenario_at(scenario, 9).workload is scenario.workload


def test_pools_of_equal_nodes_are_one_and_other_clusters_have_no_size() -> None:
    vm, scenario = VmType(name="node", gpus=8), elastic_scenario()
    two = scenario.replace(cluster=Cluster(pools=(Pool(vm=vm, count=2), Pool(vm=vm, count=4))))
    assert pool_sizes.pool_of(two).count == 6
    mixed = scenario.replace(cluster=Cluster(pools=(Pool(vm=vm, count=2), Pool(vm=VmType(name="b"), count=4))))
    with pytest.raises(InputError, match="has 2 pools of different nodes"):
        pool_sizes.pool_of(mixed)
    slots = scenario.replace(cluster=Cluster(slots=3, catalogue=(vm,)))
    with pytest.raises(InputError, match="has 3 free slots"):
        pool_sizes.pool_of(slots)


def test_absences_stay_with_their_nodes() -> None:
    scenario = elastic_scenario()
    away = (Absence(node=4, start_s=10.0, end_s=20.0),)
    failing = scenario.replace(cluster=scenario.cluster.model_copy(update={"absences": away}))
    assert scenario_at(failing, 5).cluster.absences == away
    with pytest.raises(InputError, match="4 is too few: an absence is planned or a failure set for node 4"):
        scenario_at(failing, 4)
    assert pool_sizes.default_nodes(failing) == (6, 9, 12)


def test_suggested_sizes_lie_around_the_present_one_and_hold_every_job() -> None:
    scenario = elastic_scenario()
    assert pool_sizes.default_nodes(scenario) == (3, 4, 6, 9, 12)
    wide = scenario.replace(workload=scenario.workload.with_columns(workers=[1] * 11 + [5], max_workers=[5] * 12))
    assert pool_sizes.default_nodes(wide) == (6, 9, 12)
    capped = wide.replace(options=SimulationRules(oversize="cap"))
    assert pool_sizes.default_nodes(capped) == (3, 4, 6, 9, 12)
    assert pool_sizes.default_policies(scenario) == (OPTIMAL, GREEDY)
    found = run_pool_sizes(asked(capped, nodes=(3, 6), policies=("fifo",)), capped)
    assert sizes_cut(found) == [3]
    with pytest.raises(InputError, match="pool sizes, 3 nodes: 1 job of 12: can never fit"):
        run_pool_sizes(asked(wide), wide)


def test_the_same_question_has_one_form_whoever_names_the_reference() -> None:
    scenario = elastic_scenario()
    assert asked(scenario) == asked(scenario, reference=GREEDY)
    assert asked(scenario, policies=["fifo", "sjf"]).reference == "sjf"
    assert asked(scenario).runs == 12


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"nodes": (6, 3)}, "nodes must ascend", id="descending"),
        pytest.param({"nodes": (3, 3)}, "nodes must ascend", id="twice"),
        pytest.param({"nodes": (0, 3)}, "greater than or equal to 1, got 0", id="no nodes"),
        pytest.param({"nodes": ()}, "at least 1 item", id="no sizes"),
        pytest.param({"policies": ()}, "at least 1 item", id="no policies"),
        pytest.param({"policies": ("fifo", "fifo")}, "policies must differ, 'fifo' is there twice", id="policy twice"),
        pytest.param({"reference": "sjf"}, "one of the policies, got 'sjf'", id="reference"),
        pytest.param({"variants": ("mishap",)}, "no variant 'mishap'. Try 'mishaps'", id="variant"),
        pytest.param({"draws": 0}, "greater than or equal to 1, got 0", id="draws"),
        pytest.param({"nodes": range(1, 31), "draws": 100}, "at most 2,000, got 6,000", id="too many"),
        pytest.param({"size": 3}, "Extra inputs", id="unknown field"),
    ],
)
def test_bad_questions_say_what_is_wrong(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        asked(elastic_scenario(), **change)


def test_a_question_that_cannot_be_run_is_refused_before_anything_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = elastic_scenario()
    monkeypatch.setattr("dlsched.studies.pool_sizes.run.simulate", lambda *_, **__: pytest.fail("it was run"))
    with pytest.raises(InputError, match="no policy with this key"):
        run_pool_sizes(asked(scenario, policies=("fifa", GREEDY)), scenario)
    with pytest.raises(InputError, match="needs due dates"):
        run_pool_sizes(asked(scenario, policies=("edf", GREEDY)), scenario)
    with pytest.raises(InputError, match="asks about scenario"):
        run_pool_sizes(asked(drawn()), scenario)
    slow = scenario.replace(options=SimulationRules(restart_s=4000.0))
    with pytest.raises(InputError, match="above the restart"):
        run_pool_sizes(asked(slow, policies=("las", GREEDY)), slow)


def test_progress_grows_and_what_it_raises_stops_the_sweep() -> None:
    scenario, told = elastic_scenario(), list[tuple[float, str]]()
    run_pool_sizes(asked(scenario), scenario, progress=lambda share, text: told.append((share, text)))
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert told[-1] == (1.0, "2 of 2 draws")
    assert {text.partition(", ")[2] for _, text in told} == {"3 nodes, draw 1", "6 nodes, draw 1", ""}

    def stop(share: float, text: str) -> None:
        if share > 0.3:
            raise Cancelled

    with pytest.raises(Cancelled):
        run_pool_sizes(asked(scenario), scenario, progress=stop)


def without_times(answer: PoolSizes) -> dict[str, Any]:
    plain = answer.to_plain()
    for cell in plain["cells"]:
        if cell["decisions"] is not None:
            cell["decisions"] = (cell["decisions"]["solved"], cell["decisions"]["proven"])
    return plain


def test_spread_over_workers_the_answer_is_the_same() -> None:
    scenario, told = elastic_scenario(), list[float]()
    with ThreadPoolExecutor(2) as threads:
        found = run_pool_sizes(asked(scenario), scenario, threads, progress=lambda share, _: told.append(share))
    assert without_times(found) == without_times(exact())
    assert told == [0.5, 1.0]


def test_an_answer_survives_the_store() -> None:
    again = PoolSizes.from_plain(json.loads(json.dumps(swept().to_plain(), allow_nan=False)))
    assert again == swept()
    with pytest.raises(InputError, match="answer PoolSizes"):
        PoolSizes.from_plain({"nodes": []})


def test_the_computation_answers_about_the_scenario_that_travels_along() -> None:
    scenario = elastic_scenario()
    plain = asked(scenario).model_dump(mode="json")
    record = registry.compute("pool-sizes", plain, subject=scenario)
    assert without_times(PoolSizes.from_plain(record.answer)) == without_times(exact())
    assert record.spec == plain
    assert registry.find("pool-sizes").estimate_s(asked(scenario)) > 0
    with pytest.raises(InputError, match="without the scenario"):
        registry.compute("pool-sizes", plain)


def with_jct(run: Run, change: Callable[[Any], Any]) -> Run:
    run.jobs["jct_s"] = change(run.jobs["jct_s"])
    return run


def test_runs_without_a_common_end_have_no_gain_but_their_counts() -> None:
    scenario = elastic_scenario()
    ours, theirs = simulate(scenario, "fifo"), simulate(scenario, "sjf")
    with_jct(theirs, lambda jct_s: jct_s * np.nan)
    with pytest.raises(DlschedError, match="no job completed under both"):
        outcome.common(ours, theirs)
    draw = outcome.draw_of(ours, theirs)
    assert (draw.compared, draw.gain_percent) == (0, None)
    assert draw.additional == draw.by_last_submission


def test_the_gain_by_hand() -> None:
    scenario = elastic_scenario(jobs=2)
    ours, theirs = simulate(scenario, "fifo"), simulate(scenario, "sjf")
    with_jct(ours, lambda _: [100.0, 300.0])
    with_jct(theirs, lambda _: [200.0, 300.0])
    found = outcome.common(ours, theirs)
    assert list(found.total_s) == [200, 250]
    assert found.gain_percent == pytest.approx(25)
    with_jct(theirs, lambda _: [np.nan, 330.0])
    assert outcome.common(ours, theirs).gain_percent == pytest.approx(10)
    assert outcome.common(ours, theirs).compared == 1


def test_what_the_auditor_finds_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = elastic_scenario()
    monkeypatch.setattr(Run, "audit", lambda _: ["two jobs on node 3"])
    found = run_pool_sizes(asked(scenario, nodes=(6,), policies=("fifo",)), scenario)
    ((cell, draw),) = with_violations(found)
    assert isinstance(cell, Cell)
    assert draw.audit == ("two jobs on node 3",)
    assert with_violations(exact()) == []
