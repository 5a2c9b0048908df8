"""The memo as one HTML file: a page of A4 and an appendix; no script, nothing fetched from anywhere."""

from __future__ import annotations

from dlsched.figures.palette import LIGHT
from dlsched.metrics.kpi import KPI, KPIS
from dlsched.metrics.stats.compare import Cell, Row
from dlsched.metrics.winner_words import change_words, many_words, sentence
from dlsched.metrics.winners import QUANTITIES, Winners
from dlsched.report.choice import Point
from dlsched.report.html_appendix import appendix, size_chart
from dlsched.report.markup import element, listing, said, table
from dlsched.report.memo import FEW_OPTIONS, Memo
from dlsched.report.svg import Mark, scatter
from dlsched.report.units import UNITS, titled
from dlsched.report.winners import ends, noun
from dlsched.wording.formats import count

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""What a browser may load for this page: nothing. A name that got through as markup could still run nothing."""
WORDS = {"better": "better", "worse": "worse"}
MOST_GROUPS, MOST_GROUPS_DENSE = 6, 4
MOST_ASSUMPTIONS = 8
MOST_CAUTIONS = 2
DENSE = 550
"""With more letters in its texts the page is set smaller and holds fewer numbers, so that it stays one page."""
DENSE_ROWS = {False: 5, True: 4}
"""Rows of a dense page by whether there are many options, whose cells are high."""
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
    line = f"Decision memo · {said(memo.origin.words, 80)} · {memo.made_on.isoformat()}"
    labels = "".join(element("span", said(label), "label") for label in memo.labels)
    return f'<p class="top">{line}</p>{element("div", labels)}<h1>{said(memo.question)}</h1>'


def _advice(memo: Memo) -> str:
    advice = f'<h2>Recommendation</h2><p class="advice">{said(memo.recommendation)}</p>'
    care = "".join(element("p", said(text), "care") for text in _care(memo))
    return advice + element("p", said(memo.note)) + care


def _care(memo: Memo) -> list[str]:
    """Return the worst of what must be known to read the numbers; the appendix has all."""
    return [f"{guard.text} {guard.action}." for guard in memo.cautions if guard.level != "info"][:MOST_CAUTIONS]


def _is_dense(memo: Memo) -> bool:
    texts = (memo.question, memo.recommendation, memo.note, *_care(memo))
    return sum(map(len, texts)) > DENSE


def _table(memo: Memo) -> str:
    head = [f"How sure: {said(memo.certainty)}", *(f"{_sign(memo, option.name)} {said(option.name, 40)}"
                                                     for option in memo.options)]  # fmt: skip
    head[1] += " <small>(baseline)</small>"
    rows = [[said(row.kpi.label), *(_cell(cell) for cell in row.cells)] for row in _shown_rows(memo)]
    same = f"The same under all options: {said(memo.same)}." if memo.same else ""
    return table(head, rows, caption=same)


def _shown_rows(memo: Memo) -> tuple[Row, ...]:
    return memo.rows[: DENSE_ROWS[len(memo.options) > FEW_OPTIONS]] if _is_dense(memo) else memo.rows


def _cell(cell: Cell) -> str:
    if cell.delta is None:
        return said(cell.text)
    kind = WORDS.get(cell.verdict, "none")
    return f'{said(cell.text)}<br><span class="{kind}">{said(cell.delta_text)}</span>'


def _sign(memo: Memo, name: str) -> str:
    return element("span", sign_of(memo, name), "sign")


def sign_of(memo: Memo, name: str) -> str:
    """Return what stands for an option in the chart: B for the baseline, else its number."""
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
    marks = [_mark(memo, point) for point in memo.points]
    hollow = any(point.beaten for point in memo.points)
    words = "; ".join(mark.name for mark in marks)
    picture = scatter(marks, _axis_title(cost), _axis_title(service), f"Cost against service. {words}.")
    bars = "bars are 95% intervals" if any(mark.x_half or mark.y_half for mark in marks) else "no intervals"
    beaten = "; hollow: another option is no worse in both, by means" if hollow else ""
    better = "Up" if service.better == "higher" else "Down"
    note = f"{better} and to the left is better; {bars}{beaten}."
    return f'<h2>Cost against service</h2>{picture}<p class="small">{note}</p>'


def _mark(memo: Memo, point: Point) -> Mark:
    cost, service = KPIS[memo.cost], KPIS[memo.service]
    paid, served = UNITS[cost.kind], UNITS[service.kind]
    return Mark(
        f"{point.name}: {cost.show(point.cost.mean)}, {service.show(point.service.mean)}",
        sign_of(memo, point.name),
        x=paid.of(point.cost.mean),
        y=served.of(point.service.mean),
        x_half=paid.of(point.cost.half_width or 0.0),
        y_half=served.of(point.service.half_width or 0.0),
        hollow=point.beaten,
    )


def _axis_title(kpi: KPI) -> str:
    return titled(kpi.label, kpi.kind)


def _winners(memo: Memo) -> str:
    if not memo.winners:
        return ""
    shown = next((found for found in memo.winners if found.other == memo.best), memo.winners[0])
    few = memo.winners if len(memo.options) <= FEW_OPTIONS else (shown,)
    words = listing(said(sentence(found)) for found in few)
    return f"<h2>Who gains, who loses</h2>{words}{_ends(shown, MOST_GROUPS_DENSE if _is_dense(memo) else MOST_GROUPS)}"


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
    found = memo.sensitivity
    if found is None:
        return ""
    words = found.words(memo.best) or f"{found.label} in {len(found.situations)} situations: see the appendix."
    return f"<h2>What could change this</h2><p>{said(words)}</p>"


def _assumptions(memo: Memo) -> str:
    more = len(memo.assumptions) - MOST_ASSUMPTIONS
    labels = " · ".join(said(chip.label, 120) for chip in memo.assumptions[:MOST_ASSUMPTIONS])
    labels += f" · and {more} more in the appendix" if more > 0 else ""
    return f'<h2>Assumptions</h2><p class="small">{labels}</p>' if labels else ""


def _foot(memo: Memo) -> str:
    left = memo.bounds.get(memo.best)
    bounds = element("p", said(f"{memo.best}: {left} (proven)."), "small") if left else ""
    origin = memo.origin
    code = f" · dlsched {said(memo.code_version)}" if memo.code_version else ""
    again = f"<br>To compute it again: <code>{said(memo.commands[0])}</code>" if memo.commands else ""
    text = (
        f"{said(origin.words, 80)}, {count(origin.jobs)} jobs, scenario {said(origin.scenario_hash[:8])}{code}{again}"
    )
    return f'{bounds}<p class="foot">{text}</p>'
