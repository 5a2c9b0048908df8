"""The memo as slides, each with its finding as title: advice, table, native charts to edit, what it rests on."""

# mypy: disallow-untyped-calls=False
# python-pptx has types in parts only.

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from typing import Any

from pptx import Presentation
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.dml.color import RGBColor
from pptx.enum.chart import (
    XL_AXIS_CROSSES,
    XL_CHART_TYPE,
    XL_LABEL_POSITION,
    XL_LEGEND_POSITION,
    XL_MARKER_STYLE,
    XL_TICK_LABEL_POSITION,
)
from pptx.enum.text import PP_ALIGN
from pptx.oxml import parse_xml
from pptx.oxml.ns import nsdecls, qn
from pptx.util import Inches, Pt

from dlsched.figures.palette import LIGHT
from dlsched.metrics.kpi import KPIS
from dlsched.metrics.stats.compare import Cell, Row
from dlsched.report.advice_words import count_finding
from dlsched.report.evidence import asked_words
from dlsched.report.memo import FEW_OPTIONS, ROUGH, Memo, cell_lines
from dlsched.report.units import SCALE_NOTES, UNITS, Bars, Dot, Scale, cut_at, scale_of
from dlsched.studies.sizing.words import sentence as sentence_of_size
from dlsched.studies.sizing.words import sure_words
from dlsched.wording.certainty import range_note
from dlsched.wording.formats import cut

WIDE_IN, HIGH_IN, MARGIN_IN = 13.333, 7.5, 0.5
BODY = (MARGIN_IN, 1.3, WIDE_IN - 2 * MARGIN_IN, 5.5)
TITLE_ONLY = 5
"""The layout with a title and nothing else in the template that comes with python-pptx."""
LONG_ADVICE = 350
LONG_BEHIND = 700
INKS = {"better": LIGHT.better, "worse": LIGHT.worse_text}
MOST_ASSUMPTIONS = 8


def to_pptx(memo: Memo) -> bytes:
    """Return the slides as the bytes of a file."""
    deck = Presentation()
    deck.slide_width, deck.slide_height = Inches(WIDE_IN), Inches(HIGH_IN)
    deck.core_properties.title = cut(memo.question, 200)
    deck.core_properties.author = "dlsched"
    fills: list[tuple[str, Callable[[Any, Memo], None]]] = [
        (memo.question if memo.ours else memo.headline, _advice),
        (count_finding(memo.comparison, memo.service), _table),
    ]
    if memo.points:
        fills.append((memo.finding(memo.service), _service_chart))
        fills.append((memo.finding(memo.cost), _frontier))
    if memo.sizes is not None:
        fills.append((sentence_of_size(memo.sizes.sizing), _sizes))
    fills.append((_held(memo) or "What this rests on", _behind))
    for title, fill in fills:
        slide = _slide(deck, memo, title)
        fill(slide, memo)
    content = BytesIO()
    deck.save(content)
    return content.getvalue()


def _slide(deck: Any, memo: Memo, title: str) -> Any:
    """Add a slide with its title, the line that says where the data come from, and notes that say how to repeat it."""
    slide = deck.slides.add_slide(deck.slide_layouts[TITLE_ONLY])
    heading = slide.shapes.title
    heading.left, heading.top = Inches(MARGIN_IN), Inches(0.35)
    heading.width, heading.height = Inches(WIDE_IN - 2 * MARGIN_IN), Inches(0.9)
    write(heading.text_frame, [title], 28 if len(title) < 90 else 20, bold=True)
    for paragraph in heading.text_frame.paragraphs:
        paragraph.alignment = PP_ALIGN.LEFT
    origin = memo.origin
    not_yours = [caveat.label for caveat in memo.caveats if caveat.kind in ("example-data", "generated")]
    labels = " · ".join([ROUGH] * memo.is_rough + not_yours)
    source = f"{origin.words} · {memo.made_on.isoformat()} · scenario {origin.scenario_hash[:8]} · {memo.certainty}"
    foot = text_box(slide, (MARGIN_IN, 6.95, WIDE_IN - 2 * MARGIN_IN, 0.4), [source], 11, LIGHT.muted)
    if labels:
        run = foot.text_frame.paragraphs[0].add_run()
        run.text = f" · {labels}"
        run.font.size, run.font.bold, run.font.color.rgb = Pt(11), True, colour(LIGHT.worse_text)
    notes = [f"Scenario {origin.words}, hash {origin.scenario_hash}, code {memo.code_version or 'unknown'}."]
    notes += [f"Written by {memo.made_by}."] * bool(memo.made_by)
    notes += [f"How sure: {memo.certainty}.", *(f"Mind: {label}." for label in memo.labels)]
    notes += ["To compute it again:", *memo.commands]
    slide.notes_slide.notes_text_frame.text = "\n".join(cut(line, 1_000) for line in notes)
    return slide


def _advice(slide: Any, memo: Memo) -> None:
    size_pt = 20 if len(memo.recommendation) > LONG_ADVICE else 24
    left, top, width, _ = BODY
    text_box(slide, (left, top - 0.35, width, 0.4), [memo.question], 14, LIGHT.muted)
    if memo.labels:
        text_box(slide, (left, top, width, 0.4), [" · ".join(memo.labels)], 14, LIGHT.worse_text)
    text_box(slide, (left, top + 0.5, width, 3.2), [memo.recommendation], size_pt)
    rest = [line for line in (memo.note, *memo.care) if line]
    if rest:
        text_box(slide, (left, top + 3.9, width, 1.5), rest, 14, LIGHT.muted)


def _table(slide: Any, memo: Memo) -> None:
    head = [("", LIGHT.ink), *((option.name, LIGHT.ink) for option in memo.options)]
    rows = [[(row.kpi.label, LIGHT.ink), *(_cell(row, cell, memo) for cell in row.cells)] for row in memo.rows]
    table(slide, BODY, [head, *rows], 16 if len(memo.options) <= FEW_OPTIONS else 12)
    if memo.same:
        left, _, width, _ = BODY
        text_box(slide, (left, 6.5, width, 0.4), [f"The same under all options: {memo.same}."], 11, LIGHT.muted)


def _cell(row: Row, cell: Cell, memo: Memo) -> tuple[str, str]:
    """Return the lines of a cell and their colour."""
    return "\n".join(cell_lines(row, cell, memo.comparison)), INKS.get(cell.verdict, LIGHT.ink)


def _service_chart(slide: Any, memo: Memo) -> None:
    """Draw the metric of service as bars, on a scale on which each of them can be read."""
    values = [point.service.value for point in memo.points]
    kpi, comparison = KPIS[memo.service], memo.comparison
    bars = [memo.at(point)[3] for point in memo.points]
    unit = UNITS[kpi.kind]
    scale = scale_of(values)
    title = memo.service_title + SCALE_NOTES[scale]
    if any(map(any, bars)):
        title += f"; lines: {range_note(comparison.basis, comparison.futures)}"
    names = [point.name for point in memo.points]
    bar_chart(slide, BODY, names, [unit.of(value) for value in values], bars, title, scale, list(map(kpi.show, values)))


def _frontier(slide: Any, memo: Memo) -> None:
    dots = {point.name: [memo.at(point)] for point in memo.points}
    scatter_chart(slide, BODY, dots, memo.cost_title, memo.service_title)


def _sizes(slide: Any, memo: Memo) -> None:
    """Draw the sizes that were tried: each other one, today's and the answer as series of their own."""
    sizes = memo.sizes
    assert sizes is not None
    left, top, width, height = BODY
    dots: dict[str, list[Dot]] = {}
    for point in sizes.points:
        kind = sizes.kind(point)
        name = "Sizes tried" if kind == "tried" else f"{kind.capitalize()}: {sizes.sizing.words(point.counts)}"
        dots.setdefault(name, []).append(sizes.at(point))
    scatter_chart(slide, (left, top, width, height - 0.6), dots, sizes.cost_title, sizes.service_title)
    question = f"Asked: {asked_words(sizes.sizing)}. {sure_words(sizes.sizing)}"
    text_box(slide, (left, top + height - 0.5, width, 0.5), [question], 12, LIGHT.muted)


def _held(memo: Memo) -> str:
    return memo.sensitivity.words(memo.advice) if memo.sensitivity is not None else ""


def _behind(slide: Any, memo: Memo) -> None:
    left, top, width, _ = BODY
    who = [memo.who_gains(found) for found in memo.winners]
    bound = memo.bounds.get(memo.best)
    findings = [*who, *([f"{memo.best}: {bound}."] if bound else [])]
    labels = [chip.label for chip in memo.assumptions]
    more = f" · and {len(labels) - MOST_ASSUMPTIONS} more" if len(labels) > MOST_ASSUMPTIONS else ""
    taken = [f"Assumptions: {' · '.join(labels[:MOST_ASSUMPTIONS])}{more}"] if labels else []
    lines = [*findings, *taken]
    text_box(slide, (left, top, width, 5.0), lines, 16 if sum(map(len, lines)) < LONG_BEHIND else 12)


# ---- texts, tables, and native charts with intervals, which python-pptx itself does not draw ----------

LONGEST_LINE = 1_000
AXIS_PT, LEGEND_PT = 12, 13
SHAPES = (XL_MARKER_STYLE.CIRCLE, XL_MARKER_STYLE.DIAMOND, XL_MARKER_STYLE.SQUARE)

Box = tuple[float, float, float, float]
"""Left, top, width, height in inches."""


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
    slide: Any, box: Box, names: Sequence[str], values: Sequence[float], bars: Sequence[Bars], axis: str, scale: Scale,
    labels: Sequence[str],
) -> None:  # fmt: skip
    """Add a labelled bar for each name, with custom error bars; ``bars`` are 0 where there is none."""
    data = CategoryChartData(number_format="0.0")
    data.categories = [cut(name) for name in names]
    data.add_series(cut(axis), values)
    chart = slide.shapes.add_chart(XL_CHART_TYPE.BAR_CLUSTERED, *map(Inches, box), data).chart
    _framed(chart, legend=False)
    chart.category_axis.reverse_order = True
    chart.category_axis.tick_label_position = XL_TICK_LABEL_POSITION.LOW
    _titled(chart.value_axis, axis)
    if scale == "log":
        chart.value_axis.crosses = XL_AXIS_CROSSES.MINIMUM
        chart.value_axis.minimum_scale = 10.0 ** math.floor(math.log10(min(values)))
        scaling = chart.value_axis._element.find(qn("c:scaling"))
        scaling.insert(0, parse_xml(f'<c:logBase {nsdecls("c")} val="10"/>'))
    if scale == "cut":
        chart.value_axis.maximum_scale = cut_at(values)
    (drawn,) = chart.plots[0].series
    drawn.format.fill.solid()
    drawn.format.fill.fore_color.rgb = colour(LIGHT.marks[1])
    drawn.invert_if_negative = False
    for place, label in enumerate(labels):
        frame = drawn.points[place].data_label.text_frame
        write(frame, [label], AXIS_PT)
        drawn.points[place].data_label.position = XL_LABEL_POSITION.INSIDE_BASE
    if scale != "cut" and any(map(any, bars)):
        _error_bars(drawn._element, bars, before="c:cat")


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
        for direction, bars in (("x", [point[2] for point in points]), ("y", [point[3] for point in points])):
            if any(map(any, bars)):
                _error_bars(drawn._element, bars, before="c:xVal", direction=direction)


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


def _error_bars(series: Any, bars: Sequence[Bars], *, before: str, direction: str = "") -> None:
    """Insert error bars of these lengths; ``before`` is the element that follows them in the file format."""
    minus, plus = (_numbers([bar[side] for bar in bars]) for side in (0, 1))
    along = f'<c:errDir val="{direction}"/>' if direction else ""
    drawn = parse_xml(
        f'<c:errBars {nsdecls("c")}>{along}<c:errBarType val="both"/><c:errValType val="cust"/><c:noEndCap val="0"/>'
        f"<c:plus>{plus}</c:plus><c:minus>{minus}</c:minus></c:errBars>"
    )
    series.find(qn(before)).addprevious(drawn)


def _numbers(values: Sequence[float]) -> str:
    points = "".join(f'<c:pt idx="{place}"><c:v>{float(value)!r}</c:v></c:pt>' for place, value in enumerate(values))
    return f'<c:numLit><c:formatCode>General</c:formatCode><c:ptCount val="{len(values)}"/>{points}</c:numLit>'
