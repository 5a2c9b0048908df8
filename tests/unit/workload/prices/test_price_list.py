"""Price lists become machine types with frozen prices; every mistake names row, rule and value."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dlsched.domain.assumptions import Assumption
from dlsched.domain.errors import InputError
from dlsched.domain.timetable import TimeTable
from dlsched.workload.catalogue import EXAMPLES, PAPER, price_list
from dlsched.workload.prices.price_list import (
    MOST_OFFERS,
    Offer,
    PriceList,
    check_names,
    chosen,
    merged,
    price_notes,
    price_paid,
    stale_days,
    stamped,
    to_vm_types,
    usd_per_gpu_h,
    without_times,
)

DAY = date(2026, 3, 1)
A = Offer(name="a", provider="P", gpu_type="A100", gpus=8, cpus=96, mem_gib=1152, usd_per_h=10.0, spot_usd_per_h=4.0,
          source="list", as_of=DAY)  # fmt: skip
B = Offer(name="b", provider="Q", gpu_type="T4", gpus=1, usd_per_h=0.5, source="list", as_of=DAY)


def texts(notes: tuple[Assumption, ...]) -> tuple[str, ...]:
    return tuple(note.words for note in notes)


def test_prices_are_frozen_into_the_types():
    a, b = to_vm_types(PriceList(offers=(A, B)))
    assert (a.name, a.gpu_type, a.gpus, a.cpus, a.mem_gib, a.usd_per_h, a.speed) == ("a", "A100", 8, 96, 1152, 10.0, 1)
    assert (b.usd_per_h, b.cpus, b.mem_gib) == (0.5, None, None)


def test_discounts_are_by_provider_and_spare_spot():
    prices = PriceList(offers=(A, B), discounts={"P": 0.15})
    assert [price_paid(offer, prices) for offer in prices.offers] == [8.5, 0.5]
    spot = prices.model_copy(update={"use_spot": True})
    assert [price_paid(offer, spot) for offer in spot.offers] == [4.0, 0.5]


@given(st.floats(0.01, 1e5), st.floats(0, 0.99))
def test_a_discount_never_makes_a_price_free_or_dearer(usd, off):
    offer = A.model_copy(update={"usd_per_h": usd})
    assert 0 < price_paid(offer, PriceList(offers=(offer,), discounts={"P": off})) <= usd + 1e-6


def test_speeds_of_known_types_are_kept():
    assert [vm.speed for vm in to_vm_types(PriceList(offers=(A, B)), {"b": 0.4})] == [1.0, 0.4]


def test_only_ticked_offers_are_used():
    prices = PriceList(offers=(A, B.model_copy(update={"use": False})))
    assert [vm.name for vm in to_vm_types(prices)] == ["a"]
    assert [vm.name for vm in to_vm_types(chosen(prices, ["b"]))] == ["b"]


def test_empty_lists_are_refused_with_a_way_out():
    with pytest.raises(InputError, match=r"catalogue: it has no machine type\. Add a machine type, import"):
        to_vm_types(PriceList())
    with pytest.raises(InputError, match="none of its 1 types is ticked"):
        to_vm_types(PriceList(offers=(A.model_copy(update={"use": False}),)))


def test_unknown_types_are_named_with_near_ones():
    with pytest.raises(InputError, match=r"VM type 'NC66'.*Try 'NC6"):
        chosen(price_list(PAPER), ["NC66"])


def test_one_name_twice_names_both_rows():
    with pytest.raises(InputError, match=r"catalogue row 3, column Type: 'a' is also the name in row 1"):
        check_names([A, B, A])
    many = [A.model_copy(update={"name": f"n{number}"}) for number in range(MOST_OFFERS + 1)]
    with pytest.raises(InputError, match="the limit is 2,000"):
        check_names(many)


@pytest.mark.parametrize("usd", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rented_type_has_a_price_above_0(usd):
    with pytest.raises(ValidationError):
        Offer(name="x", gpus=1, usd_per_h=usd)


def test_merging_renews_in_place_and_tells_providers_apart():
    dearer = A.model_copy(update={"usd_per_h": 12.0})
    other = B.model_copy(update={"name": "a"})
    both = merged([A, B], [dearer, other])
    assert [(offer.name, offer.provider, offer.usd_per_h) for offer in both] == [
        ("a", "P", 12.0), ("b", "Q", 0.5), ("a (Q)", "Q", 0.5),
    ]  # fmt: skip
    assert merged(both, [dearer, other]) == both  # once more changes nothing
    check_names(both)


def test_stamping_says_whose_and_of_when():
    (offer,) = stamped([A], "AWS", None)
    assert (offer.provider, offer.as_of, offer.usd_per_h) == ("AWS", None, 10.0)


def test_price_of_one_gpu():
    assert usd_per_gpu_h(10.0, 8) == 1.25
    assert usd_per_gpu_h(10.0, 0) is None
    assert usd_per_gpu_h(None, 8) is None


def test_notes_name_list_day_and_what_is_paid():
    prices = PriceList(offers=(A, B))
    types = to_vm_types(prices)
    assert texts(price_notes(types, prices, len(types))) == ("list prices 2026-03-01 (list)",)
    assert texts(price_notes(types[:1], prices, 3)) == ("a: list prices 2026-03-01 (list)",)
    off = prices.model_copy(update={"discounts": {"P": 0.125}})
    assert texts(price_notes(to_vm_types(off), off, 2)) == (
        "a: P 12.5% off list prices 2026-03-01 (list)", "b: list prices 2026-03-01 (list)",
    )  # fmt: skip
    spot = prices.model_copy(update={"use_spot": True})
    assert texts(price_notes(to_vm_types(spot), spot, 2))[0] == "a: spot list prices 2026-03-01 (list)"
    assert texts(price_notes(types, off, 2)) == ("b: list prices 2026-03-01 (list)",)  # a is no longer the list's price
    undated = PriceList(offers=(A.model_copy(update={"as_of": None, "source": ""}),))
    assert texts(price_notes(to_vm_types(undated), undated, 1)) == ("list prices without a date",)


def test_notes_bear_their_day() -> None:
    for note in price_notes(to_vm_types(price_list(EXAMPLES)), price_list(EXAMPLES), 13):
        assert (note.kind, note.since) == ("list-prices", DAY)


def test_prices_are_stale_after_90_days():
    assert stale_days(DAY, date(2026, 5, 30)) == 0
    assert stale_days(DAY, date(2026, 5, 31)) == 91
    assert stale_days(None, date(2026, 5, 31)) == 0


def test_gpu_types_without_run_times_are_named():
    times = TimeTable(rows={"net": {"A100": (1.0,)}, "other": {"T4": (2.0,)}})
    types = to_vm_types(PriceList(offers=(A, B)))
    assert without_times(types, times, {"net"}) == ("T4",)
    assert without_times(types, times, {"net", "other"}) == ()
    assert without_times(types, times, {"unknown"}) == ("A100", "T4")
    assert without_times(types, None, {"net"}) == ()


def test_a_list_survives_json():
    prices = PriceList(offers=(A, B), discounts={"P": 0.2}, use_spot=True)
    assert PriceList.model_validate(prices.model_dump(mode="json")) == prices
