"""What slides are made of: texts, tables, and native charts with intervals, which python-pptx itself does not draw."""

# mypy: disallow-untyped-calls=False
# python-pptx has types in parts only.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pptx.chart.data import CategoryChartData, XyChartData
from pptx.dml.color import RGBColor
from pptx.enum.chart import XL_CHART_TYPE, XL_LEGEND_POSITION, XL_MARKER_STYLE, XL_TICK_LABEL_POSITION
from pptx.oxml import parse_xml
from pptx.oxml.ns import nsdecls, qn
from pptx.util import Inches, Pt

from dlsched.figures.palette import LIGHT
from dlsched.wording.formats import cut

LONGEST_LINE = 1_000
AXIS_PT, LEGEND_PT = 12, 13
SHAPES = (XL_MARKER_STYLE.CIRCLE, XL_MARKER_STYLE.DIAMOND, XL_MARKER_STYLE.SQUARE)

Box = tuple[float, float, float, float]
"""Left, top, width, height in inches."""
Dot = tuple[float, float, float, float]
"""x, y and their 95% half widths, 0 where there is none."""


def colour(code: str) -> RGBColor:
    """Return "#185add" as python-pptx has it."""
    return RGBColor(*bytes.fromhex(code.lstrip("#")))


def write(frame: Any, paragraphs: Sequence[str], size_pt: float, ink: str = LIGHT.ink, *, bold: bool = False) -> None:
    """Replace the text of a frame; letters that cannot be shown go, lines stay lines."""
    lines = [cut(line, LONGEST_LINE) for text in paragraphs for line in text.split("\n")]
    frame.word_wrap = True
    for place, line in enumerate(lines):
        paragraph = frame.paragraphs[0] if place == 0 else frame.add_paragraph()
        run = paragraph.add_run()
        run.text = line
        run.font.size, run.font.bold, run.font.color.rgb = Pt(size_pt), bold, colour(ink)


def text_box(slide: Any, box: Box, paragraphs: Sequence[str], size_pt: float, ink: str = LIGHT.ink) -> Any:
    """Add a text."""
    shape = slide.shapes.add_textbox(*map(Inches, box))
    write(shape.text_frame, paragraphs, size_pt, ink)
    return shape


def table(slide: Any, box: Box, rows: Sequence[Sequence[tuple[str, str]]], size_pt: float) -> None:
    """Add a table of (text, colour) cells; the first row is the head."""
    left, top, width, _ = box
    height = 0.3 * len(rows)
    shape = slide.shapes.add_table(len(rows), len(rows[0]), *map(Inches, (left, top, width, height)))
    for row, cells in enumerate(rows):
        for column, (text, ink) in enumerate(cells):
            cell = shape.table.cell(row, column)
            cell.margin_top = cell.margin_bottom = Inches(0.03)
            cell.fill.solid()
            cell.fill.fore_color.rgb = colour(LIGHT.card if row == 0 else LIGHT.ground)
            write(cell.text_frame, [text], size_pt, ink, bold=row == 0)


def bar_chart(
    slide: Any,
    box: Box,
    categories: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    halves: Mapping[str, Sequence[float]],
    axis: str,
) -> None:
    """Add bars by category, one colour a series, with custom error bars; ``halves`` are 0 where there is none."""
    data = CategoryChartData(number_format="0.0")
    data.categories = [cut(name) for name in categories]
    for name, values in series.items():
        data.add_series(cut(name), values)
    chart = slide.shapes.add_chart(XL_CHART_TYPE.BAR_CLUSTERED, *map(Inches, box), data).chart
    _framed(chart, legend=len(series) > 1)
    chart.category_axis.reverse_order = True
    chart.category_axis.tick_label_position = XL_TICK_LABEL_POSITION.LOW
    _titled(chart.value_axis, axis)
    for place, (drawn, name) in enumerate(zip(chart.plots[0].series, series, strict=True), 1):
        drawn.format.fill.solid()
        drawn.format.fill.fore_color.rgb = colour(LIGHT.marks[place % len(LIGHT.marks)])
        drawn.invert_if_negative = False
        if any(halves[name]):
            _error_bars(drawn._element, halves[name], before="c:cat")


def scatter_chart(slide: Any, box: Box, dots: Mapping[str, Sequence[Dot]], x_title: str, y_title: str) -> None:
    """Add series of dots by name."""
    data = XyChartData()
    for name, points in dots.items():
        series = data.add_series(cut(name))
        for x, y, _, _ in points:
            series.add_data_point(x, y)
    chart = slide.shapes.add_chart(XL_CHART_TYPE.XY_SCATTER, *map(Inches, box), data).chart
    _framed(chart, legend=True)
    _titled(chart.category_axis, x_title)
    _titled(chart.value_axis, y_title)
    for place, (drawn, points) in enumerate(zip(chart.plots[0].series, dots.values(), strict=True)):
        drawn.format.line.fill.background()  # dots alone: sizes are no path
        drawn.marker.style, drawn.marker.size = SHAPES[place % len(SHAPES)], 12
        drawn.marker.format.fill.solid()
        drawn.marker.format.fill.fore_color.rgb = colour(LIGHT.marks[place % len(LIGHT.marks)])
        for direction, halves in (("x", [point[2] for point in points]), ("y", [point[3] for point in points])):
            if any(halves):
                _error_bars(drawn._element, halves, before="c:xVal", direction=direction)


def _framed(chart: Any, *, legend: bool) -> None:
    chart.has_title = False
    chart.has_legend = legend
    chart.font.size = Pt(AXIS_PT)
    if legend:
        chart.legend.position, chart.legend.include_in_layout = XL_LEGEND_POSITION.BOTTOM, False
        chart.legend.font.size = Pt(LEGEND_PT)


def _titled(axis: Any, title: str) -> None:
    axis.has_title = True
    axis.axis_title.text_frame.text = cut(title, 80)
    axis.major_gridlines.format.line.color.rgb = colour(LIGHT.grid)


def _error_bars(series: Any, halves: Sequence[float], *, before: str, direction: str = "") -> None:
    """Insert error bars of given half widths; ``before`` is the element that follows them in the file format."""
    points = "".join(f'<c:pt idx="{place}"><c:v>{float(half)!r}</c:v></c:pt>' for place, half in enumerate(halves))
    numbers = f'<c:numLit><c:formatCode>General</c:formatCode><c:ptCount val="{len(halves)}"/>{points}</c:numLit>'
    along = f'<c:errDir val="{direction}"/>' if direction else ""
    bars = parse_xml(
        f'<c:errBars {nsdecls("c")}>{along}<c:errBarType val="both"/><c:errValType val="cust"/><c:noEndCap val="0"/>'
        f"<c:plus>{numbers}</c:plus><c:minus>{numbers}</c:minus></c:errBars>"
    )
    series.find(qn(before)).addprevious(bars)
