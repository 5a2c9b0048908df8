"""No memo contradicts itself: random options through ``build``, and claims that are made to disagree."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.metrics.kpi import KPIS
from dlsched.metrics.stats.basis import EXACT_BASIS, Basis
from dlsched.metrics.stats.compare import compare
from dlsched.report.alternatives import Alternative, Condition
from dlsched.report.claims import Claim, claims_of, contradictions
from dlsched.report.evidence import Sensitivity, Situation, frontier_of
from dlsched.report.html import to_html
from dlsched.report.memo import Memo, build
from dlsched.studies.sizing.answer import Size
from dlsched.studies.sizing.rule import Replicate, Rule
from dlsched.wording.caveats import Caveat
from tests.support.known import known
from tests.support.memos import DAY, full_memo, numbers, option, two
from tests.support.sizings import USD_MONTH, WAIT, sizing

GOOD, BAD = ("better", "likely better"), ("worse", "likely worse")
BASES = (EXACT_BASIS, Basis(kind="drawn", futures=11), Basis(kind="recorded", futures=11, days=28),
         Basis(kind="recorded", futures=11, days=3))  # fmt: skip
FUTURES = 12
WAITS = st.one_of(st.sampled_from([0.0, 3600.0, 7200.0]), st.floats(0, 1e6))


@st.composite
def options(draw: st.DrawFn) -> list[Alternative]:
    """Two to five options in twelve futures; each is near the first, far from it, or anything."""
    many = draw(st.integers(2, 5))
    condition = draw(st.sampled_from([Condition(), Condition({"demand": 1.3}, "30% more jobs")]))
    base = draw(st.lists(WAITS, min_size=FUTURES, max_size=FUTURES))
    found = []
    for place in range(many):
        factor = draw(st.sampled_from([1.0, 0.5, 0.9, 2.0]))
        noise = draw(st.lists(st.sampled_from([1.0, 1.0, 0.8, 1.5]), min_size=FUTURES, max_size=FUTURES))
        waits = [wait * factor * more if place else wait for wait, more in zip(base, noise, strict=True)]
        cost = draw(st.sampled_from([100.0, 100.0, 80.0, 130.0]))
        done = draw(st.sampled_from([12, 12, 12, 11]))
        total = {"total_cost": 2 * cost, "total_cost_bound": draw(st.floats(1.0, 2 * cost))}
        draws = [{**numbers(0.0, cost, wait_p95=wait, completed=done, **total), "late_share": None} for wait in waits]
        draws = [{key: value for key, value in one.items() if value is not None} for one in draws]
        more: dict[str, Any] = {"changes": {"nodes": float(place)}} if place else {}
        is_limit = bool(place) and draw(st.integers(0, 5)) == 0
        found.append(option(f"option {place}", draws, condition=condition, is_limit=is_limit, **more))
    return found


def searched(chosen: list[Alternative], basis: Basis) -> dict[str, Any]:
    """The last option as a size that a search found, with the numbers of the options."""
    first, last = chosen[0], chosen[-1]
    sizes = [
        Size(counts=(count,), usd_month=USD_MONTH * count, draws=tuple(
            Replicate(seed=seed, values={"wait_p95": one["wait_p95"]}, jobs=12, done=12, needed=12)
            for seed, one in enumerate(of.draws)))
        for count, of in ((2, first), (4, last))
    ]  # fmt: skip
    rule = Rule(targets=(WAIT,), basis=basis)
    found = sizing(sizes=tuple(sizes), rule=rule, futures=first.futures, neighbours=())
    chosen[-1] = dataclasses.replace(last, claim="the cheapest size tried that would have met its target.")
    return {"sizes": known(frontier_of(found, last.name))}


def situations(chosen: list[Alternative], basis: Basis, order: list[int]) -> Sensitivity:
    """The options as they are, and with their numbers given to one another."""
    rows = []
    for places in (list(range(len(chosen))), order):
        runs = [(one.name, chosen[place].draws) for one, place in zip(chosen, places, strict=True)]
        row = compare(runs, chosen[0].name, basis=basis, keys=("wait_p95",)).row("wait_p95")
        rows.append(known(row))
    return Sensitivity((Situation("as it is", rows[0]), Situation("at night", rows[1])), basis, FUTURES)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_set_of_options_makes_a_memo_that_contradicts_itself(data: st.DataObject) -> None:
    chosen, basis = data.draw(options()), data.draw(st.sampled_from(BASES))
    given_parts: dict[str, Any] = {}
    if data.draw(st.booleans()):
        given_parts = searched(chosen, basis)
    elif data.draw(st.booleans()):
        order = data.draw(st.permutations(range(len(chosen))))
        given_parts = {"sensitivity": situations(chosen, basis, order)}
    memo = build(chosen, made_on=DAY, basis=basis, **given_parts)  # refuses nothing that is merely unclear
    assert contradictions(claims_of(memo)) == []
    _reads_without_contradiction(memo)


def _reads_without_contradiction(memo: Memo) -> None:
    """Check what a reader sees, by the numbers of the comparison alone."""
    text, page = memo.recommendation, to_html(memo)
    service = known(memo.comparison.row("wait_p95"))
    limits = {one.name for one in memo.options if one.is_limit}
    assert memo.recommendation in page or "&" in page
    if "hoose option" in text:
        assert memo.best not in limits
        cell = service.of(memo.best)
        if memo.sizes is None or not next(one for one in memo.options if one.name == memo.best).claim:
            paid = known(memo.comparison.row("cost_month")).of(memo.best)
            done = known(memo.comparison.row("completed")).of(memo.best)
            assert cell.verdict == "better" or (cell.verdict == "same" and paid.verdict in GOOD)
            assert not {paid.verdict, done.verdict} & {*BAD}
        assert memo.best not in {point.name for point in memo.points if point.beaten}
    if "The better choice is likely" in text or "the better choice is likely" in text:
        assert service.of(memo.best).verdict == "likely better"
    for row in memo.rows:
        whole = known(memo.comparison.row(row.kpi.key))
        assert [cell.text for cell in row.cells] == [cell.text for cell in whole.cells]
    for reason in memo.advice.reasons:
        row = known(memo.comparison.row(reason.metric))
        assert reason.after == known(row.of(reason.option).value).value
        if reason.verdict in (*GOOD, *BAD) and reason.verdict == row.of(reason.option).verdict:
            assert KPIS[reason.metric].show(reason.after) in text or reason.metric == "cost_month" or "more in" in text
    if memo.sensitivity is not None and memo.advice.is_change:
        assert " in 0 of" not in memo.sensitivity.words(memo.advice)
    assert memo.service == "wait_p95"


# ---- claims that disagree ------------------------------------------------------------------------------


def test_the_memo_of_two_policies_has_claims_of_every_part() -> None:
    memo = full_memo()
    parts = {claim.part for claim in claims_of(memo)}
    assert {"title", "options", "recommendation", "first page", "all numbers", "chart"} <= parts
    assert Claim("recommendation", "choose", "choose", "SJF") in claims_of(memo)


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (Claim("chart", "value", 0.31, "SJF", "late_share"), "first page: SJF, Share of late jobs: 30%|31%"),
        (Claim("slides", "verdict", "not clear", "SJF", "late_share"), "better.*not clear"),
        (Claim("slides", "service", "wait_p95"), "service late_share against slides: service wait_p95"),
        (Claim("slides", "condition", "30% more jobs"), "as things are.*30% more jobs"),
        (Claim("first page", "verdict", "worse", "SJF", "wait_p50"), "choose SJF .* against first page: SJF"),
        (Claim("chart", "beaten", "another choice is no worse in both", "SJF"), "choose SJF .* against chart: SJF"),
        (Claim("options", "limit", "cannot be chosen", "SJF"), "choose SJF .* against options: SJF"),
        (Claim("what could change this", "holds", 0.0, "SJF"), "choose SJF .* against what could change this: SJF"),
        (Claim("options", "needs", "example-data", "SJF"), "example-data"),
        (Claim("bounds", "bound", 11.0, "SJF", "jct_mean"), "11 s against all numbers: .*10 s"),
    ],
    ids=["value", "verdict", "service", "condition", "worse", "beaten", "limit", "nowhere", "caveat", "bound"],
)
def test_a_claim_that_disagrees_is_named_with_the_other(claim: Claim, words: str) -> None:
    plain = [*claims_of(full_memo()), Claim("all numbers", "value", 10.0, "SJF", "jct_mean")]
    assert contradictions(plain) == []
    found = contradictions([*plain, claim])
    assert found
    assert any(re.search(words, text) for text in found), found


def test_to_stay_is_refused_beside_what_is_better_and_costs_nothing() -> None:
    claims = [Claim("recommendation", "stay", "stay", "FIFO"), Claim("recommendation", "service", "late_share"),
              Claim("first page", "verdict", "better", "SJF", "late_share")]  # fmt: skip
    assert "stay FIFO" in contradictions(claims)[0]
    assert contradictions([*claims, Claim("first page", "verdict", "worse", "SJF", "cost_month")]) == []


def test_a_memo_that_was_changed_afterwards_is_refused() -> None:
    memo = full_memo()
    worse = [two()[0], option("SJF", [numbers(late, 100.0) for late in (0.7, 0.8, 0.9)], "sjf")]
    with pytest.raises(InputError, match="memo: would contradict itself: recommendation: SJF"):
        dataclasses.replace(memo, comparison=full_memo(worse).comparison)
    with pytest.raises(InputError, match="choose SJF"):
        dataclasses.replace(memo, points=tuple(dataclasses.replace(one, beaten=True) for one in memo.points))
    caveat = Caveat("example data, not yours", "They are not yours.", "Jobs", kind="example-data")
    assert dataclasses.replace(memo, caveats=(caveat,)).labels == ("example data, not yours",)
