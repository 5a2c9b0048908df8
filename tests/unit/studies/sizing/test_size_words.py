"""What the page Size says, of answers written by hand; limits, deliveries and months as they are typed."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.figures.palette import LIGHT
from dlsched.figures.size import cost_and_service
from dlsched.metrics.kpi import KPIS
from dlsched.metrics.stats.basis import EXACT_BASIS
from dlsched.studies.design import Futures
from dlsched.studies.growth import words as growth_words
from dlsched.studies.growth.answer import Growth, to_order
from dlsched.studies.sizing.answer import Headroom, Size
from dlsched.studies.sizing.rule import Rule
from dlsched.studies.sizing.targets import limit_text, read_target, usual_limit
from dlsched.studies.sizing.words import (
    cards_of,
    cautions_of,
    certainty,
    goal_words,
    headroom_card,
    headroom_cards,
    headroom_rows,
    nodes_card,
    premises_of,
    rows_of,
    sentence,
)
from dlsched.ui.fields.targets import read_targets
from dlsched.ui.plan.growth import MONTH, NODES, TYPE, read_steps
from tests.support import sizings
from tests.support.known import known
from tests.support.sizings import DRAWN, HOUR_S, WAIT, draws, growth, sizing, waits
from tests.support.wording import says

BETTER = [key for key, kpi in KPIS.items() if kpi.better != "neutral"]


def test_the_card_of_several_types_leaves_out_those_it_has_none_of() -> None:
    types = tuple(sizings.NODES.model_copy(update={"key": f"nodes.{name}", "name": name}) for name in ("a", "b"))
    answer = sizing(types=types, today=(1, 6))
    assert nodes_card(answer, (0, 8)) == "8 b"
    assert nodes_card(answer, (1, 6)) == "1 a + 6 b"


# ---- limits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "limit", "text"),
    [
        ("wait_p95", 3600.0, "1 h"),
        ("wait_p95", 5400.0, "1 h 30 min"),
        ("wait_p95", 172_800.0, "2 d"),
        ("wait_p95", 0.5, "500 ms"),
        ("late_share", 0.05, "5%"),
        ("cost_month", 50_000.0, "$50,000/month"),
        ("slowdown_mean", 2.5, "2.5x"),
        ("completed", 1200.0, "1,200"),
        ("tardiness_total", 3600.0 * 40, "40 h"),
    ],
)
def test_a_limit_is_written_as_people_write_it(metric: str, limit: float, text: str) -> None:
    assert limit_text(KPIS[metric], limit) == text


@given(metric=st.sampled_from(BETTER), limit=st.floats(0.001, 1e6))
def test_a_limit_that_is_written_is_read_as_the_same(metric: str, limit: float) -> None:
    sign = "<=" if KPIS[metric].better == "lower" else ">="
    assert read_target(f"{metric}{sign}{limit_text(KPIS[metric], limit)}").limit == pytest.approx(limit, rel=1e-9)


@pytest.mark.parametrize(
    ("metric", "now", "limit"),
    [
        ("wait_p95", None, 3600.0),
        ("wait_p95", 90_000.0, 3600.0),
        ("wait_p95", 400.0, 600.0),
        ("wait_p95", 0.0, 60.0),
        ("late_share", 0.3, 0.05),
        ("cost_month", 98_058.24, 99_000.0),
        ("cost_month", 98_000.0, 98_000.0),
        ("utility_total", 1423.0, 1400.0),
        ("utility_total", 1460.0, 1400.0),
        ("slowdown_mean", None, 1.0),
    ],
)
def test_fields_begin_with_what_is_usual_or_with_what_is_so_now(metric: str, now: float | None, limit: float) -> None:
    assert usual_limit(KPIS[metric], now) == pytest.approx(limit)


def test_a_bad_limit_names_its_field_and_a_way_to_write_it() -> None:
    with pytest.raises(InputError, match=r"Target p95 wait: .*needs a unit of its kind, got none.*as 1 h"):
        read_targets({"wait_p95": "60"})
    with pytest.raises(
        InputError, match=r"Share of late jobs: the limit is not a number with a unit, got 'few'.*as 5%"
    ):
        read_targets({"wait_p95": "1 h", "late_share": "few"})
    with pytest.raises(InputError, match="Targets: there is none"):
        read_targets({})
    (target,) = read_targets({"utility_total": "1,200"})
    assert (target.limit, target.side) == (1200.0, "at least")


# ---- the answer --------------------------------------------------------------------------------------


def test_the_headline_says_size_price_difference_and_over_how_many_futures() -> None:
    text = sentence(sizing())
    assert says(text, "4 nodes are the cheapest", "3 simulated versions", "$29,200/month", "$14,600/month more")
    assert certainty(sizing()) == "met in 3 of 3 futures"
    exact = sizing(EXACT_BASIS)
    assert "in this trace" in sentence(exact)
    assert certainty(exact) == "exact for this trace, not a forecast"


def test_cards_of_an_answer() -> None:
    cards = {label: value for label, value, _ in cards_of(sizing())}
    assert cards == {
        "Nodes": "4 (+2)",
        "Cost per month": "$29,200",
        "p95 wait": "30 min (limit 1 h)",
        "Headroom": "+20% jobs",
    }
    fewer = cards_of(sizing(today=(6,)))
    assert fewer[0][1] == "4 (−2)"
    assert cards_of(sizing(today=(4,)))[0][1] == "4 (as today)"


def test_cards_without_prices_count_gpus() -> None:
    sizes = tuple(one.model_copy(update={"usd_month": None}) for one in sizing().sizes)
    answer = sizing(sizes=sizes, cost_by="gpus")
    assert cards_of(answer)[1][:2] == ("GPUs", "32")
    assert rows_of(answer)[0]["GPUs"] == "16"
    assert "no prices" in [chip.label for chip in premises_of(answer)]
    assert "No prices are set" in sentence(answer)


def test_on_free_slots_costs_are_those_of_the_runs() -> None:
    usd = {(2,): (100.0, 120.0, 110.0), (4,): (130.0, 150.0, 140.0)}
    sizes = tuple(
        Size(counts=counts, draws=draws([{"wait_p95": 60.0, "cost_month": one} for one in found]))
        for counts, found in usd.items()
    )
    answer = sizing(sizes=sizes, cost_by="runs", neighbours=(), headroom=())
    cards = {label: (value, hint) for label, value, hint in cards_of(answer)}
    assert cards["Cost per month"] == ("$140", "What its runs cost. Against today: +$30.00/month.")
    assert [row["Cost/month"] for row in rows_of(answer)] == ["$110/month", "$140/month"]
    chart = known(cost_and_service(answer, "wait_p95", LIGHT))
    assert chart.figure.layout.xaxis.title.text == "Cost of the runs ($/month)"
    assert any(one.error_x.array for one in chart.figure.data if one.error_x.array is not None)


def test_where_nothing_does_cards_tell_what_was_reached() -> None:
    kept = tuple(one for one in sizing().sizes if one.counts in ((1,), (2,)))
    none = sizing(sizes=kept, answer=None, neighbours=(), status="none", headroom=())
    assert sentence(none).startswith("No size tried, up to 2 nodes, meets the target (p95 wait at most 1 h)")
    assert [card[:2] for card in cards_of(none)] == [("Sizes tried", "2"), ("p95 wait, lowest reached", "5 h")]


@pytest.mark.parametrize(
    ("last", "first", "text"),
    [
        (1.2, 1.25, "+20% jobs"),
        (1.0, 1.05, "none"),
        (4.0, None, "at least +300% jobs"),
        (None, 1.0, "none"),
    ],
)
def test_headroom_in_a_card(last: float | None, first: float | None, text: str) -> None:
    assert headroom_card(Headroom(counts=(4,), last=last, first=first, loads=())) == text


def test_every_size_is_a_row_with_verdicts_as_words() -> None:
    rows = rows_of(sizing())
    assert [row["Size"] for row in rows] == ["2 nodes", "1 node", "3 nodes", "4 nodes", "6 nodes"]
    assert [row["Note"] for row in rows] == ["today", "", "just below", "answer", ""]
    assert rows[2]["p95 wait at most 1 h"] == "1 h (37 min to 1 h 39 min), borderline"
    assert [row["All targets"] for row in rows] == ["fails", "fails", "borderline", "ok", "ok"]
    assert [row["Met"] for row in rows] == [f"in {hits} of 3 futures" for hits in (0, 0, 2, 3, 3)]
    assert "Why" not in rows[0]
    broken = Size(counts=(7,), error="an absence is of node 7")
    assert rows_of(sizing(sizes=(*sizing().sizes, broken)))[-1]["Why"] == "an absence is of node 7"


def test_banners_tell_what_must_be_known_before_the_answer() -> None:
    assert cautions_of(sizing()) == []
    levels = [guard.level for guard in cautions_of(sizing(), stale=True, elsewhere=True)]
    assert levels == ["info", "info"]
    bad = Size(counts=(4,), usd_month=1.0, draws=waits([0.5] * 3, audit=("node 0 held twice",)))
    (guard,) = cautions_of(sizing(sizes=(bad,), answer=None, neighbours=()))
    assert guard.level == "red"
    assert "3 runs. First, 4 nodes: node 0 held twice" in guard.text
    narrow = sizings.NODES.model_copy(update={"least": 4})
    (guard,) = cautions_of(sizing(types=(narrow,)))
    assert "smallest size that was allowed (4 nodes)" in guard.text
    (guard,) = cautions_of(sizing(reasons=("the search stopped at 100 runs",)))
    assert guard.text == "The search stopped at 100 runs: a cheaper size may be left."


def test_chips_name_the_claim_the_sizes_and_what_is_drawn() -> None:
    chips = premises_of(sizing(futures=Futures.first(2, {"days": 1.0, "run_time_spread": 0.3})))
    labels = [chip.label for chip in chips]
    assert labels == ["claim: on average", "days resampled", "run times ± 30%", "sizes: 1 to 8 nodes"]
    nearly = Rule(targets=(WAIT,), claim="nearly-every", level=0.9, basis=DRAWN)
    first = premises_of(sizing(rule=nearly))[0]
    assert first.label == "claim: in 90% of months"
    assert first.why.startswith("90% of the futures")


def test_a_question_in_words_names_the_claim_only_where_something_is_random() -> None:
    words = goal_words((WAIT,), "nearly-every", 0.95, "FIFO", exact=False)
    assert words == "p95 wait at most 1 h in 95% of months, under FIFO"
    assert goal_words((WAIT,), "average", 0.95, "FIFO", exact=True) == "p95 wait at most 1 h, under FIFO"


def test_headroom_cards_and_rows() -> None:
    answer = sizing()
    assert [card[:2] for card in headroom_cards(answer)] == [
        ("Headroom of 4 nodes", "+20% jobs"), ("4 nodes with 25% more jobs", "borderline"),
    ]  # fmt: skip
    assert [row["All targets"] for row in headroom_rows(answer)] == ["ok", "ok", "borderline"]


# ---- growth ------------------------------------------------------------------------------------------


def test_cards_say_when_it_breaks_and_by_when_to_order() -> None:
    cards = [card[:2] for card in growth_words.cards_of(growth())]
    assert cards == [
        ("First missed", "February 2027"), ("Demand then", "1.33x"), ("Order by", "December 2026"),
        ("Extra cost", "$14,600/month"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "first", "order"),
    [
        ({"lead_months": 5}, ("First missed", "February 2027"), "now"),
        ({"lead_months": 5, "begin": ""}, ("First missed", "month 3"), "now"),
        (
            {"rule": Rule(targets=(WAIT.model_copy(update={"limit": 9 * HOUR_S}),), basis=DRAWN)},
            ("Holds through", "March 2027"),
            "nothing",
        ),
        ({"months": growth().months[:3], "steps": ()}, ("At risk from", "January 2027"), "December 2026"),
        ({"months": growth().months[:3], "steps": (), "begin": ""}, ("At risk from", "month 2"), "month 1"),
    ],
    ids=["late", "late without dates", "holds", "unsure", "no dates"],
)
def test_cards_of_other_answers(changes: dict[str, Any], first: tuple[str, str], order: str) -> None:
    cards = growth_words.cards_of(growth(**changes))
    assert cards[0][:2] == first
    assert cards[2][1] == order
    assert ("3 months overdue" in cards[2][2]) == (changes.get("lead_months", 0) > 3)


def test_the_order_is_for_the_first_month_at_risk_and_holds_through_the_last() -> None:
    words = growth_words.order_words(growth())
    assert words == "Order 2 more nodes by December 2026: 4 nodes hold through February 2027, $14,600/month more."
    late = growth_words.order_words(growth(lead_months=5))
    assert late.startswith("Order 2 more nodes now (3 months overdue): 4 nodes hold")
    none = growth(orders=(sizings.ORDERS[0], sizings.ORDERS[1].model_copy(update={"counts": None})))
    assert growth_words.order_words(none) == "Order by December 2026: no size up to 8 nodes holds."
    larger_first = growth(orders=(sizings.ORDERS[0].model_copy(update={"counts": (6,)}), sizings.ORDERS[1]))
    assert known(to_order(larger_first)).counts == (6,)
    unpriced = growth(orders=tuple(one.model_copy(update={"usd_more": None}) for one in sizings.ORDERS))
    assert "$" not in growth_words.order_words(unpriced)


def test_months_as_rows_leave_out_what_says_nothing() -> None:
    rows = growth_words.table_rows(growth())
    assert [row["Verdict"] for row in rows] == ["ok", "ok", "borderline", "fails", "ok"]
    assert rows[4]["Nodes"] == "4"
    assert "Why" not in rows[0]
    exact: Growth = growth(EXACT_BASIS)
    assert "Met" not in growth_words.table_rows(exact)[0]
    assert growth_words.certainty(exact) == "exact for this trace, not a forecast"
    assert growth_words.certainty(growth()) == "3 futures a month"


def test_a_month_that_cannot_be_run_is_told() -> None:
    months = (*growth().months[:4], growth().months[4].model_copy(update={"draws": (), "error": "fewer than no nodes"}))
    (guard,) = growth_words.cautions_of(growth(months=months))
    assert guard.text == "1 month cannot be run. First, March 2027: fewer than no nodes."


def table(*rows: tuple[Any, Any, Any]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=[MONTH, TYPE, NODES], dtype=object)


def test_deliveries_are_read_by_number_or_date() -> None:
    frame = table(("4", "nodes", 4), ("2027-03", None, -2.0), (None, None, None), ("", "", None))
    steps = read_steps(frame, ["nodes"], "2026-11")
    assert [(step.month, step.key, step.nodes) for step in steps] == [(4, "nodes", 4), (4, "nodes", -2)]


@pytest.mark.parametrize(
    ("row", "begin", "complaint"),
    [
        (("4", "nodes", None), "", "row 1: nodes must be a whole number, got nothing"),
        (("4", "nodes", 1.5), "", "row 1: nodes must be a whole number, got 1.5"),
        (("soon", "nodes", 4), "", "row 1: the month must be a number from 0 on, got 'soon'. Write 3"),
        ((None, "nodes", 4), "2026-11", r"got 'nothing'\. Write 3 or 2027-02"),
        (("2026-10", "nodes", 4), "2026-11", "got '2026-10'"),
        (("2027-03", "nodes", 4), "", "got '2027-03'"),
    ],
    ids=["no nodes", "half a node", "no month", "empty month", "before the first", "date without a first month"],
)
def test_a_bad_delivery_names_its_row(row: tuple[Any, Any, Any], begin: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        read_steps(table(row), ["nodes"], begin)
