"""What may be said of futures: by hand, within what is possible, and true of generators whose truth is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.metrics.kpi import KPI, KPIS
from dlsched.metrics.stats.basis import EXACT_BASIS, Basis, Kind
from dlsched.metrics.stats.compare import told
from dlsched.metrics.stats.statements import (
    ADDED,
    NEXT_MONTH,
    change_of,
    could_reach,
    least_declared,
    least_likely,
    possible,
    value_of,
)
from tests.support.known import known

WAIT, COST, LATE, DONE, HELD = (KPIS[key] for key in ("wait_p95", "vm_cost", "late_share", "completed", "goodput"))
HOUR = 3600.0
MONTH = Basis(kind="recorded", futures=40, days=28)


def drawn(futures: int) -> Basis:
    return Basis(kind="drawn", futures=futures - 1)


def pairs(better: int, worse: int, same: int = 0, headline: float = -10.0) -> tuple[list[float], list[float]]:
    """Return waits of ours and theirs: future 0 differs by the headline, the others are better, worse, the same."""
    theirs = [100.0] * (1 + better + worse + same)
    return [100.0 + headline, *[90.0] * better, *[110.0] * worse, *[100.0] * same], theirs


# ---- values -----------------------------------------------------------------------------------------------


def test_what_is_not_random_has_a_value_and_no_range() -> None:
    assert value_of(WAIT, [7.0], EXACT_BASIS) == value_of(WAIT, [7.0, 7.0], EXACT_BASIS).__class__(7.0, None, None, 1)


def test_a_recorded_month_has_its_value_and_the_middle_8_of_10_futures() -> None:
    found = value_of(WAIT, [999.0, *range(1, 41)], MONTH)
    assert (found.value, found.low, found.high, found.n) == (999.0, 5.0, 36.0, 40)
    few = value_of(WAIT, [5.0, 9.0, 1.0, 3.0], MONTH)
    assert (few.value, few.low, few.high, few.n) == (5.0, 1.0, 9.0, 3)


def test_few_days_have_no_range_and_neither_has_future_0_alone() -> None:
    few_days = Basis(kind="recorded", futures=40, days=4)
    assert value_of(WAIT, range(41), few_days).low is None
    assert value_of(WAIT, [5.0], MONTH).low is None


def test_drawn_money_has_the_t_interval_of_its_mean() -> None:
    found = value_of(COST, [10.0, 12.0, 14.0], drawn(3))
    half = 4.302653 * 2.0 / math.sqrt(3)  # t of 2 degrees of freedom, standard deviation 2
    assert (found.value, found.low, found.high) == pytest.approx((12.0, 12 - half, 12 + half), rel=1e-6)


def test_drawn_waits_reach_further_up_than_down_and_never_below_zero() -> None:
    found = value_of(WAIT, [100.0, 200.0, 900.0], drawn(3))
    error = 4.302653 * math.sqrt(190_000) / math.sqrt(3) / 400
    assert (found.value, found.low, found.high) == pytest.approx(
        (400.0, 400 * math.exp(-error), 400 * math.exp(error)), rel=1e-6
    )
    assert known(found.low) > 0


def test_replays_have_their_mean_and_the_middle_8_of_10_and_speak_of_this_log_alone() -> None:
    """19 waits of 100 s to 118 s and one of 1,000 s; the change is 10 s less in each."""
    replays = Basis(kind="drawn", futures=19, are_replays=True)
    theirs = [*map(float, range(100, 119)), 1000.0]
    ours = [value - 10 for value in theirs]
    found = value_of(WAIT, theirs, replays)
    assert (found.value, found.low, found.high, found.n) == (float(np.mean(theirs)), 102, 117, 20)
    change = change_of(WAIT, ours, theirs, replays)
    assert (change.value, change.low, change.high, change.n) == (-10, -10, -10, 20)
    assert change.verdict == change_of(WAIT, ours, theirs, drawn(20)).verdict == "better"
    assert change.this_month_only
    assert could_reach(WAIT, theirs, replays) is None
    assert told(WAIT, change).verdict == "better in this log"


def test_one_draw_of_something_random_has_no_range() -> None:
    assert value_of(WAIT, [5.0], drawn(40)).low is None


# ---- changes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("futures", "declared", "likely"),
    [(9, 10, 10), (10, 10, 10), (18, 18, 16), (20, 20, 18), (30, 29, 25), (39, 38, 32), (40, 38, 32), (100, 95, 80)],
)
def test_how_many_futures_must_agree(futures: int, declared: int, likely: int) -> None:
    assert (least_declared(futures), least_likely(futures)) == (declared, likely)


def test_more_futures_never_need_fewer_to_agree() -> None:
    for rule in (least_declared, least_likely):
        assert all(after >= before for before, after in pairwise(map(rule, range(10, 200))))


@pytest.mark.parametrize(
    ("better", "worse", "headline", "verdict"),
    [
        (40, 0, -10.0, "better"), (38, 2, -10.0, "better"), (37, 3, -10.0, "likely better"),
        (32, 8, -10.0, "likely better"), (31, 9, -10.0, "not clear"), (2, 38, 10.0, "worse"),
        (8, 32, 10.0, "likely worse"), (38, 2, 10.0, "mixed"), (2, 38, -10.0, "mixed"), (40, 0, 0.0, "mixed"),
        (10, 0, -10.0, "better"), (9, 1, -10.0, "not clear"),
    ],
)  # fmt: skip
def test_a_verdict_counts_futures_and_never_contradicts_the_recorded_month(
    better: int, worse: int, headline: float, verdict: str
) -> None:
    found = change_of(WAIT, *pairs(better, worse, headline=headline), MONTH)
    assert (found.verdict, found.better, found.worse, found.value) == (verdict, better, worse, headline)


def test_fewer_than_ten_futures_say_nothing_but_the_recorded_month_does() -> None:
    for better, worse in ((9, 0), (0, 9), (5, 4), (0, 0)):
        found = change_of(WAIT, *pairs(better, worse, headline=-10.0), MONTH)
        assert (found.verdict, found.this_month_only, found.effect, found.low) == ("better", True, None, None)


def test_futures_alike_are_the_same_and_ties_are_on_no_side() -> None:
    assert change_of(WAIT, *pairs(0, 0, 40, headline=0.0), MONTH).verdict == "same"
    tied = change_of(WAIT, *pairs(30, 0, 10), MONTH)
    assert (tied.verdict, tied.same) == ("not clear", 10)


def test_the_long_run_ratio_of_a_recorded_month_by_hand() -> None:
    theirs = np.array([HOUR] * 41)
    factors = np.array([0.9] + [0.5, 0.8] * 20)
    found = change_of(WAIT, factors * HOUR, theirs, MONTH)
    logs = np.log((factors[1:] * HOUR + 180) / (HOUR + 180))
    half = 2.0518305 * logs.std(ddof=1)  # t of 27 degrees of freedom, over the days and not over the futures
    effect, later = known(found.effect), known(found.next_month)
    assert (effect.value, effect.low, effect.high) == pytest.approx(
        tuple(math.exp(logs.mean() + end) for end in (0, -half, half)), rel=1e-6
    )
    assert later.high == pytest.approx(math.exp(logs.mean() + NEXT_MONTH * half), rel=1e-6)
    assert (found.value, found.low, found.high) == pytest.approx((-0.1 * HOUR, -0.5 * HOUR, -0.2 * HOUR))


def test_money_is_a_difference_by_the_same_rule() -> None:
    theirs = np.array([1000.0] * 41)
    ours = np.array([1100.0] + [1050.0, 1150.0] * 20)
    effect = known(change_of(COST, ours, theirs, MONTH).effect)
    half = 2.0518305 * (ours - theirs)[1:].std(ddof=1)
    assert not effect.is_ratio
    assert (effect.value, effect.low, effect.high) == pytest.approx((100.0, 100 - half, 100 + half), rel=1e-6)


def test_what_varies_beside_the_days_is_drawn_independently() -> None:
    ours, theirs = np.array([1100.0] + [1050.0, 1150.0] * 20), np.array([1000.0] * 41)
    found = change_of(COST, ours, theirs, Basis(kind="recorded", futures=40))
    half = 2.0226909 * (ours - theirs)[1:].std(ddof=1) / math.sqrt(40)
    assert known(found.effect).high == pytest.approx(100 + half, rel=1e-6)
    assert found.next_month is None


def test_a_few_days_say_what_this_month_was_and_nothing_else() -> None:
    found = change_of(WAIT, *pairs(0, 40), Basis(kind="recorded", futures=40, days=4))
    assert (found.verdict, found.this_month_only, found.effect, found.low) == ("better", True, None, None)
    alone = change_of(WAIT, [5.0], [9.0], Basis(kind="recorded"))
    assert (alone.verdict, alone.this_month_only) == ("better", True)


def test_drawn_futures_by_the_interval_of_the_mean_log_ratio() -> None:
    theirs, factors = np.array([HOUR] * 3), np.array([0.5, 0.6, 0.7])
    found = change_of(WAIT, factors * HOUR, theirs, drawn(3))
    logs = np.log((factors * HOUR + 180) / (HOUR + 180))
    half = 4.302653 * logs.std(ddof=1) / math.sqrt(3)
    assert known(found.effect).high == pytest.approx(math.exp(logs.mean() + half), rel=1e-6)
    assert (found.verdict, found.better) == ("better", 3)
    assert found.value == pytest.approx(-0.4 * HOUR)


def test_means_and_ratios_of_drawn_futures_that_disagree_are_mixed() -> None:
    theirs = np.array([HOUR] * 9 + [100 * HOUR])
    ours = np.array([0.5 * HOUR] * 9 + [140 * HOUR])
    found = change_of(WAIT, ours, theirs, drawn(10))
    assert found.value > 0
    assert known(found.effect).high < 1
    assert found.verdict == "mixed"


def test_neutral_metrics_change_and_are_neither_better_nor_worse() -> None:
    held = KPIS["allocation_ratio"]
    assert change_of(held, [0.5], [0.4], EXACT_BASIS).verdict == "changed"
    assert change_of(held, [0.5] * 41, [0.4] * 41, MONTH).verdict == "changed"
    assert change_of(held, [0.5] * 36 + [0.3] * 5, [0.4] * 41, MONTH).verdict == "not clear"


def test_counts_are_compared_exactly_and_the_rest_to_half_a_permille() -> None:
    assert change_of(DONE, [9_382.0], [9_383.0], EXACT_BASIS).verdict == "worse"
    assert change_of(WAIT, [100_040.0], [100_000.0], EXACT_BASIS).verdict == "same"


def test_what_another_month_could_reach() -> None:
    values = [5 * HOUR, *[HOUR, 3 * HOUR] * 20]
    logs = np.log(np.array(values[1:]) + ADDED["duration"])
    told = math.exp(logs.mean() + 2 * 2.0518305 * logs.std(ddof=1)) - ADDED["duration"]
    assert could_reach(WAIT, values, MONTH) == pytest.approx(told, rel=1e-6)
    assert could_reach(LATE, [0.5, *[0.2, 0.9] * 20], MONTH) == 1.0
    assert known(could_reach(HELD, [0.9, *[0.7, 0.9] * 20], MONTH)) < 0.7
    assert could_reach(WAIT, values, drawn(41)) is None
    assert could_reach(WAIT, values[:5], MONTH) is None


# ---- nothing impossible --------------------------------------------------------------------------------------

KINDS: tuple[Kind, ...] = ("exact", "recorded", "drawn")
OF_EACH_KIND = [*{kpi.kind: kpi for kpi in KPIS.values()}.values(), KPIS["fairness_users_jain"]]


def test_ends_that_could_not_be_are_cut_off() -> None:
    late = known(change_of(LATE, [0.9, 1.0, 0.2], [0.3, 0.1, 0.5], drawn(3)).effect)
    assert (late.low, late.high) == pytest.approx((-0.3, 0.7))  # of 30% all can go, 70% can come
    free = known(change_of(COST, [0.0, 0.0, 5.0], [10.0, 90.0, 11.0], drawn(3)).effect)
    assert free.low == pytest.approx(-37.0)
    waits = change_of(WAIT, [0.0, 0.0, 60.0], [3600.0, 7200.0, 50.0], drawn(3))
    assert waits.low == pytest.approx(-10_850 / 3)
    assert value_of(LATE, [0.2, 1.0, 0.9], drawn(3)).high == 1.0
    assert value_of(COST, [0.0, 0.0, 9.0], drawn(3)).low == 0.0


@given(st.data(), st.sampled_from(OF_EACH_KIND), st.sampled_from(KINDS), st.integers(1, 25), st.integers(0, 9))
def test_no_statement_leaves_what_is_possible(data: st.DataObject, kpi: KPI, kind: Kind, many: int, days: int) -> None:
    least, most = possible(kpi)
    top = most if math.isfinite(most) else 1e9

    def futures() -> Sequence[float]:
        return data.draw(st.lists(st.floats(least, top), min_size=many, max_size=many))

    ours, theirs, basis = futures(), futures(), Basis(kind=kind, futures=many - 1, days=days)
    for values in (ours, theirs):
        found = value_of(kpi, values, basis)
        ends = [end for end in (found.low, found.value, found.high) if end is not None]
        assert all(least <= end <= most * (1 + 1e-12) for end in ends)
        if kind == "drawn":
            assert ends == sorted(ends)
        reach = could_reach(kpi, values, basis)
        assert reach is None or least <= reach <= most
    change = change_of(kpi, ours, theirs, basis)
    assert change.better + change.worse + change.same == change.n or change.n == 0
    base = float(np.mean(theirs if kind == "drawn" else theirs[1:])) if many > 1 else theirs[0]
    slack = 1e-9 * max(top if math.isfinite(most) else 0.0, *ours, *theirs, 1.0)
    for effect in filter(None, (change.effect, change.next_month)):
        assert effect.low <= effect.value <= effect.high
        low, high = (effect.low, effect.high) if effect.is_ratio else (base + effect.low, base + effect.high)
        assert low >= least - slack
        assert effect.is_ratio or high <= most + slack
    if kind == "drawn" and change.low is not None:
        assert change.low - slack <= change.value <= known(change.high) + slack
        assert base + change.low >= least - slack
    if theirs[0] > 0 and ours[0] >= 0:
        share, low, high = change.shares_of(theirs[0])
        assert low <= share <= high
        assert low >= min(-1.0, share)


# ---- true of a generator whose truth is known -------------------------------------------------------------------


def test_the_long_run_interval_holds_the_truth_and_would_not_with_more_futures_in_place_of_days() -> None:
    """Traces of 14 days, each day's log ratio normal: the truth is its mean, the futures are resampled means."""
    rng, truth, traces = np.random.default_rng(5), -0.2, 300
    basis = Basis(kind="recorded", futures=40, days=14)
    held = 0
    for _ in range(traces):
        days = rng.normal(truth, 0.5, 14)
        months = np.concatenate([[days.mean()], rng.choice(days, (40, 14)).mean(axis=1)])
        theirs = np.full(41, 1e9)  # so long that what is added to both does not count
        effect = known(change_of(WAIT, 1e9 * np.exp(months), theirs, basis).effect)
        held += math.log(effect.low) <= truth <= math.log(effect.high)
    assert 0.88 <= held / traces <= 0.99
