"""Price lists as editable tables and back; edits date themselves; a scenario takes over what is ticked."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.ui.scenario.cluster import renting
from dlsched.ui.scenario.price_lists import of_cluster
from dlsched.ui.scenario.prices import columns, live_rows, new_row, offers_frame, offers_of
from dlsched.workload.catalogue import EXAMPLES, PRICE_LISTS, price_list
from dlsched.workload.prices.price_list import Offer, PriceList, to_vm_types
from tests.support.assumptions import read, words_of
from tests.support.runs_for_store import small_scenario

TODAY = date(2026, 11, 21)
PRICES = price_list(EXAMPLES)


@pytest.mark.parametrize("bundled", PRICE_LISTS)
def test_table_and_back_is_the_same_list(bundled):
    prices = price_list(bundled)
    assert offers_of(offers_frame(prices)) == prices.offers


@given(st.booleans(), st.floats(0, 0.9), st.integers(0, 16), st.none() | st.floats(0.01, 100))
def test_price_per_gpu_is_what_is_paid(use_spot, off, gpus, spot):
    offer = Offer(name="x", provider="P", gpus=gpus, usd_per_h=10.0, spot_usd_per_h=spot)
    prices = PriceList(offers=(offer,), discounts={"P": off}, use_spot=use_spot)
    (shown,) = offers_frame(prices)["usd_per_gpu_h"]
    paid = spot if use_spot and spot is not None else 10.0 * (1 - off)
    assert shown == (pytest.approx(paid / gpus, abs=1e-5) if gpus else None)


def test_a_typed_price_is_todays_and_nobody_elses():
    begin = offers_frame(PRICES)
    rows = live_rows(begin, {0: {"usd_per_h": 1.5}, 1: {"cpus": 9}, 2: {"usd_per_h": 0.85}}, PRICES, TODAY)
    assert (rows["source"][0], rows["as_of"][0], rows["usd_per_gpu_h"][0]) == ("typed in", TODAY, 1.5)
    assert (
        list(rows["source"][1:3]) == ["example price, not a quote"] * 2
    )  # other cells, and the same price typed again
    assert rows["usd_per_h"][0] == begin["usd_per_h"][0]  # the edit itself stays the widget's
    assert list(begin["source"]) == ["example price, not a quote"] * 14


def test_price_per_gpu_follows_edits_and_survives_nonsense():
    begin = offers_frame(PRICES)
    edited: dict[int, dict[str, Any]] = {
        0: {"gpus": 2},
        1: {"usd_per_h": None},
        2: {"usd_per_h": -3},
        3: {"gpus": 0},
        99: {"gpus": 1},
    }
    rows = live_rows(begin, edited, PRICES, TODAY)
    assert list(rows["usd_per_gpu_h"][:4]) == [0.375, None, None, None]


def test_a_new_row_asks_for_its_price():
    rows = new_row(new_row(offers_frame(PRICES), TODAY), TODAY)
    assert list(rows["name"][-2:]) == ["new type 1", "new type 2"]
    with pytest.raises(InputError, match=r"row 15, column \$/h: is empty\. Fill it in"):
        offers_of(rows)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"usd_per_h": 0}, r"row 1, column \$/h: Input should be greater than 0, got 0"),
        ({"usd_per_h": -2.5}, r"row 1, column \$/h: .*got -2\.5"),
        ({"usd_per_h": float("inf")}, r"row 1, column \$/h"),
        ({"spot_usd_per_h": 0}, r"row 1, column Spot \$/h"),
        ({"name": " "}, "row 1, column Type: is empty"),
        ({"name": "4 x T4"}, r"catalogue row 2, column Type: '4 x T4' is also the name in row 1"),
        ({"gpus": 1.5}, "row 1, column GPUs"),
        ({"gpus": None}, "row 1, column GPUs: is empty"),
        ({"gpu_type": ""}, "row 1, column GPU: is empty"),
    ],
)
def test_mistakes_name_row_and_column(cells, message):
    frame = offers_frame(PRICES)
    for name, value in cells.items():
        frame[name] = [value, *list(frame[name][1:])]
    with pytest.raises(InputError, match=message):
        offers_of(frame)


def test_fixed_nodes_become_slots_that_rent_the_ticked_types():
    pool = Pool(vm=VmType(name="8 x A100", speed=2.0, usd_per_h=1.0), count=5)
    old = small_scenario().replace(
        cluster=Cluster(pools=(pool,), absences=(Absence(node=0, end_s=9.0),)),
        assumptions=read("restart 15 s", "Default cluster: 5 nodes", "$1.00 per GPU-hour (example price, not a quote)"),
    )
    new = renting(old, PRICES)
    assert (new.cluster.slots, len(new.cluster.catalogue), new.cluster.absences) == (5, 13, ())
    (vm,) = [vm for vm in new.cluster.catalogue if vm.name == "8 x A100"]
    assert (vm.usd_per_h, vm.speed) == (16.8, 2.0)
    assert words_of(new) == ("restart 15 s", "list prices 2026-03-01 (example price, not a quote)")
    assert renting(new, PRICES).content_hash == new.content_hash
    dearer = renting(new, PRICES.model_copy(update={"discounts": {"Cloud B": 0.1}}))
    assert sum(one.is_about_prices for one in dearer.assumptions) == 2
    assert dearer.content_hash != new.content_hash


def test_disk_goes_with_a_type_and_is_hidden_where_no_type_states_it():
    prices = PriceList(offers=(Offer(name="x", usd_per_h=1.0, disk_gib=500.0),))
    assert offers_of(offers_frame(prices)) == prices.offers
    assert [vm.disk_gib for vm in to_vm_types(prices)] == [500.0]
    assert columns(offers_frame(prices))["disk_gib"]["label"] == "Disk GiB"
    assert columns(offers_frame(PRICES))["disk_gib"] is None
    cluster = Cluster(slots=1, catalogue=to_vm_types(prices))
    assert to_vm_types(of_cluster(cluster)) == cluster.catalogue
