"""Verdicts on sizes: by hand, against known distributions, and never rounded up from unsure."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from dlsched.domain.errors import InputError
from dlsched.metrics.stats.basis import Basis
from dlsched.studies.sizing.rule import Claim, Replicate, Rule, decided, judge, promises
from dlsched.studies.sizing.targets import Target, read_target
from tests.support.known import known
from tests.support.size_runs import draws_of

HOUR = Target(metric="wait_p95", limit=3600)
EVEN = Target(metric="fairness_users_jain", limit=0.8)


DRAWN, RECORDED = Basis(kind="drawn", futures=40), Basis(kind="recorded", futures=40, days=28)
CLAIMS: tuple[Claim, ...] = ("average", "nearly-every")


def rule(*targets: Target, claim: Claim = "average", level: float = 0.95, basis: Basis = DRAWN) -> Rule:
    return Rule(targets=targets or (HOUR,), claim=claim, level=level, basis=basis)


# ---- targets -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "metric", "limit", "side"),
    [
        ("wait_p95<=1h", "wait_p95", 3600, "at most"),
        ("wait_mean <= 90 min", "wait_mean", 5400, "at most"),
        ("late_share<=5%", "late_share", 0.05, "at most"),
        ("cost_month<=$50,000", "cost_month", 50_000, "at most"),
        ("vm_cost<=12.5$", "vm_cost", 12.5, "at most"),
        ("slowdown_mean<=2x", "slowdown_mean", 2, "at most"),
        ("completed>=1,200", "completed", 1200, "at least"),
        ("tardiness_total<=2d", "tardiness_total", 172_800, "at most"),
    ],
)
def test_targets_are_read_with_their_units(text: str, metric: str, limit: float, side: str) -> None:
    assert read_target(text).model_dump() == {"metric": metric, "limit": pytest.approx(limit), "side": side}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("wait_p95=1h", r"is not of the form METRIC<=LIMIT"),
        ("wait<=1h", r"'wait' is not a metric.*Try 'wait_"),
        ("wait_p95>=1h", r"wait_p95 is better when lower: a target is at most"),
        ("wait_p95<=60", r"the limit needs a unit of its kind, got none.*Write it as 1 h"),
        ("late_share<=0.05", r"needs a unit of its kind, got none.*5%"),
        ("late_share<=5 min", r"got 'min'"),
        ("completed>=12 jobs", r"got 'jobs'.*1,200"),
        ("wait_p95<=one hour", r"is not a number with a unit, got 'one hour'"),
        ("gpu_hours_up<=3", r"neither better nor worse when larger"),
    ],
)
def test_a_bad_target_names_itself_and_the_way_out(text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        read_target(text)


def test_share_of_the_limit_used() -> None:
    assert HOUR.share_used(1800) == 0.5
    assert EVEN.share_used(1.6) == 0.5
    nothing = Target(metric="rejected", limit=0)
    assert nothing.share_used(0) == 1
    assert nothing.share_used(2) == np.inf
    assert HOUR.words == "p95 wait at most 1 h"


# ---- verdicts by hand --------------------------------------------------------------------------------


def test_the_average_meets_only_with_its_whole_interval_inside() -> None:
    """Five futures 1,000 +- 632.5 (deviation): half width 2.776 x 632.5 / sqrt 5 = 785.3, as a factor exp(0.7853)."""
    values = [200.0, 600.0, 1000.0, 1400.0, 1800.0]
    for limit, expected in ((2194.0, "meets"), (2192.0, "unsure"), (457.0, "unsure"), (455.0, "fails")):
        check = judge(rule(Target(metric="wait_p95", limit=limit)), draws_of("wait_p95", values))
        assert check.verdict == check.targets[0].verdict == expected
    found = known(check.of("wait_p95").value)
    assert [found.value, found.low, found.high] == pytest.approx([1000, 456.0, 2193.1], abs=0.1)


def test_of_metrics_that_are_better_high_the_lower_end_decides() -> None:
    values = [0.85, 0.9, 0.95, 0.9, 0.9]
    assert judge(rule(EVEN), draws_of(EVEN.metric, values)).verdict == "meets"
    assert judge(rule(Target(metric=EVEN.metric, limit=0.9)), draws_of(EVEN.metric, values)).verdict == "unsure"
    assert judge(rule(Target(metric=EVEN.metric, limit=0.99)), draws_of(EVEN.metric, values)).verdict == "fails"


def test_one_draw_of_something_random_is_unsure_and_of_nothing_random_exact() -> None:
    draws = draws_of("wait_p95", [3600.0])
    assert judge(rule(), draws).verdict == "unsure"
    for exact in (Basis(), Basis(kind="recorded", futures=40, days=4), Basis(kind="recorded")):
        for claim in CLAIMS:
            assert judge(rule(basis=exact, claim=claim), draws).verdict == "meets"
            late = judge(rule(basis=exact, claim=claim), draws_of("wait_p95", [3601.0]))
            assert (late.verdict, late.hits, late.recorded) == ("fails", 0, None)


def test_of_a_recorded_trace_what_was_recorded_comes_first() -> None:
    """It has to meet the targets itself; the months reshuffled from it are counted without it."""
    fine, late = 600.0, 7200.0
    cases: list[tuple[Claim, list[float], str]] = [
        ("nearly-every", [fine] * 38 + [late] * 2, "meets"),
        ("nearly-every", [fine] * 37 + [late] * 3, "unsure"),
        ("nearly-every", [fine] * 20 + [late] * 20, "fails"),
        ("average", [fine] * 20 + [6600.0] * 20, "meets"),
        ("average", [fine] * 20 + [6602.0] * 20, "unsure"),
        ("average", [fine] * 2 + [late] * 38, "fails"),
    ]
    for claim, months, expected in cases:
        asked = rule(claim=claim, basis=RECORDED)
        check = judge(asked, draws_of("wait_p95", [1200.0, *months]))
        assert (check.verdict, check.recorded, check.n) == (expected, True, 40)
        assert known(check.targets[0].value).value == 1200.0
        assert check.targets[0].mean == pytest.approx(np.mean(months))
        missed = judge(asked, draws_of("wait_p95", [late, *months]))
        assert (missed.verdict, missed.recorded) == ("fails", False)


@pytest.mark.parametrize(
    ("hits", "n", "expected"),
    [(38, 40, "meets"), (37, 40, "unsure"), (35, 40, "unsure"), (34, 40, "fails"), (10, 10, "meets"), (7, 10, "fails")],
)
def test_nearly_every_counts_draws_against_the_exact_binomial_interval(hits: int, n: int, expected: str) -> None:
    draws = draws_of("wait_p95", [10.0] * hits + [9999.0] * (n - hits))
    check = judge(rule(claim="nearly-every"), draws)
    assert (check.verdict, check.hits, check.n) == (expected, hits, n)


def test_nearly_every_wants_all_targets_in_the_same_draw() -> None:
    """Each target holds in 19 of 20 draws, both together in 18."""
    waits, evens = [9999.0] + [10.0] * 19, [0.9] * 19 + [0.1]
    draws = [
        Replicate(seed=seed, values={HOUR.metric: wait, EVEN.metric: even}, jobs=10, done=10, needed=10)
        for seed, (wait, even) in enumerate(zip(waits, evens, strict=True))
    ]
    check = judge(rule(HOUR, EVEN, claim="nearly-every"), draws)
    assert [one.verdict for one in check.targets] == ["meets", "meets"]
    assert (check.hits, check.verdict) == (18, "unsure")


def test_jobs_left_undone_errors_and_complaints_of_the_audit_fail() -> None:
    fine = draws_of("wait_p95", [10.0] * 20)
    short = (fine[0].model_copy(update={"done": 9}), *fine[1:])
    check = judge(rule(), short)
    assert (check.verdict, check.lacks, check.why) == ("fails", 1, "1 job fewer done over 20 futures than needed")
    nearly = judge(rule(claim="nearly-every"), short)
    assert (nearly.hits, nearly.verdict) == (19, "meets")
    made_up = (short[0], fine[1].model_copy(update={"done": 11}), *fine[2:])
    assert judge(rule(), made_up).verdict == "meets"  # one less, one more
    ended = (Replicate(seed=0, error="no such node"), *fine[1:])
    assert judge(rule(), ended).why == "the run of future 0 failed: no such node"
    assert judge(rule(claim="nearly-every"), ended).verdict == "meets"
    for claim in CLAIMS:
        refused = (fine[0].model_copy(update={"audit": ("two jobs on one GPU",)}), *fine[1:])
        assert judge(rule(claim=claim), refused).verdict == "fails"
        assert judge(rule(claim=claim), (), "no such cluster").verdict == "fails"
        assert judge(rule(claim=claim), ()).verdict == "unsure"


def test_a_draw_without_the_number_fails_the_average_and_is_no_hit() -> None:
    """A policy that rejects everything has no waits: that is not a wait of none."""
    draws = draws_of("wait_p95", [10.0, None, 10.0])
    check = judge(rule(), draws)
    assert (check.verdict, check.targets[0].value, check.targets[0].why) == (
        "fails",
        None,
        "no value in 1 of 3 futures",
    )
    assert judge(rule(claim="nearly-every"), draws).hits == 2


@given(st.lists(st.floats(0, 7200), min_size=2, max_size=30), st.floats(1, 7200))
def test_meeting_and_failing_exclude_each_other_whatever_the_draws(values: list[float], limit: float) -> None:
    """What meets a limit meets a looser one; what fails it fails a tighter one."""
    order = ["fails", "unsure", "meets"]
    for claim in CLAIMS:
        verdicts = [
            judge(rule(Target(metric="wait_p95", limit=at), claim=claim), draws_of("wait_p95", values)).verdict
            for at in (0.5 * limit, limit, 2 * limit)
        ]
        ranks = [order.index(one) for one in verdicts]
        assert ranks == sorted(ranks)


# ---- before all futures ran --------------------------------------------------------------------------

VALUES = st.one_of(st.floats(0, 7200), st.sampled_from([10.0, 3600.0, 9999.0]), st.none())


@given(
    st.lists(st.tuples(VALUES, st.integers(8, 12), st.booleans(), st.booleans()), min_size=1, max_size=14),
    st.sampled_from([DRAWN, RECORDED, Basis()]),
    st.sampled_from(CLAIMS),
    st.randoms(),
)
def test_what_is_decided_early_is_never_another_verdict(
    futures: list[tuple[float | None, int, bool, bool]], basis: Basis, claim: Claim, order: Random
) -> None:
    """Whatever futures say and in whatever order they run: once it is certain, the rest cannot change it."""
    draws = [
        Replicate(seed=seed, values={HOUR.metric: value, EVEN.metric: 0.9}, jobs=12, done=done, needed=10,
                  audit=("two jobs on one GPU",) if bad and seed == 5 else (), error="ended" if ended and bad else "")
        for seed, (value, done, bad, ended) in enumerate(futures[:1] if basis.is_exact else futures)
    ]  # fmt: skip
    asked = rule(HOUR, EVEN, claim=claim, basis=basis.model_copy(update={"futures": len(draws) - 1}))
    whole = judge(asked, draws).verdict == "meets"
    mixed = order.sample(draws, len(draws))
    for ran in range(len(draws) + 1):
        found = decided(asked, sorted(mixed[:ran], key=lambda one: one.seed), len(draws))
        assert found in (None, whole)
    assert found == whole


def test_futures_stop_as_soon_as_the_verdict_is_certain() -> None:
    late, fine = 7200.0, 60.0
    nearly = rule(claim="nearly-every", basis=RECORDED)
    assert decided(nearly, draws_of("wait_p95", [late]), 41) is False
    assert decided(nearly, draws_of("wait_p95", [fine, late, late]), 41) is None
    assert decided(nearly, draws_of("wait_p95", [fine, late, late, late]), 41) is False
    assert decided(nearly, draws_of("wait_p95", [fine] * 38), 41) is None
    assert decided(nearly, draws_of("wait_p95", [fine] * 39), 41) is True
    recorded = rule(basis=RECORDED)
    assert decided(recorded, draws_of("wait_p95", [fine, 3600.0 * 40]), 41) is None
    assert decided(recorded, draws_of("wait_p95", [fine, 3600.0 * 41]), 41) is False
    assert decided(rule(), draws_of("wait_p95", [3600.0 * 13]), 41) is None  # 0.32 h + 0.64 h with 40 more of 0
    assert decided(rule(), draws_of("wait_p95", [3600.0 * 14]), 41) is False  # 0.34 h + 0.69 h
    assert decided(rule(), draws_of("wait_p95", [fine] * 40), 41) is None
    assert decided(rule(EVEN), draws_of(EVEN.metric, [0.1] * 4), 41) is None  # 37 more of 1: 0.91 - 0.09
    assert decided(rule(EVEN), draws_of(EVEN.metric, [0.1] * 5), 41) is False  # 0.89 - 0.09
    recorded = rule(EVEN, basis=RECORDED)
    assert decided(recorded, draws_of(EVEN.metric, [0.9, *[0.1] * 8]), 41) is None
    assert decided(recorded, draws_of(EVEN.metric, [0.9, *[0.1] * 9]), 41) is False  # 31 more of 1: below 0.8 of 40


@given(st.lists(st.floats(0, 7200), min_size=2, max_size=30), st.integers(1, 20), st.sampled_from([HOUR, EVEN]))
def test_an_interval_is_beyond_a_target_only_where_no_values_to_come_bring_it_back(
    seen: list[float], more: int, target: Target
) -> None:
    seen = seen if target is HOUR else [value / 7200 for value in seen]
    whole = len(seen) + more
    found = decided(rule(target), draws_of(target.metric, seen), whole)
    assert found in (None, False)
    mean = sum(seen) / len(seen)
    best = [mean * part / 20 for part in range(21)] + [
        1 - (1 - mean) * part / 20 for part in range(21) if target is EVEN
    ]
    completed = [judge(rule(target), draws_of(target.metric, [*seen, *[value] * more])).verdict for value in best]
    if found is False:
        assert "meets" not in completed
    # It is not given up too late either: 1% off the limit decides otherwise.
    loose = target.model_copy(update={"limit": target.limit * (1.01 if target is HOUR else 0.99)})
    if "meets" not in [judge(rule(loose), draws_of(target.metric, [*seen, *[value] * more])).verdict for value in best]:
        assert found is False or target is HOUR  # of waits the interval is of the logarithm, and longer


def test_an_interval_that_stays_beyond_a_target_stops_a_size_sooner_than_its_mean() -> None:
    late = [2 * 3600.0, 0.5 * 3600.0] * 6  # a mean of 1.25 h: 29 more of 0 would bring the mean to 0.37 h
    assert decided(rule(), draws_of("wait_p95", late), 15) is False  # 12 / 15 of 1.25 h is 1 h, but its spread is wide
    assert decided(rule(), draws_of("wait_p95", late), 41) is None
    steady = [1.2 * 3600.0] * 36  # the mean of 41 can be 1.05 h at least
    assert decided(rule(), draws_of("wait_p95", steady), 41) is False
    assert decided(rule(basis=RECORDED), draws_of("wait_p95", [60.0, *steady[:30]]), 41) is None  # by the mean alone


def test_a_few_futures_guess() -> None:
    assert promises(rule(basis=RECORDED), draws_of("wait_p95", [60.0, 60.0, 7000.0]))
    assert not promises(rule(basis=RECORDED), draws_of("wait_p95", [4000.0, 60.0]))
    assert not promises(rule(claim="nearly-every"), draws_of("wait_p95", [60.0, 60.0, 60.0, 7000.0]))
    assert not promises(rule(), draws_of("wait_p95", [60.0, None]))


# ---- known distributions -----------------------------------------------------------------------------


@pytest.mark.parametrize("n", [10, 40])
def test_the_average_is_wrong_in_one_of_forty_at_the_limit(n: int) -> None:
    """Futures are normal with the mean at the limit itself: both wrong verdicts have a chance of 2.5%."""
    rng = np.random.default_rng(n)
    cost = rule(Target(metric="cost_month", limit=3600))
    verdicts = [judge(cost, draws_of("cost_month", rng.normal(3600, 900, n).tolist())).verdict for _ in range(2000)]
    for wrong in ("meets", "fails"):
        share = verdicts.count(wrong) / 2000
        assert abs(share - 0.025) < 4 * np.sqrt(0.025 * 0.975 / 2000)


def test_skewed_waits_are_called_met_too_often_with_ten_draws_and_hardly_with_fifty() -> None:
    """Log-normal draws, coefficient of variation 1.3, mean at the limit: what a t interval is known to be weak at."""
    rng = np.random.default_rng(8)

    def share_met(n: int) -> float:
        given = rng.lognormal(np.log(3600) - 0.5, 1.0, (1000, n))
        return sum(judge(rule(), draws_of("wait_p95", row.tolist())).verdict == "meets" for row in given) / 1000

    assert 0.08 < share_met(10) < 0.2
    assert share_met(50) < 0.1


@pytest.mark.parametrize(("true_share", "most"), [(0.95, 1.0), (0.9, 0.25), (0.8, 0.01)])
def test_nearly_every_meets_by_the_binomial_law(true_share: float, most: float) -> None:
    """What 40 draws call met: as often as 38 hits or more come up; that is told with the interval (decision 030)."""
    exact = float(binom.sf(37, 40, true_share))
    rng = np.random.default_rng(5)
    shares = rng.random((2000, 40)) < true_share
    met = [
        judge(rule(claim="nearly-every"), draws_of("wait_p95", np.where(row, 10.0, 9999.0).tolist())).verdict == "meets"
        for row in shares
    ]
    assert np.mean(met) == pytest.approx(exact, abs=4 * np.sqrt(0.25 / 2000))
    assert np.mean(met) <= most


def test_nearly_every_fails_a_size_that_holds_at_the_level_hardly_ever() -> None:
    """The upper end of the interval below 95%, where 95% is true: a chance of at most 2.5%."""
    failing = [hits for hits in range(41) if judge(
        rule(claim="nearly-every"), draws_of("wait_p95", [10.0] * hits + [9999.0] * (40 - hits))
    ).verdict == "fails"]  # fmt: skip
    assert 0 < binom.cdf(max(failing), 40, 0.95) <= 0.025
