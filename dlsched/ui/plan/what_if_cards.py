"""The cards of What if: the value first, then its range over futures, what changes, and what it is otherwise."""

from __future__ import annotations

import streamlit as st

from dlsched.metrics.stats.compare import Comparison, Row, compare, told
from dlsched.studies.what_if.answer import CHANGED, NOTHING, TODAY, WhatIf, card_rows
from dlsched.ui.frame.text import dollars
from dlsched.ui.results.cards import on_card
from dlsched.wording.certainty import range_note, range_words
from dlsched.wording.formats import MISSING, capital

COLOURS = {"better": "blue", "likely better": "blue", "worse": "orange", "likely worse": "orange"}


def show(answer: WhatIf, comparison: Comparison) -> None:
    """Show the cards in a row, equally high."""
    now = compare([(TODAY, answer.today.metrics)], TODAY, basis=answer.basis)
    rows = card_rows(answer, comparison)
    with st.container(key="whatif-cards"):
        columns = st.columns(len(rows) or 1)
    for column, row in zip(columns, rows, strict=False):
        with column, st.container(border=True, height="stretch", gap="xsmall", key=f"whatif-card-{row.kpi.key}"):
            value = row.of(CHANGED).value
            shown = MISSING if value is None else on_card(row.kpi).show(value.value)
            st.metric(row.kpi.label, dollars(shown), help=dollars(row.kpi.tooltip))
            for line in lines_of(row, answer, now.row(row.kpi.key)):
                st.markdown(line)


def lines_of(row: Row, answer: WhatIf, today: Row | None) -> list[str]:
    """Return the lines of a card below its value, as Markdown: range over futures, change, the other sides."""
    value, kpi = row.of(CHANGED).value, on_card(row.kpi)
    around = "" if value is None else range_words(kpi.kind, value.low, value.high)
    lines = [_small(f"{around}, {range_note(answer.basis, answer.draws)}")] if around else []
    if not answer.is_changed:
        return lines
    others = []
    if answer.before_name == NOTHING and (nothing := row.of(TODAY).value) is not None:
        others.append(f"{NOTHING} {kpi.show(nothing.value)}")
    if today is not None and (now := today.of(TODAY).value) is not None:
        others.append(f"{TODAY} {kpi.show(now.value)}")
    return [*lines, *change_lines(row), *([_small(capital(", ".join(others)))] if others else [])]


def change_lines(row: Row) -> list[str]:
    """Return the change with its verdict, blue where it is better and orange where it is worse; then its interval."""
    cell = row.of(CHANGED)
    if cell.delta is None:
        return []
    said = told(on_card(row.kpi), cell.delta)
    size = f"**{dollars(said.size)}**"
    coloured = f":{COLOURS[cell.verdict]}[{size}]" if cell.verdict in COLOURS else size
    first = ", ".join(filter(None, (coloured, dollars(said.verdict))))
    return [first, *([_small(said.around)] if said.around else [])]


def _small(text: str) -> str:
    return f":small[:gray[{dollars(text)}]]"
