"""Charts of reproductions: panels found in nested data, printed points hollow, ours filled with bars."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.figures.palette import DARK, LIGHT, Theme, policy_colour
from dlsched.figures.reproductions import compared, name_of
from dlsched.policies.registry import find
from dlsched.studies.reproductions.panels import MOST_SERIES, Panel, Point, panels_of, policy_of, tables_of
from dlsched.studies.reproductions.reproduction import Outcome, PrintedNumber


def interval(mean: float, half: float | None = 1.0) -> dict[str, Any]:
    return {"mean": mean, "half_width": half, "n": 10}


UTILITY = {
    "over": "jobs",
    "sizes": [{"jobs": 10}, {"jobs": 20}],
    "seeds": [1, 2],
    "total_utility": {
        policy: {
            way: {"20": interval(20.0 + at), "10": interval(10.0 + at)} for way in ("knapsack", "first come", "pass")
        }
        for at, policy in enumerate(("SMD", "Optimus", "ESW"))
    },
    "checks": [{"claim": "more", "holds": True}, {"claim": "most", "holds": False}],
}


def only(data: dict[str, Any]) -> Panel:
    (found,) = panels_of(data)
    return found


def test_a_panel_is_found_by_its_name_its_places_by_their_numbers_and_is_put_in_order() -> None:
    panel = only(UTILITY)
    assert (panel.key, panel.kind.x, panel.has_numbers) == ("total_utility", "Jobs", True)
    assert panel.series["ESW", "pass"] == (Point(10.0, 12.0, 1.0, 10), Point(20.0, 22.0, 1.0, 10))
    assert Outcome("", "partly", (), UTILITY).checks == [("more", True), ("most", False)]
    assert list(tables_of(UTILITY)) == ["sizes"]


def test_too_many_series_leave_policies_beside_each_other_and_the_rest_to_the_reader() -> None:
    panel = only(UTILITY)
    assert panel.choices == (1, ["knapsack", "first come", "pass"])
    assert list(panel.only(1, "knapsack").series) == [("SMD",), ("Optimus",), ("ESW",)]
    assert panel.only(1, "knapsack").choices is None


def test_numbers_below_a_size_and_cases_are_found_as_well() -> None:
    row = {"mean_wait_min": {"optimal": interval(1.0), "greedy": interval(2.0)}, "decisions": 7}
    panel = only({"nodes": [70, 110], "cases": {"long jobs": {"70": row, "110": row}}})
    assert panel.series["long jobs", "greedy"] == (Point(70.0, 2.0, 1.0, 10), Point(110.0, 2.0, 1.0, 10))


def test_half_widths_that_stand_apart_are_joined_and_a_queue_that_grows_has_no_point() -> None:
    data = {
        "mean_response_h": {"hell": {"0.1": 5.0, "0.9": None}},
        "half_width_h": {"hell": {"0.1": 0.5, "0.9": None}},
        "settled": {"hell": {"0.1": True, "0.9": False}},
    }
    assert only(data).series == {("hell",): (Point(0.1, 5.0, 0.5),)}
    assert "1 point missing: queue grows, no mean." in compared(only(data), (), LIGHT).alt


def test_lists_stand_at_the_axis_that_is_given_where_it_rises_else_at_their_places() -> None:
    assert only({"nodes": [1, 4], "simulated": [1.0, 2.5]}).series[()] == (Point(1.0, 1.0), Point(4.0, 2.5))
    assert only({"nodes": [4, 1], "share_done": [0.1, 1.0]}).series[()] == (Point(1.0, 0.1), Point(2.0, 1.0))
    both = {"simulated_one_after_the_other": {"mean": [1.0, 2.0], "half_width": [None, 0.1]}}
    assert only(both).series[()] == (Point(1.0, 1.0), Point(2.0, 2.0, 0.1))


def test_without_numbers_the_last_names_are_the_places() -> None:
    panel = only({"saving": {"high": {"EDF": {"min": 0.1, "mean": 0.5, "max": 0.9, "n": 6}}}})
    assert not panel.has_numbers
    assert panel.series["high",] == (Point("EDF", 0.5, None, 6),)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-1e6, 1e6) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["mean", "half_width", "total_utility", "10", "SMD", "nodes", "x"]), inner)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["total_utility", "ratio", "nodes", "cases", "seeds"]), JSON))
def test_any_data_are_drawn_or_left_out(data: dict[str, Any]) -> None:
    for panel in panels_of(data):
        chart = compared(panel, (), LIGHT)
        assert len(chart.table) == sum(map(len, panel.series.values())) > 0
        assert json.loads(chart.figure.to_json())


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_the_paper_is_hollow_and_ours_filled_with_bars_in_the_colours_of_the_policies(theme: Theme) -> None:
    panel = only(UTILITY).only(1, "knapsack")
    chart = compared(panel, (PrintedNumber("total_utility", 15.0, x=10.0), PrintedNumber("ratio", 1.0, x=10.0)), theme)
    *ours, paper, legend = chart.figure.data
    assert [trace.marker.symbol for trace in ours] == ["circle", "square", "diamond"]
    assert [trace.marker.color for trace in ours] == [policy_colour(key, theme) for key in ("smd", "optimus", "esw")]
    assert list(ours[0].error_y.array) == [1.0, 1.0]
    assert (paper.marker.symbol, list(paper.x), list(paper.y)) == ("diamond-open", [10.0], [15.0])
    assert (legend.name, legend.showlegend, paper.showlegend) == ("paper, as printed", True, False)
    assert "SMD 10.0 ± 1.0 at 10, 20.0 ± 1.0 at 20" in chart.alt
    assert chart.alt.endswith("Paper: 15.")
    assert chart.table["whose"].tolist() == ["ours"] * 6 + ["paper"]


def test_shares_are_drawn_in_percent_ours_and_the_papers() -> None:
    panel = only({"wait_saved": {"load scale 1": {"150": 0.345}}})
    chart = compared(panel, (PrintedNumber("wait_saved", 0.32, x=150.0),), LIGHT)
    assert [list(trace.y) for trace in chart.figure.data[:2]] == [[34.5], [32.0]]
    assert "(%)" in chart.figure.layout.yaxis.title.text


def test_a_printed_range_without_a_place_is_two_levels() -> None:
    panel = only({"used_of_reserved": {"SMD": {"40": interval(0.6, 0.01)}}})
    chart = compared(panel, (PrintedNumber("used_of_reserved", 0.3, 0.5),), LIGHT)
    assert sorted(shape.y0 for shape in chart.figure.layout.shapes) == [30.0, 50.0]
    assert chart.figure.layout.annotations[0].text == "paper, as printed: 30 to 50"
    assert chart.alt.endswith("Paper: 30 to 50.")


def test_names_are_places_on_an_axis_of_their_own_where_the_paper_finds_them() -> None:
    data = {"saving": {rate: {"EDF": {"mean": 0.5, "n": 6}, "DP": {"mean": 0.6, "n": 6}} for rate in ("high", "low")}}
    chart = compared(
        only(data), (PrintedNumber("saving", 0.23, 0.97, "DP"), PrintedNumber("saving", 0.1, 0.2, "Other")), LIGHT
    )
    assert list(chart.figure.layout.xaxis.ticktext) == ["EDF", "DP"]
    high, low, paper, _ = chart.figure.data
    assert high.x[0] < 0 < low.x[0]
    assert (list(paper.x), list(paper.y)) == ([1.0, 1.0], [23.0, 97.0])


def test_an_interval_far_wider_than_the_means_is_cut_and_said() -> None:
    chart = compared(only({"ratio": {"a": {"1": interval(1.0, 500.0), "2": interval(2.0, 0.1)}}}), (), LIGHT)
    low, high = chart.figure.layout.yaxis.range
    assert -10 < low < 0 < high < 10
    assert "Intervals that leave the picture are in the table." in chart.alt
    assert chart.table["± (95%)"].tolist() == [500.0, 0.1]


def test_a_log_axis_has_all_points_and_the_printed_ones() -> None:
    data = {"decision_cpu": {"load scale 1": {"seconds": {"mean": 0.01, "median": 0.002, "longest": 0.3}}}}
    chart = compared(only(data), (PrintedNumber("seconds", 2.48, x="longest"),), LIGHT)
    low, high = chart.figure.layout.yaxis.range
    assert 10**low < 0.002 < 2.48 < 10**high


def test_beyond_what_can_be_told_apart_series_are_grey() -> None:
    data = {"ratio_to_edf": {f"way {place}": {"5": 1.0} for place in range(MOST_SERIES + 2)}}
    colours = [trace.marker.color for trace in compared(only(data), (), LIGHT).figure.data]
    assert colours[MOST_SERIES:] == [LIGHT.other] * 2
    assert LIGHT.other not in colours[:MOST_SERIES]


def test_policies_go_by_their_labels() -> None:
    assert (policy_of("hell"), policy_of("smd"), policy_of("gamma 1")) == ("hell-malleable", "smd", None)
    assert name_of(("gpuaas-edf",)) != "gpuaas-edf"
    assert (name_of(()), name_of(("hell",)), name_of(("SMD",))) == ("ours", find("hell-malleable").label, "SMD")


def test_a_printed_point_of_one_series_stands_beside_it_in_its_colour() -> None:
    data = {"error_share": {name: {"exact": {"mean": 0.1, "min": 0.0}} for name in ("A", "B")}}
    first, second, paper, _ = compared(
        only(data), (PrintedNumber("error_share", 0.08, x="exact", series="B"),), LIGHT
    ).figure.data
    assert paper.x[0] == second.x[0] != first.x[0]
    assert paper.marker.color == second.marker.color
