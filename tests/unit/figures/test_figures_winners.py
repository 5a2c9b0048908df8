"""The chart of winners and losers: order, whiskers, bands, marks, what is left out of the picture."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dlsched.figures.palette import LIGHT
from dlsched.figures.winners import changes
from dlsched.metrics.job_classes import Grouping
from dlsched.metrics.winners import Tables, Winners, winners
from tests.support.known import known


def draw(change_s: dict[str, float], noise_s: float = 0.0, **columns: Any) -> Tables:
    """Five jobs of each user whose changes spread by 2 s about what is asked."""
    users = [user for user in change_s for _ in range(5)]
    spread = np.tile([-2.0, -1, 0, 1, 2], len(change_s))
    before = pd.DataFrame({"job_id": np.arange(len(users)).astype(str), "user": users, "wait_s": 1e6}).assign(**columns)
    return before, before.assign(wait_s=1e6 + np.repeat(list(change_s.values()), 5) + spread + noise_s)


def answer(*draws: Tables, by: Grouping = "user", exact: bool = False) -> Winners:
    return winners(list(draws), by, names=("A", "B"), exact=exact)


def test_largest_gain_on_top_in_a_readable_unit_with_bands_of_jobs() -> None:
    chart = known(changes(answer(draw({"ann": 7200, "bob": -36_000, "cat": 0}), exact=True), LIGHT))
    figure = chart.figure
    assert list(figure.layout.yaxis.ticktext) == ["bob (5)", "cat (5)", "ann (5)"]
    assert figure.layout.xaxis.title.text == "Change of mean wait (h), left is better"
    bands = figure.data[0]
    assert bands.name == "middle half of its jobs"
    assert [x * 3600 for x in bands.x[:2]] == pytest.approx([-36_001, -35_999])
    dots = {trace.marker.symbol[0] if isinstance(trace.marker.symbol, tuple) else trace.marker.symbol: trace.x
            for trace in figure.data[1:] if trace.x[0] is not None}  # fmt: skip
    assert dots == {"circle": (-10,), "diamond": (2,), "circle-open": (0,)}
    assert figure.layout.title.text == "Mean wait by user: B against A"
    low, high = figure.layout.xaxis.range
    assert low < min(x for x in bands.x if x is not None)
    assert high > max(x for x in bands.x if x is not None)
    assert chart.alt.startswith("1 user gains and 1 loses more than 10 min of mean wait with B in place of A")
    assert len(chart.table) == 4


def test_whiskers_over_draws_and_no_bands() -> None:
    chart = known(changes(answer(draw({"ann": -3600}, 50), draw({"ann": -3600}, -50)), LIGHT))
    dots = chart.figure.data[0]
    assert dots.x[0] == -60
    assert dots.error_x.array[0] == pytest.approx(12.7062 * 50 / 60, rel=1e-5)
    assert chart.figure.layout.title.text.endswith(", with 95% intervals")
    assert not any(trace.name == "middle half of its jobs" for trace in chart.figure.data)


def test_classes_keep_their_order_whatever_changes() -> None:
    given = draw({"ann": 5000, "bob": -5000, "cat": 0}, gpus=np.repeat([1.0, 4, 8], 5))
    chart = known(changes(answer(given, by="size_class", exact=True), LIGHT))
    assert list(chart.figure.layout.yaxis.ticktext) == ["1 GPU (5)", "2–4 GPUs (5)", "5–8 GPUs (5)"]


def test_of_many_groups_both_ends_are_drawn_and_all_counted() -> None:
    chart = known(changes(answer(draw({f"u{i}": 3600.0 if i < 10 else -3600.0 for i in range(40)}), exact=True), LIGHT))
    assert sum(len(trace.x) for trace in chart.figure.data if trace.customdata is not None) == 30
    assert chart.alt.startswith("30 users gain and 10 lose")
    assert len(chart.table) == 41


def test_nobody_compared_is_no_chart() -> None:
    before, after = draw({"ann": 1.0})
    assert changes(answer((before, after.assign(wait_s=np.nan))), LIGHT) is None
