"""What a machine of one's own costs, by hand; break-even lies where both cost the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.workload.prices.owned import OwnedNode, break_even_share, owned_price

# $175,200 over 4 years of 8,760 h is $5/h; 5 kW x PUE 1.2 x $0.10 is $0.60/h; 10% upkeep a year is $2/h.
NODE = {"capex_usd": 175_200.0, "years": 4.0, "kw": 5.0, "pue": 1.2, "usd_per_kwh": 0.10}


def test_full_use_is_buying_spread_over_all_hours_and_power():
    assert owned_price(**NODE) == pytest.approx(5.60)
    assert owned_price(**NODE, yearly_upkeep_share=0.1) == pytest.approx(7.60)


def test_half_use_doubles_what_stands_but_not_the_power():
    assert owned_price(**NODE, use_share=0.5) == pytest.approx(10.60)
    assert owned_price(**NODE, yearly_upkeep_share=0.1, use_share=0.25) == pytest.approx(28.60)


def test_break_even_by_hand():
    assert break_even_share(**NODE, rent_usd_per_h=10.60) == pytest.approx(0.5)
    assert break_even_share(**NODE, rent_usd_per_h=5.59) is None
    assert break_even_share(**NODE, rent_usd_per_h=5.60) == pytest.approx(1.0)
    given_away = {**NODE, "capex_usd": 0.0}
    assert break_even_share(**given_away, rent_usd_per_h=0.61) == 0.0
    assert break_even_share(**given_away, rent_usd_per_h=0.59) is None


@given(
    capex=st.floats(1, 1e7), years=st.floats(0.5, 20), kw=st.floats(0, 100), pue=st.floats(1, 3),
    kwh=st.floats(0, 2), upkeep=st.floats(0, 1), factor=st.floats(1.001, 50),
)  # fmt: skip
def test_at_break_even_owning_costs_the_rent(capex, years, kw, pue, kwh, upkeep, factor):
    rent = factor * owned_price(capex, years, kw, pue, kwh, upkeep)
    share = break_even_share(capex, years, kw, pue, kwh, rent, upkeep)
    assert share is not None
    assert 0 < share <= 1
    assert owned_price(capex, years, kw, pue, kwh, upkeep, share) == pytest.approx(rent)


def test_node_divides_by_its_gpus():
    node = OwnedNode(gpu_type="A100", gpus=8, yearly_upkeep_share=0.1, use_share=0.25, **NODE)
    assert node.usd_per_gpu_h(1.0) == pytest.approx(0.95)
    assert node.usd_per_gpu_h(0.25) == pytest.approx(28.60 / 8)
    assert node.break_even_share(28.60) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"years": 0.0}, "years"),
        ({"use_share": 0.0}, "share of use"),
        ({"use_share": 1.5}, "share of use"),
        ({"pue": 0.9}, "PUE"),
        ({"capex_usd": -1.0}, "price of buying"),
        ({"usd_per_kwh": float("nan")}, "electricity"),
        ({"capex_usd": float("inf")}, "price of buying"),
    ],
)
def test_impossible_values_are_named(change, what):
    with pytest.raises(InputError, match=f"own hardware, {what}"):
        owned_price(**{**NODE, **change})
