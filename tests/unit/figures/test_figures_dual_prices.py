"""Charts of prices by machine and slot, of bookings, and of what a price is made of."""

from __future__ import annotations

import numpy as np
import pytest

from dlsched.figures import dual_prices
from dlsched.figures.dual_prices import BookedStay, bars_of, bookings_chart, map_table, price_map, price_parts
from dlsched.figures.palette import DARK, LIGHT, TEAL, Theme
from dlsched.studies.inspect.dual_prices.answer import Booked, PricedRun, packed
from dlsched.wording.formats import MINUS, small
from tests.support.known import known
from tests.support.models import replaced
from tests.support.priced_runs import drawn, four_priced, priced_run

themes = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


@themes
def test_the_colour_is_the_logarithm_of_the_price(theme: Theme) -> None:
    run = four_priced()
    b = run.decisions[1]
    chart = known(price_map(run, b, 0, theme))
    cells = next(trace for trace in chart.figure.data if trace.type == "heatmap" and trace.text is not None)
    np.testing.assert_allclose(cells.z, np.log10([[50, 50, 25 / 32, 25 / 32]]))
    assert list(cells.x) == [1, 2, 3, 4]
    assert cells.text[0][0] == "machine n0, slot 1<br>50 utility per GPU and slot"
    assert (cells.zmin, cells.zmax) == (pytest.approx(np.log10(25 / 32)), pytest.approx(np.log10(50)))
    words = list(cells.colorbar.ticktext)
    assert (len(words), words[0], words[-1]) == (4, "0.781", "50")
    assert "(log)" in chart.figure.layout.title.text
    marks = next(trace for trace in chart.figure.data if trace.type == "scatter")
    assert (list(marks.x), list(marks.y), marks.name) == ([3, 4], [0, 0], "b, on one machine")
    assert chart.alt == (
        "When b was decided about, one GPU for a slot cost from 0.781 to 50, the most on machine n0 in slot 1, over "
        "1 machine and 4 slots."
    )
    assert chart.table["GPUs (utility per GPU and slot)"].tolist() == pytest.approx([50, 50, 25 / 32, 25 / 32])


def test_where_nothing_is_booked_all_machines_cost_the_same() -> None:
    run = four_priced()
    chart = known(price_map(run, run.decisions[0], 0, LIGHT))
    assert (
        chart.alt == "When a was decided about, one GPU for a slot cost 0.781 everywhere, over 1 machine and 4 slots."
    )
    assert chart.figure.layout.xaxis.dtick == 1


def test_a_job_that_met_no_prices_has_no_map() -> None:
    run = four_priced()
    assert price_map(run, run.decisions[3], 0, LIGHT) is None
    assert map_table(run, run.decisions[3]).empty
    assert price_parts(run, run.decisions[3], LIGHT) is None


def test_where_a_job_may_not_run_cells_are_grey_and_say_so() -> None:
    run = four_priced()
    shut = packed(np.array([[[np.nan]], [[2.0]]]))
    one = replaced(run.decisions[0], prices=shut, bookings=())
    chart = known(price_map(run, one, 0, LIGHT))
    grey, cells = chart.figure.data
    np.testing.assert_array_equal(grey.z, [[0.0, np.nan]])
    assert np.isnan(cells.z[0][0])
    assert "not for this job" in cells.text[0][0]
    none = replaced(one, prices=packed(np.full((1, 1, 1), np.nan)))
    assert known(price_map(run, none, 0, LIGHT)).alt == "No machine has GPUs for a."


def test_bookings_are_bars_with_equal_slots_in_a_row_as_one() -> None:
    assert bars_of(four_priced()) == [
        BookedStay(0, 1, 2, "a", 0, 2, 0, True, 0)._replace(servers=1),
        BookedStay(0, 3, 4, "b", 1, 2, 0, True, 0)._replace(servers=1),
    ]


def test_who_is_there_at_once_gets_lanes_of_his_own_and_a_pause_parts_bars() -> None:
    run = four_priced()
    a, b, *rest = run.decisions
    a = replaced(a, bookings=(Booked(1, 0, 1, 1), Booked(3, 0, 1, 1), Booked(3, 1, 1, 0)))
    b = replaced(b, bookings=(Booked(1, 0, 1, 1), Booked(2, 0, 1, 1)))
    both = replaced(run, machines=2, decisions=(a, b, *rest))
    bars = [(bar.machine, bar.first, bar.last, bar.job, bar.together, bar.lane) for bar in bars_of(both)]
    assert bars == [
        (0, 1, 1, "a", True, 0),
        (0, 1, 2, "b", True, 1),
        (0, 3, 3, "a", False, 0),
        (1, 3, 3, "a", False, 0),
    ]
    chart = known(bookings_chart(both, 0, LIGHT))
    looks = {trace.name: trace.marker for trace in chart.figure.data}
    assert list(looks) == ["on one machine", "this job, on one machine", "this job, spread"]
    assert looks["this job, spread"].pattern.shape == "/"
    assert looks["this job, spread"].line.color == LIGHT.marks[TEAL]
    assert looks["this job, on one machine"].color == LIGHT.marks[TEAL]
    assert "2 stays with all of the job on one machine, 2 as part of a job that is spread" in chart.alt
    spread = chart.figure.data[2]
    assert list(spread.base) == pytest.approx([2.55, 2.55])
    assert list(spread.x) == pytest.approx([0.9, 0.9])


def big() -> PricedRun:
    return priced_run(drawn(), "pd-ors", {}, 0)


def test_with_many_machines_those_of_the_job_come_first_then_the_fullest(monkeypatch: pytest.MonkeyPatch) -> None:
    run = four_priced()
    a, b, *rest = run.decisions
    a = replaced(a, bookings=(Booked(1, 4, 1, 0), Booked(1, 9, 1, 0)))
    b = replaced(b, bookings=tuple(Booked(slot, machine, 1, 0) for slot in (1, 3) for machine in (2, 6, 7)))
    both = replaced(run, machines=10, decisions=(a, b, *rest))
    monkeypatch.setattr(dual_prices, "MOST_ROWS", 3)
    chart = known(bookings_chart(both, 0, LIGHT))
    assert chart.figure.layout.yaxis.ticktext == ("n2", "n4", "n9")
    assert chart.figure.layout.title.text == "Booked: 2 jobs (2 more machines not shown)"
    assert len(chart.table) == 8  # the table has all
    monkeypatch.setattr(dual_prices, "MOST_BARS", 2)
    assert known(bookings_chart(both, 0, LIGHT)).figure.layout.yaxis.ticktext == ("n4", "n9")


def test_no_two_bars_of_a_lane_overlap() -> None:
    bars = bars_of(big())
    taken = [(bar.machine, bar.lane, slot) for bar in bars for slot in range(bar.first, bar.last + 1)]
    assert len(taken) == len(set(taken)) > 0


def test_nothing_booked_is_no_chart() -> None:
    run = four_priced()
    assert bookings_chart(replaced(run, decisions=run.decisions[2:]), 0, LIGHT) is None


@themes
def test_the_price_by_resource_adds_up(theme: Theme) -> None:
    run = big()
    one = next(one for one in run.decisions if one.admitted)
    chart = known(price_parts(run, one, theme))
    assert sum(chart.figure.data[0].x) == pytest.approx(known(one.best).price)
    assert chart.figure.layout.yaxis.ticktext == ("GPUs", "CPUs", "Memory", "Disk")
    assert chart.alt.startswith(f"The cheapest schedule of {one.job} costs {small(known(one.best).price)}: GPUs ")


def test_next_to_nothing_is_no_power_of_ten() -> None:
    assert [small(value) for value in (0.0, 3.2e-56, 0.00999, 14.25, -2e-9, None)] == [
        "0", "<0.001", "0.00999", "14.2", f">{MINUS}0.001", "–",
    ]  # fmt: skip
