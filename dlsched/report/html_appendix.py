"""The appendix of the memo: how to compute it again, what differs, all numbers with their definitions, who gains."""

from __future__ import annotations

from collections.abc import Sequence

from dlsched.metrics.kpi import KPI
from dlsched.metrics.stats.compare import Cell, Row, what_differs
from dlsched.metrics.winner_words import change_words, many_words, notes, quartiles_words, sentence
from dlsched.metrics.winners import QUANTITIES, Group, Winners
from dlsched.report.markup import element, listing, said, table
from dlsched.report.memo import Memo
from dlsched.report.rerun import file_name, seeds_words, settings
from dlsched.report.sensitivity import Sensitivity
from dlsched.report.sizes import Frontier, asked_words, reached_words
from dlsched.report.svg import Mark, scatter
from dlsched.report.winners import ends, noun
from dlsched.studies.sizing.answer import FrontierPoint, check_at
from dlsched.studies.sizing.words import neighbour_words, sure_words
from dlsched.studies.sizing.words import sentence as sentence_of_size
from dlsched.wording.formats import MISSING, PLUS_MINUS, amount, count, show_delta, show_size

MOST_GROUPS = 60


def appendix(memo: Memo) -> str:
    """Return the appendix as HTML."""
    parts = [
        _again(memo),
        _differs(memo),
        _numbers(memo),
        "".join(_groups(found) for found in memo.winners),
        _situations(memo.sensitivity),
        _sizes(memo.sizes),
        _assumptions(memo),
        _definitions([row.kpi for row in memo.comparison.rows]),
    ]
    return f'<section class="appendix"><h1>Appendix</h1>{"".join(parts)}</section>'


def _again(memo: Memo) -> str:
    rows = [
        [
            said(option.name, 60),
            said(option.origin.words, 60),
            f"<code>{said(option.origin.scenario_hash)}</code>",
            said(seeds_words(option.seeds) or MISSING),
            said(option.code_version or MISSING),
        ]
        for option in memo.options
    ]
    head = ["Option", "Scenario", "Hash", "Seeds", "Code"]
    lines = "\n".join(said(command) for command in memo.commands)
    files = ", ".join(dict.fromkeys(file_name(option.origin.name) for option in memo.options))
    how = f"<p>Save the scenario file ({said(files)}) beside you, then type:</p><pre>{lines}</pre>" if lines else ""
    return f"<h2>How to compute it again</h2>{table(head, rows)}{how}"


def _differs(memo: Memo) -> str:
    found = what_differs(settings(memo.options))
    names = [option.name for option in memo.options]
    rows = [[said(entry["setting"]), *(_setting(entry[name]) for name in names)] for entry in found]
    shown = table(["Setting", *(said(name, 60) for name in names)], rows)
    return f"<h2>What differs between the options</h2>{shown}" if shown else ""


def _setting(value: object) -> str:
    return MISSING if value is None else said(value, 120)


def _numbers(memo: Memo) -> str:
    rows = [[said(row.kpi.label), *(_exact(row, cell) for cell in row.cells)] for row in memo.comparison.rows]
    head = ["Number", *(said(option.name, 60) for option in memo.options)]
    sure = f"Differences are from {said(memo.baseline, 60)}; {said(memo.certainty)}."
    return f"<h2>All numbers</h2>{table(head, rows, caption=sure)}"


def _exact(row: Row, cell: Cell) -> str:
    """Return value, interval and difference in full."""
    if cell.value is None:
        return MISSING
    lines = [said(row.kpi.show(cell.value.mean, exact=True) + _half(row.kpi, cell.value.half_width))]
    if cell.delta is not None and cell.verdict != "same":
        lines.append(said(show_delta(row.kpi.kind, cell.delta.mean) + _half(row.kpi, cell.delta.half_width)))
    return "<br>".join((*lines, said(cell.verdict)))


def _half(kpi: KPI, half_width: float | None) -> str:
    return f" {PLUS_MINUS} {show_size(kpi.kind, half_width)}" if half_width else ""


def _groups(found: Winners) -> str:
    groups = ends(found, MOST_GROUPS)
    rows = [_group(each, found.quantity) for each in (found.total, *groups)]
    less = "" if len(groups) == len(found.groups) else f" The first and last of {count(len(found.groups))} are listed."
    change = f"Change of the mean {QUANTITIES[found.quantity].noun}"
    head = [noun(found), "Jobs compared", "Left out", change, "Middle half of jobs"]
    caption = said(" ".join(notes(found))) + less
    title = f"Who gains and who loses under {said(found.other, 60)} against {said(found.baseline, 60)}"
    return f"<h2>{title}</h2><p>{said(sentence(found))}</p>{table(head, rows, caption=caption)}"


def _group(group: Group, quantity: str) -> list[str]:
    left_out = group.jobs - group.compared
    return [
        said(group.name, 60),
        many_words(group.compared),
        many_words(left_out) if left_out else "0",
        said(change_words(group, quantity)),
        said(quartiles_words(group, quantity)),
    ]


def _situations(found: Sensitivity | None) -> str:
    if found is None:
        return ""
    rows = [[said(each.words), *(_answer(cell) for cell in each.row.cells)] for each in found.situations]
    single = "1 draw" if found.draws == 1 and not found.exact else "exact" if found.exact else ""
    sure = single or f"± is 95% over {amount(found.draws, 'paired draw')}"
    head = [f"{said(found.label)}, when", *(said(name, 60) for name in found.names)]
    shown = table(head, rows, caption=f"{sure}; ★ best, shared where draws do not tell.")
    return f"<h2>What could change this</h2>{shown}"


def _answer(cell: Cell) -> str:
    return said(cell.text) + (" ★" if cell.best else "")


def size_chart(found: Frontier) -> str:
    """Return the sizes that were tried in cost against service, with a line that says how to read it."""
    last = sorted(found.points, key=lambda point: (point.answer, point.today))  # on top of their neighbours
    marks = [_size_mark(found, point) for point in last]
    alt = f"Cost against service of the sizes tried. {'; '.join(mark.name for mark in marks)}."
    picture = scatter(marks, found.cost_title, found.service_title, alt, found.limit)
    return f'<h2>Cost against service</h2>{picture}<p class="small">{said(found.note)}</p>'


def _size_mark(found: Frontier, point: FrontierPoint) -> Mark:
    x, y, x_half, y_half = found.at(point)
    return Mark(found.words(point), found.sign(point), x, y, x_half, y_half, not point.answer, point.today)


def _sizes(found: Frontier | None) -> str:
    """Return what a search for a size was asked, what it claims, and every size it tried."""
    if found is None:
        return ""
    sizing = found.sizing
    lines = [f"Asked: {asked_words(sizing)}.", sentence_of_size(sizing), sure_words(sizing), neighbour_words(sizing)]
    checks = [(point, check_at(sizing, point.counts)) for point in found.points]
    rows = [
        [said(sizing.words(point.counts), 60), said(found.kind(point)), said(found.cost_words(point)),
         *(said(reached_words(target)) for target in check.targets), f"{check.hits:,} of {amount(check.n, 'draw')}"]
        for point, check in checks
    ]  # fmt: skip
    targets = [said(target.words, 80) for target in sizing.rule.targets]
    shown = table(["Size", "What", "Cost", *targets, "Held in"], rows)
    chart = "" if found.option else size_chart(found)
    return f"<h2>Sizes that were tried</h2>{''.join(element('p', said(text)) for text in lines)}{chart}{shown}"


def _assumptions(memo: Memo) -> str:
    chips = listing(f"<b>{said(chip.label, 200)}</b>: {said(chip.why)}" for chip in memo.assumptions)
    cautions = listing(said(f"{guard.text} {guard.action}.") for guard in memo.cautions)
    bounds = listing(said(f"{name}: {words}") for name, words in memo.bounds.items())
    parts = [("Assumptions", chips), ("Read with care", cautions), ("What is left to gain at most (proven)", bounds)]
    return "".join(f"<h2>{title}</h2>{inner}" for title, inner in parts if inner)


def _definitions(kpis: Sequence[KPI]) -> str:
    inner = "".join(f"<dt>{said(kpi.label)}</dt><dd>{said(kpi.tooltip)}</dd>" for kpi in kpis)
    return "<h2>What the numbers mean</h2>" + element("dl", inner)
