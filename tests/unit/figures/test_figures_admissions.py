"""Charts of the Admissions page: bars by hand, texts and tables that agree, marks that name their interval."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dlsched.figures.admissions import MOST_MARKS, MOST_POINTS, OUTCOMES, over_run, room_chart
from dlsched.figures.palette import DARK, LIGHT
from tests.support.admission_runs import small_interval
from tests.support.models import replaced

COUNTS = pd.DataFrame(
    {
        "number": [1, 2, 3], "time_s": [0.0, 3600.0, 7200.0], "admitted": [4, 0, 2], "carried over": [6, 7, 0],
        "rejected": [0, 1, 0],
    }
)  # fmt: skip


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_bars_are_shares_of_capacity_each_where_the_one_before_ends(theme):
    chart = room_chart(small_interval(), theme)
    there, before, now, used = (trace for trace in chart.figure.data if trace.type == "bar")
    # GPUs: 4 of 10 reserved by a, 2 more by b, 3 used; memory: 8 of 40, 20 more, 24 used
    assert list(there.x) == [100, 100]
    assert list(before.x) == [40, 20]
    assert list(now.x) == [20, 50]
    assert list(now.base) == [40, 20]
    assert list(used.x) == [30, 60]
    assert before.marker.pattern.shape == "/"
    assert chart.figure.layout.title.text == "Memory is the scarcest"


def test_texts_and_table_name_amounts_with_units_and_what_one_more_is_worth():
    chart = room_chart(small_interval(), LIGHT)
    assert chart.alt == (
        "GPUs: 3 used, 6 reserved of 10 · one more GPU is worth 0; "
        "Memory (GiB): 24 used, 28 reserved of 40 · one more GiB is worth 0.5."
    )
    (labels,) = [trace for trace in chart.figure.data if trace.type == "scatter"]
    assert "; ".join(labels.text) + "." == chart.alt
    assert chart.table["resource"].tolist() == ["GPUs", "GiB of memory"]
    assert chart.table["used"].tolist() == [3, 24]
    assert chart.table["reserved"].tolist() == [6, 28]


def test_where_more_room_is_worth_nothing_the_title_says_so_and_blocks_above_capacity_are_seen():
    one = replaced(small_interval(), price=(0.0, 0.0), capacity=(5.0, 40.0))
    chart = room_chart(one, LIGHT)
    assert chart.figure.layout.title.text == "More capacity would not be worth anything now"
    assert chart.figure.layout.xaxis.range[1] > 120  # 6 GPUs reserved of 5 that are left


def test_each_mark_of_the_run_names_its_interval():
    chart = over_run(COUNTS, 2, LIGHT)
    lines = [trace for trace in chart.figure.data if trace.type == "scatter"]
    assert [trace.name for trace in lines] == ["admitted", "waiting", "rejected"]
    for trace in lines:
        assert list(trace.customdata) == [1, 2, 3]
        assert list(trace.x) == [0, 1, 2]
        assert list(trace.y) == COUNTS[OUTCOMES[trace.name]].tolist()
    assert len({trace.marker.symbol for trace in lines}) == 3
    assert chart.alt == "Over 3 intervals: 6 jobs admitted, 1 rejected; most waiting at interval 2: 7."
    assert chart.figure.layout.yaxis.range[0] < 0


def test_long_runs_are_thinned_and_their_numbers_stay():
    count = 5000
    many = pd.DataFrame(
        {
            "number": np.arange(1, count + 1), "time_s": np.arange(count) * 3600.0, "admitted": np.ones(count, int),
            "carried over": np.where(np.arange(count) == 1234, 99, 0), "rejected": np.zeros(count, int),
        }
    )  # fmt: skip
    chart = over_run(many, 1, DARK)
    carried = chart.figure.data[1]
    assert MOST_MARKS < len(carried.x) <= MOST_POINTS
    assert carried.mode == "lines"
    assert list(carried.customdata[np.array(carried.y) == 99]) == [1235]
    assert len(chart.table) == count
