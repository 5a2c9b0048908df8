"""Slides and workbook of a memo, opened by their libraries: same numbers, charts that can be edited, no formulas."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import openpyxl
import pptx
import pytest
from pptx.oxml.ns import qn

from dlsched.domain.errors import InputError
from dlsched.metrics.stats.basis import EXACT_BASIS
from dlsched.report.units import cut_at, scale_of, titled
from dlsched.report.write import content, kind_of
from dlsched.report.xlsx import AGAIN, SHEETS
from tests.support.memos import NASTY, full_memo, numbers, option, storable, two

MAX_SLIDES_BYTES = 300_000


def slides(memo: Any) -> list[Any]:
    data = content(memo, "pptx")
    assert len(data) < MAX_SLIDES_BYTES
    return list(pptx.Presentation(BytesIO(data)).slides)


def book(memo: Any) -> Any:
    return openpyxl.load_workbook(BytesIO(content(memo, "xlsx")))


def charts(all_slides: list[Any]) -> list[Any]:
    return [shape.chart for slide in all_slides for shape in slide.shapes if shape.has_chart]


def cost_and_late() -> Any:
    """FIFO $100, 110, 120 with 40, 50, 60% late; SJF $10 less with 20 points less."""
    fifo = [numbers(late, cost) for late, cost in ((0.4, 100.0), (0.5, 110.0), (0.6, 120.0))]
    sjf = [numbers(late - 0.2, cost - 10) for late, cost in ((0.4, 100.0), (0.5, 110.0), (0.6, 120.0))]
    return full_memo([option("FIFO", fifo), option("SJF", sjf, "sjf")])


# ---- slides --------------------------------------------------------------------------------------------


def test_slides_say_the_recommendation_and_whose_data_these_are():
    memo = full_memo(two(), question="Shall we?", note="Asked by the board")
    found = slides(memo)
    assert [slide.shapes.title.text_frame.text for slide in found] == [
        "Choose SJF: late jobs fall from 50% to 30%", "1 of 1 option serves jobs better than FIFO",
        "With SJF late jobs fall from 50% to 30%", "With SJF machine cost is the same", "What this rests on",
    ]  # fmt: skip
    texts = [shape.text_frame.text for shape in found[0].shapes if shape.has_text_frame]
    assert {memo.recommendation, "Shall we?"} <= {*texts}
    assert any("Asked by the board" in text for text in texts)
    for slide in found:
        assert any("scenario 91c0ffee" in s.text_frame.text for s in slide.shapes if s.has_text_frame)
        assert memo.origin.scenario_hash in slide.notes_slide.notes_text_frame.text
        assert "dlsched compare Night-shift.json" in slide.notes_slide.notes_text_frame.text
        assert not any("dlsched compare" in s.text_frame.text for s in slide.shapes if s.has_text_frame)


def test_the_table_of_the_slides_has_the_numbers_of_the_page():
    memo = cost_and_late()
    table = next(shape.table for slide in slides(memo) for shape in slide.shapes if shape.has_table)
    cells = [[cell.text_frame.text for cell in row.cells] for row in table.rows]
    assert cells[0] == ["", "FIFO", "SJF"]
    assert [
        "Share of late jobs",
        "50%\n95% interval 25.2% to 74.8%",
        "30%\n95% interval 5.2% to 54.8%\n−20 pp, better",
    ] in cells
    assert len(cells) == 1 + len(memo.rows)


def test_charts_are_native_and_have_the_numbers_and_their_intervals():
    memo = cost_and_late()
    bars_of, frontier = charts(slides(memo))
    values = dict(zip(bars_of.plots[0].categories, bars_of.plots[0].series[0].values, strict=True))
    assert values == pytest.approx({"FIFO": 50.0, "SJF": 30.0})
    labels = [point.data_label.text_frame.text for point in map(bars_of.plots[0].series[0].points.__getitem__, (0, 1))]
    assert labels == ["50%", "30%"]
    assert [series.name for series in frontier.plots[0].series] == ["FIFO", "SJF"]
    points = [next(series.iter_values()) for series in frontier.plots[0].series]
    assert points == pytest.approx([50.0, 30.0])
    bars = frontier.plots[0].series[0]._element.findall(qn("c:errBars"))
    halves = [float(bar.find(qn("c:plus")).find(f".//{qn('c:v')}").text) for bar in bars]
    assert halves == pytest.approx([24.841, 24.841], rel=1e-4)  # t of 2 degrees of freedom: 4.30265 x 10 / sqrt(3)
    assert [bar.find(qn("c:errDir")).get("val") for bar in bars] == ["x", "y"]
    order = [child.tag for child in frontier.plots[0].series[0]._element]
    assert order.index(qn("c:marker")) < order.index(qn("c:errBars")) < order.index(qn("c:xVal"))


def test_no_bar_is_flattened_by_another():
    assert [scale_of(values) for values in ([1.0, 2.0], [1.0, 29.0], [0.0, 0.0], [7.0])] == ["linear"] * 4
    assert [scale_of(values) for values in ([1.0, 30.0], [2.0, 50.0, 900.0])] == ["log"] * 2
    assert scale_of([0.0, 1.0, 40.0]) == "cut"
    assert cut_at([0.0, 1.0, 40.0]) == 2.0
    far = [option("FIFO", [numbers(0.5, 1.0)]), option("SJF", [numbers(0.01, 1.0)], "sjf")]
    drawn, _ = charts(slides(full_memo(far, basis=EXACT_BASIS)))
    assert drawn.value_axis._element.find(qn("c:scaling")).find(qn("c:logBase")).get("val") == "10"
    assert "logarithmic scale" in drawn.value_axis.axis_title.text_frame.text
    assert drawn.value_axis.minimum_scale == 1.0
    none = [option(name, [numbers(late, 1.0)]) for name, late in (("A", 0.0), ("B", 0.01), ("C", 0.9))]
    drawn, _ = charts(slides(full_memo(none, basis=EXACT_BASIS)))
    assert drawn.value_axis.maximum_scale == pytest.approx(2.0)  # %
    assert "the longest bar is cut" in drawn.value_axis.axis_title.text_frame.text


def test_a_rough_memo_has_its_label_on_every_slide_and_no_error_bars():
    memo = full_memo([option(name, [numbers(late, 100.0)]) for name, late in (("A", 0.1), ("B", 0.2))])
    found = slides(memo)
    for slide in found:
        assert any("rough preview: 1 simulation" in s.text_frame.text for s in slide.shapes if s.has_text_frame)
    assert not [bar for chart in charts(found) for bar in chart._chartSpace.iter(qn("c:errBars"))]


# ---- workbook ------------------------------------------------------------------------------------------


def test_the_workbook_has_its_sheets_and_charts():
    found = book(cost_and_late())
    assert tuple(found.sheetnames) == (*SHEETS, AGAIN)
    assert {sheet.title: len(sheet._charts) for sheet in found if sheet._charts} == {
        "Summary": 1, "Frontier": 1, "Who wins": 1,
    }  # fmt: skip


def test_numbers_are_numbers_with_a_format():
    found = book(cost_and_late())
    rows = {(row[0].value, row[2].value): row for row in found["Differences"].iter_rows(min_row=2)}
    late = rows["Share of late jobs", "SJF"]
    assert [cell.value for cell in late[1:6]] == ["%", "SJF", pytest.approx(50.0), pytest.approx(30.0),
                                                  pytest.approx(-20.0)]  # fmt: skip
    assert [cell.value for cell in late[6:8]] == [pytest.approx(-20.0)] * 2
    assert [late[8].value, late[11].value] == [pytest.approx(-40.0), "better"]
    assert late[4].number_format == "#,##0.00"
    assert rows["Cost per month", "SJF"][4].number_format == "$#,##0"
    waits = rows["p95 wait", "SJF"]
    assert [waits[1].value, waits[3].value] == ["h", 2.0]
    frontier = [[cell.value for cell in row[:7]] for row in found["Frontier"].iter_rows(min_row=2, max_row=3)]
    half = pytest.approx(24.841, rel=1e-4)
    assert frontier[1] == ["SJF", pytest.approx(100.0), half, half, pytest.approx(30.0), half, half]
    who = [[cell.value for cell in row[:5]] for row in found["Who wins"].iter_rows(min_row=2)]
    assert ["SJF", "ann", 6, 0, -1.0] in who
    assert ["SJF", "bob", 6, 0, 0.5] in who


def test_all_draws_are_in_the_last_sheet():
    sheet = book(cost_and_late())["All numbers"]
    head = [cell.value for cell in sheet[1]]
    place = head.index("Share of late jobs (%)")
    late = [row[place].value for row in sheet.iter_rows(min_row=2)]
    assert late == pytest.approx([40.0, 50.0, 60.0, 20.0, 30.0, 40.0])
    assert [row[1].value for row in sheet.iter_rows(min_row=2)] == [0, 1, 2, 0, 1, 2]


# ---- both ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_what_users_wrote_is_text_in_every_file(text):
    options = [option(f"{text}{name}", each.draws) for name, each in zip("AB", two(), strict=True)]
    memo = full_memo(options, user=storable(text), question=text, recommended=text, note=text)
    found = book(memo)
    cells = [cell for sheet in found for row in sheet.iter_rows() for cell in row]
    assert {cell.data_type for cell in cells} <= {"s", "n"}
    assert not [cell for cell in cells if cell.hyperlink]
    shown = slides(memo)[0].shapes.title.text_frame.text
    if text.isprintable():
        assert text in {cell.value for cell in cells}
        assert shown == text
    assert shown.isprintable()


def test_long_names_fit_where_they_are_put():
    options = [option(name * 300, each.draws) for name, each in zip("AB", two(), strict=True)]
    memo = full_memo(options, user="u" * 40_000)
    assert max(len(str(cell.value)) for sheet in book(memo) for row in sheet.iter_rows() for cell in row) < 32_767
    assert len(slides(memo)) == 5


def test_endings_say_the_kind():
    assert [kind_of(name) for name in ("a.html", "b.PPTX", "c/d.xlsx")] == ["html", "pptx", "xlsx"]
    with pytest.raises(InputError, match=r"file a\.pdf: must end in one of \.html, \.pptx, \.xlsx"):
        kind_of("a.pdf")
    assert content(full_memo(), "html").startswith(b"<!DOCTYPE html>")


def test_labels_carry_their_unit():
    assert titled("p95 wait", "duration") == "p95 wait (h)"
    assert titled("Completed", "count") == "Completed"
