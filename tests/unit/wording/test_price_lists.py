"""Sentences about prices agree with the numbers they are made of."""

from datetime import date

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.wording.assumptions import assumptions
from dlsched.wording.caveats import caveats_of
from dlsched.wording.price_lists import age_words, owned_sentence, price_sentence, what_use_does
from dlsched.workload.catalogue import EXAMPLES, PAPER, price_list
from dlsched.workload.prices.owned import OwnedNode
from dlsched.workload.prices.price_list import PriceList, price_notes, to_vm_types
from tests.support.runs_for_store import small_scenario

PRICES = price_list(EXAMPLES)
# $5/h of buying, $0.60/h of power
OWNED = OwnedNode(
    gpu_type="A100", capex_usd=175_200.0, years=4, yearly_upkeep_share=0, kw=5, pue=1.2, usd_per_kwh=0.1, use_share=0.5
)


def test_sentence_names_count_span_day_and_source():
    assert price_sentence(PRICES) == (
        "13 of 14 types, $0.75 to $4.40 per GPU-hour. List prices of 2026-03-01: example price, not a quote."
    )
    assert price_sentence(price_list(PAPER)).startswith("8 types, $0.56 to $0.62 per GPU-hour. List prices of 2022")
    assert "Spot prices where known" in price_sentence(PRICES.model_copy(update={"use_spot": True}))
    off = price_sentence(PRICES.model_copy(update={"discounts": {"Cloud B": 0.5}}))
    assert off.startswith("13 of 14 types, $0.75 to $3.05 per GPU-hour. Prices after discounts")
    assert "No machine type to rent" in price_sentence(PriceList())


def test_undated_prices_are_called_so():
    (first, second, *_) = PRICES.offers
    undated = PriceList(offers=(first, second.model_copy(update={"as_of": None, "source": ""})))
    assert "2026-03-01, some without a date: 2 sources." in price_sentence(undated)
    nothing = PriceList(offers=(second.model_copy(update={"as_of": None}),))
    assert "unknown date" in price_sentence(nothing)


def test_age_is_that_of_the_oldest_price_in_use():
    assert age_words(PRICES, date(2026, 5, 30)) == ""
    assert age_words(PRICES, date(2026, 6, 1)) == "oldest price 92 days old"


def test_owning_is_held_against_the_cheapest_rent_of_the_type():
    owned = PRICES.model_copy(update={"owned": OWNED})
    assert owned_sentence(owned) == (
        "Owning 8 x A100 costs $0.70/GPU-h at full use, $1.32/GPU-h at 50% use. "
        "Renting 1 x A100 at $2.10/GPU-h is dearer above 30.9% use, so owning is cheaper today."
    )
    rare = owned.model_copy(update={"owned": OWNED.model_copy(update={"use_share": 0.1})})
    assert "so renting is cheaper today" in owned_sentence(rare)
    dear = owned.model_copy(update={"owned": OWNED.model_copy(update={"capex_usd": 1e6})})
    assert "is cheaper at any use" in owned_sentence(dear)
    other = owned.model_copy(update={"owned": OWNED.model_copy(update={"gpu_type": "B200"})})
    assert "No ticked type has B200 GPUs" in owned_sentence(other)
    assert owned_sentence(PRICES) == ""


def test_using_the_types_says_what_becomes_of_fixed_nodes():
    fixed = Cluster(pools=(Pool(vm=VmType(name="n"), count=8),))
    assert "replaces them by up to 8 rented machines" in what_use_does(fixed, 13)
    slots = Cluster(slots=1, catalogue=(VmType(name="n"),))
    assert what_use_does(slots, 1) == "The scenario rents up to 1 machine; policies will rent from 1 machine type."


def test_chips_name_the_list_and_its_age():
    types = to_vm_types(PRICES)
    scenario = small_scenario().replace(cluster=Cluster(slots=2, catalogue=types), assumptions=())
    assert "list prices" in {chip.label for chip in assumptions(scenario)}
    noted = scenario.replace(assumptions=price_notes(types, PRICES, len(types)))
    labels = {chip.label for chip in assumptions(noted, today=date(2026, 6, 1))}
    assert "list prices" not in labels  # the dated note says more
    assert "prices 92 days old" in labels
    (told,) = [one for one in caveats_of(noted, ()) if one.kind == "made-up-prices"]
    assert "list prices 2026-03-01 (example price, not a quote)" in told.why.lower()
    assert not any("days old" in chip.label for chip in assumptions(noted, today=date(2026, 3, 2)))
    assert not any("days old" in chip.label for chip in assumptions(noted))
