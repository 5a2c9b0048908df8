"""The chart of a price list: order, spot as rings, owning as lines, hostile names, long lists."""

from datetime import date

import pytest

from dlsched.figures.base import Chart
from dlsched.figures.palette import DARK, LIGHT, Theme
from dlsched.figures.prices import MOST_ROWS, OTHER, price_dots, price_table
from dlsched.workload.catalogue import EXAMPLES, PAPER, price_list
from dlsched.workload.prices.owned import OwnedNode
from dlsched.workload.prices.price_list import Offer, PriceList

OWNED = OwnedNode(capex_usd=175_200.0, years=4, yearly_upkeep_share=0, kw=5, pue=1.2, usd_per_kwh=0.1, use_share=0.5)


def drawn(prices: PriceList, theme: Theme = LIGHT) -> Chart:
    chart = price_dots(prices, theme)
    assert chart is not None
    return chart


def offers(count: int, gpu_types: int = 1) -> tuple[Offer, ...]:
    return tuple(
        Offer(name=f"n{number}", gpu_type=f"G{number % gpu_types}", gpus=2, usd_per_h=2.0 * (count - number))
        for number in range(count)
    )


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_cheapest_is_on_top_and_every_type_has_its_dot(theme):
    chart = drawn(price_list(PAPER), theme)
    assert list(chart.table["type"])[:3] == ["NC6", "NC48*", "NC24"]
    assert chart.table["on demand, $/GPU-h"].is_monotonic_increasing
    dots = [trace for trace in chart.figure.data if trace.mode == "markers+text"]
    assert {trace.name for trace in dots} == {"K80", "M60"}
    assert sum(len(trace.x) for trace in dots) == 8
    assert chart.alt.startswith("8 machine types by price of a GPU on demand: from $0.56/GPU-h (NC6) to $0.62/GPU-h (N")


def test_spot_is_a_ring_on_the_same_row():
    chart = drawn(price_list(EXAMPLES))
    rings = [trace for trace in chart.figure.data if trace.marker.symbol == "circle-open" and trace.x[0] is not None]
    by_row = {row: x for trace in rings for row, x in zip(trace.y, trace.x, strict=True)}
    assert len(by_row) == 12  # all but the single H100
    row = list(chart.table["type"]).index("8 x A100")
    assert by_row[row] == pytest.approx(0.95)
    assert "spot from $0.25/GPU-h, known for 12" in chart.alt


def test_unticked_types_and_those_without_gpus_are_left_out():
    assert "CPU node" not in set(price_table(price_list(EXAMPLES))["type"])
    assert price_dots(PriceList(), LIGHT) is None
    nothing = PriceList(offers=(Offer(name="cpu", gpus=0, usd_per_h=1.0),))
    assert price_dots(nothing, LIGHT) is None


def test_discounts_move_the_dots_and_spare_the_rings():
    prices = price_list(EXAMPLES).model_copy(update={"discounts": {"Cloud B": 0.5}})
    table = price_table(prices).set_index("type")
    assert table.loc["8 x A100", "paid"] == pytest.approx(1.05)
    assert table.loc["8 x A100", "spot"] == pytest.approx(0.95)
    assert table.loc["1 x T4", "paid"] == pytest.approx(0.75)


def test_owning_is_two_lines_inside_the_axis():
    prices = PriceList(offers=offers(3), owned=OWNED)
    chart = drawn(prices)
    assert [line.x0 for line in chart.figure.layout.shapes] == pytest.approx([5.6 / 8, 10.6 / 8])
    assert [note.text for note in chart.figure.layout.annotations] == ["own, full use $0.70", "own, 50% use $1.32"]
    assert chart.figure.layout.yaxis.range[1] < -2
    assert "owning costs $0.70/GPU-h at full use and $1.32/GPU-h at present use" in chart.alt
    dear = prices.model_copy(update={"owned": OWNED.model_copy(update={"capex_usd": 1e6})})
    assert drawn(dear).figure.layout.xaxis.range[1] > 1e6 / (4 * 8760 * 0.5) / 8


def test_long_lists_show_the_cheapest_and_say_so():
    chart = drawn(PriceList(offers=offers(300, gpu_types=20)))
    assert sum(len(trace.x) for trace in chart.figure.data if trace.mode == "markers+text") == MOST_ROWS
    assert f"(the cheapest {MOST_ROWS} of 300)" in chart.figure.layout.title.text
    assert len(chart.table) == 300
    assert len({trace.name for trace in chart.figure.data if trace.mode == "markers+text"}) == 9  # 8 and the others
    assert OTHER in {trace.name for trace in chart.figure.data}


def test_hover_has_source_and_day_and_hostile_names_stay_text():
    bad = Offer(name="<b>%{x}</b>", gpu_type="<a>", gpus=1, usd_per_h=1.0, source="<i>s</i>", as_of=date(2026, 3, 1))
    figure = drawn(PriceList(offers=(bad,))).figure
    (dot,) = [trace for trace in figure.data if trace.mode == "markers+text"]
    assert list(dot.customdata[0][3:]) == ["&lt;i&gt;s&lt;/i&gt;", "2026-03-01"]
    assert "<b>" not in figure.layout.yaxis.ticktext[0]
    assert "<" not in dot.name
