"""The memo as a workbook: numbers as numbers with their formats, every text as text, charts a reader can edit.

A text that starts with "=" would be run by a spreadsheet as a formula, so nothing is written but through ``_Sheet``,
which writes texts as texts and numbers as numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import xlsxwriter

from dlsched.domain.units import HOUR_S
from dlsched.figures.palette import LIGHT
from dlsched.metrics.kpi import KPI, KPIS, kpi_of
from dlsched.metrics.stats.compare import Cell, Row
from dlsched.metrics.winner_words import ordered
from dlsched.metrics.winners import QUANTITIES, Group
from dlsched.report.evidence import Frontier, asked_words, noun
from dlsched.report.happened import Happened
from dlsched.report.memo import Memo
from dlsched.report.rerun import seeds_words
from dlsched.report.units import SCALE_NOTES, UNITS, cut_at, scale_of, titled
from dlsched.studies.sizing.answer import check_at
from dlsched.studies.sizing.words import reached_words, sentence, sure_words
from dlsched.wording.formats import cut

SIZES = "Sizes"
HAPPENED = "What happened"
AGAIN = "Run again"
SHEETS = ("Summary", "Differences", "Frontier", "Who wins", "Assumptions", "All numbers")
LONGEST_TEXT = 32_000
"""Excel holds 32,767 letters in a cell."""
WIDEST_COLUMN = 60
AS_TEXT = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False, "in_memory": True}
SHADES = LIGHT.marks

Value = str | float | int | None


class _Sheet:
    """One sheet that is filled row by row."""

    def __init__(self, book: Any, name: str, formats: dict[str, Any]) -> None:
        self.name = name
        self.page = book.add_worksheet(name)
        self.row = 0
        self._formats = formats
        self._widths: dict[int, int] = {}

    def add(self, values: Sequence[Value], number_formats: Sequence[str] = (), style: str = "") -> int:
        """Write one row and return its number; an empty cell for None."""
        for column, value in enumerate(values):
            number_format = number_formats[column] if column < len(number_formats) else ""
            self._write(column, value, number_format, style)
        self.row += 1
        return self.row - 1

    def text(self, value: str, style: str = "") -> None:
        """Write a row of one long text that does not widen its column."""
        self.page.write_string(self.row, 0, clean(value), self._formats.get(style))
        self.row += 1

    def skip(self) -> None:
        """Leave a row empty."""
        self.row += 1

    def draw(
        self, chart: Any, at: tuple[int, int], alt: str, x: dict[str, Any], y: dict[str, Any],
        size_px: tuple[int, int] = (640, 400), title: str = "",
    ) -> None:  # fmt: skip
        """Place a chart with its text alternative at a row and column."""
        if title:
            chart.set_title({"name": title, "name_font": {"size": 11}})
        chart.set_x_axis(x)
        chart.set_y_axis(y)
        chart.set_size({"width": size_px[0], "height": size_px[1]})
        self.page.insert_chart(*at, chart, {"description": alt})

    def finish(self) -> None:
        """Set the widths of the columns."""
        for column, width in self._widths.items():
            self.page.set_column(column, column, min(width + 2, WIDEST_COLUMN))

    def _write(self, column: int, value: Value, number_format: str, style: str) -> None:
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            return
        if isinstance(value, str):
            text = clean(value)
            self.page.write_string(self.row, column, text, self._formats.get(style))
            self._widths[column] = max(self._widths.get(column, 8), len(text))
        else:
            self.page.write_number(self.row, column, value, self._formats.get(number_format))
            self._widths[column] = max(self._widths.get(column, 8), 12)


def clean(text: str) -> str:
    """Return text that Excel can hold: on one line, without letters that cannot be shown, not too long."""
    return cut(text, LONGEST_TEXT)


def to_xlsx(memo: Memo) -> bytes:
    """Return the workbook as the bytes of a file."""
    content = BytesIO()
    with xlsxwriter.Workbook(content, AS_TEXT) as book:
        book.set_properties({"title": clean(memo.question)[:200], "comments": memo.origin.scenario_hash})
        formats = {unit.number_format: book.add_format({"num_format": unit.number_format}) for unit in UNITS.values()}
        formats |= {"bold": book.add_format({"bold": True}), "head": book.add_format({"bold": True, "bottom": 1}),
                    "wrap": book.add_format({"text_wrap": True, "valign": "top"})}  # fmt: skip
        for name, fill in zip(
            SHEETS, (_summary, _differences, _frontier, _winners, _assumptions, _numbers), strict=True
        ):
            sheet = _Sheet(book, name, formats)
            fill(sheet, book, memo)
            sheet.finish()
        if memo.sizes is not None:
            sheet = _Sheet(book, SIZES, formats)
            _sizes(sheet, book, memo.sizes)
            sheet.finish()
        if memo.happened is not None:
            sheet = _Sheet(book, HAPPENED, formats)
            _happened(sheet, memo.happened)
            sheet.finish()
        last = _Sheet(book, AGAIN, formats)
        _again(last, book, memo)
        last.finish()
    return content.getvalue()


def _summary(sheet: _Sheet, book: Any, memo: Memo) -> None:
    sheet.text(memo.question, "bold")
    sheet.text(memo.recommendation)
    for label in memo.labels:
        sheet.text(label, "bold")
    if memo.note:
        sheet.text(memo.note)
    if memo.condition.words:
        sheet.text(f"Condition, the same for all options: {memo.condition.words}")
    sheet.text(f"How sure: {memo.certainty}")
    sheet.skip()
    sheet.add(["Number", "Unit", *(option.name for option in memo.options)], style="head")
    for row in memo.rows:
        unit = UNITS[row.kpi.kind]
        values = [_in_unit(row.kpi, cell.value.value if cell.value else None) for cell in row.cells]
        sheet.add([row.kpi.label, unit.name, *values], ["", "", *[unit.number_format] * len(values)])
        sheet.add(["", "", *(cell.delta_text for cell in row.cells)])
    sheet.skip()
    if memo.sensitivity is not None:
        sheet.add([f"What could change this: {memo.sensitivity.label}", *memo.sensitivity.names], style="head")
        for situation in memo.sensitivity.situations:
            sheet.add(
                [situation.words, *(cell.text + (" (best)" if cell.best else "") for cell in situation.row.cells)]
            )
        sheet.skip()
    _service_chart(sheet, book, memo)


def _service_chart(sheet: _Sheet, book: Any, memo: Memo) -> None:
    """Draw the metric of service as bars, on a scale on which each of them can be read."""
    values = [point.service.value for point in memo.points]
    if not values:
        return
    unit, scale = UNITS[KPIS[memo.service].kind], scale_of(values)
    sheet.add(["Option", memo.service_title], style="head")
    rows = [sheet.add([point.name, unit.of(value)], ["", unit.number_format])
            for point, value in zip(memo.points, values, strict=True)]  # fmt: skip
    chart = book.add_chart({"type": "bar"})
    chart.add_series({
        "name": clean(memo.service_title), "categories": _cells(sheet, rows, "A"), "values": _cells(sheet, rows, "B"),
        "fill": {"color": SHADES[1]}, "data_labels": {"value": True},
    })  # fmt: skip
    chart.set_legend({"none": True})
    axis: dict[str, Any] = {"name": memo.service_title + SCALE_NOTES[scale]}
    axis |= {"log_base": 10, "crossing": "min"} if scale == "log" else {}
    axis |= {"max": unit.of(cut_at(values))} if scale == "cut" else {}
    title = clean(memo.finding(memo.service))[:200]
    sheet.draw(chart, (sheet.row + 1, 0), title, axis, {"reverse": True}, (640, 320), title)


def _again(sheet: _Sheet, _book: Any, memo: Memo) -> None:
    sheet.add(["How to compute it again"], style="head")
    for option in memo.options:
        sheet.add([option.name, option.origin.words, option.origin.scenario_hash, seeds_words(option.futures.seeds),
                   option.code_version])  # fmt: skip
    for command in memo.commands:
        sheet.text(command)
    sheet.add(["Made on", memo.made_on.isoformat()])
    if memo.made_by:
        sheet.add(["Written by", memo.made_by])


def _differences(sheet: _Sheet, _book: Any, memo: Memo) -> None:
    head = ["Number", "Unit", "Option", f"Baseline: {memo.baseline}", "Option's value", "Difference",
            "Range from", "Range to", "Change of the baseline (%)", "Lower by (%)", "Higher by (%)",
            "Verdict"]  # fmt: skip
    sheet.add(head, style="head")
    rest = [row for row in memo.comparison.rows if row not in memo.rows]
    for name in memo.comparison.names[1:]:
        for row in (*memo.rows, *rest):
            _difference(sheet, row, row.of(name), memo.baseline)


def _difference(sheet: _Sheet, row: Row, cell: Cell, baseline: str) -> None:
    """Write one difference; cells stay empty where a number is not known."""
    unit, base = UNITS[row.kpi.kind], row.of(baseline).value
    before = None if base is None else base.value
    delta = (None, None, None) if cell.delta is None else (cell.delta.value, cell.delta.low, cell.delta.high)
    per_cent: list[float | None] = [None, None, None]
    if cell.delta is not None and before:
        share, low, high = (100 * each for each in cell.delta.shares_of(before))
        per_cent = [share, None, None] if cell.delta.effect is None else [share, share - low, high - share]
    value = None if cell.value is None else cell.value.value
    numbers = [_in_unit(row.kpi, each) for each in (before, value, *delta)]
    sheet.add(
        [row.kpi.label, unit.name, cell.name, *numbers, *per_cent, cell.verdict],
        ["", "", "", *[unit.number_format] * 5, *["#,##0.00"] * 3],
    )


def _cells(sheet: _Sheet, rows: Sequence[int], letter: str) -> str:
    """Return the reference to a column of rows that follow each other."""
    return f"='{sheet.name}'!${letter}${rows[0] + 1}:${letter}${rows[-1] + 1}"


def _error_bars(minus: str, plus: str) -> dict[str, str]:
    return {"type": "custom", "plus_values": plus, "minus_values": minus}


def _frontier(sheet: _Sheet, book: Any, memo: Memo) -> None:
    if not memo.points:
        sheet.text("No option has both a cost and a measure of service.")
        return
    cost, service = KPIS[memo.cost], KPIS[memo.service]
    paid, served = UNITS[cost.kind], UNITS[service.kind]
    sheet.add(["Option", memo.cost_title, "Lower by", "Higher by", memo.service_title, "Lower by", "Higher by",
               "Beaten by another option"], style="head")  # fmt: skip
    chart = book.add_chart({"type": "scatter"})
    formats = ["", *[paid.number_format] * 3, *[served.number_format] * 3]
    for place, point in enumerate(memo.points):
        x, y, x_bars, y_bars = memo.at(point)
        at = sheet.add([point.name, x, *x_bars, y, *y_bars, "yes" if point.beaten else "no"], formats)  # fmt: skip
        series = {
            "name": f"='{sheet.name}'!$A${at + 1}",
            "categories": _cells(sheet, [at], "B"),
            "values": _cells(sheet, [at], "E"),
            "marker": {"type": "circle", "size": 9, "fill": {"color": SHADES[place % len(SHADES)]}},
        }
        if any(x_bars):
            series["x_error_bars"] = _error_bars(_cells(sheet, [at], "C"), _cells(sheet, [at], "D"))
        if any(y_bars):
            series["y_error_bars"] = _error_bars(_cells(sheet, [at], "F"), _cells(sheet, [at], "G"))
        chart.add_series(series)
    sheet.draw(chart, (len(memo.points) + 2, 0), "Cost against service of each option",
               {"name": memo.cost_title, "num_format": paid.number_format}, {"name": memo.service_title},
               title="Cost against service")  # fmt: skip


def _winners(sheet: _Sheet, book: Any, memo: Memo) -> None:
    if not memo.winners:
        sheet.text("This part was left out.")
        return
    head = ["Option", noun(memo.winners[0]), "Jobs compared", "Jobs left out", "Change of the mean (h)",
            "95% half width (h)", "Verdict", "Jobs better (%)", "Jobs worse (%)", "Mean of"]  # fmt: skip
    sheet.add(head, style="head")
    for place, found in enumerate(memo.winners):
        of = QUANTITIES[found.quantity].noun
        _group(sheet, found.other, of, found.total)
        rows = [_group(sheet, found.other, of, each) for each in ordered(found)]
        _winners_chart(sheet, book, found.other, rows, place)


def _group(sheet: _Sheet, option: str, noun_of: str, group: Group) -> int:
    """Write one group and return its row."""
    hours = [None if each is None else each / HOUR_S for each in (group.change, group.half_width)]
    shares = [None if each is None else 100 * each for each in (group.better_share, group.worse_share)]
    counts = [group.compared, group.jobs - group.compared]
    numbers = [*counts, *hours, group.verdict, *shares]
    return sheet.add([option, group.name, *numbers, noun_of], ["", "", *["#,##0.00"] * 7])


def _winners_chart(sheet: _Sheet, book: Any, option: str, rows: Sequence[int], place: int) -> None:
    chart = book.add_chart({"type": "bar"})
    chart.add_series({
        "name": clean(option)[:200], "categories": _cells(sheet, rows, "B"),
        "values": _cells(sheet, rows, "E"), "fill": {"color": SHADES[(place + 1) % len(SHADES)]},
    })  # fmt: skip
    sheet.draw(chart, (1 + 17 * place, 10), f"Who gains and who loses: {clean(option)[:80]}",
               {"name": "Change of the mean (h), left is sooner"}, {"reverse": True}, (520, 320))  # fmt: skip


def _happened(sheet: _Sheet, found: Happened) -> None:
    """Write what the recorded log says, and the chargeback table."""
    for text in found.sentences:
        sheet.text(text)
    if found.rows:
        sheet.skip()
        sheet.add(list(found.rows[0]), style="head")
        for row in found.rows:
            sheet.add(list(row.values()), ["#,##0.00" if isinstance(value, float) else "" for value in row.values()])


def _sizes(sheet: _Sheet, book: Any, found: Frontier) -> None:
    """Write every size a search tried, with a chart of cost against service."""
    sizing, service = found.sizing, UNITS[found.service.kind]
    for line in (f"Asked: {asked_words(sizing)}.", sentence(sizing), sure_words(sizing)):
        sheet.text(line)
    targets = [target.words for target in sizing.rule.targets]
    sheet.add(["Size", "What", found.cost_title, found.service_title, "Lower by", "Higher by",
               *targets, "Futures met", "Futures"], style="head")  # fmt: skip
    formats = ["", "", "#,##0.00", *[service.number_format] * 3]
    chart = book.add_chart({"type": "scatter"})
    for place, point in enumerate(found.points):
        check, (x, y, _, y_bars) = check_at(sizing, point.counts), found.at(point)
        at = sheet.add([sizing.words(point.counts), found.kind(point), x, y, *y_bars,
                        *map(reached_words, check.targets), check.hits, check.n], formats)  # fmt: skip
        special = found.kind(point) != "tried"
        chart.add_series({
            "name": f"='{sheet.name}'!$A${at + 1}", "categories": _cells(sheet, [at], "C"),
            "values": _cells(sheet, [at], "D"),
            "y_error_bars": _error_bars(_cells(sheet, [at], "E"), _cells(sheet, [at], "F")),
            "marker": {"type": "diamond" if special else "circle", "size": 10 if special else 6,
                       "fill": {"color": SHADES[place % len(SHADES)]}},
        })  # fmt: skip
    sheet.draw(chart, (len(found.points) + 5, 0), found.note, {"name": found.cost_title, "num_format": "#,##0"},
               {"name": found.service_title}, title="Cost against service of the sizes tried")  # fmt: skip


def _assumptions(sheet: _Sheet, _book: Any, memo: Memo) -> None:
    sheet.add(["Assumption", "Why, and what it means"], style="head")
    for chip in (*memo.caveats, *memo.assumptions):
        sheet.add([chip.label, chip.why])
    for guard in memo.cautions:
        sheet.add(["Read with care", f"{guard.text} {guard.action}."])
    for name, words in memo.bounds.items():
        sheet.add([name, words])
    sheet.skip()
    sheet.add(["Number", "What it means"], style="head")
    for row in memo.comparison.rows:
        sheet.add([row.kpi.label, row.kpi.tooltip])


def _numbers(sheet: _Sheet, _book: Any, memo: Memo) -> None:
    """Write every metric of every future."""
    keys = [key for key in KPIS if any(draw.get(key) is not None for option in memo.options for draw in option.draws)]
    kpis = [kpi_of(key, memo.counted) for key in keys]
    sheet.add(["Option", "Future", *(titled(kpi.label, kpi.kind) for kpi in kpis)], style="head")
    formats = ["", "#,##0", *(UNITS[kpi.kind].number_format for kpi in kpis)]
    for option in memo.options:
        for seed, draw in zip(option.futures.seeds, option.draws, strict=False):
            sheet.add([option.name, seed, *(_in_unit(kpi, draw.get(kpi.key)) for kpi in kpis)], formats)
    sheet.page.freeze_panes(1, 2)


def _in_unit(kpi: KPI, value: float | None) -> float | None:
    return None if value is None else UNITS[kpi.kind].of(value)
