"""Charts of the Look-ahead page: cells, marks, legible numbers, tables and texts that agree."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dlsched.figures.look_ahead import decision_times, ink_at, plan_chart, shade_at, widths_over_time
from dlsched.figures.palette import DARK, LIGHT
from dlsched.studies.inspect.look_ahead.answer import LookAhead
from dlsched.wording.formats import signed
from tests.support.models import replaced

ONE = LookAhead(
    number=1, time_s=600.0, step_s=300.0, jobs=("a", "<b>b</b>", "c"), row=(0, 1, 2), held=(4, 2, 0),
    plan=((2, 4), (2, 2), (2, 0)), greedy=(4, 2, 0), objective=2.0, bound=2.0, status="optimal", method="x-model",
    reason="", scenarios="scenario 4", idle=(0, 0), rest=0, got=(2, 2, 2),
)  # fmt: skip


@pytest.mark.parametrize("follows", [True, False])
def test_the_numbers_of_all_steps_stand_in_their_cells(follows):
    one = replaced(ONE, got=ONE.decided(follows_plan=follows))
    chart = plan_chart(one, [0, 1, 2], LIGHT, follows_plan=follows)
    texts = [trace for trace in chart.figure.data if trace.type == "scatter"]
    plain = [[str(word).replace("<b>", "").replace("</b>", "") for word in trace.text] for trace in texts]
    change = ["−2", "·", "+2"] if follows else ["·", "·", "·"]
    assert plain == [
        ["4", "2", "0"], ["2", "2", "2"], ["4", "2", "0"], ["4", "2", "0"], change, ["+2", "·", "−2"],
    ]  # fmt: skip
    (outline,) = chart.figure.layout.shapes
    marked = [trace.x[0] for trace in texts if trace.text[0].startswith("<b>")]
    assert marked == [(outline.x0 + outline.x1) / 2]
    assert marked == [texts[1 if follows else 3].x[0]]


@pytest.mark.parametrize("follows", [True, False])
def test_what_jobs_got_has_a_column_where_it_is_not_what_was_decided(follows):
    chart = plan_chart(replaced(ONE, got=(2, 1, 0)), [0, 1, 2], LIGHT, follows_plan=follows)
    texts = [trace for trace in chart.figure.data if trace.type == "scatter"]
    assert list(texts[4].text) == ["<b>2</b>", "<b>1</b>", "<b>0</b>"]
    assert list(texts[5].text) == ["−2", "−1", "·"]
    (outline,) = chart.figure.layout.shapes
    assert (outline.x0 + outline.x1) / 2 == texts[4].x[0]
    headings = list(chart.figure.layout.xaxis.ticktext)
    assert [heading for heading in headings if "carried out" in heading] == ["got<br> carried out"]
    assert len({trace.x[0] for trace in texts}) == len(texts)
    assert chart.table["carried out"].tolist() == [2, 1, 0]
    assert chart.table["change now"].tolist() == [-2, -1, 0]
    assert chart.alt.endswith("2 jobs got another number than was decided.")


def test_table_and_text_of_the_plan_agree_and_names_are_safe():
    chart = plan_chart(ONE, [2, 0, 1], LIGHT, follows_plan=True)
    assert chart.table["job"].tolist() == ["c", "a", "<b>b</b>"]
    assert chart.table["step 2"].tolist() == [0, 4, 2]
    assert chart.table["greedy - step 1"].tolist() == [-2, 2, 0]
    assert chart.alt == (
        "6 nodes allocated to 2 jobs before; the plan gives 6 nodes to 3 jobs in step 1, greedy 6 nodes to 2 jobs. "
        "2 jobs changed now; step 1 and greedy differ for 2 jobs."
    )
    assert "<b>b</b>" not in chart.figure.layout.yaxis.ticktext


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_numbers_can_be_read_on_every_shade(theme):
    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for strength in np.linspace(0, 1, 11):
        low, high = sorted([luminance(shade_at(strength, theme)), luminance(ink_at(strength, theme))])
        assert (high + 0.05) / (low + 0.05) >= 4.5


def test_differences_carry_their_sign():
    assert [signed(value) for value in (2, -3, 0)] == ["+2", "−3", "0"]


def test_every_decision_is_in_one_bar_of_the_histogram():
    decisions = pd.DataFrame({"cpu_s": [0.001, 0.002, 0.004, 1.0, 0.0]})
    chart = decision_times(decisions, LIGHT, 0.004)
    assert chart.table["decisions"].sum() == 5
    assert chart.alt == "CPU time of 5 decisions: half took up to 2 ms, the longest 1 s, 1 s together."
    quick = decision_times(pd.DataFrame({"cpu_s": [0.0002, 0.00025, 0.0007]}), LIGHT)
    assert quick.figure.layout.title.text == "Half of 3 decisions took up to 0.25 ms, the longest 0.7 ms"
    assert list(quick.figure.layout.xaxis.ticktext) == ["0.2 ms", "0.5 ms"]


def test_nodes_over_time_add_up_by_width():
    # job 0 on 2 nodes (two rows of one worker) until 100, then on 1; job 1 on 2 nodes from 50 to 100
    pieces = pd.DataFrame(
        {
            "piece": [0, 0, 1, 2], "row": [0, 0, 0, 1], "workers": [1, 1, 1, 2],
            "start_s": [0.0, 0.0, 100.0, 50.0], "end_s": [100.0, 100.0, 200.0, 100.0],
        }
    )  # fmt: skip
    chart = widths_over_time(pieces, 4, LIGHT, 60.0)
    found = chart.table.iloc[:, 0].to_numpy(float)
    times = found * (200 / found[-1])
    expected = np.select([times < 50, times < 100], [2, 4], 0)
    inner = (np.abs(times - 50) > 1) & (np.abs(times - 100) > 1)
    assert (chart.table["on 2 nodes"].to_numpy()[inner] == expected[inner]).all()
    assert (chart.table["on 1 node"].to_numpy()[inner] == np.where(times[inner] > 100, times[inner] < 200, 0)).all()
    assert chart.alt == "Nodes allocated of 4, mean over the run: 0.5 by jobs on 1 node, 1.5 by jobs on 2 nodes."
    free = widths_over_time(pieces, None, LIGHT, 60.0, unit="worker")
    assert free.alt.startswith("Workers allocated, mean over the run")
    assert list(free.figure.layout.yaxis.range) == [0, pytest.approx(1.22 * 4)]
