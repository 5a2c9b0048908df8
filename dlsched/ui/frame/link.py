"""What the address asks for when a tab is opened; what a page does not know of it is ignored, told once and taken out.

Within the app the addresses are our own. A tab that is opened, or an address that is typed, begins a new session: so
what was asked is noted at the first script of a session and answered for when a page has run to its end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NoReturn

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from dlsched.ui.frame.text import safe

EVERYWHERE = ("scenario", "run", "runs", "base", "term")
OF_PAGES: Mapping[str, tuple[str, ...]] = {
    "Jobs": ("name", "nodes", "gpus", "gpu", "usd"),
    "Run": ("policies",),
    "Run details": ("job", "from", "to", "rows", "decision", "interval"),
    "What if": ("policy", "with", "to", "param", "set", "experiment"),
    "Capacity": ("condition", "policy", "with", "preset", "experiment"),
    "When jobs start": ("experiment",),
    "Speed-up": ("job",),
    "Load test": ("experiment",),
    "Paper checks": ("figure",),
}
"""Title of a page -> parameters that its code reads; those of fields that are bound to the address need no entry."""
ASKED, MISREAD, TITLE = "link-asked", "link-misread", "link-page"
"""In the session: parameter -> its values in the address, until they are answered for; names that could not be read;
the title of the page that is opened."""
LONGEST_SHOWN = 6


def arrive() -> None:
    """Note what the address asks for, where a session begins; call it before anything reads the address."""
    if ASKED not in st.session_state:
        asks({name: st.query_params.get_all(name) for name in st.query_params})


def asks(wanted: Mapping[str, Sequence[str]]) -> None:
    """Take this for what the address asks for: an old one under the names of today."""
    st.session_state[ASKED], st.session_state[MISREAD] = dict(wanted), set()


def rename(old: str, new: str, value: str) -> None:
    """Take a parameter of an old address for one of today."""
    wanted = st.session_state.get(ASKED, {})
    if old in wanted:
        asks({**{name: values for name, values in wanted.items() if name != old}, new: [value]})


def is_new() -> bool:
    """Whether the address is still to be answered for."""
    return bool(st.session_state.get(ASKED))


def misread(*names: str) -> None:
    """Note that parameters of the address say nothing that the page can use."""
    st.session_state.setdefault(MISREAD, set()).update(names)


def follow(page: StreamlitPage) -> None:
    """Note which page is opened; leave out parameters that are infinite as numbers, an error to bound fields."""
    st.session_state[TITLE] = page.title
    named = {name: st.query_params.get_all(name) for name in st.query_params if name not in _read_by(page.title)}
    beyond = [name for name, values in named.items() if any(map(_is_infinite, values))]
    if beyond:
        misread(*beyond)
        rest = {name: st.query_params.get_all(name) for name in st.query_params if name not in beyond}
        st.switch_page(page, query_params=rest)


def stop() -> NoReturn:
    """End the page here, as ``st.stop``."""
    answer()
    st.stop()


def answer() -> None:
    """Tell what the address asked for and the page does not know, and take it out; call it when the page has run."""
    wanted: dict[str, Sequence[str]] = st.session_state.get(ASKED, {})
    unread = st.session_state.get(MISREAD, set())
    known = _read_by(st.session_state.get(TITLE, ""))
    ignored = [name for name, values in wanted.items()
               if name in unread or (name not in known and not _is_shown(name, values))]  # fmt: skip
    asks({})
    for name in ignored:
        if name not in st.session_state:  # Streamlit itself corrects what belongs to a field
            st.query_params.pop(name, None)
    if ignored:
        shown = [f"**{safe(f'{name}={wanted[name][-1]}', 60)}**" for name in ignored[:LONGEST_SHOWN]]
        more = f" and {len(ignored) - LONGEST_SHOWN:,} more" if len(ignored) > LONGEST_SHOWN else ""
        st.toast(
            f"Ignored in the address: {', '.join(shown)}{more}. This page knows no such parameter or value.",
            icon=":material/link_off:", duration="long",
        )  # fmt: skip


def _read_by(title: str) -> set[str]:
    return {*EVERYWHERE, *OF_PAGES.get(title, ())}


def _is_infinite(text: str) -> bool:
    try:
        return math.isinf(float(text))
    except ValueError:
        return False


def _is_shown(name: str, values: Sequence[str]) -> bool:
    """Whether the field of this name shows what the address asked for."""
    if name not in st.session_state:
        return False
    text, shown = values[-1] if values else "", st.session_state[name]
    if isinstance(shown, int | float) and not isinstance(shown, bool):
        try:
            return float(text) == shown
        except ValueError:
            return False
    return text.lower() == ("" if shown is None else str(shown).lower())
