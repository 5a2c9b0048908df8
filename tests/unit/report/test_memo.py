"""The memo: numbers against a comparison by hand, what is recommended, what must be said first, what is refused."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.metrics.stats.basis import EXACT_BASIS, Basis
from dlsched.metrics.stats.compare import compare
from dlsched.report.alternatives import (
    SEES_AHEAD,
    TOLD_RUN_TIMES,
    Condition,
    alternative_of,
    condition_of,
    memo_caveats,
    origin_of,
)
from dlsched.report.choice import service_key
from dlsched.report.memo import LONGEST, ROUGH, build
from dlsched.report.rerun import commands, compare_command, file_name, seeds_words, simulate_command
from dlsched.studies.design import Futures
from tests.support.known import known
from tests.support.memos import DAY, ORIGIN, full_memo, numbers, option, two
from tests.support.runs_for_store import small_scenario


def compared(options, *, exact=False):
    return compare(
        [(each.name, each.draws) for each in options],
        options[0].name,
        basis=EXACT_BASIS if exact else Basis(kind="drawn", futures=2),
    )


def best_of(options, **more):
    return build(options, made_on=DAY, **more).best


def recommendation(options, **more):
    return build(options, made_on=DAY, **more).recommendation


def points(options):
    return build(options, made_on=DAY, basis=EXACT_BASIS).points


def test_the_numbers_are_those_of_the_draws():
    memo = build(two(), made_on=DAY)
    late = known(memo.comparison.row("late_share")).of("SJF")
    # t quantile of 2 degrees of freedom times the error of 0.2, 0.3, 0.4
    half = 4.302653 * 0.1 / math.sqrt(3)
    found = known(late.value)
    assert (found.low, found.value, found.high) == pytest.approx((0.3 - half, 0.3, 0.3 + half), rel=1e-6)
    assert known(late.delta).value == pytest.approx(-0.2)
    assert late.delta_text == "−20 pp, better"
    assert memo.certainty == "95% interval over 3 simulated versions of the workload"
    assert [row.kpi.key for row in memo.rows] == ["late_share", "cost_month", "completed"]
    assert memo.same == "Rejected 0 · Unfinished 0 · p95 wait 2 h"
    assert (memo.cost, memo.service) == ("cost_month", "late_share")


def recorded(name, late, cost=100.0, **more):
    """An option whose recorded month and 40 months from its days have these shares of late jobs, at one cost."""
    values = [late] * 41 if isinstance(late, float) else list(late)
    noise = [0.001 * (k % 5) for k in range(41)]
    draws = [numbers(value + more_late, cost) for value, more_late in zip(values, noise, strict=True)]
    return option(name, draws, **more)


RECORDED = Basis(kind="recorded", futures=40, days=28)


def test_a_recorded_month_comes_first_and_months_from_its_days_decide():
    memo = build([recorded("FIFO", 0.5), recorded("SJF", 0.3)], made_on=DAY, basis=RECORDED)
    assert memo.certainty == "this month as recorded and 40 months reshuffled from its days"
    assert memo.recommendation == (
        "Choose SJF: late jobs fall from 50% to 30% (better in 40 of 40), at the same machine cost. "
        "How sure: this month as recorded and 40 months reshuffled from its days."
    )
    assert memo.headline == "Choose SJF: late jobs fall from 50% to 30%"


def test_what_is_likely_better_is_recommended_as_sure_as_it_is():
    mostly = [0.3] * 34 + [0.6] * 7
    memo = build([recorded("FIFO", 0.5), recorded("SJF", mostly)], made_on=DAY, basis=RECORDED)
    assert memo.recommendation.startswith("The better choice is likely SJF: late jobs likely fall from 50% to 30% ")
    assert "likely better (33 of 40)" in memo.recommendation
    assert memo.best == "SJF"


def test_what_is_surely_better_comes_before_what_may_be_better_by_more():
    likely = recorded("LAS", [0.1] * 34 + [0.6] * 7)
    assert best_of([recorded("FIFO", 0.5), likely, recorded("SJF", 0.4)], basis=RECORDED) == "SJF"


def test_what_is_plainly_better_is_recommended_with_its_numbers_and_how_sure_they_are():
    memo = build(two(), made_on=DAY)
    assert memo.best == "SJF"
    assert memo.recommendation == (
        "Choose SJF: late jobs fall from 50% to 30% (−20 pp), at the same machine cost. "
        "How sure: 95% interval over 3 simulated versions of the workload."
    )
    assert memo.question == "Which should we choose: FIFO or SJF?"


def test_of_several_the_largest_gain_and_those_that_draws_do_not_tell_from_it():
    told = option("SRTF", [numbers(late, 100.0) for late in (0.1, 0.2, 0.3)], caveat=TOLD_RUN_TIMES)
    near = option("LAS", [numbers(late, 100.0) for late in (0.2, 0.15, 0.31)])
    far = option("EASY", [numbers(late, 100.0) for late in (0.35, 0.45, 0.55)])
    text = recommendation([two()[0], told, near, far])
    assert text.startswith("Choose SRTF: late jobs fall from 50% to 20% ")
    assert f"Note that {TOLD_RUN_TIMES}. LAS does about as well on late jobs, without that caveat. How sure: " in text


def test_a_trade_off_is_no_recommendation_to_change():
    memo = build([two()[0], option("SJF", [numbers(late, 140.0) for late in (0.2, 0.3, 0.4)])], made_on=DAY)
    assert (memo.advice.kind, memo.best) == ("trade-off", "FIFO")
    assert memo.recommendation.startswith(
        "No option wins on both cost and late jobs: stay with FIFO unless the gain is worth the loss. "
    )
    assert "machine cost rises by $40.00 a month" in memo.recommendation
    assert not any(point.beaten for point in memo.points)


def test_cheaper_is_chosen_only_where_service_is_the_same():
    cheap = recorded("8 nodes", 0.5, 80.0, changes={"nodes": 8.0})
    assert recommendation([recorded("Today", 0.5), cheap], basis=RECORDED).startswith(
        "Choose 8 nodes: late jobs are the same and machine cost falls by $20.00 a month"
    )
    unclear = recorded("8 nodes", [0.5 + 0.1 * (-1) ** k for k in range(41)], 80.0, changes={"nodes": 8.0})
    memo = build([recorded("Today", 0.5), unclear], made_on=DAY, basis=RECORDED)
    assert memo.best == "Today"
    assert memo.recommendation.startswith(
        "Stay with today: no option is clearly better. 8 nodes: the effect on late jobs is not clear "
    )


def test_what_draws_do_not_tell_apart_is_not_recommended():
    vague = option("SJF", [numbers(late, 100.0) for late in (0.1, 0.9, 0.3)])
    assert recommendation([two()[0], vague]).startswith(
        "Stay with FIFO: no option is clearly better. SJF: the effect on late jobs is not clear "
    )


def test_a_policy_that_knows_the_future_is_never_recommended():
    future = dataclasses.replace(two()[1], is_limit=True)
    assert best_of([two()[0], future]) == "FIFO"
    assert recommendation([two()[0], future]).startswith("Stay with FIFO: none of the other options can be chosen")


def test_one_draw_of_something_random_is_rough_and_recommends_nothing():
    options = [option("FIFO", [numbers(0.4, 100.0)]), option("SJF", [numbers(0.2, 100.0)])]
    memo = build(options, made_on=DAY)
    assert memo.labels == (ROUGH,)
    assert memo.recommendation.startswith("Rough preview: confirm with 10 simulations before deciding. SJF: late jobs")
    assert memo.best == "FIFO"
    sure = build(options, made_on=DAY, basis=EXACT_BASIS)
    assert sure.labels == ()
    assert sure.recommendation.endswith(", at the same machine cost. How sure: exact for this trace, not a forecast.")


# ---- one condition, options only -----------------------------------------------------------------------

MORE_JOBS = Condition({"demand": 1.3}, "30% more jobs")


def test_the_condition_is_in_question_and_recommendation():
    options = [dataclasses.replace(one, condition=MORE_JOBS, name=name)
               for one, name in zip(two(), ("Do nothing", "SJF"), strict=True)]  # fmt: skip
    memo = build(options, made_on=DAY)
    assert memo.question == "With 30% more jobs, which should we choose: do nothing or SJF?"
    assert memo.recommendation.startswith("With 30% more jobs, choose SJF: late jobs fall from 50% to 30% ")
    vague = option("SJF", [numbers(late, 100.0) for late in (0.1, 0.9, 0.3)], condition=MORE_JOBS)
    assert recommendation([options[0], vague]).startswith("With 30% more jobs, do nothing: no option is clearly better")


def test_a_condition_is_no_option_and_options_share_one():
    fifo, sjf = two()
    with pytest.raises(InputError, match="changes demand, which is a condition and not an option"):
        build([fifo, dataclasses.replace(sjf, changes={"demand": 1.3})], made_on=DAY)
    with pytest.raises(InputError, match="is under 30% more jobs, the others are under things as they are"):
        build([fifo, dataclasses.replace(sjf, condition=MORE_JOBS)], made_on=DAY)


def test_a_condition_is_read_and_worded_of_the_scenario():
    found = condition_of(small_scenario(), {"demand": "1.3", "durations": 0.9})
    assert found.changes == {"demand": 1.3, "durations": 0.9}
    assert found.words == "30% more jobs and run times −10%"
    assert condition_of(small_scenario(), {}).words == ""


@pytest.mark.parametrize("kind", ["example", "generated"])
def test_a_memo_is_not_built_without_the_caveats_of_its_options(kind):
    scenario = small_scenario().replace(data_kind=kind)
    options = [
        alternative_of(policy, [numbers(late, 100.0) for late in (0.4, 0.5)], scenario, policy, {}, Futures.first(1))
        for policy in ("fifo", "sjf")
    ]
    caveats = memo_caveats(scenario, options)
    memo = build(options, made_on=DAY, caveats=caveats)
    assert memo.labels[:2] == tuple(caveat.label for caveat in caveats)[:2]
    assert {"SJF is told true run times", memo.caveats[1].label} <= set(memo.labels)
    assert memo.caveats[1].kind == {"example": "example-data"}.get(kind, kind)
    assert memo.caveats == caveats
    for missing in caveats:
        with pytest.raises(InputError, match=f"contradict itself: .*{missing.kind}"):
            dataclasses.replace(memo, caveats=tuple(one for one in caveats if one != missing))


def test_costs_are_of_a_month_and_of_a_job_where_policies_rent():
    longer = option("SJF", [numbers(0.2, 100.0, makespan=400_000.0, usd_per_job=7.0)] * 3)
    options = [option("FIFO", [numbers(0.4, 100.0, usd_per_job=8.0)] * 3), longer]
    memo = build(options, made_on=DAY)
    assert memo.cost == "cost_month"
    assert {point.name: point.cost.value for point in memo.points} == {"FIFO": 100.0, "SJF": 100.0}
    assert not {"vm_cost", "usd_per_job"} & {row.kpi.key for row in memo.rows}
    renting = build(options, made_on=DAY, rents=True)
    assert renting.cost == "usd_per_job"
    assert {point.name: point.cost.value for point in renting.points} == {"FIFO": 8.0, "SJF": 7.0}
    assert not {"vm_cost", "cost_month"} & {row.kpi.key for row in renting.rows}


def test_service_is_late_jobs_else_worth_else_the_time_that_says_most():
    assert service_key(compared(two())) == "late_share"

    def without_due(**more):
        return compared([option(name, [{**numbers(0.0, 1.0, **more), "late_share": None}]) for name in ("A", "B")])

    assert service_key(without_due(utility_total=3.0)) == "utility_total"
    assert service_key(without_due()) == "wait_p95"
    assert service_key(without_due(other_width_share=0.5, jct_mean=9.0)) == "jct_mean"
    assert service_key(without_due(preemptions=3, not_running_p95=5.0)) == "not_running_p95"


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=6))
def test_an_option_is_beaten_if_another_is_no_worse_in_both_and_better_in_one(places):
    options = [option(f"P{k}", [numbers(late / 10, float(cost))]) for k, (cost, late) in enumerate(places)]
    found = points(options)
    for point, (cost, late) in zip(found, places, strict=True):
        beaten = any(c <= cost and m <= late and (c, m) != (cost, late) for c, m in places)
        assert point.beaten == beaten


def test_more_worth_is_better_and_less_cost():
    options = [option(name, [{**numbers(0.0, cost, utility_total=worth), "late_share": None}])
               for name, cost, worth in (("A", 1.0, 3.0), ("B", 1.0, 2.0), ("C", 2.0, 4.0))]  # fmt: skip
    found = points(options)
    assert {point.name: point.beaten for point in found} == {"A": False, "B": True, "C": False}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"audit": ("node 4: used twice",)}, "failed its audit (1 violation, the first: node 4: used twice)"),
        ({"origin": dataclasses.replace(ORIGIN, workload_hash="other", jobs=13)}, "are runs of different workloads"),
        ({"draws": (numbers(0.2, 1.0),) * 2}, "has 2 futures, the baseline 'FIFO' has 3"),
        ({"name": "FIFO"}, "appears twice"),
    ],
    ids=["audit", "jobs", "draws", "name"],
)
def test_what_may_not_enter_a_report(change, words):
    fifo, sjf = two()
    with pytest.raises(InputError) as error:
        build([fifo, dataclasses.replace(sjf, **change)], made_on=DAY)
    assert words in str(error.value)
    assert error.value.do


@pytest.mark.parametrize("many", [1, 7])
def test_a_page_compares_two_to_six(many):
    with pytest.raises(InputError, match="compares 2 to 6 options"):
        build([option(f"P{k}", [numbers(0.1, 1.0)]) for k in range(many)], made_on=DAY)


@pytest.mark.parametrize("name", ["question", "recommendation", "note"])
def test_texts_fit_the_page(name):
    field = {"recommendation": "recommended"}.get(name, name)
    fits: dict[str, Any] = {field: "x" * LONGEST[name]}
    too_long: dict[str, Any] = {field: "x" * (LONGEST[name] + 1)}
    full_memo(**fits)
    with pytest.raises(InputError, match=f"{name}: has"):
        full_memo(**too_long)


def test_bounds_say_what_is_left_at_most():
    options = [option(name, [numbers(0.1, 80.0, total_cost=100.0, total_cost_bound=91.0)]) for name in ("A", "B")]
    memo = build(options, made_on=DAY, basis=EXACT_BASIS, rents=True)
    assert memo.bounds["A"] == "total cost could be up to 9% lower (proven lower bound $91.00)"
    assert build(options, made_on=DAY, basis=EXACT_BASIS).bounds == {}  # a total is not compared there


def test_who_gains_has_the_means_of_the_jobs():
    (found,) = full_memo().winners
    assert {group.name: group.change for group in found.groups} == {"ann": -3600.0, "bob": 1800.0}
    assert found.total.change == -900.0


# ---- how to compute it again ---------------------------------------------------------------------------


def test_commands_name_file_policy_parameters_and_draws():
    fifo, sjf = two()
    assert simulate_command(sjf) == ("dlsched simulate Night-shift.json --policy sjf --param vm_type=two --seed 0")
    assert compare_command([fifo, sjf]) == (
        "dlsched compare Night-shift.json --policies fifo,sjf --futures 2 --vary none --param sjf.vm_type=two"
    )
    assert commands([fifo, sjf])[0] == compare_command([fifo, sjf])
    quoted = option("X", [numbers(0.1, 1.0)], "dlas", params={"thresholds_gpu_s": [60.0, 120.0]})
    assert "--param 'thresholds_gpu_s=[60.0, 120.0]'" in simulate_command(quoted)


@pytest.mark.parametrize(
    "change",
    [{"policy": "fifo", "params": {}}, {"policy": ""}, {"futures": Futures(seeds=(0, 2, 5))},
     {"origin": dataclasses.replace(ORIGIN, scenario_hash="other")}],
    ids=["same policy", "no policy", "other futures", "other scenario"],
)  # fmt: skip
def test_one_command_is_given_only_where_it_says_all(change):
    fifo, sjf = two()
    assert compare_command([fifo, dataclasses.replace(sjf, **change)]) == ""


def test_other_parameters_of_the_same_policy_are_a_change():
    fifo, sjf = two()
    other = dataclasses.replace(sjf, name="other", params={"vm_type": "one"})
    assert compare_command([fifo, sjf, other]) == (
        "dlsched compare Night-shift.json --policies fifo,sjf --futures 2 --set policy=sjf,sjf.vm_type=one --vary none "
        "--param sjf.vm_type=two"
    )
    assert compare_command([fifo, sjf, dataclasses.replace(sjf, name="other", params={})]) == ""


def test_names_of_files_and_seeds():
    assert file_name("Q3 trace, 8 x 8 A100/..") == "Q3-trace--8-x-8-A100---.json"
    assert file_name("") == file_name("--") == "scenario.json"
    assert file_name("=x") == "x.json"
    told = {(0,): "0", (0, 1): "0, 1", (0, 1, 2, 3): "0 to 3", (0, 3, 7): "0, 3, 7"}
    assert {seeds: seeds_words(seeds) for seeds in told} == told


def test_an_option_of_a_policy_keeps_only_what_differs_and_knows_its_caveat():
    scenario = small_scenario()
    las = alternative_of("LAS", [{}], scenario, "las", {"quantum_s": 60.0, "vm_type": None}, Futures())
    assert las.params == {}
    assert alternative_of("LAS", [{}], scenario, "las", {"quantum_s": 30.0}, Futures()).params == {"quantum_s": 30.0}
    assert las.caveat == ""
    assert alternative_of("SJF", [{}], scenario, "sjf", {}, Futures()).caveat == TOLD_RUN_TIMES
    assert SEES_AHEAD != TOLD_RUN_TIMES
    assert origin_of(scenario, "mine", 2).words == "mine, v2"
    assert origin_of(scenario).words == "four jobs"


def test_a_mean_needs_the_metric_in_every_draw():
    one = option("A", [{"x": 1.0}, {"x": 3.0}, {}])
    assert one.mean("x") is None
    assert option("A", [{"x": 1.0}, {"x": 3.0}]).mean("x") == 2.0
