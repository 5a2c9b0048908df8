"""What a machine of one's own costs, by hand; break-even lies where both cost the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dlsched.workload.prices.owned import OwnedNode

# $175,200 over 4 years of 8,760 h is $5/h; 5 kW x PUE 1.2 x $0.10 is $0.60/h; 10% upkeep a year is $2/h.
NODE = {"capex_usd": 175_200.0, "years": 4.0, "kw": 5.0, "pue": 1.2, "usd_per_kwh": 0.10}


def node(**change: float) -> OwnedNode:
    return OwnedNode(**{**NODE, "yearly_upkeep_share": 0.0, **change})


def test_full_use_is_buying_spread_over_all_hours_and_power():
    assert node().usd_per_h() == pytest.approx(5.60)
    assert node(yearly_upkeep_share=0.1).usd_per_h() == pytest.approx(7.60)


def test_half_use_doubles_what_stands_but_not_the_power():
    assert node().usd_per_h(0.5) == pytest.approx(10.60)
    assert node(yearly_upkeep_share=0.1).usd_per_h(0.25) == pytest.approx(28.60)


def test_break_even_by_hand():
    assert node().break_even_share(10.60) == pytest.approx(0.5)
    assert node().break_even_share(5.59) is None
    assert node().break_even_share(5.60) == pytest.approx(1.0)
    given_away = node(capex_usd=0.0)
    assert given_away.break_even_share(0.61) == 0.0
    assert given_away.break_even_share(0.59) is None


@given(
    capex=st.floats(1, 1e7), years=st.floats(0.5, 20), kw=st.floats(0, 100), pue=st.floats(1, 3),
    kwh=st.floats(0, 2), upkeep=st.floats(0, 1), factor=st.floats(1.001, 50),
)  # fmt: skip
def test_at_break_even_owning_costs_the_rent(capex, years, kw, pue, kwh, upkeep, factor):
    owned = OwnedNode(capex_usd=capex, years=years, kw=kw, pue=pue, usd_per_kwh=kwh, yearly_upkeep_share=upkeep)
    rent = factor * owned.usd_per_h()
    share = owned.break_even_share(rent)
    assert share is not None
    assert 0 < share <= 1
    assert owned.usd_per_h(share) == pytest.approx(rent)


def test_node_divides_by_its_gpus():
    eight = node(gpus=8, yearly_upkeep_share=0.1)
    assert eight.usd_per_gpu_h(1.0) == pytest.approx(0.95)
    assert eight.usd_per_gpu_h(0.25) == pytest.approx(28.60 / 8)
    assert eight.break_even_share(28.60) == pytest.approx(0.25)


@pytest.mark.parametrize(
    "change",
    [
        {"years": 0.0},
        {"use_share": 0.0},
        {"use_share": 1.5},
        {"pue": 0.9},
        {"capex_usd": -1.0},
        {"usd_per_kwh": float("nan")},
        {"capex_usd": float("inf")},
    ],
)
def test_impossible_values_are_refused(change):
    with pytest.raises(ValidationError, match=next(iter(change))):
        node(**change)
