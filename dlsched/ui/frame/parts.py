"""The parts every page is built of: sentence with its caveats, cards, chips, guard rails, error box, empty state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal

import streamlit as st

from dlsched.domain.errors import DlschedError, InputError, PlanError, StoreError
from dlsched.ui.frame import glossary, session, writing
from dlsched.ui.frame.navigation import PART, SCRIPTS
from dlsched.ui.frame.text import dollars, safe
from dlsched.wording.assumptions import Premise
from dlsched.wording.cautions import Caution
from dlsched.wording.caveats import Caveat

MAX_CARDS = 4


def sentence(text: str, caveats: Sequence[Caveat], premises: Sequence[Premise] = (), *, key: str = "") -> None:
    """Show the page's answer in plain words with what must be known of it, and all assumptions behind it.

    Names that users gave may be in the texts. ``caveats`` is empty only where nothing was simulated; ``premises`` are
    the other assumptions. ``key`` names the popover that lists both with their reasons, one for each page.
    """
    st.header(safe(text, 900), anchor=False)
    if not caveats and not premises:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key=f"caveats-{key}"):
        for one in caveats:
            colour: Literal["red", "gray", "orange"] = "red" if one.is_bad else "gray" if one.is_mild else "orange"
            st.badge(safe(one.label, 120), color=colour, help=safe(one.why, 600))
        for one in caveats:
            if one.lead:
                _link_to(one.where, one.lead)
        if key:
            chips([*caveats, *premises], key)
            glossary.link(text, key)


def cards(entries: Sequence[tuple[str, str, str]]) -> None:
    """Show at most four cards (label, value, help) in a row."""
    for column, (label, value, hint) in zip(st.columns(len(entries[:MAX_CARDS])), entries, strict=False):
        column.metric(label, dollars(value), help=dollars(hint), border=True, height="stretch")


def chips(entries: Sequence[Premise], key: str) -> None:
    """Show assumptions as one popover that names their number and lists each with its reason."""
    if not entries:
        return
    word = "assumption" if len(entries) == 1 else "assumptions"
    with st.popover(f":orange[{len(entries)} {word}]", key=f"chips-{key}"):
        st.markdown("**Assumptions behind this answer**")
        for chip in entries:
            st.markdown(f"**{safe(chip.label, 120)}**  \n{safe(chip.why, 600)}")
            _link_to(chip.where, f"Change on {chip.where}")


def _link_to(where: str, label: str) -> None:
    """Show a link to a page, or to a part of it: "Jobs, Trust"."""
    title, _, part = where.partition(", ")
    if title in SCRIPTS:
        st.page_link(SCRIPTS[title], label=label, query_params=session.url_params(part=part or None))


def guard_rails(entries: Sequence[Caution]) -> None:
    """Show banners above the sentence: red = do not use, orange = read with care."""
    for guard in entries:
        text = safe(guard.text, 500)
        action = f" **{safe(guard.action, 120)}**" if guard.action else ""
        if guard.level == "red":
            st.error(text + action, icon="⛔")
        elif guard.level == "orange":
            st.warning(text + action, icon="⚠️")
        else:
            st.info(text + action, icon="ℹ️")


def pick(label: str, names: Mapping[str, str], key: str) -> str:
    """Ask which of some things is looked at, by name; return it. Where there is one, nothing is asked."""
    first = next(iter(names))
    if len(names) == 1:
        return first
    return str(
        st.segmented_control(label, list(names), default=first, required=True, key=f"{key}-{'-'.join(names)}",
                             format_func=names.__getitem__, label_visibility="collapsed")
    )  # fmt: skip


def part_of_page(names: Iterable[str]) -> str:
    """Let the reader choose a part of the page, the first where none is named; the address bar names it."""
    first, *others = names
    named = st.session_state.get(PART, st.query_params.get(PART, first))
    if named not in (first, *others):  # a part of the page before
        st.session_state[PART] = first
    chosen = st.segmented_control("Part", [first, *others], default=first, required=True, key=PART,
                                  bind="query-params", label_visibility="collapsed")  # fmt: skip
    return str(chosen)


def empty(why: str, button: str, on_click: Callable[[], object], key: str, *, computes: bool = False) -> None:
    """Show why the page is empty and the one button that fills it; ``computes``: it is disabled for a reader."""
    show = writing.button if computes else st.button
    with st.container(border=True):
        st.markdown(why)
        if show(button, type="primary", key=key):
            on_click()


class MissingError(InputError):
    """What only the reader knows is not given yet: a field to fill in, no mistake."""


def error_box(error: DlschedError) -> None:
    """Show what, why and the way out; never a traceback."""
    if isinstance(error, InputError):
        way_out = f"  \n**Do:** {safe(error.do, 400)}" if error.do else ""
        text = f"**{safe(error.what, 200)}**  \n{safe(error.why, 600)}{way_out}"
        if isinstance(error, MissingError):
            st.info(text, icon="✏️")
        else:
            st.error(text, icon="⛔")
    elif isinstance(error, PlanError):
        st.error(
            f"**The policy requested something impossible: a bug in the policy**  \n{safe(error, 600)}",
            icon="⛔",
        )
    elif isinstance(error, StoreError):
        st.error(f"**The result store**  \n{safe(error, 600)}", icon="⛔")
    else:
        st.error(safe(error, 600), icon="⛔")


@contextmanager
def mistakes_shown() -> Iterator[None]:
    """Show any error of ours as an error box and go on with the page."""
    try:
        yield
    except DlschedError as error:
        error_box(error)
