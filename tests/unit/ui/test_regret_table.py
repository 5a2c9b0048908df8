"""The regret table: text first, a column for the worst case, the safe choice marked, names escaped."""

from __future__ import annotations

import re

import pytest

from dlsched.figures.palette import DARK, LIGHT, Theme
from dlsched.figures.sweep_map import luminance
from dlsched.ui.plan.regret_table import MOST_SITUATIONS, regret_rows, regret_table, situations
from tests.support.sweeps import NODES, made, two_policies


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_losses_stand_as_text_with_colour_behind_them(theme: Theme) -> None:
    html = regret_table(two_policies(), "jct_mean", theme)
    assert "+29.4%, not&nbsp;clear" in html  # a narrow column breaks before the verdict alone
    html = html.replace("&nbsp;", " ")
    assert (
        "<th scope='col'>4 nodes</th><th scope='col'>8 nodes</th><th scope='col' class='worst'>Worst case</th>" in html
    )
    fifo, sjf = html.split("<tbody>")[1].split("</tr>")[:2]
    assert "+29.4%, not clear" in fifo
    assert "<strong>best</strong>" in fifo
    assert "class='worst' style=" in fifo
    assert "★ +3.85%, not clear" in sjf
    assert "★" not in fifo
    for ground, ink in re.findall(r"background:(#\w{6});color:(#\w{6})", html):
        light, dark = sorted((luminance(ground), luminance(ink)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.4
    assert "caption" in html


def test_names_of_users_cannot_be_markup() -> None:
    answer = made({"jct_mean": {"fifo": [[1.0], [2.0]]}}).model_copy(update={"labels": {"fifo": "<b>x</b>"}})
    assert "<b>" not in regret_table(answer, "jct_mean", LIGHT)


def test_of_many_situations_those_with_the_largest_losses_are_shown_and_the_rows_have_all() -> None:
    axis = NODES.model_copy(update={"values": tuple(float(value) for value in range(1, 13))})
    losing = [[1.0 + (at % 12 == 5) * 50 + at] for at in range(12)]
    answer = made({"jct_mean": {"fifo": losing, "sjf": [[1.0]] * 12}}, (axis,))
    shown = situations(answer, "jct_mean")
    assert len(shown) == MOST_SITUATIONS
    assert shown == sorted(shown)
    assert 5 in shown
    assert 0 not in shown
    assert "of 12 situations the 8 with the largest differences" in regret_table(answer, "jct_mean", LIGHT)
    rows = regret_rows(answer, "jct_mean")
    assert len(rows) == 24
    assert rows[5] == {
        "policy": "FIFO", "situation": "6 nodes", "best policy": "SJF", "loss": "+55 s, rough",
        "loss of jct_mean": 55.0, "loss, %": 5500.0, "safe choice": "",
    }  # fmt: skip


def test_a_policy_without_a_number_has_no_worst_case() -> None:
    html = regret_table(made({"jct_mean": {"fifo": [[1.0], [None]], "sjf": [[2.0], [1.0]]}}), "jct_mean", LIGHT)
    assert "<td class='worst'>–</td>" in html
