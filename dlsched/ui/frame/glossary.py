"""The glossary: a drawer over any page, which opens at a term. Words are in ``data/glossary.csv``, for editors."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

import streamlit as st

from dlsched.domain.plan import REASON_TEXT
from dlsched.metrics.kpi import KPIS
from dlsched.ui.frame.text import safe
from dlsched.workload.catalogue import data_path

PARAM = "term"
"""Parameter of the URL: the terms the drawer is opened at, separated by commas; "" opens it at all."""
EVERYDAY = frozenset(
    {"available", "gap", "jobs", "late", "load", "node", "option", "policy", "target", "wait", "work", "worker"}
)
"""Words of the glossary that no link is offered for: a reader of a sentence knows them."""
MOST_OFFERED = 2
WIDTH_PX = 520


class Term(NamedTuple):
    """One line of the glossary: plain word, the papers' word, what it means here."""

    word: str
    also: str
    meaning: str


@cache
def terms() -> tuple[Term, ...]:
    """Return the lines of the glossary, by word."""
    with data_path("glossary.csv").open(encoding="utf-8", newline="") as file:
        return tuple(Term(**line) for line in csv.DictReader(file))


@cache
def numbers() -> tuple[Term, ...]:
    """Return what the app counts, by its label; ``also`` is the key in exports."""
    return tuple(Term(kpi.label, kpi.key, kpi.tooltip) for kpi in KPIS.values())


@cache
def reasons() -> tuple[Term, ...]:
    """Return why a job waits, by code."""
    return tuple(Term(code.name.replace("_", " ").capitalize(), "", text) for code, text in REASON_TEXT.items())


def matching(lines: Iterable[Term], wanted: str) -> list[Term]:
    """Return the lines in which one of the words that are looked for stands, those named so first; all for ""."""
    parts = [part for text in wanted.lower().split(",") if (part := text.strip())]
    found = [line for line in lines if not parts or any(part in " ".join(line).lower() for part in parts)]
    return sorted(found, key=lambda line: not any(part in line.word.lower() for part in parts))


@cache
def _words() -> re.Pattern[str]:
    """Return what finds names of the glossary in a text, the longest first, also in the plural."""
    names = {one.word.lower() for one in (*terms(), *numbers())} - EVERYDAY
    return re.compile(rf"\b({'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})s?\b", re.IGNORECASE)


def found_in(text: str) -> list[str]:
    """Return the names of the glossary in a text, in its order: at most MOST_OFFERED."""
    return list(dict.fromkeys(name.lower() for name in _words().findall(text)))[:MOST_OFFERED]


# ---- the drawer ------------------------------------------------------------------------------------------


def look_up(*names: str) -> None:
    """Open the drawer at these terms; at all without one."""
    st.query_params[PARAM] = ", ".join(names)


def link(text: str, key: str) -> None:
    """Offer to explain the terms in a sentence; nothing without any."""
    if names := found_in(text):
        st.button(f"Explain: {', '.join(names)}", icon=":material/menu_book:", type="tertiary", key=f"explain-{key}",
                  on_click=look_up, args=tuple(names))  # fmt: skip


def drawer() -> None:
    """Show the drawer where the URL names a term; it stays until its reader closes it."""
    if PARAM in st.query_params:
        _show(st.query_params[PARAM])


def _close() -> None:
    st.query_params.pop(PARAM, None)


@st.dialog("Glossary", width=WIDTH_PX, position="right", on_dismiss=_close)
def _show(asked: str) -> None:
    wanted = st.text_input(
        "Find a word", asked, key=f"glossary-find-{asked}", placeholder="backfill",
        help="Searches words and meanings; separate several by commas",
    )  # fmt: skip
    parts = {"Words": terms(), "Numbers": numbers(), "Why a job waits": reasons()}
    found = {title: lines for title, every in parts.items() if (lines := matching(every, wanted))}
    for title, lines in found.items():
        st.subheader(title, anchor=False)
        st.markdown("\n\n".join(_in_markdown(lines)))
    if not found:
        st.markdown(f"Nothing here matches “{safe(wanted, 60)}”.")


def _in_markdown(lines: Sequence[Term]) -> list[str]:
    also = [f" :gray[({safe(line.also, 80)})]" if line.also else "" for line in lines]
    return [
        f"**{safe(line.word, 80)}**{more}  \n{safe(line.meaning, 900)}" for line, more in zip(lines, also, strict=True)
    ]
