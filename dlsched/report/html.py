"""The memo as one HTML file: a page of A4 and an appendix; no script, nothing fetched from anywhere."""

from __future__ import annotations

from collections.abc import Sequence

from dlsched.figures.palette import LIGHT
from dlsched.metrics.kpi import KPI, KPIS
from dlsched.metrics.stats.compare import Cell, Row, what_differs
from dlsched.metrics.winner_words import change_words, many_words, notes, quartiles_words, sentence
from dlsched.metrics.winners import QUANTITIES, Group, Winners
from dlsched.report.alternatives import SPOKEN
from dlsched.report.evidence import Frontier, Sensitivity, asked_words, ends, noun
from dlsched.report.happened import Happened
from dlsched.report.markup import element, listing, said, table
from dlsched.report.memo import FEW_OPTIONS, ROUGH, Memo, cell_lines
from dlsched.report.rerun import file_name, seeds_words, settings
from dlsched.report.svg import Mark, scatter
from dlsched.studies.sizing.answer import check_at
from dlsched.studies.sizing.words import hits_words, neighbour_words, reached_words, sure_words
from dlsched.studies.sizing.words import sentence as sentence_of_size
from dlsched.wording.certainty import interval_note, range_note, range_words
from dlsched.wording.formats import MISSING, amount, count, cut

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""What a browser may load for this page: nothing. A name that got through as markup could still run nothing."""
WORDS = {"better": "better", "likely better": "better", "worse": "worse", "likely worse": "worse"}
MOST_GROUPS, MOST_GROUPS_DENSE = 6, 4
MOST_ASSUMPTIONS, MOST_ASSUMPTIONS_DENSE = 8, 3
MOST_CAUTIONS = 2
DENSE = 700
"""With more letters in its texts the page is set smaller, so that it stays one page."""
STYLE = f"""
@page{{size:A4;margin:11mm 12mm}}
*{{box-sizing:border-box}}
body{{margin:0 auto;max-width:198mm;padding:5mm;background:{LIGHT.ground};color:{LIGHT.ink};
font:10.5pt/1.35 "Source Sans 3","Source Sans Pro",Arial,Helvetica,sans-serif}}
h1{{font-size:16pt;line-height:1.2;margin:1mm 0 2mm}}
h2{{font-size:11pt;margin:2mm 0 .7mm}}
p,ul,dl{{margin:0 0 1.5mm}}
ul{{padding-left:4.5mm}}
.two ul,.two p{{font-size:9pt}}
.dense .advice{{font-size:9.5pt}}.dense h1{{font-size:13pt}}.dense p,.dense ul{{font-size:8.5pt}}
.dense table{{font-size:8pt}}.dense.many table{{font-size:7.5pt}}
.dense svg{{max-height:42mm}}.dense h2{{margin:1.2mm 0 .4mm}}
.top,.foot,.small,caption,dd{{color:{LIGHT.muted};font-size:8.5pt}}
.label{{display:inline-block;border:1px solid {LIGHT.worse_text};color:{LIGHT.worse_text};border-radius:2mm;
padding:0 2mm;margin:0 1.5mm 1mm 0;font-size:9pt;font-weight:600}}
.advice{{border-left:1.2mm solid {LIGHT.better};background:{LIGHT.card};padding:2mm 3mm;font-size:11.5pt}}
.care{{border-left:1.2mm solid {LIGHT.worse};padding:.5mm 3mm;font-size:9pt}}
table{{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:9pt}}
.many table{{font-size:7.5pt}}
th,td{{text-align:left;vertical-align:top;padding:.45mm 2mm .45mm 0;line-height:1.25;
border-bottom:1px solid {LIGHT.grid}}}
thead th{{border-bottom:1.5px solid {LIGHT.muted}}}
tbody th{{font-weight:400}}
caption{{text-align:left;caption-side:bottom;padding-top:.7mm}}
.better{{color:{LIGHT.better};font-weight:600}}
.worse{{color:{LIGHT.worse_text};font-weight:600}}
.around{{color:{LIGHT.muted};font-size:8.5pt}}
.none{{color:{LIGHT.muted}}}
.two{{display:grid;grid-template-columns:1fr 1fr;gap:5mm}}
svg{{width:100%;height:auto;display:block;font-family:inherit}}
.sign{{display:inline-block;min-width:4mm;font-weight:700}}
code,pre{{font:8pt/1.4 "Source Code Pro",Menlo,Consolas,monospace;white-space:pre-wrap;overflow-wrap:anywhere}}
dt{{font-weight:600;font-size:9pt}}dd{{margin:0 0 1mm}}
.foot{{border-top:1px solid {LIGHT.grid};margin-top:2mm;padding-top:1mm}}
.appendix{{break-before:page;margin-top:10mm}}
.appendix h2{{break-after:avoid}}
tr{{break-inside:avoid}}
@media print{{body{{padding:0;max-width:none}}.appendix{{margin-top:0}}}}
"""


def to_html(memo: Memo, *, with_appendix: bool = True) -> str:
    """Return the memo as a file of its own; without its appendix it is the one page a reader sees first."""
    parts = [_top(memo), _advice(memo), _table(memo), _middle(memo), _assumptions(memo), _foot(memo)]
    kinds = ["many"] * (len(memo.options) > FEW_OPTIONS) + ["dense"] * _is_dense(memo)
    page = element("main", "".join(parts), " ".join(kinds))
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{said(memo.question, 120)}</title><style>{STYLE}</style></head>"
        f"<body>{page}{appendix(memo) if with_appendix else ''}</body></html>"
    )


def _top(memo: Memo) -> str:
    under = f" · with {said(memo.condition.words, 120)}" if memo.condition.words else ""
    line = f"Decision memo · {said(memo.origin.words, 80)}{under} · {memo.made_on.isoformat()}"
    rough = element("div", element("span", said(ROUGH), "label")) if memo.is_rough else ""
    return f'<p class="top">{line}</p>{rough}<h1>{said(memo.question)}</h1>'


def _advice(memo: Memo) -> str:
    advice = f'<h2>Recommendation</h2><p class="advice">{said(memo.recommendation)}</p>'
    advice += element("div", "".join(element("span", said(caveat.label), "label") for caveat in memo.caveats))
    care = "".join(element("p", said(text), "care") for text in memo.care[:MOST_CAUTIONS])
    return advice + element("p", said(memo.note)) + care


def _is_dense(memo: Memo) -> bool:
    texts = (memo.question, memo.recommendation, memo.note, *memo.labels, *memo.care[:MOST_CAUTIONS])
    return sum(map(len, texts)) > DENSE


def _table(memo: Memo) -> str:
    signs = [element("span", sign_of(memo, option.name), "sign") for option in memo.options]
    names = [f"{sign} {said(option.name, 40)}" for sign, option in zip(signs, memo.options, strict=True)]
    head = [f"How sure: {said(memo.certainty)}", *names]
    head[1] += "" if memo.baseline in SPOKEN else " <small>(do nothing)</small>"
    rows = [[said(row.kpi.label), *(_cell(row, cell, memo) for cell in row.cells)] for row in memo.rows]
    same = f"The same under all options: {said(memo.same)}." if memo.same else ""
    return table(head, rows, caption=same)


def _cell(row: Row, cell: Cell, memo: Memo) -> str:
    """Return the value, below it its range and how it differs from the baseline."""
    value, *rest = cell_lines(row, cell, memo.comparison)
    kinds = ["around"] * len(rest)
    if rest and cell.delta is not None:
        kinds[-1] = WORDS.get(cell.verdict, "none")
    lines = [element("span", said(text), kind) for text, kind in zip(rest, kinds, strict=True)]
    return "<br>".join((element("b", said(value)), *lines))


def sign_of(memo: Memo, name: str) -> str:
    """Return the mark of an option in the chart: B for the baseline, else its number."""
    place = memo.comparison.names.index(name)
    return "B" if place == 0 else str(place)


def _middle(memo: Memo) -> str:
    left, right = _chart(memo), _winners(memo) + _sensitivity(memo)
    if left and right:
        return f'<div class="two"><div>{left}</div><div>{right}</div></div>'
    return element("div", left or right)


def _chart(memo: Memo) -> str:
    if memo.sizes is not None and memo.sizes.option:
        return size_chart(memo.sizes)
    if not memo.points:
        return ""
    cost, service = KPIS[memo.cost], KPIS[memo.service]
    marks = [
        Mark(f"{point.name}: {cost.show(point.cost.value)}, {service.show(point.service.value)}",
             sign_of(memo, point.name), *memo.at(point), hollow=point.beaten)
        for point in memo.points
    ]  # fmt: skip
    hollow = any(point.beaten for point in memo.points)
    words = "; ".join(mark.name for mark in marks)
    picture = scatter(marks, memo.cost_title, memo.service_title, f"Cost against service. {words}.")
    has_bars = any(any(mark.x_bars + mark.y_bars) for mark in marks)
    bars = f"bars: {range_note(memo.comparison.basis, memo.comparison.futures)}" if has_bars else "no ranges"
    beaten = "; hollow: beaten by another option" if hollow else ""
    better = "Up" if service.better == "higher" else "Down"
    note = f"{better} and to the left is better; {bars}{beaten}."
    return f'<h2>Cost against service</h2>{picture}<p class="small">{note}</p>'


def _winners(memo: Memo) -> str:
    if not memo.winners:
        return ""
    winners = next((found for found in memo.winners if found.other == memo.best), memo.winners[0])
    few = memo.winners if len(memo.options) <= FEW_OPTIONS else (winners,)
    words = listing(said(memo.who_gains(found)) for found in few)
    groups = _ends(winners, MOST_GROUPS_DENSE if _is_dense(memo) else MOST_GROUPS)
    return f"<h2>Who gains, who loses</h2>{words}{groups}"


def _ends(shown: Winners, most: int) -> str:
    groups = ends(shown, most)
    rows = [
        [said(group.name, 24), many_words(group.compared), said(change_words(group, shown.quantity))]
        for group in groups
    ]
    less = "" if len(groups) == len(shown.groups) else f", {len(groups)} of {len(shown.groups)}"
    what = QUANTITIES[shown.quantity].noun
    caption = f"Mean {what} under {said(shown.other, 40)} against {said(shown.baseline, 40)}{less}."
    return table([noun(shown), "Jobs", "Change"], rows, caption=caption)


def _sensitivity(memo: Memo) -> str:
    changes = memo.sensitivity
    if changes is None:
        return ""
    situations = amount(len(changes.situations), "situation")
    words = changes.words(memo.advice) or f"{changes.label} in {situations}: see the appendix."
    return f"<h2>What could change this</h2><p>{said(words)}</p>"


def _assumptions(memo: Memo) -> str:
    most = MOST_ASSUMPTIONS_DENSE if _is_dense(memo) else MOST_ASSUMPTIONS
    more = len(memo.assumptions) - most
    labels = " · ".join(said(cut(chip.label, longest=120)) for chip in memo.assumptions[:most])
    labels += f" · and {more} more in the appendix" if more > 0 else ""
    return f'<h2>Assumptions</h2><p class="small">{labels}</p>' if labels else ""


def _foot(memo: Memo) -> str:
    left = memo.bounds.get(memo.best)
    bounds = element("p", said(f"{memo.best}: {left}."), "small") if left else ""
    origin = memo.origin
    code = f" · dlsched {said(memo.code_version)}" if memo.code_version else ""
    by = f" · written by {said(memo.made_by, 80)}" if memo.made_by else ""
    text = f"{said(origin.words, 80)}, {count(origin.jobs)} jobs, scenario {said(origin.scenario_hash[:8])}{code}{by}"
    return f'{bounds}<p class="foot">{text}</p>'


# ---- the appendix -------------------------------------------------------------------------------------

MOST_GROUPS_APPENDIX = 60


def appendix(memo: Memo) -> str:
    """Return the appendix as HTML."""
    parts = [
        _numbers(memo),
        _differs(memo),
        "".join(_groups(found) for found in memo.winners),
        _situations(memo.sensitivity),
        _sizes(memo.sizes),
        _happened(memo.happened),
        _all_assumptions(memo),
        _definitions([row.kpi for row in memo.comparison.rows]),
        _again(memo),
    ]
    return f'<section class="appendix"><h1>Appendix</h1>{"".join(parts)}</section>'


def _again(memo: Memo) -> str:
    rows = [
        [
            said(option.name, 60),
            said(option.origin.words, 60),
            f"<code>{said(option.origin.scenario_hash)}</code>",
            said(seeds_words(option.futures.seeds) or MISSING),
            said(option.code_version or MISSING),
        ]
        for option in memo.options
    ]
    head = ["Option", "Scenario", "Hash", "Futures", "Code"]
    lines = "\n".join(said(command) for command in memo.commands)
    files = ", ".join(dict.fromkeys(file_name(option.origin.name) for option in memo.options))
    save = f"Save the scenario file ({said(files)}) in the current folder, then run:"
    how = f"<p>{save}</p><pre>{lines}</pre>" if lines else ""
    return f"<h2>How to compute it again</h2>{table(head, rows)}{how}"


def _differs(memo: Memo) -> str:
    differences = what_differs(settings(memo.options))
    names = [option.name for option in memo.options]
    rows = [
        [said(entry["setting"]), *(MISSING if entry[name] is None else said(entry[name], 120) for name in names)]
        for entry in differences
    ]
    shown = table(["Setting", *(said(name, 60) for name in names)], rows)
    return f"<h2>What differs between the options</h2>{shown}" if shown else ""


def _numbers(memo: Memo) -> str:
    rows = [[said(row.kpi.label), *(_exact(row, cell) for cell in row.cells)] for row in memo.comparison.rows]
    head = ["Number", *(said(option.name, 60) for option in memo.options)]
    sure = f"Differences are from {said(memo.baseline, 60)}; {said(memo.comparison.interval_note)}."
    ours = f"<p>What the numbers say: {said(memo.ours)}</p>" if memo.ours else ""
    return f"<h2>All numbers</h2>{ours}{table(head, rows, caption=sure)}"


def _exact(row: Row, cell: Cell) -> str:
    """Return value, range and difference in full."""
    if cell.value is None:
        return MISSING
    around = range_words(row.kpi.kind, cell.value.low, cell.value.high)
    lines = [row.kpi.show(cell.value.value, exact=True), *([around] if around else [])]
    return "<br>".join(map(said, (*lines, cell.delta_text or cell.verdict)))


def _groups(found: Winners) -> str:
    groups = ends(found, MOST_GROUPS_APPENDIX)
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
    rows = [
        [said(each.words), *(said(cell.text) + (" ★" if cell.best else "") for cell in each.row.cells)]
        for each in found.situations
    ]
    head = [f"{said(found.label)}, when", *(said(name, 60) for name in found.names)]
    shown = table(head, rows, caption=f"{interval_note(found.basis, found.futures)}; ★ best, ties share the star.")
    return f"<h2>What could change this</h2>{shown}"


def size_chart(found: Frontier) -> str:
    """Return the sizes that were tried in cost against service, with a line that says how to read it."""
    last = sorted(found.points, key=lambda point: (point.answer, point.today))  # on top of their neighbours
    marks = [
        Mark(found.words(point), found.sign(point), *found.at(point), not point.answer, point.today) for point in last
    ]
    alt = f"Cost against service of the sizes tried. {'; '.join(mark.name for mark in marks)}."
    picture = scatter(marks, found.cost_title, found.service_title, alt, found.limit)
    return f'<h2>Cost against service</h2>{picture}<p class="small">{said(found.note)}</p>'


def _sizes(found: Frontier | None) -> str:
    """Return what a search for a size was asked, what it claims, and every size it tried."""
    if found is None:
        return ""
    sizing = found.sizing
    lines = [f"Asked: {asked_words(sizing)}.", sentence_of_size(sizing), sure_words(sizing), neighbour_words(sizing)]
    checks = [(point, check_at(sizing, point.counts)) for point in found.points]
    rows = [
        [said(sizing.words(point.counts), 60), said(found.kind(point)), said(found.cost_words(point)),
         *(said(reached_words(target)) for target in check.targets), hits_words(check)]
        for point, check in checks
    ]  # fmt: skip
    targets = [said(target.words, 80) for target in sizing.rule.targets]
    shown = table(["Size", "What", "Cost", *targets, "Met"], rows)
    chart = "" if found.option else size_chart(found)
    return f"<h2>Sizes that were tried</h2>{''.join(element('p', said(text)) for text in lines)}{chart}{shown}"


def _happened(found: Happened | None) -> str:
    """Return what the recorded log says: a few sentences and the chargeback table."""
    if found is None:
        return ""
    rows = [[said(cell, 60) for cell in row] for row in found.cells()]
    texts = "".join(element("p", said(text)) for text in found.sentences)
    return f"<h2>What happened</h2>{texts}{table([said(name, 60) for name in found.head], rows)}"


def _all_assumptions(memo: Memo) -> str:
    chips = listing(
        f"<b>{said(cut(chip.label, 400))}</b>: {said(chip.why)}" for chip in (*memo.caveats, *memo.assumptions)
    )
    cautions = listing(said(f"{guard.text} {guard.action}.") for guard in memo.cautions)
    bounds = listing(said(f"{name}: {words}") for name, words in memo.bounds.items())
    parts = [("Assumptions", chips), ("Read with care", cautions), ("Proven limits", bounds)]
    return "".join(f"<h2>{title}</h2>{inner}" for title, inner in parts if inner)


def _definitions(kpis: Sequence[KPI]) -> str:
    inner = "".join(f"<dt>{said(kpi.label)}</dt><dd>{said(kpi.tooltip)}</dd>" for kpi in kpis)
    return "<h2>What the numbers mean</h2>" + element("dl", inner)
