"""What the view into prices and admissions says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dlsched.policies.primal_dual.online import NO_ROOM, NOT_WORTH
from dlsched.studies.inspect.dual_prices.answer import Booked, EndingThen, Hindsight, JobDecision, PricedRun, packed
from dlsched.studies.inspect.dual_prices.words import (
    cards_of,
    cautions_of,
    hindsight_words,
    jobs_frame,
    more_of,
    premises_of,
    reckoning_of,
    sentence_of,
)
from tests.support.assumptions import read
from tests.support.models import replaced
from tests.support.priced_runs import four_priced

LATE = "cannot finish in time"


def decided(row: int = 0, why: str = "", **other: Any) -> JobDecision:
    given: dict[str, Any] = {
        "number": row + 1, "time_s": 60.0 * row, "first": 1, "job": f"j{row}", "row": row, "again": False, "why": why,
        "best": None if why in (NO_ROOM, LATE) else EndingThen(8, 14.2, 9.1), "other": None, "paid": (9.0, 0.1),
        "bookings": (), "prices": "",
    }  # fmt: skip
    return JobDecision(**(given | other))


def a_run(*decisions: JobDecision, machines: int = 4) -> PricedRun:
    return PricedRun(
        policy="pd-ors", resources=("gpus", "mem_gib"), total=(8.0, 800.0), machines=machines, slot_s=60.0, horizon=12,
        decisions=decisions,
    )  # fmt: skip


def test_the_run_in_a_sentence() -> None:
    prices = np.ones((12, 4, 2)) * [1.0, 0.01]
    prices[7:12, 3, 0] = [60, 90, 100, 80, 50]
    prices[5, 3, 0] = 60  # apart from the peak
    prices[8, 2, 1] = 0.5  # 400 for all memory, against 800 for all GPUs
    told = [decided(row, packed_in) for row, packed_in in enumerate([""] * 41 + [NOT_WORTH] * 6 + [LATE] * 3)]
    one = replaced(told[0], prices=packed(prices))
    assert sentence_of(a_run(*told), one) == (
        "41 of 50 jobs admitted; 6 were not worth their price, 3 could not finish in time. "
        "When j0 came, GPUs on machine n3 were most expensive, slots 8 to 12."
    )


@pytest.mark.parametrize(
    ("whys", "said"),
    [
        ([""], "The one job is admitted."),
        (["", ""], "All 2 jobs are admitted."),
        ([NOT_WORTH], "0 of 1 job admitted; 1 was not worth its price."),
        (["", NO_ROOM, NO_ROOM, LATE], "1 of 4 jobs admitted; 2 found no room in time, 1 could not finish in time."),
        (["", "no machine holds a server"], "1 of 2 jobs admitted; 1 rejected: no machine holds a server."),
    ],
    ids=["one", "all", "none", "several", "another"],
)
def test_who_got_in_and_why_the_others_did_not(whys: list[str], said: str) -> None:
    run = a_run(*(decided(row, why) for row, why in enumerate(whys)))
    assert sentence_of(run, run.decisions[0]) == said


def test_machines_that_cost_as_much_are_counted_and_the_one_with_most_such_slots_is_named() -> None:
    prices = np.ones((3, 4, 2)) * [10.0, 0.01]  # of all GPUs 80, far less than 5 for a GiB of 800
    prices[0, 0, 1] = prices[1, 2, 1] = prices[2, 2, 1] = prices[2, 3, 1] = 5.0
    one = decided(prices=packed(prices), first=4)
    assert sentence_of(a_run(one), one).endswith("memory on machine n2 and 1 other was most expensive, slots 5 to 6.")
    prices[1, 2, 1] = 1.0
    one = decided(prices=packed(prices[:, :, :]), first=4)
    assert sentence_of(a_run(one), one).endswith("memory on machine n0 was most expensive, slot 4.")


def test_a_job_in_a_line() -> None:
    one = decided(other=EndingThen(9, 13.0, 8.8), bookings=(Booked(7, 1, 2, 1), Booked(8, 1, 1, 1), Booked(8, 2, 3, 0)))
    assert reckoning_of(one) == "j0: worth 14.2 − price 9.1 = +5.1 → admitted."
    assert more_of(one) == (
        "Its cheapest schedule with the best payoff ends in slot 8. Booked in 2 slots on 2 machines, on a single one "
        "in 1 of them. Best alternative, ending in slot 9: worth 13 − price 8.8 = +4.2."
    )
    dear = decided(why=NOT_WORTH, best=EndingThen(3, 1.0, 1.5))
    assert reckoning_of(dear) == "j0: worth 1 − price 1.5 = −0.5 → rejected, not worth its price."
    assert more_of(dear).endswith("No schedule ends in another slot.")
    assert reckoning_of(decided(why=NO_ROOM)) == "j0: rejected, no room was left for it in time."
    assert reckoning_of(decided(why=LATE)) == "j0: rejected, it could not finish in time even alone."
    assert more_of(decided(why=LATE)) == ""


def test_four_cards() -> None:
    together = decided(0, bookings=(Booked(1, 0, 3, 1),))
    spread = decided(1, bookings=(Booked(1, 1, 4, 1), Booked(1, 2, 5, 0)))
    cards = cards_of(a_run(together, spread, decided(2, NOT_WORTH), decided(3, LATE)), 27.0)
    assert [(label, value) for label, value, _ in cards] == [
        ("Admitted", "2 of 4"),
        ("Rejected by price", "1"),
        ("Utility", "27"),
        ("On a single machine", "25%"),
    ]
    assert "1 other job had no schedule" in cards[1][2]
    assert "As booked: 28.4" in cards[2][2]
    assert cards_of(a_run(decided(0, LATE)), None)[3][1] == "–"


def test_banners() -> None:
    run = a_run(decided(0), decided(1, NOT_WORTH))
    assert cautions_of(run, {1}, stale=False) == []
    assert [guard.level for guard in cautions_of(run, {1}, stale=True)] == ["orange"]
    (differs,) = cautions_of(run, {0, 1}, stale=False)
    assert (differs.level, "1 job has another outcome" in differs.text) == ("orange", True)
    free = a_run(decided(0, best=EndingThen(1, 5.0, 1e-9)))
    assert cautions_of(free, set(), stale=False)[0].text.startswith(
        "1 of 1 admitted job paid under 0.1% of their worth"
    )


def test_bandwidths_are_told_where_they_are_ours() -> None:
    labels = [
        chip.label for chip in premises_of(read("a slot is 1 h", "bandwidth between machines: 2e5 to 1e6 MB per slot"))
    ]
    assert labels == ["bandwidths are ours", "price bounds from the jobs seen so far", "lowest price: a floor of ours"]
    assert len(premises_of(())) == 2


def test_the_list_of_jobs() -> None:
    frame = jobs_frame(four_priced())
    assert frame["Job"].tolist() == ["a", "b", "c", "d"]
    assert frame["Outcome"].tolist() == ["admitted", "admitted", "rejected", "rejected"]
    assert frame["Payoff"].tolist()[:2] == pytest.approx([50 - 4 * 25 / 32] * 2)
    assert frame["Last slot"].tolist()[:2] == [2, 4]
    assert frame["On a single machine"].tolist()[:2] == ["2 of 2", "2 of 2"]
    assert frame[["Worth", "Price"]].isna().all(axis=1).tolist() == [False, False, True, True]


def test_the_ratio_in_words() -> None:
    assert hindsight_words(Hindsight(ours=100.0, utility=117.0, bound=117.0, status="optimal")) == (
        "1.17x: the best possible plan is worth 117 (proven), this run 100. The best is known only in hindsight."
    )
    assert hindsight_words(Hindsight(ours=100.0, utility=110.0, bound=130.0, status="feasible")) == (
        "1.1x to 1.3x: the best possible plan is worth 110 to 130 (not proven: the search stopped at its limit), this "
        "run 100. The best is known only in hindsight."
    )
    assert hindsight_words(Hindsight(ours=0.0, utility=5.0, bound=5.0, status="optimal")).startswith(
        "This run is worth nothing; the best"
    )
