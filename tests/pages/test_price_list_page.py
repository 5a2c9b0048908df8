"""The page Prices: editing in place, what is paid, import, own hardware, and prices frozen into scenarios."""

from datetime import date
from typing import Any

import pytest

from dlsched.domain.cluster import Cluster, VmType
from dlsched.domain.scenario import SpeedSpec
from dlsched.domain.timetable import TimeTable
from dlsched.domain.workload import Workload
from dlsched.ui.frame import uploads
from dlsched.ui.scenario import price_lists
from dlsched.workload.catalogue import EXAMPLES, PAPER, price_list
from dlsched.workload.prices.price_list import to_vm_types
from tests.support.assumptions import words_of
from tests.support.runs_for_store import small_scenario

SKYPILOT = b"""Region,Price,SpotPrice,InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo
r1,10,3,box,A100,8,96,1152,"{'Gpus': [{'Name': 'A100', 'Count': 8}]}"
r2,8,,box,A100,8,96,1152,
r1,1,,cpu,,,8,32,
"""


@pytest.fixture(autouse=True)
def _day(monkeypatch):
    monkeypatch.setattr(price_lists, "today", lambda: date(2026, 6, 9))


@pytest.fixture
def page(open_page, store):
    """The page on a small scenario with fixed nodes."""
    saved = store.save_scenario(small_scenario())
    return open_page("scenario/prices.py", scenario=saved.scenario_hash[:8])


def edit(app, row: int, **cells: Any):
    """Type into a row of the table."""
    rounds = app.session_state.to_dict().get("prices-round", 0)
    app.session_state[f"prices-{rounds}"] = {"edited_rows": {row: cells}, "added_rows": [], "deleted_rows": []}
    return app.run()


def drop(app, content: bytes, name: str):
    """Put a file into the drop zone."""
    uploads.KEPT.keep(str(hash(content)), content)
    app.session_state["price-file-file"] = name, str(hash(content))
    return app.run()


def shown(app) -> str:
    parts = [*app.header, *app.markdown, *app.error, *app.warning]
    return "\n".join(part.value for part in parts).replace("\\", "")


def newest(store):
    return store.get_scenario(store.list_scenarios()["scenario_hash"].iloc[0])


def press(app, key: str):
    app = app.button(key=key).click().run()
    assert not app.exception
    return app


def test_it_begins_with_dated_examples_that_are_called_old(page):
    assert not page.exception
    assert "13 of 14 types, $0.75 to $4.40 per GPU-hour. List prices of 2026-03-01: example price" in shown(page)
    assert "oldest price 100 days old" in shown(page)
    assert "Using 13 machine types replaces them by up to 2 rented machines" in shown(page)


def test_use_makes_a_version_with_the_prices_frozen(page, store):
    app = press(page, "use-prices")
    assert [toast.value for toast in app.toast] == ["Saved as version 2."]
    scenario = newest(store)
    assert scenario.cluster.free_slots
    assert {vm.name: vm.usd_per_h for vm in scenario.cluster.catalogue}["8 x A100"] == 16.8
    assert "list prices 2026-03-01 (example price, not a quote)" in words_of(scenario)
    assert app.button(key="use-prices").disabled
    app = edit(app, 0, usd_per_h=9.99)
    assert newest(store).cluster.catalogue[0].usd_per_h == 0.75  # the list changed, the scenario did not
    assert not app.button(key="use-prices").disabled


def test_an_edit_is_kept_dated_and_there_after_leaving(page):
    app = edit(page, 0, usd_per_h=0.5, spot_usd_per_h=None)
    assert not app.exception
    first = price_lists.own().offers[0]
    assert (first.usd_per_h, first.spot_usd_per_h, first.source, first.as_of) == (
        0.5, None, "typed in", date(2026, 6, 9),
    )  # fmt: skip
    app = app.switch_page("pages/scenario/jobs.py").run()
    app = app.switch_page("pages/scenario/prices.py").run()
    assert not app.exception
    assert "$0.50 to $4.40" in shown(app)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"usd_per_h": 0}, "row 1, column $/h: Input should be greater than 0, got 0"),
        ({"name": "4 x T4"}, "catalogue row 2, column Type: '4 x T4' is also the name in row 1"),
        ({"name": ""}, "row 1, column Type: is empty"),
    ],
)
def test_a_mistake_is_named_and_nothing_is_lost(page, cells, message):
    app = edit(page, 0, **cells)
    assert not app.exception
    assert message in shown(app).replace("**", "")
    assert app.button(key="use-prices").disabled
    assert price_lists.saved() is None  # the good list stays
    app = app.switch_page("pages/scenario/jobs.py").run().switch_page("pages/scenario/prices.py").run()
    assert message in shown(app).replace("**", "")  # and so does the row that is being corrected


def test_rows_are_added_and_deleted_and_the_list_before_comes_back(page):
    app = press(page, "price-delete")
    assert len(price_lists.own().offers) == 13
    app = press(app, "price-add")
    assert "row 14, column $/h: is empty" in shown(app).replace("**", "")
    app = edit(app, 13, name="mine", gpus=4, usd_per_h=2.0)
    assert price_lists.own().offers[-1].name == "mine"
    app = press(app, "begin-with-1")
    assert price_lists.own() == price_list(PAPER)
    assert "8 types, $0.56 to $0.62" in shown(app)
    app = press(app, "price-undo")
    assert price_lists.own().offers[-1].name == "mine"


def test_nothing_ticked_says_so(page):
    app = page
    key = "prices-0"
    app.session_state[key] = {
        "edited_rows": {row: {"use": False} for row in range(14)}, "added_rows": [], "deleted_rows": [],
    }  # fmt: skip
    app = app.run()
    assert not app.exception
    assert "No machine type to rent" in shown(app)
    assert app.button(key="use-prices").disabled


def test_discount_spot_and_billing_reach_the_scenario(page, store):
    app = page.number_input(key="prices-0-discount-Cloud B").set_value(10.0).run()
    app = press(app, "use-prices")
    prices = {vm.name: vm.usd_per_h for vm in newest(store).cluster.catalogue}
    assert (prices["8 x A100"], prices["1 x T4"]) == (15.12, 0.75)
    assert any("Cloud B 10% off list prices 2026-03-01" in note for note in words_of(newest(store)))
    app = app.segmented_control(key="prices-0-spot").set_value("Spot where known").run()
    app = app.segmented_control(key="billing-second").set_value("hour").run()
    app = press(app, "use-prices")
    prices = {vm.name: vm.usd_per_h for vm in newest(store).cluster.catalogue}
    assert (prices["8 x A100"], prices["1 x H100"]) == (7.6, 3.96)
    assert newest(store).options.billing == "hour"
    assert app.button(key="use-prices").disabled


def test_skypilot_file_is_reported_and_added(page):
    app = drop(page, SKYPILOT, "vms.csv")
    assert not app.exception
    assert "**Price list check** · recognised as a SkyPilot catalogue" in shown(app)
    assert "Kept **1** of 3 rows" in shown(app)
    app = app.selectbox(key=f"price-region-{hash(SKYPILOT)}").set_value("r1").run()
    app = app.text_input(key=f"price-provider-{hash(SKYPILOT)}").set_value("AWS").run()
    app = press(app, "price-merge")
    offer = price_lists.own().offers[-1]
    assert (offer.name, offer.provider, offer.usd_per_h, offer.spot_usd_per_h) == ("box", "AWS", 10.0, 3.0)
    assert (offer.as_of, offer.source) == (date(2026, 6, 9), "SkyPilot vms.csv, region r1")
    assert "14 of 15 types" in shown(app)


def test_own_csv_replaces_the_list_and_mixed_currencies_change_nothing(page):
    bad = b"name,gpu_type,gpus,usd_per_h,currency\na,T4,1,1,USD\nb,T4,1,1,EUR\n"
    app = drop(page, bad, "mine.csv")
    assert not app.exception
    assert "they are mixed: EUR in line 3; USD in line 2" in shown(app)
    assert price_lists.saved() is None
    app = drop(app, b"name,gpu_type,gpus,usd_per_h\na,T4,1,1.25\n", "mine.csv")
    app = press(app, "price-replace")
    assert [offer.name for offer in price_lists.own().offers] == ["a"]
    assert "1 type, $1.25 per GPU-hour" in shown(app)


def test_own_hardware_is_compared(page):
    app = page.segmented_control(key="part").set_value("Own").run()
    submit = next(button for button in app.button if button.label == "Compare with renting")
    app = submit.click().run()
    assert not app.exception
    assert "Owning 8 x H100 costs $1.27/GPU-h at full use, $1.98/GPU-h at 60% use." in shown(app)
    assert price_lists.own().owned is not None
    app = press(app, "owned-away")
    assert price_lists.own().owned is None


def test_a_change_in_another_tab_is_not_overwritten(page):
    edit(page, 0, usd_per_h=0.5)
    price_lists.save(price_list(PAPER))
    app = page.run()
    assert not app.exception
    assert "changed in another tab" in app.toast[0].value
    assert price_lists.own() == price_list(PAPER)
    assert "8 types" in shown(app)


def test_gpu_types_without_run_times_are_named_on_both_pages(store, open_page):
    jobs = Workload.from_columns({"job_id": ["a"], "submit_s": [0.0], "work": [60.0], "profile": ["net"]})
    scenario = small_scenario().replace(
        workload=jobs,
        cluster=Cluster(slots=2, catalogue=(VmType(name="x", gpu_type="K80", gpus=1, usd_per_h=1.0),)),
        speed=SpeedSpec(kind="table", times=TimeTable(rows={"net": {"A100": (1.0,)}})),
    )
    saved = store.save_scenario(scenario)
    app = open_page("scenario/cluster.py", scenario=saved.scenario_hash[:8])
    assert not app.exception
    assert "No run times for **K80**" in shown(app)
    app = open_page("scenario/prices.py", scenario=saved.scenario_hash[:8])
    assert "No run times for **T4, L4, V100, H100**" in shown(app)
    assert "policies will rent from 3 machine types" in shown(app)  # the A100 ones


def test_a_hostile_name_stays_text(page):
    app = edit(page, 0, name="[x](http://evil) $5 :red[a]", provider="=cmd()", source="<script>")
    assert not app.exception
    assert price_lists.own().offers[0].name == "[x](http://evil) $5 :red[a]"


def test_an_untouched_catalogue_has_current_example_prices_also_where_a_scenario_rents_from_another_list(
    store, open_page
):
    rented = Cluster(slots=2, catalogue=to_vm_types(price_list(PAPER))[:6])
    saved = store.save_scenario(small_scenario().replace(cluster=rented))
    app = open_page("scenario/prices.py", scenario=saved.scenario_hash[:8])
    assert not app.exception
    assert price_lists.own() == price_list(EXAMPLES)
    assert "13 of 14 types" in shown(app)


def test_rent_or_buy_has_a_tab_of_its_own_and_what_is_typed_on_the_other_stays(open_page, store):
    saved = store.save_scenario(small_scenario())
    app = edit(open_page("scenario/prices.py", scenario=saved.scenario_hash[:8]), 0, usd_per_h=0)
    app = app.segmented_control(key="part").set_value("Own").run()
    assert not app.exception
    assert "row 1, column $/h" in shown(app).replace("**", "")  # the mistake is not forgotten
    assert app.button(key="use-prices").disabled
    app = app.segmented_control(key="part").set_value("Rent").run()
    app = edit(app, 0, usd_per_h=0.6)
    assert "row 1, column" not in shown(app).replace("**", "")
