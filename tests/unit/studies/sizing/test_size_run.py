"""Searches for a size: against brute force on real runs, and on runs whose true means are known."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest

from dlsched.domain.cluster import Absence, Cluster, Pool, Terms, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.workload import Workload
from dlsched.metrics.stats.basis import Basis
from dlsched.sim.simulate import Cancelled
from dlsched.store import Store
from dlsched.studies.design import Futures, Variant, changed, run_variants
from dlsched.studies.growth import GrowthSpec, run_growth
from dlsched.studies.growth import read_spec as read_growth
from dlsched.studies.registry import compute
from dlsched.studies.simulation import simulate
from dlsched.studies.sizing import run_size, trials
from dlsched.studies.sizing.answer import Sizing, check_at, check_load, cost_at, frontier, left_out, one_more
from dlsched.studies.sizing.rule import judge
from dlsched.studies.sizing.sizes import default_types, sizes_of
from dlsched.studies.sizing.words import sentence
from dlsched.studies.what_if import WhatIfSpec, run_what_if
from tests.support.known import known
from tests.support.size_runs import asked

NODE = VmType(name="four", gpus=4, usd_per_h=10.0)
SMALL = VmType(name="two", gpus=2, usd_per_h=6.0)


def trace(seed: int, jobs: int = 40, **changes: Any) -> Scenario:
    """Return jobs of one to four GPUs, one every ten minutes, of an hour each on average, on three nodes."""
    rng = np.random.default_rng(seed)
    submit_s, work = np.cumsum(rng.exponential(600, jobs)), rng.exponential(3600, jobs)
    columns = {
        "job_id": [f"j{number}" for number in range(jobs)],
        "submit_s": submit_s,
        "work": work,
        "due_s": submit_s + 2 * work + 600,
        "gpus_per_worker": rng.integers(1, 5, jobs).astype(float),
    }
    cluster = Cluster(pools=(Pool(vm=NODE, count=3),))
    given: dict[str, Any] = {"workload": Workload.from_columns(columns), "cluster": cluster, "name": "trace"}
    return Scenario(**given | changes)


def exact_values(scenario: Scenario, changes: Mapping[str, int], policy: str = "fifo") -> Mapping[str, Any]:
    played = run_variants(scenario, [Variant(policy=policy, changes=dict(changes))], Futures())
    return known(played.results[0][0].metrics)


def partly_rented(seed: int) -> Scenario:
    """Return the jobs of :func:`trace` on one owned node and up to two on demand, dearer, that boot in five minutes."""
    rented = Pool(vm=NODE.model_copy(update={"name": "four on demand", "usd_per_h": 25.0}), count=2,
                  terms=Terms(kind="on-demand", boot_s=300.0, idle_timeout_s=600.0))  # fmt: skip
    return trace(seed, cluster=Cluster(pools=(Pool(vm=NODE, count=1), rented)))


# ---- real runs against brute force -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_beside_rented_nodes_no_size_tried_that_meets_the_target_costs_less_in_its_runs(seed: int) -> None:
    scenario = partly_rented(seed)
    answer = run_size(asked(scenario, ("wait_p95", 1800), headroom=True), scenario)
    by_hand = [exact_values(scenario, {"nodes.four": nodes}) for nodes in range(answer.types[0].most + 1)]
    met = [known(values["wait_p95"]) <= 1800 for values in by_hand]
    assert met == sorted(met)  # else brute force may know a smaller one
    assert [vm.key for vm in answer.types] == ["nodes.four"]
    size = known(answer.answer)
    usd = [known(values["cost_month"]) for values in by_hand]
    tried = [one.counts[0] for one in answer.shown if met[one.counts[0]]]
    assert size[0] in tried
    assert usd[size[0]] == min(usd[nodes] for nodes in tried)
    assert met.index(True) in tried
    assert usd[size[0]] <= usd[size[0] + 1]  # one more is always tried
    assert answer.words(size) == f"{size[0]} node{'s' * (size[0] != 1)} of four and up to 2 rented nodes"
    assert known(cost_at(answer, size)).value == known(by_hand[size[0]]["cost_month"])  # what the runs pay, rent too
    assert answer.size(size).usd_month is None  # no price times nodes
    room = next(one for one in answer.headroom if one.counts == size)
    more = {load.factor: load.draws[0] for load in room.loads}
    for factor, draw in more.items():
        hand = changed(scenario, {"nodes.four": size[0], "demand": factor}, draw.seed)
        assert draw.values["wait_p95"] == simulate(hand, "fifo", seed=draw.seed).metrics["wait_p95"]
    assert answer.model_validate(answer.to_plain()) == answer


def test_where_all_nodes_are_rented_their_limit_is_the_size() -> None:
    scenario = partly_rented(0)
    scenario = scenario.replace(cluster=Cluster(pools=(scenario.cluster.pools[1],)))
    answer = run_size(asked(scenario, ("wait_p95", 1800)), scenario)
    met = [known(exact_values(scenario, {"nodes": nodes})["wait_p95"]) <= 1800 for nodes in range(1, 9)]
    assert answer.answer == (met.index(True) + 1,)
    assert answer.words(known(answer.answer)) == f"up to {met.index(True) + 1} rented machines"


def test_an_owned_type_without_nodes_today_varies_beside_the_rented_ones() -> None:
    scenario = partly_rented(0)
    owned, rented = scenario.cluster.pools
    none = scenario.replace(cluster=Cluster(pools=(owned.model_copy(update={"count": 0}), rented)))
    sizes = sizes_of(none)
    assert [(vm.key, vm.rented, vm.today) for vm in sizes.types] == [("nodes.four", False, 0)]
    more = none.replace(cluster=Cluster(pools=(none.cluster.pools[0], rented.model_copy(update={"count": 6}))))
    assert [vm.most for vm in sizes_of(more).types] == [24]  # owned nodes may replace all that are rented
    assert (sizes.words((0,)), sizes.words((1,))) == ("up to 2 rented nodes", "1 node of four and up to 2 rented nodes")


def test_a_type_that_is_owned_and_rented_is_in_its_range_once() -> None:
    (owned, _), terms = partly_rented(0).cluster.pools, Terms(kind="on-demand")
    pools = owned.model_copy(update={"count": 2}), owned.model_copy(update={"count": 3, "terms": terms})
    assert [one.most for one in default_types(trace(0, cluster=Cluster(pools=pools)))] == [20]


def test_of_two_rented_types_each_has_its_limit() -> None:
    (_, rented), spot = partly_rented(0).cluster.pools, Terms(kind="spot")
    other = rented.model_copy(update={"vm": SMALL, "count": 3, "terms": spot})
    sizes = sizes_of(trace(0, cluster=Cluster(pools=(rented, other))))
    assert sizes.words(sizes.today) == "up to 2 rented machines of four on demand and up to 3 rented machines of two"


def test_rented_nodes_do_not_vary_beside_those_that_stay() -> None:
    scenario = partly_rented(0)
    types = [{"key": "nodes.four on demand", "least": 0, "most": 4}]
    with pytest.raises(InputError, match=r"four on demand.*comes and goes beside nodes that are always there.*commit"):
        run_size(asked(scenario, ("wait_p95", 1800), types=types), scenario)


@pytest.mark.parametrize("seed", range(6))
def test_an_exact_trace_has_the_size_of_brute_force(seed: int) -> None:
    scenario = trace(seed)
    spec = asked(scenario, ("wait_p95", 1800), ("late_share", 0.1), types=[{"key": "nodes", "least": 1, "most": 16}])
    answer = run_size(spec, scenario)
    met = []
    for nodes in range(1, 17):
        values = exact_values(scenario, {"nodes": nodes})
        met.append(known(values["wait_p95"]) <= 1800 and known(values["late_share"]) <= 0.1)
    assert met == sorted(met)  # else brute force may know a smaller one
    assert answer.answer == (met.index(True) + 1,)
    assert answer.rule.exact
    assert answer.futures.seeds == (0,)
    assert {check_at(answer, counts).verdict for counts in answer.neighbours} <= {"fails"}
    assert known(cost_at(answer, answer.answer)).value == pytest.approx(answer.answer[0] * 10 * 30.4 * 24)
    assert answer.runs == len(answer.sizes) < 14


@pytest.mark.parametrize("seed", range(3))
def test_two_types_cost_what_brute_force_costs(seed: int) -> None:
    cluster = Cluster(pools=(Pool(vm=NODE, count=2), Pool(vm=SMALL, count=1)))
    scenario = trace(seed, cluster=cluster, options=SimulationRules(oversize="drop"))
    ranges = [{"key": "nodes.four", "least": 0, "most": 7}, {"key": "nodes.two", "least": 0, "most": 5}]
    answer = run_size(asked(scenario, ("wait_p95", 3600), types=ranges), scenario)
    done = exact_values(scenario, {})["completed"]
    prices = []
    for four, two in product(range(8), range(6)):
        if four + two == 0:
            continue
        values = exact_values(scenario, {"nodes.four": four, "nodes.two": two})
        if values["wait_p95"] is not None and values["wait_p95"] <= 3600 and known(values["completed"]) >= known(done):
            prices.append(10 * four + 6 * two)
    assert known(cost_at(answer, known(answer.answer))).value == pytest.approx(min(prices) * 30.4 * 24)
    assert answer.runs < 30  # of 47


@pytest.mark.parametrize("claim", ["average", "nearly-every"])
@pytest.mark.parametrize("vary", [{"run_time_spread": 0.6}, {}])
def test_random_futures_have_the_size_of_brute_force_on_all_futures(claim: str, vary: dict[str, float]) -> None:
    """Recorded and drawn, under both claims: stopping early finds what running everything finds."""
    scenario = trace(1, options=SimulationRules() if vary else SimulationRules(estimate_error=0.2))
    futures = Futures.first(16, vary)
    types = [{"key": "nodes", "least": 1, "most": 12}]
    spec = asked(scenario, ("wait_p95", 1800), claim=claim, policy="sjf", futures=futures, level=0.8, types=types)
    answer = run_size(spec, scenario)
    assert answer.rule.basis == Basis(kind="recorded" if vary else "drawn", futures=16)
    good = []
    for nodes in range(1, 13):
        case = Variant(policy="sjf", changes={"nodes": nodes})
        outcomes = run_variants(scenario, [case], futures).results[0]
        draws = [trials.draw_of(outcome, seed, ["wait_p95"]) for seed, outcome in enumerate(outcomes)]
        good.append(judge(answer.rule, draws).verdict == "meets")
    assert good == sorted(good)
    assert answer.answer == (good.index(True) + 1,)
    assert all([draw.seed for draw in size.draws] == list(range(17)) for size in answer.shown)
    stopped = [size for size in answer.sizes if size.stopped]
    assert [check_at(answer, size.counts).verdict for size in stopped] == [
        "meets" if good[size.counts[0] - 1] else "fails" for size in stopped
    ]
    counts = known(answer.answer)[0]
    assert {counts, counts - 1, counts + 1, 3} <= {size.counts[0] for size in answer.shown}
    assert answer.runs < 17 * 9


def test_all_pages_read_the_same_number_of_a_size_in_a_future() -> None:
    """Size, headroom, growth and What if at the same nodes under the same condition: one run, one number."""
    scenario = trace(2, options=SimulationRules())
    futures, condition = Futures.first(12, {"run_time_spread": 0.5}), {"durations": 1.2}
    with_more = asked(scenario, ("wait_p95", 3600), futures=futures, condition=condition, headroom=True)
    answer = run_size(with_more, scenario)
    nodes = {"nodes": known(answer.answer)[0]}
    alone = run_variants(scenario, [Variant(policy="fifo", changes=condition | nodes)], futures).results[0]
    waits = [known(one.metrics)["wait_p95"] for one in alone]
    assert [draw.values["wait_p95"] for draw in answer.size(known(answer.answer)).draws] == waits
    what_if = WhatIfSpec(
        scenario=scenario.content_hash,
        condition=condition,
        baseline=Variant(policy="fifo"),
        changed=Variant(policy="fifo", changes=nodes),
        futures=futures,
    )
    told = run_what_if(what_if, scenario)
    assert [values["wait_p95"] for values in told.changed.metrics] == waits
    asked_growth = {key: value for key, value in with_more.model_dump().items() if key in GrowthSpec.model_fields}
    months = run_growth(GrowthSpec(**asked_growth, percent=5, months=1), scenario)
    assert months.months[0].draws == answer.size(answer.today).draws
    assert months.check(0) == check_at(answer, answer.today)
    room = next(one for one in answer.headroom if one.counts == answer.answer)
    assert known(room.last) > 1
    grown = {**asked_growth, "percent": round(100 * (known(room.last) - 1), 6), "months": 1, "steps": [
        {"month": 0, "key": "nodes", "nodes": nodes["nodes"] - 3}]}  # fmt: skip
    at_last = run_growth(read_growth(grown), scenario).months[1]
    assert at_last.draws == next(load for load in room.loads if load.factor == room.last).draws


def test_headroom_under_a_condition_is_that_of_more_jobs_still() -> None:
    """28 nodes with 30% more jobs at 10% more load: 43% more jobs than recorded."""
    scenario = trace(2)
    answer = run_size(
        asked(scenario, ("wait_p95", 3600), condition={"demand": 1.5}, headroom=True, futures=8), scenario
    )
    assert answer.rule.basis.kind == "drawn"
    assert {draw.jobs for draw in answer.size(answer.today).draws} == {60}
    for room in answer.headroom:
        for load in room.loads:
            assert {draw.jobs for draw in load.draws} == {round(60 * load.factor)}


def test_a_condition_is_not_something_to_choose() -> None:
    with pytest.raises(InputError, match="is something to choose"):
        run_size(asked(trace(1), ("wait_p95", 1800), condition={"nodes": 4}), trace(1))
    dear = run_size(asked(trace(1), ("wait_p95", 1800), condition={"prices": 2.0}), trace(1))
    assert known(cost_at(dear, (3,))).value == pytest.approx(3 * 20 * 30.4 * 24)
    assert [draw.values["cost_month"] for draw in dear.size((3,)).draws] == [
        pytest.approx(2 * known(draw.values["cost_month"]))
        for draw in run_size(asked(trace(1), ("wait_p95", 1800)), trace(1)).size((3,)).draws
    ]


def test_headroom_and_one_node_more_say_what_single_runs_say() -> None:
    scenario = trace(2)
    answer = run_size(asked(scenario, ("wait_p95", 1800), headroom=True, futures=9), scenario)
    size = known(answer.answer)
    rooms = {room.counts: room for room in answer.headroom}
    assert set(rooms) == {size, (3,)}
    for counts, room in rooms.items():
        for load in room.loads:
            assert load.stopped or len(load.draws) == (1 if load.factor == 1 else 10)  # which jobs are added is drawn
            last = load.draws[-1]
            assert last.jobs == round(load.factor * 40)
            hand = changed(scenario, {"nodes": counts[0], "demand": load.factor}, last.seed)
            assert last.values["wait_p95"] == simulate(hand, "fifo", seed=last.seed).metrics["wait_p95"]
        if room.last is not None and room.first is not None:
            assert room.first - room.last == pytest.approx(0.05)
    assert known(rooms[size].last) >= 1
    assert {load.factor: check_load(answer, load).verdict for load in rooms[size].loads}[1.0] == "meets"
    (more,) = one_more(answer)
    ours, theirs = (exact_values(scenario, {"nodes": size[0] + by})["wait_p95"] for by in (1, 0))
    assert known(more.changes["wait_p95"]).value == pytest.approx(known(ours) - known(theirs))
    assert known(more.usd_month) == pytest.approx(10 * 30.4 * 24)
    points = frontier(answer)
    assert [point.cost.value for point in points] == sorted(point.cost.value for point in points)
    assert sum(point.answer for point in points) == sum(point.today for point in points) == 1


def test_jobs_that_all_arrive_at_once_have_headroom_for_more_of_them() -> None:
    at_once = trace(2)
    jobs = at_once.workload
    at_once = at_once.replace(workload=jobs.with_columns(submit_s=np.zeros(len(jobs))))
    assert at_once.workload.all_at_once
    assert not trace(2).workload.all_at_once
    answer = run_size(asked(at_once, ("wait_p95", 36000), headroom=True), at_once)
    assert all(1 <= known(room.last) < known(room.first) for room in answer.headroom)
    assert answer.headroom


def test_free_slots_cost_what_their_runs_cost() -> None:
    scenario = trace(3, cluster=Cluster(slots=3, catalogue=(NODE,)), options=SimulationRules(estimate_error=0.1))
    spec = asked(scenario, ("wait_p95", 1800), futures=8)
    answer = run_size(spec, scenario)
    assert answer.cost_by == "runs"
    size = known(answer.answer)
    costs = [known(draw.values["cost_month"]) for draw in answer.size(size).draws]
    assert known(cost_at(answer, size)).value == pytest.approx(np.mean(costs))
    smaller = [one.counts for one in answer.sizes if one.counts < size]
    assert all(check_at(answer, counts).verdict != "meets" for counts in smaller)
    assert "smallest size tried" in sentence(answer)


def test_the_store_answers_a_second_search_and_the_background_gives_the_same(tmp_path: Any) -> None:
    scenario = trace(1)
    spec = asked(scenario, ("wait_p95", 1800))
    with Store(tmp_path / "s.duckdb") as store:
        first = run_size(spec, scenario, store=store)
        told: list[float] = []
        again = run_size(spec, scenario, store=store, progress=lambda share, _: told.append(share))
    assert again == first
    assert told == sorted(told)
    record = compute("size", spec.model_dump(mode="json"), subject=scenario)
    assert Sizing.from_plain(record.answer) == first
    with pytest.raises(InputError, match="without its scenario"):
        compute("size", spec.model_dump(mode="json"))


def test_what_progress_raises_stops_the_search() -> None:
    def stop(_: float, text: str) -> None:
        assert text.startswith("3 nodes: ")
        raise Cancelled

    with pytest.raises(Cancelled):
        run_size(asked(trace(1), ("wait_p95", 1800)), trace(1), progress=stop)


# ---- what a size may not be --------------------------------------------------------------------------


def test_a_size_that_leaves_jobs_undone_is_no_answer() -> None:
    """Jobs of four GPUs never fit nodes of two: they are dropped, and waits look fine."""
    pools = (Pool(vm=NODE, count=3), Pool(vm=SMALL, count=3))
    scenario = trace(1, cluster=Cluster(pools=pools), options=SimulationRules(oversize="drop"))
    ranges = [{"key": "nodes.four", "least": 0, "most": 3}, {"key": "nodes.two", "least": 0, "most": 20}]
    answer = run_size(asked(scenario, ("wait_p95", 36_000), types=ranges), scenario)
    assert known(answer.answer)[0] >= 1
    lax = run_size(asked(scenario, ("wait_p95", 36_000), types=ranges, lack_percent=50), scenario)
    assert known(lax.answer)[0] == 0
    checked = known(left_out(answer, known(answer.answer)))
    assert checked == 0


def test_sizes_that_cannot_be_run_are_told_with_the_reason() -> None:
    scenario = trace(1).replace(
        cluster=Cluster(pools=(Pool(vm=NODE, count=3),), absences=(Absence(node=2, start_s=5, end_s=60),))
    )
    answer = run_size(asked(scenario, ("wait_p95", 360_000)), scenario)
    assert answer.answer == (3,)
    assert answer.neighbours == ((2,), (1,))
    assert "an absence is planned" in check_at(answer, (2,)).why


def test_no_size_says_why() -> None:
    scenario = trace(1)
    jobs = scenario.workload
    slack = np.where(np.arange(40) < 6, 0.5, 9.0)
    soon = scenario.replace(workload=jobs.with_columns(due_s=jobs.submit_s + slack * jobs.work))
    answer = run_size(asked(soon, ("late_share", 0.05)), soon)
    assert (answer.answer, answer.status) == (None, "none")
    assert "15% of the jobs with a due date (6 of 40 jobs) are due sooner than their own run time" in answer.reasons[0]
    dear = run_size(asked(scenario, ("wait_p95", 1800), ("cost_month", 1000)), scenario)
    assert dear.answer is None
    assert "is the cheapest tried that meets the other targets and costs $" in dear.reasons[0]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"policy": "fifoo"}, "Try 'fifo'"),
        ({"types": [{"key": "nodes.five", "least": 1, "most": 2}]}, "nodes.five"),
        ({"types": [{"key": "arrivals", "least": 1, "most": 2}]}, "is no number of nodes"),
        ({"futures": {"seeds": [0, 1], "vary": {"prices": 2.0}}}, "has no randomness of its own"),
        ({"targets": [{"metric": "utility_total", "limit": 1}]}, "Utility has no number on these jobs"),
    ],
)
def test_a_bad_question_is_refused_before_the_search(changes: dict[str, Any], complaint: str) -> None:
    spec = asked(trace(1), ("wait_p95", 1800), **changes)
    with pytest.raises(InputError, match=complaint):
        run_size(spec, trace(1))
    with pytest.raises(InputError, match="asks about scenario"):
        run_size(spec, trace(2))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"targets": [{"metric": "wait", "limit": 1}]}, "is not a metric"),
        ({"targets": [{"metric": "wait_p95", "limit": 1, "side": "at least"}]}, "better when lower"),
        ({"targets": [{"metric": "wait_p95", "limit": 1}] * 2}, "is listed twice"),
        ({"types": [{"key": "nodes", "least": 5, "most": 2}]}, "must not be above"),
        (
            {"types": [{"key": "nodes", "least": 1, "most": 2}, {"key": "nodes.a", "least": 1, "most": 2}]},
            "vary it alone",
        ),
        ({"futures": {"seeds": [1, 2]}}, "start with future 0"),
    ],
)
def test_a_question_that_makes_no_sense_names_the_field(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        asked(trace(1), ("wait_p95", 1800), **changes)
